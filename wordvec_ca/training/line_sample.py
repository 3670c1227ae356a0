"""Draws a bootstrap sample of the lines of a text while it is read: each line gets a count.

The count of a line is a Poisson variable of mean 1 (Poisson bootstrap: Hanley & MacGibbon 2006). It is a
function of the seed and of the position of the line or, if whole documents are drawn, of the number of its
document. So the sample need not be stored, is the same in every epoch, and does not depend on which thread
reads the line.
"""

from __future__ import annotations

import math

import numpy as np

from wordvec_ca.corpus import DocumentStarts
from wordvec_ca.training.chunks import Chunk

MOST = 12
"""Largest count of a line; larger counts would have a probability of 1 in 6 thousand million."""


class LineSample:
    """Decides how often each line of a text is used."""

    def __init__(self, seed: int, documents: DocumentStarts | None = None) -> None:
        self._documents = documents
        self._key = np.random.SeedSequence([seed, 0x6C696E65]).generate_state(1, np.uint64)[0]
        chances = [math.exp(-1) / math.factorial(n) for n in range(MOST)]
        self._limits = np.floor(np.cumsum(chances) * 2.0**64).astype(np.uint64)

    def weights(self, units: np.ndarray) -> np.ndarray:
        """Return the counts of lines or documents."""
        with np.errstate(over="ignore"):  # splitmix64 (Steele, Lea, Flood 2014), as in kernels/sgns_reader.h
            z = (units.astype(np.uint64) + self._key) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
        return np.searchsorted(self._limits, z, side="right")

    def of(self, chunk: Chunk) -> np.ndarray:
        """Return the tokens of a chunk, int32, in which each line occurs as often as its count.

        The result contains first all lines with a count of at least 1, then, in the same order, the lines
        with at least 2, and so on. So a line is not read twice in a row.
        """
        ends = np.flatnonzero(chunk.tokens < 0) + 1
        if not len(ends) or ends[-1] < len(chunk.tokens):
            ends = np.append(ends, len(chunk.tokens))
        lengths = np.diff(ends, prepend=0)
        units = chunk.start + ends - lengths
        if self._documents is not None:
            units = self._documents.of(units)
        times = np.repeat(self.weights(units), lengths)
        found = [chunk.tokens[times > n] for n in range(int(times.max(initial=0)))]
        return np.concatenate(found) if found else chunk.tokens[:0]
