"""Stores where documents of several lines begin in an encoded text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.kernels import LINE_END

BLOCK_TOKENS = 1 << 22
"""Number of tokens that are searched at a time."""


@dataclass(frozen=True)
class DocumentStarts:
    """The document of each position of an encoded text.

    Attributes
    ----------
    starts : ndarray of shape (n,), int64, ascending
        Positions of the tokens with which a document begins, or continues after lines of another.
    numbers : ndarray of shape (n,), int64
        Number of the document that begins there.
    """

    starts: NDArray[np.int64]
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
        for start in range(0, len(tokens), BLOCK_TOKENS):
            words = np.flatnonzero(tokens[start : start + BLOCK_TOKENS] >= 0)
            last = int(np.searchsorted(self._before, passed + len(words)))
            places[first:last] = start + words[self._before[first:last] - passed]
            passed, first = passed + len(words), last
        # if several documents begin at the same token, only the last one contains it
        kept = np.append(np.diff(self._before[:first]) > 0, True)[:first]
        return DocumentStarts(places[:first][kept], self._numbers[:first][kept])
