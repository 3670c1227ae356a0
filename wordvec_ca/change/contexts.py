"""Contexts of words: how the words around a word differ between texts, and how much of that is chance.

The context of an occurrence is a weighted mean of the vectors of the words around it. Near words weigh more,
and frequent words, which say little, weigh less: a / (a + frequency) (Arora et al. 2017, section 3). The mean
context of a word in one text is compared with its mean context in another, as Rodriguez, Spirling & Stewart
(2023) do. A text about another subject has other words around all its words. So the directions in which whole
texts differ are removed from the contexts. All vectors come from one model of all texts, so nothing has to be
rotated.

The distribution under chance comes from permuting the documents that contain the word among the texts
(``permutations``). Each text keeps its number of these documents, so a word does not count as changed only
because it became more frequent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from wordvec_ca.change.permutations import AT_ONCE, LabelPermutations

# The constant a of the weights: a word that makes up this share of the text gets half the full weight.
RARITY = 1e-3

# If more documents than this contain a word, the word is judged on a random sample of about this size.
MOST_DOCUMENTS = 10_000

# Number of occurrences located at a time.
GROUP = 1 << 22

# Number of contexts computed at a time.
BLOCK = 20_000

# Squared lengths below this value are rounding errors.
TINY = 1e-12


class Differences(NamedTuple):
    """How far the contexts of words differ between texts.

    Pairs of texts are in the order of ``itertools.combinations``: pairs with the first text come first. All
    values are nan for a word that occurs in fewer than two different lines of a text.
    """

    # (n_pairs, n_words): Squared distance between the mean contexts, divided by the sum of their squared
    # lengths: 0 if they are equal, 1 if they have nothing in common, at most 2
    distance: np.ndarray
    error: np.ndarray  # (n_words,): Standard error of the mean of ``distance`` over the pairs
    # (n_pairs, n_words): Mean and 95 % quantile of the squared distance in permuted texts, divided by the
    # same sum
    by_chance: np.ndarray
    band: np.ndarray
    # (n_words, 1 + permutations): Mean over the pairs of the logarithm of the squared distance: first in the
    # actual texts, then in each permutation
    gap: np.ndarray


class Contexts:
    """The contexts of each word, document by document."""

    def __init__(
        self,
        tokens: np.ndarray,
        directions: np.ndarray,
        counts: np.ndarray,
        window: int,
        groups: np.ndarray | None = None,
    ) -> None:
        n_words, d = directions.shape
        weights = RARITY / (RARITY + counts / counts.sum())
        self._tokens = tokens
        # the last row is for places without a word, the last column for the weights
        self._vectors = np.zeros((n_words + 1, d + 1), np.float32)
        self._vectors[:-1, :-1] = directions * weights[:, None]
        self._vectors[:-1, -1] = weights
        self._lengths = np.diff(np.flatnonzero(tokens < 0), prepend=-1)
        self._line = np.repeat(np.arange(len(self._lengths), dtype=np.int32), self._lengths)
        self._document = self._line
        if groups is not None:
            self._document = np.repeat(groups.astype(np.int32), self._lengths)
        steps = np.arange(1, window + 1)
        self._steps = np.concatenate([-steps[::-1], steps])
        self._nearness = ((window + 1 - np.abs(self._steps)) / window).astype(np.float32)

    def differences(
        self,
        labelling: LabelPermutations,
        rows: np.ndarray,
        permutations: int,
        seed: int,
        *,
        threads: int = 1,
        done: Callable[[int], None] = lambda n: None,
    ) -> Differences:
        """Compare the contexts of words between texts."""
        n_pairs = labelling.n_texts * (labelling.n_texts - 1) // 2
        found = Differences(
            np.full((n_pairs, len(rows)), np.nan),
            np.full(len(rows), np.nan),
            np.full((n_pairs, len(rows)), np.nan),
            np.full((n_pairs, len(rows)), np.nan),
            np.full((len(rows), 1 + permutations), np.nan, np.float32),
        )

        centre, shifts = self._centres(labelling.labels, labelling.n_texts)

        def compare(block: _Block) -> int:
            word, document, sums = self._sums(block, rows, labelling, seed)
            sums[:, :-1] -= sums[:, -1:] * centre
            sums[:, :-1] -= sums[:, :-1] @ shifts @ shifts.T
            bounds = np.searchsorted(word, np.arange(block.first, block.last + 1))
            for i, (begin, end) in enumerate(pairwise(bounds), block.first):
                these = document[begin:end]
                if labelling.distinct(these).min() > 1:
                    rng = np.random.default_rng([seed, 0x6465616C, int(rows[i])])
                    permuted = labelling.permuted(these, permutations, rng)
                    self._compare(sums[begin:end], permuted, labelling.lines[these], found, i)
            return block.last - block.first

        with ThreadPoolExecutor(threads) as pool:
            try:
                for group in self._groups(rows):
                    for n in pool.map(compare, group):
                        done(n)
            except BaseException:  # after any error, also Ctrl-C, blocks that have not begun are dropped
                pool.shutdown(cancel_futures=True)
                raise
        return found

    def _centres(self, labels: np.ndarray, n_texts: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean vector of all texts, shape (d,), and the directions in which texts differ from
        it.
        """
        # The directions are orthogonal, shape (d, n_texts - 1), that of the greatest difference first.
        # There are at most a quarter as many directions as dimensions.
        of_token = labels[self._document]
        means = np.empty((n_texts, self._vectors.shape[1] - 1))
        for text in range(n_texts):
            # -1, the end of a document, selects the last row, which is all zeros
            counts = np.bincount(self._tokens[of_token == text] + 1, minlength=len(self._vectors))
            total = np.roll(counts, -1) @ self._vectors
            means[text] = total[:-1] / max(total[-1], TINY)
        centre = means.mean(axis=0)
        most = min(n_texts - 1, means.shape[1] // 4)
        shifts = np.linalg.svd((means - centre).T, full_matrices=False)[0][:, :most]
        return centre.astype(np.float32), shifts.astype(np.float32)

    def _groups(self, rows: np.ndarray) -> Iterator[list[_Block]]:
        """Yield blocks of consecutive words whose contexts fit into a limited amount of memory."""
        number = np.full(len(self._vectors), -1, np.int32)  # row -1, the last, is the end of a line: no word
        number[rows] = np.arange(len(rows), dtype=np.int32)
        of_token = number[self._tokens]
        ends = np.cumsum(np.bincount(of_token[of_token >= 0], minlength=len(rows)))
        ends = np.append(0, ends)  # of the occurrences before each word

        def after(start: int, occurrences: int) -> int:
            """Return the end of the range of words that begins at ``start`` and has at most this many
            occurrences, but at least one word.
            """
            last = int(np.searchsorted(ends, ends[start] + occurrences, side="right")) - 1
            return min(len(rows), max(start + 1, last))

        start = 0
        while start < len(rows):
            stop, before = after(start, GROUP), ends[start]
            places = np.flatnonzero((of_token >= start) & (of_token < stop))
            places = places[np.argsort(of_token[places], kind="stable")]
            words = of_token[places]
            blocks = []
            while start < stop:
                last = min(stop, after(start, BLOCK))
                these = slice(ends[start] - before, ends[last] - before)
                blocks.append(_Block(start, last, places[these], words[these]))
                start = last
            yield blocks

    def _sums(
        self, block: _Block, rows: np.ndarray, labelling: LabelPermutations, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return word, document and sum of contexts (with its weight), for each document of each word."""
        from scipy.sparse import csr_array

        places, words = block.places, block.words
        document = self._document[places]
        new = np.append(True, (document[1:] != document[:-1]) | (words[1:] != words[:-1]))[: len(places)]
        kept = np.ones(np.count_nonzero(new), bool)
        firsts = np.searchsorted(words[new], np.arange(block.first, block.last + 1))
        for i in np.flatnonzero(np.diff(firsts) > MOST_DOCUMENTS).tolist():
            these = slice(firsts[i], firsts[i + 1])
            rng = np.random.default_rng([seed, 0x6B657074, int(rows[block.first + i])])
            kept[these] = labelling.sample(document[new][these], MOST_DOCUMENTS, rng)
        if not kept.all():
            held = kept[np.cumsum(new) - 1]
            places, words, document, new = places[held], words[held], document[held], new[held]
        near = places[:, None] + self._steps
        inside = (near >= 0) & (near < len(self._tokens))
        near[~inside] = 0
        inside &= self._line[near] == self._line[places][:, None]
        around = np.where(inside, self._tokens[near], -1)
        around[around < 0] = len(self._vectors) - 1
        starts = np.flatnonzero(new)
        bounds = np.append(starts, len(places)) * len(self._steps)
        weights = np.tile(self._nearness, len(places))
        of_words = csr_array((weights, around.ravel(), bounds), shape=(len(starts), len(self._vectors)))
        sums = of_words @ self._vectors
        some = sums[:, -1] > 0  # a word that is alone in its document has no context
        return words[new][some], document[new][some], sums[some]

    def _compare(
        self, sums: np.ndarray, permuted: np.ndarray, lines: np.ndarray, found: Differences, word: int
    ) -> None:
        """Record how far the contexts of a word differ: in the actual texts (row 0), and in permutations."""
        n_texts = int(permuted[0].max()) + 1
        pairs = list(combinations(range(n_texts), 2))
        means = np.empty((n_texts, len(permuted), sums.shape[1] - 1), np.float32)
        for first in range(0, len(permuted), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            for text in range(n_texts):
                total = (permuted[some] == text).astype(np.float32) @ sums
                means[text, some] = total[:, :-1] / total[:, -1:]
        squares = (means[:, 0] ** 2).sum(axis=1)
        mean = np.zeros(len(permuted))
        for k, (one, other) in enumerate(pairs):
            apart = ((means[one] - means[other]) ** 2).sum(axis=1)
            mean += apart / len(pairs)
            # always divide by the lengths in the actual texts: the mean contexts of a word with two opposite
            # uses have almost no length in permuted texts
            distances = apart / max(squares[one] + squares[other], TINY)
            found.distance[k, word] = distances[0]
            found.by_chance[k, word] = distances[1:].mean()
            found.band[k, word] = np.quantile(distances[1:], 0.95)
        found.gap[word] = np.round(np.log(np.maximum(mean, TINY)), 5)
        if (permuted == permuted[0]).all():
            found.gap[word] = found.gap[
                word, 0
            ]  # equal labels must tie: rounding would make some of them differ
        found.error[word] = self._error(sums, permuted[0], lines, means[:, 0], pairs)

    def _error(
        self,
        sums: np.ndarray,
        labels: np.ndarray,
        lines: np.ndarray,
        means: np.ndarray,
        pairs: list[tuple[int, int]],
    ) -> float:
        """Return the standard error of the mean distance, from the spread over lines (delta method)."""
        # Identical lines count as one observation.
        squares = (means**2).sum(axis=1)
        slopes = np.zeros(means.shape)  # derivatives of the mean distance by each mean context
        for one, other in pairs:
            apart, total = means[one] - means[other], max(squares[one] + squares[other], TINY)
            distance = (apart**2).sum() / total
            slopes[one] += 2 * (apart - distance * means[one]) / (total * len(pairs))
            slopes[other] -= 2 * (apart + distance * means[other]) / (total * len(pairs))
        variance = 0.0
        for text, slope in enumerate(slopes):
            own = sums[labels == text]
            weights = own[:, -1]
            part = own[:, :-1] @ slope - weights * (means[text] @ slope)
            part = np.bincount(np.unique(lines[labels == text], return_inverse=True)[1], part)
            n = len(part)
            variance += float((part**2).sum() / weights.sum() ** 2 * n / (n - 1))
        return float(np.sqrt(variance))


class _Block(NamedTuple):
    """Words from ``first`` up to ``last``, with the positions of all their occurrences in the text."""

    first: int
    last: int
    places: np.ndarray
    words: np.ndarray
