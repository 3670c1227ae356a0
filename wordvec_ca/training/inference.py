"""Infers vectors of new documents: for each one, a new row is trained while all parameters stay fixed."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca import kernels
from wordvec_ca.errors import DataError
from wordvec_ca.kernels import LINE_END, STATS, Paths, aligned_zeros, number_rows
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.specs.models import models_with
from wordvec_ca.training.schedule import keep_thresholds

# Negatives drawn once for all documents; each document starts to read them at a different position.
POOL_DRAWS = 200_000

# Output rows that one call of the loop reads: copies of more would leave the cache before they are read.
BYTES_AT_ONCE = 1 << 22

# Bytes of copies of rows that a thread keeps for its next document.
MOST_KEPT = 1 << 25

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
    epochs : int, optional
        Passes over a document; by default those of the training. Learning rates are those of the training.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        copy_rows: CopyRows | None = None,
        *,
        epochs: int | None = None,
    ) -> None:
        config = model.config
        if model.documents is None:
            known = ", ".join(models_with("documents"))
            raise DataError(f"a {config.model} model has no vectors of documents; these have: {known}")
        self.model, self.config, self._copy_rows = model, config, copy_rows
        self._of_thread = None if copy_rows is None else threading.local()
        self.epochs = config.epochs if epochs is None else epochs
        self.hyper = model.hyper()
        self.hyper["frozen"] = 1
        self.hyper["only_documents"] = config.spec.pairwise
        self.hyper["most_tags"] = 1
        # Predictions do not share negatives, though this takes 1.3 to 2 times as long: a single text has few
        # negatives, and sharing makes its vector noisier (accuracy on inferred IMDB reviews with sharing and
        # without: .870 and .884, .840 and .860).
        self.hyper["shared_by"] = 1
        self.hyper["alpha_begin"], self.hyper["alpha_end"] = config.alpha, config.min_alpha
        self._kernel = kernels.load(config.backend)
        self._keep = keep_thresholds(model.vocab, config.sample)
        self._pool = _pool(model.noise_mass(), config.negative, config.seed)
        self.logit = float(model.documents.logits.mean()) if len(model.documents) else 0.0
        # vectors of untrained words carry no information
        self._from_words = config.learns_words

    def at(self, epochs: int, alpha: float, min_alpha: float) -> Inference:
        """Return the same with other passes and rates; what takes time to make is shared."""
        other = object.__new__(Inference)
        other.__dict__ |= self.__dict__  # copy.copy takes as long as three epochs of a short text
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
        trained = self.model.documents.rows[:MEASURED_DOCUMENTS]
        if (copies := self._copies_of_thread()) is not None:
            trained = copies.documents(trained)
        lengths = np.sort(np.einsum("ij,ij->i", trained, trained))  # np.median takes as long as an inference
        length = float(lengths[len(lengths) // 2]) ** 0.5 if len(lengths) else 0.0
        width = self.model.inputs.shape[1]
        rows = aligned_zeros((len(lines), width))

        def work(start: int) -> None:
            logits = np.full(1, self.logit, np.float32)
            copies = self._copies_of_thread()
            for i in range(start, min(start + DOCUMENTS_AT_ONCE, len(lines))):
                if len(lines[i]):
                    self._infer(lines[i], rows[i : i + 1], length, logits, copies)

        starts = range(0, len(lines), DOCUMENTS_AT_ONCE)
        if threads == 1:
            for start in starts:
                work(start)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, starts))
        return rows[:, : self.config.vector_size]

    def _copies_of_thread(self) -> RowCopies | None:
        """Return the copies of rows that this thread works with, or None where the rows are read in place."""
        if self._copy_rows is None or self._of_thread is None:
            return None
        found: RowCopies | None = getattr(self._of_thread, "copies", None)
        if found is None:
            found = self._of_thread.copies = RowCopies(self.model, self._keep, self._copy_rows)
        return found

    def _infer(
        self,
        words: NDArray[np.int32],
        row: np.ndarray,
        trained_length: float,
        logits: np.ndarray,
        copies: RowCopies | None,
    ) -> None:
        line = np.empty(len(words) + 1, np.int32)
        line[:-1], line[-1] = words, LINE_END
        seed = hashlib.blake2b(line.data, digest_size=16).digest()
        rng = np.frombuffer(seed, np.uint64).copy()  # state of the generator, and where the pool is read
        rng[1] %= np.uint64(len(self._pool))
        inputs = self.model.inputs
        if copies is not None:
            line[:-1], inputs = copies.take_words(words)
        if self._from_words:
            row[0] = np.add.reduce(inputs[line[:-1]]) / np.float32(len(words))
            length = float(np.sqrt(row[0] @ row[0]))
            if length and trained_length:  # without trained documents, the mean as it is
                row *= trained_length / length
        drawn = max(1, self.config.negative)
        hyper, begin, end = self.hyper.copy(), self.hyper["alpha_begin"][0], self.hyper["alpha_end"][0]
        # Also where rows are read in place, so that a vector does not depend on where they are.
        at_once = max(1, BYTES_AT_ONCE // (4 * int(hyper["out_width"][0]) * drawn * len(words)))
        at_once = min(at_once, max(1, self.epochs))
        n_tuples = at_once * len(words)  # a prediction takes one at most
        tokens = np.empty(at_once * len(line), np.int32)
        tokens.reshape(at_once, -1)[:] = line
        stats, tags = np.zeros(len(STATS)), np.zeros(at_once, np.int64)
        for first in range(0, self.epochs, at_once):
            n = min(at_once, self.epochs - first)
            hyper["alpha_begin"] = begin + (end - begin) * (first / self.epochs)
            hyper["alpha_end"] = begin + (end - begin) * ((first + n) / self.epochs)
            if copies is None:
                cursor, given = rng, (self._keep, self._pool, self.model.shared, self.model.paths)
            else:  # with one tuple more, so that its cursor cannot come to 0 again
                cursor, place = rng.copy(), int(rng[1])
                cursor[1] = 0
                negatives = self._pool[place : place + n_tuples + 1]
                if len(negatives) <= n_tuples:
                    read = np.arange(place, place + n_tuples + 1)
                    negatives = self._pool.take(read, axis=0, mode="wrap")
                given = copies.with_negatives(negatives)
            keep, pool, parameters, paths = given
            chunk = tokens[: n * len(line)]
            documents = row, logits, tags[:n]
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


class RowCopies:
    """Copies of the rows that a document reads: those of its words, which stay, and those of negatives.

    They have numbers of their own, so that they lie side by side: that takes a third of the time of copying
    them to their places in arrays of the size of the model. A thread keeps the memory for its next document.

    Parameters
    ----------
    model : EmbeddingModel
    keep : ndarray
        As the loop takes it.
    copy_rows : CopyRows
    """

    def __init__(self, model: EmbeddingModel, keep: np.ndarray, copy_rows: CopyRows) -> None:
        self._model, self._keep, self._copy_rows = model, keep, copy_rows
        self._place = np.full(len(model.vocab), -1, np.int32)
        self._rows = np.empty(0, np.int32)
        self._n_words = self._n_rows = 0
        self._paths: Paths | None = None
        self._nodes = self._rows
        self._copies: dict[str, np.ndarray] = {}

    def documents(self, rows: np.ndarray) -> np.ndarray:
        """Return copies of the first rows of documents, as many as are given."""
        self._copy("documents", rows, np.arange(len(rows), dtype=np.int32), 0)
        return self._copies["documents"]

    def take_words(self, words: NDArray[np.int32]) -> tuple[NDArray[np.int32], np.ndarray]:
        """Take the words of a document; return their numbers, and the copies of their input rows."""
        self._forget(0)
        if sum(rows.nbytes for rows in self._copies.values()) > MOST_KEPT:  # after a long text
            self._copies.clear()
        numbers = self._number(words)
        self._n_words, model = self._n_rows, self._model
        taken = self._rows[: self._n_words]
        self._copy("inputs", model.inputs, taken, 0)
        if model.config.negative:
            self._copy("outputs", model.outputs, taken, 0)
        if model.paths is not None and model.nodes is not None:
            self._nodes, self._paths = _paths_of(model.paths, taken, len(model.vocab))
            self._copy("nodes", model.nodes, self._nodes, 0)
        return numbers, self._copies["inputs"]

    def with_negatives(self, negatives: NDArray[np.int32]) -> tuple[Any, ...]:
        """Return keep, pool, parameters and paths as the loop takes them, for tuples of negatives."""
        self._forget(self._n_words)
        pool, model, n_words = self._number(negatives.reshape(-1)), self._model, self._n_words
        if model.config.negative:  # the rows of words are there
            self._copy("outputs", model.outputs, self._rows[n_words : self._n_rows], n_words)
        n = max(self._n_rows, len(self._nodes))  # the loop wants as many rows in each array
        keep, paths = self._keep, self._paths
        if len(keep):
            keep = np.zeros(n, keep.dtype)
            keep[:n_words] = self._keep[self._rows[:n_words]]  # no other is in the text
        if paths is not None:
            ends = np.full(n + 1, paths.ends[-1])
            ends[: n_words + 1] = paths.ends
            paths = paths._replace(ends=ends)
        given = [self._room("inputs", model.inputs, n)[:n]]
        given += [self._room("outputs", model.outputs, n)[:n] if model.config.negative else model.outputs]
        given += [model.word_logits, model.slot_logits]
        if model.nodes is not None:
            given += [self._room("nodes", model.nodes, n)[:n]]
        return keep, pool.reshape(negatives.shape), tuple(given), paths

    def _number(self, found: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of rows; those that have none get the next ones."""
        if len(self._rows) < self._n_rows + len(found):
            self._rows = np.concatenate([self._rows[: self._n_rows], np.zeros(len(found), np.int32)])
        numbers, first = np.empty(len(found), np.int32), self._n_rows
        self._n_rows += len(found)  # so that the next document takes all numbers back if Ctrl-C comes now
        self._n_rows = number_rows(found, self._place, numbers, self._rows, first)
        return numbers

    def _forget(self, n_rows: int) -> None:
        """Take the numbers from ``n_rows`` on from their rows."""
        self._place[self._rows[n_rows : self._n_rows]] = -1
        self._n_rows = n_rows

    def _room(self, name: str, array: np.ndarray, n: int) -> np.ndarray:
        """Return room for n rows of a parameter; what is there stays."""
        room = self._copies.get(name)
        if room is None or len(room) < n:
            larger = aligned_zeros((n, array.shape[1]))
            if room is not None:
                larger[: len(room)] = room
            room = self._copies[name] = larger
        return room

    def _copy(self, name: str, array: np.ndarray, rows: NDArray[np.int32], first: int) -> None:
        self._copy_rows(name, rows, self._room(name, array, first + len(rows))[first:])


def _paths_of(paths: Paths, words: NDArray[np.int32], n: int) -> tuple[NDArray[np.int32], Paths]:
    """Return the distinct nodes on the paths of words, and these paths with their new numbers."""
    starts, lengths = paths.ends[words], paths.ends[words + 1] - paths.ends[words]
    ends = np.cumsum(np.append(0, lengths))
    places = np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
    nodes = paths.nodes[places]
    numbers, distinct = np.empty_like(nodes), np.empty_like(nodes)
    n_nodes = number_rows(nodes, np.full(n, -1, np.int32), numbers, distinct, 0)
    return distinct[:n_nodes], Paths(ends, numbers, paths.labels[places])
