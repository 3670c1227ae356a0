"""Syntax against similarity: which recipe has the best of both, and what each window is good for.

    python scripts/experiments/frontier.py --data "$CAWV_DATA" --output frontier

trains every recipe with every seed on the first lines of a text, judges it, and writes
docs/measurements/frontier.md with a plot. What is finished is skipped, so the command can be stopped and
given again; ``--report`` only writes the page from the finished runs.

Recipes are compared, and one may be chosen, by part-of-speech induction on UD English-EWT dev (mean over the
restarts) and by rg65 and mturk287. All other columns are for reporting; nothing is chosen on them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent / "ling2015"))
from measurement_page import FOLDER, table, write_section
from tables import Column, difference, draws

from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import Report, holm, plan, pos_induction, read_tagged, run
from wordvec_ca.eval.tasks.sts import evaluate as judge_sentences
from wordvec_ca.models import TrainConfig
from wordvec_ca.training import train
from wordvec_ca.vectors import KeyedVectors

TITLE = "Syntax against similarity"

COMMON: dict[str, Any] = {
    "vector_size": 50,
    "window": 20,
    "negative": 10,
    "epochs": 1,
    "sample": 0.0,
    "min_count": 20,
    "tokenizer": "words",
    "lowercase": False,
    "workers": 1,
}
MEAN: dict[str, Any] = {"model": "cbow", "alpha": 0.4, "shrink_windows": False}
ATTENTION: dict[str, Any] = {"model": "cbow-attn", "alpha": 0.4, "attention_alpha": 0.12}
STRUCTURED: dict[str, Any] = {"model": "ssg", "alpha": 0.025}
HALF: dict[str, Any] = {"vector_size": 25}
SMALL: dict[str, Any] = {"model": "cbow", "cbow_update": "word2vec", "alpha": 0.2}

RECIPES: dict[str, tuple[dict[str, Any], ...]] = {
    "cbow w1": ({**SMALL, "window": 1},),
    "cbow w20": (MEAN,),
    "cbow-attn w20": (ATTENTION,),
    "cbow-attn near:2,far": ({**ATTENTION, "parts": "near:2,far"},),
    "cbow near:2,far": ({**MEAN, "parts": "near:2,far"},),
    "control: cbow w1 | cbow-attn w20": ({**SMALL, **HALF, "window": 1}, {**ATTENTION, **HALF}),
    "cbow-attn near:2,all:20": ({**ATTENTION, "parts": "near:2,all:20"},),
    "cbow-attn near:2:17,far": ({**ATTENTION, "parts": "near:2:17,far"},),
    "cbow-attn near:1,far": ({**ATTENTION, "parts": "near:1,far"},),
    "cbow near:2,all:20": ({**MEAN, "parts": "near:2,all:20"},),
    "cbow-attn near:2,mid:3-7,far": ({**ATTENTION, "parts": "near:2,mid:3-7,far"},),
    "cbow-attn near:5,far": ({**ATTENTION, "parts": "near:5,far"},),
    "cbow w20, reduced": ({**MEAN, "shrink_windows": True},),
    "cbow w2": ({**SMALL, "window": 2},),
    "cbow w5": ({**MEAN, "window": 5},),
    "ssg w5": ({**STRUCTURED, "window": 5},),
    "cbow w10": ({**MEAN, "window": 10},),
    "cbow-attn w1": ({**ATTENTION, "window": 1},),
    "cbow-attn w2": ({**ATTENTION, "window": 2},),
    "cbow-attn w5": ({**ATTENTION, "window": 5},),
    "cbow-attn w10": ({**ATTENTION, "window": 10},),
    "ssg w1": ({**STRUCTURED, "window": 1},),
    "ssg w2": ({**STRUCTURED, "window": 2},),
    "ssg w10": ({**STRUCTURED, "window": 10},),
    "ssg w20": (STRUCTURED,),
}
"""Recipes by name, the most important ones first; of two models, the vectors stand side by side."""

BASELINES = ("cbow w1", "cbow w2", "cbow w5", "cbow w20", "cbow w20, reduced", "cbow-attn w20")
CONTROL = "control: cbow w1 | cbow-attn w20"

CHOICE = {"dev": "V, EWT dev", "rg65": "rg65", "mturk287": "mturk287"}
REPORTED = {
    ("pos-induction", "wsj_sample"): "V, WSJ",
    ("pos-induction", "ud_ewt.test"): "V, EWT test",
    ("similarity", "ws353"): "ws353",
    ("similarity", "ws353_sim"): "ws353 sim",
    ("similarity", "ws353_rel"): "ws353 rel",
    ("similarity", "yp130"): "yp130",
    ("similarity", "verb143"): "verb143",
    ("categorization", "ap"): "ap",
    ("sts", "sts2012"): "sts12",
    ("sts", "sts2013"): "sts13",
    ("sts", "sts2014"): "sts14",
    ("sick", "sick-trial"): "sick",
}
READOUTS = {"SIF": {"method": "sif", "attention": False}}
"""Sentences are read out in one way, whatever the model is."""

SYNTAX = [("pos-induction", "wsj_sample"), ("pos-induction", "ud_ewt.test")]
RESTARTS = 10


def slug(name: str) -> str:
    """Return a name as it can stand in a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def say(line: str) -> None:
    """Write a line of progress."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def lines_of(corpus: Path, count: int | None) -> Iterator[str]:
    """Yield the first lines of a corpus."""
    from xopen import xopen

    with xopen(corpus, "rt", encoding="utf-8") as source:
        yield from islice(source, count)


def trained(text: EncodedCorpus, options: argparse.Namespace, name: str, seed: int) -> KeyedVectors:
    """Train what a recipe needs, or read it."""
    models = []
    for number, chosen in enumerate(RECIPES[name]):
        folder = options.output / "models" / f"{slug(name)}.{number}.{seed}"
        if not (folder / "config.json").exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            config = TrainConfig(**{**COMMON, **chosen, "seed": seed})
            if train(text, config, output=folder, overwrite=True).record["interrupted"]:
                raise KeyboardInterrupt
        models.append(KeyedVectors.load(folder))
    if len(models) == 1:
        return models[0]
    beside = np.hstack([model.vectors for model in models])
    return KeyedVectors(models[0].index_to_key, beside, models[0].counts)


def judge(vectors: KeyedVectors, options: argparse.Namespace) -> dict[str, Any]:
    """Return what is chosen by, and the reports."""
    dev = read_tagged(options.data / "pos" / "ud_ewt.dev.tsv", tag_column=3)
    induced = pos_induction.evaluate(vectors, dev, restarts=5, workers=1)
    choice = {"dev": float(np.mean([restart["v_measure"] for restart in induced.details["restarts"]]))}
    tasks = list(dict.fromkeys(task for task, _ in REPORTED))
    jobs, _ = plan(tasks, folder=options.data)
    reports = []
    for job in jobs:
        if job.task == "similarity" and job.dataset in CHOICE:
            choice[job.dataset] = next(iter(run(vectors, [job]))).value
        if (job.task, job.dataset) not in REPORTED:
            continue
        if job.task in ("sts", "sick"):
            reports.append(judge_sentences(vectors, job.data.read(), readouts=READOUTS))
            reports[-1].task = job.task
        else:
            reports += run(vectors, [job], workers=1)
    return {"choice": choice, "reports": [report.to_dict(items=True) for report in reports]}


def run_all(options: argparse.Namespace) -> None:
    """Train and judge what is not done yet, all recipes with the first seed before the second."""
    text = None
    for seed in options.seeds:
        for name in RECIPES:
            place = options.output / "reports" / f"{slug(name)}.{seed}.json.gz"
            if place.exists() or not re.search(options.only, name):
                continue
            if text is None:
                text = encode_corpus(
                    lines_of(options.corpus, options.lines),
                    TextOptions(tokenizer="words", lowercase=False, min_count=COMMON["min_count"], workers=1),
                    cache_dir=options.output / "text",
                    keep=True,
                )
            say(f"{name}, seed {seed}")
            began = time.monotonic()
            try:
                found = judge(trained(text, options, name, seed), options)
            except DataError as error:  # it diverged: that is a result too
                say(f"{name}: {error}")
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(place.with_suffix(".partial"), "wt", encoding="utf-8") as stream:
                json.dump(found, stream)
            os.replace(place.with_suffix(".partial"), place)
            shown = map(Report.from_dict, found["reports"])
            values = " ".join(f"{report.dataset} {report.value:.3f}" for report in shown)
            say(f"  {time.monotonic() - began:.0f} s; {found['choice']}; {values}")


Columns = dict[tuple[str, str], Column]


def collect(options: argparse.Namespace) -> tuple[dict[str, dict[str, float]], dict[str, Columns]]:
    """Return for each recipe what is chosen by (mean over the seeds), and the columns of the tables."""
    choice: dict[str, dict[str, float]] = {}
    found: dict[str, Columns] = {}
    for name in RECIPES:
        reports: dict[tuple[str, str], list[Report]] = {}
        chosen: list[dict[str, float]] = []
        for seed in options.seeds:
            place = options.output / "reports" / f"{slug(name)}.{seed}.json.gz"
            if not place.exists():
                continue
            with gzip.open(place, "rt", encoding="utf-8") as stream:
                content = json.load(stream)
            chosen.append(content["choice"])
            for record in content["reports"]:
                report = Report.from_dict(record)
                reports.setdefault((report.task, report.dataset), []).append(report)
        if chosen:
            choice[name] = {key: float(np.mean([one[key] for one in chosen])) for key in CHOICE}
            found[name] = {
                key: Column(
                    np.array([report.value for report in those]),
                    np.mean([draws(report) for report in those], axis=0),
                )
                for key, those in reports.items()
            }
    return choice, found


def plot(found: dict[str, Columns], figures: Path) -> None:
    """Draw V-measure against similarity, a point for each recipe."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    similarity = [key for key in REPORTED if key[0] == "similarity"]
    figure, axes = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    for name, columns in found.items():
        x = float(np.mean([columns[key].mean for key in similarity]))
        y = float(np.mean([columns[key].mean for key in SYNTAX]))
        colour = "C3" if ":" in name and name != CONTROL else "C7" if name == CONTROL else "C0"
        axes.plot(x, y, "o", color=colour, markersize=4)
        axes.annotate(name, (x, y), fontsize=6, xytext=(3, 3), textcoords="offset points")
    axes.set_xlabel("similarity: mean Spearman of the sets reported")
    axes.set_ylabel("syntax: mean V-measure, WSJ and EWT test")
    figure.savefig(figures / "frontier.png", dpi=130)
    pyplot.close(figure)


def text_of(options: argparse.Namespace) -> str:
    """Return the page, and draw its figure."""
    choice, found = collect(options)
    figures = options.page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    plot(found, figures)

    def shown(column: Column) -> str:
        spread = "" if len(column.values) < 2 else f" ± {column.values.std(ddof=1):.3f}"
        return f"{column.mean:.3f}{spread}"

    rows = [
        [
            name,
            len(next(iter(columns.values())).values),
            *(f"{choice[name][key]:.3f}" for key in CHOICE),
            *(shown(columns[key]) if key in columns else "" for key in REPORTED),
        ]
        for name, columns in found.items()
    ]
    candidates = [name for name in found if ":" in name and name != CONTROL]
    # as good at similarity as the best baseline may weigh as much as syntax: both are between 0 and 1
    best = max(
        candidates, key=lambda name: sum(choice[name][key] * (1, 0.5, 0.5)[i] for i, key in enumerate(CHOICE))
    )
    keys = [*SYNTAX, ("similarity", "ws353"), ("similarity", "ws353_sim"), ("similarity", "ws353_rel")]
    rivals = [name for name in (*BASELINES, CONTROL) if name in found]
    cells = {
        (rival, key): difference(found[best][key], found[rival][key]) for rival in rivals for key in keys
    }
    n_seeds = len(next(iter(found[best].values())).values)
    ps = [p for _, _, p in cells.values()]
    adjusted = dict(zip(cells, holm(ps) if n_seeds > 1 else ps, strict=True))

    def cell(rival: str, key: tuple[str, str]) -> str:
        value, half, _ = cells[rival, key]
        if np.isnan(half):
            paired = float((found[best][key].replicates - found[rival][key].replicates).std())
            return f"{value:+.3f} ({value - 1.96 * paired:+.3f} to {value + 1.96 * paired:+.3f})"
        bold = "**" if adjusted[rival, key] < 0.05 else ""
        return f"{bold}{value:+.3f}{bold} ({value - half:+.3f} to {value + half:+.3f})"

    one = (
        "One seed: the intervals are from the items alone."
        if n_seeds == 1
        else ("95 % from seeds and items; bold: p below .05 after Holm's correction over the table.")
    )
    words = "30 M words" if options.lines is None else f"the first {options.lines:,} lines"
    return "\n\n".join(
        [
            f"Wikipedia, {words}, cased; {COMMON['vector_size']} dimensions, {COMMON['negative']} negatives, "
            f"{COMMON['epochs']} epoch, no sub-sampling. `cbow` has the exact step at .4 and fixed windows, "
            "at windows 1 and 2 word2vec's at .2; `cbow-attn` the exact step at .4, its logits at .12; `ssg` "
            "at .025. "
            "V: V-measure of part-of-speech induction, the most likely of 10 restarts, on dev the mean of 5. "
            "Similarity: Spearman. ap: purity. Sentences: Pearson, SIF for all.",
            table(("recipe", "seeds", *CHOICE.values(), *REPORTED.values()), rows),
            f"Chosen by the first three columns (V plus the mean of rg65 and mturk287): **{best}**.",
            "![Syntax against similarity](figures/frontier.png)",
            "## The chosen recipe against the others",
            table(
                (f"{best} less", *(REPORTED[key] for key in keys)),
                [[rival, *(cell(rival, key) for key in keys)] for rival in rivals],
            ),
            one,
        ]
    )


def main() -> None:
    """Run what is left, then write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("CAWV_DATA"), help="data folder")
    parser.add_argument("--corpus", type=Path, help="training text; DATA/corpora/wiki.30M.txt.xz by default")
    parser.add_argument("--output", type=Path, default=Path("frontier"))
    parser.add_argument("--page", type=Path, default=FOLDER / "frontier.md")
    parser.add_argument("--seeds", default="1", help="comma-separated")
    parser.add_argument("--only", default="", metavar="REGEX", help="only recipes whose name matches")
    parser.add_argument("--lines", type=int, help="train on the first lines only; 156003 are 10 M words")
    parser.add_argument("--report", action="store_true", help="only write the page")
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set CAWV_DATA")
    options.data = Path(options.data)
    options.corpus = options.corpus or options.data / "corpora" / "wiki.30M.txt.xz"
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    if not options.report:
        run_all(options)
    write_section(options.page, TITLE, f"{options.lines or 'all'} lines", text_of(options))


if __name__ == "__main__":
    main()
