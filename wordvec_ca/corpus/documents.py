"""Documents of an encoded text: where they begin, their tags, and their rows of parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files import release_pages
from wordvec_ca.kernels import LINE_END

# Number of tokens that are searched at a time.
SEARCHED_TOKENS = 1 << 22


@dataclass(frozen=True)
class DocumentStarts:
    """The document of each position of an encoded text."""

    # shape (n,), int64, ascending; Positions of the tokens with which a document begins, or continues after
    # lines of another.
    starts: NDArray[np.int64]
    # shape (n,), int64; Number of the document that begins there.
    numbers: NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many documents there are."""
        return len(np.unique(self.numbers))

    def of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the documents that contain these positions of the text."""
        return self.numbers[np.searchsorted(self.starts, places, side="right") - 1]

    @property
    def digest(self) -> str:
        """Hexadecimal digest, the same on all machines."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.starts, self.numbers):
            digest.update(array.astype("<i8").data)
        return digest.hexdigest()


class KeptTokens:
    """Counts the kept tokens before each document while blocks of a text get their final ids.

    An encoded text lacks rare words and empty lines, and long lines are cut. So the position of a document is
    given by the number of tokens before it, not by its line.
    """

    def __init__(self, lines: Sequence[int], numbers: Sequence[int]) -> None:
        self._lines = np.array(lines, np.int64)
        self._numbers = np.array(numbers, np.int64)
        self._before = np.zeros(len(lines), np.int64)
        self._read = self._kept = 0  # number of lines and of tokens so far

    def add(self, ids: NDArray[np.int32], final: NDArray[np.int32]) -> None:
        """Count the next block, given its provisional ids, with LINE_END after each line, and the final
        ones.
        """
        kept = np.cumsum((ids >= 0) & (final[np.maximum(ids, 0)] >= 0))
        at_ends = kept[ids == LINE_END]
        low, high = np.searchsorted(self._lines, [self._read + 1, self._read + 1 + len(at_ends)])
        self._before[low:high] = self._kept + at_ends[self._lines[low:high] - self._read - 1]
        self._read += len(at_ends)
        self._kept += int(kept[-1]) if len(kept) else 0

    def starts(self, tokens: NDArray[np.int32]) -> DocumentStarts:
        """Return where the documents begin in the encoded text. Documents without tokens are left out."""
        places = np.empty(len(self._before), np.int64)
        passed = first = 0
        for start in range(0, len(tokens), SEARCHED_TOKENS):
            words = np.flatnonzero(tokens[start : start + SEARCHED_TOKENS] >= 0)
            last = int(np.searchsorted(self._before, passed + len(words)))
            places[first:last] = start + words[self._before[first:last] - passed]
            passed, first = passed + len(words), last
        # if several documents begin at the same token, only the last one contains it
        kept = np.append(np.diff(self._before[:first]) > 0, True)[:first]
        return DocumentStarts(places[:first][kept], self._numbers[:first][kept])


Tag = str | int

# Mark in the tokens of a chunk. It follows a line end, once for each further tag of the document.
FURTHER_TAG = -2

# Number of tokens in a block whose line ends are counted at a time.
BLOCK_TOKENS = 1 << 20


@dataclass(frozen=True)
class DocumentTags:
    """The documents of the lines of a text."""

    # Number of documents or, if there are tags, of tags.
    n: int
    # The tag of each row; None if each row's tag is its number.
    names: Sequence[Tag] | None = None
    # shape (n_lines,), int64, or None; Where the rows of each line end in ``rows``; None if the k-th line
    # has the k-th row.
    ends: NDArray[np.int64] | None = None
    # The rows of the first line, then of the second, ...
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
        """Return these documents with row numbers that continue those of a model that is trained further."""
        # A tag that the model has keeps its row. If neither side has tags, all documents are new.
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
