"""Infers vectors of new documents: for each one, a new row is trained while all parameters stay fixed."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca import kernels
from wordvec_ca.errors import DataError
from wordvec_ca.kernels import LINE_END, STATS, Paths, aligned_zeros
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.specs.models import models_with
from wordvec_ca.training.schedule import keep_thresholds

# Negatives drawn once for all documents; each document starts to read them at a different position.
POOL_DRAWS = 200_000

# Output rows that one call of the loop reads: copies of more would leave the cache before they are read.
BYTES_AT_ONCE = 1 << 22

MEASURED_DOCUMENTS = 100

# Number of documents that a thread takes at a time.
DOCUMENTS_AT_ONCE = 64

# Copies rows of a parameter, by its name and their numbers, to the beginning of an array.
CopyRows = Callable[[str, NDArray[np.int32], np.ndarray], None]


class Inference:
    """Infers vectors of documents; the same text always has the same vector.

    The generator of a document is seeded with its words, so its vector does not depend on other documents or
    on threads. The row of a document starts as the mean of the vectors of its words, scaled to the length of
    a trained row.

    Parameters
    ----------
    model : EmbeddingModel
    copy_rows : callable, optional
        For a model whose arrays are elsewhere, in another layout: copies rows of a parameter, given its name
        and their numbers, to the beginning of an array.
    epochs, alpha, min_alpha : optional
        Passes over a document, and learning rates; by default those of the training.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        copy_rows: CopyRows | None = None,
        *,
        epochs: int | None = None,
        alpha: float | None = None,
        min_alpha: float | None = None,
    ) -> None:
        config = model.config
        if model.documents is None:
            known = ", ".join(models_with("documents"))
            raise DataError(f"a {config.model} model has no vectors of documents; these have: {known}")
        self.model, self.config, self._copy_rows = model, config, copy_rows
        self.epochs = config.epochs if epochs is None else epochs
        self.hyper = model.hyper()
        self.hyper["frozen"] = self.hyper["only_documents"] = 1
        self.hyper["only_documents"] = config.spec.pairwise
        self.hyper["most_tags"] = 1
        # Predictions do not share negatives, though this takes 1.3 to 2 times as long: a single text has few
        # negatives, and sharing makes its vector noisier (accuracy on inferred IMDB reviews with sharing and
        # without: .870 and .884, .840 and .860).
        self.hyper["shared_by"] = 1
        self.hyper["alpha_begin"] = config.alpha if alpha is None else alpha
        self.hyper["alpha_end"] = config.min_alpha if min_alpha is None else min_alpha
        self._kernel = kernels.load(config.backend)
        self._keep = keep_thresholds(model.vocab, config.sample)
        self._pool = _pool(model.noise_mass(), config.negative, config.seed)
        self.logit = float(model.documents.logits.mean()) if len(model.documents) else 0.0
        # vectors of untrained words carry no information
        self._from_words = config.learns_words

    def at(self, epochs: int, alpha: float, min_alpha: float) -> Inference:
        """Return the same with other passes and rates; what takes time to make is shared."""
        other = copy.copy(self)
        other.epochs, other.hyper = epochs, self.hyper.copy()
        other.hyper["alpha_begin"], other.hyper["alpha_end"] = alpha, min_alpha
        return other

    @property
    def digest(self) -> str:
        """Digest of the parameters that inference uses."""
        found = hashlib.blake2b(digest_size=16)
        for array in self.model.shared:
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def infer(self, lines: Sequence[NDArray[np.int32]], *, threads: int = 1) -> NDArray[np.float32]:
        """Return the vectors of documents as `rows` does, and warn of documents without known words."""
        if empty := sum(not len(line) for line in lines):
            warnings.warn(
                f"{empty:,} of {len(lines):,} documents have no word that the model knows: their vectors are "
                "zero",
                stacklevel=2,
            )
        return self.rows(lines, threads=threads)

    def rows(self, lines: Sequence[NDArray[np.int32]], *, threads: int = 1) -> NDArray[np.float32]:
        """Return the vectors of documents."""
        assert self.model.documents is not None
        measured = np.arange(min(MEASURED_DOCUMENTS, len(self.model.documents)), dtype=np.int32)
        trained = self._rows("documents", self.model.documents.rows, measured)
        lengths = np.sort(np.einsum("ij,ij->i", trained, trained))  # np.median takes as long as an inference
        length = float(lengths[len(lengths) // 2]) ** 0.5 if len(lengths) else 0.0
        width = self.model.inputs.shape[1]
        rows = aligned_zeros((len(lines), width))

        def work(start: int) -> None:
            logits = np.full(1, self.logit, np.float32)
            for i in range(start, min(start + DOCUMENTS_AT_ONCE, len(lines))):
                if len(lines[i]):
                    self._infer(lines[i], rows[i : i + 1], length, logits)

        starts = range(0, len(lines), DOCUMENTS_AT_ONCE)
        if threads == 1:
            for start in starts:
                work(start)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, starts))
        return rows[:, : self.config.vector_size]

    def _rows(self, name: str, array: np.ndarray, numbers: NDArray[np.int32]) -> np.ndarray:
        """Return a copy of rows of a parameter."""
        if self._copy_rows is None:
            return array[numbers]
        rows = aligned_zeros((len(numbers), array.shape[1]))
        self._copy_rows(name, numbers, rows)
        return rows

    def _infer(
        self, words: NDArray[np.int32], row: np.ndarray, trained_length: float, logits: np.ndarray
    ) -> None:
        if self._from_words:
            row[0] = self._rows("inputs", self.model.inputs, words).mean(axis=0)
            length = float(np.linalg.norm(row))
            if length and trained_length:  # without trained documents, the mean as it is
                row *= trained_length / length
        seed = hashlib.blake2b(np.append(words, LINE_END).astype(np.int32).tobytes(), digest_size=16).digest()
        rng = np.frombuffer(seed, np.uint64).copy()  # state of the generator, and where the pool is read
        rng[1] %= np.uint64(len(self._pool))
        drawn = max(1, self.config.negative)
        hyper, begin, end = self.hyper.copy(), self.hyper["alpha_begin"][0], self.hyper["alpha_end"][0]
        # Also where rows are read in place, so that a vector does not depend on where they are.
        at_once = max(1, BYTES_AT_ONCE // (4 * int(hyper["out_width"][0]) * drawn * len(words)))
        at_once = min(at_once, max(1, self.epochs))
        n_tuples = at_once * len(words)  # a prediction takes one at most
        tokens, copies = words, None
        if self._copy_rows is not None:
            most = (n_tuples + 1) * drawn
            copies = CopiedRows(self.model, self._keep, self._copy_rows, words, most)
            tokens = copies.tokens
        tokens = np.tile(np.append(tokens, LINE_END).astype(np.int32), at_once)
        stats, tags = np.zeros(len(STATS)), np.zeros(at_once, np.int64)
        for first in range(0, self.epochs, at_once):
            n = min(at_once, self.epochs - first)
            hyper["alpha_begin"] = begin + (end - begin) * (first / self.epochs)
            hyper["alpha_end"] = begin + (end - begin) * ((first + n) / self.epochs)
            if copies is None:
                cursor, given = rng, (self._keep, self._pool, self.model.shared, self.model.paths)
            else:  # with one tuple more, so that its cursor cannot come to 0 again
                cursor = rng * np.array([1, 0], np.uint64)
                read = np.arange(n_tuples + 1) + int(rng[1])
                given = copies.with_negatives(self._pool.take(read, axis=0, mode="wrap"))
            keep, pool, parameters, paths = given
            documents = row, logits, tags[:n]
            chunk = tokens[: n * (len(words) + 1)]
            self._kernel(hyper, chunk, keep, pool, parameters, cursor, stats, paths, documents=documents)
            if copies is not None:
                rng[0], rng[1] = cursor[0], (rng[1] + cursor[1]) % np.uint64(len(self._pool))


def _pool(mass: np.ndarray, drawn: int, seed: int) -> NDArray[np.int32]:
    """Return tuples of negatives in random order; the order of `noise_pool` takes ten times as long."""
    n_tuples = max(1, POOL_DRAWS // max(1, drawn))
    rng = np.random.default_rng([seed, 0x696E6665])
    ends = np.cumsum(mass)
    upto = (ends * (n_tuples * drawn / ends[-1]) + rng.random()).astype(np.int64)
    upto[-1] = n_tuples * drawn
    pool = np.repeat(np.arange(len(mass), dtype=np.int32), np.diff(upto, prepend=0))
    rng.shuffle(pool)
    return pool.reshape(n_tuples, drawn)


def known_rows(vocab: Any, documents: Iterable[Sequence[Any]]) -> list[NDArray[np.int32]]:
    """Return the rows of the known words of token lists."""
    find = vocab.get
    found = ([row for word in words if (row := find(word)) is not None] for words in documents)
    return [np.array(rows, np.int32) for rows in found]


class CopiedRows:
    """The rows that one document reads: those of its words, which stay, and those of negatives in turn.

    They have numbers of their own, so that they lie side by side: that takes a third of the time of copying
    them to their places in arrays of the size of the model.

    Parameters
    ----------
    model : EmbeddingModel
    keep : ndarray
        As the loop takes it.
    copy_rows : CopyRows
    words : ndarray of int32
        The words of the document.
    most : int
        Largest number of negatives at once.
    """

    def __init__(
        self, model: EmbeddingModel, keep: np.ndarray, copy_rows: CopyRows, words: np.ndarray, most: int
    ) -> None:
        self._model, self._keep, self._copy_rows = model, keep, copy_rows
        self._words, self.tokens = _numbered(words, len(model.vocab))
        n, self._paths = len(self._words), model.paths
        nodes = self._words[:0]
        if self._paths is not None:
            nodes, self._paths = _paths_of(self._paths, self._words, len(model.vocab))
        most = max(min(n + most, len(model.vocab)), len(nodes))
        self._inputs = aligned_zeros((most, model.inputs.shape[1]))
        copy_rows("inputs", self._words, self._inputs)
        self._outputs = model.outputs
        if model.config.negative:
            self._outputs = aligned_zeros((most, model.outputs.shape[1]))
            copy_rows("outputs", self._words, self._outputs)
        self._nodes: tuple[np.ndarray, ...] = ()
        if model.nodes is not None:
            self._nodes = (aligned_zeros((most, model.nodes.shape[1])),)
            copy_rows("nodes", nodes, *self._nodes)
        self._least = len(nodes)

    def with_negatives(self, negatives: NDArray[np.int32]) -> tuple[Any, ...]:
        """Return keep, pool, parameters and paths as the loop takes them, for tuples of negatives."""
        n_words = len(self._words)
        rows, numbers = _numbered(np.append(self._words, negatives), len(self._model.vocab))
        if self._model.config.negative:  # the rows of words are there
            self._copy_rows("outputs", rows[n_words:], self._outputs[n_words:])
        n = max(len(rows), self._least)  # the loop wants as many rows in each array
        keep, paths = self._keep, self._paths
        if len(keep):
            keep = np.zeros(n, keep.dtype)
            keep[:n_words] = self._keep[self._words]  # no other is in the text
        if paths is not None:
            paths = paths._replace(ends=np.pad(paths.ends, (0, n - n_words), mode="edge"))
        arrays = self._inputs, self._outputs
        of_rows = *(rows[:n] for rows in arrays), self._model.word_logits, self._model.slot_logits
        pool = numbers[n_words:].reshape(negatives.shape)
        return keep, pool, (*of_rows, *(rows[:n] for rows in self._nodes)), paths


def _numbered(found: NDArray[np.int32], n: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct numbers below ``n`` in the order of first places, and where each is among them."""
    place, order = np.empty(n, np.int32), np.arange(len(found), dtype=np.int32)
    place[found[::-1]] = order[::-1]  # where a number occurs again, its first place is written last
    first = place[found]
    is_first = first == order
    numbers = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return found[is_first], numbers[first]


def _paths_of(paths: Paths, words: NDArray[np.int32], n: int) -> tuple[NDArray[np.int32], Paths]:
    """Return the distinct nodes on the paths of words, and these paths with their new numbers."""
    spans = [slice(paths.ends[word], paths.ends[word + 1]) for word in words.tolist()]
    nodes, numbers = _numbered(np.concatenate([paths.nodes[span] for span in spans]), n)
    ends = np.cumsum([0, *(span.stop - span.start for span in spans)])
    return nodes, Paths(ends, numbers, np.concatenate([paths.labels[span] for span in spans]))
