"""Word categories: do clusters of vectors agree with classes that people made?"""

from __future__ import annotations

import time

import numpy as np

from wordvec_ca.eval.data.word_sets import WordCategories
from wordvec_ca.eval.lookup import RULE, UncoveredError, Vectors, rows_of, unit_rows
from wordvec_ca.eval.report import Report, digest_of


def evaluate(vectors: Vectors, data: WordCategories, *, seed: int = 1, restarts: int = 20) -> Report:
    """Cluster words by k-means and compare the clusters with their classes.

    Parameters
    ----------
    vectors : KeyedVectors
    data : WordCategories
    seed : int
    restarts : int
        Starts of k-means; the one with the least inertia is reported.

    Returns
    -------
    Report
        ``purity`` and ``v-measure`` over the words with vectors; ``purity-all`` counts the others as wrong.

    Raises
    ------
    UncoveredError
        Fewer than two classes have words with vectors, or no class has two.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    rows = rows_of(vectors, data.words)
    covered = rows >= 0
    names = sorted(set(data.classes))
    gold = np.array([names.index(name) for name in data.classes])
    n_clusters = len(set(gold[covered].tolist()))
    if n_clusters < 2 or covered.sum() <= n_clusters:
        raise UncoveredError(
            f"{data.name}: {int(covered.sum())} of {len(rows)} words have vectors, in {n_clusters} "
            "class(es): too few to cluster; is this the same language?"
        )
    with threadpool_limits(1):
        model = KMeans(n_clusters, n_init=restarts, random_state=seed)
        found = model.fit_predict(unit_rows(vectors, rows[covered]))
    cluster = np.full(len(rows), np.nan)
    cluster[covered] = found
    # A cluster's most frequent class, or -1 (never right) for a word without a vector.
    table = np.zeros((len(names), n_clusters), dtype=np.int64)
    np.add.at(table, (gold[covered], found), 1)
    right = np.zeros(len(rows))
    right[covered] = table.argmax(axis=0)[found] == gold[covered]
    report = Report(
        task="categorization",
        dataset=data.name,
        metrics={},
        n=int(covered.sum()),
        coverage=float(covered.mean()),
        coverage_of="words",
        seed=seed,
        protocol=f"k-means on vectors of length 1, as many clusters as classes, least inertia of {restarts} "
        f"starts; {RULE}; words without a vector are left out, and wrong in purity-all",
        items={"gold": gold, "cluster": cluster, "right_or_missing": right},
        digest=digest_of(data.words, data.classes),
        candidates=int(covered.sum()),
        candidates_digest=digest_of([w for w, known in zip(data.words, covered, strict=True) if known]),
        details={"classes": len(names), "oov_words": int((~covered).sum()), "inertia": float(model.inertia_)},
    )
    report.measure("purity", "purity", "gold", "cluster")
    report.measure("v-measure", "v-measure", "gold", "cluster")
    report.measure("purity-all", "mean", "right_or_missing")
    if not covered.all():
        report.notes.append(f"{int((~covered).sum())} of {len(rows)} words have no vector")
    report.seconds = time.perf_counter() - started
    return report
