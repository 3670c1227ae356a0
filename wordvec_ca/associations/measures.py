"""Measures of association between two lists of targets A, B and two lists of attributes X, Y, and intervals
over words and models.

Each is defined as in WEFE (Badilla, Bravo-Marquez and Pérez 2020), so that figures can be compared with those
of other studies. Words of A and B are rows of one matrix; measures take lists of rows, so that random lists
and lists without one word need only a lookup.

References
----------
WEAT: Caliskan, Bryson and Narayanan 2017 (Science 356). RND: Garg, Schiebinger, Jurafsky and Zou 2018
(PNAS 115). MAC: Manzini, Lim, Tsvetkov and Black 2019 (NAACL). ECT: Dev and Phillips 2019 (AISTATS). RNSB:
Sweeney and Najafian 2019 (ACL).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from wordvec_ca.vectors import LEVEL, widening


class Lists(NamedTuple):
    """Rows of the words of the four lists."""

    # a, b: shape (n,) or (n_trials, n), int64; Targets; for several trials (random lists) one row each.
    a: np.ndarray
    b: np.ndarray
    # x, y: shape (n,), int64; Attributes.
    x: np.ndarray
    y: np.ndarray


def units(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length 1, float64; a zero vector stays zero."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def leanings(vectors: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how much nearer each word is to the attributes X than to Y: s(w, X, Y) of WEAT."""
    direction = units(vectors[x]).mean(axis=0) - units(vectors[y]).mean(axis=0)
    return np.asarray(units(vectors) @ direction)


def weat(vectors: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the test statistic of WEAT: the sum of leanings of A minus that of B."""
    of_words = leanings(vectors, lists.x, lists.y)
    return np.asarray(of_words[lists.a].sum(axis=-1) - of_words[lists.b].sum(axis=-1))


def weat_effect_size(vectors: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the effect size of WEAT: difference of mean leanings in standard deviations over A and B."""
    of_words = leanings(vectors, lists.x, lists.y)
    a, b = of_words[lists.a], of_words[lists.b]
    spread = np.concatenate([a, b], axis=-1).std(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a.mean(axis=-1) - b.mean(axis=-1)) / spread)


def rnd(vectors: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the relative norm distance: how much farther attributes X are from the mean of A than of B."""
    x = vectors[lists.x].astype(np.float64)
    of_a, of_b = (np.linalg.norm(x - _mean(vectors, rows), axis=-1) for rows in (lists.a, lists.b))
    return np.asarray((of_a - of_b).mean(axis=-1))


def mac(vectors: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the mean cosine distance of the words of A and B to those of X and to those of Y."""
    middles = (units(vectors[lists.x]).mean(axis=0) + units(vectors[lists.y]).mean(axis=0)) / 2
    of_words = 1.0 - units(vectors) @ middles
    both = np.concatenate([lists.a, lists.b], axis=-1)
    return np.asarray(of_words[both].mean(axis=-1))


def ect(vectors: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the embedding coherence: Spearman correlation of the cosines of X with the means of A and B."""
    from scipy.stats import rankdata

    x = units(vectors[lists.x])
    ranked = []
    for rows in (lists.a, lists.b):
        cosines = (units(_mean(vectors, rows)) @ x.T)[..., 0, :]
        ranks = rankdata(cosines, axis=-1)
        ranked.append(ranks - ranks.mean(axis=-1, keepdims=True))
    first, second = ranked
    lengths = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((first * second).sum(axis=-1) / lengths)


def rnsb(vectors: np.ndarray, lists: Lists) -> np.ndarray:
    """Return the relative negative sentiment bias: how unequally a classifier of X and Y treats the words of
    A and B.
    """
    # The Kullback-Leibler divergence, in nats, of the probabilities of Y for the words of A and B from
    # equal probabilities. The classifier is trained on all attributes, so the figure does not depend on
    # chance.
    from scipy.stats import entropy
    from sklearn.linear_model import LogisticRegression

    x, y = vectors[lists.x].astype(np.float64), vectors[lists.y].astype(np.float64)
    classifier = LogisticRegression(solver="liblinear", max_iter=10_000, random_state=0)
    classifier.fit(np.concatenate([x, y]), np.repeat([1, -1], [len(x), len(y)]))
    both = np.concatenate([lists.a, lists.b], axis=-1)
    of_words = np.full(len(vectors), np.nan)
    used = np.unique(both)
    of_words[used] = classifier.predict_proba(vectors[used].astype(np.float64))[:, 0]
    probability = of_words[both]
    return np.asarray(entropy(probability, np.ones_like(probability), axis=-1))


def _mean(vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean vector of each list, (1, vector_size) or (n_trials, 1, vector_size)."""
    return np.asarray(vectors[rows].mean(axis=-2, keepdims=True, dtype=np.float64))


class Measure(NamedTuple):
    """A measure, with its range and meaning."""

    # (vectors, lists) -> value, or values of several trials.
    function: Callable[[np.ndarray, Lists], np.ndarray]
    # low, high: Limits of the values.
    low: float
    high: float
    # The meaning in one line.
    meaning: str


# Name -> measure; the first is the headline.
MEASURES = {
    "effect-size": Measure(
        weat_effect_size, -2.0, 2.0, "WEAT: above 0, A is nearer to X than B is; in standard deviations"
    ),
    "weat": Measure(weat, -np.inf, np.inf, "sum of cosine differences of A minus that of B"),
    "rnd": Measure(rnd, -np.inf, np.inf, "below 0, X is nearer to the mean of A than to that of B"),
    "ect": Measure(ect, -1.0, 1.0, "1: A and B order the words of X alike"),
    "mac": Measure(mac, 0.0, 2.0, "mean cosine distance of A and B to X and Y; 1: none is near"),
    "rnsb": Measure(rnsb, 0.0, np.inf, "0: a classifier of X and Y treats all of A and B alike"),
}


def jackknife_variance(without_one: np.ndarray) -> float:
    """Return the variance of a figure over independent words, from the figures with one word left out.

    References
    ----------
    Efron and Stein 1981, "The Jackknife Estimate of Variance" (Annals of Statistics 9).
    """
    n = len(without_one)
    known = without_one[np.isfinite(without_one)]
    return float((n - 1) * known.var()) if len(known) > 1 else math.nan


def crossed_interval(
    value: float, variance: float, degrees: int, of_models: Sequence[float]
) -> tuple[float, float]:
    """Return the interval in which the figure would be for other words of the same kind and other text."""
    # The variances over words and over models are added, with degrees of freedom after Satterthwaite 1946.
    from scipy.special import stdtrit

    parts = [(variance, degrees)] if degrees > 0 and math.isfinite(variance) else []
    if len(of_models) > 1:
        n = len(of_models)
        parts.append((widening(n) ** 2 * float(np.var(of_models, ddof=1)), n - 1))
    total = sum(part for part, _ in parts)
    if not parts:
        return math.nan, math.nan
    if total == 0:
        return value, value
    df = total**2 / sum(part**2 / n for part, n in parts)
    half = float(stdtrit(df, (1 + LEVEL) / 2)) * math.sqrt(total)
    return value - half, value + half
