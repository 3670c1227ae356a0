"""How well unsupervised clusters agree with classes: V-measure, many-to-one accuracy, purity."""

from __future__ import annotations

import numpy as np


def contingency(classes: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Count items per class and cluster.

    Parameters
    ----------
    classes, clusters : ndarray of shape (n_items,), non-negative whole numbers

    Returns
    -------
    ndarray of shape (n_classes, n_clusters), int64
    """
    n_classes = int(classes.max()) + 1 if len(classes) else 0
    n_clusters = int(clusters.max()) + 1 if len(clusters) else 0
    cells = classes.astype(np.int64) * n_clusters + clusters.astype(np.int64)
    return np.bincount(cells, minlength=n_classes * n_clusters).reshape(n_classes, n_clusters)


def v_measure(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the V-measure of clusters against classes: ``v_measure_of`` their contingency table."""
    return v_measure_of(contingency(classes, clusters))


def many_to_one(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the accuracy when each cluster is named after its most frequent class."""
    return many_to_one_of(contingency(classes, clusters))


purity = many_to_one
"""The same number under the name that it has for word categories."""


def v_measure_of(table: np.ndarray) -> float:
    """Return the V-measure, the harmonic mean of homogeneity and completeness.

    ``h = 1 - H(class | cluster) / H(class)``, ``c = 1 - H(cluster | class) / H(cluster)``,
    ``V = 2hc / (h + c)``; h or c is 1 where its entropy is zero. NaN for an empty table.

    Parameters
    ----------
    table : ndarray of shape (n_classes, n_clusters)
        Counts or weights.

    References
    ----------
    Rosenberg and Hirschberg 2007, "V-Measure: A Conditional Entropy-Based External Cluster Evaluation
    Measure" (EMNLP-CoNLL), §2.
    """
    total = table.sum()
    if total == 0:
        return float("nan")
    joint = table / total
    of_class = _entropy(joint.sum(axis=1))
    of_cluster = _entropy(joint.sum(axis=0))
    shared = max(0.0, of_class + of_cluster - _entropy(joint.ravel()))  # mutual information
    homogeneity = shared / of_class if of_class > 0 else 1.0
    completeness = shared / of_cluster if of_cluster > 0 else 1.0
    both = homogeneity + completeness
    return 2 * homogeneity * completeness / both if both > 0 else 0.0


def many_to_one_of(table: np.ndarray) -> float:
    """Return the share of items in the most frequent class of their cluster; NaN for an empty table."""
    total = table.sum()
    return float(table.max(axis=0).sum() / total) if total > 0 else float("nan")


def _entropy(probabilities: np.ndarray) -> float:
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum())
