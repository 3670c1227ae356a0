"""How far words moved between models, and statistics of words that have changed.

There are two measures: the cosine distance after a rotation that is fitted on the words that agree, and the
share of nearest neighbours that differ (Gonen et al. 2020), which needs no rotation. By both measures rare
words move farther by chance, so a word is compared with words of similar frequency.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wordvec_ca.tables import one_blas_thread
from wordvec_ca.vectors import robust_fit

# Number of nearest neighbours that are compared.
NEIGHBOURS = 50

# Neighbours are searched among this number of the most frequent common words.
POOL = 10_000

# Words of similar frequency share a null distribution: smallest size of such a group, and largest number of
# groups.
STRATUM, STRATA = 500, 8

# Standard errors below this are rounding errors.
SMALL = 1e-6

# Smallest number of words of similar frequency among which a word is ranked.
LIKE = 200


class Moved(NamedTuple):
    """How far words moved between two models."""

    distance: np.ndarray  # (n_words,), float64: 1 minus the cosine after rotation
    turnover: np.ndarray  # (n_words,), float64: Share of the nearest neighbours that differ


@one_blas_thread
def moved(first: np.ndarray, second: np.ndarray) -> Moved:
    """Measure how far words moved."""
    distance = 1 - robust_fit(first, second).cosines.astype(np.float64)
    pool = min(POOL, len(first))
    nearest = max(1, min(NEIGHBOURS, pool // 10))
    turnover = np.empty(len(first))
    for start in range(0, len(first), 1000):
        rows = np.arange(start, min(start + 1000, len(first)))
        of_first, of_second = (_nearest(model, rows, pool, nearest) for model in (first, second))
        turnover[rows] = 1 - (of_first & of_second).sum(axis=1) / nearest
    return Moved(distance, turnover)


def _nearest(model: np.ndarray, rows: np.ndarray, pool: int, nearest: int) -> np.ndarray:
    """Return whether each word of the pool is among a row's nearest, shape (len(rows), pool), bool."""
    cosines = model[rows] @ model[:pool].T
    own = rows < pool
    cosines[np.flatnonzero(own), rows[own]] = -np.inf
    found = np.zeros(cosines.shape, bool)
    if nearest < pool:
        best = np.argpartition(cosines, pool - nearest, axis=1)[:, pool - nearest :]
        np.put_along_axis(found, best, True, axis=1)
    return found


def harmonic_mean_count(counts: np.ndarray) -> np.ndarray:
    """Return the harmonic mean of each word's counts in the texts; the lowest count dominates it."""
    mean: np.ndarray = len(counts) / (1 / np.maximum(counts, 0.5)).sum(axis=0)
    return mean


def strata(counts: np.ndarray, least: int, most: int | None = None) -> list[np.ndarray]:
    """Return groups of words of similar frequency, as rows; the groups have about equal sizes."""
    order = np.argsort(counts, kind="stable")
    n_groups = min(len(order) // least, most or len(order))
    return [rows for rows in np.array_split(order, max(1, n_groups)) if len(rows)]


def p_values(gaps: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """Return p-values: the share of permutations that give at least the actual value."""
    # A single word has one null value for each permutation, too few for a small p. Words of similar
    # frequency together have many null values, but do not all vary alike. So p is computed both ways, and
    # the larger one is used; the other words refine p only for a word that exceeds all its own
    # permutations.
    known = np.flatnonzero(np.isfinite(gaps[:, 0]))
    luck = np.random.default_rng([seed, 0x74696573]).random(len(gaps))
    p = np.full(len(gaps), np.nan)
    for group in strata(counts[known], STRATUM, STRATA):
        rows = known[group]
        texts, permuted = gaps[rows, 0].astype(np.float64), gaps[rows, 1:].astype(np.float64)
        n_permutations = permuted.shape[1]
        beyond = (permuted > texts[:, None]).sum(axis=1)
        ties = (permuted == texts[:, None]).sum(axis=1)
        own = (1 + beyond + np.floor(luck[rows] * (ties + 1))) / (1 + n_permutations)
        # each permutation is standardised by the mean and spread of the others, just as the actual texts are
        middle = permuted.mean(axis=1, keepdims=True)
        permuted -= middle
        squares = (permuted**2).sum(axis=1, keepdims=True)
        z = _deviations(texts[:, None] - middle, squares, n_permutations)[:, 0]
        without = permuted * n_permutations / (n_permutations - 1)
        pool = np.sort(_deviations(without, squares - without * permuted, n_permutations - 1), axis=None)
        above = len(pool) - np.searchsorted(pool, z, side="right")
        level = len(pool) - np.searchsorted(pool, z, side="left") - above
        pooled = (1 + above + np.floor(luck[rows] * (level + 1))) / (1 + len(pool))
        p[rows] = np.where(beyond + ties > 0, np.maximum(own, pooled), np.minimum(own, pooled))
    return p


def _deviations(differences: np.ndarray, squares: np.ndarray, n: int) -> np.ndarray:
    """Return differences from the mean of n values, in standard errors; 0 where all n values are equal."""
    error = np.sqrt(np.maximum(squares, 0) / (n - 1) * (1 + 1 / n))
    return np.where(error > SMALL, differences / np.where(error > SMALL, error, 1), 0.0)


def smallest_p(counts: np.ndarray, known: np.ndarray, n_permutations: int) -> np.ndarray:
    """Return the smallest p that each word can have: its p if it exceeds all null values of words of similar
    frequency.
    """
    found = np.full(len(counts), np.nan)
    rows = np.flatnonzero(known)
    for group in strata(counts[rows], STRATUM, STRATA):
        found[rows[group]] = 1 / (1 + len(group) * n_permutations)
    return found


def typical(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return, for each word, the median over words of similar frequency; nan is skipped, and stays nan."""
    found = np.full(len(values), np.nan)
    known = np.flatnonzero(np.isfinite(values))
    for group in strata(counts[known], LIKE):
        found[known[group]] = np.median(values[known[group]])
    return found


def ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return, for each word, the share of words of similar frequency whose value is smaller."""
    from scipy.stats import rankdata

    known = np.flatnonzero(np.isfinite(values))
    found = np.full(len(values), np.nan)
    for rows in strata(counts[known], LIKE):
        found[known[rows]] = (rankdata(values[known[rows]]) - 1) / max(1, len(rows) - 1)
    return found


def false_discovery_rate(p: np.ndarray) -> np.ndarray:
    """Return, for each p, the smallest rate of false discoveries at which it counts as a discovery.
    The method is that of Benjamini & Hochberg (1995).
    """
    from scipy.stats import false_discovery_control

    rate = np.full(len(p), np.nan)
    known = np.isfinite(p)
    if known.any():
        rate[known] = false_discovery_control(p[known])
    return rate
