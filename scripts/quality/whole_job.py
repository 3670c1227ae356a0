"""From a text file to the finished model: the whole command beside other programs.

    python scripts/quality/whole_job.py wiki.30M.txt.xz --words 30000000 --into jobs \
        --peer word2vec.c=/path/to/word2vec --peer fasttext=/usr/bin/fasttext

Each program reads, counts, trains once through the text and saves: 50 dimensions, window 20, 10 negatives,
min_count 20, with each number of threads. All get the same plain file of lower-case tokens. CPU and wall
time are those of the process and its children, memory is the largest resident set (at least that of this
script); on a busy machine only CPU time is meaningful.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import measured, parser, table, write_section, write_tokens

MODEL = {"size": 50, "window": 20, "negative": 10, "min-count": 20}

GENSIM = """
import sys
from gensim.models import Word2Vec
text, output, threads = sys.argv[1:]
model = Word2Vec(corpus_file=text, sg=0, alpha=0.05, vector_size=50, window=20, negative=10, min_count=20,
                 sample=1e-3, epochs=1, seed=1, workers=int(threads))
model.wv.save(output)
"""


def commands(text: Path, into: Path, threads: int, peers: list[str]) -> dict[str, list[str]]:
    """Return the command line of each program."""
    found = {}
    for model in ("cbow-attn", "cbow"):
        options = (
            f"--model {model} --vector-size 50 --window 20 --negative 10 --min-count 20 --epochs 1 "
            f"--no-cache --tokenizer whitespace --workers {threads} --overwrite --quiet"
        )
        output = ["-o", str(into / model), *options.split()]
        found[f"cawv {model}"] = [sys.executable, "-m", "wordvec_ca", "train", str(text), *output]
    found["gensim CBOW"] = [sys.executable, "-c", GENSIM, str(text), str(into / "gensim"), str(threads)]
    for peer in peers:
        name, _, path = peer.partition("=")
        if name == "fasttext":
            flags = {"-dim": 50, "-ws": 20, "-neg": 10, "-minCount": 20, "-epoch": 1, "-maxn": 0, "-t": 1e-3}
            words = [path, "cbow", "-input", str(text), "-output", str(into / name)]
            flags |= {"-thread": threads}
        else:  # the flags of word2vec.c
            flags = {f"-{name}": value for name, value in MODEL.items()} | {"-iter": 1, "-sample": 1e-3}
            words = [path, "-train", str(text), "-output", str(into / "peer"), "-threads", str(threads)]
            flags |= {"-cbow": 1, "-binary": 1}
        found[f"{name} CBOW"] = [*words, *(str(part) for pair in flags.items() for part in pair)]
    return found


def phases(folder: Path) -> str:
    """Return how long our run took to read and to train, from its own record."""
    timings: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))["timings"]
    return ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in timings.items() if value)


def main() -> None:
    """Measure each program and write the page."""
    options = parser(__doc__, "whole-job")
    options.add_argument("corpus")
    options.add_argument("--into", type=Path, required=True)
    options.add_argument("--words", type=int, default=30_000_000)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--peer", action="append", default=[], metavar="NAME=PATH")
    chosen = options.parse_args()
    chosen.into.mkdir(parents=True, exist_ok=True)
    text = chosen.into / f"tokens.{chosen.words}.txt"
    if not text.exists():
        write_tokens(chosen.corpus, text, chosen.words)
    began, rows, notes = time.monotonic(), [], []
    for threads in chosen.threads:
        for name, command in commands(text, chosen.into, threads, chosen.peer).items():
            found = measured(command)
            times = f"{found['wall']:.1f}", f"{found['cpu']:.1f}"
            rows.append((name, threads, *times, f"{found['memory'] / 1e6:.0f}"))
            if name.startswith("cawv"):
                notes.append(f"* {name}, {threads}: {phases(chosen.into / name.split()[1])}")
            print(*rows[-1], flush=True)
    columns = ("program", "threads", "wall time, s", "CPU time, s", "peak memory, MB")
    threads = " and ".join(map(str, chosen.threads))
    size, ours = f"{chosen.words / 1e6:g} M words, threads: {threads}", "\n".join(notes)
    body = f"{table(columns, rows)}\n\nOf this, by our own records:\n\n{ours}"
    write_section(chosen.page, "The whole job", size, body, time.monotonic() - began)


if __name__ == "__main__":
    main()
