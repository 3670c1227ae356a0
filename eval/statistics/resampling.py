"""Statistics of items, and how much they vary between random samples of the items: bootstrap, permutation.

Two searches of a task with a random search inside (k-means, an HMM by EM, a network from random weights) on
the same vectors give different results: V-measures of induced parts of speech differ by .03 (standard
deviation), as much as models do. So such a task searches several times, its figure is the mean over the
searches, and the variance of this mean is added to the variance over items. The outcomes of searches are
columns of a table, (n_items, n_searches); other items are of shape (n_items,).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wordvec_ca.eval.statistics.clustering import many_to_one, v_measure


def n_searches(columns: Sequence[np.ndarray]) -> int:
    """Return the number of searches that gave the items; 1 if the task has no search inside."""
    return max((column.shape[1] for column in columns if column.ndim == 2), default=1)


def of_each_search(columns: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Return for each search its columns, all of shape (n_items,)."""
    return [
        [column[:, search] if column.ndim == 2 else column for column in columns]
        for search in range(n_searches(columns))
    ]


def variance_of_mean(figures: Sequence[float]) -> float:
    """Return the variance of the mean of the figures of several searches; 0 for one figure."""
    return float(np.var(figures, ddof=1)) / len(figures) if len(figures) > 1 else 0.0


def degrees_of_freedom(parts: Sequence[tuple[float, int]]) -> float:
    """Return the degrees of freedom of a sum of estimated variances (Satterthwaite 1946).

    Examples
    --------
    >>> degrees_of_freedom([(1.0, 10), (0.0, 3)])
    10.0

    References
    ----------
    Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components" (Biometrics 2).
    """
    total = math.fsum(variance for variance, _ in parts)
    squares = math.fsum(variance**2 / n for variance, n in parts if n > 0)
    return total**2 / squares if squares > 0 else float(max(n for _, n in parts))


INTERVAL = "95 % interval over the items of the data set, not over training runs"


def mean(values: np.ndarray) -> float:
    """Return the arithmetic mean; of right (1) and wrong (0) outcomes it is the accuracy."""
    return float(np.mean(values)) if len(values) else float("nan")


def pearson(gold: np.ndarray, score: np.ndarray) -> float:
    """Return Pearson's correlation; NaN if one side is constant or there are fewer than two items."""
    if len(gold) < 2:
        return float("nan")
    # in float64, as cosines are float32; not with BLAS, whose sums depend on the number of its threads
    gold, score = (side - side.mean() for side in (gold.astype(np.float64), score.astype(np.float64)))
    scale = float(np.sqrt((gold**2).sum() * (score**2).sum()))
    return float((gold * score).sum()) / scale if scale > 0 else float("nan")


def spearman(gold: np.ndarray, score: np.ndarray) -> float:
    """Return Spearman's rank correlation (ties get their mean rank); NaN as for ``pearson``."""
    from scipy.stats import rankdata

    return pearson(rankdata(gold), rankdata(score)) if len(gold) >= 2 else float("nan")


def mean_pearson(gold: np.ndarray, score: np.ndarray, part: np.ndarray) -> float:
    """Return the mean over the parts of a data set of Pearson's correlation in each."""
    found = [pearson(gold[part == p], score[part == p]) for p in np.unique(part)]
    return float(np.mean(found)) if found else float("nan")


# Name -> function that computes a metric from columns of items.
STATISTICS: dict[str, Callable[..., float]] = {
    "mean": mean,
    "pearson": pearson,
    "spearman": spearman,
    "mean-pearson": mean_pearson,
    "v-measure": v_measure,
    "many-to-one": many_to_one,
    "purity": many_to_one,
}

# Statistics between -1 and 1; the others are between 0 and 1.
CORRELATIONS = frozenset({"pearson", "spearman", "mean-pearson"})


def evaluate_statistic(statistic: str, columns: Sequence[np.ndarray]) -> float:
    """Return the named statistic of the columns, or with several searches the mean over them."""
    return float(np.mean(figures_of_searches(statistic, columns)))


def figures_of_searches(statistic: str, columns: Sequence[np.ndarray]) -> list[float]:
    """Return the named statistic of each search; one figure if the task has no search inside."""
    return [STATISTICS[statistic](*of_search) for of_search in of_each_search(columns)]


def bootstrap(
    statistic: str,
    columns: Sequence[np.ndarray],
    units: np.ndarray | None = None,
    *,
    seed: int,
    resamples: int = 1000,
) -> np.ndarray:
    """Compute a statistic on items drawn with replacement.

    Parameters
    ----------
    statistic : str
        Name in ``STATISTICS``.
    columns : sequence of ndarray of shape (n_items,)
        The arguments of the statistic.
    units : ndarray of shape (n_items,), optional
        Items with the same number are drawn together; without it each item is drawn alone.
    seed : int
        Two models with the same seed, units and resamples get the same samples, so they can be paired.
    resamples : int

    Returns
    -------
    ndarray of shape (resamples,), float64
        Empty if there are fewer than two units.
    """
    rng = np.random.default_rng([seed, 0xB007])
    groups = None if units is None else _groups(units)
    n = len(columns[0]) if groups is None else len(groups[1])
    if n < 2:
        return np.empty(0)
    if statistic == "mean" and groups is not None:  # sums and sizes of the units are enough
        order, starts, sizes = groups
        sums = np.add.reduceat(columns[0][order].astype(np.float64), starts)
        return np.array([sums[drawn].sum() / sizes[drawn].sum() for drawn in _draws(rng, n, resamples)])
    function = STATISTICS[statistic]
    replicates = np.empty(resamples)
    for r, drawn in enumerate(_draws(rng, n, resamples)):
        chosen = drawn if groups is None else _members(groups, drawn)
        replicates[r] = function(*(column[chosen] for column in columns))
    return replicates


def interval(value: float, replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the bootstrap interval of a mean or a correlation: quantiles of the replicates."""
    # Agreement of clusters and classes has its interval from subsamples: repeated items always agree with
    # each other, so nearly all replicates lie above the value.
    replicates = replicates[~np.isnan(replicates)]
    if len(replicates) == 0 or np.isnan(value):
        return float("nan"), float("nan")
    low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def sign_flips(
    differences: np.ndarray, units: np.ndarray | None = None, *, seed: int, flips: int = 10_000
) -> float:
    """Return the two-sided p-value of a mean difference being zero, by paired permutation."""
    # Under the null hypothesis the two models are exchangeable on each unit, so the sign of each unit's
    # summed difference is random. If there are no more than ``flips`` patterns of signs, all are counted;
    # otherwise random ones are, and p is at least ``1 / (flips + 1)`` (Phipson and Smyth 2010).
    sums: np.ndarray = differences.astype(np.float64)
    if units is not None:
        sums = np.bincount(np.unique(units, return_inverse=True)[1], weights=sums)
    sums = sums[sums != 0]
    if len(sums) == 0:
        return 1.0
    if len(sums) <= math.log2(flips):  # all patterns: nothing is left to chance (2 ** 1024 would overflow)
        patterns = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        totals = (2 * patterns - 1) @ sums
        return float(np.mean(np.abs(totals) >= abs(sums.sum()) * (1 - 1e-12)))
    rng = np.random.default_rng([seed, 0xF11B])
    observed = abs(sums.sum())
    block = max(1, 4_000_000 // len(sums))
    beyond = 0
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        signs = rng.integers(0, 2, (rows, len(sums)), dtype=np.int8)
        totals = 2 * (signs @ sums) - sums.sum()
        beyond += int(np.count_nonzero(np.abs(totals) >= observed * (1 - 1e-12)))
    return (beyond + 1) / (flips + 1)


def _draws(rng: np.random.Generator, n: int, resamples: int) -> Iterator[np.ndarray]:
    return (rng.integers(0, n, n) for _ in range(resamples))


def _groups(units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the items sorted by unit, and where each unit starts there and its size."""
    order = np.argsort(units, kind="stable")
    _, starts, sizes = np.unique(units[order], return_index=True, return_counts=True)
    return order, starts, sizes


def _members(groups: tuple[np.ndarray, np.ndarray, np.ndarray], drawn: np.ndarray) -> np.ndarray:
    """Return the items of the drawn units, one unit after the other."""
    order, starts, sizes = groups
    counts = sizes[drawn]
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    chosen: np.ndarray = order[np.repeat(starts[drawn], counts) + within]
    return chosen
