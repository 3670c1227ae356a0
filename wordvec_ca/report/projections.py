"""Words on an axis between two poles, as a picture: a line for each word, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

ROW, LEFT, ACROSS = 22, 160, 460
"""Height of a line, and width of the names and of the axis, in pixels."""

COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#66ccee", "#bbaa00")
"""Of the models."""


class Placed(Protocol):
    """What is drawn of a word: see `associations.Projection`."""

    word: str
    value: float
    low: float
    high: float


def projection_chart(models: Sequence[Sequence[Placed]], names: Sequence[str]) -> str:
    """Return a picture of words on an axis.

    Parameters
    ----------
    models : sequence of Projections
        Of one model, or of several, such as one for each period. The poles of the first are written at the
        ends of the axis.
    names : sequence of str
        Names of the models.

    Returns
    -------
    str
        An SVG document; without scripts, and nothing is loaded from elsewhere.
    """
    words = list(dict.fromkeys(one.word for model in models for one in model))
    ends = [end for model in models for one in model for end in (one.low, one.value, one.high) if end == end]
    reach = 1.08 * max(map(abs, ends), default=1.0) or 1.0
    places = [{one.word: one for one in model} for model in models]
    head = 46 if len(models) == 1 else 46 + 16 * len(models)
    height = head + ROW * len(words) * max(1, len(models) * 0.6) + 16

    def x(value: float) -> float:
        return LEFT + ACROSS * (value + reach) / (2 * reach)

    title = getattr(models[0], "poles", "axis") if models else "axis"
    parts = [
        f'<text x="{LEFT}" y="16" class="name">{escape(title)}</text>',
        f'<line x1="{x(0):.1f}" y1="{head - 8}" x2="{x(0):.1f}" y2="{height - 14:.0f}" class="middle"/>',
    ]
    end = reach / 1.08
    poles = getattr(models[0], "ends", ("", "")) if models else ("", "")
    first, second = (f"<tspan>{escape(pole)}</tspan>" for pole in poles)
    parts += [
        f'<text x="{x(-end):.1f}" y="{head - 14}" class="tick first">{-end:+.2f} {first}</text>',
        f'<text x="{x(0):.1f}" y="{head - 14}" class="tick">0</text>',
        f'<text x="{x(end):.1f}" y="{head - 14}" class="tick second">{second} {end:+.2f}</text>',
    ]
    if len(models) > 1:
        for m, name in enumerate(names):
            parts.append(
                f'<circle cx="{LEFT + 6}" cy="{26 + 16 * m}" r="4" fill="{COLOURS[m % len(COLOURS)]}"/>'
            )
            parts.append(f'<text x="{LEFT + 16}" y="{30 + 16 * m}">{escape(name)}</text>')
    step = ROW * max(1, len(models) * 0.6)
    for w, word in enumerate(words):
        middle = head + step * (w + 0.5)
        parts.append(f'<text x="{LEFT - 10}" y="{middle + 4:.1f}" class="word">{escape(word)}</text>')
        for m, of_model in enumerate(places):
            if word not in of_model:
                continue
            one, colour = of_model[word], COLOURS[m % len(COLOURS)]
            y = middle + (m - (len(models) - 1) / 2) * 8
            if one.low == one.low:
                parts.append(
                    f'<line x1="{x(one.low):.1f}" y1="{y:.1f}" x2="{x(one.high):.1f}" y2="{y:.1f}" '
                    f'stroke="{colour}" stroke-width="2"/>'
                )
            parts.append(f'<circle cx="{x(one.value):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
    style = (
        "svg{background:#fff;font:13px sans-serif}.word{text-anchor:end}.tick{text-anchor:middle;fill:#666}"
        ".tick.first{text-anchor:start}.tick.second{text-anchor:end}.tick tspan{fill:#000}"
        ".middle{stroke:#bbb}.name{font-weight:bold}"
    )
    width = LEFT + ACROSS + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
        f'height="{height:.0f}" role="img"><title>{escape(title)}</title><style>{style}</style>'
        f"{''.join(parts)}</svg>\n"
    )
