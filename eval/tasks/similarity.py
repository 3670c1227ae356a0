"""Word similarity: do cosines rank pairs of words as people do?"""

from __future__ import annotations

import numpy as np

from wordvec_ca.eval.data.word_sets import WordPairs
from wordvec_ca.eval.lookup import RULE, Vectors, rows_of, unit_rows
from wordvec_ca.eval.report import Report, digest_of


def evaluate(vectors: Vectors, data: WordPairs, *, seed: int = 1) -> Report:
    """Correlate cosines with people's scores.

    Parameters
    ----------
    vectors : KeyedVectors
    data : WordPairs
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    Report
        Metrics ``spearman`` and ``pearson`` over the pairs whose words both have vectors; ``spearman-all``
        over all pairs, where the others get the mean cosine of these.
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
    report.measure("spearman", "spearman", "gold", "cosine")
    report.measure("pearson", "pearson", "gold", "cosine")
    report.measure("spearman-all", "spearman", "gold", "cosine_or_mean")
    if covered.sum() < 2:
        report.notes.append("with fewer than two pairs there is nothing to correlate")
    return report
