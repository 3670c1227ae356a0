"""Types of the compiled module ``_replicas``."""

import numpy as np
from numpy.typing import NDArray

def merge_replicas(
    base: NDArray[np.float32], replicas: tuple[NDArray[np.float32], ...], factors: NDArray[np.float32]
) -> None:
    """Merge the same rows of several replicas, in place."""

def delta_of(rows: NDArray[np.float32], base: NDArray[np.float32], out: NDArray[np.uint16]) -> None:
    """Fill ``out`` with ``rows - base`` as bfloat16."""

def sum_of_deltas(
    deltas: tuple[NDArray[np.uint16], ...], factors: NDArray[np.float32], out: NDArray[np.uint16]
) -> None:
    """Fill ``out`` with the sum of bfloat16 deltas, each row times its factor, as bfloat16."""

def add_delta(merged: NDArray[np.uint16], base: NDArray[np.float32], rows: NDArray[np.float32]) -> None:
    """Add a bfloat16 delta to ``base``, and set ``rows`` to that."""
