"""The pool of negatives: noise words drawn in advance, so that training reads them in order."""

from __future__ import annotations

import mmap
from itertools import pairwise
from typing import Any

import numpy as np

from wordvec_ca.kernels._pool import fill_pool

POOL_DRAWS = 4_000_000
"""Draws in a large pool; 16 MB that are read sequentially."""

RARE = 8_192
"""A word drawn less often than once in this many draws is rare: its row leaves the cache in between."""

NEAR = 1 << 20
"""Most bytes of rows that a burst spans: few enough that the word's row is still in the cache."""

APART = 128
"""Minimum spread of a burst, in tuples: so far apart that its draws meet different contexts."""

GOLDEN_SECTION = (5**0.5 - 1) / 2
"""Distance between the offsets of consecutive pools."""

PIECE = 1 << 18
"""Draws whose places are worked out at a time, so that it takes little memory."""


def noise_mass(counts: np.ndarray, ns_exponent: float = 0.75) -> np.ndarray:
    """Return how often each word is a negative, in proportion: the smoothed unigram distribution.

    For another distribution, change only this function: the pools, their number in a run and the merges of
    replicas follow from what it returns.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), integer
        Word frequencies.
    ns_exponent : float, default 0.75
        Power of the frequencies (Mikolov et al. 2013, section 2.2).

    Returns
    -------
    ndarray of shape (n_words,), float64
        Not negative; the scale is arbitrary.
    """
    frequency = np.asarray(counts, dtype=np.float64)
    if ns_exponent < 0:  # a word that does not occur would have an infinite share: it is not drawn
        frequency = np.where(frequency > 0, frequency, np.inf)
    return frequency**ns_exponent


class NoisePools:
    """The pools of a run, one after another, each drawn from the distribution of negatives.

    A word occurs in a pool as often as expected, rounded up or down. A word with n draws has one at a random
    position in each n-th part of the pool; the draws of a rare word come in bursts if ``burst`` is above 1
    (docs/decisions/012-order-of-negatives.md). A word may occur twice in a tuple; it then counts twice.

    All pools have the same order. A pool has one draw for each unit of mass, all at the same offset into
    their units (systematic sampling); only this offset differs between pools. The offsets are multiples of
    the golden section, which divide [0, 1) evenly however many there are (Knuth, The Art of Computer
    Programming 3, section 6.4): a word that should occur in every tenth pool occurs in about every tenth.

    Parameters
    ----------
    mass : ndarray of shape (n_words,), float64
        Unnormalised probability of each word as a negative: see `noise_mass`.
    drawn : int
        Negatives per tuple, at least 1.
    burst : int
        Draws of a rare word that come close together, so that its row is fetched from memory once for them.
    row_bytes : int
        Bytes of the row that a negative is multiplied with.
    draws : int
        Approximate number of words in a pool.
    seed : int
        Seed of the draw.
    """

    def __init__(
        self,
        mass: np.ndarray,
        drawn: int,
        *,
        burst: int = 1,
        row_bytes: int = 448,  # 100 numbers, padded to 112
        draws: int = POOL_DRAWS,
        seed: int = 1,
    ) -> None:
        rng = np.random.default_rng([seed, 0x6E6F6973])  # "nois": other uses of the seed get other numbers
        self._shape = max(1, draws // drawn), drawn
        self._total = self._shape[0] * drawn
        self._ends = np.cumsum(mass / mass.sum()) * self._total
        self._first_offset = rng.random()
        # Systematic sampling: one draw per unit of mass, all at the same offset.
        upto = np.floor(self._ends + self._first_offset).astype(np.int64)
        upto[-1] = self._total  # the sum of many shares may miss the total by a draw
        spread = max(NEAR // row_bytes, APART * drawn)
        self._order = _order_of(np.diff(upto, prepend=0), burst, spread, rng)

    def pool(self, number: int) -> np.ndarray:
        """Return a pool by its number in the run, shape (n_tuples, drawn), int32, C-contiguous."""
        offset = (self._first_offset + number * GOLDEN_SECTION) % 1.0
        pool = np.empty(self._total, np.int32)
        fill_pool(self._ends, offset, self._order, pool)
        return pool.reshape(self._shape)


def noise_pool(mass: np.ndarray, drawn: int, **options: Any) -> np.ndarray:
    """Return the first of the `NoisePools` with these arguments; with ``drawn`` 0, one empty tuple."""
    if not drawn:
        return np.zeros((1, 0), np.int32)
    return NoisePools(mass, drawn, **options).pool(0)


def _order_of(times: np.ndarray, burst: int, spread: int, rng: np.random.Generator) -> np.ndarray:
    """Return the draws in the order of the pool, int32, from the number of draws of each word.

    Draws are numbered word by word. The draws of a burst are within ``spread`` of each other.
    """
    total = int(times.sum())
    draws = _pages(total)
    ends = np.cumsum(times)
    cuts = np.searchsorted(ends, np.arange(0, total, PIECE))
    for first, last in pairwise(np.unique([0, *cuts, len(times)])):
        n = times[first:last]
        in_burst = np.where(n * RARE < total, burst, 1)
        bursts = -(-n // in_burst)
        # For each draw: its number among its word's draws, its burst, and the burst's position in the pool.
        nth = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        which = nth // np.repeat(in_burst, n)
        place = which + rng.random(bursts.sum())[which + np.repeat(np.cumsum(bursts) - bursts, n)]
        place *= np.repeat(total / np.maximum(bursts, 1), n)
        # A word's last burst may be smaller; it must not be at the end of the pool for every word.
        place += np.repeat(rng.random(len(n)) * total, n)
        place += rng.integers(0, spread, len(place)) * np.repeat(in_burst > 1, n)
        # place << 32 | number: sorting these sorts the numbers by their places
        before = int(ends[last - 1] - n.sum())
        draws[before : ends[last - 1]] = place.astype(np.int64) % total << 32 | np.arange(
            before, ends[last - 1]
        )
    draws.sort()
    return draws.astype(np.int32)  # the lower half


def _pages(n: int) -> np.ndarray:
    """Return n integers in memory pages of their own, which return to the system when the array is freed.

    malloc keeps the memory of large arrays from the second on: then a run that draws one pool after another
    would hold twice what it needs.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.empty(n, np.int64)
    pages = mmap.mmap(-1, max(1, n) * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, np.int64, n)
