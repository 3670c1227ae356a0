"""Tests whether consecutive lines are more alike than distant ones; if so, lines are not independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PAIRS = 4_000
"""Largest number of pairs of neighbouring lines, and of distant lines, that are compared."""

RARITY = 1e-3
"""A word that makes up this share of the text has half weight in the vector of a line."""

SURE, MUCH = 4.0, 0.02
"""Neighbouring lines are more alike if the difference of cosines exceeds so many standard errors, and this
value.
"""


class Likeness(NamedTuple):
    """Similarity of neighbouring and of distant lines.

    Attributes
    ----------
    near, far : float
        Mean cosine of consecutive lines, and of lines drawn at random from the same text.
    error : float
        Standard error of the difference.
    """

    near: float
    far: float
    error: float

    @property
    def dependent(self) -> bool:
        """Whether consecutive lines are clearly more alike than distant ones."""
        return self.near - self.far > max(MUCH, SURE * self.error)

    def caution(self, consequence: str) -> str:
        """Return a warning that lines are not independent documents; ``consequence`` names the effect."""
        return (
            f"lines are not independent: the cosine of a line with the next is {self.near:.2f}, with a "
            f"line far away {self.far:.2f}. {consequence}; give the documents (--group-by; in Python "
            "Documents)"
        )


def likeness_of_lines(
    tokens: np.ndarray, labels: np.ndarray, directions: np.ndarray, counts: np.ndarray, seed: int
) -> Likeness:
    """Compare neighbouring lines with distant ones."""
    rng = np.random.default_rng([seed, 0x6E656172])
    ends = np.flatnonzero(tokens < 0) + 1
    starts = np.append(0, ends[:-1])
    weights = RARITY / (RARITY + counts / counts.sum())
    centre = (weights * counts) @ directions / (weights * counts).sum()

    def vectors(lines: np.ndarray) -> np.ndarray:
        found = np.zeros((len(lines), directions.shape[1]))
        for i, line in enumerate(lines.tolist()):
            words = tokens[starts[line] : ends[line] - 1]
            if len(words):
                found[i] = weights[words] @ (directions[words] - centre)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.where(lengths > 0, lengths, 1))

    followed = np.flatnonzero(labels[:-1] == labels[1:])
    if len(followed) < 10:
        return Likeness(0.0, 0.0, 0.0)
    first = rng.choice(followed, min(PAIRS, len(followed)), replace=False)
    bounds = np.searchsorted(labels, np.arange(int(labels.max()) + 2))
    low, high = bounds[labels[first]], bounds[labels[first] + 1]
    distant = low + (rng.random(len(first)) * (high - low)).astype(np.int64)
    of_first = vectors(first)
    near = (of_first * vectors(first + 1)).sum(axis=1)
    far = (of_first * vectors(distant)).sum(axis=1)[distant != first]
    error = np.sqrt(near.var() / len(near) + far.var() / max(1, len(far)))
    return Likeness(float(near.mean()), float(far.mean()) if len(far) else 0.0, float(error))
