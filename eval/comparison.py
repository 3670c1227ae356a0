"""Is one model better than another? Paired differences on the same items, with intervals, and ties named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.report import Report, aligned, known, plain
from wordvec_ca.eval.statistics.paired import paired_difference, variance_of_training, with_training
from wordvec_ca.eval.statistics.resampling import n_searches
from wordvec_ca.vectors import interval_of_difference


@dataclass
class Difference:
    """One model against the baseline on one data set.

    Attributes
    ----------
    task, dataset, metric : str
    baseline, model : str
        Names of the two models.
    baseline_value, model_value : float
        Value of each model on the items that both cover.
    difference, low, high : float
        Model minus baseline, and its 95 % interval over items and trainings; both models are judged on the
        same items (see ``statistics.paired`` and ``statistics.training``).
    p : float
        Two-sided p-value, over items and trainings.
    holm : float
        p adjusted for the number of comparisons (Holm 1979).
    n, n_items : int
        Items that both models cover, and all items of the set.
    verdict : str
        "better", "worse", "tie", or "cannot be decided": the items are so few, and the comparisons so many,
        that even ``smallest_p`` would not be evidence.
    smallest_p : float
        The smallest p-value that this number of items can give.
    candidates : int
        Words from which both models chose their answers; 0 if the size of the vocabulary does not make the
        task harder or easier.
    run_low, run_high : float
        95 % interval of the difference between one run of each model on another sample of text, if both come
        from ``cawv train --resamples``; else NaN. The other interval is over items.
    run_unit : str
        What was sampled for the runs: "lines" or "documents", or "lines and documents"; empty if unknown.
    training : float
        Standard deviation that the trainings of both models add to the difference.
    training_from : str
        Where it is from: "seeds", what was measured once between seeds of other recipes; "runs", the models
        of ``cawv train --resamples``; "seeds and runs", a single run beside such models; "one run", and
        ``training`` is 0, if both sets of vectors are from one training.
    p_of_items : float
        Two-sided p-value over items alone.
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
    n_items: int
    verdict: str
    smallest_p: float = 0.0
    candidates: int = 0
    run_low: float = math.nan
    run_high: float = math.nan
    run_unit: str = ""
    training: float = 0.0
    training_from: str = ""
    p_of_items: float = math.nan

    @property
    def within_seeds(self) -> bool:
        """Whether items alone would not call it a tie, but trainings make it one.

        Both p are compared before Holm's adjustment, at the level of the interval.
        """
        return self.p_of_items < 0.05 <= self.p

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python objects for JSON (NaN becomes None)."""
        record: dict[str, Any] = plain(asdict(self))
        return record


def compare(
    baseline: Sequence[Report],
    others: Iterable[Sequence[Report]],
    *,
    level: float = 0.05,
    resamples: int = 2000,
    refused: Callable[[DataError], None] | None = None,
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
        Subsamples for statistics that are not means.
    refused : callable, optional
        Called with the error of each pair of results that cannot be compared; without it the error is raised.

    Returns
    -------
    list of Difference

    Raises
    ------
    DataError
        Two reports with the same name of data set are about different items, or there is nothing to compare.
    """
    found = {(report.task, report.dataset): report for report in baseline}
    pairs = [
        (found[report.task, report.dataset], report)
        for reports in others
        for report in reports
        if (report.task, report.dataset) in found
    ]
    differences = []
    for pair in pairs:
        try:
            differences.append(_difference(*pair, resamples, len(pairs), level))
        except DataError as error:
            if refused is None:
                raise
            refused(error)
    if not pairs:
        raise DataError("there is nothing to compare: no task was run on the same data set for two models")
    for difference, adjusted in zip(differences, holm([d.p for d in differences]), strict=True):
        difference.holm = adjusted
        if adjusted < level and difference.difference != 0:
            difference.verdict = "better" if difference.difference > 0 else "worse"
        elif difference.difference != 0 and not difference.smallest_p * len(differences) < level:
            difference.verdict = "cannot be decided"
    return differences


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down procedure; NaN counts as 1.

    Examples
    --------
    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.nan_to_num(p_values, nan=1.0)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(values), 0, -1) * values[order]))
    return [float(p) for p in adjusted]


HEAD = (
    *("model name", "task", "dataset", "metric", "baseline", "model", "difference"),
    *("95 % interval", "p (Holm)", "n", "verdict"),
)


def comparison_table(differences: Sequence[Difference]) -> str:
    """Return aligned plain text, one line per comparison, and how to read it."""
    several = len({d.model for d in differences}) > 1
    lines = [row if several else row[1:] for row in (HEAD, *comparison_rows(differences))]
    right = {number - (not several) for number in range(4, 10)}
    return f"{aligned(lines, right=right)}\n\n{comparison_remarks(differences)}"


def comparison_rows(differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """Return the cells under ``HEAD``: a row for every comparison."""
    return [
        (
            d.model,
            d.task,
            d.dataset,
            d.metric,
            f"{d.baseline_value:.3f}",
            f"{d.model_value:.3f}",
            f"{d.difference:+.3f}",
            f"{d.low:+.3f} .. {d.high:+.3f}",
            "<0.001" if d.holm < 0.001 else f"{d.holm:.3f}",
            f"{d.n:,}" if d.n == d.n_items else f"{d.n:,} of {d.n_items:,}",
            d.verdict,
        )
        for d in differences
    ]


def comparison_remarks(differences: Sequence[Difference]) -> str:
    """Return how to read the table of comparisons."""
    common = [
        f"* {d.task} {d.dataset}: {d.candidates:,} words that all have" for d in differences if d.candidates
    ]
    of_runs = [
        f"* {d.task} {d.dataset}: {d.run_low:+.3f} .. {d.run_high:+.3f}"
        for d in differences
        if not math.isnan(d.run_low)
    ]
    sampled = " and ".join(dict.fromkeys(d.run_unit for d in differences if d.run_unit))
    units = f" ({sampled} were sampled)" if sampled else ""
    within = [
        f"* {d.task} {d.dataset}: {d.difference:+.3f}, items alone p {d.p_of_items:.3f}"
        for d in differences
        if d.within_seeds
    ]
    text = (
        _listed("Judged among common words:", common)
        + _listed(f"Between one run of each on other text, 95 %{units}:", of_runs)
        + _listed("Within what two seeds differ:", within)
    )
    models = ", ".join(dict.fromkeys(d.model for d in differences))
    text += (
        f"Baseline: {differences[0].baseline}. Model: {models}. Differences are model minus baseline on the "
        "same items. A tie is a difference whose p is not below .05. "
    )
    if len(differences) > 1:
        text += (
            f"p is adjusted for these {len(differences)} comparisons (Holm), the intervals are not: one "
            "without 0 can belong to a tie. "
        )
    if any(d.verdict == "cannot be decided" for d in differences):
        text += (
            'It "cannot be decided" where so few items differ that no p could be: take more items, or make '
            "fewer comparisons. "
        )
    return text + _remark_on_training(differences)


def _listed(head: str, lines: Sequence[str]) -> str:
    """Return a list of lines, each once, with a head and a blank line after it; nothing for none."""
    return "\n".join([head, *dict.fromkeys(lines), "", ""]) if lines else ""


def _remark_on_training(differences: Sequence[Difference]) -> str:
    """Return what of the trainings is in the intervals."""
    sources = {d.training_from for d in differences}
    if sources == {"one run"}:
        return "All are of one training, so that nothing of another is in the intervals."
    text = "Intervals and p include how much another training would change"
    if sources & {"seeds", "seeds and runs"}:
        text += (
            ": for a model trained once, what two seeds of CBOW or attention usually differ by; to measure "
            "it for your models, train them with --resamples 10"
        )
    return text + "."


def _difference(
    baseline: Report, model: Report, resamples: int, comparisons: int, level: float
) -> Difference:
    name = model.headline
    metric, counterpart = model.metrics[name], baseline.metrics.get(name)
    _refuse_different(baseline, model)
    if counterpart is None or metric.statistic is None or metric.statistic != counterpart.statistic:
        raise DataError(
            f"{model.task} {model.dataset}: {_named(model)} is headed by {name!r}, {_named(baseline)} by "
            f"{baseline.headline!r}; run both with the same options"
        )
    ours, theirs = (
        [report.items[column] for column in metric.columns if column in report.items]
        for report in (baseline, model)
    )
    for report, columns in ((baseline, ours), (model, theirs)):
        if len(columns) < len(metric.columns):
            raise DataError(
                f"{model.task} {model.dataset}: the result of {_named(report)} has no items; write those to "
                "compare with --json --items"
            )
    same = len(ours[0]) == len(theirs[0]) and all(
        np.array_equal(a, b)
        for column, a, b in zip(metric.columns, ours, theirs, strict=True)
        if column in ("gold", "set")
    )
    if not same:
        raise DataError(_different(baseline, model, f"{len(ours[0]):,} items", f"{len(theirs[0]):,} items"))
    searches = [n_searches(columns) for columns in (ours, theirs)]
    if searches[0] != searches[1]:
        raise DataError(
            f"{model.task} {model.dataset}: the result of {_named(baseline)} is of {searches[0]} search(es), "
            f"that of {_named(model)} of {searches[1]}; run both with the same options and version"
        )
    kept = np.logical_and.reduce([known(column) for column in ours + theirs])
    found = paired_difference(
        metric.statistic,
        [column[kept] for column in ours],
        [column[kept] for column in theirs],
        None if model.units is None else model.units[kept],
        seed=model.seed,
        resamples=resamples,
        comparisons=comparisons,
        level=level,
    )
    training, training_from = _training(baseline, model)
    p_of_items = found.p
    found = with_training(found, training)
    run_low = run_high = math.nan
    run_unit = ""
    if min(len(baseline.runs), len(model.runs)) > 1:
        run_low, run_high = map(float, interval_of_difference(baseline.runs, model.runs, level=0.95))
        run_unit = " and ".join(sorted({baseline.run_unit, model.run_unit} - {""}, reverse=True))
    return Difference(
        model.task,
        model.dataset,
        name,
        baseline.model,
        model.model,
        **vars(found),
        holm=found.p,
        n=int(kept.sum()),
        n_items=len(kept),
        verdict="tie",
        candidates=model.candidates,
        run_low=run_low,
        run_high=run_high,
        run_unit=run_unit,
        training=math.sqrt(training),
        training_from=training_from,
        p_of_items=p_of_items,
    )


def _training(baseline: Report, model: Report) -> tuple[float, str]:
    """Return the variance that the trainings add to the difference, and where it is from."""
    if baseline.trained and baseline.trained == model.trained:  # smaller vectors, or other forms of a model
        return 0.0, "one run"
    sources = {"runs" if len(report.runs) > 1 else "seeds" for report in (model, baseline)}
    variance = sum(variance_of_training(report.task, report.runs) for report in (baseline, model))
    return variance, " and ".join(sorted(sources, reverse=True))


def _refuse_different(baseline: Report, model: Report) -> None:
    """Raise if the two reports are about different items, or chose their answers from different words."""
    if baseline.digest and model.digest and baseline.digest != model.digest:
        sizes = [f"{_size(report)}, digest {report.digest}" for report in (baseline, model)]
        raise DataError(_different(baseline, model, *sizes))
    if baseline.candidates_digest != model.candidates_digest:
        raise DataError(
            f"{model.task} {model.dataset}: {_named(baseline)} was judged among "
            f"{baseline.candidates:,} words, "
            f"{_named(model)} among {model.candidates:,}, and not the same words; "
            "a smaller vocabulary makes the task easier: give `cawv compare` the models themselves, which it "
            "judges among the words that all have"
        )


def _different(baseline: Report, model: Report, one: str, other: str) -> str:
    return (
        f"{model.task} {model.dataset}: the results of {_named(baseline)} and {_named(model)} are not "
        f"about the same items ({one}; {other}); run both on one file"
    )


def _size(report: Report) -> str:
    return f"{max((len(column) for column in report.items.values()), default=report.n):,} items"


def _named(report: Report) -> str:
    return report.model or "a model without a name"
