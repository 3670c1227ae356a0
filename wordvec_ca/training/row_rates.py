"""Makes training move some rows less than others, or not at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SMALL_CHUNK = 500
"""Number of tokens of a chunk if some rows have a lower rate; after each chunk their step is shortened."""

Held = tuple[NDArray[np.int64], NDArray[np.float32]]


class RowRates:
    """Reverts part of the change that a chunk made to the rows of W of some words.

    The loop trains all rows alike. After a chunk, a row with the rate r is set to before + r (after -
    before); with r = 0 it keeps its initial value exactly.
    """

    def __init__(self, inputs: NDArray[np.float32], rates: NDArray[np.float32]) -> None:
        if rates.shape != (len(inputs),):
            raise ValueError(f"{len(inputs)} rows need as many rates, not an array of shape {rates.shape}")
        self._inputs, self._rates = inputs, rates
        self._locked = np.flatnonzero(rates == 0)
        self._places = np.full(len(rates), -1, np.int64)
        self._places[self._locked] = np.arange(len(self._locked))
        self._fixed = inputs[self._locked]

    def before(self, tokens: NDArray[np.int32]) -> Held:
        """Return the rows of a chunk whose rate is not 1, and their values."""
        words = np.unique(tokens[tokens >= 0]).astype(np.int64)
        words = words[self._rates[words] != 1]
        held = self._inputs[words]
        locked = self._places[words] >= 0
        held[locked] = self._fixed[self._places[words[locked]]]  # another thread may have moved these rows
        return words, held

    def after(self, held: Held) -> None:
        """Apply the rates to the rows of a chunk."""
        words, rows = held
        rates = self._rates[words, np.newaxis]
        self._inputs[words] = np.where(rates == 0, rows, rows + rates * (self._inputs[words] - rows))
