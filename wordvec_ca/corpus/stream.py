"""Reads a corpus again in every epoch, and yields the ids that a cache would contain."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus.reading import Reading
from wordvec_ca.corpus.stats import CorpusStats
from wordvec_ca.errors import DataError

OPENING = 20_000
"""Number of tokens at the beginning that stay in memory, to inspect attention after training."""


class TokenStream:
    """Word ids of a text that are never stored: each pass reads the text again, and must find the same ids.

    Attributes
    ----------
    stats : CorpusStats
        Statistics of the first pass, which is made at once.
    fingerprint : str
        As in ``EncodedCorpus``.
    opening : ndarray of shape (n,), int32
        The first ids, some 20,000.
    """

    def __init__(self, begin: Callable[[], Reading]) -> None:
        self._begin = begin
        self._length = 0
        self.fingerprint = ""
        opening: list[NDArray[np.int32]] = []
        length = 0
        reading = begin()
        for ids in reading.stream():
            if length < OPENING:
                opening.append(ids[: OPENING - length])
            length += len(ids)
        self.opening = np.concatenate(opening)
        self.stats: CorpusStats = reading.stats
        self._length, self.fingerprint = length, reading.fingerprint

    def __len__(self) -> int:
        """Return the number of ids, those of line ends included."""
        return self._length

    def blocks(self) -> Generator[NDArray[np.int32]]:
        """Yield all ids, some at a time, with -1 after each line."""
        reading = self._begin()
        length = 0
        with closing(reading.stream()) as blocks:
            for ids in blocks:
                length += len(ids)
                if length > self._length:
                    break
                yield ids
        if length != self._length or reading.fingerprint != self.fingerprint:
            raise DataError(
                "the corpus has changed since its words were counted, and without a cache it is read in "
                "every epoch; leave it as it is while the run lasts, or train with a cache"
            )
