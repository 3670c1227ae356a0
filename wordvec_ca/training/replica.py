"""Trains a replica: one copy of the parameters, with threads of its own.

A replica is independent of other replicas. The learning rate and the random numbers for a range of tokens
depend only on its position in the run and on its seeds, not on which replica trains it or when.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordvec_ca import kernels
from wordvec_ca.corpus import DocumentLines
from wordvec_ca.kernels import STATS, add_delta, aligned_zeros, delta_of, sum_of_deltas
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.training.chunks import Chunks, chunk_size, in_random_order, parts
from wordvec_ca.training.composed_words import (
    BESIDE_TREE,
    MEETINGS,
    TOKENS_PER_PART,
    ComposedWords,
    blocks_at_once,
    in_blocks,
)
from wordvec_ca.training.negatives import Negatives
from wordvec_ca.training.private_rows import private_rows
from wordvec_ca.training.schedule import Schedule, keep_thresholds

# Number of tokens of a chunk if some rows have a lower rate; after each chunk their step is shortened.
SMALL_CHUNK = 500

Held = tuple[NDArray[np.int64], NDArray[np.float32]]


class RowRates:
    """Reverts part of the change that a chunk made to the rows of W of some words.

    The loop trains all rows alike. After a chunk, a row with the rate r is set to before + r (after -
    before); with r = 0 it keeps its initial value exactly.
    """

    def __init__(self, inputs: NDArray[np.float32], rates: NDArray[np.float32]) -> None:
        if rates.shape != (len(inputs),):
            raise ValueError(f"{len(inputs)} rows need as many rates, not an array of shape {rates.shape}")
        self._inputs, self._rates = inputs, rates
        self._locked = np.flatnonzero(rates == 0)
        self._places = np.full(len(rates), -1, np.int64)
        self._places[self._locked] = np.arange(len(self._locked))
        self._fixed = inputs[self._locked]

    def before(self, tokens: NDArray[np.int32]) -> Held:
        """Return the rows of a chunk whose rate is not 1, and their values."""
        words = np.unique(tokens[tokens >= 0]).astype(np.int64)
        words = words[self._rates[words] != 1]
        held = self._inputs[words]
        locked = self._places[words] >= 0
        held[locked] = self._fixed[self._places[words[locked]]]  # another thread may have moved these rows
        return words, held

    def after(self, held: Held) -> None:
        """Apply the rates to the rows of a chunk."""
        words, rows = held
        rates = self._rates[words, np.newaxis]
        self._inputs[words] = np.where(rates == 0, rows, rows + rates * (self._inputs[words] - rows))


class Worker:
    """The data of one thread: its copy of the options, private rows, random generator and tallies."""

    def __init__(self, replica: Replica) -> None:
        model, hyper = replica.model, replica.hyper
        # weak: in a cycle of references a trained model would stay in memory until Python looks for cycles
        self._replica = weakref.ref(replica)
        self.hyper = hyper.copy()
        n_private = int(hyper["n_private"][0])
        rows = [min(n_private, len(array)) for array in model.shared]
        self.private = tuple(
            aligned_zeros((2, n, array.shape[1])) for n, array in zip(rows, model.shared, strict=True)
        )
        for own, array in zip(self.private, model.shared, strict=True):
            own[:] = array[: own.shape[1]]
        self.composed: ComposedWords | None = None
        self.rng = np.zeros(2, np.uint64)
        self.stats = np.zeros(len(STATS), np.float64)

    @property
    def replica(self) -> Replica:
        """The replica that this thread trains."""
        replica = self._replica()
        assert replica is not None, "a worker does not outlive its replica"
        return replica


@dataclass(frozen=True)
class TokenRange:
    """A range of tokens for a replica to train."""

    start: int  # Begin and end of the range in the replica's text; whole lines
    stop: int
    # Position of the first token in the whole run, counted through all replicas and epochs; the learning rate
    # depends on it
    position: int
    # Seeds of the random numbers, together with the seed of the run: epoch, shard and number of the range
    seeds: tuple[int, ...]


class Delta(NamedTuple):
    """What some rows have changed, in 8 bits a number: what nodes send each other in a merge."""

    # (n_rows,), uint16: The upper half of the float32 by which the codes of a row are multiplied; 0 if it has
    # not changed
    scales: NDArray[np.uint16]
    codes: NDArray[np.int8]  # (n_changed, width), int8: The codes of the rows that have changed

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.scales.nbytes + self.codes.nbytes

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.codes.shape[1]

    @classmethod
    def of(cls, now: NDArray[np.float32], before: NDArray[np.float32]) -> Delta:
        """Return the change of some rows."""
        scales, codes = np.empty(len(now), np.uint16), np.empty(now.shape, np.int8)
        return cls(scales, codes[: delta_of(now, before, scales, codes)])

    def add_to(self, rows: NDArray[np.float32]) -> None:
        """Change some rows by this."""
        add_delta(*self, rows, rows)

    @classmethod
    def total(cls, deltas: Iterable[Delta], factors: NDArray[np.float32], width: int) -> Delta:
        """Return the sum of the deltas of the same rows, each row times its factor."""
        scales, codes = np.empty(len(factors), np.uint16), np.empty((len(factors), width), np.int8)
        n = sum_of_deltas(tuple(deltas), factors, scales, codes)
        return cls(scales, codes[:n])


def in_threads(work: Callable[[Worker], None], workers: Sequence[Worker]) -> None:
    """Call a function for each worker, at the same time; raise the first error after all have ended."""
    with ThreadPoolExecutor(len(workers)) as pool:
        for _ in pool.map(work, workers):
            pass


class Replica:
    """One copy of the parameters, and the threads that train it."""

    def __init__(
        self,
        model: EmbeddingModel,
        n_tokens: int,
        *,
        threads: int | None = None,
        rate: float = 1.0,
        chunk_tokens: int | None = None,
        rates: np.ndarray | None = None,
        lines: DocumentLines | None = None,
        like: Replica | None = None,
    ) -> None:
        config = model.config
        self.model, self.config, self.n_tokens, self.rate = model, config, n_tokens, rate
        self.threads = threads or config.threads
        self.kernel = kernels.load(config.backend)
        self.schedule: Schedule = Schedule(config, n_tokens) if like is None else like.schedule
        self.keep: np.ndarray = keep_thresholds(model.vocab, config.sample) if like is None else like.keep
        self.hyper = model.hyper()
        self.chunk_tokens = chunk_size(n_tokens, config)
        if chunk_tokens is not None:
            self.chunk_tokens = min(self.chunk_tokens, chunk_tokens)
        shared_by = parts(n_tokens, config, self.chunk_tokens)
        if model.subwords is not None:
            meetings = MEETINGS / (BESIDE_TREE if config.hs and config.negative else 1)
            at_once, block = blocks_at_once(
                model.subwords, model.vocab.counts, self.keep, self.threads, meetings
            )
            self.at_once = at_once
            self._turns = threading.Semaphore(at_once)
            self.chunk_tokens = min(self.chunk_tokens, block)
            shared_by = max(1, min(shared_by, block // TOKENS_PER_PART))
        self.hyper["shared_by"] = shared_by
        self.row_rates = None
        if rates is None:
            self._keep_rows_private()
        else:
            self.row_rates = RowRates(model.inputs, rates)
            self.chunk_tokens = SMALL_CHUNK
        self.negatives: Negatives = self._negatives() if like is None else like.negatives
        self.lock = np.zeros(16, np.int32)
        self.base: dict[str, np.ndarray] = {}
        self.lines = lines
        self.workers = [Worker(self) for _ in range(self.threads)]
        if model.subwords is not None:
            for i, worker in enumerate(self.workers):
                worker.composed = ComposedWords(model.subwords, model.inputs, private=i > 0)

    def _keep_rows_private(self) -> None:
        """Give each of two threads its own rows of the most frequent words
        (docs/decisions/004-private-rows.md).
        """
        config = self.config
        contexts = config.contexts()
        if config.backend == "cython":  # the other case uses plain Hogwild threads
            self.hyper["n_private"], self.hyper["merge_every"] = private_rows(
                self.model.vocab.counts,
                self.keep,
                self.threads,
                predictions=contexts if config.spec.pairwise else 1,
                contexts=contexts,
            )

    def _negatives(self) -> Negatives:
        shared_by = int(self.hyper["shared_by"][0])
        return Negatives(
            self.config,
            self.model.vocab.counts,
            self.n_tokens,
            mass=self.model.noise_mass(),
            keep=self.keep,
            shared_by=shared_by,
            burst=2 if shared_by == 1 else 1,  # otherwise one fetched row is used several times anyway
            row_bytes=4 * int(self.hyper["out_width"][0]),
        )

    def train_chunk(
        self,
        worker: Worker,
        tokens: np.ndarray,
        position: int,
        seeds: tuple[int, ...] | list[int],
        start: int = 0,
    ) -> None:
        """Train consecutive whole lines, in the thread of ``worker``."""
        if self.config.spec.attends:
            worker.hyper["attention_rate"] = self.schedule.attention_rate(position)
        if self.config.window == "all":
            tokens = in_random_order(tokens, seeds)
        worker.rng[:] = np.random.SeedSequence(list(seeds)).generate_state(2, np.uint64)
        pool = self.negatives.at(position)
        worker.rng[1] %= np.uint64(len(pool))
        held = None if self.row_rates is None else self.row_rates.before(tokens)
        if worker.composed is None:
            self._train(worker, self.model.shared, pool, tokens, position, start)
        else:
            for block in in_blocks(tokens, self.chunk_tokens):
                with self._turns:
                    worker.composed.compose(block)
                    shared = worker.composed.vectors, *self.model.shared[1:]
                    self._train(worker, shared, pool, block, position, start)
                    worker.composed.scatter_gains()
                position, start = position + len(block), start + len(block)
        if self.row_rates is not None and held is not None:
            self.row_rates.after(held)

    def _train(
        self,
        worker: Worker,
        shared: tuple[np.ndarray, ...],
        pool: np.ndarray,
        tokens: np.ndarray,
        position: int,
        start: int,
    ) -> None:
        """Call the training loop."""
        worker.hyper["alpha_begin"] = self.rate * self.schedule.alpha(position)
        worker.hyper["alpha_end"] = self.rate * self.schedule.alpha(position + len(tokens))
        documents, learning = None, self.model.documents
        if self.lines is not None and learning is not None:
            if tokens[-1] >= 0:
                tokens = np.append(tokens, np.int32(-1))  # a line's end says which document the line is in
            tokens, rows = self.lines.of_chunk(start, tokens)
            documents = learning.rows, learning.logits, rows
        self.kernel(
            worker.hyper,
            tokens,
            self.keep,
            pool,
            shared,
            worker.rng,
            worker.stats,
            self.model.paths,
            worker.private,
            self.lock,
            documents,
        )
        if self.lines is not None and learning is not None and learning.touched(rows):
            self.lines.release()

    def train(self, tokens: np.ndarray, ranges: Iterable[TokenRange]) -> dict[str, float]:
        """Train ranges of a text in the replica's threads, in order."""
        # With one thread the result is reproducible bit for bit.
        before = self.totals()
        waiting: deque[tuple[np.ndarray, int, list[int]]] = deque()
        for part in ranges:
            chunks = Chunks(tokens[part.start : part.stop], self.chunk_tokens)
            while (chunk := chunks.next()) is not None:
                seeds = [self.config.seed, *part.seeds, chunk.index]
                waiting.append((chunk.tokens, part.position + chunk.start, seeds))
        lock = threading.Lock()

        def work(worker: Worker) -> None:
            try:
                while True:
                    with lock:
                        chunk = waiting.popleft() if waiting else None
                    if chunk is None:
                        return
                    self.train_chunk(worker, *chunk)
            except BaseException:
                waiting.clear()  # the other threads end soon
                raise

        in_threads(work, self.workers)
        return dict(zip(STATS, (self.totals() - before).tolist(), strict=True))

    def totals(self) -> np.ndarray:
        """Return the tallies of all threads, added up; ``STATS`` names them."""
        return np.sum([worker.stats for worker in self.workers], axis=0)

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The trained arrays, by name: ``inputs``, ``outputs``, ``word_logits``, ``slot_logits``."""
        return self.model.learnt
