"""Word similarity: do cosines rank pairs of words as people do?"""

from __future__ import annotations

from typing import Literal

import numpy as np

from wordvec_ca.eval.data.word_sets import WordPairs
from wordvec_ca.eval.lookup import RULE, Vectors, rows_of, unit_rows
from wordvec_ca.eval.report import Report, digest_of


def evaluate(
    vectors: Vectors, data: WordPairs, *, seed: int = 1, oov: Literal["exclude", "mean"] = "exclude"
) -> Report:
    """Correlate cosines with people's scores.

    Parameters
    ----------
    vectors : KeyedVectors
    data : WordPairs
    seed : int
        Seed of the bootstrap.
    oov : {'exclude', 'mean'}
        Which Spearman is the headline: over the pairs whose words both have vectors, or over all pairs, where
        a pair with a word without a vector gets the mean cosine of the others. Both are reported.

    Returns
    -------
    Report
        Metrics ``spearman`` and ``pearson`` (covered pairs), ``spearman-all`` (all pairs).
    """
    left, right = rows_of(vectors, data.first), rows_of(vectors, data.second)
    covered = (left >= 0) & (right >= 0)
    cosines = np.full(len(left), np.nan)
    cosines[covered] = np.einsum(
        "nd,nd->n", unit_rows(vectors, left[covered]), unit_rows(vectors, right[covered]), dtype=np.float64
    )
    everywhere = np.where(covered, cosines, cosines[covered].mean() if covered.any() else 0.0)
    report = Report.over(
        "similarity",
        data.name,
        covered,
        "pairs",
        seed=seed,
        protocol=f"cosine against people's mean score; {RULE}; spearman and pearson over pairs with both "
        "words, spearman-all over all pairs with the mean cosine where a word has no vector",
        items={"gold": np.array(data.scores), "cosine": cosines, "cosine_or_mean": everywhere},
        digest=digest_of(data.first, data.second, data.scores),
        details={"pairs": len(left)},
    )
    if oov == "mean":  # the first metric is the headline
        report.n = len(left)
        report.measure("spearman-all", "spearman", "gold", "cosine_or_mean")
    report.measure("spearman", "spearman", "gold", "cosine")
    report.measure("pearson", "pearson", "gold", "cosine")
    if oov == "exclude":
        report.measure("spearman-all", "spearman", "gold", "cosine_or_mean")
    if covered.sum() < 2:
        report.notes.append("with fewer than two pairs there is nothing to correlate")
    return report
