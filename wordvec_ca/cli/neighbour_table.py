"""How ``cawv nn`` and ``cawv analogy`` read words and show neighbours."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Sequence

from wordvec_ca.keyedvectors import KeyedVectors


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


def printable(word: str) -> str:
    """Return a word that takes one line and that any UTF-8 terminal can show."""
    return "".join(
        character if character.isprintable() or character == "\u00a0" else ascii(character)[1:-1]
        for character in word
    )


def width(text: str) -> int:
    """Return how many terminal columns a text takes (two for wide East Asian characters, none for marks)."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def neighbour_table(vectors: KeyedVectors, title: str, neighbours: Sequence[tuple[str, float]]) -> str:
    """Return an aligned table: rank, word, score and, where known, count."""
    shown = [printable(word) for word, _ in neighbours]
    columns = max([width(word) for word in shown], default=4)
    counts = [""] * len(shown)
    if vectors.counts is not None:
        counts = [f"{vectors.get_vecattr(word, 'count'):,}" for word, _ in neighbours]
    longest = max([len(count) for count in counts], default=0)
    lines = [printable(title)]
    for i, (_, score) in enumerate(neighbours):
        padding = " " * (columns - width(shown[i]))
        lines.append(f"{i + 1:>4}  {shown[i]}{padding}  {score:7.4f}  {counts[i]:>{longest}}".rstrip())
    if not neighbours:
        lines.append("   (none)")
    return "\n".join(lines)


def unknown_word(vectors: KeyedVectors, word: str) -> str:
    """Return the message for a word without a vector, with words that are spelled like it."""
    close = vectors.close_spellings(word)
    hint = (
        f"did you mean {', '.join(map(printable, close))}?" if close else "no known word is spelled like it"
    )
    return f"the word {word!r} has no vector among the {len(vectors)} words; {hint}"
