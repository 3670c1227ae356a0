"""How far words moved between models, and whether that is more than chance.

Two measures: the cosine distance after a rotation that is fitted on the words that agree, and the share of
nearest neighbours that are not the same (Gonen et al. 2020), which needs no rotation. Chance is what the same
measures say of texts whose documents were dealt anew (Dubossarsky et al. 2017); where words stand in the two
texts unequally often, more noise is expected, which is learnt from the dealt texts too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wordvec_ca.vectors.alignment import robust_fit
from wordvec_ca.vectors.blas import one_blas_thread

NEIGHBOURS = 50
"""Nearest neighbours that are compared."""

POOL = 10_000
"""Neighbours are looked for among so many of the most frequent common words."""

PRIOR = 4.0
"""Weight of the variance of words of like frequency against that of a word itself, in observations."""

STRATUM = 500
"""Words of like frequency that share a distribution of chance, at least."""


class Moved(NamedTuple):
    """How far words moved between two models.

    Attributes
    ----------
    distance : ndarray of shape (n_words,), float64
        1 minus the cosine after rotation.
    turnover : ndarray of shape (n_words,), float64
        Share of the nearest neighbours that are not the same.
    """

    distance: np.ndarray
    turnover: np.ndarray


@one_blas_thread
def moved(first: np.ndarray, second: np.ndarray, *, pool: int = POOL, nearest: int = NEIGHBOURS) -> Moved:
    """Measure how far words moved.

    Parameters
    ----------
    first, second : ndarray of shape (n_words, vector_size), float32
        `directions` of the same words, most frequent first.
    pool : int
        Neighbours are looked for among the first so many words.
    nearest : int
        How many; at most a tenth of the pool.

    Returns
    -------
    Moved
    """
    distance = 1 - robust_fit(first, second).cosines.astype(np.float64)
    pool = min(pool, len(first))
    nearest = max(1, min(nearest, pool // 10))
    turnover = np.empty(len(first))
    for start in range(0, len(first), 1000):
        rows = np.arange(start, min(start + 1000, len(first)))
        of_first, of_second = (_nearest(model, rows, pool, nearest) for model in (first, second))
        turnover[rows] = 1 - (of_first & of_second).sum(axis=1) / nearest
    return Moved(distance, turnover)


def _nearest(model: np.ndarray, rows: np.ndarray, pool: int, nearest: int) -> np.ndarray:
    """Return which words of the pool are among the nearest, shape (len(rows), pool), bool."""
    cosines = model[rows] @ model[:pool].T
    own = rows < pool
    cosines[np.flatnonzero(own), rows[own]] = -np.inf
    found = np.zeros(cosines.shape, bool)
    if nearest < pool:
        best = np.argpartition(cosines, pool - nearest, axis=1)[:, pool - nearest :]
        np.put_along_axis(found, best, True, axis=1)
    return found


class Standardised(NamedTuple):
    """A measure against what chance gives.

    Attributes
    ----------
    excess : ndarray of shape (n_words,)
        By how much the measure is above the mean of dealt texts.
    noise : ndarray of shape (n_words,)
        Standard deviation of it by chance.
    z : ndarray of shape (n_words,)
        ``excess`` in units of ``noise``; nan where chance is unknown.
    chance : ndarray of shape (n_dealt, n_words)
        The same of each dealt text against the others; nan where a word was too rare.
    """

    excess: np.ndarray
    noise: np.ndarray
    z: np.ndarray
    chance: np.ndarray


def standardised(
    observed: np.ndarray, dealt: np.ndarray, evenness: np.ndarray, dealt_evenness: np.ndarray
) -> Standardised:
    """Compare a measure with that of dealt texts, word by word.

    Parameters
    ----------
    observed : ndarray of shape (n_words,)
        The measure.
    dealt : ndarray of shape (n_dealt, n_words)
        The measure in dealt texts; nan if it is not known.
    evenness, dealt_evenness : ndarray of shapes (n_words,) and (n_dealt, n_words)
        Harmonic mean of the word's counts in the texts: what noise depends on.

    Returns
    -------
    Standardised
    """
    expected = _expectation(dealt, dealt_evenness)
    observed, dealt = observed - expected(evenness), dealt - expected(dealt_evenness)
    known = np.isfinite(dealt)
    n = known.sum(axis=0)
    filled = np.where(known, dealt, 0.0)
    total, squares = filled.sum(axis=0), (filled**2).sum(axis=0)
    usual = _usual_variance(dealt, evenness)

    def judge(
        value: np.ndarray, n: np.ndarray, total: np.ndarray, squares: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = np.where(n >= 3, n, np.nan)
        mean = total / n
        variance = (np.maximum(squares - n * mean**2, 0) + PRIOR * usual) / (n - 1 + PRIOR)
        noise = np.sqrt(variance * (1 + 1 / n))
        return value - mean, noise, (value - mean) / noise

    excess, noise, z = judge(observed, n, total, squares)
    chance = judge(filled, n - known, total - filled, squares - filled**2)[2]
    return Standardised(excess, noise, z, np.where(known, chance, np.nan))


def _expectation(dealt: np.ndarray, evenness: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of the harmonic mean count: what dealt texts give in the mean."""
    known = np.isfinite(dealt) & (evenness > 0)
    return _mean_by_count(evenness[known], dealt[known], 200)


def _usual_variance(dealt: np.ndarray, evenness: np.ndarray) -> np.ndarray:
    """Return for each word the mean variance of words of like frequency, shape (n_words,)."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of words that no dealt text has
        variance = np.nanvar(dealt, axis=0, ddof=1)
    known = np.isfinite(variance)
    if not known.any():
        return np.full(len(evenness), np.nan)
    return _mean_by_count(evenness[known], variance[known], 50)(evenness)


def _mean_by_count(counts: np.ndarray, values: np.ndarray, least: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of the count: the mean of values with like counts, at most 30 groups of ``least``."""
    x = np.log(counts)
    order = np.argsort(x, kind="stable")
    parts = np.array_split(order, max(1, min(30, len(order) // least)))
    places = np.array([x[part].mean() for part in parts])
    means = np.array([values[part].mean() for part in parts])
    return lambda counts: np.interp(np.log(np.maximum(counts, 1e-9)), places, means)


def strata(counts: np.ndarray) -> list[np.ndarray]:
    """Return rows of words of like frequency, in at most eight groups of about equal size."""
    order = np.argsort(counts, kind="stable")
    return [rows for rows in np.array_split(order, max(1, min(8, len(order) // STRATUM))) if len(rows)]


def p_values(z: np.ndarray, chance: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return how often chance gives as much, among words of like frequency.

    Parameters
    ----------
    z : ndarray of shape (n_words,)
    chance : ndarray of shape (n_dealt, n_words)
    counts : ndarray of shape (n_words,)

    Returns
    -------
    ndarray of shape (n_words,)
        (1 + values of chance that are no less) / (1 + values of chance); nan if z is.
    """
    p = np.full(len(z), np.nan)
    for rows in strata(counts):
        pool = chance[:, rows]
        pool = np.sort(pool[np.isfinite(pool)])
        decided = rows[np.isfinite(z[rows])]
        above = len(pool) - np.searchsorted(pool, z[decided], side="left")
        p[decided] = (1 + above) / (1 + len(pool))
    return p


def false_discovery_rate(p: np.ndarray) -> np.ndarray:
    """Return the smallest rate of false discoveries at which each is one (Benjamini & Hochberg 1995).

    Parameters
    ----------
    p : ndarray of shape (n,)
        nan is left out, and nan in the result.
    """
    rate = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    raised = p[order] * len(order) / np.arange(1, len(order) + 1)
    rate[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return rate
