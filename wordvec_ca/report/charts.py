"""Charts as SVG, for a page or as pictures of their own: lines, points, heat maps, words on an axis.

The style sheet of the page, or ``STYLE`` in a picture, has the colours of the classes ``axis``, ``grid``,
``mark0``, ``mark1``, ``dot0``, ``dot1``, ``band0``, ``more``, ``less`` and ``empty``, so a chart fits light,
dark and printed pages. Every chart has a title and a description for screen readers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, Protocol

from markupsafe import Markup

from wordvec_ca.showable import showable_name

WIDTH, HEIGHT = 440, 250
# Size and margins of a chart, in units of which the letters of a label are 12 high.
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 40

# Number of charts side by side in a picture.
ACROSS = 3

# Style sheet of a picture outside a page.
STYLE = """svg{background:#fff;font:12px sans-serif}path{fill:none}.mark0{stroke:#4477aa;stroke-width:2}
.mark1{stroke:#999;stroke-dasharray:4 3}.dot0{fill:#4477aa}.dot1{fill:#999}.grid{stroke:#ddd}
.band0{fill:#4477aa;fill-opacity:.2}.axis{stroke:#444}.middle{text-anchor:middle}.end{text-anchor:end}
.word{font:bold 15px sans-serif}"""


@dataclass(frozen=True)
class Series:
    """A series of points, drawn as a line or as dots."""

    # Name in the legend, which is shown if there are several series.
    name: str
    # x, y: Coordinates of the points; nan leaves a gap.
    x: Sequence[float]
    y: Sequence[float]
    # Draw the points as dots instead of a line.
    dots: bool = False
    # low, high: Limits of a band around the line; nan where there is none.
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Scale:
    """Maps values to positions, linearly or logarithmically."""

    # low, high: Values at the two ends.
    low: float
    high: float
    # start, end: Positions of the two ends.
    start: float
    end: float
    log: bool = False
    # Whether only whole numbers are labelled.
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
    y_span: tuple[float, float] | None = None,
) -> str:
    """Return a chart of lines and points; ``y_span`` gives several charts one scale."""
    shown = [_finite(one, x_log, y_log) for one in series]
    xs = [x for points in shown for piece in points for x, _ in piece]
    ys = [y for points in shown for piece in points for _, y in piece]
    if not xs:
        return ""
    x_low, x_high = (min(xs), max(xs)) if min(xs) < max(xs) else _span(xs, x_log, False)
    across = Scale(x_low, x_high, LEFT, WIDTH - RIGHT, x_log, x_whole)
    up = Scale(*(y_span or _span(ys, y_log, zero)), HEIGHT - BOTTOM, TOP, y_log)
    parts = [_axes(across, up, x_label, y_label)]
    for number, (one, pieces) in enumerate(zip(series, shown, strict=True)):
        edges = [(x, low, high) for x, low, high in zip(one.x, one.low, one.high, strict=False) if low == low]
        if edges:
            edge = [(x, high) for x, _, high in edges] + [(x, low) for x, low, _ in reversed(edges)]
            points = " ".join(f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in edge)
            parts.append(f'<polygon class="band{number}" points="{points}"/>')
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
    # A quarter of the cells may be beyond the ends of the scale: a row of extremes would make others pale.
    most = max([0.5, *sorted(known)[: math.ceil(0.75 * len(known))]])
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
        label = f"{('≤ ', '', '≥ ')[i // 4 + 1]}{2 ** (most * i / 4):.2g}×"
        parts.append(f'<text class="middle" x="{middle}" y="{y + 24}">{label}</text>')
    return "".join(parts)


def _svg(title: str, description: str, width: float, height: float, content: str) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width:g} {height:g}" style="max-width:{1.5 * width:g}px">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{content}</svg>"
    )


class Figure(NamedTuple):
    """A drawing with its title and caption."""

    title: str
    caption: str
    # An ``svg`` element; empty if there is nothing to draw.
    drawing: Markup


def chart_figure(
    title: str, caption: str, series: Sequence[Series], x_label: str, y_label: str, **axes: Any
) -> Figure:
    """Return a chart as a figure; the parameters are those of :func:`wordvec_ca.report.charts.chart`."""
    return Figure(title, caption, Markup(chart(title, caption, series, x_label, y_label, **axes)))


def _picture(width: float, height: float, heading: str, content: str) -> str:
    """Return a file of its own, with the style sheet."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" role="img"><title>{escape(heading)}</title><style>{STYLE}</style>'
        f'<text class="word" x="12" y="18">{escape(heading)}</text>{content}</svg>\n'
    )


def _panels(heading: str, charts: Sequence[tuple[str, str]]) -> str:
    """Return a picture of charts side by side, each below its word."""
    head, height, parts = 26, HEIGHT + 24, []
    for number, (word, drawn) in enumerate(charts):
        x, y = WIDTH * (number % ACROSS), head + height * (number // ACROSS)
        parts.append(f'<text class="word" x="{x + LEFT}" y="{y + 20}">{escape(word)}</text>')
        place = f'<svg x="{x}" y="{y + 24}" width="{WIDTH}" height="{HEIGHT}" '
        parts.append(drawn.replace("<svg ", place, 1))
    width = WIDTH * min(ACROSS, max(1, len(charts)))
    return _picture(width, head + height * max(1, math.ceil(len(charts) / ACROSS)), heading, "".join(parts))


def trajectories(words: Sequence[tuple[str, Sequence[float], Sequence[float]]], texts: Sequence[str]) -> str:
    """Return a picture of how far words moved from the first text."""
    first, *later = map(showable_name, texts)
    charts = []
    for word, moved, band in words:
        places = [float(place + 1) for place in range(len(moved) + 1)]
        series = [Series("distance", places, [0.0, *moved])]
        if len(band):
            series.append(Series("95 % by chance", places[1:], list(band)))
        about = f"Distance of {word} from {first} in {', '.join(later)}"
        labels = ("text", "distance from the first")
        charts.append((word, chart(word, about, series, *labels, zero=True, x_whole=True)))
    return _panels(" → ".join((first, *later)), charts)


class Placed(Protocol):
    """The values that are drawn for a word; see `associations.Projection`."""

    word: str
    value: float
    low: float
    high: float


# Characters of a label that fit below a panel.
LONGEST_LABEL = 50


def projection_chart(models: Sequence[Sequence[Placed]], names: Sequence[str]) -> str:
    """Return a picture of words on an axis between two poles: lines for one model, curves for several."""
    title = getattr(models[0], "poles", "axis") if models else "axis"
    poles = getattr(models[0], "ends", ("", "")) if models else ("", "")
    ends = [end for model in models for one in model for end in (one.low, one.value, one.high) if end == end]
    end = max(map(abs, ends), default=0.0) or 1.0
    if len(models) == 1:
        return _lines(models[0], title, poles, end)
    shown = [os.path.basename(os.path.normpath(showable_name(name))) for name in names]
    numbered = ", ".join(f"{number}: {name}" for number, name in enumerate(shown, 1))
    places = [{one.word: one for one in model} for model in models]
    charts = []
    for word in dict.fromkeys(one.word for model in models for one in model):
        known = [(float(m + 1), of_model[word]) for m, of_model in enumerate(places) if word in of_model]
        curve = Series(
            word,
            [x for x, _ in known],
            [one.value for _, one in known],
            low=[one.low for _, one in known],
            high=[one.high for _, one in known],
        )
        about = f"{word} between {poles[0]} and {poles[1]}; band: 90 %"
        labels = (
            numbered if len(numbered) <= LONGEST_LABEL else "model",
            f"below 0 {poles[0]}, above {poles[1]}",
        )
        charts.append((word, chart(word, about, [curve], *labels, x_whole=True, y_span=(-end, end))))
    return _panels(f"{title}: {' → '.join(shown)}", charts)


def _lines(words: Sequence[Placed], title: str, poles: tuple[str, str], end: float) -> str:
    row, left, head = 22, 160, 46
    width, height = left + 490, head + row * len(words) + 16
    across = Scale(-1.08 * end, 1.08 * end, left, left + 460)
    parts = [f'<path class="grid" d="M{across.place(0):.1f} {head - 8}V{height - 14}"/>']
    for value, anchor, pole in ((-end, "start", poles[0]), (0.0, "middle", ""), (end, "end", poles[1])):
        x = across.place(value)
        parts.append(
            f'<text x="{x:.1f}" y="{head - 14}" text-anchor="{anchor}">{value:+.2f} '
            f"<tspan>{escape(pole)}</tspan></text>"
        )
    for number, one in enumerate(words):
        y = head + row * (number + 0.5)
        parts.append(f'<text class="end" x="{left - 10}" y="{y + 4:.1f}">{escape(one.word)}</text>')
        if one.low == one.low:
            ends = f"M{across.place(one.low):.1f} {y:.1f}H{across.place(one.high):.1f}"
            parts.append(f'<path class="mark0" d="{ends}"/>')
        parts.append(f'<circle class="dot0" cx="{across.place(one.value):.1f}" cy="{y:.1f}" r="4"/>')
    return _picture(width, height, title, "".join(parts))
