"""The best answers to analogy questions within one block of the vocabulary."""

from __future__ import annotations

import numpy as np
from numba import njit

LOWEST = np.float32(-1e30)

REORDER = {"nnan", "nsz", "reassoc", "contract"}
"""Lets LLVM vectorise a maximum; it may assume that there is no NaN, and the cosines hold none."""


@njit(nogil=True, cache=True, fastmath=REORDER)
def best_answers(
    cosines: np.ndarray, terms: np.ndarray, first: int, scores: np.ndarray, answers: np.ndarray
) -> None:
    """Improve the best answer to each question with the words of one block.

    3CosAdd: ``cos(x, b) - cos(x, a) + cos(x, c)``. 3CosMul: ``p(x, b) p(x, c) / (p(x, a) + 0.001)`` with
    ``p = (1 + cos) / 2``. The words of a question are not answers to it. Where two words score the same, the
    one with the lower row wins.

    References
    ----------
    Levy and Goldberg 2014, "Linguistic Regularities in Sparse and Explicit Word Representations", eq. 3, 4.
    """
    n_block = cosines.shape[1]
    score = np.empty(n_block, np.float32)
    half, small = np.float32(0.5), np.float32(0.001)
    for q in range(len(terms)):
        to_a, to_b, to_c = cosines[terms[q, 0, 0]], cosines[terms[q, 1, 0]], cosines[terms[q, 2, 0]]
        for method in range(2):
            if method == 0:
                for x in range(n_block):
                    score[x] = to_b[x] - to_a[x] + to_c[x]
            else:
                for x in range(n_block):
                    near = (half + half * to_b[x]) * (half + half * to_c[x])
                    score[x] = near / (half + half * to_a[x] + small)
            for i in range(3):
                own = terms[q, i, 1] - first
                if 0 <= own < n_block:
                    score[own] = LOWEST
            top = LOWEST
            for x in range(n_block):
                top = max(top, score[x])
            if top > scores[method, q]:
                x = 0
                while score[x] < top:
                    x += 1
                scores[method, q], answers[method, q] = top, first + x
