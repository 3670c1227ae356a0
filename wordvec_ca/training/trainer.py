"""Trains a model on one machine: threads take chunks of encoded text and count tallies."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from wordvec_ca.corpus import DocumentLines, LiveTokens, TokenStream
from wordvec_ca.errors import DataError
from wordvec_ca.kernels import STATS
from wordvec_ca.models import Callback, EmbeddingModel, History, Point, Progress
from wordvec_ca.training.checkpoint import State, tallies
from wordvec_ca.training.chunks import Chunks, StreamedChunks, chunks_of
from wordvec_ca.training.divergence import TrainingDiverged, sign_of_divergence
from wordvec_ca.training.held_out import held_out_loss, mean
from wordvec_ca.training.line_sample import LineSample
from wordvec_ca.training.replica import Worker
from wordvec_ca.training.replica_set import Replicas
from wordvec_ca.training.schedule import Clock


class CheckpointWriter(Protocol):
    """Interface of an object that writes checkpoints during `Trainer.run`, such as `CheckpointSchedule`."""

    def begin(self, trainer: Trainer) -> None:
        """Start the clock."""

    def seconds_left(self) -> float:
        """Return in how many seconds the next checkpoint is due; infinity if the interval is in tokens."""

    def limit(self, trainer: Trainer) -> int:
        """Return the token of this epoch at which the threads pause for a checkpoint."""

    def write(self, trainer: Trainer) -> None:
        """Write a checkpoint, between two chunks."""


class Trainer:
    """Runs the training loop over encoded text, in threads, and keeps the tallies."""

    def __init__(
        self,
        model: EmbeddingModel,
        tokens: np.ndarray | TokenStream | LiveTokens,
        valid: np.ndarray | TokenStream | None = None,
        rates: np.ndarray | None = None,
        sample: LineSample | None = None,
    ) -> None:
        config = model.config
        self.model, self.config, self.tokens, self.valid = model, config, tokens, valid
        self.sample = sample
        lines = None
        if model.documents is not None:
            assert isinstance(tokens, np.ndarray)
            lines = DocumentLines(tokens, model.documents.tags)
        self.replicas = Replicas(model, len(tokens), rates, lines)
        self.replica = self.replicas.all[0]
        self.schedule, self.chunk_tokens = self.replica.schedule, self.replica.chunk_tokens
        self.hyper = self.replica.hyper
        self.stopping = False
        self.failures: list[BaseException] = []
        self.losses: list[float] = []
        self.valid_losses: list[float] = []
        self.history = History()
        self.seconds = 0.0
        self.interrupted = False
        self.epoch, self.index, self.start = 1, 0, 0  # the progress of the run, between two chunks
        self.before_epoch = np.zeros(len(STATS))
        self.reached = 0

    def run(self, callbacks: Sequence[Callback] = (), checkpoint: CheckpointWriter | None = None) -> None:
        """Train all epochs, or the remaining ones.

        If a callback returns true, or after ``interrupt``, the run ends early; training so far is kept.
        """
        clock = Clock(self.seconds)
        self.model.forget_published()
        self.replicas.begin(self.position)
        if checkpoint is not None:
            checkpoint.begin(self)
        while not self.finished and not self.stopping:
            self._train_epoch(clock, callbacks, checkpoint)
        self.seconds = clock.seconds
        if self.interrupted and not self.finished and checkpoint is not None:
            checkpoint.write(self)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return self.epoch > self.config.epochs

    @property
    def cut_short(self) -> bool:
        """Whether an interruption ended the run before its last epoch was done."""
        return self.interrupted and not self.finished

    def _train_epoch(
        self, clock: Clock, callbacks: Sequence[Callback], checkpoint: CheckpointWriter | None
    ) -> None:
        """Train the rest of an epoch, with pauses for checkpoints."""
        chunks = chunks_of(self.tokens, self.chunk_tokens, self.index, self.start)
        last = self.totals()
        try:
            while True:
                pause = len(self.tokens) if checkpoint is None else checkpoint.limit(self)
                merge = self.replicas.limit(self.position) - (self.epoch - 1) * len(self.tokens)
                chunks.limit = min(pause, merge)
                last = self._train_chunks(chunks, last, clock, callbacks, checkpoint)
                self.index, self.start = chunks.index, chunks.start
                self.replicas.merge(self.position)
                self.model.compose()
                self.seconds = clock.seconds
                if chunks.ended or self.stopping:
                    break
                due = checkpoint is not None and checkpoint.seconds_left() <= 0
                if checkpoint is not None and (due or self.start >= pause):
                    checkpoint.write(self)
        finally:
            chunks.close()
        totals = self.totals()
        self.losses.append(mean(totals - self.before_epoch, "loss", "examples"))
        complete = chunks.ended
        if self.valid is not None and not self.interrupted:
            valid_loss = self.held_out_loss()
            complete = complete and not self.interrupted
            if not self.interrupted:
                self.valid_losses.append(valid_loss)
        self.seconds = clock.seconds
        epoch, before_epoch = self.epoch, self.before_epoch
        if complete:
            self.epoch, self.index, self.start, self.before_epoch = epoch + 1, 0, 0, totals
        self._report(epoch, totals, last, before_epoch, clock, callbacks, ended=True)

    def _train_chunks(
        self,
        chunks: Chunks | StreamedChunks,
        last: np.ndarray,
        clock: Clock,
        callbacks: Sequence[Callback],
        checkpoint: CheckpointWriter | None,
    ) -> np.ndarray:
        """Train in threads until the chunks end or pause; return the last tallies that were reported."""
        threads = [
            threading.Thread(target=self._work, args=(worker, chunks, self.epoch), daemon=True)
            for worker in self.replicas.workers
        ]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                left = math.inf if checkpoint is None else checkpoint.seconds_left()
                if left <= 0:
                    chunks.limit = 0
                _join(threads, max(0.0, min(clock.until_record(), left if left > 0 else math.inf)))
                ended = not any(thread.is_alive() for thread in threads)
                if not ended and not self.stopping and clock.until_record() <= 0:
                    now = self.totals()
                    self._report(self.epoch, now, last, self.before_epoch, clock, callbacks)
                    clock.record()
                    last = now
        except Exception:  # a callback failed or training diverged: stop all threads
            self.stopping = True
            _join(threads, None)
            raise
        if self.failures:
            raise self.failures[0]
        return last

    def restore(self, state: State) -> None:
        """Continue from a checkpoint; the model must have its parameters before the trainer is created."""
        n = len(self.tokens)
        places = 1 <= state.epoch <= self.config.epochs + 1 and 0 <= state.start <= n and state.index >= 0
        if not places or min(len(state.losses), state.epoch - 1) < state.epoch - 1:
            raise DataError("the checkpoint points beyond the end of the text")
        self.replica.workers[0].stats[:] = tallies(state.tallies, len(STATS))
        self.before_epoch = tallies(state.tallies_before_epoch, len(STATS))
        self.epoch, self.index, self.start = state.epoch, state.index, state.start
        # With n-grams the size of a chunk depends on the number of threads: this run's, not the former one's.
        self.seconds = state.seconds
        self.reached = self.position
        try:
            self.history = History([Point.of(values) for values in state.history])
            self.losses = [float(loss) for loss in state.losses]
            self.valid_losses = [float(loss) for loss in state.valid_losses]
        except (OverflowError, TypeError, ValueError) as error:
            raise DataError(f"the history in the checkpoint cannot be used: {error}") from error

    @property
    def position(self) -> int:
        """Number of the next token to train, counted through all epochs; valid between two chunks."""
        return (self.epoch - 1) * len(self.tokens) + self.start

    def interrupt(self) -> None:
        """End the run after the current chunks. A signal handler or another thread may call this."""
        self.interrupted = self.stopping = True

    def _work(self, worker: Worker, chunks: Chunks | StreamedChunks, epoch: int) -> None:
        try:
            before = (epoch - 1) * len(self.tokens)
            while not self.failures:
                chunk = self.replicas.next(chunks, worker, new=not self.stopping)
                if chunk is None:
                    return
                end = before + chunk.stop
                seeds = self._seeds(epoch, chunk.index)
                tokens = chunk.tokens if self.sample is None else self.sample.of(chunk)
                worker.replica.train_chunk(worker, tokens, before + chunk.start, seeds, chunk.start)
                self.reached = max(self.reached, end)
        except BaseException as error:
            self.failures.append(error)
            self.stopping = True

    def _seeds(self, epoch: int, index: int) -> list[int]:
        """Return the seeds of the random numbers of a chunk; they do not depend on the thread."""
        return [self.config.seed, epoch, index]

    def held_out_loss(self) -> float:
        """Return the mean loss per prediction on the held-out text (see ``held_out``)."""
        assert self.valid is not None
        return held_out_loss(self.replica, self.valid, lambda: self.interrupted)

    def check_parameters(self) -> None:
        """Raise a DataError if the parameters show that training has diverged."""
        fault = sign_of_divergence(self.model)
        if fault:
            raise self._diverged(fault)

    def _diverged(self, fault: str) -> TrainingDiverged:
        self.stopping = True
        fraction = self.schedule.fraction(self.reached)
        also = (
            f" or attention_alpha (now {self.config.attention_alpha:g})" if self.config.spec.attends else ""
        )
        if self.hyper["shared_by"][0] > 1:
            also += ", or draw exact negatives"
        return TrainingDiverged(
            f"training diverged: {fault} after {fraction:.1%} of the run. "
            f"Lower alpha (now {self.config.alpha:g}){also}"
        )

    def tally(self, name: str) -> float:
        """Return one tally of all threads, by its name in ``STATS``."""
        return float(self.totals()[STATS.index(name)])

    def totals(self) -> np.ndarray:
        """Return the tallies of all threads, added up; ``STATS`` names them."""
        return self.replicas.totals()

    def _report(
        self,
        epoch: int,
        now: np.ndarray,
        last: np.ndarray,
        before_epoch: np.ndarray,
        clock: Clock,
        callbacks: Iterable[Callback],
        *,
        ended: bool = False,
    ) -> None:
        seconds = clock.seconds
        fraction = self.schedule.fraction(self.reached)
        loss = mean(now - last, "loss", "examples")
        if math.isinf(loss) or (
            math.isnan(loss) and now[STATS.index("examples")] > last[STATS.index("examples")]
        ):
            raise self._diverged(f"the loss is {loss}")
        fault = sign_of_divergence(self.model, sample=not ended)
        if fault:
            raise self._diverged(fault)
        concentration = None
        if self.config.spec.attends:
            concentration = mean(now - last, "concentration", "weighed")
        record = Progress.now(
            epoch=epoch,
            epochs=self.config.epochs,
            epoch_ended=ended,
            fraction=fraction,
            words=now[STATS.index("words")],
            seconds=seconds,
            alpha=self.schedule.alpha(self.reached),
            loss=loss,
            epoch_loss=mean(now - before_epoch, "loss", "examples"),
            valid_loss=self.valid_losses[-1] if ended and self.valid_losses else None,
            attention_concentration=concentration,
        )
        self.history.add(record)
        for callback in callbacks:
            if callback(record):
                self.stopping = True


def _join(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    """Wait for the threads to end, at most this many seconds in all."""
    deadline = None if seconds is None else time.monotonic() + seconds
    for thread in threads:
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
