"""Regions of a map where words are dense, on three scales, and the words, or beginnings of documents, that
name each region.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wordvec_ca.models import PREFIX

# Approximate number of regions on each level, the coarsest first.
LEVELS = (12, 60, 240)

# Smallest number of words of a region.
FEWEST_WORDS = 25

# The label of words between the regions.
NO_REGION = 255

# Words are counted in the cells of a square grid; the number of cells on each side of the map.
GRID = 256

# Words are in a region only where the density is at least this share of the highest density.
THINNEST = 0.1

# Standard deviations, in cells, of the filters that smooth the counts; the widest first.
WIDTHS = GRID * 0.06 * 0.85 ** np.arange(18)


class Region(NamedTuple):
    """A region of the map."""

    # 0 for the coarsest.
    level: int
    # x, y: Its middle, in the coordinates of ``WordMap.places``.
    x: float
    y: float
    # The words that name it, most typical first.
    rows: list[int]
    # Number of words.
    size: int
    # The number that ``region_of_word`` has for the words of the region; see `regions`.
    label: int
    # The ``y`` of its upper edge.
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


# Characters of a document that are shown: about two lines beside the pointer.
SNIPPET = 140

# Words that name a region, as many as name one of words.
TYPICAL = 3


def snippets(texts: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return what the text of each document begins with; nothing for words."""
    return [" ".join(texts.get(_tag(name), "").split())[:SNIPPET] for name in names]


def typical_words(
    texts: Mapping[str, str], names: Sequence[str], groups: Sequence[np.ndarray]
) -> list[list[str]]:
    """Return the words that are typical of each group of documents."""
    # They are in more of its documents than in others: the share of the group's documents with the word,
    # times the squared logarithm of how much larger that is than the share of all documents.
    words_of = [set(re.findall(r"[^\W\d_]{3,}", texts.get(_tag(name), "").lower())) for name in names]
    of_all = Counter(word for words in words_of for word in words)
    n_all = max(1, sum(map(bool, words_of)))
    found = []
    for group in groups:
        own = Counter(word for row in group.tolist() for word in words_of[row])
        size = max(1, sum(bool(words_of[row]) for row in group.tolist()))
        # squared: a function word is in nearly all documents, and in a group a little oftener by chance
        scores = {word: n / size * math.log(n / size * n_all / of_all[word]) ** 2
                  for word, n in own.items() if n > 1 and n / size > of_all[word] / n_all}  # fmt: skip
        # by name where scores are equal: the page must not depend on the order of a set
        found.append(sorted(scores, key=lambda word: (-scores[word], word))[:TYPICAL])
    return found


def _tag(name: str) -> str:
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
