"""Trains lines without an order, such as the items of a basket: each pair is used once, at any distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def in_random_order(tokens: NDArray[np.int32], seeds: Sequence[int]) -> NDArray[np.int32]:
    """Return the lines of a text, with the distinct tokens of each line in random order.

    A fixed window over such a line covers each pair once if the line is short, and a random sample of the
    pairs if it is long. So the cost is linear in the length of the line.
    """
    ends = tokens < 0
    lines = np.cumsum(ends, dtype=np.int64)
    different = np.unique(lines[~ends] << 32 | tokens[~ends])  # sort by line, then by token
    line = different >> 32
    rng = np.random.default_rng([*seeds, 0x626167])
    order = np.argsort(line << 32 | rng.integers(1 << 32, size=len(line)))  # ties are too rare to matter
    mixed = np.full(len(line) + np.count_nonzero(ends), -1, np.int32)
    mixed[np.arange(len(line)) + line] = different[order] & 0xFFFFFFFF
    return mixed
