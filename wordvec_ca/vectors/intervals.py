"""Computes the uncertainty of neighbours, as intervals and agreement, from models of resampled text.

An interval predicts the result of one run on other text of the same kind and size. The spread of the
resampled models estimates how much a run varies between texts. It is counted twice: for the model's text and
for the other text. Cosines of the published vectors are mostly above the interval, for two reasons: a mean of
models has less noise, and noise makes cosines smaller; and neighbours were selected because they are near in
this text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.files import data_frame, html_table

# Default probability of an interval.
LEVEL = 0.9

# Share of the intervals of ``LEVEL`` that contain the cosine of another run: least and greatest value over
# bands of frequency, texts of 1 to 10 million words and, with 1 million, 2 to 10 models (docs/evidence,
# resamples). The share is smallest for the nearest words of frequent words in short texts.
COVERAGE = (0.80, 0.92)
SHOWN_COVERAGE = "{:.0f} to {:.0f} %".format(*(100 * share for share in COVERAGE))


def widening(models: int) -> float:
    """Return the standard deviation of another run less the mean of the models, in units of that of a model.

    The other text varies, so does the text that was resampled, and the mean of ``models`` of its samples
    varies around that text.
    """
    return float((2 + 1 / models) ** 0.5)


class Neighbour(NamedTuple):
    """A neighbour, with its interval and agreement.

    Attributes
    ----------
    word : str
    score : float
        Score of the published vectors: the cosine, or the score of an analogy.
    low, high : float
        Interval of the score in one run on other text; nan if the model was not trained with resamples. For
        the nearest words of frequent words, 80 to 89 % of the 90 % intervals contained it, see ``COVERAGE``.
    agreement : int
        Number of resampled models in which the word is also found.
    """

    word: str
    score: float
    low: float = np.nan
    high: float = np.nan
    agreement: int = 0

    def __repr__(self) -> str:
        """Leave out interval and agreement if they are not known."""
        sure = f", low={self.low!r}, high={self.high!r}, agreement={self.agreement}"
        return f"Neighbour(word={self.word!r}, score={self.score!r}{'' if np.isnan(self.low) else sure})"


class Neighbours(list[Neighbour]):
    """A table of neighbours, the nearest first.

    Parameters
    ----------
    rows : sequence of Neighbour
    models : int
        Number of resampled models.
    """

    def __init__(self, rows: Sequence[Neighbour], models: int) -> None:
        super().__init__(rows)
        self.models = models

    def __str__(self) -> str:
        return "\n".join("  ".join(map(str, row)) for row in self._rows())

    def _repr_html_(self) -> str:
        names = ("word", "score", "interval", "agreement") if self.models else ("word", "score")
        title = f"{len(self)} neighbours"
        if self.models:
            title += f"; of intervals of {LEVEL:.0%}, {SHOWN_COVERAGE} held the score of another run"
        return html_table(title, names, self._rows())

    def to_frame(self) -> Any:
        """Return a pandas data frame: word, score and, with resampled models, low, high and agreement."""
        names = Neighbour._fields if self.models else Neighbour._fields[:2]
        return data_frame(names, (one[: len(names)] for one in self))

    def _rows(self) -> list[tuple[str, ...]]:
        return [(one.word, f"{one.score:.3f}", *self._sureness(one)) for one in self]

    def _sureness(self, one: Neighbour) -> tuple[str, ...]:
        """Return interval and agreement as text; an empty tuple without resampled models."""
        return (shown_interval(one.low, one.high), f"{one.agreement}/{self.models}") if self.models else ()


def shown_interval(low: float, high: float) -> str:
    """Return an interval as text, empty if it is not known."""
    return f"[{low:.2f}, {high:.2f}]" if np.isfinite(low) else ""


def interval(
    resampled: np.ndarray, *, level: float = LEVEL, cosine: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval that contains the result of one run on other text, with a given probability."""
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must be above 0 and below 1")
    if len(resampled) < 2:
        raise ValueError("an interval needs two resampled models or more")
    near = 1 - 1e-6
    values = np.asarray(resampled, np.float64)
    if cosine:
        values = np.arctanh(np.clip(values, -near, near))
    n = len(values)
    half = stdtrit(n - 1, (1 + level) / 2) * widening(n) * values.std(axis=0, ddof=1)
    low, high = values.mean(axis=0) - half, values.mean(axis=0) + half
    return (np.tanh(low), np.tanh(high)) if cosine else (low, high)


def interval_of_difference(
    first: Sequence[float], second: Sequence[float], *, level: float = LEVEL
) -> tuple[float, float]:
    """Return the interval of the difference between one run of each of two models, second minus first."""
    from scipy.special import stdtrit

    spread = np.sqrt(sum(widening(len(runs)) ** 2 * np.var(runs, ddof=1) for runs in (first, second)))
    half = stdtrit(min(len(first), len(second)) - 1, (1 + level) / 2) * spread
    middle = float(np.mean(second) - np.mean(first))
    return middle - float(half), middle + float(half)


def judged(
    vectors: Any,
    found: Sequence[tuple[str, float]],
    scores: Callable[[Any], np.ndarray],
    *,
    among: int,
    left_out: set[int],
    level: float = LEVEL,
    cosine: bool = True,
) -> Neighbours:
    """Return the results of a search in `KeyedVectors`, which imports this module, with intervals and
    agreement.
    """
    if vectors.resamples is None or not found:
        return Neighbours([Neighbour(word, score) for word, score in found], 0)
    rows = [vectors.key_to_index[word] for word, _ in found]
    known, again = [], np.zeros(len(rows), int)
    for number in range(len(vectors.resamples)):
        model = vectors.resampled(number)
        all_scores = scores(model)
        known.append(all_scores[rows])
        again += np.isin(rows, model.highest(all_scores, among, left_out))
    low, high = interval(np.stack(known), level=level, cosine=cosine)
    return Neighbours(
        [
            Neighbour(word, score, float(low[i]), float(high[i]), int(again[i]))
            for i, (word, score) in enumerate(found)
        ],
        len(known),
    )
