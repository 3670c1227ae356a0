"""Syntax against similarity: which recipe is best at both together, and for what is each window good?

    python scripts/experiments/frontier.py --data "$CAWV_DATA" --output frontier

trains every recipe with every seed on the first lines of a text, judges it, and writes
docs/evidence/data/frontier.json with a plot. Finished runs are skipped, so the command can be stopped and
started again; ``--report`` only writes the page from the finished runs.

Only two criteria may serve to choose a recipe: part-of-speech induction on UD English-EWT dev (mean over the
restarts), and similarity on rg65 and mturk287. All other columns are reported, but nothing is chosen on them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent / "ling2015"))
from study import lines_of, parsed_study, parser, say, table, write_section
from tables import Column, difference, draws

from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import Report, holm, plan, pos_induction, read_tagged, run
from wordvec_ca.eval.tasks.sts import evaluate as judge_sentences
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train
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
    "vectors": "input",
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
    "control: cbow w1 + cbow-attn w20": ({**SMALL, **HALF, "window": 1}, {**ATTENTION, **HALF}),
    "cbow-attn near:2,all:20": ({**ATTENTION, "parts": "near:2,all:20"},),
    "cbow-attn near:2:17,far": ({**ATTENTION, "parts": "near:2:17,far"},),
    "cbow-attn near:1,far": ({**ATTENTION, "parts": "near:1,far"},),
    "cbow near:2,all:20": ({**MEAN, "parts": "near:2,all:20"},),
    "cbow-attn near:2,mid:3-7,far": ({**ATTENTION, "parts": "near:2,mid:3-7,far"},),
    "cbow-attn near:5,far": ({**ATTENTION, "parts": "near:5,far"},),
    "cbow w20, reduced": ({**MEAN, "shrink_windows": True},),
    "cbow-attn near:2,far, reduced": ({**ATTENTION, "parts": "near:2,far", "shrink_windows": True},),
    "cbow-attn near:2,far, sub-sampled": ({**ATTENTION, "parts": "near:2,far", "sample": 1e-3},),
    "cbow-attn w20, reduced": ({**ATTENTION, "shrink_windows": True},),
    "cbow w2": ({**SMALL, "window": 2},),
    "cbow w5": ({**MEAN, "window": 5},),
    "ssg w5": ({**STRUCTURED, "window": 5},),
    "cbow w10": ({**MEAN, "window": 10},),
    "cbow-attn w1": ({**ATTENTION, "alpha": 0.2, "window": 1},),
    "cbow-attn w2": ({**ATTENTION, "window": 2},),
    "cbow-attn w5": ({**ATTENTION, "window": 5},),
    "cbow-attn w10": ({**ATTENTION, "window": 10},),
    "ssg w1": ({**STRUCTURED, "window": 1},),
    "ssg w2": ({**STRUCTURED, "window": 2},),
    "ssg w10": ({**STRUCTURED, "window": 10},),
    "ssg w20": (STRUCTURED,),
    "skipgram w5": ({**STRUCTURED, "model": "skipgram", "window": 5},),
}
"""Recipe -> its models, most important recipes first. If there are two models, their vectors are joined."""

BASELINES = ("cbow w1", "cbow w2", "cbow w5", "cbow w20", "cbow w20, reduced", "cbow-attn w20")
COMPARISON = "## The chosen recipe against the others"
"""Heading of the second table of the page."""

BILSTM = ("cbow w1", "cbow w20", "cbow-attn w20", "cbow-attn near:2,far", "ssg w5", "skipgram w5")
"""Recipes on whose vectors ling2015/windows.py trains an LSTM tagger."""

CONTROL = "control: cbow w1 + cbow-attn w20"

CHOICE = {"dev": "V, EWT dev", "rg65": "rg65", "mturk287": "mturk287"}
REPORTED = {
    ("pos-induction", "wsj_sample"): "V, WSJ",
    ("pos-induction", "ud_ewt.test"): "V, EWT test",
    ("tagging", "wsj_sample"): "tagging, WSJ",
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
"""The method by which sentence vectors are made, the same for all models."""

SYNTAX = [("pos-induction", "wsj_sample"), ("pos-induction", "ud_ewt.test")]
LINES_OF_10M = 156_003


def slug(name: str) -> str:
    """Return a name as it can be written in a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def lines_said(lines: int | None) -> str:
    """Describe in words the amount of text in a number of lines."""
    return {None: "30 M words", LINES_OF_10M: "10 M words"}.get(lines, f"the first {lines:,} lines")


def trained(text: EncodedCorpus, options: argparse.Namespace, name: str, seed: int) -> KeyedVectors:
    """Train the models of a recipe, or read them if they are finished."""
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


class Judgement:
    """The results of one recipe with one seed, in a file to which each task is added.

    Parameters
    ----------
    place : Path
        The file, of gzipped JSON.

    Attributes
    ----------
    choice : dict
        Figures that a recipe may be chosen by.
    reports : dict
        Task and data set -> report, for the tables.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.choice: dict[str, float] = {}
        self.reports: dict[tuple[str, str], Report] = {}
        if place.exists():
            with gzip.open(place, "rt", encoding="utf-8") as stream:
                content = json.load(stream)
            self.choice = content["choice"]
            reports = map(Report.from_dict, content["reports"])
            self.reports = {(report.task, report.dataset): report for report in reports}

    def lacks(self, tasks: str) -> bool:
        """Return whether results of tasks that match a pattern are missing."""
        wanted = {key for key in REPORTED if re.search(tasks, key[0])}
        return not set(CHOICE) <= set(self.choice) or not wanted <= set(self.reports)

    def write(self) -> None:
        """Write the file."""
        reports = [report.to_dict(items=True) for report in self.reports.values()]
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(self.place.with_suffix(".partial"), "wt", encoding="utf-8") as stream:
            json.dump({"choice": self.choice, "reports": reports}, stream)
        os.replace(self.place.with_suffix(".partial"), self.place)

    def complete(self, vectors: KeyedVectors, options: argparse.Namespace) -> None:
        """Run the tasks that are missing: first those used for the choice, last those that take long."""
        jobs, _ = plan(list(dict.fromkeys(task for task, _ in REPORTED)), folder=options.data)
        for job in jobs:
            if job.task == "similarity" and job.dataset in CHOICE and job.dataset not in self.choice:
                self.choice[job.dataset] = next(iter(run(vectors, [job]))).value
        if "dev" not in self.choice:
            dev = read_tagged(options.data / "pos" / "ud_ewt.dev.tsv", tag_column=3)
            induced = pos_induction.evaluate(vectors, dev, restarts=5, workers=1)
            self.choice["dev"] = float(np.mean([one["v_measure"] for one in induced.details["restarts"]]))
        self.write()
        for job in sorted(jobs, key=lambda job: job.task in ("tagging", "pos-induction")):
            key = job.task, job.dataset
            if key not in REPORTED or key in self.reports or not re.search(options.tasks, job.task):
                continue
            if job.task in ("sts", "sick"):
                report = judge_sentences(vectors, job.data.read(), readouts=READOUTS)
                report.task = job.task
            else:
                report = next(iter(run(vectors, [job], workers=1)))
            self.reports[key] = report
            self.write()


def place_of(options: argparse.Namespace, name: str, seed: int) -> Path:
    """Return where the judgement of a recipe with a seed is."""
    return Path(options.output / "reports" / f"{slug(name)}.{seed}.json.gz")


def run_all(options: argparse.Namespace) -> None:
    """Train and judge what is not finished, all recipes with the first seed before the second."""
    text = None
    for seed in options.seeds:
        for name in RECIPES:
            if not re.search(options.only, name):
                continue
            judgement = Judgement(place_of(options, name, seed))
            if not judgement.lacks(options.tasks):
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
                judgement.complete(trained(text, options, name, seed), options)
            except DataError as error:  # training diverged, which is a result too
                say(f"{name}: {error}")
                continue
            values = " ".join(f"{key[1]} {report.value:.3f}" for key, report in judgement.reports.items())
            say(f"  {time.monotonic() - began:.0f} s; {judgement.choice}; {values}")


Columns = dict[tuple[str, str], Column]


def collect(options: argparse.Namespace) -> tuple[dict[str, dict[str, float]], dict[str, Columns]]:
    """Return each recipe's figures for the choice (means over the seeds) and its columns of the tables."""
    choice: dict[str, dict[str, float]] = {}
    found: dict[str, Columns] = {}
    for name in RECIPES:
        reports: dict[tuple[str, str], list[Report]] = {}
        chosen: list[dict[str, float]] = []
        for seed in options.seeds:
            judgement = Judgement(place_of(options, name, seed))
            if set(CHOICE) <= set(judgement.choice):
                chosen.append(judgement.choice)
            for key, report in judgement.reports.items():
                reports.setdefault(key, []).append(report)
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


Row = dict[str, str]
"""Heading of a column -> cell of the table."""


def rows_of_page(page: Path) -> list[Row]:
    """Return the rows that the page already has; the reports of their runs may no longer exist."""
    if not page.exists():
        return []
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = [number for number, row in enumerate(cells) if row[0] == "recipe"]
    if not heads:
        return []
    names = cells[heads[0]]
    return [
        dict(zip(names, row, strict=True))
        for row in cells[heads[0] + 1 :]
        if len(row) == len(names) and row[0] in RECIPES
    ]


def comparison_of_page(page: Path, best: str) -> str:
    """Return the comparison that the page already has, if it is of this recipe, else an empty string."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    found = text.partition(COMPARISON)[2].partition("<!-- end")[0].strip()
    return found if f"| {best} less" in found else ""


def plot(rows: Sequence[Row], figures: Path) -> None:
    """Draw V-measure against similarity, a point for each recipe."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "frontier"
    similarity = [heading for key, heading in REPORTED.items() if key[0] == "similarity"]
    syntax = [REPORTED[key] for key in SYNTAX]
    figure, axes = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    for row in rows:
        if not all(row.get(heading) for heading in (*similarity, *syntax)):
            continue
        x, y = (np.mean([float(row[name].split()[0]) for name in those]) for those in (similarity, syntax))
        name = row["recipe"]
        colour = "C3" if ":" in name and name != CONTROL else "C7" if name == CONTROL else "C0"
        axes.plot(x, y, "o", color=colour, markersize=4)
        axes.annotate(name, (x, y), fontsize=6, xytext=(3, 3), textcoords="offset points")
    axes.set_xlabel("similarity: mean Spearman of the sets reported")
    axes.set_ylabel("syntax: mean V-measure, WSJ and EWT test")
    figure.savefig(figures / "frontier.svg", metadata={"Date": None})
    pyplot.close(figure)


def text_of(options: argparse.Namespace) -> str:
    """Return the page, and draw its figure."""
    choice, found = collect(options)
    figures = options.page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)

    def shown(column: Column) -> str:
        spread = "" if len(column.values) < 2 else f" ± {column.values.std(ddof=1):.3f}"
        return f"{column.mean:.3f}{spread}"

    by_name = {row["recipe"]: row for row in rows_of_page(options.page)}
    for name, columns in found.items():
        n_seeds = str(max((len(column.values) for column in columns.values()), default=1))
        before = by_name.get(name, {})
        by_name[name] = {
            **(before if before.get("seeds") == n_seeds else {}),
            "recipe": name,
            "seeds": n_seeds,
            **{heading: f"{choice[name][key]:.3f}" for key, heading in CHOICE.items()},
            **{heading: shown(columns[key]) for key, heading in REPORTED.items() if key in columns},
        }
    rows = [by_name[name] for name in RECIPES if name in by_name]
    plot(rows, figures)
    headings = ("recipe", "seeds", *CHOICE.values(), *REPORTED.values())
    # the two similarities together weigh as much as syntax; all are between 0 and 1
    weights = dict(zip(CHOICE.values(), (1, 0.5, 0.5), strict=True))
    worth = {
        row["recipe"]: sum(float(row[heading]) * weight for heading, weight in weights.items())
        for row in rows
        if ":" in row["recipe"] and row["recipe"] != CONTROL
    }
    best = max(worth, key=lambda name: worth[name])
    keys = [*SYNTAX, ("similarity", "ws353"), ("similarity", "ws353_sim"), ("similarity", "ws353_rel")]
    rivals = [name for name in (*BASELINES, CONTROL) if name in found and best in found]
    cells = {
        (rival, key): difference(found[best][key], found[rival][key])
        for rival in rivals
        for key in keys
        if key in found[best] and key in found[rival]
    }
    several = [cell for cell, (_, _, p) in cells.items() if np.isfinite(p)]
    adjusted = dict(zip(several, holm([cells[cell][2] for cell in several]), strict=True))

    def cell(rival: str, key: tuple[str, str]) -> str:
        if (rival, key) not in cells:
            return ""
        value, half, _ = cells[rival, key]
        if np.isnan(half):
            paired = float((found[best][key].replicates - found[rival][key].replicates).std())
            return f"{value:+.3f} ({value - 1.96 * paired:+.3f} to {value + 1.96 * paired:+.3f})"
        bold = "**" if adjusted[rival, key] < 0.05 else ""
        return f"{bold}{value:+.3f}{bold} ({value - half:+.3f} to {value + half:+.3f})"

    one = (
        "One seed: the intervals are from the items alone."
        if not several
        else ("95 % from seeds and items; bold: p below .05 after Holm's correction over the table.")
    )
    body = [[rival, *(cell(rival, key) for key in keys)] for rival in rivals]
    comparison = comparison_of_page(options.page, best)
    if cells:
        comparison = table((f"{best} less", *(REPORTED[key] for key in keys)), body) + f"\n\n{one}"
    return "\n\n".join(
        [
            f"Wikipedia, {lines_said(options.lines)}, cased; {COMMON['vector_size']} dimensions, "
            f"{COMMON['negative']} negatives, {COMMON['epochs']} epoch, no sub-sampling "
            "unless the name says so (.001). "
            "`cbow` has the exact step at .4 and fixed windows, at windows 1 and 2 word2vec's at .2; "
            "`cbow-attn` the exact step at .4 (window 1: .2), its logits at .12; `ssg` and `skipgram` "
            "at .025. V: V-measure of part-of-speech induction, the most likely of 10 restarts, on dev the "
            "mean of 5. Tagging: linear probe. Similarity: Spearman. ap: purity. Sentences: Pearson, SIF for "
            "all. Empty: not judged by it. Rows of recipes whose runs are not available stay as an earlier "
            "call of this command wrote them, "
            "and so does the comparison.",
            table(headings, [[row.get(heading, "") for heading in headings] for row in rows]),
            f"Chosen by the first three columns (V plus the mean of rg65 and mturk287): **{best}**.",
            "![Syntax against similarity](figures/frontier.svg)",
            COMPARISON,
            comparison,
        ]
    )


def main() -> None:
    """Do the unfinished runs, then write the page."""
    arguments = parser(__doc__, "frontier", data=True)
    arguments.add_argument("--tasks", default="", metavar="REGEX", help="judge by these tasks only")
    options = parsed_study(arguments, "frontier", seeds="1")
    if not options.report:
        run_all(options)
    write_section(options.page, TITLE, f"{options.lines or 'all'} lines", text_of(options))


if __name__ == "__main__":
    main()
