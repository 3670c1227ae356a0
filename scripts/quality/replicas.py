"""Quality with many threads and replicas: held-out loss and word similarity beside one worker, over seeds.

    python scripts/quality/replicas.py --corpus WIKI.txt.xz --pairs ws353.tsv rg65.tsv mturk287.tsv \
        --cells 30:cbow:1,2,4,8,16 30:skipgram:2:merges=50 1:ssg:auto:workers=64

A cell is ``WORDS:MODEL:REPLICAS[:OPTION=VALUE...]``: millions of words, replicas of one thread each (or
``auto``, as many as the program chooses for its workers), and options of training. Options that are not named
have their defaults, except for 50 dimensions and 3 epochs. The last lines of the text are held out. A run
that is in --log is not done again, so cells can be added; the page is written from the log.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, lines_of, parser, spearman, table, write_section

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


def mean(values: list[float]) -> float:
    """Return the mean, or nan if there are no values."""
    return statistics.fmean(values) if values else float("nan")


def beside_one(done: list[dict[str, Any]]) -> Iterator[str]:
    """Yield one table of losses and one of similarities, minus those of one worker with the same seed.

    There is a row for each model, and a column for each number of replicas and of merges.
    """

    def kind(run: dict[str, Any]) -> str:
        named = {n: v for n, v in run["options"].items() if n not in BESIDE_ONE}
        return ", ".join(
            [f"{run['words']:g} M words", run["model"], *(f"{name} {value}" for name, value in named.items())]
        )

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
    arguments.add_argument("--section", default="numbers", help="name of the section of the page")
    options = arguments.parse_args()
    runs = Runs(options.log, options.minutes)
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
    note = (
        "Replicas of one thread unless workers are named, and one worker in the second column; 200 merges in "
        "a run. Means over the seeds of the difference to one worker of the same seed; in brackets the least "
        "and the greatest. 50 dimensions, 3 epochs. Similarity: mean of Spearman's rho over the sets."
    )
    write_section(options.page, TITLE, options.section, "\n\n".join([note, *beside_one(done)]))


if __name__ == "__main__":
    main()
