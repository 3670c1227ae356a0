"""Tests whether two groups of words are associated with two others more than random lists are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from wordvec_ca.associations.measures import (
    MEASURES,
    Lists,
    crossed_interval,
    jackknife_variance,
    leanings,
    units,
)
from wordvec_ca.associations.random_lists import FREQUENT, LEAST_PAIRS, RandomPairs, of_like_frequency
from wordvec_ca.associations.word_lists import known_words
from wordvec_ca.errors import DataError, did_you_mean
from wordvec_ca.files import html_table
from wordvec_ca.tables import one_blas_thread
from wordvec_ca.vectors import KeyedVectors

if TYPE_CHECKING:
    from pandas import DataFrame

# Number of random partitions in the permutation test of WEAT; if there are not more than this in all, all
# are used.
EXACT = 20_000

# Default number of pairs of random lists with which a measure is compared.
RANDOM_LISTS = 1_000

# Default measures: all except the one that trains a classifier for each trial.
USUAL = ("effect-size", "weat", "rnd", "ect", "mac")


@dataclass(frozen=True)
class MeasuredAssociation:
    """The value of one measure."""

    # Name in ``MEASURES``.
    measure: str
    value: float
    # low, high: 90 % interval over the words of the lists and, for a model with resamples, over its models.
    low: float
    high: float
    # Two-sided p-value: twice the share of pairs of random lists whose value is at least as high, or as low
    # if that is rarer; not below ``2 / (n_random + 1)``. NaN if it cannot be decided: see
    # ``Association.decided``.
    p: float
    # random_mean, random_low, random_high: Mean of the values of random lists, and the range of 95 % of
    # these values; NaN without p.
    random_mean: float
    random_low: float
    random_high: float


@dataclass(frozen=True)
class WordLeaning:
    """Leaning of one target word: how much nearer it is to X than to Y."""

    # word, target: Target: "A" or "B".
    word: str
    target: str
    # Mean cosine with X minus mean cosine with Y.
    leaning: float
    # low, high: 90 % interval over the attributes and over models.
    low: float
    high: float
    # The leaning in standard deviations of the word's cosines with X and Y (SC-WEAT).
    effect_size: float
    # Share of the words of similar frequency that lean less towards X.
    percentile: float


@dataclass(frozen=True)
class Association:
    """How two lists of targets are associated with two lists of attributes.

    Attributes
    ----------
    measures : tuple of MeasuredAssociation
        The measures; the headline is the first.
    words : tuple of WordLeaning
        The targets; those that lean most towards X come first.
    p_permutation : float
        WEAT's own two-sided p-value. It tests only whether A and B differ, not whether they differ by more
        than lists about any two subjects.
    lists : tuple of tuple of str
        The words used of A, B, X and Y.
    missing : tuple of tuple of str
        The words of each list that have no vector.
    n_random : int
        Number of pairs of random lists that were found: as coherent as A and B, and as near to each other.
    n_models : int
        Number of resampled models that the intervals include; 0 means that they are over words only.
    coherence : tuple of float
        Mean cosine between the words of A, and between those of B.
    nearness : float
        Mean cosine between a word of A and a word of B.
    decided : bool
        Whether there are enough such pairs of random lists; if not, no p is given, as pairs of looser lists
        would be too easy to exceed.
    """

    measures: tuple[MeasuredAssociation, ...]
    words: tuple[WordLeaning, ...]
    p_permutation: float
    lists: tuple[tuple[str, ...], ...]
    missing: tuple[tuple[str, ...], ...]
    n_random: int
    n_models: int
    coherence: tuple[float, float]
    nearness: float
    decided: bool

    def __getitem__(self, measure: str) -> MeasuredAssociation:
        for one in self.measures:
            if one.measure == measure:
                return one
        raise KeyError(
            f"{measure!r} was not measured; there are {', '.join(m.measure for m in self.measures)}"
        )

    @property
    def smallest_p(self) -> float:
        """The smallest p that this number of random lists can give."""
        return 2 / (self.n_random + 1)

    @property
    def told_apart(self) -> bool:
        """Whether the headline differs from random lists at .05; False if that cannot be decided."""
        return self.decided and self.measures[0].p < 0.05

    def warnings(self) -> Iterator[str]:
        """Yield warnings about the result: missing words, targets that random lists cannot match."""
        for name, missing, used in zip("ABXY", self.missing, self.lists, strict=True):
            if missing:
                total = len(missing) + len(used)
                yield (
                    f"{name}: {len(missing)} of {total} words have no vector: {', '.join(missing[:8])}"
                    + (", …" if len(missing) > 8 else "")
                )
        if not self.decided:
            a, b = self.coherence
            yield (
                f"it cannot be decided: random lists as coherent as A (mean cosine {a:.2f}) and B ({b:.2f}), "
                f"and as near to each other ({self.nearness:.2f}), are too rare ({self.n_random} pairs); "
                "take lists of less similar words"
            )

    def to_frame(self) -> DataFrame:
        """Return the measures as a data frame, one in a row; needs pandas."""
        from pandas import DataFrame

        return DataFrame([vars(one) for one in self.measures]).set_index("measure")

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON; unknown values are None."""
        return {
            "measures": [_plain(vars(one)) for one in self.measures],
            "words": [_plain(vars(one)) for one in self.words],
            "p_permutation": self.p_permutation,
            "lists": [list(words) for words in self.lists],
            "missing": [list(words) for words in self.missing],
            "n_random": self.n_random,
            "n_models": self.n_models,
            "decided": self.decided,
            "coherence": list(self.coherence),
            "nearness": self.nearness,
        }

    def _repr_html_(self) -> str:
        rows = [(m.measure, *(f"{v:.3f}" for v in (m.value, m.low, m.high, m.p))) for m in self.measures]
        return html_table("association", ("measure", "value", "low", "high", "p"), rows)


@one_blas_thread
def association(
    vectors: KeyedVectors,
    targets: tuple[Sequence[str], Sequence[str]],
    attributes: tuple[Sequence[str], Sequence[str]],
    *,
    measures: Sequence[str] = USUAL,
    normalize: bool = False,
    n_random: int = RANDOM_LISTS,
    seed: int = 1,
) -> Association:
    """Measure how two groups of words are associated with two others.

    Parameters
    ----------
    vectors : KeyedVectors
        Vectors in order of frequency, as in models and most files. If they have resampled models, intervals
        are over these, too.
    targets : pair of sequences of str
        A and B.
    attributes : pair of sequences of str
        X and Y.
    measures : sequence of str
        Names in ``MEASURES``.
    normalize : bool
        Bring all vectors to length 1 first, which changes rnd, ect and rnsb; WEFE has the same option.
    n_random : int
        Number of pairs of random lists to draw; fewer are used where there are not so many.
    seed : int
        Seed of the random lists.

    Returns
    -------
    Association

    Raises
    ------
    DataError
        Fewer than two words of a list have vectors, or a word is in both lists of targets or of attributes.
    ValueError
        A measure is unknown, or there are fewer than 19 random lists.

    Notes
    -----
    For the calibrated p, the targets are replaced by pairs of random lists. A random list is a random word of
    the 30,000 most frequent and words near it, as similar to each other as the words of the given list; the
    two lists of a pair are as near to each other as A and B. Their frequency is not matched, since a band of
    frequency has too few words near each other. The attributes do not change. Intervals are 90 % intervals;
    their variance is that over words (by the jackknife for each list) plus that over models.
    """
    unknown = [name for name in measures if name not in MEASURES]
    if unknown or not measures:
        which = repr(unknown[0]) if unknown else "(none is given)"
        hint = did_you_mean(unknown[0], MEASURES) if unknown else ""
        raise ValueError(f"unknown measure {which}; there are {', '.join(MEASURES)}.{hint}")
    if n_random < 19:
        raise ValueError(f"n_random is {n_random}; a p below .05, two-sided, needs 39 random lists or more")
    used, missing = _looked_up(vectors, [*targets, *attributes])
    rows = Lists(*(np.array([vectors.key_to_index[word] for word in words]) for words in used))
    like = [of_like_frequency(row, len(vectors)) for one in (rows.a, rows.b) for row in one.tolist()]
    # Few words of a large vocabulary are used: from here on, these are numbered from 0.
    few = np.unique(np.concatenate([np.arange(min(FREQUENT, len(vectors))), *rows, *like]))
    rows = Lists(*(np.searchsorted(few, one) for one in rows))
    like = [np.searchsorted(few, one) for one in like]
    matrix = _matrix(vectors, few, normalize)
    models = [_matrix(vectors.resampled(k), few, normalize) for k in range(len(vectors.resamples or ()))]
    rng = np.random.default_rng([seed, 0xA550])
    pairs = RandomPairs(units(matrix).astype(np.float32), rows.a, rows.b, np.concatenate(rows))
    a, b = pairs.draw(n_random, rng)
    decided = len(a) >= min(n_random, LEAST_PAIRS)
    random = rows._replace(a=a, b=b) if decided else None
    measured = tuple(_measured(name, matrix, models, rows, random) for name in measures)
    of_words = leanings(matrix, rows.x, rows.y)
    names = [*used[0], *used[1]]
    return Association(
        measured,
        _words(names, matrix, models, rows, of_words, like),
        permutation_p(of_words[rows.a], of_words[rows.b], rng),
        used,
        missing,
        len(a),
        len(models),
        pairs.coherence,
        pairs.nearness,
        decided,
    )


def permutation_p(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> float:
    """Return WEAT's own two-sided p-value: how often words assigned at random to A and B differ as much."""
    # All partitions are counted if there are no more than ``EXACT``.
    both, n = np.concatenate([a, b]), len(a)
    total = both.sum()

    def difference(of_first: np.ndarray) -> np.ndarray:
        return np.abs(of_first / n - (total - of_first) / len(b))

    observed = difference(a.sum()) * (1 - 1e-12)
    if math.comb(len(both), n) <= EXACT:
        firsts = _partitions(len(both), n)
        return float(np.mean(difference(both[firsts].sum(axis=1)) >= observed))
    order = rng.permuted(np.tile(both, (EXACT, 1)), axis=1)
    return float((1 + np.sum(difference(order[:, :n].sum(axis=1)) >= observed)) / (EXACT + 1))


@lru_cache(maxsize=2)  # studies of many pairs of lists have one size of lists
def _partitions(n_words: int, n: int) -> np.ndarray:
    return np.array(list(combinations(range(n_words), n)))


def _looked_up(
    vectors: KeyedVectors, lists: Sequence[Sequence[str]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Return the known and the missing words of the lists A, B, X and Y."""
    if len(lists) != 4:
        raise ValueError("association takes two lists of targets and two of attributes")
    found = [known_words(vectors, list(words)) for words in lists]
    for name, given, (known, missing) in zip("ABXY", lists, found, strict=True):
        if len(known) < 2:
            raise DataError(
                f"list {name} has {len(known)} word(s) with a vector of {len(given)}; two are needed"
                + (f"; without a vector: {', '.join(missing[:5])}" if missing else "")
            )
    for first, second, name in ((0, 1, "targets"), (2, 3, "attributes")):
        shared = sorted(set(found[first][0]) & set(found[second][0]))
        if shared:
            raise DataError(
                f"both lists of {name} have {', '.join(map(repr, shared[:5]))}; leave it out of one"
            )
    return tuple(tuple(known) for known, _ in found), tuple(tuple(missing) for _, missing in found)


def _matrix(vectors: KeyedVectors, rows: np.ndarray, normalize: bool) -> np.ndarray:
    matrix = np.asarray(vectors.vectors)[rows]
    return units(matrix).astype(np.float32) if normalize else matrix


def _of_used_words(matrix: np.ndarray, rows: Lists) -> tuple[np.ndarray, Lists]:
    """Return only the vectors of words in the lists, and the rows of the words in them, so that measures are
    fast.
    """
    used = np.unique(np.concatenate([np.ravel(one) for one in rows]))
    return matrix[used], Lists(*(np.searchsorted(used, one) for one in rows))


def _measured(
    name: str, matrix: np.ndarray, models: Sequence[np.ndarray], rows: Lists, random: Lists | None
) -> MeasuredAssociation:
    measure = MEASURES[name]
    function = measure.function
    value = float(function(*_of_used_words(matrix, rows)))
    if not math.isfinite(value):  # a correlation of attributes that are all equally near
        return MeasuredAssociation(name, value, *[math.nan] * 6)
    variance, df = _over_words(function, *_of_used_words(matrix, rows))
    of_models = [float(function(*_of_used_words(model, rows))) for model in models]
    low, high = crossed_interval(value, variance, df, of_models)
    of_lists = () if random is None else _of_random_lists(value, function(*_of_used_words(matrix, random)))
    return MeasuredAssociation(
        name, value, max(low, measure.low), min(high, measure.high), *(of_lists or [math.nan] * 4)
    )


def _of_random_lists(value: float, trials: np.ndarray) -> tuple[float, float, float, float] | tuple[()]:
    """Return p, the mean and the range of the values of random lists; nothing if none of these is defined."""
    trials = trials[np.isfinite(trials)]
    n = len(trials)
    if not n:
        return ()
    above, below = (1 + (trials >= value).sum()) / (n + 1), (1 + (trials <= value).sum()) / (n + 1)
    low, high = np.quantile(trials, [0.025, 0.975])
    return float(min(1.0, 2 * min(above, below))), float(trials.mean()), float(low), float(high)


def _over_words(
    function: Callable[[np.ndarray, Lists], np.ndarray], matrix: np.ndarray, rows: Lists
) -> tuple[float, int]:
    """Return the variance over the words of all lists, and its degrees of freedom, by the shortest list."""
    variance = 0.0
    for place, words in enumerate(rows):
        without = [
            float(function(matrix, rows._replace(**{"abxy"[place]: np.delete(words, i)})))
            for i in range(len(words))
        ]
        variance += jackknife_variance(np.array(without))
    return variance, min(map(len, rows)) - 1


def _words(
    names: Sequence[str],
    matrix: np.ndarray,
    models: Sequence[np.ndarray],
    rows: Lists,
    of_words: np.ndarray,
    like: Sequence[np.ndarray],
) -> tuple[WordLeaning, ...]:
    """Return the leaning of each target, with intervals over attributes and models; ``like`` has rows of like
    frequency for each.
    """
    targets = np.concatenate([rows.a, rows.b])
    directions = units(matrix[targets])
    cosines = [directions @ units(matrix[one]).T for one in (rows.x, rows.y)]
    variance = sum(c.var(axis=1, ddof=1) / c.shape[1] for c in cosines)
    of_models = [leanings(model, rows.x, rows.y)[targets] for model in models]
    spread = np.concatenate(cosines, axis=1).std(axis=1)
    found = []
    for i, row in enumerate(targets.tolist()):
        value = float(of_words[row])
        df = min(len(rows.x), len(rows.y)) - 1
        low, high = crossed_interval(value, float(variance[i]), df, [float(model[i]) for model in of_models])
        found.append(
            WordLeaning(
                names[i],
                "A" if i < len(rows.a) else "B",
                value,
                low,
                high,
                float(value / spread[i]) if spread[i] > 0 else math.nan,
                float(np.mean(of_words[like[i]] < value)),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.leaning))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
