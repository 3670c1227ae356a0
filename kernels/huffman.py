"""The Huffman tree of hierarchical softmax: the path from the root to each word (Mikolov et al. 2013).

The tree is the same as gensim's, also where counts are equal: as in gensim, the heap of Python's ``heapq``
decides the order of nodes with equal counts.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np


class Paths(NamedTuple):
    """The inner nodes between the root and each word, one word after the other."""

    # (n_words + 1,), int64: The path of word w is ``ends[w]`` to ``ends[w + 1]`` of the other arrays
    ends: np.ndarray
    # (n,), int32: Numbers of nodes: 0 is the root, and nodes whose words occur more often have lower numbers.
    # A node's number in gensim is ``n_words - 2`` minus this.
    nodes: np.ndarray
    # (n,), float32: 1 where the path turns left, 0 where it turns right: 1 minus the code of word2vec
    labels: np.ndarray

    @property
    def longest(self) -> int:
        """Number of nodes on the longest path."""
        return int(np.diff(self.ends).max(initial=0))


def huffman_paths(counts: np.ndarray) -> Paths:
    """Return the paths of a Huffman tree.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), integer
        How often each word occurs.
    """
    n = len(counts)
    parents, labels = _tree(np.asarray(counts, np.int64).tolist())
    depths = np.zeros(max(1, 2 * n), np.int64)
    for node in range(2 * n - 3, -1, -1):
        depths[node] = depths[parents[node]] + 1
    ends = np.zeros(n + 1, np.int64)
    np.cumsum(depths[:n], out=ends[1:])
    nodes, along = np.zeros(ends[n], np.int32), np.zeros(ends[n], np.float32)
    words, here = np.arange(n), np.arange(n)
    places = ends[1:] - 1
    while len(words := words[places[words] >= ends[words]]):  # all words at once: each turn goes one node up
        along[places[words]] = labels[here[words]]
        here[words] = parents[here[words]]
        nodes[places[words]] = 2 * n - 2 - here[words]
        places[words] -= 1
    return Paths(ends, nodes, along)


class _Node(int):
    """A count, which the heap compares, and the number of the word or inner node that has it."""

    number: int


def _tree(word_counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the parent of each word and inner node, and the label of the branch between them.

    Words come first, then inner nodes in the order in which they are made.
    """
    n = len(word_counts)
    parents, labels = np.zeros(2 * n, np.int64), np.ones(2 * n, np.float32)
    heap = [_Node(count) for count in word_counts]
    for number, leaf in enumerate(heap):
        leaf.number = number
    heapq.heapify(heap)
    for number in range(n, 2 * n - 1):
        left, right = heapq.heappop(heap), heapq.heappop(heap)
        node = _Node(left + right)
        node.number = number
        parents[left.number] = parents[right.number] = number
        labels[right.number] = 0.0
        heapq.heappush(heap, node)
    return parents, labels
