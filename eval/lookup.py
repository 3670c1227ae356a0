"""Find the rows of words: as written, else in another case, else without the Penn Treebank's escapes. Are
these words of the language of a set? Most public sets are English.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.sentences import PhraseDictionary
from wordvec_ca.vectors import KeyedVectors, directions


class Vectors(Protocol):
    """What every task needs; ``KeyedVectors`` of ``wordvec_ca`` and of gensim have it."""

    index_to_key: list[str]

    @property
    def vectors(self) -> np.ndarray:
        """One row for each word."""
        ...

    @property
    def key_to_index(self) -> dict[str, int]:
        """Word -> row."""
        ...


# Makes vectors of texts, given as lists of words: an array of shape (n_texts, vector_size), float32.
Infer = Callable[[Sequence[Sequence[str]]], np.ndarray]


class UncoveredError(DataError):
    """The vectors know too few of the words of a data set for the task to mean anything."""


RULE = "words are looked up as written, then lower-cased; those of a set without capitals also capitalised"

# How the Penn Treebank (and SST) writes some signs -> the usual sign.
ESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
}


class WithNgrams:
    """Vectors of a model with n-grams; unknown words of a task get a row computed from their n-grams, at
    the end of ``vectors`` and with the count 0.
    """

    def __init__(self, vectors: KeyedVectors) -> None:
        self._model = vectors
        self.vectors, self.counts, self.metadata = vectors.vectors, vectors.counts, vectors.metadata
        self.index_to_key, self.key_to_index = list(vectors.index_to_key), dict(vectors.key_to_index)
        self.n_added = 0

    def __len__(self) -> int:
        return len(self.index_to_key)

    def add(self, words: Sequence[str]) -> None:
        """Add rows for words that have known n-grams and no row in any form."""
        added = {}
        for word, forms in zip(words, _forms(words), strict=True):
            if any(form in self.key_to_index for form in forms):
                continue
            form = self._model.known_form(word)
            if form is not None and form not in added:
                added[form] = self._model.get_vector(form)
                self.key_to_index[word] = self.key_to_index[form] = len(self.index_to_key) + len(added) - 1
        if added:
            self.vectors = np.concatenate([self.vectors, np.stack(list(added.values()))])
            self.index_to_key += added
            self.n_added += len(added)
            if self.counts is not None:
                self.counts = np.append(self.counts, np.zeros(len(added), self.counts.dtype))


def with_ngrams(vectors: Vectors) -> Vectors:
    """Return vectors that make rows for unknown words from n-grams, if the model has n-grams."""
    if isinstance(vectors, KeyedVectors) and vectors.ngrams is not None and vectors.oov == "ngrams":
        return WithNgrams(vectors)
    return vectors


def _forms(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Return the forms in which each word is looked up, in this order."""
    # Some sets (mturk287) have names in lower case, for which a model that keeps capitals has no vector.
    # Where a set has capitals, they tell which words are names.
    capitalised = all(word == word.lower() for word in words)
    for word in words:
        yield word, word.lower(), ESCAPES.get(word, word), word.capitalize() if capitalised else word


def rows_of(
    vectors: Vectors, words: Sequence[str], *, first: int | None = None, as_written: bool = False
) -> np.ndarray:
    """Return the row of each word, -1 where it has none; in other forms, too, but for ``as_written``."""
    # A word is looked up as it is written and, if that has no vector, in lower case. One of ``ESCAPES`` is
    # then looked up as the sign that it means; if no word has a capital, each is looked up capitalised.
    # Words that a model builds from n-grams get a row (see ``WithNgrams``), unless only the first rows
    # count.
    if first is None and isinstance(vectors, WithNgrams):
        vectors.add(words)
    index = vectors.key_to_index
    stop = len(vectors.index_to_key) if first is None else first
    rows = np.empty(len(words), dtype=np.int64)
    for i, forms in enumerate(((word,) for word in words) if as_written else _forms(words)):
        found = (index.get(form, -1) for form in forms)
        rows[i] = next((row for row in found if 0 <= row < stop), -1)
    known = np.unique(rows[rows >= 0])
    sums = np.asarray(vectors.vectors[known]).sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all():
        word = vectors.index_to_key[int(known[np.flatnonzero(~np.isfinite(sums))[0]])]
        raise DataError(
            f"the vector of {word!r} has NaN or infinite numbers; the training has diverged or the file is "
            "damaged: train again with a smaller alpha, or fetch the vectors again"
        )
    return rows


def used_rows(vectors: Vectors, sentences: Sequence[Sequence[str]]) -> tuple[np.ndarray, dict[str, int]]:
    """Return the rows of the words of a text, each once, and which of them each word has."""
    # Words without a vector have the number after the last row.
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    rows = rows_of(vectors, words)
    used, position = np.unique(rows, return_inverse=True)
    if len(used) and used[0] == -1:
        used, position = used[1:], position - 1
    return used, dict(zip(words, np.where(rows >= 0, position, len(used)).tolist(), strict=True))


def types_of(
    vectors: Vectors, sentences: Sequence[Sequence[str]], name: str
) -> tuple[np.ndarray, dict[str, int]]:
    """Return `used_rows`; UncoveredError if no word of the text has a vector."""
    used, place_of = used_rows(vectors, sentences)
    if len(used) == 0:
        raise UncoveredError(
            f"{name}: none of its {len(place_of):,} words has a vector; is this the same language?"
        )
    return used, place_of


def in_known_forms(vectors: Vectors, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return sentences with each word in the form in which it has a row; others stay as they are."""
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    rows = rows_of(vectors, words).tolist()
    forms = {
        word: vectors.index_to_key[row] if row >= 0 else word for word, row in zip(words, rows, strict=True)
    }
    return [[forms[word] for word in sentence] for sentence in sentences]


def vocabulary_digest(vectors: Vectors, stop: int | None = None) -> str:
    """Return 16 hexadecimal digits that are the same for equal sets of words in any order."""
    digest = hashlib.sha256()
    for word in sorted(vectors.index_to_key[:stop]):
        digest.update(word.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


def unit_rows(vectors: Vectors, rows: np.ndarray) -> np.ndarray:
    """Return the vectors of the rows with length 1 (zero vectors stay zero), as float32."""
    return directions(vectors.vectors[rows], centred=False)


def with_phrases(vectors: Vectors, sentences: Sequence[Sequence[str]], joiner: str) -> list[list[str]]:
    """Return sentences in which words are joined to phrases of the vectors (Zeng 2019, section 4.1.1)."""
    dictionary = PhraseDictionary(vectors.key_to_index, joiner)
    return [dictionary.segment(sentence) for sentence in in_known_forms(vectors, sentences)]


# Names of public sets that are English.
ENGLISH_SETS = re.compile(
    r"wordsim353|simlex999|questions-words|ws353.*|rg65|mc30|mturk\d+|yp130|verb143|men|rw|ap|essli.*|esslli.*"
    r"|battig|wsj.*|ud_e[wns]t.*|ud_english.*|brown|conll2000.*|sst.*|mr|cr|mpqa|subj|trec|sts.*|sick.*",
    re.IGNORECASE,
)

# English function words that are among the first hundred of any English text.
FREQUENT = frozenset(
    ("the", "of", "and", "to", "in", "a", "is", "was", "for", "on", "that", "with", "as", "by", "at", "from")
    + ("it", "be", "this", "are", "he", "his", "not", "or", "an")
)

# Number of first words that are searched for these: vocabularies have the most frequent words first.
AMONG = 1000

# Vectors of fewer words are not judged.
LEAST = 300


def other_language(vectors: Vectors, dataset: str) -> str | None:
    """Return a warning if a set is known to be English and the words of the vectors do not look English.

    Notes
    -----
    English vectors have all of ``FREQUENT`` among their first thousand words; vectors of another language
    have a few that are spelled alike. The threshold is a half.
    """
    first = [word.lower() for word in vectors.index_to_key[:AMONG]]
    if len(first) < LEAST or not ENGLISH_SETS.fullmatch(dataset):
        return None
    if 2 * len(FREQUENT.intersection(first)) >= len(FREQUENT):
        return None
    return (
        "the set is English, and the words of these vectors do not look so (the first ones: "
        f"{', '.join(vectors.index_to_key[:8])})"
    )
