"""Types of the compiled module ``_replicas``."""

import numpy as np
from numpy.typing import NDArray

def merge_replicas(
    base: NDArray[np.float32], replicas: tuple[NDArray[np.float32], ...], factors: NDArray[np.float32]
) -> None:
    """Merge the same rows of several replicas, in place."""

def delta_of(
    rows: NDArray[np.float32], base: NDArray[np.float32], scales: NDArray[np.uint16], codes: NDArray[np.int8]
) -> int:
    """Encode ``rows - base``; return the number of rows that have codes."""

def sum_of_deltas(
    deltas: tuple[tuple[NDArray[np.uint16], NDArray[np.int8]], ...],
    factors: NDArray[np.float32],
    scales: NDArray[np.uint16],
    codes: NDArray[np.int8],
) -> int:
    """Encode the sum of deltas, each row times its factor; return the number of rows that have codes."""

def add_delta(
    scales: NDArray[np.uint16],
    codes: NDArray[np.int8],
    base: NDArray[np.float32],
    rows: NDArray[np.float32],
) -> None:
    """Add a delta to ``base``, and set ``rows`` to that."""

def copy_rows(
    table: NDArray[np.float32], numbers: NDArray[np.int32], out: NDArray[np.float32], size: int, turn: int
) -> None:
    """Copy rows, each of several vectors of ``size`` numbers, to rows in which each vector is padded."""

def number_rows(
    found: NDArray[np.int32],
    place: NDArray[np.int32],
    numbers: NDArray[np.int32],
    rows: NDArray[np.int32],
    n_rows: int,
) -> int:
    """Number distinct rows in the order of their first places, after those that have numbers already."""
