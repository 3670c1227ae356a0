"""Displays objects in notebooks as small HTML tables, with bars, heat maps and curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wordvec_ca.files.control_characters import html_text

COLOUR = "64, 128, 208"
"""Colour of bars, cells and curves as red, green and blue; visible on a light and on a dark background."""

CURVE_WIDTH, CURVE_HEIGHT = 240, 60


class Bar(NamedTuple):
    """A number with a bar behind it.

    Attributes
    ----------
    value : float
    share : float
        Length of the bar, from 0 to 1.
    """

    value: float
    share: float


class Shade(NamedTuple):
    """A text on a coloured cell of a heat map.

    Attributes
    ----------
    text : str
    strength : float
        Strength of the colour, from 0 to 1.
    """

    text: str
    strength: float


class Curve(NamedTuple):
    """A curve of values, with the first and the last as numbers.

    Attributes
    ----------
    values : sequence of float
    """

    values: Sequence[float]


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; every cell is escaped, so that a word is never read as HTML."""
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    names = "".join(f"<th style='text-align:left'>{html_text(name)}</th>" for name in head)
    names = f"<thead><tr>{names}</tr></thead>" if any(head) else ""
    return (
        f"<table><caption style='text-align:left'>{html_text(caption)}</caption>"
        f"{names}<tbody>{body}</tbody></table>"
    )


def content_words(words: Sequence[str], n: int) -> list[str]:
    """Return some frequent content words: words of three letters or more that are not among the most
    frequent.
    """
    long = [word for word in words[:10_000] if len(word) > 2 and word.isalpha()] or list(words[:n])
    begin = min(100, len(long) // 20)
    return long[begin : begin + n]


def _cell(value: object) -> str:
    if isinstance(value, Bar):
        end = f"{100 * min(max(value.share, 0.0), 1.0):.0f}%"
        ground = f"linear-gradient(to right, rgba({COLOUR}, 0.35) {end}, transparent {end})"
        return f"<td style='min-width:12em; text-align:left; background:{ground}'>{value.value:.4f}</td>"
    if isinstance(value, Shade):
        strength = 0.7 * min(max(value.strength, 0.0), 1.0)
        return (
            f"<td style='text-align:center; background:rgba({COLOUR}, {strength:.2f})'>"
            f"{html_text(value.text[:40])}</td>"
        )
    if isinstance(value, Curve):
        return f"<td style='text-align:left'>{_curve(value.values)}</td>"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if number else str(value)
    return f"<td style='text-align:{'right' if number else 'left'}'>{html_text(text[:200])}</td>"


def _curve(values: Sequence[float]) -> str:
    """Return a curve as SVG between its first and last value as text; for a single value, only the text."""
    first, last = f"{values[0]:.4f}", f"{values[-1]:.4f}"
    if len(values) == 1:
        return first
    low, high = min(values), max(values)
    height = (high - low) or 1.0
    places = [
        (2 + (CURVE_WIDTH - 4) * at / (len(values) - 1), 2 + (CURVE_HEIGHT - 4) * (high - value) / height)
        for at, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    x, y = places[-1]
    return (
        f"{first} <svg role='img' aria-label='from {first} to {last}' width='{CURVE_WIDTH}' "
        f"height='{CURVE_HEIGHT}' style='vertical-align:middle'><polyline points='{path}' fill='none' "
        f"stroke='rgb({COLOUR})' stroke-width='2'/><circle cx='{x:.1f}' cy='{y:.1f}' r='2' "
        f"fill='rgb({COLOUR})'/></svg> {last}"
    )
