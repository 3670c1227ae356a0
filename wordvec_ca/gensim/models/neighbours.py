"""Similarities of keys: the nearest keys, distances, ranks."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from wordvec_ca.gensim.models.keys import KEY_TYPES, KeyTable
from wordvec_ca.vectors import cosine

logger = logging.getLogger(__name__)


class NeighbourQueries(KeyTable):
    """Similarities of the keys of a table; parameters and attributes are those of ``KeyTable``."""

    def most_similar(  # type: ignore[override]  # as gensim's
        self,
        positive: Any = None,
        negative: Any = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: Any = None,
    ) -> Any:
        """Return the keys whose vectors have the highest cosines with a sum of vectors (3CosAdd).

        Parameters
        ----------
        positive, negative : key, ndarray, (key, weight), or a list of them
            Vectors to add and to subtract.
        topn : int or None, default 10
            Number of keys to return; None for the cosines of all.
        clip_start, clip_end : int, optional
            Search only these rows.
        restrict_vocab : int, optional
            Search only this number of first rows.
        indexer : object, optional
            An index with a method ``most_similar(vector, topn)`` that searches instead.

        Returns
        -------
        list of (key, float), or ndarray of shape (n_keys,) if ``topn`` is None
            The keys, best first, without those in ``positive`` and ``negative``.

        Raises
        ------
        KeyError
            A key is unknown.
        """
        if isinstance(topn, Integral) and topn < 1:
            return []
        keys, weights, rows = self._query(positive, negative)
        mean = self.get_mean_vector(keys, weights, post_normalize=True, ignore_missing=False)
        if indexer is not None and isinstance(topn, int):
            return indexer.most_similar(mean, topn)
        part = slice(0, restrict_vocab) if restrict_vocab else slice(clip_start, clip_end or None)
        start, stop, _ = part.indices(len(self))
        cosines = self._directions.cosines(mean, stop)
        if topn is None:
            return cosines[start:]
        cosines[:start] = -np.inf
        return self._best(cosines, int(topn), rows)

    def rank_by_centrality(self, words: Iterable[Any], use_norm: bool = True) -> list[tuple[Any, Any]]:
        """Return (cosine with the mean of all, word), the most central word first.

        Parameters
        ----------
        words : iterable of keys
            The words to rank; unknown ones are left out, with a warning.
        use_norm : bool, default True
            Scale vectors to length 1 first.

        Raises
        ------
        ValueError
            None of the words is known.
        """
        words = list(words)
        used = [word for word in words if word in self]
        if len(used) < len(words):
            logger.warning("ignoring words without a vector: %s", set(words) - set(used))
        if not used:
            raise ValueError("cannot select a word from an empty list")
        vectors = np.vstack([self.get_vector(word, norm=use_norm) for word in used]).astype(np.float32)
        mean = self.get_mean_vector(list(vectors), post_normalize=True)
        return sorted(zip(vectors @ mean, used, strict=True), reverse=True)

    def doesnt_match(self, words: Iterable[Any]) -> Any:
        """Return the least central word; see ``rank_by_centrality``."""
        return self.rank_by_centrality(words)[-1][1]

    @staticmethod
    def cosine_similarities(vector_1: np.ndarray, vectors_all: np.ndarray) -> np.ndarray:
        """Return the cosines of a vector with the rows of a matrix; 0 where one is zero."""
        lengths = np.linalg.norm(vector_1) * np.linalg.norm(vectors_all, axis=1)
        return np.dot(vectors_all, vector_1) / np.where(lengths > 0, lengths, 1)

    def distances(self, word_or_vector: Any, other_words: Sequence[Any] = ()) -> np.ndarray:
        """Return 1 - cosine with other words, or with all.

        Parameters
        ----------
        word_or_vector : key or ndarray
        other_words : sequence of keys
        """
        vector = self.get_vector(word_or_vector) if isinstance(word_or_vector, KEY_TYPES) else word_or_vector
        rows = [self.get_index(word) for word in other_words]
        return 1 - self.cosine_similarities(vector, self.vectors[rows] if rows else self.vectors)

    def distance(self, w1: Any, w2: Any) -> Any:
        """Return 1 - cosine of two keys."""
        return 1 - self.similarity(w1, w2)

    def n_similarity(self, ws1: Sequence[Any], ws2: Sequence[Any]) -> Any:
        """Return the cosine of the mean vectors of two lists of keys.

        Raises
        ------
        ZeroDivisionError
            A list is empty.
        """
        if not (len(ws1) and len(ws2)):
            raise ZeroDivisionError("At least one of the passed list is empty.")
        means = [self.get_mean_vector(words, pre_normalize=False) for words in (ws1, ws2)]
        return cosine(*means)

    def closer_than(self, key1: Any, key2: Any) -> list[Any]:
        """Return the keys that are nearer to ``key1`` than ``key2`` is."""
        distances, row = self.distances(key1), self.get_index(key1)
        nearer = np.flatnonzero(distances < distances[self.get_index(key2)])
        return [self.index_to_key[i] for i in nearer if i != row]

    def words_closer_than(self, word1: Any, word2: Any) -> list[Any]:
        """Return what ``closer_than`` returns; the name of gensim 3."""
        warnings.warn("words_closer_than is deprecated: use closer_than", DeprecationWarning, stacklevel=2)
        return self.closer_than(word1, word2)

    def rank(self, key1: Any, key2: Any) -> int:
        """Return the place of ``key2`` among the keys by nearness to ``key1``, from 1."""
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Any, keys_list: Sequence[Any]) -> Any:
        """Return which of some keys is most similar to ``key1``."""
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def relative_cosine_similarity(self, wa: Any, wb: Any, topn: int = 10) -> float:
        """Return the cosine of two words divided by the sum over the ``topn`` nearest (Leeuwenberg 2016)."""
        near = self.similar_by_word(wa, topn)
        if not near:
            raise ValueError("Cannot calculate relative cosine similarity without any similar words.")
        return float(self.similarity(wa, wb)) / sum(score for _, score in near)

    def wmdistance(self, document1: Sequence[Any], document2: Sequence[Any], norm: bool = True) -> float:
        """Return the Word Mover's Distance of two lists of words (Kusner et al. 2015); needs POT.

        Parameters
        ----------
        document1, document2 : sequence of keys
            Lists of words; unknown words are left out.
        norm : bool, default True
            Scale vectors to length 1 first.

        Returns
        -------
        float
            Infinity if a document has no known word.

        Raises
        ------
        ImportError
            POT is not installed.
        """
        try:
            from ot import emd2
        except ImportError as error:
            raise ImportError("wmdistance needs the library POT: pip install POT") from error
        known = [[word for word in document if word in self] for document in (document1, document2)]
        if not all(known):
            logger.warning("At least one of the documents had no words that were in the vocabulary.")
            return float("inf")
        words = [sorted(set(document), key=document.index) for document in known]
        if set(words[0]) == set(words[1]) and len(words[0]) == 1:
            return 0.0
        shares = [
            np.array([document.count(word) / len(document) for word in distinct])
            for document, distinct in zip(known, words, strict=True)
        ]
        rows = [
            np.array([self.get_vector(word, norm=norm) for word in distinct], np.float64)
            for distinct in words
        ]
        apart = np.sqrt(np.square(rows[0][:, np.newaxis] - rows[1]).sum(axis=2))
        return float(emd2(*shares, apart))

    def similarity_unseen_docs(self, *_: Any, **__: Any) -> None:
        """Raise an error: only Doc2Vec models have this method."""
        raise NotImplementedError("similarity_unseen_docs is for Doc2Vec models; use gensim's")
