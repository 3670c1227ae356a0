"""Assigns chunks to the replicas of one process, and merges the replicas through shared memory.

Threads of one replica share its parameters; replicas share only the base, the parameters after the last
merge. After the chunks before a merge have been trained, every thread merges a share of the rows. This needs
no lock, since no two threads touch the same row.
"""

from __future__ import annotations

import threading
import time
from collections import deque

import numpy as np

from wordvec_ca.corpus import DocumentLines
from wordvec_ca.kernels import merge_replicas
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.training.chunks import Chunk, Chunks, StreamedChunks
from wordvec_ca.training.merge_plan import MergePlan, expected_touches, usual_replicas
from wordvec_ca.training.replica import Replica, Worker, in_threads

# Smallest number of chunks that a thread trains between two merges.
CHUNKS_PER_MERGE = 2

# Smallest number of tokens of a chunk that is worth a call of the training loop.
SMALLEST_CHUNK = 200

# Number of rows that a thread merges at a time.
MERGED_ROWS = 4_096


class Replicas:
    """The replicas of one process. A single replica is never merged.

    Attributes
    ----------
    plan : MergePlan
    all : list of Replica
    workers : list of Worker
        The threads of all replicas.
    merges : int
        Number of merges so far in this session.
    merge_seconds : float
        Seconds that the merges took.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        n_tokens: int,
        rates: np.ndarray | None = None,
        lines: DocumentLines | None = None,
    ) -> None:
        config = model.config
        n = 1 if rates is not None else usual_replicas(config, len(model.vocab), n_tokens)
        self.plan = MergePlan.of(config, n_tokens, n)
        self._n_tokens = n_tokens
        threads = [len(part) for part in np.array_split(np.arange(config.threads), n)]
        first = Replica(
            model,
            n_tokens,
            threads=threads[0],
            rate=self.plan.rate,
            chunk_tokens=self._chunk_tokens(config.threads),
            rates=rates,
            lines=lines,
        )
        self.all = [first]
        for number in threads[1:]:
            self.all.append(
                Replica(
                    model.empty_like(),
                    n_tokens,
                    threads=number,
                    rate=self.plan.rate,
                    chunk_tokens=first.chunk_tokens,
                    lines=lines,
                    like=first,
                )
            )
        self.workers = [worker for replica in self.all for worker in replica.workers]
        self.merges, self.merge_seconds = 0, 0.0
        self.merged_at = 0
        self._touches = expected_touches(model, first.keep) if n > 1 else {}
        self._reproducible = all(replica.threads == 1 for replica in self.all)
        self._waiting: list[deque[Chunk]] = [deque() for _ in self.all]
        self._dealing = threading.Lock()

    def __len__(self) -> int:
        return len(self.all)

    def _chunk_tokens(self, workers: int) -> int | None:
        """Return the largest size of a chunk, in tokens, that gives every thread work between two merges."""
        if self.plan.replicas == 1:
            return None
        apart = self._n_tokens // self.plan.merges_per_epoch
        return max(SMALLEST_CHUNK, apart // (workers * CHUNKS_PER_MERGE))

    def begin(self, position: int) -> None:
        """Copy the first replica's parameters to the others, each in its own threads, so that memory is
        local.
        """
        self.merged_at = position
        if len(self) == 1:
            return
        first = self.all[0]
        if not first.base:
            first.base = {name: np.empty_like(array) for name, array in first.parameters.items()}

        def copy(worker: Worker) -> None:
            share, of = worker.replica.workers.index(worker), worker.replica.threads
            for name, array in first.parameters.items():
                if worker.replica is not first:
                    rows = _share(len(array), share, of)
                    worker.replica.parameters[name][rows] = array[rows]
                rows = _share(len(array), self.workers.index(worker), len(self.workers))
                first.base[name][rows] = array[rows]

        in_threads(copy, self.workers)

    def next(self, chunks: Chunks | StreamedChunks, worker: Worker, *, new: bool = True) -> Chunk | None:
        """Return the chunk that a thread trains next, or None at the limit or the end of the text."""
        # If each replica has one thread, replica i modulo N gets the i-th chunk, so that a run can be
        # repeated bit for bit. Otherwise the next thread that asks gets the next chunk.
        if not self._reproducible or len(self) == 1:
            return chunks.next() if new else None
        here = self.all.index(worker.replica)
        with self._dealing:
            while not self._waiting[here]:
                chunk = chunks.next() if new else None
                if chunk is None:
                    return None
                self._waiting[chunk.index % len(self)].append(chunk)
            return self._waiting[here].popleft()

    def limit(self, position: int) -> int:
        """Return the token, counted through all epochs, at which the threads pause for a merge."""
        if len(self) == 1:
            return 1 << 62
        return self.plan.next_merge(position, self._n_tokens)

    def merge(self, position: int) -> None:
        """Merge all replicas; no thread may be training."""
        if len(self) == 1 or position <= self.merged_at:
            return
        started = time.monotonic()
        first, tokens = self.all[0], (position - self.merged_at) / len(self)
        alpha = self.plan.rate * first.schedule.alpha((position + self.merged_at) // 2)

        def merge(worker: Worker) -> None:
            share = self.workers.index(worker)
            for name, base in first.base.items():
                rows = _share(len(base), share, len(self.workers))
                for start in range(rows.start, rows.stop, MERGED_ROWS):
                    part = slice(start, min(start + MERGED_ROWS, rows.stop))
                    factors = self.plan.factors(self._touches, name, tokens, alpha, part)
                    arrays = tuple(replica.parameters[name][part] for replica in self.all)
                    merge_replicas(base[part], arrays, factors)

        in_threads(merge, self.workers)
        self.merged_at = position
        self.merges += 1
        self.merge_seconds += time.monotonic() - started

    def totals(self) -> np.ndarray:
        """Return the tallies of all threads, added up; ``STATS`` names them."""
        return np.sum([worker.stats for worker in self.workers], axis=0)


def _share(n: int, which: int, of: int) -> slice:
    """Return the slice of rows of one of several equal shares."""
    return slice(n * which // of, n * (which + 1) // of)
