"""fastText's tree of labels for hierarchical softmax.

It is a Huffman tree, but breaks ties of counts differently from gensim's (``kernels.huffman_paths``). Two
lists are merged, the leaves and the inner nodes, each in the order of counts; a leaf goes first only if its
count is lower. The order matters, since the rows of a file belong to the nodes.
"""

from __future__ import annotations

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.kernels import Paths

NO_COUNT = 10**15
"""The count that fastText gives a node that does not exist yet."""


def label_tree(counts: np.ndarray) -> np.ndarray:
    """Return the children of each node."""
    n = len(counts)
    if n and not (int(counts.min()) >= 0 and sum(counts.tolist()) < NO_COUNT):
        raise DataError(f"counts of labels go from 0 to {NO_COUNT:,} in all: the model is damaged")
    weights = [*np.asarray(counts).tolist(), *[NO_COUNT] * (n - 1)]
    children = np.full((2, max(0, 2 * n - 1)), -1, np.int32)
    leaf, inner = n - 1, n
    for node in range(n, 2 * n - 1):
        for side in range(2):
            if leaf >= 0 and weights[leaf] < weights[inner]:
                lightest, leaf = leaf, leaf - 1
            else:
                lightest, inner = inner, inner + 1
            children[side, node] = lightest
        weights[node] = weights[children[0, node]] + weights[children[1, node]]
    return children


def label_paths(children: np.ndarray) -> Paths:
    """Return the inner nodes above each label, and 1 where the path turns right."""
    n = (children.shape[1] + 1) // 2
    parents, right = np.full(2 * n, -1), np.zeros(2 * n, np.float32)
    inner = np.arange(n, 2 * n - 1)
    for side in range(2):
        parents[children[side, inner]] = inner
        right[children[side, inner]] = side
    nodes, along, ends = [], [], [0]
    for label in range(n):
        at = label
        while parents[at] >= 0:
            nodes.append(parents[at] - n)
            along.append(right[at])
            at = parents[at]
        ends.append(len(nodes))
    return Paths(np.array(ends, np.int64), np.array(nodes, np.int32), np.array(along, np.float32))
