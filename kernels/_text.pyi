"""Types of the compiled module ``_text``."""

from collections.abc import Iterable, Iterator
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

UNICODE_VERSION: str
LINE_END: int
ABSENT: int
LONGEST_TOKEN: int
CHARACTER_CLASSES: tuple[str, ...]
"""Classes of characters (docs/tokenising.md), in the order of their numbers."""

class TextStats(TypedDict):
    """Counts from reading a block of text; ``first_repaired`` is a byte offset or -1."""

    tokens: int
    lines: int
    cut: int
    repaired: int
    first_repaired: int

class Renumbered(TypedDict):
    """Counts of what `renumber` wrote: see there."""

    head: int
    closed: int
    size: int
    tail: int
    kept: int
    lines: int
    split: int

class PhraseTable:
    """Phrases, ready to be joined by ``_``: where several begin at a token, the longest is joined."""

    n_phrases: int
    def __init__(self, phrases: list[tuple[str, ...]]) -> None:
        """Take sequences of words."""

class Lexicon:
    """The types of a text, numbered in the order of their first occurrence, with counts."""

    nbytes: int
    arena_bytes: int
    def __init__(self, words: Iterable[str] | None = None) -> None:
        """Make an empty lexicon, or a closed one of these words."""
    def __len__(self) -> int: ...
    def read_text(
        self, text: bytes, words: bool, lowercase: bool, every_line: bool = False
    ) -> tuple[NDArray[np.int32], TextStats]:
        """Return the ids of the tokens, with LINE_END where lines end.

        Several line ends in a row count once, unless every line counts.
        """
    def read_tokens(self, tokens: list[str], ids: NDArray[np.int32]) -> None:
        """Write the ids of the tokens and a LINE_END to ``ids`` (at least len(tokens) + 1 long)."""
    def look_up_parts(self, table: PhraseTable) -> None:
        """Find out which types are parts of phrases; needed once before a closed lexicon is shared.

        The table must be the same in all calls.
        """
    def join(self, table: PhraseTable, ids: NDArray[np.int32]) -> int:
        """Join phrases in ids just read, in place, and move their counts; return how many ids are left.

        A word whose tokens were all joined stays, with a count of 0. A joined word that a closed lexicon does
        not have becomes ABSENT.
        """
    def counts(self) -> NDArray[np.int64]:
        """Return the count of each type."""
    def words(self) -> list[str]:
        """Return the types in the order of their ids."""
    def absorb(self, other: Lexicon, min_count: int = -1) -> NDArray[np.int32]:
        """Add the types and counts of another lexicon; return the id here of each of its types.

        Types of less than min_count are left out; their id is -1.
        """
    def scatter(self, start: int, room: int, bits: int) -> tuple[bytes, NDArray[np.int64], int]:
        """Sort records from an offset on into 2**bits parts by hash: at least one, at most ``room`` bytes.

        Returns the records, part by part; the bytes of each part; and the offset of the next record.
        """
    def absorb_records(self, data: bytes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Add the types and counts of scattered records; return the ids in their lexicon and in this one."""
    def ranked_records(self, min_count: int) -> bytes:
        """Return the records of types of at least min_count in the final order."""
    def rank(self, min_count: int) -> tuple[list[str], NDArray[np.int64], NDArray[np.int32]]:
        """Return words, counts and ids of types of at least min_count, by (count desc, bytes asc)."""

def vocabulary_lines(runs: list[NDArray[np.uint8]] | list[bytes], room: int = ...) -> Iterator[bytes]:
    """Yield the lines of a vocabulary file, merged from lists of ranked records."""

def renumber(
    raw: NDArray[np.int32], final: NDArray[np.int32], longest: int, every_line: bool = False
) -> tuple[NDArray[np.int32], Renumbered]:
    """Return final[raw] without absent words and empty lines, lines cut after ``longest`` tokens.

    If every line counts, the empty ones stay.

    ``head`` tokens come before the first line end and are not cut, since their line may have begun in an
    earlier block; ``closed`` is 1 if there was a line end at all; ``tail`` is the length of the last line,
    which may go on; ``kept`` counts tokens, ``lines`` the line ends written behind the head's, ``split`` the
    cuts.
    """

def character_classes() -> NDArray[np.uint8]:
    """Return the class of each code point, shape (0x110000,): an index into ``CHARACTER_CLASSES``."""

def cut_point(text: bytes, n: int) -> int:
    """Return where to cut text[:n]: behind its last line end, else behind its last ASCII space, else 0."""

def count_strange(text: bytes) -> int:
    """Return how many bytes are invalid UTF-8 or control characters (the last three are not looked at)."""
