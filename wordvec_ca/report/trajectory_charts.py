"""Picture of how far words moved from text to text: a small chart for each word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from wordvec_ca.report.svg import HEIGHT, WIDTH, Series, chart
from wordvec_ca.showable import showable_name

ACROSS = 3
"""Number of charts side by side."""

STYLE = """svg{background:#fff;font:12px sans-serif}path{fill:none}.mark0{stroke:#4477aa;stroke-width:2}
.mark1{stroke:#999;stroke-dasharray:4 3}.dot0{fill:#4477aa}.dot1{fill:#999}.grid{stroke:#ddd}
.axis{stroke:#444}.middle{text-anchor:middle}.end{text-anchor:end}.word{font:bold 15px sans-serif}"""
"""Style sheet for the classes of `chart`, for a picture outside a page."""


def trajectories(words: Sequence[tuple[str, Sequence[float], Sequence[float]]], texts: Sequence[str]) -> str:
    """Return a picture of how far words moved from the first text."""
    first, *later = map(showable_name, texts)
    rows = max(1, math.ceil(len(words) / ACROSS))
    height = HEIGHT + 24
    parts = []
    for number, (word, moved, band) in enumerate(words):
        places = [float(place + 1) for place in range(len(moved) + 1)]
        series = [Series("distance", places, [0.0, *moved])]
        if len(band):
            series.append(Series("95 % by chance", places[1:], list(band)))
        x, y = WIDTH * (number % ACROSS), height * (number // ACROSS)
        drawn = chart(
            word,
            f"Distance of {word} from {first} in {', '.join(later)}",
            series,
            "text",
            "distance from the first",
            zero=True,
            x_whole=True,
        )
        place = f'<svg x="{x}" y="{y + 24}" width="{WIDTH}" height="{HEIGHT}" '
        parts.append(f'<text class="word" x="{x + 58}" y="{y + 20}">{escape(word)}</text>')
        parts.append(drawn.replace("<svg ", place, 1))
    width = WIDTH * min(ACROSS, max(1, len(words)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {rows * height}" '
        f'width="{width}" height="{rows * height}"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )
