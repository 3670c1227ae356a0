"""Encodes arrays for a page, with few bytes for each number, as base64."""

from __future__ import annotations

import base64

import numpy as np


def base64_of(array: np.ndarray) -> str:
    """Return the bytes of an array, little-endian, as base64."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(little.tobytes()).decode("ascii")


STEPS = 511
"""Largest quantised number; with 127, one in fifty of the 20 nearest words would differ."""


def whole_numbers(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vectors as integers of ten bits, and the factor of each row."""
    highest = np.abs(vectors).max(axis=1)
    scales = np.where(highest > 0, highest / STEPS, 1).astype(np.float32)
    numbers = np.rint(vectors / scales[:, None]).astype(np.int16)
    rest = (numbers & 3).astype(np.uint8).ravel()
    fours = np.pad(rest, (0, -len(rest) % 4)).reshape(-1, 4)
    lower = fours[:, 0] | fours[:, 1] << 2 | fours[:, 2] << 4 | fours[:, 3] << 6
    return (numbers >> 2).astype(np.int8), lower, scales
