"""Regions of a map where words are dense, on three scales, and the words that name each region."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEVELS = (12, 60, 240)
"""Approximate number of regions on each level, the coarsest first."""

FEWEST_WORDS = 25
"""Smallest number of words of a region."""

NO_REGION = 255
"""The label of words between the regions."""

GRID = 256
"""Words are counted in the cells of a square grid; the number of cells on each side of the map."""

THINNEST = 0.1
"""Words are in a region only where the density is at least this share of the highest density."""

WIDTHS = GRID * 0.06 * 0.85 ** np.arange(18)
"""Standard deviations, in cells, of the filters that smooth the counts; the widest first."""


class Region(NamedTuple):
    """A region of the map.

    Attributes
    ----------
    level : int
        0 for the coarsest.
    x, y : float
        Its middle, in the coordinates of ``WordMap.places``.
    rows : list of int
        The words that name it, most typical first.
    size : int
        Number of words.
    label : int
        The number that ``region_of_word`` has for the words of the region; see `regions`.
    top : float
        The ``y`` of its upper edge.
    """

    level: int
    x: float
    y: float
    rows: list[int]
    size: int
    label: int
    top: float


def regions(places: np.ndarray, directions: np.ndarray, words: list[str]) -> tuple[list[Region], np.ndarray]:
    """Find where words are dense on a map, and name these regions."""
    found: list[Region] = []
    of_word = np.full((len(LEVELS), len(words)), NO_REGION, np.uint8)
    everywhere = directions.mean(axis=0)
    for level, wanted in enumerate(LEVELS):
        wanted = min(wanted, len(words) // FEWEST_WORDS)
        if wanted < 2:
            continue
        of_word[level] = labels = _hills(places, wanted)
        for label in np.unique(labels[labels < NO_REGION]).tolist():
            members = np.flatnonzero(labels == label)
            x, y = np.median(places[members], axis=0).tolist()
            name = typical(members, directions, everywhere, words, 3)
            top = float(np.quantile(places[members, 1], 0.95))
            found.append(Region(level, x, y, name, len(members), label, top))
    return found, of_word


def _hills(places: np.ndarray, wanted: int) -> np.ndarray:
    """Return the region of each word, among about ``wanted`` peaks of density; region 0 is the largest."""
    from scipy.ndimage import gaussian_filter

    cells = np.minimum((places * GRID).astype(np.int64), GRID - 1) @ np.array([1, GRID])
    counts = np.bincount(cells, minlength=GRID * GRID).reshape(GRID, GRID).astype(np.float32)
    best, most = np.full(len(places), NO_REGION, np.uint8), 0
    for width in WIDTHS:
        density = gaussian_filter(counts, width, mode="constant")
        peaks = _uphill(density)[cells]
        dense = density.ravel()[cells] >= THINNEST * density.ravel()[peaks]
        found, sizes = np.unique(peaks[dense], return_counts=True)
        found = found[np.argsort(-sizes, kind="stable")][: (sizes >= FEWEST_WORDS).sum()][: NO_REGION - 1]
        if len(found) > most:
            best[:], most = NO_REGION, len(found)
            for label, peak in enumerate(found.tolist()):
                best[dense & (peaks == peak)] = label
        if most >= wanted:
            break
    return best


def _uphill(density: np.ndarray) -> np.ndarray:
    """Return for each cell the peak that is reached from it by steps to the densest neighbouring cell."""
    padded = np.pad(density, 1, constant_values=-1.0)
    side = len(density)
    around = np.stack([padded[i : i + side, j : j + side] for i in range(3) for j in range(3)])
    i, j = np.divmod(around.argmax(axis=0), 3)
    rows, columns = np.indices(density.shape)
    goes_to = ((rows + i - 1) * side + columns + j - 1).ravel()
    level = density.ravel()
    goes_to = np.where(level[goes_to] > level, goes_to, np.arange(side * side))  # no step from a plain
    while not np.array_equal(further := goes_to[goes_to], goes_to):
        goes_to = further
    return goes_to


def typical(
    members: np.ndarray, directions: np.ndarray, everywhere: np.ndarray, words: list[str], n: int
) -> list[int]:
    """Return the rows of words typical of a set: frequent words, nearer to the set than to all words."""
    mean = directions[members].mean(axis=0)
    frequent = members[: max(40, len(members) // 25)]
    written = np.array([words[row].isalpha() and len(words[row]) > 2 for row in frequent.tolist()])
    if written.sum() >= n:
        frequent = frequent[written]
    lift = directions[frequent] @ (_unit(mean) - _unit(everywhere))
    chosen: list[int] = frequent[np.argsort(-lift, kind="stable")][:n].tolist()
    return chosen


def _unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector)
    return vector / length if length else vector
