"""The tree of hierarchical softmax: a Huffman tree, or an earlier model's tree with new words added.

When a model is trained further, its tree must not change, because its nodes are trained for the words below
them. So the old tree becomes one leaf of a Huffman tree of the new words.
"""

from __future__ import annotations

import numpy as np

from wordvec_ca.kernels import Paths, huffman_paths


def tree_paths(tree: np.ndarray) -> Paths:
    """Return the path from the root to each word of a tree to which new words were added."""
    counts, groups, places = tree
    order = np.argsort(places)
    paths = ordered_paths(counts[order], groups[order])
    lengths = np.diff(paths.ends)[places]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    chosen = np.repeat(paths.ends[places] - ends[:-1], lengths) + np.arange(ends[-1])
    return Paths(ends, paths.nodes[chosen], paths.labels[chosen])


def ordered_paths(counts: np.ndarray, groups: np.ndarray) -> Paths:
    """Return the paths of words, which are given in the order in which they were added to the tree."""
    last = int(groups[-1])
    if last == 0:
        return huffman_paths(counts)
    n_old = int(np.searchsorted(groups, last))
    return joined_paths(ordered_paths(counts[:n_old], groups[:n_old]), counts[:n_old], counts[n_old:])[0]


def joined_paths(old: Paths, old_counts: np.ndarray, new_counts: np.ndarray) -> tuple[Paths, np.ndarray]:
    """Return the paths of a tree after words were added, and the new number of each old node."""
    n_new, n_old = len(new_counts), len(old_counts)
    top = huffman_paths(np.concatenate([[old_counts.sum()], new_counts]))
    prefix = int(top.ends[1])
    lengths = np.concatenate([np.diff(old.ends) + prefix, np.diff(top.ends)[1:]])
    ends = np.concatenate([[0], np.cumsum(lengths)])
    nodes, labels = np.empty(ends[-1], np.int64), np.empty(ends[-1], np.float32)
    before = (ends[:n_old, None] + np.arange(prefix)).ravel()  # paths that lead to the old root
    within = np.ones(ends[n_old], bool)
    within[before] = False
    within = np.flatnonzero(within)
    for array, of_top, of_old in ((nodes, top.nodes, old.nodes + n_new), (labels, top.labels, old.labels)):
        array[before] = np.tile(of_top[:prefix], n_old)
        array[within] = of_old
        array[ends[n_old] :] = of_top[prefix:]
    times = np.repeat(np.concatenate([old_counts, new_counts]), lengths)
    order = np.argsort(-np.bincount(nodes, weights=times, minlength=n_new + n_old - 1), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return Paths(ends, rank[nodes].astype(np.int32), labels), rank[n_new:]
