"""Detects lines that were broken at a fixed width, as in e-books: each would be read as a sentence."""

from __future__ import annotations

import re

NARROWEST, WIDEST = 40, 120
"""Smallest and largest line width at which people and programs break lines."""

FEWEST = 30
"""Smallest number of lines needed for a decision."""

MOST_UNLIKE = 0.05
"""Largest share of lines within paragraphs that may be longer than the width or shorter than ``SHORTEST`` of
it.
"""

SHORTEST = 0.7


def width_of_wrapped(text: str) -> int | None:
    """Return the width at which the lines of a text are broken, or None if they are not."""
    within: list[int] = []
    n_paragraphs = 0
    for paragraph in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n"))[:-1]:
        lines = [len(line) for line in paragraph.strip("\n").split("\n")]
        n_paragraphs += len(lines) > 1
        within += lines[:-1]
    if len(within) < FEWEST or n_paragraphs < 5:
        return None
    width = sorted(within)[int(0.98 * len(within))]
    unlike = sum(not SHORTEST * width <= length <= width + 2 for length in within)
    return width if NARROWEST <= width <= WIDEST and unlike <= MOST_UNLIKE * len(within) else None
