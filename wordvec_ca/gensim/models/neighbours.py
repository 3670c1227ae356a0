"""Similarities of keys: the nearest keys, distances, ranks, and how far they agree with files of analogies
and of word pairs, with gensim's results.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from numbers import Integral
from typing import Any

import numpy as np
from scipy import stats

from wordvec_ca.gensim.models.keys import KEY_TYPES, KeyTable
from wordvec_ca.gensim.models.sentences import lines_of
from wordvec_ca.vectors import Directions, cosine, highest

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

        Parameters are gensim's.

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
        """Return 1 - cosine with other words, or with all."""
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


Path = str | os.PathLike[str]


class Evaluated(NeighbourQueries):
    """Evaluation of the vectors of a table; parameters and attributes are those of ``KeyTable``."""

    def evaluate_word_analogies(
        self,
        analogies: Path,
        restrict_vocab: int = 300000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return the share of analogy questions with the right answer, and the answers by section.

        Parameters are gensim's.

        Raises
        ------
        ValueError
            A question precedes the first section.
        """
        rows = self._rows_of(restrict_vocab, case_insensitive)
        directions = Directions(self.index_to_key, self.vectors[:restrict_vocab]).normed()
        spelled = [str(key) for key in self.index_to_key[:restrict_vocab]]
        if case_insensitive:
            spelled = [key.upper() for key in spelled]
        sections: list[dict[str, Any]] = []
        unknown = asked = 0
        with closing(lines_of(analogies)) as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith(": "):
                    sections.append({"section": line[2:].strip(), "correct": [], "incorrect": []})
                    continue
                if not sections:
                    raise ValueError(f"Missing section header before line #{number} in {analogies}")
                words = tuple((line.upper() if case_insensitive else line).split())
                if len(words) != 4:
                    logger.info("Skipping invalid line #%i in %s", number, analogies)
                    continue
                asked += 1
                if not all(word in rows for word in words):
                    unknown += 1
                    if dummy4unknown:
                        sections[-1]["incorrect"].append(words)
                    continue
                a, b, c = (rows[word] for word in words[:3])
                scores = directions @ (directions[b] + directions[c] - directions[a])
                scores[[a, b, c]] = -np.inf
                found = (spelled[row] for row in highest(scores, 5))
                nearest = next((word for word in found if word not in words[:3]), None)
                sections[-1]["correct" if nearest == words[3] else "incorrect"].append(words)
        for section in sections:
            _share_correct(section)
        total: dict[str, Any] = {"section": "Total accuracy"}
        for kind in ("correct", "incorrect"):
            total[kind] = [words for section in sections for words in section[kind]]
        logger.info("Quadruplets with out-of-vocabulary words: %.1f%%", 100 * unknown / max(asked, 1))
        return _share_correct(total), [*sections, total]

    def _rows_of(self, restrict_vocab: int | None, case_insensitive: bool) -> dict[str, int]:
        """Return the rows of the first words by their spelling; among equal spellings the first row."""
        rows: dict[str, int] = {}
        for row, key in enumerate(self.index_to_key[:restrict_vocab]):
            rows.setdefault(str(key).upper() if case_insensitive else key, row)
        return rows

    def evaluate_word_pairs(
        self,
        pairs: Path,
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int = 300000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        """Return how similarities of pairs of words correlate with those that people gave.

        Parameters are gensim's.

        Returns
        -------
        pearson, spearman : (statistic, pvalue)
        oov_ratio : float
            Percentage of pairs with an unknown word.

        Raises
        ------
        ValueError
            No pair has two known words.
        """
        rows = self._rows_of(restrict_vocab, case_insensitive)
        gold, ours, unknown = [], [], 0
        with closing(lines_of(pairs, encoding)) as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith("#") or not line.strip():
                    continue
                try:
                    a, b, score = (line.upper() if case_insensitive else line).split(delimiter)
                    similarity = float(score)
                except ValueError:
                    logger.info("Skipping invalid line #%d in %s", number, pairs)
                    continue
                known = a in rows and b in rows
                unknown += not known
                if known or dummy4unknown:
                    gold.append(similarity)
                    ours.append(self.similarity(rows[a], rows[b]) if known else 0.0)
        if not gold:
            raise ValueError(
                f"No valid similarity judgements found in {pairs}: either invalid format or all are "
                f"out-of-vocabulary in {self}"
            )
        pearson, spearman = stats.pearsonr(gold, ours), stats.spearmanr(gold, ours)
        share = 100 * unknown / (len(gold) + (0 if dummy4unknown else unknown))
        self.log_evaluate_word_pairs(pearson, spearman, share, pairs)
        return pearson, spearman, share

    @staticmethod
    def log_accuracy(section: dict[str, Any]) -> None:
        """Log the share of right answers of a section."""
        _share_correct(section)

    @staticmethod
    def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: Any) -> None:
        """Log the results of ``evaluate_word_pairs``."""
        logger.info("Pearson correlation coefficient against %s: %.4f", pairs, pearson[0])
        logger.info("Spearman rank-order correlation coefficient against %s: %.4f", pairs, spearman[0])
        logger.info("Pairs with unknown words ratio: %.1f%%", oov)


def _share_correct(section: dict[str, Any]) -> float:
    """Return, and log, the share of right answers of a section."""
    right, wrong = len(section["correct"]), len(section["incorrect"])
    if not right + wrong:
        return 0.0
    share = right / (right + wrong)
    logger.info("%s: %.1f%% (%i/%i)", section["section"], 100 * share, right, right + wrong)
    return share
