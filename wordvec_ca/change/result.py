"""The result of a comparison of texts or models: the data of each word, also as a table and for JSON."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from wordvec_ca.change.evidence import Example
from wordvec_ca.change.statistics import POOL, harmonic_mean_count, moved, ranks
from wordvec_ca.errors import DataError
from wordvec_ca.files import data_frame
from wordvec_ca.tables import one_blas_thread
from wordvec_ca.vectors import KeyedVectors, directions

# A word with fewer occurrences in any text is undecided.
DECIDABLE = 10

# Words with at least this many occurrences in each text show whether whole texts differ.
FREQUENT = 100

# Words that make up more than this share of all tokens count as function words.
FUNCTION_WORD = 1e-3

# Words are called changed up to this rate of false discoveries.
FALSE_DISCOVERIES = 0.05

# With fewer documents in a text, a word must be in most of them, and change in most, to be called.
FEW_DOCUMENTS = 100

# Largest number of lost neighbours, and of gained neighbours, that are listed.
SHOWN = 8


@dataclass(frozen=True)
class WordChange:
    """The data of one word.

    Attributes
    ----------
    word : str
    counts : tuple of int
        Occurrences in each text.
    distance, turnover : float
        Distances between models: cosine distance after rotation, and share of the nearest neighbours that
        differ; each is the mean over all pairs of texts.
    distance_rank, turnover_rank : float
        Share of the words of similar frequency whose distance or turnover is smaller.
    change : float
        Squared distance between the mean contexts of the word, divided by the sum of their squared lengths,
        minus the mean of this value in permuted texts; mean over all pairs of texts. nan for models.
    low, high : float
        90 % interval of ``change``; both ends are from 0 to 1.
    typical : float
        Median change of the words of similar frequency. It measures how different subjects and styles affect
        all words.
    excess : float
        The effect size, ``change`` minus ``typical``: how much more the word changed than similar words.
    changed : bool or None
        Whether the word changed: ``fdr`` is at most .05, ``change`` is above ``typical``, and the word moved
        farther between models than most words of similar frequency (``distance_rank`` above .5). None for
        models.
    function_word : bool
        Whether the word makes up more than a thousandth of all words, as function words do.
    p, fdr : float
        p-value: share of permuted texts with a change at least as large; and rate of false discoveries among
        the words whose p is not larger.
    smallest_p : float
        The smallest p that this number of permutations can give: a p at this value means "or less".
    lost, gained : tuple of str
        Neighbours in the first text but not the last, and the reverse.
    examples : tuple of Example
        For the first words of the result: from each text a typical sentence with the word, and the one that
        differs most from the other texts.
    trajectory, band : tuple of float
        Distance between the contexts in the first text and in each later one, and the 95 % quantile of this
        distance in permuted texts. For models: the distance after rotation, and no band.
    """

    word: str
    counts: tuple[int, ...]
    distance: float
    turnover: float
    distance_rank: float = np.nan
    turnover_rank: float = np.nan
    change: float = np.nan
    low: float = np.nan
    high: float = np.nan
    typical: float = np.nan
    excess: float = np.nan
    changed: bool | None = None
    function_word: bool = False
    p: float = np.nan
    fdr: float = np.nan
    smallest_p: float = np.nan
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    trajectory: tuple[float, ...] = ()
    band: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes for JSON; unknown values are None."""
        values = dataclasses.asdict(self)
        for name, value in values.items():
            if isinstance(value, float) and not np.isfinite(value):
                values[name] = None
        return values


@dataclass(frozen=True)
class Changes:
    """Which words have changed between texts or models.

    Attributes
    ----------
    words : list of WordChange
        Words that could be judged. First come those that changed, by falling ``distance_rank``, with function
        words last; then the others by ``fdr``. For models: by falling distance.
    undecided : list of (str, tuple of int)
        Words that occur in several texts but are rare in one or absent from it, with their counts.
    only : list of list of (str, int)
        For each text the words that occur only in it, with their counts.
    permutations : int
        Number of permutations; 0 for models, which have no p-values.
    documents : list of int
        Number of documents of each text; empty for models.
    models : list of KeyedVectors
        The first model of each text; empty for models.
    """

    words: list[WordChange]
    undecided: list[tuple[str, tuple[int, ...]]]
    only: list[list[tuple[str, int]]]
    permutations: int
    documents: list[int] = dataclasses.field(default_factory=list)
    models: list[KeyedVectors] = dataclasses.field(default_factory=list, repr=False)

    @property
    def are_few(self) -> bool:
        """Whether so few documents were permuted that only large changes can be called."""
        return bool(self.documents) and min(self.documents) < FEW_DOCUMENTS

    @property
    def limits(self) -> str:
        """A sentence on what could not be found if no word changed and documents are few; else empty."""
        if not self.are_few or any(one.changed for one in self.words):
            return ""
        numbers = " and ".join(f"{n:,}" for n in self.documents)
        return f"{numbers} documents can show only large changes: smaller ones are possible."

    def to_frame(self) -> Any:
        """Return a pandas data frame of the words that were judged, with the fields of `WordChange`."""
        names = [field.name for field in dataclasses.fields(WordChange)]
        return data_frame(names, ([getattr(one, name) for name in names] for one in self.words))

    @property
    def differ_throughout(self) -> bool:
        """Whether most of the frequent words differ: then the texts differ in subject or style."""
        frequent = [one for one in self.words if one.fdr == one.fdr and min(one.counts) >= FREQUENT]
        return (
            len(frequent) >= 20 and sum(one.fdr <= FALSE_DISCOVERIES for one in frequent) > len(frequent) / 2
        )

    def table(self) -> str:
        """Return a tab-separated table: words that were judged, undecided words, words of one text only."""
        names = [name for name in (field.name for field in dataclasses.fields(WordChange)) if name != "word"]
        table = io.StringIO()
        write = csv.writer(table, delimiter="\t", lineterminator="\n").writerow  # the word " is in quotes
        write(["word", "state", *names])
        for one in self.words:
            write([one.word, "judged", *(_cell(getattr(one, name)) for name in names)])
        rest = [(word, "undecided", counts) for word, counts in self.undecided]
        for text, words in enumerate(self.only):
            others = [0] * len(self.only)
            for word, count in words:
                counts = (*others[:text], count, *others[text + 1 :])
                rest.append((word, f"only in text {text + 1}", counts))
        for word, state, counts in rest:
            write([word, state, *(_cell(counts) if name == "counts" else "" for name in names)])
        return table.getvalue()


def _cell(value: Any) -> str:
    """Return a value as text: lists joined by spaces, numbers with few digits, an empty text for nan."""
    if isinstance(value, tuple):
        return (" | " if value and isinstance(value[0], Example) else " ").join(map(_cell, value))
    if isinstance(value, float):
        return f"{value:.4g}" if np.isfinite(value) else ""
    return " ".join(str(value).split()) if isinstance(value, Example) else str(value)


def changes_of_models(*models: KeyedVectors, least: int = DECIDABLE) -> Changes:
    """Measure how far words moved between two or more models, without p-values, since there are no documents
    to permute.

    Parameters
    ----------
    *models : KeyedVectors
        Two or more, of equal dimensions.
    least : int, default 10
        Words with a lower count in any model are undecided; a model without counts excludes no word.

    Returns
    -------
    Changes
        Result whose ``permutations`` is 0 and whose values that need permutations are nan; the words that
        moved farthest come first.

    Raises
    ------
    ValueError
        There are fewer than two models.
    DataError
        The models differ in dimensions or have too little in common.
    """
    if len(models) < 2:
        raise ValueError(f"changes_of_models compares two models or more; got {len(models)}")
    if len({model.vector_size for model in models}) > 1:
        sizes = ", ".join(str(model.vector_size) for model in models)
        raise DataError(f"the models have {sizes} dimensions; only models of equal size can be compared")
    n_models = Counter(word for model in models for word in model.index_to_key)

    def counts_of(word: str) -> tuple[int, ...]:
        return tuple(
            0 if m.counts is None or word not in m.key_to_index else int(m.counts[m.key_to_index[word]])
            for m in models
        )

    counted = [place for place, model in enumerate(models) if model.counts is not None]
    common, undecided = [], []
    for word, n in n_models.items():
        if n == len(models) and all(counts_of(word)[place] >= least for place in counted):
            common.append(word)
        elif n > 1:
            undecided.append((word, counts_of(word)))
    if len(common) < max(50, 2 * models[0].vector_size):
        raise DataError(
            f"the models have {len(common):,} words in common that occur often enough in each; a rotation of "
            f"{models[0].vector_size} dimensions needs {max(50, 2 * models[0].vector_size):,}. Are they of "
            "one language and split alike?"
        )
    turned = [directions(model.vectors[[model.key_to_index[word] for word in common]]) for model in models]
    pairs = [moved(first, second) for first, second in combinations(turned, 2)]
    distance = np.stack([pair.distance for pair in pairs])
    turnover = np.stack([pair.turnover for pair in pairs])
    known = (
        harmonic_mean_count(np.array([counts_of(word) for word in common]).T)
        if len(counted) == len(models)
        else None
    )
    distance_rank, turnover_rank = (
        np.full(len(common), np.nan) if known is None else ranks(measure.mean(axis=0), known)
        for measure in (distance, turnover)
    )
    first, last = nearest_words(common, turned[0]), nearest_words(common, turned[-1])
    words = [
        WordChange(
            word=word,
            counts=counts_of(word),
            distance=float(distance[:, i].mean()),
            turnover=float(turnover[:, i].mean()),
            distance_rank=float(distance_rank[i]),
            turnover_rank=float(turnover_rank[i]),
            lost=missing_from(first[word], last[word]),
            gained=missing_from(last[word], first[word]),
            trajectory=tuple(distance[: len(models) - 1, i].tolist()),
        )
        for i, word in enumerate(common)
    ]
    words.sort(key=lambda one: -one.distance)
    only = []
    for place, model in enumerate(models):
        alone = [word for word in model.index_to_key if n_models[word] == 1]
        only.append([(word, counts_of(word)[place]) for word in alone])
    return Changes(words, undecided, only, 0)


def missing_from(near: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the words of ``near`` that are not in ``others``; punctuation, without meaning, is left out."""
    words = [word for word in near if any(map(str.isalnum, word))]
    return tuple(word for word in words[:SHOWN] if word not in others)


@one_blas_thread
def nearest_words(words: Sequence[str], rows: np.ndarray) -> dict[str, list[str]]:
    """Return the nearest neighbours of each word; the words and their `directions` are most frequent first.
    As for turnover, neighbours are searched among the ``POOL`` most frequent words.
    """
    found = {}
    pool = min(POOL, len(words))
    n = min(3 * SHOWN, pool - 1)
    for start in range(0, len(words), 1000):
        cosines = rows[start : start + 1000] @ rows[:pool].T
        for i, row in enumerate(cosines):
            if start + i < pool:
                row[start + i] = -np.inf
            best = np.argpartition(row, len(row) - n)[-n:]
            found[words[start + i]] = [words[j] for j in best[np.argsort(-row[best])]]
    return found
