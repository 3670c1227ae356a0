"""uSIF: its constant, and its division of each dimension by the length over a sentence (Ethayarajh 2018)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


def usif_constant(probabilities: NDArray[np.float64], length: float) -> float:
    """Return the constant ``a`` of uSIF.

    ``a = (1 - alpha) / (alpha |V| / 2)``, where alpha is the part of the vocabulary whose probability is
    above ``1 - (1 - 1/|V|)^length``: the probability that a random walk of ``length`` uniform steps visits a
    given word.

    References
    ----------
    Ethayarajh 2018, section 3.2.
    """
    n = len(probabilities)
    threshold = 1.0 - (1.0 - 1.0 / n) ** length
    alpha = float((probabilities > threshold).sum()) / n
    alpha = (
        min(max(alpha, 1.0 / n), 1.0 - 1.0 / n) if n > 1 else 0.5
    )  # 0 and 1 would leave no finite, positive a
    return (1.0 - alpha) / (alpha * n / 2.0)


def divided_by_length(
    rows: NDArray[np.float32],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    matrix: NDArray[np.float32],
    weights: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Divide each dimension of sentence vectors by its Euclidean length over the tokens of the sentence."""
    types, column = np.unique(ids, return_inverse=True)
    squares = matrix[types] ** 2
    of_tokens = np.ones(len(ids), np.float32) if weights is None else weights[ids] ** 2
    length = np.sqrt(csr_array((of_tokens, column, offsets), shape=(len(rows), len(types))) @ squares)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
