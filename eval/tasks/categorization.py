"""Word categories: do clusters of vectors agree with classes that people made?"""

from __future__ import annotations

import numpy as np

from wordvec_ca.eval.data.word_sets import WordCategories
from wordvec_ca.eval.lookup import RULE, UncoveredError, Vectors, rows_of, unit_rows
from wordvec_ca.eval.report import Report, digest_of
from wordvec_ca.eval.statistics.clustering import contingency


def evaluate(
    vectors: Vectors, data: WordCategories, *, seed: int = 1, restarts: int = 20, searches: int = 10
) -> Report:
    """Cluster words by k-means and compare the clusters with their classes."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

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
    unit = unit_rows(vectors, rows[covered])
    cluster, right = np.full((len(rows), searches), np.nan), np.zeros((len(rows), searches))
    inertia = []
    with threadpool_limits(1):
        for search in range(searches):
            # The first search is the same as with ``searches=1`` and this seed.
            state = seed if search == 0 else np.random.RandomState([seed, search])
            model = KMeans(n_clusters, n_init=restarts, random_state=state)
            found = model.fit_predict(unit)
            inertia.append(float(model.inertia_))
            cluster[covered, search] = found
            # A cluster's most frequent class; a word without a vector is never right.
            table = contingency(gold[covered], found)
            right[covered, search] = table.argmax(axis=0)[found] == gold[covered]
    report = Report.over(
        "categorization",
        data.name,
        covered,
        "words",
        seed=seed,
        protocol=f"k-means on vectors of length 1, as many clusters as classes, least inertia of {restarts} "
        f"starts, mean of {searches} such searches; {RULE}; words without a vector are left out, and "
        "wrong in purity-all",
        items={"gold": gold, "cluster": cluster, "right_or_missing": right},
        digest=digest_of(data.words, data.classes),
        candidates=int(covered.sum()),
        candidates_digest=digest_of([w for w, known in zip(data.words, covered, strict=True) if known]),
        details={
            "classes": len(names),
            "words_in_several_classes": data.in_several_classes,
            "repeated_lines": data.repeated,
            "inertia": inertia,
        },
    )
    report.measure("purity", "purity", "gold", "cluster")
    report.measure("v-measure", "v-measure", "gold", "cluster")
    report.measure("purity-all", "mean", "right_or_missing")
    if data.in_several_classes:
        report.notes.append(
            f"{len(data.in_several_classes)} words are in several classes and left out: "
            f"{', '.join(data.in_several_classes[:5])}{' ...' if len(data.in_several_classes) > 5 else ''}"
        )
    if data.repeated:
        report.notes.append(f"{data.repeated} lines repeat a word and its class; they are ignored")
    return report
