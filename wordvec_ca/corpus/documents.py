"""Maps the lines of a text to documents: to their tags and their rows of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files import release_pages

Tag = str | int

FURTHER_TAG = -2
"""Mark in the tokens of a chunk. It follows a line end, once for each further tag of the document."""

BLOCK_TOKENS = 1 << 20
"""Number of tokens in a block whose line ends are counted at a time."""


@dataclass(frozen=True)
class DocumentTags:
    """The documents of the lines of a text.

    Attributes
    ----------
    n : int
        Number of documents or, if there are tags, of tags.
    names : list of str and int, or None
        The tag of each row; None if each row's tag is its number.
    ends : ndarray of shape (n_lines,), int64, or None
        Where the rows of each line end in ``rows``; None if the k-th line has the k-th row.
    rows : ndarray, int64, or None
        The rows of the first line, then of the second, ...
    """

    n: int
    names: Sequence[Tag] | None = None
    ends: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, tags: Iterable[Sequence[Tag]], known: Sequence[Tag] | None = ()) -> DocumentTags:
        """Return the documents of lines, given the tags of each line."""
        index: dict[Tag, int] = {tag: row for row, tag in enumerate(known or ())}
        rows: list[int] = []
        ends: list[int] = []
        for of_line in tags:
            rows += [index.setdefault(tag, len(index)) for tag in of_line]
            ends.append(len(rows))
        names = list(index)
        check_distinct(names)
        plain = names == list(range(len(names))) and all(type(name) is int for name in names)
        in_order = rows == list(range(len(ends))) and ends == list(range(1, len(ends) + 1))
        if in_order:
            return cls(len(names), None if plain else names)
        return cls(len(names), None if plain else names, np.array(ends, np.int64), np.array(rows, np.int64))

    def after(self, former: DocumentTags) -> DocumentTags:
        """Return these documents with row numbers that continue those of a model that is trained further.

        A tag that the model has keeps its row. If neither side has tags, all documents are new.
        """
        if self.names is None and former.names is None:
            ends = np.arange(1, self.n + 1, dtype=np.int64) if self.ends is None else self.ends
            rows = np.arange(self.n, dtype=np.int64) if self.rows is None else self.rows
            return DocumentTags(former.n + self.n, None, ends, rows + former.n)
        index: dict[Tag, int] = {tag: row for row, tag in enumerate(former.names or range(former.n))}
        names = self.names or range(self.n)
        check_distinct([*index, *names])
        final = np.array([index.setdefault(tag, len(index)) for tag in names], np.int64)
        ends = np.arange(1, self.n + 1, dtype=np.int64) if self.ends is None else self.ends
        rows = final if self.rows is None else final[self.rows]
        return DocumentTags(len(index), list(index), ends, rows)

    @property
    def most(self) -> int:
        """Largest number of tags that a document has; at least 1."""
        if self.ends is None:
            return 1
        return max(1, int(np.diff(self.ends, prepend=0).max(initial=0)))

    @property
    def n_lines(self) -> int:
        """How many lines there are."""
        return self.n if self.ends is None else len(self.ends)

    def of_lines(self, first: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of rows of n lines, and the rows; a line without a row gets the row -1."""
        if self.ends is None or self.rows is None:
            return np.ones(n, np.int64), np.arange(first, first + n, dtype=np.int64)
        begin = int(self.ends[first - 1]) if first else 0
        numbers = np.diff(self.ends[first : first + n], prepend=begin)
        rows = self.rows[begin : begin + int(numbers.sum())]
        if numbers.all():
            return numbers, rows
        at = np.cumsum(numbers) - numbers
        return np.maximum(numbers, 1), np.insert(rows, at[numbers == 0], -1)


def check_distinct(names: Iterable[Tag]) -> None:
    """Raise a DataError if a tag occurs both as a number and as text, since names in tables are always
    text.
    """
    found = set(names)
    both = next((name for name in found if not isinstance(name, str) and str(name) in found), None)
    if both is not None:
        raise DataError(
            f"the tag {both} is there as a number and as the text {str(both)!r}: write it in one way"
        )


class DocumentLines:
    """Tells which rows the lines of a chunk have."""

    def __init__(self, tokens: NDArray[np.int32], tags: DocumentTags) -> None:
        self._tokens, self._tags = tokens, tags
        n = tags.n_lines
        if (found := int(self._lines_before[-1])) > n:
            raise DataError(f"the text has {found:,} lines, but there are tags for {n:,} documents")

    def release(self) -> None:
        """Release the memory of the mapped text; it is read again when needed."""
        release_pages(self._tokens)

    @cached_property
    def _lines_before(self) -> NDArray[np.int64]:
        """Number of line ends before each block of tokens; the last element is the total."""
        return np.cumsum([0, *(np.count_nonzero(block < 0) for block in self._blocks())])

    def _blocks(self) -> Iterator[NDArray[np.int32]]:
        for start in range(0, len(self._tokens), BLOCK_TOKENS):
            yield self._tokens[start : start + BLOCK_TOKENS]
        self.release()

    def of_chunk(self, start: int, tokens: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the tokens of a chunk with a mark for each further tag, and the rows of all line ends."""
        block = start // BLOCK_TOKENS
        first = int(self._lines_before[block])
        first += int(np.count_nonzero(self._tokens[block * BLOCK_TOKENS : start] < 0))
        ends = np.flatnonzero(tokens < 0)
        numbers, rows = self._tags.of_lines(first, len(ends))
        return with_marks(tokens, ends, numbers), rows


def with_marks(
    tokens: NDArray[np.int32], ends: NDArray[np.int64], numbers: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return tokens in which a line end is followed by a mark for each further tag of its document."""
    further = numbers - 1
    if not further.any():
        return tokens
    return np.insert(tokens, np.repeat(ends + 1, further), FURTHER_TAG).astype(np.int32)
