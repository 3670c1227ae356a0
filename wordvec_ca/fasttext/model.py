"""A model of fastText in memory: its dictionary, its rows, and its predictions for lines."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import Dictionary
from wordvec_ca.files import in_memory, write_errors
from wordvec_ca.formats import (
    FastTextModel,
    FastTextOptions,
    QuantisedRows,
    read_fasttext_model,
    write_fasttext_model,
)
from wordvec_ca.kernels import LOSSES, LineModel, Paths, RowMatrix, TextLines, isa, predict_labels

# fastText's number for the model type of classifiers.
SUPERVISED = 3

# Largest number of scores for a block of lines.
SCORES_AT_ONCE = 4_000_000


# Names of attributes that are computed at their first use.
DERIVED = {"rows", "_output_rows", "line"}


class Found(NamedTuple):
    """The labels of lines: the first ``n_found`` of each row, best first; -1 for lines without rows."""

    labels: np.ndarray
    probabilities: np.ndarray
    n_found: np.ndarray


class SpreadRows:
    """Rows of words and of all buckets; only buckets in use are in memory, the others are zero."""

    def __init__(self, rows: np.ndarray, n_words: int, places: np.ndarray) -> None:
        self._rows, self._n_words, self._places = rows, n_words, places
        self.shape, self.itemsize = (n_words + len(places), rows.shape[1]), 4

    def __getitem__(self, some: slice) -> np.ndarray:
        """Return a range of rows."""
        start, stop, _ = some.indices(self.shape[0])
        found = np.zeros((stop - start, self.shape[1]), np.float32)
        own = self._rows[start : min(stop, self._n_words)]
        found[: len(own)] = own
        places = self._places[max(0, start - self._n_words) : max(0, stop - self._n_words)]
        in_use = places >= 0
        found[len(own) :][in_use] = self._rows[self._n_words + places[in_use]]
        return found


class Model:
    """The content of a model file, ready for use."""

    def __init__(
        self, dictionary: Dictionary, inputs: Any, outputs: Any, n_tokens: int, version: int = 12
    ) -> None:
        self.dictionary, self.inputs, self.outputs = dictionary, inputs, outputs
        self.n_tokens, self.version = n_tokens, version

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of mapped files, without data for the kernels."""
        kept = {name: value for name, value in self.__dict__.items() if name not in DERIVED}
        return {**kept, "inputs": in_memory(self.inputs), "outputs": in_memory(self.outputs)}

    @property
    def options(self) -> FastTextOptions:
        """FastText's options as the file holds them."""
        return self.dictionary.options

    @property
    def supervised(self) -> bool:
        """Whether the model is a classifier."""
        return self.options.model == SUPERVISED

    @property
    def quantised(self) -> bool:
        """Whether the rows are quantised."""
        return isinstance(self.inputs, QuantisedRows)

    @cached_property
    def rows(self) -> RowMatrix:
        """The inputs in the form of the compiled loops."""
        return _for_loops(self.inputs)

    @cached_property
    def _output_rows(self) -> RowMatrix:
        return _for_loops(self.outputs)

    @cached_property
    def tree(self) -> np.ndarray | None:
        """The tree of labels, for hierarchical softmax."""
        if self.options.loss != LOSSES["hs"]:
            return None
        return label_tree(self.dictionary.counts[self.dictionary.n_words :])

    def predict(self, lines: TextLines, k: int, threshold: float) -> Found:
        """Return the labels of lines."""
        if not self.supervised:
            raise ValueError("Model needs to be supervised for prediction!")
        if k < 1 and k != -1:
            raise ValueError(f"k is {k}: it needs to be 1 or higher, or -1 for all labels")
        n_labels = self.dictionary.n_labels
        k = n_labels if k == -1 else min(k, n_labels)
        found = predict_labels(
            lines, self.rows, self._output_rows, n_labels, self.options.loss, k, threshold, self.tree
        )
        return Found(*found)

    def lines_at_once(self, k: int) -> int:
        """Return how many lines to predict at a time, so that the results take bounded memory."""
        k = self.dictionary.n_labels if k < 0 else k
        return max(1, SCORES_AT_ONCE // max(1, min(k, self.dictionary.n_labels)))

    @cached_property
    def line(self) -> LineModel:
        """Functions for one line or word at a time."""
        d, o = self.dictionary, self.options
        return LineModel(
            d.entries,
            self.rows,
            self._output_rows if self.supervised else None,
            d.label,
            n_words=d.n_words,
            n_labels=d.n_labels,
            loss=o.loss,
            tree=self.tree if self.supervised else None,
            min_n=max(o.minn, 1),
            max_n=max(o.maxn, 0),
            word_ngrams=max(0, o.wordNgrams),
            buckets=max(0, o.bucket),
            places=d.places,
            skip_unknown=d.pruned,
            isa=isa(),
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Model:
        """Read a ``.bin`` or ``.ftz``."""
        if not os.path.isfile(path):
            raise DataError(f"{os.fspath(path)!r} cannot be opened for loading: there is no such file")
        found = read_fasttext_model(path, quantised=True)
        options = found.options
        if found.version == 11 and options.model == SUPERVISED:
            options = options._replace(
                maxn=0
            )  # trained without n-grams, even if the header has a length for them
        n_labels = len(found.words) - found.n_words
        if options.loss not in LOSSES.values() or (options.model == SUPERVISED and not n_labels):
            raise DataError(
                f"{os.fspath(path)}: a loss of number {options.loss} and {n_labels} labels: it is damaged"
            )
        dictionary = Dictionary(
            options,
            found.words,
            found.counts,
            found.n_words,
            places=found.places,
            pruned=found.places is not None,
        )
        made = cls(dictionary, found.inputs, found.outputs, found.n_tokens, found.version or 12)
        if made.supervised:
            try:
                made.tree  # noqa: B018 - a damaged one is an error now, not when a line is predicted
            except DataError as error:
                raise DataError(f"{os.fspath(path)}: {error}") from error
        return made

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.bin`` or ``.ftz`` that fastText reads."""
        with write_errors(path):
            write_fasttext_model(self.stored(), path)

    def stored(self) -> FastTextModel:
        """Return the content of the model's file."""
        d = self.dictionary
        types = (np.arange(len(d.words)) >= d.n_words).astype(np.int8)
        return FastTextModel(
            d.options,
            d.words,
            d.counts,
            types,
            self.n_tokens,
            self.all_inputs(),
            self.outputs,
            self.version,
            d.places if d.pruned else None,
        )

    def all_inputs(self) -> Any:
        """Return rows of words and of all buckets."""
        d = self.dictionary
        if d.places is None or d.pruned:
            return self.inputs
        return SpreadRows(self.inputs, d.n_words, d.places)


def _for_loops(rows: Any) -> RowMatrix:
    if isinstance(rows, QuantisedRows):
        return RowMatrix(
            None, rows.codes, np.asarray(rows.centroids, np.float32), rows.part, rows.norm_codes, rows.norms
        )
    return RowMatrix(np.asarray(rows))


# The count that fastText gives a node that does not exist yet.
NO_COUNT = 10**15


def label_tree(counts: np.ndarray) -> np.ndarray:
    """Return the children of each node of fastText's Huffman tree of labels."""
    # Ties of counts are broken differently from gensim's (kernels.huffman_paths): two lists are merged, the
    # leaves and the inner nodes, and a leaf goes first only if its count is lower. The order matters, since
    # the rows of a file belong to the nodes.
    n = len(counts)
    if n and not (int(counts.min()) >= 0 and sum(counts.tolist()) < NO_COUNT):
        raise DataError(f"counts of labels go from 0 to {NO_COUNT:,} in all: the model is damaged")
    weights = [*np.asarray(counts).tolist(), *[NO_COUNT] * (n - 1)]
    children = np.full((2, max(0, 2 * n - 1)), -1, np.int32)
    leaf, inner = n - 1, n
    for node in range(n, 2 * n - 1):
        for side in range(2):
            if leaf >= 0 and weights[leaf] < weights[inner]:
                lightest, leaf = leaf, leaf - 1
            else:
                lightest, inner = inner, inner + 1
            children[side, node] = lightest
        weights[node] = weights[children[0, node]] + weights[children[1, node]]
    return children


def label_paths(children: np.ndarray) -> Paths:
    """Return the inner nodes above each label, and 1 where the path turns right."""
    n = (children.shape[1] + 1) // 2
    parents, right = np.full(2 * n, -1), np.zeros(2 * n, np.float32)
    inner = np.arange(n, 2 * n - 1)
    for side in range(2):
        parents[children[side, inner]] = inner
        right[children[side, inner]] = side
    nodes, along, ends = [], [], [0]
    for label in range(n):
        at = label
        while parents[at] >= 0:
            nodes.append(parents[at] - n)
            along.append(right[at])
            at = parents[at]
        ends.append(len(nodes))
    return Paths(np.array(ends, np.int64), np.array(nodes, np.int32), np.array(along, np.float32))
