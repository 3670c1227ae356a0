"""Random permutations of documents among texts.

Identical lines are not independent documents, for example if two texts are equal. So all copies of a line
move together, and they change places only with lines that have as many copies. If lines were assigned
to the texts at random, each permutation is as likely as the actual texts.
"""

from __future__ import annotations

import numpy as np

# If a word has more lines than this factor times the permutations, its lines are permuted by shifts.
SHIFTED = 4

# Number of permutations held in memory at a time.
AT_ONCE = 500

# If other texts contain more than this share of a text's documents, all texts are sampled at one rate.
SHARED = 0.1


class LabelPermutations:
    """The text of each document (its label), and random permutations of these labels.

    Attributes
    ----------
    n_texts : int
    labels, lines : ndarray of shape (n_documents,)
    """

    def __init__(self, labels: np.ndarray, lines: np.ndarray) -> None:
        self.n_texts = int(labels.max()) + 1
        self.labels = labels.astype(np.min_scalar_type(self.n_texts))
        self.lines = lines
        in_texts = np.bincount(lines * self.n_texts + labels, minlength=(lines.max() + 1) * self.n_texts)
        self._in_texts = in_texts.reshape(-1, self.n_texts)
        self._copies = self._in_texts.sum(axis=1)
        # lines with the same numbers of copies in the texts are of one kind; most lines have one copy
        self._kind = self._in_texts.argmax(axis=1)
        several = self._copies > 1
        if several.any():
            kinds = np.unique(self._in_texts[several], axis=0, return_inverse=True)[1]
            self._kind[several] = self.n_texts + kinds.ravel()

    def of_every_text(self) -> float:
        """Return the share of the documents whose line occurs equally often in every text."""
        equal = (self._in_texts == self._in_texts[:, :1]).all(axis=1)
        return float(self._copies[equal].sum() / self._copies.sum())

    def movable(self) -> float:
        """Return the share of the documents that some permutation moves to another text."""
        pairs = np.unique(np.stack([self._copies, self._kind]), axis=1)[0]
        copies, kinds = np.unique(pairs, return_counts=True)
        moved = np.isin(self._copies, copies[kinds > 1])
        return float(self._copies[moved].sum() / self._copies.sum())

    def permuted(self, documents: np.ndarray, permutations: int, rng: np.random.Generator) -> np.ndarray:
        """Return the text of each document: first the actual one, then that in each permutation."""
        # Texts keep their sizes. If there are many lines, they are put into a random order once, and each
        # permutation shifts the labels along it. Each shift is as likely as the actual texts, and needs no
        # further random numbers.
        labels, lines = self.labels[documents], self.lines[documents]
        copies = self._copies[lines]
        permuted = np.tile(labels, (1 + permutations, 1))
        order = np.lexsort((labels, lines, copies)) if copies.max(initial=1) > 1 else np.arange(len(labels))
        for size in np.unique(copies).tolist():
            group = order[copies[order] == size].reshape(-1, size)
            n = len(group)
            if n < SHIFTED * permutations:
                for first in range(1, 1 + permutations, AT_ONCE):
                    rows = slice(first, min(first + AT_ONCE, 1 + permutations))
                    index = np.tile(np.arange(n, dtype=np.int32), (rows.stop - first, 1))
                    moved = labels[group][rng.permuted(index, axis=1)]
                    permuted[rows, group.ravel()] = moved.reshape(len(moved), -1)
                continue
            group = group[rng.permutation(n)]
            twice = np.concatenate([labels[group]] * 2)
            shifts = 1 + rng.choice(n - 1, permutations, replace=False)
            moved = np.lib.stride_tricks.sliding_window_view(twice, n, axis=0)[shifts]
            permuted[1:, group.T.ravel()] = moved.reshape(permutations, -1)
        return permuted

    def sample(self, documents: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
        """Choose which documents to keep if there are too many; a small text keeps all its documents if
        possible.
        """
        # The choice depends only on chance and on which texts contain a line, so each permutation is still
        # as likely as the actual texts.
        if len(documents) <= most:
            return np.ones(len(documents), bool)
        labels, lines = self.labels[documents], self.lines[documents]
        sizes = np.bincount(labels, minlength=self.n_texts)
        elsewhere = np.count_nonzero(self._in_texts[lines], axis=1) > 1
        shared = np.bincount(labels, elsewhere, self.n_texts) / np.maximum(sizes, 1)
        rates, left = np.full(self.n_texts, most / len(documents)), most
        if shared.max() <= SHARED:
            for done, text in enumerate(np.argsort(sizes, kind="stable").tolist()):
                kept = min(int(sizes[text]), left // (self.n_texts - done))
                rates[text] = kept / max(1, sizes[text])
                left -= kept
        lines = np.unique(lines)
        chosen = []
        for kind in np.unique(self._kind[lines]):
            those = lines[self._kind[lines] == kind]
            wanted = rates[self._in_texts[those[0]] > 0].min() * len(those)
            chosen.append(rng.choice(those, int(wanted + rng.random()), replace=False))
        return np.isin(self.lines[documents], np.concatenate(chosen))

    def distinct(self, documents: np.ndarray) -> np.ndarray:
        """Return the number of different lines that each text has among these documents, shape (n_texts,)."""
        pairs = np.unique(self.lines[documents].astype(np.int64) * self.n_texts + self.labels[documents])
        return np.bincount(pairs % self.n_texts, minlength=self.n_texts)


def line_numbers(tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Number the lines, from 0 on; copies of a line get the same number."""
    seen: dict[int, int] = {}
    ends = np.cumsum(lengths).tolist()
    keys = (hash(tokens[start:end].tobytes()) for start, end in zip([0, *ends], ends, strict=False))
    return np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.int64, len(lengths))
