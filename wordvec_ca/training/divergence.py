"""Detects that training has diverged: parameters are NaN or infinite, or far larger than in any useful
model.
"""

from __future__ import annotations

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.models import EmbeddingModel

LARGEST = 1_000.0
"""Training whose vectors have a component above this has diverged. In training that converges no component
reaches 100, since the sigmoid is flat long before."""

SAMPLE_ROWS = 2_048
"""Rows checked about once a second: the most frequent words, where divergence begins, and some others."""

BLOCK_ROWS = 8_192
"""Rows checked at a time."""


class TrainingDiverged(DataError):
    """Training has diverged, and the parameters are lost; the message names the option to change."""


def sign_of_divergence(model: EmbeddingModel, *, sample: bool = False) -> str | None:
    """Return a description of the fault of the parameters, or None.

    Parameters
    ----------
    model : EmbeddingModel
        The model; other threads may be training it.
    sample : bool, default False
        Check some rows only, which takes about a millisecond.
    """
    names = ("vectors", "output vectors", "attention logits of words", "attention logits of places", "nodes")
    arrays = list(zip(names, model.shared, strict=False))
    if model.subwords is not None:
        arrays.append(("rows of words and n-grams", model.subwords.rows))
    for name, array in arrays:
        if sample:
            n = SAMPLE_ROWS // 2
            blocks = [array[:n], array[n :: max(1, len(array) // n)]]
        else:
            blocks = [array[start : start + BLOCK_ROWS] for start in range(0, len(array), BLOCK_ROWS)]
        for block in blocks:
            if not block.size:
                continue
            largest = max(float(block.max()), -float(block.min()))  # no copy; not a number if one is not
            if np.isnan(largest):
                return f"there are {name} that are not numbers"
            if largest > LARGEST:
                return f"there are {name} with components of {largest:.3g}"
    return None
