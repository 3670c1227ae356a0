"""Types of the compiled module ``_sgns``."""

import numpy as np
from numpy.typing import NDArray

N_STATS: int

Parameters = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]

def isas() -> tuple[str, ...]:
    """Return the names of the instruction sets that this processor runs, best first."""

def train_chunk(
    hyper: NDArray[np.void],
    tokens: NDArray[np.int32],
    keep: NDArray[np.uint32],
    pool: NDArray[np.int32],
    shared: Parameters,
    private: Parameters,
    lock: NDArray[np.int32],
    rng: NDArray[np.uint64],
    stats: NDArray[np.float64],
    isa: str,
) -> None:
    """Train on one chunk of encoded text; see ``sgns_numba.train_chunk`` for the arguments."""
