"""An axis between two poles, such as he and she: positions of words on it, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from wordvec_ca.associations.measures import crossed_interval, jackknife_variance, units
from wordvec_ca.associations.random_lists import of_like_frequency
from wordvec_ca.associations.word_lists import known_words
from wordvec_ca.errors import DataError, known_names
from wordvec_ca.files import html_table
from wordvec_ca.tables import one_blas_thread
from wordvec_ca.vectors import KeyedVectors

if TYPE_CHECKING:
    from pandas import DataFrame

Method = Literal["differences", "means", "pca"]
# Methods of computing an axis from pairs.
METHODS: tuple[Method, ...] = get_args(Method)

# Poles that occur less often than this in the text are named in a warning.
RARE = 50


@dataclass(frozen=True)
class Projection:
    """The position of a word on an axis.

    Attributes
    ----------
    word : str
    value : float
        Cosine of the word with the axis: above 0 on the side of the second pole.
    low, high : float
        90 % interval over the pairs and, for vectors with resampled models, over these models; NaN with one
        pair and no resampled models.
    lowest, highest : float
        Smallest and largest value if one pair is left out. A wide range means that the result depends on one
        pair.
    percentile : float
        Share of the words of similar frequency that are farther to the side of the first pole.
    """

    word: str
    value: float
    low: float
    high: float
    lowest: float
    highest: float
    percentile: float


class Projections(list[Projection]):
    """Projections of words, in the order of the axis.

    Parameters
    ----------
    rows : sequence of Projection
    poles : str
        Name of the axis.
    missing : sequence of str
        Words without a vector.
    ends : (str, str)
        The first pair: names of the two sides.
    """

    def __init__(
        self, rows: Sequence[Projection], poles: str, missing: Sequence[str], ends: tuple[str, str]
    ) -> None:
        super().__init__(rows)
        self.poles, self.missing, self.ends = poles, list(missing), ends

    def to_frame(self) -> DataFrame:
        """Return a data frame with a word in each row; needs pandas."""
        from pandas import DataFrame

        return DataFrame([vars(one) for one in self]).set_index("word")

    def _repr_html_(self) -> str:
        rows = [
            (
                one.word,
                *(f"{value:+.3f}" for value in (one.value, one.low, one.high)),
                f"{one.percentile:.0%}",
            )
            for one in self
        ]
        return html_table(self.poles, ("word", "value", "low", "high", "percentile"), rows)


def direction(first: np.ndarray, second: np.ndarray, method: Method = "differences") -> np.ndarray:
    """Return the axis from the first poles to the second, of length 1."""
    differences = second - first
    if method == "means":
        found = units(second.mean(axis=0)) - units(first.mean(axis=0))
    elif method == "pca":
        found = np.linalg.svd(differences, full_matrices=False)[2][0]
        found = found * (1.0 if found @ differences.sum(axis=0) >= 0 else -1.0)
    else:
        found = differences.mean(axis=0)
    return units(found)


class Axis:
    """An axis made of pairs of poles.

    Parameters
    ----------
    vectors : KeyedVectors
    pairs : sequence of (str, str)
        Pairs of poles, of which both words have vectors.
    method : {"differences", "means", "pca"}
    left_out : sequence of (str, str)
        Pairs with a word that has no vector.

    Attributes
    ----------
    pairs, left_out : list of (str, str)
    method : str
    vector : ndarray of shape (vector_size,), float64
        The axis, of length 1.
    on_their_sides : list of bool or None
        For each pair, whether its second word is above its first word on the axis made of the other pairs;
        None with one pair.
    """

    def __init__(
        self,
        vectors: KeyedVectors,
        pairs: Sequence[tuple[str, str]],
        method: Method = "differences",
        left_out: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._vectors = vectors
        self.pairs, self.method, self.left_out = list(pairs), method, list(left_out)
        index = vectors.key_to_index
        self._rows = np.array([[index[a], index[b]] for a, b in pairs])
        poles = units(np.asarray(vectors.vectors)[self._rows])
        self.vector = direction(poles[:, 0], poles[:, 1], method)
        if not self.vector.any():
            raise DataError(
                f"the two poles of {self.name} have the same vector: there is no axis between them"
            )
        self._without_one = list(_without_one(poles, method))
        self.on_their_sides = (
            [bool((b - a) @ axis > 0) for (a, b), axis in zip(poles, self._without_one, strict=True)]
            if len(pairs) > 1
            else None
        )

    @property
    def name(self) -> str:
        """The first pair, and the number of other pairs."""
        (first, second), more = self.pairs[0], len(self.pairs) - 1
        return f"{first} … {second}" + (f" and {more} pairs" if more > 1 else " and 1 pair" if more else "")

    @property
    def accuracy(self) -> float:
        """Share of the pairs whose words are on the right sides of the axis made of the other pairs; NaN with
        one pair.
        """
        return math.nan if self.on_their_sides is None else float(np.mean(self.on_their_sides))

    def __repr__(self) -> str:
        return f"Axis({self.name}, {self.method}: {self.accuracy:.0%} of the pairs on their sides)"

    def warnings(self) -> Iterator[str]:
        """Yield warnings about the axis: missing and rare poles, pairs that disagree, too few pairs."""
        if self.left_out:
            written = ", ".join(f"{a}:{b}" for a, b in self.left_out[:5])
            yield f"{len(self.left_out)} pair(s) left out, a word has no vector: {written}"
        if len(self.pairs) == 1:
            yield "one pair makes the axis, and another pair may order the words differently; give more"
        elif len(self.pairs) == 2:
            yield "two pairs make the axis, too few to know how much pairs differ; give more"
        if self._vectors.counts is not None:
            for pair, rows in zip(self.pairs, self._rows, strict=True):
                for word, count in zip(pair, np.asarray(self._vectors.counts)[rows].tolist(), strict=True):
                    if count < RARE:
                        yield f"{word!r} occurs {count} times; its vector is mostly noise"
        if self.on_their_sides is not None and not all(self.on_their_sides):
            wrong = [
                f"{a}:{b}" for (a, b), right in zip(self.pairs, self.on_their_sides, strict=True) if not right
            ]
            yield (
                f"pairs that do not fit the others: {', '.join(wrong)}; their words do not differ as "
                "theirs do: leave them out, or turn them"
            )

    @one_blas_thread
    def project(self, words: Sequence[str]) -> Projections:
        """Return the positions of words on the axis.

        Parameters
        ----------
        words : sequence of str

        Returns
        -------
        Projections
            The positions of the words with vectors, from the side of the first pole to that of the second.

        Raises
        ------
        DataError
            None of the words has a vector.
        """
        known, missing = known_words(self._vectors, words)
        if not known:
            raise DataError(f"none of the {len(words)} words has a vector: {', '.join(map(repr, words[:5]))}")
        rows = np.array([self._vectors.key_to_index[word] for word in known])
        matrix = np.asarray(self._vectors.vectors)
        directions = units(matrix[rows])
        values = directions @ self.vector
        without = np.stack([directions @ axis for axis in self._without_one])
        of_models = self._in_models(rows)
        found = []
        for i, word in enumerate(known):
            variance = jackknife_variance(without[:, i])
            low, high = crossed_interval(
                float(values[i]), variance, len(self.pairs) - 1, [float(model[i]) for model in of_models]
            )
            like = units(matrix[of_like_frequency(int(rows[i]), len(matrix))]) @ self.vector
            several = len(self.pairs) > 1
            found.append(
                Projection(
                    word,
                    float(values[i]),
                    max(low, -1.0),
                    min(high, 1.0),
                    float(without[:, i].min()) if several else math.nan,
                    float(without[:, i].max()) if several else math.nan,
                    float(np.mean(like < values[i])),
                )
            )
        return Projections(sorted(found, key=lambda one: one.value), self.name, missing, self.pairs[0])

    def _in_models(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the projections in each resampled model, on the axis of that model."""
        found = []
        for number in range(len(self._vectors.resamples or ())):
            model = np.asarray(self._vectors.resampled(number).vectors)
            poles = units(model[self._rows])
            found.append(units(model[rows]) @ direction(poles[:, 0], poles[:, 1], self.method))
        return found


def _without_one(poles: np.ndarray, method: Method) -> Iterator[np.ndarray]:
    """Yield the axis without each of the pairs; with one pair, the axis itself."""
    if len(poles) == 1:
        yield direction(poles[:, 0], poles[:, 1], method)
        return
    for left_out in range(len(poles)):
        others = np.delete(poles, left_out, axis=0)
        yield direction(others[:, 0], others[:, 1], method)


def axis(vectors: KeyedVectors, pairs: Sequence[tuple[str, str]], *, method: Method = "differences") -> Axis:
    """Make an axis from pairs of poles.

    Parameters
    ----------
    vectors : KeyedVectors
        The vectors; if they have resampled models, intervals are over these, too.
    pairs : sequence of (str, str)
        Pairs of poles, such as ``("he", "she")``; ``read_pairs`` reads ``he:she``.
    method : {"differences", "means", "pca"}
        See ``direction``.

    Returns
    -------
    Axis

    Raises
    ------
    DataError
        In every pair a word has no vector, or the poles have the same vector.
    ValueError
        The method is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = KeyedVectors(["he", "she", "king"], np.array([[1, 0], [0, 1], [1, 0.2]], np.float32))
    >>> round(axis(vectors, [("he", "she")]).project(["king"])[0].value, 3)
    -0.555

    References
    ----------
    Kozlowski, Taddy and Evans 2019, "The Geometry of Culture" (American Sociological Review 84). Bolukbasi et
    al. 2016, "Man is to Computer Programmer as Woman is to Homemaker?" (NeurIPS).
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it must be one of {known_names(method, METHODS)}")
    used, left_out = [], []
    for pair in pairs:
        known, _ = known_words(vectors, pair)
        if len(known) == 2:
            used.append((known[0], known[1]))
        else:
            left_out.append((pair[0], pair[1]))
    if not used:
        tried = ", ".join(f"{a}:{b}" for a, b in left_out[:5]) or "none was given"
        raise DataError(f"there is no pair of which both words have vectors ({tried})")
    return Axis(vectors, used, method, left_out)
