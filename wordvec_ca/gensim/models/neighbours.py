"""Which keys are similar to which."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from wordvec_ca.gensim.models.keys import KEY_TYPES, KeyTable, as_list, cosine, listed
from wordvec_ca.vectors import highest

logger = logging.getLogger(__name__)

Similar = list[tuple[Any, float]]


class Neighbours(KeyTable):
    """Similarities of the keys of a table; parameters and attributes are those of ``KeyTable``."""

    def get_mean_vector(
        self,
        keys: Sequence[Any],
        weights: Any = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> np.ndarray:
        """Return the weighted mean of vectors, divided by the sum of the absolute weights.

        Parameters
        ----------
        keys : sequence of key or ndarray of shape (vector_size,)
        weights : sequence of float, optional
            One for each; 1 by default.
        pre_normalize : bool, default True
            Scale vectors of keys to length 1 before.
        post_normalize : bool, default False
            Scale the mean to length 1.
        ignore_missing : bool, default True
            Leave out keys that are not there; else they are an error.

        Raises
        ------
        ValueError
            There are no keys, or not one weight for each.
        KeyError
            A key is not there.
        """
        if len(keys) == 0:
            raise ValueError("cannot compute mean with no input")
        factors = np.ones(len(keys), np.float32) if weights is None else np.asarray(weights, np.float32)
        if len(factors) != len(keys):
            raise ValueError("keys and weights array must have same number of elements")
        mean, total = np.zeros(self.vector_size, np.result_type(self.vectors.dtype, np.float32)), 0.0
        for key, factor in zip(keys, factors, strict=True):
            if isinstance(key, np.ndarray):
                vector = key
            elif key in self:
                vector = self.get_vector(key, norm=pre_normalize)
            elif ignore_missing:
                continue
            else:
                raise KeyError(f"Key '{key}' not present in vocabulary")
            mean += factor * vector
            total += abs(float(factor))
        if total > 0:
            mean /= np.float32(total)
        length = np.linalg.norm(mean)
        return (mean / length).astype(np.float32) if post_normalize and length > 0 else mean

    def most_similar(
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
            What is added and subtracted.
        topn : int or None, default 10
            How many keys; None for the cosines of all.
        clip_start, clip_end : int, optional
            Search only these rows.
        restrict_vocab : int, optional
            Search only so many first rows.
        indexer : object, optional
            An index with a method ``most_similar(vector, topn)`` that searches instead.

        Returns
        -------
        list of (key, float), or ndarray of shape (n_keys,) if ``topn`` is None
            Best first, without the keys given.

        Raises
        ------
        KeyError
            A key is not there.
        """
        if isinstance(topn, Integral) and topn < 1:
            return []
        keys, weights = [], []
        for sign, given in ((1.0, positive), (-1.0, negative)):
            for item in as_list(given):
                plain = isinstance(item, (*KEY_TYPES, np.ndarray))
                keys.append(item if plain else item[0])
                weights.append(sign if plain else item[1])
        mean = self.get_mean_vector(keys, weights, post_normalize=True, ignore_missing=False)
        if indexer is not None and isinstance(topn, int):
            return indexer.most_similar(mean, topn)
        start, stop = (0, restrict_vocab) if restrict_vocab else (clip_start, clip_end or len(self.vectors))
        cosines = np.dot(self.vectors[start:stop], mean) / self._lengths()[start:stop]
        given_rows = {row - start for row in self._known_rows(keys)}
        return cosines if not topn else self._best(cosines, topn, given_rows, start)

    def _known_rows(self, items: Iterable[Any]) -> set[int]:
        """Return the rows of those items that are keys and have one."""
        return {
            self.get_index(key) for key in items if isinstance(key, KEY_TYPES) and self.has_index_for(key)
        }

    def _best(self, scores: np.ndarray, topn: int, left_out: set[int], start: int = 0) -> Similar:
        """Return the keys of the highest scores; rows of ``scores`` begin at ``start``."""
        usable = scores.astype(np.float64)
        usable[np.isnan(usable)] = -np.inf
        usable[[row for row in left_out if 0 <= row < len(usable)]] = -np.inf
        rows = highest(usable, int(topn))
        return [(self.index_to_key[row + start], float(scores[row])) for row in rows]

    def similar_by_key(self, key: Any, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Return the keys most similar to one; see ``most_similar``."""
        return self.most_similar([key], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_word(self, word: Any, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Return the keys most similar to one; see ``most_similar``."""
        return self.similar_by_key(word, topn, restrict_vocab)

    def similar_by_vector(
        self, vector: np.ndarray, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> Any:
        """Return the keys most similar to a vector; see ``most_similar``."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_cosmul(
        self,
        positive: Any = None,
        negative: Any = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Any:
        """Return the keys with the highest product of similarities (3CosMul: Levy and Goldberg 2014).

        Parameters
        ----------
        positive, negative : key, ndarray, or a list of them
        topn : int or None, default 10
            How many keys; None for the scores of all.
        restrict_vocab : int, optional
            Search only so many first rows.

        Raises
        ------
        ValueError
            There is nothing positive.
        KeyError
            A key is not there.
        """
        if isinstance(topn, Integral) and topn < 1:
            return []
        added, subtracted = as_list(positive), as_list(negative)
        if not added:
            raise ValueError("cannot compute similarity with no input")
        stop = restrict_vocab or len(self.vectors)
        lengths = self._lengths()[:stop]

        def shifted(item: Any) -> np.ndarray:
            vector = item if isinstance(item, np.ndarray) else self.get_vector(item, norm=True)
            unit = vector / (np.linalg.norm(vector) or 1)
            return (1 + np.dot(self.vectors[:stop], unit) / lengths) / 2

        scores = np.prod([shifted(item) for item in added], axis=0)
        scores = scores / (np.prod([shifted(item) for item in subtracted], axis=0) + 1e-6)
        return scores if not topn else self._best(scores, topn, self._known_rows(added + subtracted))

    def rank_by_centrality(self, words: Iterable[Any], use_norm: bool = True) -> list[tuple[Any, Any]]:
        """Return (cosine with the mean of all, word), the most central word first.

        Parameters
        ----------
        words : iterable of keys
            Those that are not there are left out, with a warning.
        use_norm : bool, default True
            Scale vectors to length 1 before.

        Raises
        ------
        ValueError
            None of the words is there.
        """
        words = listed(words)
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

    def similarity(self, w1: Any, w2: Any) -> Any:
        """Return the cosine of two keys."""
        return cosine(self.get_vector(w1), self.get_vector(w2))

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
        """Do as ``closer_than``; the name of gensim 3."""
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
            Words that are not there are left out.
        norm : bool, default True
            Scale vectors to length 1 before.

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
        """Refuse: that is for Doc2Vec, which there is not here."""
        raise NotImplementedError("similarity_unseen_docs is for Doc2Vec models; use gensim's")
