"""Stores vectors as float16, or as int8 with one scale per word, and measures the loss of precision.

A row x is stored as int8 q and a float32 scale s = max|x| / 127, with q = round(x / s); readers return s q.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.tables import VectorTable, row_blocks, show_word

DTYPES = ("float32", "float16", "int8")
KINDS = {"float32": "F32", "float16": "F16", "int8": "I8"}
"""Names of the number types in safetensors files."""


class Loss(NamedTuple):
    """How much stored vectors differ from the original ones.

    Attributes
    ----------
    lowest, mean : float
        Lowest and mean cosine between stored and original vectors of words; NaN if all vectors are zero.
    """

    lowest: float
    mean: float


def check_dtype(table: VectorTable, dtype: str) -> None:
    """Raise an error unless all vectors can be stored as ``dtype``."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; known are {', '.join(map(repr, DTYPES))}")
    if dtype == "float32":
        return
    largest = np.finfo(np.float16).max
    for rows in row_blocks(table.vectors):
        block = np.abs(table.vectors[rows])
        bad = ~np.isfinite(block) if dtype == "int8" else np.isfinite(block) & (block > largest)
        if bad.any():
            row = rows.start + int(np.flatnonzero(bad.any(axis=1))[0])
            why = "NaN or infinity" if dtype == "int8" else f"a number beyond {largest:g}"
            raise DataError(
                f"the vector of {show_word(table.words[row])} holds {why}, which {dtype} cannot hold; "
                "take float32"
            )


def scales(vectors: np.ndarray) -> np.ndarray:
    """Return the scale of each row for int8, shape (n_words,), float32; 0 for a row of zeros."""
    found = np.empty(len(vectors), dtype=np.float32)
    for rows in row_blocks(vectors):
        found[rows] = np.abs(vectors[rows]).max(axis=1, initial=0) / np.float32(127)
    return found


def stored_rows(vectors: np.ndarray, dtype: str) -> Iterator[np.ndarray]:
    """Yield blocks of rows in the form in which they are stored: of type ``dtype``, little-endian."""
    for rows in row_blocks(vectors):
        block = np.ascontiguousarray(vectors[rows], dtype=np.float32)
        if dtype == "int8":
            scale = scales(block)[:, np.newaxis]
            block = np.rint(np.divide(block, scale, out=np.zeros_like(block), where=scale > 0))
            yield np.clip(block, -127, 127).astype(np.int8)
        else:
            yield block.astype("<f2" if dtype == "float16" else "<f4", copy=False)


def scaled(stored: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return float32 vectors of shape (n_words, vector_size) from int8 rows and their scales."""
    vectors = np.empty(stored.shape, dtype=np.float32)
    for rows in row_blocks(vectors):
        np.multiply(stored[rows], scale[rows, np.newaxis], out=vectors[rows], dtype=np.float32)
    return vectors


def precision_loss(vectors: np.ndarray, dtype: str) -> Loss:
    """Return how much vectors stored as ``dtype`` differ from the original ones."""
    cosines, start = [], 0
    for stored in stored_rows(vectors, dtype):
        original = np.asarray(vectors[start : start + len(stored)], dtype=np.float64)
        start += len(stored)
        found = stored.astype(np.float64)  # scaling a row does not change its direction
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            product = np.einsum("ij,ij->i", original, found)
            norms = np.linalg.norm(original, axis=1) * np.linalg.norm(found, axis=1)
            cosines.append((product / norms)[norms > 0])
    known = np.concatenate(cosines) if cosines else np.zeros(0)
    known = known[np.isfinite(known)]
    return Loss(float(known.min()), float(known.mean())) if len(known) else Loss(float("nan"), float("nan"))
