"""Tests whether consecutive documents (lines, or groups of lines) are more alike than distant ones; if so,
they are not independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Largest number of pairs of neighbours, and of distant documents, that are compared.
PAIRS = 4_000

# Tokens of a document that are read: the subject shows in fewer, and whole books would take minutes.
BEGINNING = 1_000

# A word that makes up this share of the text has half weight in the vector of a document.
RARITY = 1e-3

# Neighbours are more alike if the difference of cosines exceeds so many standard errors, and this
# value.
SURE, MUCH = 4.0, 0.02


class Likeness(NamedTuple):
    """Similarity of neighbouring and of distant documents."""

    # near, far: Mean cosine of consecutive documents, and of some drawn at random from the same text.
    near: float
    far: float
    # Standard error of the difference.
    error: float

    @property
    def dependent(self) -> bool:
        """Whether consecutive documents are clearly more alike than distant ones."""
        return self.near - self.far > max(MUCH, SURE * self.error)

    def caution(self, consequence: str, what: str = "line") -> str:
        """Return a warning that documents are not independent; ``consequence`` names the effect."""
        remedy = (
            "give the documents (--group-by files, if each file is one; in Python Documents)"
            if what == "line"
            else "give larger ones (--group-by files)"
        )
        return (
            f"{what}s are not independent: the cosine of a {what} with the next is {self.near:.2f}, with a "
            f"{what} far away {self.far:.2f}. {consequence}; {remedy}"
        )


def likeness_of_neighbours(
    tokens: np.ndarray,
    documents: np.ndarray,
    labels: np.ndarray,
    directions: np.ndarray,
    counts: np.ndarray,
    seed: int,
) -> Likeness:
    """Compare neighbouring documents with distant ones, given the document of each line, in ascending order,
    and the text of each document.
    """
    rng = np.random.default_rng([seed, 0x6E656172])
    ends = (np.flatnonzero(tokens < 0) + 1)[np.append(np.flatnonzero(np.diff(documents)), len(documents) - 1)]
    starts = np.append(0, ends[:-1])
    weights = RARITY / (RARITY + counts / counts.sum())
    centre = (weights * counts) @ directions / (weights * counts).sum()

    def vectors(chosen: np.ndarray) -> np.ndarray:
        found = np.zeros((len(chosen), directions.shape[1]))
        for i, number in enumerate(chosen.tolist()):
            words = tokens[starts[number] : min(ends[number], starts[number] + BEGINNING)]
            words = words[words >= 0]
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
