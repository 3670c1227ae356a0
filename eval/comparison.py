"""Is one model better than another? Paired differences on the same items, with intervals, and ties named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.report import Report, aligned
from wordvec_ca.eval.resampling import bootstrap, evaluate_statistic, interval, sign_flips


@dataclass
class Difference:
    """One model against the baseline on one data set.

    Attributes
    ----------
    task, dataset, metric : str
    baseline, model : str
        Names of the two.
    baseline_value, model_value : float
        On the items that both cover.
    difference, low, high : float
        Model minus baseline, and its 95 % interval from a paired bootstrap: both models are judged on
        the same resampled items.
    p : float
        Two-sided. Means: paired sign flips. Other statistics: how often the resampled difference is as far
        from its own mean as the observed one is from zero.
    holm : float
        p adjusted for the number of comparisons (Holm 1979).
    n : int
        Items.
    verdict : str
        "better", "worse" or "tie".
    """

    task: str
    dataset: str
    metric: str
    baseline: str
    model: str
    baseline_value: float
    model_value: float
    difference: float
    low: float
    high: float
    p: float
    holm: float
    n: int
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects for JSON (NaN becomes None)."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def compare(
    baseline: Sequence[Report],
    others: Iterable[Sequence[Report]],
    *,
    level: float = 0.05,
    resamples: int = 2000,
) -> list[Difference]:
    """Compare models with a baseline on the headline metric of every data set that both have.

    Parameters
    ----------
    baseline : sequence of Report
    others : iterable of sequence of Report
        One sequence per model.
    level : float
        A difference counts when its p-value, adjusted over everything compared here, is below this;
        otherwise it is a tie.
    resamples : int
        Of the bootstrap.

    Returns
    -------
    list of Difference

    Raises
    ------
    DataError
        Two reports on a data set of one name are not about the same items, or there is nothing to compare.
    """
    found = {(report.task, report.dataset): report for report in baseline}
    differences = [
        _difference(found[report.task, report.dataset], report, resamples)
        for reports in others
        for report in reports
        if (report.task, report.dataset) in found
    ]
    if not differences:
        raise DataError("there is nothing to compare: no task was run on the same data set for two models")
    for difference, adjusted in zip(differences, holm([d.p for d in differences]), strict=True):
        difference.holm = adjusted
        if adjusted < level and difference.difference != 0:
            difference.verdict = "better" if difference.difference > 0 else "worse"
    return differences


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down procedure; NaN counts as 1.

    Examples
    --------
    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = [1.0 if math.isnan(p) else p for p in p_values]
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = running
    return adjusted


def table(differences: Sequence[Difference]) -> str:
    """Return aligned plain text, one line per comparison, and how to read it."""
    lines: list[tuple[str, ...]] = [
        (
            "task",
            "dataset",
            "metric",
            "baseline",
            "model",
            "difference",
            "95 % interval",
            "p (Holm)",
            "n",
            "verdict",
        )
    ]
    for d in differences:
        lines.append(
            (
                d.task,
                d.dataset,
                d.metric,
                f"{d.baseline_value:.3f}",
                f"{d.model_value:.3f}",
                f"{d.difference:+.3f}",
                f"{d.low:+.3f} .. {d.high:+.3f}",
                f"{d.holm:.3f}",
                f"{d.n:,}",
                d.verdict,
            )
        )
    models = list(dict.fromkeys(d.model for d in differences))
    if len(models) > 1:
        lines = [
            (("model name",) if i == 0 else (differences[i - 1].model,)) + row for i, row in enumerate(lines)
        ]
    shift = len(lines[0]) - 10
    text = aligned(lines, right={i + shift for i in (3, 4, 5, 6, 7, 8)})
    return (
        f"{text}\n\nBaseline: {differences[0].baseline}. Model: {', '.join(models)}. Differences are "
        "model minus baseline on the same items (paired bootstrap). A tie is a difference whose p, adjusted "
        f"by Holm over these {len(differences)} comparisons, is not below .05. What another training run "
        "would change is not in the intervals: compare models from several seeds before "
        "believing a small difference."
    )


def _difference(baseline: Report, model: Report, resamples: int) -> Difference:
    name = model.headline
    metric, counterpart = model.metrics[name], baseline.metrics.get(name)
    if counterpart is None or metric.statistic is None or metric.statistic != counterpart.statistic:
        raise DataError(
            f"{model.task} {model.dataset}: one report is headed by {name!r}, the other by "
            f"{baseline.headline!r}; run both with the same options"
        )
    left = [baseline.items.get(column) for column in metric.columns]
    right = [model.items.get(column) for column in metric.columns]
    if any(column is None for column in left + right):
        raise DataError(
            f"{model.task} {model.dataset}: a report has no items; write those to compare with --json --items"
        )
    ours = [column for column in left if column is not None]
    theirs = [column for column in right if column is not None]
    same = len(ours[0]) == len(theirs[0]) and all(
        np.array_equal(a, b)
        for column, a, b in zip(metric.columns, ours, theirs, strict=True)
        if column in ("gold", "set")
    )
    if not same:
        raise DataError(
            f"{model.task} {model.dataset}: the two reports are not about the same items; "
            "run both on one file"
        )
    kept = np.ones(len(ours[0]), dtype=bool)
    for column in ours + theirs:
        if np.issubdtype(column.dtype, np.floating):
            kept &= ~np.isnan(column)
    ours, theirs = [column[kept] for column in ours], [column[kept] for column in theirs]
    units = None if model.units is None else model.units[kept]
    before, after = evaluate_statistic(metric.statistic, ours), evaluate_statistic(metric.statistic, theirs)
    observed = after - before
    of_ours, of_theirs = (
        bootstrap(metric.statistic, columns, units, seed=model.seed, resamples=resamples)
        for columns in (ours, theirs)
    )
    replicates = of_theirs - of_ours
    replicates = replicates[~np.isnan(replicates)]
    # The bias that repeated items give to measures of agreement is about the same for both models.
    low, high = interval("pearson", observed, replicates)
    if metric.statistic == "mean":
        p = sign_flips(theirs[0] - ours[0], units, seed=model.seed)
    elif len(replicates) == 0 or math.isnan(observed):
        p = math.nan
    else:
        beyond = np.count_nonzero(np.abs(replicates - replicates.mean()) >= abs(observed))
        p = (beyond + 1) / (len(replicates) + 1)
    return Difference(
        model.task,
        model.dataset,
        name,
        baseline.model,
        model.model,
        before,
        after,
        observed,
        low,
        high,
        p,
        p,
        int(kept.sum()),
        "tie",
    )
