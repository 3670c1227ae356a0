"""Regions of a map, and the words that name them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEVELS = (12, 60, 240)
"""Regions on each level, the coarsest first."""

FEWEST_WORDS = 25
"""Of a region."""


class Region(NamedTuple):
    """A region of the map.

    Attributes
    ----------
    level : int
        0 for the coarsest.
    x, y : float
        Its middle, as of ``WordMap.places``.
    rows : list of int
        The words that name it, most typical first.
    size : int
        Number of words.
    label : int
        Its number among the labels of words on this level.
    """

    level: int
    x: float
    y: float
    rows: list[int]
    size: int
    label: int


def regions(
    places: np.ndarray, directions: np.ndarray, words: list[str], seed: int
) -> tuple[list[Region], np.ndarray]:
    """Divide a map into regions and name them.

    Parameters
    ----------
    places : ndarray of shape (n_words, 2), float32
    directions : ndarray of shape (n_words, vector_size), float32
        Vectors of length one.
    words : list of str
        Most frequent first.
    seed : int

    Returns
    -------
    regions : list of Region
        Of all levels.
    region_of_word : ndarray of shape (3, n_words), uint8
        The label of each word on each level; on the coarsest also the region's place in the list.
    """
    from sklearn.cluster import MiniBatchKMeans

    found: list[Region] = []
    of_word = np.zeros((len(LEVELS), len(words)), np.uint8)
    for level, n_regions in enumerate(LEVELS):
        n_regions = min(n_regions, len(words) // FEWEST_WORDS)
        if n_regions < 2:
            continue
        model = MiniBatchKMeans(n_regions, random_state=seed, n_init=3, batch_size=4_096)
        labels = np.unique(model.fit_predict(places), return_inverse=True)[1]
        of_word[level] = labels
        order = np.argsort(labels, kind="stable")
        for label, members in enumerate(np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)):
            if level == 0 or len(members) >= FEWEST_WORDS:
                middle = np.median(places[members], axis=0)
                name = typical(members, directions, words, 3)
                found.append(Region(level, float(middle[0]), float(middle[1]), name, len(members), label))
    return found, of_word


def typical(members: np.ndarray, directions: np.ndarray, words: list[str], n: int) -> list[int]:
    """Return the rows of the words that stand for a set of words: frequent, and near its mean direction.

    Parameters
    ----------
    members : ndarray of shape (n_members,), int
        Rows, in ascending order, so most frequent first.
    directions : ndarray of shape (n_words, vector_size), float32
    words : list of str
    n : int
        How many at most.
    """
    mean = directions[members].mean(axis=0)
    frequent = members[: max(40, len(members) // 25)]
    written = np.array([words[row].isalpha() and len(words[row]) > 2 for row in frequent.tolist()])
    if written.sum() >= n:
        frequent = frequent[written]
    cosines = directions[frequent] @ mean
    chosen: list[int] = frequent[np.argsort(-cosines, kind="stable")][:n].tolist()
    return chosen
