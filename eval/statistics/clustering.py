"""How well unsupervised clusters agree with classes: V-measure, and many-to-one accuracy, which is called
purity where words are clustered into categories.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy


def contingency(classes: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Count items per class and cluster."""
    n_classes = int(classes.max()) + 1 if len(classes) else 0
    n_clusters = int(clusters.max()) + 1 if len(clusters) else 0
    cells = classes.astype(np.int64) * n_clusters + clusters.astype(np.int64)
    return np.bincount(cells, minlength=n_classes * n_clusters).reshape(n_classes, n_clusters)


def v_measure(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the V-measure of clusters against classes; NaN without items."""
    return float(v_measures_of(contingency(classes, clusters)[None])[0])


def many_to_one(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Return the accuracy when each cluster is named after its most frequent class; NaN without items."""
    return float(many_to_ones_of(contingency(classes, clusters)[None])[0])


def v_measures_of(tables: np.ndarray) -> np.ndarray:
    """Return the V-measure of each of many tables, (n_tables, n_classes, n_clusters), as (n_tables,)."""
    # It is the harmonic mean of homogeneity and completeness, ``h = 1 - H(class | cluster) / H(class)`` and
    # ``c = 1 - H(cluster | class) / H(cluster)``; h or c is 1 where its entropy is zero (Rosenberg and
    # Hirschberg 2007, "V-Measure", §2).
    total = tables.sum(axis=(1, 2))
    joint = tables / np.where(total > 0, total, 1)[:, None, None]
    of_class, of_cluster = _entropies(joint.sum(axis=2)), _entropies(joint.sum(axis=1))
    shared = np.maximum(0.0, of_class + of_cluster - _entropies(joint.reshape(len(joint), -1)))
    homogeneity = np.where(of_class > 0, shared / np.where(of_class > 0, of_class, 1), 1.0)
    completeness = np.where(of_cluster > 0, shared / np.where(of_cluster > 0, of_cluster, 1), 1.0)
    both = homogeneity + completeness
    values = 2 * homogeneity * completeness / np.where(both > 0, both, 1)
    return np.where(total > 0, values, np.nan)


def many_to_ones_of(tables: np.ndarray) -> np.ndarray:
    """Return many-to-one accuracy of each of many tables, (n_tables, n_classes, n_clusters)."""
    total = tables.sum(axis=(1, 2))
    best = tables.max(axis=1).sum(axis=1) if tables.shape[1] else np.zeros(len(tables))
    return np.where(total > 0, best / np.where(total > 0, total, 1), np.nan)


def _entropies(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy of each row, in nats."""
    return np.asarray(-xlogy(probabilities, probabilities).sum(axis=-1))
