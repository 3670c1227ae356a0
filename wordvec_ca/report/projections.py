"""Picture of words on an axis between two poles: for each word a line, or a curve over several models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import Protocol

ROW, LEFT, ACROSS = 22, 160, 460
"""Height of a word's line, width of the names, and width of the axis, in pixels."""

PANEL_WIDTH, PANEL_HEIGHT, PANELS = 170, 96, 3
"""Width and height of a word's panel in pixels, and number of panels side by side."""

COLOUR = "#4477aa"

STYLE = (
    "svg{background:#fff;font:13px sans-serif}.word{text-anchor:end}.tick{text-anchor:middle;fill:#666}"
    ".tick.first{text-anchor:start}.tick.second{text-anchor:end}.tick tspan{fill:#000}"
    ".middle{stroke:#bbb}.name{font-weight:bold}.note{fill:#666;font-size:11px}"
)


class Placed(Protocol):
    """The values that are drawn for a word; see `associations.Projection`."""

    word: str
    value: float
    low: float
    high: float


def projection_chart(models: Sequence[Sequence[Placed]], names: Sequence[str]) -> str:
    """Return a picture of words on an axis."""
    title = getattr(models[0], "poles", "axis") if models else "axis"
    poles = getattr(models[0], "ends", ("", "")) if models else ("", "")
    ends = [end for model in models for one in model for end in (one.low, one.value, one.high) if end == end]
    end = max(map(abs, ends), default=0.0) or 1.0
    draw = _lines if len(models) == 1 else _curves
    width, height, parts = draw(
        models, [os.path.basename(os.path.normpath(name)) for name in names], poles, end
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" role="img"><title>{escape(title)}</title><style>{STYLE}</style>'
        f'<text x="12" y="18" class="name">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _lines(
    models: Sequence[Sequence[Placed]], names: Sequence[str], poles: tuple[str, str], end: float
) -> tuple[int, float, list[str]]:
    """Return width, height and elements of the picture of one model."""
    head, reach = 46, 1.08 * end
    height = head + ROW * len(models[0]) + 16

    def x(value: float) -> float:
        return LEFT + ACROSS * (value + reach) / (2 * reach)

    first, second = (f"<tspan>{escape(pole)}</tspan>" for pole in poles)
    parts = [
        f'<line x1="{x(0):.1f}" y1="{head - 8}" x2="{x(0):.1f}" y2="{height - 14}" class="middle"/>',
        f'<text x="{x(-end):.1f}" y="{head - 14}" class="tick first">{-end:+.2f} {first}</text>',
        f'<text x="{x(0):.1f}" y="{head - 14}" class="tick">0</text>',
        f'<text x="{x(end):.1f}" y="{head - 14}" class="tick second">{second} {end:+.2f}</text>',
    ]
    for row, one in enumerate(models[0]):
        y = head + ROW * (row + 0.5)
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4:.1f}" class="word">{escape(one.word)}</text>')
        if one.low == one.low:
            parts.append(
                f'<line x1="{x(one.low):.1f}" y1="{y:.1f}" x2="{x(one.high):.1f}" y2="{y:.1f}" '
                f'stroke="{COLOUR}" stroke-width="2"/>'
            )
        parts.append(f'<circle cx="{x(one.value):.1f}" cy="{y:.1f}" r="4" fill="{COLOUR}"/>')
    return LEFT + ACROSS + 30, height, parts


def _curves(
    models: Sequence[Sequence[Placed]], names: Sequence[str], poles: tuple[str, str], end: float
) -> tuple[int, float, list[str]]:
    """Return width, height and elements of the picture of several models; all words share one scale."""
    head, margin, below = 66, 12, 22
    words = list(dict.fromkeys(one.word for model in models for one in model))
    places = [{one.word: one for one in model} for model in models]
    step = (PANEL_WIDTH - 16) / (len(models) - 1)
    parts = [
        f'<text x="{margin}" y="36" class="note">{escape(" → ".join(names))}</text>',
        f'<text x="{margin}" y="52" class="note">top {end:+.2f} {escape(poles[1])}, line in the middle 0, '
        f"bottom {-end:+.2f} {escape(poles[0])}; band: 90 %</text>",
    ]
    for number, word in enumerate(words):
        left = margin + (number % PANELS) * (PANEL_WIDTH + 30)
        top = head + (number // PANELS) * (PANEL_HEIGHT + below + 26) + below
        middle = top + PANEL_HEIGHT / 2

        def y(value: float, middle: float = middle) -> float:
            return middle - value / end * (PANEL_HEIGHT / 2 - 5)

        known = [
            (left + 8 + m * step, of_model[word]) for m, of_model in enumerate(places) if word in of_model
        ]
        banded = [(x, one) for x, one in known if one.low == one.low]
        edge = [(x, one.high) for x, one in banded] + [(x, one.low) for x, one in reversed(banded)]
        points, outline = (
            " ".join(f"{x:.1f},{y(value):.1f}" for x, value in line)
            for line in ([(x, one.value) for x, one in known], edge)
        )
        parts += [
            f'<rect x="{left}" y="{top}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" fill="#f6f7f8"/>',
            f'<text x="{left}" y="{top - 6}">{escape(word)}</text>',
            f'<line x1="{left}" y1="{middle}" x2="{left + PANEL_WIDTH}" y2="{middle}" class="middle"/>',
            f'<polygon points="{outline}" fill="{COLOUR}" fill-opacity=".2"/>',
            f'<polyline points="{points}" fill="none" stroke="{COLOUR}" stroke-width="2"/>',
            *(f'<circle cx="{x:.1f}" cy="{y(one.value):.1f}" r="3.5" fill="{COLOUR}"/>' for x, one in known),
        ]
    rows = -(-len(words) // PANELS)
    width = 2 * margin + PANELS * (PANEL_WIDTH + 30) - 30
    return width, head + rows * (PANEL_HEIGHT + below + 26) + 8, parts
