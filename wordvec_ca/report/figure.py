"""A figure of the page: a drawing with a heading and a caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from wordvec_ca.report.charts import Series, chart


class Figure(NamedTuple):
    """A drawing with its title and caption.

    Attributes
    ----------
    title, caption : str
    drawing : Markup
        An ``svg`` element; empty if there is nothing to draw.
    """

    title: str
    caption: str
    drawing: Markup


def chart_figure(
    title: str, caption: str, series: Sequence[Series], x_label: str, y_label: str, **axes: Any
) -> Figure:
    """Return a chart as a figure; the parameters are those of :func:`wordvec_ca.report.charts.chart`."""
    return Figure(title, caption, Markup(chart(title, caption, series, x_label, y_label, **axes)))
