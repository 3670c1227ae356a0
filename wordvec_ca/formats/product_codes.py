"""Decodes rows stored by product quantisation (Jégou et al. 2011) as in fastText (Joulin et al. 2016).

A row is cut into parts of ``part`` numbers, the last possibly shorter; each part is stored as one byte, the
number of one of its 256 centroids. With norms, rows were scaled to length 1 first, and each length is stored
as one byte, the number of one of 256 lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CENTROIDS = 256


@dataclass
class QuantisedRows:
    """A quantised matrix, whose rows are decoded when they are read.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_parts), uint8
    centroids : ndarray of shape (256 * dim,), float32
        Centroids of the first part, then of the second, ...
    dim, part : int
        How many numbers a row has, and each of its parts except the last.
    norm_codes : ndarray of shape (n_rows,), uint8, or None
    norms : ndarray of shape (256,), float32, or None
    """

    codes: np.ndarray
    centroids: np.ndarray
    dim: int
    part: int
    norm_codes: np.ndarray | None = None
    norms: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of numbers in each."""
        return len(self.codes), self.dim

    @property
    def itemsize(self) -> int:
        """Number of bytes of each number in a decoded row."""
        return 4

    def __len__(self) -> int:
        return len(self.codes)

    def centroids_of(self, number: int) -> np.ndarray:
        """Return the centroids of a part, shape (256, size of the part)."""
        begin = number * self.part
        end = min(begin + self.part, self.dim)
        return self.centroids[CENTROIDS * begin : CENTROIDS * end].reshape(CENTROIDS, end - begin)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return some rows, decoded, shape (n, dim), float32."""
        codes = self.codes[rows]
        decoded = [self.centroids_of(number)[codes[:, number]] for number in range(codes.shape[1])]
        vectors = np.concatenate(decoded, axis=1) if decoded else np.zeros((len(codes), 0), np.float32)
        if self.norm_codes is not None and self.norms is not None:
            vectors *= self.norms[self.norm_codes[rows]][:, None]
        return vectors


def n_parts(dim: int, part: int) -> int:
    """Return the number of parts into which a row is cut."""
    return -(-dim // part)
