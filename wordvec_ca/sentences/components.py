"""Common directions of sentence vectors: found by principal components, and removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.tables import one_blas_thread


@one_blas_thread
def principal_directions(
    blocks: Iterable[NDArray[np.float32]], n_components: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the first principal directions of rows, not centred, and how much each explains."""
    second: Any = 0.0
    for block in blocks:
        wide = block.astype(np.float64)
        second = second + wide.T @ wide
    values, vectors = np.linalg.eigh(second)
    values = np.maximum(values[::-1][:n_components], 0.0)
    total = float(values.sum())
    shares = values / total if total > 0 else np.zeros(len(values))
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :n_components].T)
    return directions.astype(np.float32), shares.astype(np.float32)


def remove_directions(
    rows: NDArray[np.float32], directions: NDArray[np.float32], shares: NDArray[np.float32]
) -> None:
    """Subtract from each row its projection on each direction, times the direction's share; in place."""
    for direction, share in zip(directions, shares, strict=True):
        # einsum: BLAS would wake its threads for a product too thin to share
        rows -= np.outer(np.einsum("ij,j->i", rows, direction) * share, direction)
