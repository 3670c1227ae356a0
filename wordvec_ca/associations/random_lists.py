"""Random lists of words that match a list in frequency and coherence, the similarity of its words to each
other.

The null distribution of WEAT's own p-value is too narrow. It permutes words between the two lists, so it asks
whether these two lists differ, not whether they differ by more than two lists of words about any two subjects
do. Words about one subject are near each other, so the mean of such a list differs from that of another in
any direction, also in that of the attributes. Random lists that are as coherent as the given ones give the
right null distribution.
"""

from __future__ import annotations

import numpy as np

from wordvec_ca.errors import DataError

LIKE = 500
"""Largest number of words of similar frequency among which one is drawn."""

LEAST = 50
"""Smallest number of words of similar frequency among which one is drawn, if there are enough words."""

BANDS = (LEAST, 2_000, 8_000)
"""Smallest numbers of words of similar frequency, tried in this order until random lists are coherent enough.
At the last, 1,000 lists of eight words take seconds; a larger one would take long and match no frequency.
"""

WITHIN = 0.03
"""Largest difference between the mean cosines of a random list and of the given list."""

GRID = 8
"""Number of degrees of coherence to try; for each, lists are drawn from half as many words as before."""

FITTED = 30
"""Number of lists drawn for each degree."""

ROUNDS = 8
"""At most this factor times the wanted number of lists are drawn; then the nearest in coherence are used."""


def of_like_frequency(row: int, n_words: int, least: int = LEAST) -> np.ndarray:
    """Return the rows of words of similar frequency: those around a row, as rows are in order of frequency.

    Their ranks are from half to twice that of the row; there are at least ``least`` and at most ``LIKE``.
    """
    half = int(max(least, min(LIKE, 0.75 * row)) / 2)
    low = max(0, min(row - half, n_words - 2 * half))
    return np.arange(low, min(n_words, low + 2 * half + 1))


def coherence(directions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean cosine between the words of a list, or of each of several lists; 0 for one word."""
    n = rows.shape[-1]
    if n < 2:
        return np.zeros(rows.shape[:-1])
    total = np.zeros((*rows.shape[:-1], directions.shape[1]))
    for place in range(n):  # word by word, since all at once would take much memory
        total += directions[rows[..., place]]
    return np.asarray(((total**2).sum(axis=-1) - n) / (n * (n - 1)))


def like_each(rows: np.ndarray, left_out: np.ndarray, n_words: int, least: int = LEAST) -> list[np.ndarray]:
    """Return, for each word of a list, the rows of words of similar frequency, without ``left_out``."""
    others = np.setdiff1d(np.arange(n_words), left_out)
    if len(others) < len(rows):
        raise DataError(
            f"the vectors have {len(others):,} words that are in none of the lists, too few for random lists "
            f"of {len(rows):,} words; give vectors of more words"
        )
    places = np.searchsorted(others, rows)
    # A long list of frequent words needs more words to draw from than it has.
    least = max(min(least, len(others)), 2 * len(rows))
    return [others[of_like_frequency(int(place), len(others), least)] for place in places]


class RandomLists:
    """Draws lists like a given one."""

    def __init__(
        self, directions: np.ndarray, rows: np.ndarray, pools: list[np.ndarray], rng: np.random.Generator
    ) -> None:
        self._directions, self._pools, self._rng = directions, pools, rng
        self._of_pools = [np.ascontiguousarray(directions[pool].T) for pool in pools]
        self.wanted = float(coherence(directions, rows))
        shares = np.repeat(0.5 ** np.arange(GRID), FITTED)
        found = coherence(directions, self._drawn(shares)).reshape(GRID, FITTED).mean(axis=1)
        # Smaller shares give more coherent lists; interpolate between the two shares that are about right.
        rising = np.maximum.accumulate(found)
        self._share = float(np.exp(np.interp(self.wanted, rising, np.log(shares[::FITTED]))))

    def draw(self, n_lists: int) -> np.ndarray:
        """Return random lists whose words are as similar to each other as those of the given list."""
        lists, off = np.empty((0, len(self._pools)), np.int64), np.empty(0)
        for _ in range(ROUNDS):
            # Some lists are drawn from fewer words, some from more, since single lists vary about their mean.
            shares = np.minimum(1.0, self._share * np.exp(0.3 * self._rng.normal(size=n_lists)))
            drawn = self._drawn(shares)
            lists = np.concatenate([lists, drawn])
            off = np.append(off, np.abs(coherence(self._directions, drawn) - self.wanted))
            if (off <= WITHIN).sum() >= n_lists:
                break
        # Take the lists that are near enough, in the order drawn; if too few, add the nearest of the others.
        order = np.argsort(np.maximum(off, WITHIN), kind="stable")
        return lists[order[:n_lists]]

    def _drawn(self, shares: np.ndarray) -> np.ndarray:
        """Return lists of a random word and other words that are drawn from those nearest to it."""
        n_lists, n_places = len(shares), len(self._pools)
        lists = np.full((n_lists, n_places), -1, np.int64)
        first = self._rng.integers(0, n_places, n_lists)
        for place, pool in enumerate(self._pools):
            those = first == place
            lists[those, place] = self._rng.choice(pool, int(those.sum()))
        seeds = self._directions[lists[np.arange(n_lists), first]]
        for place, (pool, of_pool) in enumerate(zip(self._pools, self._of_pools, strict=True)):
            those = np.flatnonzero(first != place)
            cosines = seeds[those] @ of_pool
            # A word must be in a list only once, so words already in it are put last.
            at = np.minimum(np.searchsorted(pool, lists[those]), len(pool) - 1)
            row, column = np.nonzero(pool[at] == lists[those])
            cosines[row, at[row, column]] = -np.inf
            among = np.maximum(n_places + 1, np.rint(shares[those] * len(pool)))
            among = np.minimum(among, len(pool) - np.bincount(row, minlength=len(those))).astype(np.int64)
            rank = self._rng.integers(0, among)
            # Sorting values and looking one up is several times faster than sorting places.
            value = np.sort(cosines, axis=1)[np.arange(len(those)), len(pool) - 1 - rank]
            lists[those, place] = pool[(cosines == value[:, None]).argmax(axis=1)]
        return lists
