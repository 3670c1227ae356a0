"""What another run of the training would change: a variance that does not shrink with the number of items.

Two seeds of one recipe are equally good, and their figures differ. Part of this difference is noise of single
items, which the variance over items has in it; the rest moves all items together, and on a large set it is
the larger part. So it is measured between runs and added to the variance over items.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from wordvec_ca.eval.statistics.paired import CONFIDENCE, PairedDifference

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
"""Task -> standard deviation of its figure between seeds, beyond what the variance over items has in it.

It is from pairs of seeds on each full public set: sigma^2 = (mean D^2 - mean SE^2) / 2, where D is the
difference of two seeds and SE its standard error over items; the mean over CBOW with 1, 3 and 10 M words and
attention and skip-gram with 1 M, floored at 0 (docs/evidence, two-seeds). Sentiment has CBOW and attention
only, tagging and induction eight seeds of CBOW with 1 M words. A task has the largest value of its sets,
rounded up to a thousandth, so that no set is called different too often. The size of the text makes no
difference that could be seen. Those that other seeds judged were fixed before that, and before the last of
the measuring seeds, with which similarity would have .010 and sentence pairs .006.
"""


def variance_of_training(task: str, runs: Sequence[float]) -> float:
    """Return the variance of a model's figure between trainings.

    Models of ``cawv train --resamples`` were trained several times, so their own figures give it: what is
    published is the mean of K models, whose variance is that of one over K. A single run has only what the
    seeds of other recipes say, and a task that was not measured gets the largest of those.
    """
    if len(runs) > 1:
        return float(np.var(runs, ddof=1)) / len(runs)
    return float(DEVIATIONS.get(task, max(DEVIATIONS.values())) ** 2)


def with_training(found: PairedDifference, variance: float) -> PairedDifference:
    """Return a difference whose interval and p-value have the variance of both trainings in them.

    Each limit's distance from the difference is taken as the quantile times a standard error, and variances
    are added under the root, as for the limits of Zou 2007, which need not be symmetric. The p-value becomes
    the standard error at which a normal variable would have it: so p is the same if there is no variance,
    whichever test it came from.
    """
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
