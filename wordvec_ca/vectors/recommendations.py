"""Items to recommend for a basket: those nearest to the mean of its items, of what may be shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.vectors.keyed_vectors import KeyedVectors
from wordvec_ca.vectors.lookup import UnknownWordError
from wordvec_ca.vectors.neighbours import highest

# Number of items whose cosines with all others are held at a time: 1 GB with a million items.
AT_ONCE = 256


def recommend(
    vectors: KeyedVectors, basket: Sequence[str], topn: int = 10, *, allowed: Collection[str] | None = None
) -> list[tuple[str, float]]:
    """Return the items whose vectors point most nearly in the direction of a basket.

    The direction is the mean of the unit vectors of the basket's items, as in ``most_similar``; items without
    a vector are left out of it, and what is in the basket is never recommended.

    Parameters
    ----------
    vectors : KeyedVectors
        Vectors of items (``cawv train --for items``).
    basket : sequence of str
        What a person has seen or bought.
    topn : int, default 10
        Number of items to return; fewer if fewer are allowed.
    allowed : collection of str, optional
        Items that may be recommended, such as those in stock; by default all.

    Returns
    -------
    list of (str, float)
        Items and their cosines, best first.

    Raises
    ------
    UnknownWordError
        No item of the basket has a vector.
    """
    known = [item for item in basket if item in vectors]
    if not known:
        items = ", ".join(map(repr, basket[:10]))
        raise UnknownWordError(f"no item of the basket has a vector: {items or 'it is empty'}")
    seen = {vectors.get_index(item, -1) for item in known}
    scores = vectors.most_similar(known, topn=None)
    usable = _only(np.array(scores, copy=True), vectors, allowed)
    return [
        (vectors.index_to_key[row], float(usable[row])) for row in vectors.highest(usable, topn, seen - {-1})
    ]


def recommend_each(
    vectors: KeyedVectors, topn: int = 10, *, allowed: Collection[str] | None = None
) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Yield each item with those recommended beside it, in the order of the vectors.

    Parameters
    ----------
    vectors, topn, allowed
        As in `recommend`.
    """
    units = np.nan_to_num(vectors.get_normed_vectors())
    forbidden = np.isneginf(_only(np.zeros(len(units), np.float32), vectors, allowed))
    for start in range(0, len(units), AT_ONCE):
        block = units[start : start + AT_ONCE] @ units.T
        block[:, forbidden] = -np.inf
        for row, scores in enumerate(block, start):
            scores[row] = -np.inf
            best = highest(scores, topn)
            yield vectors.index_to_key[row], [(vectors.index_to_key[i], float(scores[i])) for i in best]


def _only(scores: np.ndarray, vectors: KeyedVectors, allowed: Collection[str] | None) -> np.ndarray:
    """Return scores that are minus infinity for items that are not allowed."""
    if allowed is None:
        return scores
    rows = [vectors.get_index(item, -1) for item in allowed]
    rows = [row for row in rows if row >= 0]
    if not rows:
        raise DataError(f"none of the {len(allowed):,} allowed items has a vector; are they written alike?")
    kept = np.full_like(scores, -np.inf)
    kept[rows] = scores[rows]
    return kept
