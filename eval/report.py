"""The result of a task for one model: figures, intervals, the protocol, and the outcome of every item."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.statistics.crossed import standard_error_of_mean
from wordvec_ca.eval.statistics.paired import interval_by_t, interval_of_searches
from wordvec_ca.eval.statistics.resampling import (
    CORRELATIONS,
    INTERVAL,
    bootstrap,
    evaluate_statistic,
    interval,
    n_searches,
    of_each_search,
)
from wordvec_ca.eval.statistics.subsamples import OF_TABLES, subsampled
from wordvec_ca.files import html_table
from wordvec_ca.vectors import interval as interval_of_runs

# With fewer units (documents) quantiles of the bootstrap are too narrow: 95 % of five normal units hold the
# mean in 85 of 100 cases. Student's t is right for these.
FEW = 20


@dataclass(frozen=True)
class Metric:
    """One figure.

    Attributes
    ----------
    value : float
        The figure; NaN if it cannot be computed (the report's notes say why).
    low, high : float
        95 % interval over the items of the data set (NaN if there is none). It says how much the
        figure could differ on another sample of such items, not with another run of the training.
    statistic : str or None
        Name in ``resampling.STATISTICS`` of the function that gave the value; None for a figure that is not
        a function of the items.
    columns : tuple of str
        Names of the ``items`` that the statistic was computed from.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    statistic: str | None = None
    columns: tuple[str, ...] = ()


@dataclass(repr=False)
class Report:
    """Result of one task on one data set.

    Attributes
    ----------
    task, dataset : str
    metrics : dict of str to Metric
        The first one is the headline, used when models are compared.
    n : int
        Number of items that the headline figure is computed from.
    coverage : float
        Share of the data set's items (pairs, questions, words or tokens: ``coverage_of`` says which) whose
        words all have vectors.
    coverage_of : str
    seed : int
        Seed of everything random in the task, the bootstrap included.
    protocol : str
        How the figures were computed, in words.
    items : dict of str to ndarray
        Columns with one value per item, kept so that two models can be compared item by item. A task with a
        random search inside has columns of shape (n_items, n_searches).
    units : ndarray of shape (n_items,) or (n_items, 2), int64, or None
        Items with the same number depend on each other and are drawn together (tokens of a sentence). With
        two columns each item depends on two units (an analogy on two pairs of words).
    details : dict
        Further counts and figures without intervals.
    notes : list of str
        What a reader must know before believing the figures.
    seconds : float
    model : str
        Name of the vectors.
    digest : str
        Digest of the items (``digest_of``): models are only compared on equal items.
    candidates : int
        Number of words that answers are chosen from, if this number makes the task harder; otherwise 0.
    candidates_digest : str
        Digest of these candidate words; it does not depend on their order.
    runs : list of float
        The headline figure of each resampled model of ``cawv train --resamples``; the intervals of metrics
        are over items, that of ``one_run`` is over runs.
    run_unit : {"lines", "documents", ""}
        What was sampled for the resampled models; empty if there are none, or if they do not record it.
    trained : str
        Digest of the record of the training, the same for all forms of its vectors; empty without a record.
    shown : int
        How many of the first metrics (the headline and baselines) are shown where there is no room for all.
    """

    task: str
    dataset: str
    metrics: dict[str, Metric] = field(default_factory=dict)
    n: int = 0
    coverage: float = math.nan
    coverage_of: str = "items"
    seed: int = 1
    protocol: str = ""
    items: dict[str, np.ndarray] = field(default_factory=dict)
    units: np.ndarray | None = None
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = math.nan
    model: str = ""
    digest: str = ""
    candidates: int = 0
    candidates_digest: str = ""
    runs: list[float] = field(default_factory=list)
    run_unit: str = ""
    trained: str = ""
    shown: int = 1

    @classmethod
    def over(cls, task: str, dataset: str, covered: Any, what: str, **fields: Any) -> Report:
        """Return a report, still without metrics, on the items that are covered, with a note on the others.

        ``covered`` is an array of truth values, ``what`` is ``coverage_of``; the other arguments are fields.
        """
        n = int(covered.sum())
        report = cls(task, dataset, n=n, coverage=float(covered.mean()), coverage_of=what, **fields)
        report.details[f"oov_{what}"] = len(covered) - n
        if n < len(covered):
            report.notes.append(f"{len(covered) - n:,} of {len(covered):,} {what} lack a vector")
        return report

    @property
    def one_run(self) -> tuple[float, float]:
        """95 % interval of the headline figure of one run on another sample of text, or NaN."""
        if len(self.runs) < 2:
            return math.nan, math.nan
        correlation = self.metrics[self.headline].statistic in CORRELATIONS
        runs = interval_of_runs(np.array(self.runs), level=0.95, cosine=correlation)
        low, high = np.clip(runs, -1.0 if correlation else 0.0, 1.0).tolist()
        return low, high

    @property
    def headline(self) -> str:
        """Name of the first metric."""
        return next(iter(self.metrics))

    @property
    def value(self) -> float:
        """Value of the headline metric."""
        return self.metrics[self.headline].value

    def __repr__(self) -> str:
        metric = self.metrics[self.headline] if self.metrics else Metric(math.nan)
        interval = "" if math.isnan(metric.low) else f" [{metric.low:.3f}, {metric.high:.3f}]"
        what = f"{self.headline} {metric.value:.3f}{interval}, " if self.metrics else ""
        return f"Report({self.task!r}, {self.dataset!r}: {what}n={self.n}, coverage {self.coverage:.1%})"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the metrics with their intervals."""
        rows = [
            (name, *(f"{value:.3f}" for value in (metric.value, metric.low, metric.high)))
            for name, metric in self.metrics.items()
        ]
        title = f"{self.task}, {self.dataset}: n = {self.n:,}, coverage {self.coverage:.1%}"
        return html_table(title, ("metric", "value", "low", "high"), rows)

    def measure(self, name: str, statistic: str, *columns: str, resamples: int = 1000) -> None:
        """Compute a metric from the items, with its 95 % interval, and add it.

        For means and correlations the interval is from quantiles of the bootstrap. For the agreement of
        clusters and classes it is Student's t with the standard error of subsamples, and for means of items
        that depend on two units, or on few, Student's t with the standard error of crossed units. The figure
        of several searches is their mean, and its interval is over items and searches.

        Items with NaN in one of the columns (out of vocabulary) are left out.

        Parameters
        ----------
        name : str
            Name of the metric.
        statistic : str
            Name in ``resampling.STATISTICS``.
        *columns : str
            Names of the items that the statistic is computed from.
        resamples : int
            Number of bootstrap samples, or of subsamples.
        """
        values, units = self.chosen(columns)
        if n_searches(values) == 1:
            values = of_each_search(values)[0]
        value = evaluate_statistic(statistic, values)
        if n_searches(values) > 1:
            low, high = interval_of_searches(statistic, values, units, seed=self.seed, resamples=resamples)
        elif statistic in OF_TABLES:
            parts, scale = subsampled(statistic, values, units, seed=self.seed, resamples=resamples)
            n_units = len(values[0]) if units is None else len(np.unique(units))
            low, high = interval_by_t(value, scale * float(np.std(parts)), n_units)
        elif units is not None and units.ndim == 2:
            low, high = interval_by_t(value, *standard_error_of_mean(values[0], units))
        elif statistic == "mean" and units is not None and len(np.unique(units)) < FEW:
            both = np.column_stack((units, units))
            low, high = interval_by_t(value, *standard_error_of_mean(values[0], both))
        else:
            replicates = bootstrap(statistic, values, units, seed=self.seed, resamples=resamples)
            low, high = interval(value, replicates)
        self.metrics[name] = Metric(value, low, high, statistic, columns)

    def chosen(self, columns: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Return the columns, and the units, without the items that are NaN in one of them."""
        kept = np.ones(len(self.items[columns[0]]), dtype=bool)
        for column in columns:
            kept &= known(self.items[column])
        units = None if self.units is None else self.units[kept]
        return [self.items[column][kept] for column in columns], units

    def to_dict(self, *, items: bool = False) -> dict[str, Any]:
        """Return plain Python objects that JSON can hold (NaN becomes None)."""
        left_out = ("items", "units", "runs", "run_unit", "shown")
        record: dict[str, Any] = {"model": self.model}
        record |= {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name not in left_out}
        record["metrics"] = {name: plain(vars(metric)) for name, metric in self.metrics.items()}
        record["interval"] = INTERVAL
        if self.runs:
            record["runs"] = plain(self.runs)
            record["one_run"] = plain(list(self.one_run))
            record["run_unit"] = self.run_unit
        if items:
            record["items"] = {name: plain(column) for name, column in self.items.items()}
            record["units"] = None if self.units is None else self.units.tolist()
        return record

    def to_json(self, *, items: bool = False) -> str:
        """Return the report as JSON text.

        Parameters
        ----------
        items : bool
            Write the outcome of every item too: ``from_dict`` then gives a report that can be compared.
        """
        return json.dumps(self.to_dict(items=items), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Report:
        """Make a report from what ``to_dict`` returned."""
        given = {f.name: record[f.name] for f in fields(cls) if f.name in record}
        given["metrics"] = {
            name: Metric(
                _number(metric["value"]),
                _number(metric["low"]),
                _number(metric["high"]),
                metric["statistic"],
                tuple(metric["columns"]),
            )
            for name, metric in record["metrics"].items()
        }
        given["items"] = {name: _column(values) for name, values in record.get("items", {}).items()}
        if record.get("units") is not None:
            given["units"] = np.array(record["units"], dtype=np.int64)
        given["runs"] = [_number(value) for value in record.get("runs", [])]
        given |= {name: _number(record[name]) for name in ("coverage", "seconds")}
        return cls(**given)


def known(column: np.ndarray) -> np.ndarray:
    """Return which items have a value in every search, (n_items,), bool."""
    if not np.issubdtype(column.dtype, np.floating):
        return np.ones(len(column), dtype=bool)
    return ~np.isnan(column.reshape(len(column), -1)).any(axis=1)


def digest_of(*columns: Iterable[Any]) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of a data set's items."""
    digest = hashlib.sha256()
    for column in columns:
        for entry in column:
            digest.update(repr(entry).encode("utf-8", "surrogatepass") + b"\n")
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def reports_in(path: str | os.PathLike[str]) -> list[Report]:
    """Read the reports that ``cawv eval --json`` wrote, one record a line.

    If a model has several records on one data set, the last one is used.

    Raises
    ------
    DataError
        The file is not JSON or holds something else.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        # not splitlines: it also breaks at U+2028, which may be part of a word
        records = [json.loads(line) for line in text.split("\n") if line.strip()]
        reports = [Report.from_dict(record) for record in records]
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: these are not reports ({type(error).__name__}: {error}); write them with "
            "cawv eval MODEL --json --items > FILE"
        ) from None
    return list({(report.model, report.task, report.dataset): report for report in reports}.values())


def report_table(reports: Iterable[Report]) -> str:
    """Return aligned plain text: one line for every metric, then the notes and protocols.

    Examples
    --------
    >>> print(report_table([]))
    no results
    """
    reports = list(reports)
    if not reports:
        return "no results"
    models = list(dict.fromkeys(report.model for report in reports))
    if len(models) > 1:
        parts = [f"{model}\n{_rows([r for r in reports if r.model == model])}" for model in models]
        text = "\n\n".join(parts)
    else:
        text = _rows(reports)
    return f"{text}\n\n{report_remarks(reports)}"


def report_remarks(reports: Iterable[Report]) -> str:
    """Return the notes and the protocols of the reports as plain text."""
    reports = list(reports)
    notes = [f"* {report.task} {report.dataset}: {note}" for report in reports for note in report.notes]
    protocols = dict.fromkeys(f"* {report.task}: {report.protocol}" for report in reports)
    seeds = ", ".join(str(seed) for seed in sorted({report.seed for report in reports}))
    return "\n".join(
        (["Notes:", *dict.fromkeys(notes), ""] if notes else [])
        + [f"How it was measured (seed {seeds}; {INTERVAL}):", *protocols]
    )


HEAD = ("task", "dataset", "metric", "value", "95 % interval", "n", "coverage", "seconds")


def _rows(reports: Sequence[Report]) -> str:
    """Return one line for every metric, aligned."""
    return aligned([HEAD, *report_rows(reports)], right={3, 4, 5, 6, 7})


def report_rows(reports: Sequence[Report]) -> list[tuple[str, ...]]:
    """Return the cells under ``HEAD``: a row for every metric, the headline of each report first."""
    lines: list[tuple[str, ...]] = []
    for report in reports:
        for i, (name, metric) in enumerate(report.metrics.items()):
            first = i == 0
            lines.append(
                (
                    report.task if first else "",
                    report.dataset if first else "",
                    name,
                    _figure(metric.value),
                    "" if math.isnan(metric.low) else f"{_figure(metric.low)} .. {_figure(metric.high)}",
                    f"{report.n:,}" if first else "",
                    f"{100 * report.coverage:.1f} %" if first else "",
                    "" if math.isnan(report.seconds) or not first else f"{report.seconds:.1f}",
                )
            )
            if first and report.runs:
                low, high = report.one_run
                of_runs = _figure(float(np.mean(report.runs))), f"{_figure(low)} .. {_figure(high)}"
                lines.append(("", "", "one run", *of_runs, f"{len(report.runs)} runs", "", ""))
    return lines


def aligned(lines: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return rows of cells as text with aligned columns; the first row is the head."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    flush = set(right)
    text = [
        "  ".join(
            cell.rjust(width) if i in flush else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([text[0], "-" * max(map(len, text)), *text[1:]])


def _figure(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NaN and infinity become None."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _column(values: list[Any]) -> np.ndarray:
    if values and isinstance(values[0], list):
        return np.array([_column(value) for value in values])
    if any(value is None or isinstance(value, float) for value in values):
        return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    return np.array(values)
