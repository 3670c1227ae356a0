"""Detects that training has diverged: parameters are NaN, infinite, or far larger than in useful models."""

from __future__ import annotations

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.models import EmbeddingModel

LARGEST = 1_000.0
"""Training has diverged if a component of a vector exceeds this. In training that converges, components stay
below 100, since the sigmoid is flat long before.
"""

SAMPLE_ROWS = 2_048
"""Number of rows checked about once a second: the most frequent words, where divergence begins, and others.
"""

BLOCK_ROWS = 8_192
"""Number of rows checked at a time."""


class TrainingDiverged(DataError):
    """Training has diverged, and the parameters are lost; the message names the option to change."""


def sign_of_divergence(model: EmbeddingModel, *, sample: bool = False) -> str | None:
    """Return a description of what is wrong with the parameters, or None if nothing is."""
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
            largest = max(float(block.max()), -float(block.min()))  # makes no copy; NaN if any number is NaN
            if np.isnan(largest):
                return f"there are {name} that are not numbers"
            if largest > LARGEST:
                return f"there are {name} with components of {largest:.3g}"
    return None
