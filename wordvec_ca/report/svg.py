"""Charts as SVG for a page: lines, points and heat maps.

The style sheet of the page has the colours of the classes ``axis``, ``grid``, ``mark0``, ``mark1``, ``dot0``,
``dot1``, ``more``, ``less`` and ``empty``, so a chart fits light, dark and printed pages. Every chart has a
title and a description for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 40
"""Size and margins of a chart, in units of which the letters of a label are 12 high."""


@dataclass(frozen=True)
class Series:
    """A series of points, drawn as a line or as dots.

    Attributes
    ----------
    name : str
        Name in the legend, which is shown if there are several series.
    x, y : sequence of float
        Coordinates of the points; nan leaves a gap.
    dots : bool
        Draw the points as dots instead of a line.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dots: bool = False


@dataclass(frozen=True)
class Scale:
    """Maps values to positions, linearly or logarithmically.

    Attributes
    ----------
    low, high : float
        Values at the two ends.
    start, end : float
        Positions of the two ends.
    log : bool
    whole : bool
        Whether only whole numbers are labelled.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    def place(self, value: float) -> float:
        """Return the position of a value."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        at = math.log10(value) if self.log else value
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values to label."""
        if self.log:
            decades = range(
                math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1
            )
            step = max(1, math.ceil(len(decades) / most))
            return [10.0**decade for decade in decades[::step]]
        width = nice_step((self.high - self.low) / most)
        if self.whole:
            width = max(1.0, width)
        first = math.ceil(self.low / width - 1e-9)
        return [i * width for i in range(first, math.floor(self.high / width + 1e-9) + 1)]


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least * (1 - 1e-9))


def short(value: float) -> str:
    """Return a number as short text: 1500 becomes 1.5k."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.4g}{unit}"
    return f"{value:.4g}"


def _span(values: list[float], log: bool, zero: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if log:
        return (low, high) if high > low else (low / 2, high * 2)
    if zero:
        low = min(low, 0.0)
    if high <= low:
        margin = abs(high) / 10 or 1.0
        return low - margin, high + margin
    margin = 0.05 * (high - low)
    return (low if zero and low == 0 else low - margin), high + margin


def chart(
    title: str,
    description: str,
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    x_log: bool = False,
    y_log: bool = False,
    zero: bool = False,
    x_whole: bool = False,
) -> str:
    """Return a chart of lines and points."""
    shown = [_finite(one, x_log, y_log) for one in series]
    xs = [x for points in shown for piece in points for x, _ in piece]
    ys = [y for points in shown for piece in points for _, y in piece]
    if not xs:
        return ""
    x_low, x_high = (min(xs), max(xs)) if min(xs) < max(xs) else _span(xs, x_log, False)
    across = Scale(x_low, x_high, LEFT, WIDTH - RIGHT, x_log, x_whole)
    up = Scale(*_span(ys, y_log, zero), HEIGHT - BOTTOM, TOP, y_log)
    parts = [_axes(across, up, x_label, y_label)]
    for number, (one, pieces) in enumerate(zip(series, shown, strict=True)):
        for piece in pieces:
            places = [(across.place(x), up.place(y)) for x, y in piece]
            if one.dots or len(places) == 1:
                parts += [
                    f'<circle class="dot{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>'
                    f"{escape(one.name)}: {short(value)}</title></circle>"
                    for (x, y), (_, value) in zip(places, piece, strict=True)
                ]
            else:
                path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
                parts.append(f'<path class="mark{number}" d="{path}"/>')
        if len(series) > 1:
            y = TOP + 6 + 16 * number
            parts.append(
                f'<circle class="dot{number}" cx="{WIDTH - RIGHT - 6}" cy="{y}" r="4"/>'
                f'<text class="end" x="{WIDTH - RIGHT - 16}" y="{y + 4}">{escape(one.name)}</text>'
            )
    return _svg(title, description, WIDTH, HEIGHT, "".join(parts))


def _finite(series: Series, x_log: bool, y_log: bool) -> list[list[tuple[float, float]]]:
    """Return the parts of a series between its gaps."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(series.x, series.y, strict=True):
        fits = math.isfinite(x) and math.isfinite(y) and (x > 0 or not x_log) and (y > 0 or not y_log)
        if fits:
            pieces[-1].append((float(x), float(y)))
        elif not series.dots and pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _axes(across: Scale, up: Scale, x_label: str, y_label: str) -> str:
    bottom, parts = HEIGHT - BOTTOM, []
    for value in up.ticks(6):
        y = up.place(value)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="end" x="{LEFT - 6}" y="{y + 4:.1f}">{short(value)}</text>')
    for value in across.ticks(6):
        x = across.place(value)
        parts.append(f'<path class="axis" d="M{x:.1f} {bottom}v4"/>')
        parts.append(f'<text class="middle" x="{x:.1f}" y="{bottom + 17}">{short(value)}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="middle label" x="{middle}" y="{HEIGHT - 5}">{escape(x_label)}</text>')
    turned = (TOP + bottom) / 2
    parts.append(
        f'<text class="middle label" transform="translate(11 {turned}) rotate(-90)">{escape(y_label)}</text>'
    )
    return "".join(parts)


def heat_map(
    title: str,
    description: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
) -> str:
    """Return a heat map of ratios on a log scale; 1 has no colour, higher and lower ratios have two hues."""
    left, cell_height, top = 180, 26, 8
    cell = max(13.0, min(40.0, 620 / max(1, len(columns))))
    width, height = left + cell * len(columns) + 8, top + cell_height * len(rows) + 62
    known = [abs(math.log2(value)) for row in values for value in row if value > 0 and math.isfinite(value)]
    most = max([0.5, *known])
    parts = []
    for i, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = top + i * cell_height
        parts.append(f'<text class="end" x="{left - 8}" y="{y + 17}">{escape(name)}</text>')
        for j, value in enumerate(row):
            box = f'x="{left + j * cell:.1f}" y="{y}" width="{cell - 1:.1f}" height="{cell_height - 1}"'
            if not (value > 0 and math.isfinite(value)):
                parts.append(f'<rect class="empty" {box}/>')
                continue
            strength = min(1.0, abs(math.log2(value)) / most)
            hue = "more" if value >= 1 else "less"
            tip = f"{name}, {columns[j]}: {value:.2f}"
            parts.append(
                f'<rect class="empty" {box}/><rect class="{hue}" {box} fill-opacity="{strength:.2f}">'
                f"<title>{escape(tip)}</title></rect>"
            )
    base = top + cell_height * len(rows)
    every = math.ceil(26 / cell)
    for j, name in enumerate(columns):
        if j % every == 0 or len(columns) == 1:
            middle = left + (j + 0.5) * cell
            parts.append(f'<text class="middle" x="{middle:.1f}" y="{base + 15}">{escape(name)}</text>')
    parts.append(_key(left, base + 28, most))
    return _svg(title, description, width, height, "".join(parts))


def _key(x: float, y: float, most: float) -> str:
    parts = []
    for i in range(-4, 5):
        box = f'x="{x + 26 * (i + 4)}" y="{y}" width="26" height="10"'
        hue = "more" if i > 0 else "less"
        parts.append(
            f'<rect class="empty" {box}/><rect class="{hue}" {box} fill-opacity="{abs(i) / 4:.2f}"/>'
        )
    for i in (-4, 0, 4):
        middle = x + 26 * (i + 4.5)
        label = f"{2 ** (most * i / 4):.2g}×"
        parts.append(f'<text class="middle" x="{middle}" y="{y + 24}">{label}</text>')
    return "".join(parts)


def _svg(title: str, description: str, width: float, height: float, content: str) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width:g} {height:g}" style="max-width:{1.5 * width:g}px">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{content}</svg>"
    )
