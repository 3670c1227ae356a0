"""Types of the compiled module ``_sgns``."""

import numpy as np
from numpy.typing import NDArray

STATS: tuple[str, ...]

Parameters = tuple[NDArray[np.float32], ...]
Paths = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]

def compiler() -> str:
    """Return the version of the compiler that built the training loop, as the compiler reports it."""

def isas() -> tuple[str, ...]:
    """Return the names of the instruction sets that this processor runs, best first."""

def hyper_fields() -> tuple[tuple[str, str, int], ...]:
    """Return (name, type, offset in bytes) of each hyper-parameter; type "i" is int32, "f" float32."""

def train_chunk(
    hyper: NDArray[np.void],
    tokens: NDArray[np.int32],
    keep: NDArray[np.uint32],
    pool: NDArray[np.int32],
    shared: Parameters,
    rng: NDArray[np.uint64],
    stats: NDArray[np.float64],
    paths: Paths | None = None,
    private: Parameters | None = None,
    lock: NDArray[np.int32] | None = None,
    documents: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]] | None = None,
    *,
    isa: str,
) -> None:
    """Train on one chunk of encoded text; see ``sgns_reference.train_chunk`` for the arguments."""
