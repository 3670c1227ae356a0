"""Quality and memory with many threads and replicas: held-out loss and word similarity, over seeds.

    python scripts/quality/replicas.py --corpus WIKI.txt.xz --pairs ws353.tsv rg65.tsv mturk287.tsv \
        --cells 30:cbow:1,2,4,8,16 30:skipgram:2:merges=50 1:ssg:auto:workers=64
    python scripts/quality/replicas.py --corpus WIKI.txt.xz --memory

A cell is ``WORDS:MODEL:REPLICAS[:OPTION=VALUE...]``: millions of words, replicas of one thread each (or
``auto``, as many as the program chooses for its workers), and options of training. Options that are not named
have their defaults, except for 50 dimensions and 3 epochs. The last lines of the text are held out. A run
that is in --log is not done again, so cells can be added; the page is written from the log.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, lines_of, parser, peak_memory, spearman, table, write_section

from wordvec_ca.corpus import encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import read_word_pairs
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train

TITLE = "Many threads: replicas"

HELD_OUT = 2_000
"""Lines of held-out text."""

WORDS_PER_LINE = 64.1

BESIDE_ONE = ("merges", "merge_rate", "merge_rule", "workers")
"""Options in which a run may differ from the one worker that it is compared with."""

DEFAULTS = {"vector_size": 50, "epochs": 3, "min_count": 5}


def read(corpus: str, words: float) -> tuple[list[list[str]], list[list[str]]]:
    """Return the lines with the first ``words`` million words of a text, and the held-out lines after it."""
    n = int(words * 1e6 / WORDS_PER_LINE)
    lines = [line.lower().split() for line in lines_of(corpus, n + HELD_OUT)]
    return lines[:-HELD_OUT], lines[-HELD_OUT:]


def value(text: str) -> Any:
    """Return a number, or the text if it is not a number."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def cells(options: argparse.Namespace) -> Iterator[Setting]:
    """Yield the runs that the options name, all cells of the first seed before the second."""
    for seed in range(1, options.seeds + 1):
        for cell in options.cells:
            words, model, replicas, *more = cell.split(":")
            named = {name: value(text) for name, text in (pair.split("=") for pair in more)}
            of_all = {"words": float(words), "model": model, "seed": seed, "options": named}
            yield from ({**of_all, "replicas": value(number)} for number in replicas.split(","))


def trained(cell: Setting, encoded: Any, valid: Any, sets: list[Any]) -> dict[str, Any]:
    """Train once; return the loss on the held-out lines and Spearman's rho of each set of word pairs."""
    n = None if cell["replicas"] == "auto" else cell["replicas"]
    options = DEFAULTS | {"workers": n} | cell["options"]
    config = TrainConfig(model=cell["model"], replicas=n, seed=cell["seed"], vectors="input", **options)
    try:
        model = train(encoded, config, valid=valid, progress=False)
    except DataError as error:
        return {"error": str(error)}
    return {
        "loss": model.record["valid_loss_by_epoch"][-1],
        "similarity": spearman(model.vectors, sets),
        "n_words": len(model.vocab),
        "merges": model.record["replicas"].get("merges", 0),
    }


def memory(corpus: str, runs: Runs) -> list[tuple[Any, ...]]:
    """Compare the memory that ``--dry-run`` predicts with what a run takes."""

    def measured(setting: Setting) -> dict[str, Any]:
        command = [sys.executable, "-m", "wordvec_ca", "train", str(path), "--epochs", "1"]
        command += ["--model", setting["memory"], "--workers", str(setting["workers"])]
        command += ["--vector-size", "100" if setting["memory"] == "ssg" else "300"]
        said = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True).stdout
        line = next(line for line in said.splitlines() if line.startswith("memory"))
        run = subprocess.Popen([*command, "-q", "-o", str(Path(folder) / "m"), "--overwrite"])
        return {"said": line.removeprefix("memory").strip(), "peak": peak_memory(run)}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_text("\n".join(map(" ".join, read(corpus, 10)[0])), encoding="utf-8")
        for model, workers in (("cbow", 8), ("cbow", 64), ("skipgram", 64), ("ssg", 8), ("cbow", 1)):
            runs.outcome({"memory": model, "workers": workers}, measured)
    found = [run for run in runs.done.values() if "memory" in run["setting"]]
    return [(*run["setting"].values(), run["said"], f"{run['peak'] / 1e6:.0f} MB") for run in found]


def mean(values: list[float]) -> float:
    """Return the mean, or nan if there are no values."""
    return statistics.fmean(values) if values else float("nan")


def parts(done: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a table for each size of text and options, with a row for each model and number of replicas."""
    groups = sorted({(r["words"], json.dumps(r["options"])) for r in done}, key=lambda g: (-len(g[1]) < 3, g))
    for words, settings in groups:
        group = [r for r in done if (r["words"], json.dumps(r["options"])) == (words, settings)]
        same = {n: v for n, v in json.loads(settings).items() if n not in BESIDE_ONE}
        rows = []
        for model, n in sorted({(r["model"], r["replicas"]) for r in group}, key=str):
            alone = mean([
                r["loss"] for r in done
                if (r["words"], r["model"], r["replicas"], r["options"]) == (words, model, 1, same)
                and "loss" in r
            ])  # fmt: skip
            found = [r for r in group if (r["model"], r["replicas"]) == (model, n)]
            good = [r for r in found if "loss" in r]
            loss = mean([r["loss"] for r in good])
            similarity = [mean(list(r["similarity"].values())) for r in good]
            spread = f" ({min(similarity):.3f} to {max(similarity):.3f})" if len(similarity) > 1 else ""
            shown = f"{loss:.3f}" if len(good) == len(found) else "diverged"
            figures = f"{loss - alone:+.3f}", f"{mean(similarity):.3f}{spread}", len(found)
            rows.append((model, n, good[0]["merges"] if good else "", shown, *figures))
        named = "".join(f", {name} {value}" for name, value in json.loads(settings).items())
        types = max((r.get("n_words", 0) for r in group), default=0)
        yield f"### {words:g} M words, {types:,} different{named}"
        yield table(
            ("model", "replicas", "merges", "held-out loss", "beside one", "similarity", "seeds"), rows
        )


def beside_one(done: list[dict[str, Any]]) -> Iterator[str]:
    """Yield one table of losses and one of similarities, minus those of one worker with the same seed.

    There is a row for each model, and a column for each number of replicas and of merges.
    """

    def kind(run: dict[str, Any]) -> str:
        named = {n: v for n, v in run["options"].items() if n not in BESIDE_ONE}
        return ", ".join([run["model"], *(f"{name} {value}" for name, value in named.items())])

    def figure(run: dict[str, Any], name: str) -> float:
        return float(run["loss"]) if name == "loss" else mean(list(run["similarity"].values()))

    columns = sorted({(r["options"].get("merges", 0), r["replicas"]) for r in done} - {(0, 1)})
    heads = [f"{n}, {merges} merges" if merges else str(n) for merges, n in columns]
    for name in ("loss", "similarity"):
        rows = []
        for model in dict.fromkeys(map(kind, done)):
            of_kind = [r for r in done if kind(r) == model]
            alone = {r["seed"]: figure(r, name) for r in of_kind if r["replicas"] == 1 and "loss" in r}
            row = [model, f"{mean(list(alone.values())):.3f}"]
            for merges, n in columns:
                found = [r for r in of_kind if (r["options"].get("merges", 0), r["replicas"]) == (merges, n)]
                less = [figure(r, name) - alone[r["seed"]] for r in found if "loss" in r]
                told = [f"{mean(less):+.3f} ({min(less):+.3f} to {max(less):+.3f})"] if less else []
                if (diverged := len(found) - len(less)) > 0:
                    told.append(f"{diverged} of {len(found)} diverged")
                row.append("; ".join(told))
            rows.append(row)
        yield table((name, "1", *heads), rows)


def main() -> None:
    """Do the runs that are not in the log, then write the page."""
    arguments = parser(__doc__, "replicas", log="replicas.jsonl")
    arguments.add_argument("--corpus", required=True)
    arguments.add_argument("--pairs", nargs="+", default=[])
    arguments.add_argument("--cells", nargs="+", default=[])
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--memory", action="store_true")
    arguments.add_argument("--section", default="numbers", help="name of the section of the page")
    arguments.add_argument("--beside-one", action="store_true", help="differences alone, in one table")
    options = arguments.parse_args()
    runs = Runs(options.log, options.minutes)
    if options.memory:
        columns = ("model", "workers", "--dry-run says", "taken")
        body = "### Memory\n\n300 dimensions (ssg 100), 10 M words.\n\n"
        write_section(options.page, TITLE, "memory", body + table(columns, memory(options.corpus, runs)))
    sets = [read_word_pairs(path) for path in options.pairs]
    with tempfile.TemporaryDirectory() as folder:

        @cache
        def text_of(words: float, least: int) -> tuple[Any, Any]:
            lines, valid = read(options.corpus, words)
            place = Path(folder) / f"{words:g}-{least}"
            place.mkdir()
            return encode_corpus(lines, TrainConfig(min_count=least).text_options(), cache_dir=place), valid

        def run(cell: Setting) -> dict[str, Any]:
            least = cell["options"].get("min_count", DEFAULTS["min_count"])
            return trained(cell, *text_of(cell["words"], least), sets)

        for cell in cells(options):
            runs.outcome(cell, run)
    done = [{**run["setting"], **run} for run in runs.done.values() if "words" in run["setting"]]
    if done and options.beside_one:
        note = (
            "Replicas of one thread, and one worker in the second column; 200 merges in a run unless named. "
            "Means over the seeds of the difference to one worker of the same seed; in brackets the least "
            "and the greatest. 50 dimensions and 3 epochs by default. Similarity is the mean of Spearman's "
            "rho over the sets of word pairs."
        )
        write_section(options.page, TITLE, options.section, "\n\n".join([note, *beside_one(done)]))
    elif done and not options.memory:
        note = (
            "Each replica has one thread, unless workers are named. Loss and similarity (mean of Spearman's "
            "rho over the sets of word pairs) are means over the seeds; in brackets the least and the "
            "greatest seed. 50 dimensions and 3 epochs by default."
        )
        write_section(options.page, TITLE, options.section, "\n\n".join([note, *parts(done)]))


if __name__ == "__main__":
    main()
