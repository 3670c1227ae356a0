"""How sure neighbours are: the intervals of their cosines, and the number of resampled models with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wordvec_ca.report.explorer.neighbour_graph import NeighbourGraph, cosines_with, neighbour_graph
from wordvec_ca.tables import Resamples
from wordvec_ca.vectors import interval

FIRST = 20_000
"""Number of most frequent words with these data; for 100,000 words they would take minutes and 14 MB."""


class Sureness(NamedTuple):
    """How sure each neighbour of each of the first words is.

    Attributes
    ----------
    rows : ndarray of shape (n_first, topn), int32
        The neighbours.
    low, high : ndarray of shape (n_first, topn), int8
        Interval, in hundredths, of the cosine that a single run on other text would give.
    again : ndarray of shape (n_first, topn), uint8
        Number of resampled models in which the word is again among the ``topn`` nearest.
    """

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    again: np.ndarray


def sureness(
    resamples: Resamples, words: np.ndarray, graph: NeighbourGraph, tell: Callable[[str], None] | None = None
) -> Sureness:
    """Compute how sure the neighbours of the most frequent words are, from models of resampled text."""
    rows = graph.rows[:FIRST]
    again = np.zeros(rows.shape, np.uint8)
    cosines = []
    for number in range(len(resamples)):
        if tell is not None:
            tell(f"how sure neighbours are: model {number + 1} of {len(resamples)}")
        vectors = resamples.vectors(number)[words]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        directions = vectors / np.where(lengths > 0, lengths, 1)
        cosines.append(cosines_with(directions, rows))
        found = neighbour_graph(directions, topn=rows.shape[1], first=len(rows)).rows
        again += (rows[:, :, None] == found[:, None, :]).any(axis=2)
    low, high = (np.rint(100 * end).astype(np.int8) for end in interval(np.stack(cosines)))
    return Sureness(rows, low, high, again)
