"""How ``cawv nn`` and ``cawv analogy`` read words and show neighbours."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence

from wordvec_ca.cli.output import say
from wordvec_ca.files import terminal_text
from wordvec_ca.vectors import KeyedVectors

WIDEST = 80
"""Columns that a word takes in a table at most; the rest of a longer one is cut off."""


def each_word(words: Sequence[str]) -> Iterator[str]:
    """Yield the words, and for ``-`` the non-empty lines of standard input."""
    for word in words:
        if word == "-":
            for line in sys.stdin.buffer:
                entry = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
                if entry:
                    yield entry
        else:
            yield word


def width(text: str) -> int:
    """Return how many terminal columns a text takes (two for wide East Asian characters, none for marks)."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def cell(text: str, widest: int = WIDEST) -> str:
    """Return a text for a cell of a table: on one line, without control characters, of bounded width."""
    shown = terminal_text(text[: 4 * widest])  # a character and three marks on it for each column
    if len(text) <= 4 * widest and width(shown) <= widest:
        return shown
    columns, end = 0, 0
    for character in shown:
        columns += width(character)
        if columns >= widest:
            break
        end += 1
    return shown[:end] + "…"


def neighbour_table(vectors: KeyedVectors, title: str, neighbours: Sequence[tuple[str, float]]) -> str:
    """Return an aligned table: rank, word, score and, where known, count."""
    shown = [cell(word) for word, _ in neighbours]
    columns = max([width(word) for word in shown], default=4)
    counts = [""] * len(shown)
    if vectors.counts is not None:
        counts = [f"{vectors.get_vecattr(word, 'count'):,}" for word, _ in neighbours]
    longest = max([len(count) for count in counts], default=0)
    lines = [cell(title, 3 * WIDEST)]
    for i, (_, score) in enumerate(neighbours):
        padding = " " * (columns - width(shown[i]))
        lines.append(f"{i + 1:>4}  {shown[i]}{padding}  {score:7.4f}  {counts[i]:>{longest}}".rstrip())
    if not neighbours:
        lines.append("   (none)")
    return "\n".join(lines)


def look_up(vectors: KeyedVectors, word: str) -> str | None:
    """Return the word under which there is a vector: as written, else in lower case, which is said."""
    known = vectors.known_form(word)
    if known is not None and known not in vectors.key_to_index:
        say(f"{known!r} is not in the vocabulary; its vector is made of its n-grams")
        return known
    if known is not None and known != word:
        say(f"{word!r} has no vector; answering for {known!r}")
    return known


def unknown_word(vectors: KeyedVectors, word: str) -> str:
    """Return the message for a word without a vector, with words that are spelled like it."""
    close = vectors.close_spellings(word)
    hint = f"did you mean {', '.join(map(cell, close))}?" if close else "no known word is spelled like it"
    return f"the word {cell(repr(word), 2 * WIDEST)} has no vector among the {len(vectors):,} words; {hint}"
