"""The pool of negatives: noise words drawn in advance, so that training reads them in order."""

from __future__ import annotations

import numpy as np

POOL_DRAWS = 4_000_000
"""Draws in a large pool; 16 MB that are read sequentially."""


def noise_pool(
    counts: np.ndarray, drawn: int, *, ns_exponent: float = 0.75, draws: int = POOL_DRAWS, seed: int = 1
) -> np.ndarray:
    """Draw tuples of negatives from the smoothed unigram distribution (Mikolov et al. 2013, section 2.2).

    The number of times that a word stands in the pool is its expectation, rounded up or down at
    random. A word may stand twice in a tuple; it then counts twice.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), integer
        Word frequencies.
    drawn : int
        Negatives per tuple.
    ns_exponent : float, default 0.75
        Power of the frequencies.
    draws : int
        About how many words the pool holds.
    seed : int
        Seed of the draw.

    Returns
    -------
    ndarray of shape (n_tuples, drawn), int32, C-contiguous
    """
    n_words = len(counts)
    rng = np.random.default_rng([seed, 0x6E6F6973])
    n_tuples = max(1, draws // drawn)
    mass = np.asarray(counts, dtype=np.float64) ** ns_exponent
    ends = np.cumsum(mass / mass.sum()) * (n_tuples * drawn)
    # Systematic sampling: one draw per unit of mass, all at the same random offset.
    upto = np.floor(ends + rng.random()).astype(np.int64)
    upto[-1] = n_tuples * drawn
    words = np.repeat(np.arange(n_words, dtype=np.int32), np.diff(upto, prepend=0))
    rng.shuffle(words)
    return words.reshape(n_tuples, drawn)
