"""Tables: means over the seeds, and differences with intervals over seeds and items."""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from recipes import MAIN, REFERENCES, Recipe
from records import report_path

from wordvec_ca.eval import Metric, Report, bootstrap, holm

DATASETS = {
    ("pos-induction", "wsj_sample"): "V, WSJ",
    ("pos-induction", "ud_ewt.test"): "V, EWT test",
    ("tagging", "wsj_sample"): "tagging, WSJ",
    ("sentiment", "sst-binary"): "SST dev",
    ("similarity", "ws353"): "ws353",
    ("similarity", "mturk287"): "mturk287",
}
"""Columns of the tables."""


@dataclass
class Column:
    """One recipe on one data set.

    Attributes
    ----------
    values : ndarray of shape (n_seeds,)
    replicates : ndarray of shape (resamples,)
        Means over the seeds on resampled items; all recipes have the same resamples.
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
        """Standard error over the items."""
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
    """Return the headline metric on resampled items; the resamples do not depend on the report's seed."""
    metric: Metric = report.metrics[report.headline]
    assert metric.statistic is not None
    columns, units = report.chosen(metric.columns)
    return bootstrap(metric.statistic, columns, units, seed=0, resamples=resamples)


def difference(main: Column, other: Column) -> tuple[float, float, float]:
    """Return main minus other, the half-width of its 95 % interval, and p.

    The variance is that between seeds plus that between samples of items (paired); the test is Student's t
    with the degrees of freedom of the seeds. With one seed the variance between seeds is unknown, and so are
    the width and p.
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
    """Return a Markdown table of one recipe against those of the main table, corrected over all cells."""
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
