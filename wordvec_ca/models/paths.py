"""The Huffman tree of hierarchical softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wordvec_ca.kernels import Paths


def word_paths(counts: np.ndarray) -> Paths:
    """Return the way from the root of the Huffman tree to each word.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), integer
        How often each word occurs.

    Returns
    -------
    Paths
        ``ends``, ``nodes`` and ``labels``: see ``wordvec_ca.kernels.Paths``.
    """
    from wordvec_ca.kernels import huffman_paths

    return huffman_paths(counts)
