"""A summary of the reports of one model, in at most six sentences that need no explanation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wordvec_ca.eval.report import Report
from wordvec_ca.eval.tasks.next_item import verdict

SEQUENCES = "Sequences of items"

# A theme -> the tasks that belong to it, and what their headline figure is in words.
#
# A task that is not here is left out of the summary.
THEMES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Similarity of words", (("similarity", "correlation with people"),)),
    ("Relations and classes", (("analogy", "analogies right"), ("categorization", "purity of categories"))),
    (
        "Parts of speech",
        (
            ("pos-induction", "V-measure without tags"),
            ("tagging", "tags right"),
            ("bilstm-tagging", "tags right with an LSTM"),
        ),
    ),
    (
        "Texts and sentences",
        (("sentiment", "texts classified rightly"), ("sts", "correlation with people"), ("sick", "on SICK")),
    ),
    (SEQUENCES, (("next-item", "next items among the ten nearest"),)),
)


def summary_lines(reports: Sequence[Report]) -> list[str]:
    """Return at most six lines: one for each theme, and one on how much of the data the vocabulary covers.

    Parameters
    ----------
    reports : sequence of Report
        Reports of one model. If a task has several sets, the line has the mean of the headline figures, with
        the lowest and the highest.
    """
    lines = []
    for theme, tasks in THEMES:
        figures = []
        for task, meaning in tasks:
            of_task = [r for r in reports if r.task == task and r.metrics and not math.isnan(r.value)]
            if of_task:
                figures.append(f"{meaning} {_figures(of_task)}")
        if figures:
            lines.append(f"{theme}: {'; '.join(figures)}.")
        for report in reports:
            if theme == SEQUENCES and report.task == "next-item" and (told := verdict(report)):
                lines[-1] += f" {told}."
    if reports:
        least = min(reports, key=lambda report: report.coverage)
        known = f"{100 * least.coverage:.0f} %"
        if len(reports) > 1:
            known += f" or more of every set (least: {least.task} {least.dataset})"
        unknown = [report.dataset for report in reports if report.coverage == 0]
        none = f"No item of {', '.join(unknown)} has known words only: another language or spelling? "
        lines.append(
            f"{none * bool(unknown)}Known words: {known}. Intervals are over items, not over training runs."
        )
    return lines


def _figures(reports: Sequence[Report]) -> str:
    if len(reports) == 1:
        metric = reports[0].metrics[reports[0].headline]
        interval = "" if math.isnan(metric.low) else f" [{metric.low:.3f}, {metric.high:.3f}]"
        return f"{metric.value:.3f}{interval}"
    ordered = sorted(reports, key=lambda report: report.value)
    mean = sum(report.value for report in reports) / len(reports)
    return (
        f"{mean:.3f}, the mean of {len(reports)} sets "
        f"({ordered[0].dataset} {ordered[0].value:.3f} to {ordered[-1].dataset} {ordered[-1].value:.3f})"
    )
