"""Infers vectors of new documents: for each one, a new row is trained while all parameters stay fixed."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca import kernels
from wordvec_ca.errors import DataError
from wordvec_ca.kernels import STATS, aligned_zeros
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.specs.models import models_with
from wordvec_ca.training.schedule import keep_thresholds

POOL_DRAWS = 200_000
"""Negatives drawn once for all documents; each document starts to read them at a different position."""

MEASURED_DOCUMENTS = 100
"""Number of trained rows whose median length a new row starts with: its error is 1/8 of their deviation."""

DOCUMENTS_AT_ONCE = 64
"""Number of documents that a thread takes at a time."""


class Inference:
    """Infers vectors of documents; the same text always has the same vector.

    The generator of a document is seeded with its words, so its vector does not depend on other documents or
    on threads. The row of a document starts as the mean of the vectors of its words, scaled to the length of
    a trained row.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        epochs: int | None = None,
        alpha: float | None = None,
        min_alpha: float | None = None,
    ) -> None:
        config = model.config
        if model.documents is None:
            known = ", ".join(models_with("documents"))
            raise DataError(f"a {config.model} model has no vectors of documents; these have: {known}")
        self.model, self.config = model, config
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
        trained = self.model.documents.rows[: min(MEASURED_DOCUMENTS, len(self.model.documents))]
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

    def rows_read(self, words: NDArray[np.int32]) -> dict[str, NDArray[np.int32]]:
        """Return the rows of the parameters that the inference of a document may read, by parameter.

        Parameters
        ----------
        words : ndarray of int32
            Rows of its known words.
        """
        line = _line_of(words)
        n_tuples = min(len(line) * self.epochs, len(self._pool))  # a prediction takes one tuple at most
        begin = int(self._random(line)[1])
        around = max(0, begin + n_tuples - len(self._pool))
        negatives = self._pool[begin : begin + n_tuples].ravel(), self._pool[:around].ravel()
        own = words if self._from_words or not self.config.spec.pairwise else words[:0]
        # Rows may occur twice: to copy a row again takes less than to find out.
        found = {"inputs": own, "outputs": np.concatenate([words, *negatives])}
        if (paths := self.model.paths) is not None:
            of_words = [paths.nodes[paths.ends[w] : paths.ends[w + 1]] for w in set(words.tolist())]
            found["nodes"] = np.concatenate([words[:0], *of_words])
        return found

    def _random(self, line: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the state of the generator, and where reading of the pool begins."""
        seed = hashlib.blake2b(line.tobytes(), digest_size=16).digest()
        rng = np.frombuffer(seed, np.uint64).copy()
        rng[1] %= np.uint64(len(self._pool))
        return rng

    def _infer(
        self, words: NDArray[np.int32], row: np.ndarray, trained_length: float, logits: np.ndarray
    ) -> None:
        if self._from_words:
            row[0] = self.model.inputs[words].mean(axis=0)
            length = float(np.linalg.norm(row))
            if length and trained_length:  # without trained documents, the mean as it is
                row *= trained_length / length
        line = _line_of(words)
        tokens = np.concatenate([line] * self.epochs)
        rng = self._random(line)
        self._kernel(
            self.hyper,
            tokens,
            self._keep,
            self._pool,
            self.model.shared,
            rng,
            np.zeros(len(STATS)),
            self.model.paths,
            documents=(row, logits, np.zeros(self.epochs, np.int64)),
        )


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


def _line_of(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a line of tokens as the loop reads it."""
    return np.append(words, np.int32(-1)).astype(np.int32)


def known_rows(vocab: Any, documents: Iterable[Sequence[Any]]) -> list[NDArray[np.int32]]:
    """Return the rows of the known words of token lists."""
    find = vocab.get
    found = ([row for word in words if (row := find(word)) is not None] for words in documents)
    return [np.array(rows, np.int32) for rows in found]
