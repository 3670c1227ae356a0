"""A run on a long text on one machine: time, memory and disk of each step, compared with gensim.

    python scripts/long_run.py --corpus wiki.30M.txt --copies 33 --folder /tmp/long --models cbow skipgram

The text consists of copies of the corpus. In each copy but the first, words that occur at most --rare times
in the corpus get a suffix, so that the vocabulary grows as that of a long text does. A run is killed after
its
first checkpoint and resumed. gensim trains with the same options on a tenth of the text. 33 copies of 30
million words are a billion words; they take an hour or more on two cores.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parent))
from study import measured, parser, say, table, write_section

TITLE = "A long text on one machine"

CAWV = [sys.executable, "-m", "wordvec_ca"]

LOAD = "from wordvec_ca.models import EmbeddingModel; import sys; EmbeddingModel.load(sys.argv[1]).vectors"

GENSIM = """
import sys
from gensim.models import Word2Vec
text, sg, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
Word2Vec(corpus_file=text, vector_size=100, window=5, negative=5, sample=1e-3, min_count=5, epochs=1, sg=sg,
         workers=workers, seed=1)
"""


class Step(NamedTuple):
    """Seconds by the clock and of the CPU, and bytes of memory and disk, that one step took."""

    name: str
    wall: float
    cpu: float
    memory: float
    disk: int = 0


def write_text(corpus: Path, path: Path, copies: int, rare: int) -> int:
    """Write the copies of a corpus; return how many words they have."""
    counts: Counter[str] = Counter()
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            counts.update(line.split())
    renamed = {word for word, count in counts.items() if count <= rare}
    with path.open("w", encoding="utf-8") as out:
        for copy in range(copies):
            with corpus.open(encoding="utf-8") as lines:
                for line in lines:
                    words = line.split()
                    if copy:
                        words = [f"{word}{copy}" if word in renamed else word for word in words]
                    out.write(" ".join(words) + "\n")
    return copies * counts.total()


def bytes_of(path: Path) -> int:
    """Return the size of a file, or of the files in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def killed(command: Sequence[str], run: Path) -> Step:
    """Run a command and kill it two seconds after its first checkpoint; return what it took until then."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(run.glob("*.checkpoint")):
        if process.poll() is not None:
            sys.exit(f"the run ended before its first checkpoint, with {process.returncode}")
        time.sleep(0.2)
    time.sleep(2)
    process.send_signal(signal.SIGKILL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = -signal.SIGKILL
    cpu = usage.ru_utime + usage.ru_stime
    return Step("until it is killed", time.monotonic() - began, cpu, usage.ru_maxrss * 1024, bytes_of(run))


def step(name: str, command: Sequence[Any], output: Path | None = None) -> Step:
    """Run a command to its end."""
    say(name)
    took = measured(command)
    size = 0 if output is None or not output.exists() else bytes_of(output)
    return Step(name, took["wall"], took["cpu"], took["memory"], size)


def steps_of(model: str, text: Path, folder: Path, every: str, workers: int, index: bool) -> list[Step]:
    """Train, kill, resume, load, search, export, explore and perhaps index one model."""
    place = folder / model
    shutil.rmtree(place, ignore_errors=True)
    train = [*CAWV, "train", str(text), "--model", model, "--epochs", "1", "--workers", str(workers)]
    train += ["--tokenizer", "whitespace", "--no-lowercase"]  # as gensim reads text
    train += ["--checkpoint-every", every, "-o", str(place), "-q"]
    say(f"{model}: training")
    found = [killed(train, place.with_name(f"{place.name}.run"))]
    found.append(step("resumed to the end", [*CAWV, "train", "--resume", place, "-q"], place))
    found.append(step("loaded with all parameters", [sys.executable, "-c", LOAD, place]))
    found.append(step("cawv nn", [*CAWV, "nn", place, "river"]))
    binary = folder / f"{model}.bin"
    found.append(step("cawv export, binary", [*CAWV, "export", place, "-o", binary], binary))
    page = folder / f"{model}.html"
    found.append(step("cawv explore", [*CAWV, "explore", place, "-o", page], page))
    if index:
        graph = folder / f"{model}.index"
        found.append(step("cawv index", [*CAWV, "index", place, "-o", graph], graph))
    return found


def rate(words: float, steps: Sequence[Step]) -> str:
    """Return words per second, in millions, of wall and of CPU time."""
    wall, cpu = (sum(getattr(one, kind) for one in steps) / words * 1e6 for kind in ("wall", "cpu"))
    return f"{1 / wall:.2f} M words/s, {1 / cpu:.2f} a CPU second"


def main() -> None:
    """Make the text, carry out the steps, and write the page."""
    options = parser(__doc__, "long-run")
    options.add_argument("--corpus", type=Path, required=True)
    options.add_argument("--folder", type=Path, required=True, help="room for the text, models and caches")
    options.add_argument("--copies", type=int, default=33)
    options.add_argument("--rare", type=int, default=200, help="words up to this count get other names")
    options.add_argument("--models", nargs="+", default=["cbow"])
    options.add_argument("--checkpoint-every", default="50M")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--index", action="store_true", help="also make an index, of the first model")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    text, tenth = given.folder / "text", given.folder / "tenth"
    began = time.monotonic()
    words = write_text(given.corpus, text, given.copies, given.rare)
    say(f"{words:,} words written in {time.monotonic() - began:.0f} s")
    with text.open("rb") as whole, tenth.open("wb") as part:
        part.writelines(whole.readlines(text.stat().st_size // 10))
    tenth_words = sum(len(line.split()) for line in tenth.open(encoding="utf-8"))
    parts = []
    for model in given.models:
        index = given.index and model == given.models[0]  # once: its time hardly depends on the model
        found = steps_of(model, text, given.folder, given.checkpoint_every, given.workers, index)
        record = json.loads((given.folder / model / "config.json").read_text(encoding="utf-8"))
        rows = [
            (
                one.name,
                f"{one.wall:.1f}",
                f"{one.cpu:.1f}",
                f"{one.memory / 1e6:,.0f}",
                f"{one.disk / 1e6:,.0f}",
            )
            for one in found
        ]
        read, learnt = (record["timings"][f"{what}_seconds"] for what in ("encoding", "training"))
        lines = [
            f"{words:,} words, {record['n_words']:,} in the vocabulary. {rate(words, found[:2])}, all in, of "
            f"which {read:.0f} s count and encode and {learnt:.0f} s train."
        ]
        if model in ("cbow", "skipgram"):
            flags = [tenth, int(model == "skipgram"), given.workers]
            theirs = step("gensim on a tenth", [sys.executable, "-c", GENSIM, *flags])
            rows.append(
                (theirs.name, f"{theirs.wall:.1f}", f"{theirs.cpu:.1f}", f"{theirs.memory / 1e6:,.0f}", "")
            )
            lines.append(f"gensim, on {tenth_words:,} of the words: {rate(tenth_words, [theirs])}, all in.")
        columns = ("step", "wall s", "CPU s", "memory MB", "disk MB")
        parts += [f"### {model}", " ".join(lines), table(columns, rows)]
        # The section is written after each model, since the next one may take an hour.
        section = "-".join([f"copies-{given.copies}", *given.models])
        write_section(given.page, TITLE, section, "\n\n".join(parts), time.monotonic() - began)


if __name__ == "__main__":
    main()
