"""The difference of two models on the same items: its interval and its p-value.

The estimate is the mean difference over data sets of this size and kind. Measures of agreement between
clusters and classes are larger where there are fewer items, so for them this is not the difference on
unlimited data.

* **Means** (accuracy). The p-value is that of random sign flips: if the models were exchangeable, the sign of
  each unit's difference would be random (approximate randomization: Noreen 1989; Yeh 2000, §3; Dror et al.
  2018, §3.2). The interval is the t interval of the units' contributions to the ratio of sums (Cochran 1977,
  §6.3), the same as of a paired t-test where each item is a unit.
* **Means of items that depend on two units** (analogies): ``crossed.standard_error_of_mean`` and Student's t.
* **Correlations**: Fisher's z of each model, standard errors and correlation from paired subsamples, and the
  interval of Zou 2007 (eq. 15), which is as asymmetric as the correlations are. The p-value is the level at
  which that interval reaches zero.
* **Tasks with a random search inside** (k-means, an HMM): the figure is the mean over several searches, and
  the variance of that mean is added to the variance over items (``resampling``), with Satterthwaite's degrees
  of freedom. Without it two seeds of one recipe were called different in 4 of 6 pairs.
* **Purity, many-to-one accuracy, V-measure**: observed difference plus and minus t times the standard error
  of the paired subsamples. The subsamples give only the spread, and the interval is centred at the observed
  difference. Quantiles of the resampled differences themselves would be wrong, since their mean is not the
  observed difference (Hall and Wilson 1991, guideline 1; Davison and Hinkley 1997, §4.4).

* **Two single runs**: two seeds of one recipe are equally good, and their figures differ. Part of this
  difference is noise of single items, which the variance over items has in it; the rest moves all items
  together, and on a large set it is the larger part. So it is measured between runs and added.

Only the p-value of sign flips comes from counting, so only it has a floor: p = (b + 1) / (flips + 1), never
0 (Phipson and Smyth 2010; Davison and Hinkley 1997, §4.2.5). More comparisons get more flips.

References
----------
Cochran 1977, "Sampling Techniques", 3rd ed. Davison and Hinkley 1997, "Bootstrap Methods and their
Application". Dror, Baumer, Shlomov and Reichart 2018, "The Hitchhiker's Guide to Testing Statistical
Significance in NLP" (ACL). Hall and Wilson 1991, "Two Guidelines for Bootstrap Hypothesis Testing"
(Biometrics 47). Noreen 1989, "Computer-Intensive Methods for Testing Hypotheses". Phipson and Smyth 2010,
"Permutation P-values Should Never Be Zero" (SAGMB 9). Yeh 2000, "More accurate tests for the statistical
significance of result differences" (COLING). Zou 2007, "Toward Using Confidence Intervals to Compare
Correlations" (Psychological Methods 12).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from scipy.stats import t as students_t

from wordvec_ca.eval.statistics.crossed import standard_error_of_mean
from wordvec_ca.eval.statistics.resampling import (
    degrees_of_freedom,
    evaluate_statistic,
    figures_of_searches,
    n_searches,
    of_each_search,
    sign_flips,
    variance_of_mean,
)
from wordvec_ca.eval.statistics.subsamples import OF_TABLES, subsampled

CONFIDENCE = 0.95

# Sign patterns for one comparison.
FLIPS = 10_000

# Factor by which the smallest p-value of sign flips must be below what Holm's procedure needs.
FINENESS = 20


@dataclass(frozen=True)
class PairedDifference:
    """Second model minus first on the same items."""

    baseline_value: float
    model_value: float
    difference: float
    low: float  # 95 % interval of the difference
    high: float
    p: float  # Two-sided p-value; NaN if it cannot be computed
    smallest_p: float  # The smallest p-value that is possible with this number of units


def paired_difference(
    statistic: str,
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    units: np.ndarray | None = None,
    *,
    seed: int,
    resamples: int = 2000,
    comparisons: int = 1,
    level: float = 0.05,
) -> PairedDifference:
    """Compare two models on the same items."""
    before, after = evaluate_statistic(statistic, first), evaluate_statistic(statistic, second)
    n_units = len(first[0]) if units is None else len(np.unique(units))
    if math.isnan(after - before) or n_units < 2:
        return PairedDifference(before, after, after - before, math.nan, math.nan, math.nan, 1.0)
    if n_searches([*first, *second]) > 1:
        low, high, p = _of_searches(statistic, first, second, units, seed, resamples)
        return PairedDifference(before, after, after - before, low, high, p, 0.0)
    first, second = of_each_search(first)[0], of_each_search(second)[0]
    if all(map(np.array_equal, first, second)):  # Zou's limits, which are not symmetric, would not give 0
        return PairedDifference(before, after, 0.0, 0.0, 0.0, 1.0, 0.0)
    if statistic == "mean" and (units is None or units.ndim == 1):
        flips = max(FLIPS, math.ceil(FINENESS * comparisons / level))
        low, high, p, smallest = _of_means(second[0] - first[0], units, seed, flips)
    else:
        smallest = max(2.0 ** (1 - n_units), 5e-324)
        if statistic == "mean":
            assert units is not None
            error, n_units = standard_error_of_mean(second[0] - first[0], units)
            low, high, p = _by_t(after - before, error, n_units)
        else:
            low, high, p = _by_subsamples(
                statistic, first, second, units, before, after, n_units, seed, resamples
            )
        p = max(p, smallest)
    return PairedDifference(before, after, after - before, low, high, p, smallest)


def interval_by_t(value: float, error: float, n_units: float) -> tuple[float, float]:
    """Return the 95 % t interval of a figure between 0 and 1 from its standard error and number of units."""
    low, high, _ = _by_t(value, error, n_units)
    return max(0.0, low), min(1.0, high)


def interval_of_searches(
    statistic: str,
    columns: Sequence[np.ndarray],
    units: np.ndarray | None,
    *,
    seed: int,
    resamples: int = 1000,
) -> tuple[float, float]:
    """Return the 95 % interval of the mean over several searches, over items and searches."""
    variance, n_units = _variance_over_items(statistic, [columns], units, seed, resamples)
    figures = figures_of_searches(statistic, columns)
    parts = [(variance, n_units - 1), (variance_of_mean(figures), len(figures) - 1)]
    error = math.sqrt(parts[0][0] + parts[1][0])
    return interval_by_t(float(np.mean(figures)), error, degrees_of_freedom(parts) + 1)


def _of_searches(
    statistic: str,
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    units: np.ndarray | None,
    seed: int,
    resamples: int,
) -> tuple[float, float, float]:
    """Return interval and p-value, over items and searches, of the difference of means over searches."""
    variance, n_units = _variance_over_items(statistic, [first, second], units, seed, resamples)
    before, after = (figures_of_searches(statistic, columns) for columns in (first, second))
    parts = [(variance, n_units - 1)]
    parts += [(variance_of_mean(figures), len(figures) - 1) for figures in (before, after)]
    error = math.sqrt(math.fsum(variance for variance, _ in parts))
    return _by_t(float(np.mean(after) - np.mean(before)), error, degrees_of_freedom(parts) + 1)


def _variance_over_items(
    statistic: str,
    models: Sequence[Sequence[np.ndarray]],
    units: np.ndarray | None,
    seed: int,
    resamples: int,
) -> tuple[float, int]:
    """Return the variance over items of a figure, or of the difference of two, and the number of units."""
    n_units = len(models[0][0]) if units is None else len(np.unique(units))
    replicates = [subsampled(statistic, columns, units, seed=seed, resamples=resamples) for columns in models]
    values = replicates[-1][0] - (replicates[0][0] if len(models) > 1 else 0.0)
    return (replicates[0][1] * float(np.std(values))) ** 2, n_units


def _by_t(value: float, error: float, n_units: float) -> tuple[float, float, float]:
    """Return interval and p-value of Student's t with one degree of freedom less than there are units."""
    half = error * float(students_t.ppf((1 + CONFIDENCE) / 2, n_units - 1))
    if error > 0:
        p = 2 * float(students_t.sf(abs(value) / error, n_units - 1))
    else:  # all units have the same value
        p = 0.0 if value != 0 else 1.0
    return value - half, value + half, p


def _of_means(
    differences: np.ndarray, units: np.ndarray | None, seed: int, flips: int
) -> tuple[float, float, float, float]:
    """Return interval, p-value and smallest possible p-value of a mean of paired differences."""
    unit = np.arange(len(differences)) if units is None else np.unique(units, return_inverse=True)[1]
    sums, sizes = np.bincount(unit, differences), np.bincount(unit)
    n_units, mean = len(sums), float(sums.sum() / sizes.sum())
    residuals = sums - mean * sizes
    error = float(np.sqrt((residuals**2).sum() * n_units / (n_units - 1)) / sizes.sum())
    low, high, _ = _by_t(mean, error, n_units)
    p = sign_flips(differences, units, seed=seed, flips=flips)
    # In 2 of the 2 ** k patterns of signs, all the units that differ have the same sign.
    smallest = max(2.0 ** (1 - int(np.count_nonzero(sums))), 1 / (flips + 1))
    return low, high, p, smallest


def _by_subsamples(
    statistic: str,
    first: Sequence[np.ndarray],
    second: Sequence[np.ndarray],
    units: np.ndarray | None,
    before: float,
    after: float,
    n_units: int,
    seed: int,
    resamples: int,
) -> tuple[float, float, float]:
    """Return interval and p-value of a difference in correlation or in agreement."""
    replicates = []
    scale = math.nan
    for columns in (first, second):
        values, scale = subsampled(statistic, columns, units, seed=seed, resamples=resamples)
        replicates.append(values)
    both = np.array(replicates)
    both = both[:, ~np.isnan(both).any(axis=0)]
    if both.shape[1] < 2:
        return math.nan, math.nan, math.nan
    if statistic in OF_TABLES:
        return _by_t(after - before, scale * float(np.std(both[1] - both[0])), n_units)
    return _of_correlations(before, after, both, scale, n_units)


def _of_correlations(
    before: float, after: float, replicates: np.ndarray, scale: float, n_units: int
) -> tuple[float, float, float]:
    """Return Zou's interval (2007) for the difference of two correlations, and the level where it is at 0."""
    z = np.arctanh(np.clip([before, after], -1 + 1e-12, 1 - 1e-12))
    errors = scale * np.arctanh(np.clip(replicates, -1 + 1e-12, 1 - 1e-12)).std(axis=1)
    spread = replicates.std(axis=1)
    together = 0.0
    if spread.all():
        together = float(np.clip(np.corrcoef(replicates)[0, 1], -1, 1))

    def limits(quantile: float) -> tuple[float, float]:
        down = np.array([before, after]) - np.tanh(z - quantile * errors)
        up = np.tanh(z + quantile * errors) - np.array([before, after])
        below = up[0] ** 2 + down[1] ** 2 - 2 * together * up[0] * down[1]
        above = up[1] ** 2 + down[0] ** 2 - 2 * together * up[1] * down[0]
        return (
            after - before - math.sqrt(max(below, 0.0)),
            after - before + math.sqrt(max(above, 0.0)),
        )

    def nearest(quantile: float) -> float:
        return limits(quantile)[0] if after > before else -limits(quantile)[1]

    low, high = limits(float(students_t.ppf((1 + CONFIDENCE) / 2, n_units - 1)))
    if after == before:
        return low, high, 1.0
    farthest = 1e3
    if nearest(farthest) > 0:
        return low, high, 2 * float(students_t.sf(farthest, n_units - 1))
    reached = float(brentq(nearest, 0.0, farthest))
    return low, high, 2 * float(students_t.sf(reached, n_units - 1))


# Task -> standard deviation of its figure between seeds, beyond what the variance over items has in it.
#
# It is from pairs of seeds on each full public set: sigma^2 = (mean D^2 - mean SE^2) / 2, where D is the
# difference of two seeds and SE its standard error over items; the mean over CBOW with 1, 3 and 10 M words
# and attention and skip-gram with 1 M, floored at 0 (docs/evidence, two-seeds). Sentiment has CBOW and
# attention only, tagging and induction eight seeds of CBOW with 1 M words. A task has the largest value of
# its sets, rounded up to a thousandth, so that no set is called different too often. The size of the text
# makes no difference that could be seen. Those that other seeds judged were fixed before that, and before
# the last of the measuring seeds, with which similarity would have .010 and sentence pairs .006.
DEVIATIONS = {
    "similarity": 0.011,
    "analogy": 0.0,  # two pairs of words in each question are its units already: nothing is left beside them
    "categorization": 0.0,  # nor here, where sets are small and several searches differ
    "pos-induction": 0.003,
    "tagging": 0.001,
    "sentiment": 0.007,
    "sts": 0.007,
    "sick": 0.004,
}


def variance_of_training(task: str, runs: Sequence[float]) -> float:
    """Return the variance of a model's figure between trainings."""
    # Models of ``cawv train --resamples`` were trained several times, so their own figures give it: what is
    # published is the mean of K models, whose variance is that of one over K. A single run has only what
    # the seeds of other recipes say, and a task that was not measured gets the largest of those.
    if len(runs) > 1:
        return float(np.var(runs, ddof=1)) / len(runs)
    return float(DEVIATIONS.get(task, max(DEVIATIONS.values())) ** 2)


def with_training(found: PairedDifference, variance: float) -> PairedDifference:
    """Return a difference whose interval and p-value have the variance of both trainings in them."""
    # Each limit's distance from the difference is taken as the quantile times a standard error, and
    # variances are added under the root, as for the limits of Zou 2007, which need not be symmetric. The
    # p-value becomes the standard error at which a normal variable would have it: so p is the same if there
    # is no variance, whichever test it came from.
    if variance == 0 or math.isnan(found.p) or found.low == found.high == 0:  # 0: the same answers throughout
        return found
    deviation, size = math.sqrt(variance), abs(found.difference)
    half = float(norm.ppf((1 + CONFIDENCE) / 2)) * deviation
    z = float(norm.isf(found.p / 2))
    over_items = size / z if z > 0 else math.inf
    return dataclasses.replace(
        found,
        low=found.difference - math.hypot(found.difference - found.low, half),
        high=found.difference + math.hypot(found.high - found.difference, half),
        p=2 * float(norm.sf(size / math.hypot(over_items, deviation))),
    )
