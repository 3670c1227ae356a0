"""Pairs of random lists as coherent as two given lists, and as near to each other.

The null distribution of WEAT's own p-value is too narrow. It permutes words between the two lists, so it asks
whether these two lists differ, not whether they differ by more than two lists of words about any two subjects
do. Words about one subject are near each other, so the mean of such a list differs from that of another in
any direction, also in that of the attributes. How much it differs depends on two things only that the given
lists have, too: how similar the words of each list are to each other, and how near the lists are to each
other. Random lists that match both give the right null distribution.

A random list is a random word and words near it. Few words are near a tight list's, and none of like
frequency may be: so lists are drawn from all frequent words, whatever the frequency of the given ones.
"""

from __future__ import annotations

import numpy as np

from wordvec_ca.errors import DataError

# Smallest and largest number of words of similar frequency.
LIKE = (50, 500)

# Number of the most frequent words from which lists are drawn. Words that are rarer have noisy vectors, and
# people do not make lists of them.
FREQUENT = 30_000

# Largest difference between the mean cosines of random lists and of the given lists.
WITHIN = 0.03

# Number of words near the first word of a list among which the others are drawn. A list that is less
# coherent than these is drawn from fewer of the frequent words, among which the nearest are less near.
NEAREST = 512

# At most so many words begin a list, for A and for B: a list tighter than all others costs seconds.
FIRST_WORDS = 10_000

# Fewer pairs are too few to decide: those found are about a handful of subjects, and so not independent.
LEAST_PAIRS = 79

# Number of lists drawn for each pair wanted, since not every list has a partner as near as wanted.
MORE = 1.5

# Number of lists drawn at once: their neighbours take 13 MB with 100 numbers a word.
BLOCK = 64


def of_like_frequency(row: int, n_words: int) -> np.ndarray:
    """Return the rows of words of similar frequency: those around a row, as rows are in order of
    frequency.
    """
    # Their ranks are from half to twice that of the row, but their number is within ``LIKE``.
    half = int(np.clip(0.75 * row, *LIKE) / 2)
    low = max(0, min(row - half, n_words - 2 * half))
    return np.arange(low, min(n_words, low + 2 * half + 1))


def coherence(directions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean cosine between the words of a list, or of each of several lists; 0 for one word."""
    n = rows.shape[-1]
    if n < 2:
        return np.zeros(rows.shape[:-1])
    return _pairwise(sum(directions[rows[..., place]] for place in range(n)), n)


def _pairwise(total: np.ndarray, n: np.ndarray | int) -> np.ndarray:
    """Return the mean cosine of two of n directions, from the sum of the directions."""
    return np.asarray(((total.astype(np.float64) ** 2).sum(axis=-1) - n) / (n * (n - np.float64(1))))


class RandomPairs:
    """Draws pairs of lists like two given lists.

    Attributes
    ----------
    coherence : tuple of float
        Mean cosine between the words of A, and of B.
    nearness : float
        Cosine between a word of A and a word of B, on average.
    """

    def __init__(self, directions: np.ndarray, a: np.ndarray, b: np.ndarray, left_out: np.ndarray) -> None:
        self._directions = directions
        self._frequent = np.setdiff1d(np.arange(min(FREQUENT, len(directions))), left_out)
        if len(self._frequent) < len(a) + len(b):
            raise DataError(
                f"the vectors have {len(self._frequent):,} words that are in none of the lists, too few for "
                f"random lists of {len(a):,} and {len(b):,} words; give vectors of more words"
            )
        self._sizes = len(a), len(b)
        self.coherence = float(coherence(directions, a)), float(coherence(directions, b))
        self.nearness = float(directions[a].mean(axis=0) @ directions[b].mean(axis=0))

    def draw(self, n_pairs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return ``n_pairs`` lists for A and as many for B, one in a row; fewer if there are not so many."""
        first = rng.permutation(self._frequent)
        # No word begins lists of both kinds: such pairs would be two halves of one subject.
        a, b = (
            self._lists(first[half::2], n, wanted, int(MORE * n_pairs), rng)
            for half, n, wanted in zip((0, 1), self._sizes, self.coherence, strict=True)
        )
        means_a, means_b = (self._directions[one].mean(axis=1) for one in (a, b))
        free = np.ones(len(b), bool)
        pairs: list[tuple[int, int]] = []
        for i, mean in enumerate(means_a):
            partners = np.flatnonzero(free & (np.abs(means_b @ mean - self.nearness) <= WITHIN))
            partners = rng.permutation(partners)
            apart = partners[~np.isin(b[partners], a[i]).any(axis=1)]
            if len(apart):
                free[apart[0]] = False  # each list is used once, so pairs are nearly independent
                pairs.append((i, int(apart[0])))
            if len(pairs) == n_pairs:
                break
        of_a, of_b = np.array(pairs, np.int64).reshape(-1, 2).T
        return a[of_a], b[of_b]

    def _lists(
        self, first: np.ndarray, n: int, wanted: float, n_lists: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return lists of ``n`` words of the wanted coherence, each of words near one of the first words."""
        own = first
        # A small vocabulary has fewer words than lists are wanted: its words begin several lists.
        first = np.resize(first, max(2 * n_lists, min(len(first), FIRST_WORDS)))
        pool, nearest = self._frequent, max(NEAREST, 4 * n)
        of_pool = self._directions[pool].T
        found = np.empty((0, n), np.int64)
        at = 0
        while at < len(first) and len(found) < n_lists:
            near = pool[_nearest(self._directions[first[at : at + BLOCK]] @ of_pool, nearest)]
            sizes = np.unique(np.rint(np.geomspace(n, near.shape[1], 12)).astype(np.int64))
            sums = np.cumsum(self._directions[near], axis=1)[:, sizes - 1]
            similar = np.minimum.accumulate(_pairwise(sums, sizes), axis=1)
            if np.median(similar[:, -1]) > wanted and len(pool) > min(nearest, len(own)):
                # Long lists for A and B from one small pool would share words.
                pool = rng.choice(own, min(len(own), max(nearest, len(pool) // 4)), replace=False)
                of_pool = self._directions[pool].T
                continue  # the same words again, with neighbours that are less near
            at += BLOCK
            reached = similar[:, 0] >= wanted - WITHIN
            # The words of a random list among the nearest m are as similar as these m, on average.
            among = [np.exp(np.interp(-wanted, -one, np.log(sizes))) for one in similar[reached]]
            found = np.concatenate([found, self._thinned(near[reached], np.rint(among), n, wanted, rng)])
        return found[:n_lists]

    def _thinned(
        self, near: np.ndarray, among: np.ndarray, n: int, wanted: float, rng: np.random.Generator
    ) -> np.ndarray:
        """Return lists of ``n`` random words among the first in each row, if their coherence is right."""
        right = []
        for _ in range(4):  # later attempts find few
            order = rng.random(near.shape)
            order[np.arange(near.shape[1]) >= among[:, None]] = 2.0
            chosen = np.argpartition(order, n - 1, axis=1)[:, :n]
            lists = np.take_along_axis(near, chosen, axis=1)
            good = np.abs(coherence(self._directions, lists) - wanted) <= WITHIN
            right.append(lists[good])
            near, among = near[~good], among[~good]
        return np.concatenate(right)


def _nearest(cosines: np.ndarray, n: int) -> np.ndarray:
    """Return the columns of the ``n`` largest cosines of each row, the largest first."""
    n = min(n, cosines.shape[1])
    near = np.argpartition(-cosines, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(cosines, near, axis=1), axis=1)
    return np.asarray(np.take_along_axis(near, order, axis=1))
