"""Evaluation of vectors on files of analogies and of word pairs, with gensim's results."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from typing import Any

import numpy as np
from scipy import stats

from wordvec_ca.gensim.models.neighbours import NeighbourQueries
from wordvec_ca.gensim.models.sentences import lines_of
from wordvec_ca.vectors import Directions, highest

logger = logging.getLogger(__name__)

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

        Parameters
        ----------
        analogies : path
            Lines of four words (``a b c expected``), with lines ``: name`` before each section.
        restrict_vocab : int, default 300000
            Use only questions about words among this number of first words.
        case_insensitive : bool, default True
            Compare words in upper case; among words that differ only in case, the first is used.
        dummy4unknown : bool, default False
            Count questions with an unknown word as wrong; else they are left out.
        similarity_function : str
            Ignored: as in gensim, ``most_similar`` answers.

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

        Parameters
        ----------
        pairs : path
            Lines of two words and a number; ``#`` begins a comment.
        delimiter : str
            The separator between columns.
        encoding : str
            Encoding of the file.
        restrict_vocab : int, default 300000
            Use only this number of first words.
        case_insensitive : bool, default True
            As in ``evaluate_word_analogies``.
        dummy4unknown : bool, default False
            Take 0 for pairs with an unknown word; else they are left out.

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
