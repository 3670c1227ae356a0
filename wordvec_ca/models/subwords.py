"""Composes the vectors of words from rows of their n-grams (Bojanowski et al. 2017, section 3.2).

The vector of a word is the mean of the word's own row and one row for each of its n-grams; in training the
gain of the vector is added to every row. So n-grams that occur in exactly the same words always take the same
steps: they share one row, and n-grams of a single word share the word's own row. The results equal those of
separate rows, but there are fewer rows to read and store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.kernels import aligned_zeros, load_ngram_loops, padded
from wordvec_ca.tables import NgramIndex, ngrams_of, with_boundary_marks

if TYPE_CHECKING:
    from wordvec_ca.corpus import Vocab
    from wordvec_ca.models.config import ResolvedConfig

# Number of words composed at a time when all words are composed.
BLOCK_WORDS = 4_096


class Subwords:
    """The rows of words and n-grams, and the rows of each word.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, width), float32
        Rows of the words, then rows that n-grams share; padded as in ``EmbeddingModel.inputs``.
    sizes : ndarray of shape (n_rows,), float32
        Number of separate rows that each row replaces.
    offsets, columns, weights : ndarray
        The rows of word i are ``columns[offsets[i] : offsets[i + 1]]``, with weights that sum to 1.
    index : NgramIndex
        Row of each n-gram, for words that are not in the vocabulary.
    """

    def __init__(self, config: ResolvedConfig, vocab: Vocab) -> None:
        words, n_words = vocab.words, len(vocab)
        min_n, max_n, self.buckets = config.min_n, config.max_n, config.buckets or 0
        offsets, keys, places, lengths = ngrams_of(words, min_n, max_n, self.buckets)
        word_of = np.repeat(np.arange(n_words, dtype=np.int32), np.diff(offsets))
        order = np.argsort(keys, kind="stable")
        keys, word_of = keys[order], word_of[order]  # now the words of each n-gram are adjacent, in order
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        ends = np.append(begins[1:], len(keys))[: len(begins)]
        sums = np.append(0, np.cumsum(vocab.counts[word_of]))
        tokens = sums[ends] - sums[begins]
        if not self.buckets:
            frequent = tokens >= config.ngram_min_count
            begins, ends, tokens = begins[frequent], ends[frequent], tokens[frequent]
        first = order[begins]
        self._places = places[first], lengths[first]
        rows, numbers = _shared_rows(word_of, begins, ends, tokens, n_words)
        n_rows = n_words + numbers
        self.sizes = np.bincount(rows, minlength=n_rows).astype(np.float32)
        self.sizes[:n_words] += 1
        self.index = NgramIndex(min_n, max_n, self.buckets, keys[begins], rows.astype(np.int32), self._names)
        self._words = words
        self._list_entries(word_of, begins, ends, rows, n_words)
        self.rows = aligned_zeros((n_rows, padded(config.vector_size)))
        self._compose, self._give_back = load_ngram_loops(config.backend)

    def _list_entries(
        self, word_of: np.ndarray, begins: np.ndarray, ends: np.ndarray, rows: np.ndarray, n_words: int
    ) -> None:
        """Set offsets, columns and weights, for the words' own rows and for the rows that n-grams share."""
        _, one_of_each = np.unique(rows, return_index=True)
        one_of_each = one_of_each[rows[one_of_each] >= n_words]
        n_entries = (ends - begins)[one_of_each]
        columns = np.concatenate([np.arange(n_words), np.repeat(rows[one_of_each], n_entries)])
        words = np.concatenate([np.arange(n_words), word_of[_ranges(begins[one_of_each], n_entries)]])
        order = np.lexsort((columns, words))
        self.columns = columns[order].astype(np.int32)
        words = words[order]
        self.offsets = np.zeros(n_words + 1, np.int64)
        np.cumsum(np.bincount(words, minlength=n_words), out=self.offsets[1:])
        totals = np.bincount(words, self.sizes[self.columns], minlength=n_words)
        self.weights = (self.sizes[self.columns] / totals[words]).astype(np.float32)

    def initialise(self, seed: int, vector_size: int) -> None:
        """Draw all rows uniformly from plus or minus 1 / vector_size, as fastText does."""
        # A row that replaces m rows is scaled so that its m-fold sum is as long as the sum of m independent
        # rows.
        rng = np.random.default_rng([seed, 0x6E6772616D])
        for start in range(0, len(self.rows), 65_536):
            rows = self.rows[start : start + 65_536, :vector_size]
            scale = 1 / (vector_size * np.sqrt(self.sizes[start : start + 65_536, None]))
            rows[:] = (rng.random(rows.shape, dtype=np.float32) * 2 - 1) * scale

    def begin_with(
        self, words: np.ndarray, own_rows: np.ndarray, ngrams: np.ndarray, ngram_rows: np.ndarray
    ) -> None:
        """Copy rows from another model; a row that replaces several gets their mean."""
        rows = np.concatenate([words, self.index.rows[ngrams]])
        n_found = np.bincount(rows, minlength=len(self.rows))
        sums = np.zeros((len(self.rows), own_rows.shape[1]), np.float32)
        sums[words] = own_rows
        np.add.at(sums, self.index.rows[ngrams], ngram_rows)
        known = np.flatnonzero(n_found)
        self.rows[known, : own_rows.shape[1]] = sums[known] / n_found[known, None].astype(np.float32)

    def compose(self, words: NDArray[np.int32], vectors: np.ndarray, before: np.ndarray) -> None:
        """Set the vectors of some words from their rows; see ``kernels.ngrams_numpy.compose``."""
        self._compose(self.rows, self.offsets, self.columns, self.weights, words, vectors, before)

    def scatter_gains(self, words: NDArray[np.int32], vectors: np.ndarray, before: np.ndarray) -> None:
        """Add the change of words since they were composed to each of their rows; see
        ``ngrams_numpy.give_back``.
        """
        self._give_back(self.rows, self.offsets, self.columns, self.weights, words, vectors, before)

    def compose_all(self, vectors: np.ndarray) -> None:
        """Set the vectors of all words."""
        before = aligned_zeros((BLOCK_WORDS, vectors.shape[1]))
        for start in range(0, len(vectors), BLOCK_WORDS):
            stop = min(start + BLOCK_WORDS, len(vectors))
            self.compose(np.arange(start, stop, dtype=np.int32), vectors, before)

    def _names(self) -> list[bytes]:
        """Return the n-grams, in the order of their keys."""
        text, _ = with_boundary_marks(self._words)
        places, lengths = (array.tolist() for array in self._places)
        return [text[at : at + n] for at, n in zip(places, lengths, strict=True)]


def _shared_rows(
    word_of: np.ndarray, begins: np.ndarray, ends: np.ndarray, tokens: np.ndarray, n_words: int
) -> tuple[np.ndarray, int]:
    """Return the row of each n-gram, and the number of rows that are not rows of words."""
    if not len(begins):
        return np.empty(0, np.int64), 0
    lengths = ends - begins
    drawn = np.random.default_rng(1).integers(0, 2**64, n_words, dtype=np.uint64)
    listed = _ranges(begins, lengths)
    starts = np.cumsum(lengths) - lengths
    sums = np.add.reduceat(drawn[word_of[listed]], starts)  # equal sets of words have equal sums
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    like = first[which.reshape(-1)]
    same = lengths == lengths[like]
    compared = np.flatnonzero(same)
    pairs = _ranges(begins[compared], lengths[compared]), _ranges(begins[like[compared]], lengths[compared])
    unequal = word_of[pairs[0]] != word_of[pairs[1]]
    if len(compared):
        begin = np.cumsum(lengths[compared]) - lengths[compared]
        same[compared] = ~np.logical_or.reduceat(unequal, begin)
    like = np.where(same, like, np.arange(len(begins)))  # equal by chance: a row of its own
    rows = np.where(lengths == 1, word_of[begins], -1).astype(np.int64)
    kinds = np.flatnonzero((like == np.arange(len(begins))) & (rows < 0))
    number = np.full(len(begins), -1)
    number[kinds[np.argsort(-tokens[kinds], kind="stable")]] = n_words + np.arange(len(kinds))
    return np.where(rows < 0, number[like], rows), len(kinds)


def _ranges(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return begin, begin + 1, ... of each range, one range after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(begins - (ends - lengths), lengths)
