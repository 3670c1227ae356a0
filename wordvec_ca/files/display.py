r"""Shows values: untrusted text made safe for a terminal, JSON and HTML; tables in notebooks, with bars, heat
maps and curves.

A word of a model, a line of a text or the name of a file may hold characters that act instead of being
shown: escape sequences that recolour, move or retitle a terminal (C0 and C1 control characters), marks that
turn the direction of the text around ("Trojan Source": Boucher & Anderson 2021), separators that forge a
line, and characters without width that make different words look the same. They are shown as ``\x1b`` or
``\u202e``.

Exceptions are the zero-width joiner and non-joiner, which Persian, the scripts of India and emoji need,
and the signs of Arabic and Syriac that Unicode counts as format characters although they are visible.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_ACTING = (
    "\x00-\x1f\x7f-\x9f"  # C0, delete, C1
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates: no UTF-8
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_IN_A_LINE = re.compile(f"[{_ACTING}]")
_IN_LINES = re.compile(f"(?![\\n\\t])[{_ACTING}]")


def terminal_text(text: str, *, lines: bool = False) -> str:
    r"""Return text that a terminal displays without acting on it."""
    return (_IN_LINES if lines else _IN_A_LINE).sub(_escaped, text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""Return a value as JSON, with unsafe characters written as ``\u001b``.

    The JSON can be read back to the same value by every reader, and printed to a terminal.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _IN_LINES.sub(lambda match: json.dumps(match[0])[1:-1], text)  # the others are in strings


def html_text(text: str) -> str:
    """Return text for an element or a quoted attribute of HTML, escaped as in ``terminal_text``."""
    return html.escape(terminal_text(text))


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


# Colour of bars, cells and curves as red, green and blue; visible on a light and on a dark background.
COLOUR = "64, 128, 208"

CURVE_WIDTH, CURVE_HEIGHT = 240, 60


class Bar(NamedTuple):
    """A number with a bar behind it."""

    value: float
    # Length of the bar, from 0 to 1.
    share: float


class Shade(NamedTuple):
    """A text on a coloured cell of a heat map."""

    text: str
    # Strength of the colour, from 0 to 1.
    strength: float


class Curve(NamedTuple):
    """A curve of values, with the first and the last as numbers."""

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


def data_frame(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Any:
    """Return a ``pandas.DataFrame``."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas") from error
    return pandas.DataFrame([list(row) for row in rows], columns=list(names))
