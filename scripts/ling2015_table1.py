"""Ling et al. 2015, Table 1 and Figure 1: is attention worth it, for syntax and for semantics?

    python scripts/ling2015_table1.py --data "$CAWV_DATA" --output ling2015

trains every recipe with every seed, judges it, and writes the tables and plots into docs/results.md. What
is finished is skipped, so the command can be stopped and given again; ``--minutes`` stops it by itself,
``--report`` only writes the tables from what is there. In OUTPUT are models/ (the model directories),
reports/ (one gzipped JSON per recipe and seed, with the outcome of every item) and results.jsonl (one line
for each).

Learning rates are chosen first, one for each model and gradient, by part-of-speech induction on UD
English-EWT dev with a third of the text and one seed. Nothing is chosen on the sets of the tables.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import hashlib
import itertools
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.config import ATTENTION_KINDS, TrainConfig
from wordvec_ca.corpus import EncodedCorpus, encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import pos_induction
from wordvec_ca.eval.comparison import holm
from wordvec_ca.eval.report import Metric, Report
from wordvec_ca.eval.resampling import bootstrap
from wordvec_ca.eval.suite import plan, run
from wordvec_ca.eval.treebanks import read_tagged
from wordvec_ca.keyedvectors import KeyedVectors
from wordvec_ca.training import train

COMMON: dict[str, Any] = {
    "vector_size": 50,
    "window": 20,
    "negative": 10,
    "negatives": "exact",
    "epochs": 1,
    "sample": 0.0,
    "min_count": 20,
    "tokenizer": "words",
    "lowercase": False,
}
"""Window, dimensions and negatives are the paper's; it says nothing of the rest. Without sub-sampling, for
it would remove the neighbours that syntax depends on; with it, see the ablations."""

TUNE_LINES = 156_003
"""Lines of the corpus for choosing settings: 10 M words."""

TUNE_RESTARTS = 5
"""Restarts of the induction when choosing; the mean over them counts."""

CBOW: dict[str, Any] = {"model": "cbow", "cbow_update": "word2vec", "shrink_windows": True}
ATTENTION: dict[str, Any] = {"model": "cbow-attn", "cbow_update": "exact", "attention_warmup": 0.1}
SKIPGRAM: dict[str, Any] = {"model": "skipgram"}
STRUCTURED: dict[str, Any] = {"model": "ssg"}

GRIDS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "attention": (ATTENTION, (0.2, 0.4, 0.8)),
    "CBOW": (CBOW, (0.025, 0.05)),
    "CBOW, small window": ({**CBOW, "window": 2}, (0.025, 0.05, 0.1, 0.2)),
    "CBOW, exact": ({**CBOW, "cbow_update": "exact"}, (0.2, 0.4, 0.8)),
    "attention, word2vec": ({**ATTENTION, "cbow_update": "word2vec"}, (0.0125, 0.025, 0.05)),
    "skip-gram": (SKIPGRAM, (0.025,)),
    "structured skip-gram": ({**STRUCTURED, "window": 5}, (0.025, 0.05)),
}
"""Options and learning rates that are tried for each family of recipes."""

SEARCH: tuple[tuple[float, dict[str, Any]], ...] = (
    (1.0, {}),
    (1.0, {"attention_warmup": 0.0}),
    (1.0, {"attention_warmup": 0.3}),
    (0.3, {}),
    (3.0, {}),
    (10.0, {}),
    (1.0, {"shrink_windows": True}),
    (3.0, {"shrink_windows": True}),
    (1.0, {"attention": "position"}),
    (1.0, {"sample": 1e-3}),
)
"""What is tried for attention at its learning rate: rate of the logits relative to that of the vectors, and
other options. The best one is the recipe that is called tuned."""

DATASETS = {
    ("pos-induction", "wsj_sample"): "V, WSJ",
    ("pos-induction", "ud_ewt.test"): "V, EWT test",
    ("tagging", "wsj_sample"): "tagging, WSJ",
    ("sentiment", "sst-binary"): "SST dev",
    ("similarity", "ws353"): "ws353",
    ("similarity", "mturk287"): "mturk287",
}
"""Columns of the tables."""

MAIN = "attention w20"
"""The recipe that the others are compared with: as in the paper, and a warm-up."""

PAPER = "attention w20, no warm-up (paper)"

REFERENCES = (MAIN, PAPER, "CBOW w20", "CBOW w20, exact, reduced")
"""Recipes of the main table that stand in the other tables too."""

TUNED = "attention w20, tuned"

LONGER: dict[str, Any] = {"epochs": 3}
PLAIN: dict[str, Any] = {"alpha": 0.05, "lowercase": True}
USUAL: dict[str, Any] = {**PLAIN, "sample": 1e-3}
D100: dict[str, Any] = {"vector_size": 100, "negative": 5}


@dataclass(frozen=True)
class Recipe:
    """A way to train, under the name it has in the tables.

    Attributes
    ----------
    name : str
    options : dict
    table : {'main', 'ablation', 'longer'}
    family : str
        Name in ``GRIDS``: whose learning rate it has.
    """

    name: str
    options: dict[str, Any]
    table: str
    family: str

    def config(self, seed: int, workers: int, alpha: float) -> TrainConfig:
        """Return the complete configuration."""
        options = {**COMMON, "alpha": alpha, **self.options, "seed": seed, "workers": workers}
        return TrainConfig(**options)

    @property
    def slug(self) -> str:
        """Return the name as it can stand in a file name."""
        return re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-")


def recipes(tuned: dict[str, Any] | None = None) -> list[Recipe]:
    """Return all recipes, the most important ones first; with ``tuned``, that of these options too."""

    def cbow(name: str, table: str = "main", **more: Any) -> Recipe:
        family = "CBOW, small window" if more.get("window", 20) <= 5 else "CBOW"
        if more.get("cbow_update") == "exact":
            family = "CBOW, exact"
        return Recipe(name, {**CBOW, **more}, table, family)

    def attention(name: str, table: str = "main", **more: Any) -> Recipe:
        family = "attention, word2vec" if more.get("cbow_update") == "word2vec" else "attention"
        return Recipe(name, {**ATTENTION, **more}, table, family)

    found = [
        attention(MAIN),
        cbow("CBOW w20"),
        cbow("CBOW w1", window=1),
        cbow("CBOW w2", window=2),
        cbow("CBOW w5", window=5),
        attention(PAPER, attention_warmup=0.0),
        cbow("CBOW w20, exact, reduced", cbow_update="exact"),
        Recipe("skip-gram w20", SKIPGRAM, "main", "skip-gram"),
        Recipe("structured skip-gram w5", {**STRUCTURED, "window": 5}, "main", "structured skip-gram"),
        cbow("CBOW w1, d100 n5, alpha 0.05", "longer", **{**LONGER, **D100}, window=1, alpha=0.05),
        cbow("CBOW w20, alpha 0.05", "longer", **LONGER, alpha=0.05),
        cbow("CBOW w1, d100 n5, lower case", "longer", **{**LONGER, **D100}, window=1, **PLAIN),
        cbow("CBOW w20, lower case", "longer", **LONGER, **PLAIN),
        cbow("CBOW w1, d100 n5, as usual", "longer", **{**LONGER, **D100}, window=1, **USUAL),
        cbow("CBOW w20, as usual", "longer", **LONGER, **USUAL),
        cbow("CBOW w20, fixed, as usual", "longer", **LONGER, **USUAL, shrink_windows=False),
        Recipe("structured skip-gram w20", STRUCTURED, "main", "structured skip-gram"),
    ]
    if tuned is not None:
        found.insert(1, attention(TUNED, **tuned))
    for update, shrink in itertools.product(("exact", "word2vec"), (False, True)):
        window = "reduced" if shrink else "fixed"
        if not shrink:
            name = f"CBOW w20, {update}, {window}"
            found.append(cbow(name, "ablation", cbow_update=update, shrink_windows=shrink))
        for kind in ATTENTION_KINDS:
            if (update, shrink, kind) != ("exact", False, "full"):
                name = f"attention w20, {update}, {window}, {kind}"
                options = {"cbow_update": update, "shrink_windows": shrink, "attention": kind}
                found.append(attention(name, "ablation", **options))
    found += [
        attention("attention w20, alpha 0.2", "ablation", alpha=0.2),
        attention("attention w20, position, alpha 0.2", "ablation", attention="position", alpha=0.2),
        attention("attention w20, 3 epochs", "ablation", **LONGER),
        cbow("CBOW w1, 3 epochs", "ablation", window=1, **LONGER),
        attention("attention w5", "ablation", window=5),
        attention("attention w2", "ablation", window=2),
        attention("attention w20, sample 1e-3", "ablation", sample=1e-3),
        cbow("CBOW w20, sample 1e-3", "ablation", sample=1e-3),
        cbow("CBOW w1, sample 1e-3", "ablation", window=1, sample=1e-3),
    ]
    return found


# ------------------------------------------------------------------ running


def first_lines(corpus: Path, count: int) -> Iterator[str]:
    """Yield the first lines of a corpus."""
    from xopen import xopen

    with xopen(corpus, "rt", encoding="utf-8") as source:
        yield from itertools.islice(source, count)


def encoded(text: Any, options: argparse.Namespace, name: str, lowercase: bool = False) -> EncodedCorpus:
    """Encode text as recipes need it."""
    return encode_corpus(
        text,
        tokenizer=COMMON["tokenizer"],
        lowercase=lowercase,
        min_count=COMMON["min_count"],
        cache_dir=options.output / "text" / name,
        workers=options.workers,
    )


class Tuning:
    """Chooses settings by part-of-speech induction on UD English-EWT dev, with a part of the text.

    Parameters
    ----------
    options : Namespace
    deadline : float
        On the monotonic clock; nothing is trained after it.
    """

    def __init__(self, options: argparse.Namespace, deadline: float) -> None:
        self.options, self.deadline = options, deadline
        self.log = options.output / "tuning.jsonl"
        self.done = {record["key"]: record for record in read_lines(self.log)}
        self.text: EncodedCorpus | None = None

    def alphas(self) -> dict[str, float]:
        """Return the learning rate of each family that is finished."""
        found = {}
        for family, (base, rates) in GRIDS.items():
            scores = {alpha: self.score(family, {**base, "alpha": alpha}) for alpha in rates}
            if None not in scores.values():
                found[family] = max(rates, key=lambda alpha: scores[alpha] or 0.0)
        return found

    def attention(self, alpha: float) -> dict[str, Any] | None:
        """Return the options of the best attention recipe, None if not all are finished."""
        found = []
        for ratio, more in SEARCH:
            chosen = {**more, "attention_alpha": ratio * alpha}
            value = self.score("attention, search", {**ATTENTION, "alpha": alpha, **chosen})
            if value is not None:
                found.append((value, chosen))
        return max(found, key=lambda pair: pair[0])[1] if len(found) == len(SEARCH) else None

    def score(self, family: str, chosen: dict[str, Any]) -> float | None:
        """Return V of a setting, trained now if need be; None if the time is over or others are at it."""
        key = json.dumps([family, chosen, self.options.tune_lines], sort_keys=True)
        if key not in self.done and time.monotonic() < self.deadline:
            cell = self.options.output / "tuning" / hashlib.sha1(key.encode()).hexdigest()
            with claimed(cell) as free:
                self.done.update({record["key"]: record for record in read_lines(self.log)})
                if free and key not in self.done:
                    record = {"key": key, "family": family, **chosen, **self._judged(chosen)}
                    append_line(self.log, record)
                    self.done[key] = record
                    say(f"tuning {family} {chosen}: V {record['v']:.4f} on UD EWT dev")
        return float(self.done[key]["v"]) if key in self.done else None

    def _judged(self, chosen: dict[str, Any]) -> dict[str, Any]:
        options = self.options
        if self.text is None:
            self.text = encoded(first_lines(options.corpus, options.tune_lines), options, "tuning")
        dev = read_tagged(options.data / "pos" / "ud_ewt.dev.tsv", tag_column=3)
        try:
            trained = train(self.text, TrainConfig(**{**COMMON, **chosen, "workers": options.workers}))
        except DataError as error:  # it diverged: that is a result too
            return {"v": 0.0, "failed": str(error)}
        report = pos_induction.evaluate(trained.vectors, dev, restarts=TUNE_RESTARTS, workers=options.workers)
        return {
            # The most likely restart is a matter of luck too: the mean is steadier to choose by.
            "v": float(np.mean([restart["v_measure"] for restart in report.details["restarts"]])),
            "v_likely": report.value,
            "concentration": trained.record.get("attention_concentration"),
        }


def evaluate(vectors: KeyedVectors, options: argparse.Namespace, seed: int) -> list[Report]:
    """Judge vectors on the data sets of the tables."""
    tasks = list(dict.fromkeys(task for task, _ in DATASETS))
    jobs, _ = plan(tasks, folder=options.data)
    jobs = [job for job in jobs if (job.task, job.dataset) in DATASETS]
    return list(run(vectors, jobs, seed=seed, workers=options.workers))


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Say whether nobody else is at work on a cell, and keep others from it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield not path.exists()


def run_all(options: argparse.Namespace) -> int:
    """Train and judge what is not done yet: the main recipes, seed by seed, then the others.

    Several processes may do this at the same time.

    Returns
    -------
    int
        Cells left.
    """
    deadline = time.monotonic() + 60 * options.minutes
    tuning = Tuning(options, deadline)
    alphas = tuning.alphas()
    left = run_cells([r for r in recipes() if r.table == "main"], alphas, options, deadline)
    left += run_cells([r for r in recipes() if r.table == "longer"], alphas, options, deadline)
    tuned = tuning.attention(alphas["attention"]) if "attention" in alphas else None
    known = recipes(tuned)
    left += run_cells([r for r in known if r.name == TUNED], alphas, options, deadline)
    left += run_cells([r for r in known if r.table == "ablation"], alphas, options, deadline)
    return left + (tuned is None)


def run_cells(
    chosen: Sequence[Recipe], alphas: dict[str, float], options: argparse.Namespace, deadline: float
) -> int:
    """Run some recipes, all with the first seed before the second; return how many cells are left."""
    cells = [
        (recipe, seed)
        for seed in options.seeds
        for recipe in chosen
        if re.search(options.only, recipe.name)
        and (recipe.table != "ablation" or seed in options.seeds[: options.ablation_seeds])
        and not report_path(options, recipe, seed).exists()
    ]
    left = len(cells)
    if not cells or time.monotonic() > deadline:
        return left
    texts: dict[bool, EncodedCorpus] = {}
    with ExitStack() as stack:
        for recipe, seed in cells:
            if time.monotonic() > deadline:
                break
            if recipe.family not in alphas:  # another process has not finished it
                continue
            with claimed(report_path(options, recipe, seed)) as free:
                if free:
                    lower = recipe.options.get("lowercase", COMMON["lowercase"])
                    if lower not in texts:
                        lines = options.lines
                        corpus = options.corpus if lines is None else first_lines(options.corpus, lines)
                        text = encoded(corpus, options, "lower" if lower else "all", lower)
                        texts[lower] = stack.enter_context(text)
                    run_cell(texts[lower], recipe, seed, alphas[recipe.family], options)
                    left -= 1
    return left


def run_cell(
    text: EncodedCorpus, recipe: Recipe, seed: int, alpha: float, options: argparse.Namespace
) -> None:
    """Train one recipe with one seed, judge it, and write the report."""
    say(f"{recipe.name}, seed {seed}")
    folder = options.output / "models" / f"{recipe.slug}.{seed}"
    config = recipe.config(seed, options.workers, alpha)
    if not (folder / "config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        trained = train(text, config, output=folder, overwrite=True)
        if trained.record["interrupted"]:
            raise KeyboardInterrupt
    started = time.monotonic()
    reports = evaluate(KeyedVectors.load(folder), options, seed)
    record = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    line = {
        "recipe": recipe.name,
        "seed": seed,
        "alpha": config.resolved().alpha,
        "words_per_second": record["timings"].get("words_per_second"),
        "attention_concentration": record.get("attention_concentration"),
        "evaluation_seconds": round(time.monotonic() - started, 1),
        **{f"{r.task} {r.dataset}": r.value for r in reports},
    }
    path = report_path(options, recipe, seed)
    content = {"line": line, "reports": [report.to_dict(items=True) for report in reports]}
    partial = path.with_suffix(".partial")
    with gzip.open(partial, "wt", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(partial, path)
    append_line(options.output / "results.jsonl", line)


def report_path(options: argparse.Namespace, recipe: Recipe, seed: int) -> Path:
    """Return where the reports of one recipe and seed are."""
    return Path(options.output / "reports" / f"{recipe.slug}.{seed}.json.gz")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; a last line that was cut off is not there."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Append one JSON line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(record) + "\n")


def say(line: str) -> None:
    """Write a line of progress."""
    print(line, file=sys.stderr, flush=True)


# ------------------------------------------------------------------ tables


@dataclass
class Column:
    """One recipe on one data set.

    Attributes
    ----------
    values : ndarray of shape (n_seeds,)
    replicates : ndarray of shape (resamples,)
        Means over the seeds on resampled items; the same draws for all recipes.
    """

    values: np.ndarray
    replicates: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(self.values.mean())

    @property
    def seed_error(self) -> float:
        """Standard error of the mean over the seeds; NaN with one seed."""
        return (
            float(self.values.std(ddof=1) / math.sqrt(len(self.values))) if len(self.values) > 1 else math.nan
        )

    @property
    def item_error(self) -> float:
        """Standard error from the items."""
        return float(self.replicates.std())


Found = dict[str, dict[tuple[str, str], Column]]
"""Recipe -> data set -> column."""


def collect(options: argparse.Namespace, known: Sequence[Recipe]) -> Found:
    """Read all reports."""
    found: Found = {}
    for recipe in known:
        reports: dict[tuple[str, str], list[Report]] = {}
        for seed in options.seeds:
            path = report_path(options, recipe, seed)
            if path.exists():
                with gzip.open(path, "rt", encoding="utf-8") as stream:
                    for record in json.load(stream)["reports"]:
                        report = Report.from_dict(record)
                        reports.setdefault((report.task, report.dataset), []).append(report)
        for key, of_seeds in reports.items():
            replicates = np.mean([draws(report) for report in of_seeds], axis=0)
            column = Column(np.array([report.value for report in of_seeds]), replicates)
            found.setdefault(recipe.name, {})[key] = column
    return found


def draws(report: Report, resamples: int = 300) -> np.ndarray:
    """Return the headline metric on resampled items, with the same draws whatever the seed of the report."""
    metric: Metric = report.metrics[report.headline]
    assert metric.statistic is not None
    columns, units = report.chosen(metric.columns)
    return bootstrap(metric.statistic, columns, units, seed=0, resamples=resamples)


def difference(main: Column, other: Column) -> tuple[float, float, float]:
    """Return main minus other, the half-width of its 95 % interval, and p.

    The variance is that between seeds plus that between samples of items (paired); Student's t with the
    degrees of freedom of the seeds. With one seed the seeds' part is unknown, and so are width and p.
    """
    from scipy.stats import t

    observed = main.mean - other.mean
    paired = float((main.replicates - other.replicates).std())
    error = math.sqrt(main.seed_error**2 + other.seed_error**2 + paired**2)
    freedom = len(main.values) + len(other.values) - 2
    if not math.isfinite(error) or freedom < 1:
        return observed, math.nan, math.nan
    return observed, float(t.ppf(0.975, freedom)) * error, float(2 * t.sf(abs(observed) / error, freedom))


def results_table(found: Found, known: Sequence[Recipe], table: str) -> list[str]:
    """Return a Markdown table: mean and standard deviation over the seeds."""
    lines = [
        "| recipe | seeds | " + " | ".join(DATASETS.values()) + " |",
        "|---|---|" + "---|" * len(DATASETS),
    ]
    for recipe in known:
        if recipe.name in found and (recipe.table == table or recipe.name in REFERENCES):
            columns = found[recipe.name]
            cells = []
            for key in DATASETS:
                column = columns.get(key)
                spread = (
                    "" if column is None or len(column.values) < 2 else f" ± {column.values.std(ddof=1):.3f}"
                )
                cells.append("" if column is None else f"{column.mean:.3f}{spread}")
            seeds = max(len(column.values) for column in columns.values())
            lines.append(f"| {recipe.name} | {seeds} | " + " | ".join(cells) + " |")
    return lines


def differences_table(found: Found, known: Sequence[Recipe], main: str = MAIN) -> list[str]:
    """Return a Markdown table of one recipe against those of the main table, corrected over all its cells."""
    keys = [("pos-induction", "wsj_sample"), ("pos-induction", "ud_ewt.test"), ("sentiment", "sst-binary")]
    rivals = [r.name for r in known if r.table == "main" and r.name != main and r.name in found]
    if main not in found or not rivals:
        return ["(the main recipe or its rivals have not been run)"]
    cells = {
        (name, key): difference(found[main][key], found[name][key])
        for name in rivals
        for key in keys
        if key in found[main] and key in found[name]
    }
    adjusted = dict(zip(cells, holm([p for _, _, p in cells.values()]), strict=True))
    lines = [
        f"| {main} minus | " + " | ".join(DATASETS[key] for key in keys) + " |",
        "|---|" + "---|" * len(keys),
    ]
    for name in rivals:
        text = []
        for key in keys:
            if (name, key) not in cells:
                text.append("")
                continue
            value, half, p = cells[name, key]
            verdict = "one seed" if math.isnan(p) else "tie" if adjusted[name, key] >= 0.05 else "**differs**"
            width = "" if math.isnan(half) else f" [{value - half:+.3f}, {value + half:+.3f}]"
            text.append(f"{value:+.3f}{width} {verdict}")
        lines.append(f"| {name} | " + " | ".join(text) + " |")
    return lines


# ------------------------------------------------------------------ Figure 1

SENTENCES = (
    "antartica has little rainfall with the south pole making it a continental desert",
    "antarctica has little rainfall with the south pole making it a continental desert",
)
"""As the paper spells it, and as it is spelt."""

CONTENT = {"antartica", "antarctica", "rainfall", "pole", "continental", "desert"}
FUNCTION = {"has", "with", "the", "it", "a"}
"""The words that the paper's text names, and the remaining closed classes; fixed before looking."""


def figure1(options: argparse.Namespace, figures: Path) -> list[str]:
    """Draw the attention of the first seed's main recipe, and return what it says."""
    from wordvec_ca.attention import attention_weights

    recipe = next(r for r in recipes() if r.name == MAIN)
    seeds = [
        s
        for s in options.seeds
        if (options.output / "models" / f"{recipe.slug}.{s}" / "config.json").exists()
    ]
    if not seeds:
        return []
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = ["| seed | sentence | largest weight | content | function | p |", "|---|---|---|---|---|---|"]
    fig, axes = pyplot.subplots(len(seeds), 1, figsize=(9, 1.3 * len(seeds)), squeeze=False)
    for seed, ax in zip(seeds, axes[:, 0], strict=True):
        folder = options.output / "models" / f"{recipe.slug}.{seed}"
        for sentence in SENTENCES:
            words = sentence.split()
            found = [
                w for w in attention_weights(folder, words, words.index("south")) if w.weight is not None
            ]
            top = max(found, key=lambda w: w.weight or 0.0)
            content = [w.weight for w in found if w.word in CONTENT and w.weight is not None]
            function = [w.weight for w in found if w.word in FUNCTION and w.weight is not None]
            if not content or not function:  # a vocabulary too small to say anything
                continue
            p = permutation_p(content, function)
            lines.append(
                f"| {seed} | {words[0]} ... | {top.word} ({top.weight:.2f}) | {np.mean(content):.3f} | "
                f"{np.mean(function):.3f} | {p:.3f} |"
            )
        ax.imshow([[w.weight for w in found]], cmap="Greys", aspect="auto", vmin=0)
        ax.set_xticks(range(len(found)), [f"{w.word}\n{w.offset:+d}" for w in found], fontsize=7)
        ax.set_yticks([0], [f"seed {seed}"], fontsize=7)
    fig.tight_layout()
    fig.savefig(figures / "ling2015-attention.png", dpi=120)
    pyplot.close(fig)
    return lines


def permutation_p(content: Sequence[float], function: Sequence[float]) -> float:
    """Return the exact one-sided p of content words having the larger mean weight."""
    together = [*content, *function]
    observed = np.mean(content) - np.mean(function)
    n, total, beyond, tried = len(content), sum(together), 0, 0
    for chosen in itertools.combinations(together, n):
        inside = sum(chosen)
        gap = inside / n - (total - inside) / (len(together) - n)
        beyond += gap >= observed - 1e-12
        tried += 1
    return beyond / tried


def profile(options: argparse.Namespace, figures: Path) -> list[str]:
    """Draw the mean attention of each place in the window, over words by their frequency."""
    from matplotlib import pyplot

    from wordvec_ca.model import read_attention

    recipe = next(r for r in recipes() if r.name == MAIN)
    fig, ax = pyplot.subplots(figsize=(6, 2.6))
    lines = []
    for seed in options.seeds:
        folder = options.output / "models" / f"{recipe.slug}.{seed}"
        if not (folder / "config.json").exists():
            continue
        word_logits, slot_logits = read_attention(folder)
        counts = KeyedVectors.load(folder).counts
        assert counts is not None
        share = counts / counts.sum()
        weights = share @ np.exp(np.clip(np.asarray(word_logits) + np.asarray(slot_logits), -10, 10))
        weights /= weights.sum()
        b = len(weights) // 2
        places = [*range(-b, 0), *range(1, b + 1)]
        ax.plot(places, weights, marker=".", label=f"seed {seed}")
        near = weights[b - 1] + weights[b]
        lines.append(f"seed {seed}: the two neighbours get {near:.2f} of the window's mean weight")
    ax.set_xlabel("place relative to the predicted word")
    ax.set_ylabel("mean weight")
    ax.legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(figures / "ling2015-places.png", dpi=120)
    pyplot.close(fig)
    return lines


def plot(found: Found, known: Sequence[Recipe], figures: Path) -> None:
    """Draw V-measure on the WSJ sample of all recipes, each seed a point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    key = ("pos-induction", "wsj_sample")
    names = [r.name for r in known if r.name in found and key in found[r.name]][::-1]
    fig, ax = pyplot.subplots(figsize=(7, 0.6 + 0.24 * len(names)))
    for y, name in enumerate(names):
        column = found[name][key]
        ax.plot(column.values, [y] * len(column.values), "o", color="0.6", markersize=3)
        ax.errorbar(
            column.mean, y, xerr=1.96 * column.item_error, fmt="|", color="C3" if name == MAIN else "C0"
        )
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_xlabel("V-measure on the WSJ sample (points: seeds; bars: 95 % from the sentences)")
    fig.tight_layout()
    fig.savefig(figures / "ling2015-v.png", dpi=120)
    pyplot.close(fig)


def write_results(options: argparse.Namespace) -> None:
    """Put tables and plots into the results page, between the marks of this script."""
    tuning = Tuning(options, -math.inf)
    alphas = tuning.alphas()
    known = recipes(tuning.attention(alphas["attention"]) if "attention" in alphas else None)
    found = collect(options, known)
    if not found:
        say("there are no results yet")
        return
    figures = options.page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    plot(found, known, figures)
    weights = figure1(options, figures)
    places = profile(options, figures) if weights else []
    settings = list(tuning.done.values())
    text = [
        "### The tables",
        "",
        f"Wikipedia, {'30 M words' if options.lines is None else f'the first {options.lines:,} lines'}, "
        f"cased, punctuation split off; {COMMON['vector_size']} dimensions, {COMMON['negative']} negatives, "
        f"{COMMON['epochs']} epoch, no sub-sampling, words that occur {COMMON['min_count']} times. "
        f"{len(settings)} settings were tried on 10 M words and UD English-EWT dev, none on the other "
        "sets. Every seed trains anew and starts the induction anew.",
        "",
        *results_table(found, known, "main"),
        "",
        "Mean ± standard deviation over the seeds. V: V-measure of part-of-speech induction, the most likely "
        "of 10 restarts; tagging: accuracy of the linear window probe; SST: accuracy on dev, C by "
        "cross-validation on train; ws353, mturk287: Spearman.",
        "",
        "### Differences",
        "",
        *differences_table(found, known),
        "",
        *(differences_table(found, known, TUNED) if TUNED in found else []),
        "",
        "95 % intervals from seeds and sentences together (Student's t); ties after Holm's correction over "
        "each table.",
        "",
        "![V-measure of all recipes](figures/ling2015-v.png)",
        "",
        "### What of it is attention",
        "",
        *results_table(found, known, "ablation"),
        "",
        "word2vec and exact: what the context rows are moved by; fixed and reduced: the window; full, "
        "position, word: what the attention depends on.",
        "",
        "### More training",
        "",
        *results_table(found, known, "longer"),
        "",
        "Three epochs instead of one; d100 n5: 100 dimensions and 5 negatives; alpha 0.05: the usual "
        "rate, which those in lower case have too; as usual: lower case and sub-sampling at 1e-3.",
        "",
    ]
    if weights:
        text += [
            "### Figure 1",
            "",
            f'Weights of the context of "south" ({MAIN}); p: content over function words, exact permutation.',
            "",
            *weights,
            "",
            "![Attention around south](figures/ling2015-attention.png)",
            "",
            "![Attention by place](figures/ling2015-places.png)",
            "",
            *[f"* {line}" for line in places],
            "",
        ]
    text += [f"### The {len(settings)} settings tried", ""]
    text += ["| family | alpha | what else was varied | V, EWT dev |", "|---|---|---|---|"]
    for tried in settings:
        varied = ""
        if tried["family"] == "attention, search":
            varied = f"logits' rate x {tried['attention_alpha'] / tried['alpha']:g}"
            for name in ("attention_warmup", "shrink_windows", "attention", "sample"):
                if name in tried and tried[name] != ATTENTION.get(name):
                    varied += f", {name} {tried[name]}"
        v = "diverged" if "failed" in tried else f"{tried['v']:.3f}"
        text.append(f"| {tried['family']} | {tried['alpha']:g} | {varied} | {v} |")
    text += [
        "",
        "10 M words, one seed; V is the mean over "
        f"{TUNE_RESTARTS} restarts, which is steadier than the best.",
    ]
    begin, end = "<!-- ling2015: written by scripts/ling2015_table1.py -->", "<!-- ling2015: end -->"
    page = options.page.read_text(encoding="utf-8") if options.page.exists() else "# Results\n"
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    body = "\n".join([begin, *text, end])
    options.page.write_text(f"{before.rstrip()}\n\n{body}\n{after.lstrip(chr(10))}", encoding="utf-8")
    say(f"{options.page} written")


def main() -> None:
    """Run what is left, then write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("CAWV_DATA"), help="data folder (docs/data.md)"
    )
    parser.add_argument("--corpus", type=Path, help="training text; DATA/corpora/wiki.30M.txt.xz by default")
    parser.add_argument("--output", type=Path, default=Path("ling2015"))
    parser.add_argument("--page", type=Path, default=Path("docs/results.md"))
    parser.add_argument("--seeds", default="1,2,3", help="comma-separated")
    parser.add_argument("--only", default="", metavar="REGEX", help="only recipes whose name matches")
    parser.add_argument("--ablation-seeds", type=int, default=1, help="so many seeds for the ablations")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=math.inf, help="start nothing new after this")
    parser.add_argument("--lines", type=int, help="train on the first lines only")
    parser.add_argument("--tune-lines", type=int, default=TUNE_LINES)
    parser.add_argument("--report", action="store_true", help="only write the results page")
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set CAWV_DATA")
    options.data = Path(options.data)
    options.corpus = options.corpus or options.data / "corpora" / "wiki.30M.txt.xz"
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    left = 0 if options.report else run_all(options)
    if left:
        sys.exit(f"{left} or more runs are left: give the command again")
    write_results(options)


if __name__ == "__main__":
    main()
