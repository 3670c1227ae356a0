"""The pool of negatives: noise words drawn in advance, so that training reads them in order."""

from __future__ import annotations

import mmap
from itertools import pairwise

import numpy as np

POOL_DRAWS = 4_000_000
"""Draws in a large pool; 16 MB that are read sequentially."""

RARE = 8_192
"""A word that comes less often than once in so many draws is rare: by then its row has left the cache."""

NEAR = 1 << 20
"""Bytes of the rows within whose draws a burst lies: near enough for the row to be still in the cache."""

APART = 128
"""Tuples within which a burst lies at least: far enough apart to meet other contexts."""

PIECE = 1 << 18
"""Draws whose places are worked out at a time, so that it takes little memory."""


def noise_pool(
    counts: np.ndarray,
    drawn: int,
    *,
    ns_exponent: float = 0.75,
    burst: int = 1,
    row_bytes: int = 448,
    draws: int = POOL_DRAWS,
    seed: int = 1,
) -> np.ndarray:
    """Draw tuples of negatives from the smoothed unigram distribution (Mikolov et al. 2013, section 2.2).

    The number of times that a word stands in the pool is its expectation, rounded up or down at
    random, and they lie evenly over the pool, each at a random place of its part; those of a rare
    word in bursts, if that is wanted (docs/decisions/012). A word may stand twice in a tuple; it then
    counts twice.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), integer
        Word frequencies.
    drawn : int
        Negatives per tuple; with 0 there is one tuple, which is empty.
    ns_exponent : float, default 0.75
        Power of the frequencies.
    burst : int
        Draws of a rare word that come close together, so that its row is fetched from memory once for them.
    row_bytes : int
        Bytes of a row that a negative is met in.
    draws : int
        About how many words the pool holds.
    seed : int
        Seed of the draw.

    Returns
    -------
    ndarray of shape (n_tuples, drawn), int32, C-contiguous
    """
    if not drawn:
        return np.zeros((1, 0), np.int32)
    rng = np.random.default_rng([seed, 0x6E6F6973])
    n_tuples = max(1, draws // drawn)
    mass = np.asarray(counts, dtype=np.float64) ** ns_exponent
    ends = np.cumsum(mass / mass.sum()) * (n_tuples * drawn)
    # Systematic sampling: one draw per unit of mass, all at the same random offset.
    upto = np.floor(ends + rng.random()).astype(np.int64)
    upto[-1] = n_tuples * drawn
    times = np.diff(upto, prepend=0)
    spread = max(NEAR // row_bytes, APART * drawn)
    return _in_order(times, burst, spread, rng).reshape(n_tuples, drawn)


def _in_order(times: np.ndarray, burst: int, spread: int, rng: np.random.Generator) -> np.ndarray:
    """Return each word as many times as it comes, in the order of the draws; bursts lie within ``spread``."""
    total = int(times.sum())
    draws = _pages(total)
    ends = np.cumsum(times)
    cuts = np.searchsorted(ends, np.arange(0, total, PIECE))
    for first, last in pairwise(np.unique([0, *cuts, len(times)])):
        n = times[first:last]
        in_burst = np.where(n * RARE < total, burst, 1)
        bursts = -(-n // in_burst)
        # each draw: which of its word's it is, the burst it belongs to, and where in the pool that is
        nth = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        which = nth // np.repeat(in_burst, n)
        place = which + rng.random(bursts.sum())[which + np.repeat(np.cumsum(bursts) - bursts, n)]
        place *= np.repeat(total / np.maximum(bursts, 1), n)
        # a word's last burst may be smaller: not at the end of the pool for all
        place += np.repeat(rng.random(len(n)) * total, n)
        place += rng.integers(0, spread, len(place)) * np.repeat(in_burst > 1, n)
        # place << 32 | word: sorting these sorts the words by their places
        words = np.repeat(np.arange(first, last), n)
        draws[ends[last - 1] - n.sum() : ends[last - 1]] = place.astype(np.int64) % total << 32 | words
    draws.sort()
    return draws.astype(np.int32)  # the lower half


def _pages(n: int) -> np.ndarray:
    """Return n integers in pages of their own, which the system gets back when they are gone.

    malloc keeps the memory of large arrays from the second on: then a run that draws one pool after another
    would hold twice what it needs.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.empty(n, np.int64)
    pages = mmap.mmap(-1, max(1, n) * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, np.int64, n)
