"""Random lists of words that are like a list in frequency and in how similar its words are to each other.

What WEAT's own p-value takes for chance is too narrow. It permutes words between the two lists, so it asks
whether these two lists differ, not whether they differ by more than two lists of words about any two subjects
do. Words about one subject are near each other, so the mean of such a list differs from that of another in
any direction, also in that of the attributes. Random lists that are as coherent as the given ones show by how
much.
"""

from __future__ import annotations

import numpy as np

LIKE = 500
"""Words of like frequency among which one is drawn: so many in the order of frequency, at most."""

WITHIN = 0.03
"""Mean cosine within a random list may differ so much from that of the list."""

GRID = 8
"""Degrees of coherence that are tried, each half as many words to draw from as the one before."""

FITTED = 50
"""Lists that are drawn for each degree."""

ROUNDS = 20
"""A random list is drawn at most so often before the best of the draws is taken."""


def of_like_frequency(row: int, n_words: int) -> np.ndarray:
    """Return the rows of words of like frequency: those around a row, as rows are in order of frequency.

    Half to twice the rank, but no fewer than 50 words and no more than ``LIKE``.
    """
    half = int(min(LIKE, max(50, 0.75 * row)) / 2)
    low = max(0, min(row - half, n_words - 2 * half))
    return np.arange(low, min(n_words, low + 2 * half + 1))


def coherence(directions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean cosine between the words of a list, or of each of several lists; 0 for one word.

    Parameters
    ----------
    directions : ndarray of shape (n_words, vector_size)
        Vectors of length 1.
    rows : ndarray of shape (..., n)
    """
    n = rows.shape[-1]
    if n < 2:
        return np.zeros(rows.shape[:-1])
    total = np.zeros((*rows.shape[:-1], directions.shape[1]))
    for place in range(n):  # word by word: all at once take much memory
        total += directions[rows[..., place]]
    return np.asarray(((total**2).sum(axis=-1) - n) / (n * (n - 1)))


class RandomLists:
    """Draws lists like a given one.

    Parameters
    ----------
    directions : ndarray of shape (n_words, vector_size), float32
        Vectors of length 1, in order of frequency.
    rows : ndarray of shape (n,), int64
        The list.
    left_out : set of int
        Rows that are never drawn: the words of all the given lists.
    rng : numpy.random.Generator
    """

    def __init__(
        self, directions: np.ndarray, rows: np.ndarray, left_out: set[int], rng: np.random.Generator
    ) -> None:
        self._directions, self._rng = directions, rng
        out = np.array(sorted(left_out), dtype=np.int64)
        self._pools = [np.setdiff1d(of_like_frequency(row, len(directions)), out) for row in rows.tolist()]
        self.wanted = float(coherence(directions, rows))
        shares = np.repeat(0.5 ** np.arange(GRID), FITTED)
        found = coherence(directions, self._drawn(shares)).reshape(GRID, FITTED).mean(axis=1)
        # The smaller the share, the more coherent: interpolated between the two that are about right.
        rising = np.maximum.accumulate(found)
        self._share = float(np.exp(np.interp(self.wanted, rising, np.log(shares[::FITTED]))))

    def draw(self, n_lists: int) -> np.ndarray:
        """Return random lists whose words are as similar to each other as those of the given list.

        Parameters
        ----------
        n_lists : int

        Returns
        -------
        ndarray of shape (n_lists, n), int64
        """
        lists = np.empty((n_lists, len(self._pools)), np.int64)
        off = np.full(n_lists, np.inf)
        for _ in range(ROUNDS):
            again = np.flatnonzero(off > WITHIN)
            if not len(again):
                break
            # Some from fewer words, some from more: single lists vary about their mean.
            shares = np.minimum(1.0, self._share * np.exp(0.3 * self._rng.normal(size=len(again))))
            drawn = self._drawn(shares)
            off_again = np.abs(coherence(self._directions, drawn) - self.wanted)
            nearer = off_again < off[again]
            lists[again[nearer]], off[again[nearer]] = drawn[nearer], off_again[nearer]
        return lists

    def _drawn(self, shares: np.ndarray) -> np.ndarray:
        """Return lists: a random word each, and in every other place one of the words nearest to it.

        Parameters
        ----------
        shares : ndarray of shape (n_lists,)
            Of the words of like frequency, the nearest, among which words are drawn; 1: all.
        """
        n_lists, n_places = len(shares), len(self._pools)
        lists = np.full((n_lists, n_places), -1, np.int64)
        first = self._rng.integers(0, n_places, n_lists)
        for place, pool in enumerate(self._pools):
            those = first == place
            lists[those, place] = self._rng.choice(pool, int(those.sum()))
        seeds = lists[np.arange(n_lists), first]
        for place, pool in enumerate(self._pools):
            those = np.flatnonzero(first != place)
            among = np.maximum(n_places + 1, np.rint(shares[those] * len(pool)).astype(np.int64))
            among = np.minimum(among, len(pool))
            rank = self._rng.integers(0, among)
            if (among < len(pool)).any():
                cosines = self._directions[seeds[those]] @ self._directions[pool].T
                order = np.argsort(-cosines, axis=1)
            else:
                order = np.broadcast_to(np.arange(len(pool)), (len(those), len(pool)))
            for _ in range(n_places + 1):  # a word is in a list once
                word = pool[order[np.arange(len(those)), rank]]
                taken = (lists[those] == word[:, None]).any(axis=1)
                if not taken.any():
                    break
                rank = np.where(taken, (rank + 1) % among, rank)
            lists[those, place] = word
        return lists
