"""Trains a model on one machine: threads take chunks of encoded text and count tallies. Training that has
diverged (parameters are NaN, infinite, or far larger than in useful models) ends.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wordvec_ca import kernels
from wordvec_ca._version import __version__
from wordvec_ca.corpus import DocumentLines, EncodedCorpus, LiveTokens, TokenStream
from wordvec_ca.errors import DataError
from wordvec_ca.kernels import STATS
from wordvec_ca.models import Callback, EmbeddingModel, History, Point, Progress, ResolvedConfig
from wordvec_ca.training.checkpoint import Checkpoints, State, tallies
from wordvec_ca.training.chunks import Chunks, LineSample, StreamedChunks, chunks_of
from wordvec_ca.training.held_out import held_out_loss, mean
from wordvec_ca.training.replica import Worker
from wordvec_ca.training.replica_set import Replicas
from wordvec_ca.training.schedule import Clock

# Training has diverged if a component of a vector exceeds this. In training that converges, components stay
# below 100, since the sigmoid is flat long before.
LARGEST = 1_000.0

# Number of rows checked about once a second: the most frequent words, where divergence begins, and others.
SAMPLE_ROWS = 2_048

# Number of rows checked at a time.
BLOCK_ROWS = 8_192


class TrainingDiverged(DataError):
    """Training has diverged, and the parameters are lost; the message names the option to change."""


def sign_of_divergence(model: EmbeddingModel, *, sample: bool = False) -> str | None:
    """Return a description of what is wrong with the parameters, or None if nothing is."""
    names = ("vectors", "output vectors", "attention logits of words", "attention logits of places", "nodes")
    arrays = list(zip(names, model.shared, strict=False))
    if model.subwords is not None:
        arrays.append(("rows of words and n-grams", model.subwords.rows))
    for name, array in arrays:
        if sample:
            n = SAMPLE_ROWS // 2
            blocks = [array[:n], array[n :: max(1, len(array) // n)]]
        else:
            blocks = [array[start : start + BLOCK_ROWS] for start in range(0, len(array), BLOCK_ROWS)]
        for block in blocks:
            if not block.size:
                continue
            largest = max(float(block.max()), -float(block.min()))  # makes no copy; NaN if any number is NaN
            if np.isnan(largest):
                return f"there are {name} that are not numbers"
            if largest > LARGEST:
                return f"there are {name} with components of {largest:.3g}"
    return None


class CheckpointSchedule:
    """Writes the state of a trainer as checkpoints of a run, when they are due."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        mark: str,
        encoded: EncodedCorpus,
        held_out: EncodedCorpus | None,
        former: State | None,
        origin: Sequence[dict[str, Any]] = (),
    ) -> None:
        self._checkpoints, self._mark = checkpoints, mark
        self._texts = encoded.fingerprint, None if held_out is None else held_out.fingerprint
        self.sessions = 1 if former is None else former.sessions + 1
        self.changes = [*([] if former is None else former.changes), *origin]

    def begin(self, trainer: Trainer) -> None:
        """Start the clock."""
        self._checkpoints.begin(trainer.position)

    def seconds_left(self) -> float:
        """Return in how many seconds the next checkpoint is due; infinity if the interval is in tokens."""
        return self._checkpoints.seconds_left()

    def limit(self, trainer: Trainer) -> int:
        """Return the token of this epoch at which the threads pause for a checkpoint."""
        n = len(trainer.tokens)
        return int(min(n, self._checkpoints.next_position() - (trainer.epoch - 1) * n))

    def write(self, trainer: Trainer) -> None:
        """Write a checkpoint, between two chunks."""
        trainer.check_parameters()
        config, done = trainer.config, trainer.epoch - 1
        state = State(
            run=self._mark,
            config=config.as_dict(),
            version=__version__,
            isa=isa_in_use(config),
            fingerprint=self._texts[0],
            valid_fingerprint=self._texts[1],
            epoch=trainer.epoch,
            index=trainer.index,
            start=trainer.start,
            fraction=trainer.schedule.fraction(trainer.position),
            seconds=trainer.seconds,
            tallies=trainer.totals().tolist(),
            tallies_before_epoch=trainer.before_epoch.tolist(),
            losses=trainer.losses[:done],
            valid_losses=trainer.valid_losses[:done],
            history=[list(point) for point in trainer.history.points],
            sessions=self.sessions,
            changes=self.changes,
            pools=trainer.replica.negatives.plan,
        )
        self._checkpoints.write(state, trainer.model, trainer.position)


def isa_in_use(config: ResolvedConfig) -> str | None:
    """Return the instruction set of the compiled loop, or None for the Numba backend."""
    return kernels.isa() if config.backend == "cython" else None


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

    def run(self, callbacks: Sequence[Callback] = (), checkpoint: CheckpointSchedule | None = None) -> None:
        """Train all epochs, or the remaining ones."""
        # If a callback returns true, or after ``interrupt``, the run ends early; training so far is kept.
        self._clock, self._callbacks, self._checkpoint = Clock(self.seconds), callbacks, checkpoint
        self.model.forget_published()
        self.replicas.begin(self.position)
        if checkpoint is not None:
            checkpoint.begin(self)
        try:
            while not self.finished and not self.stopping:
                self._train_epoch()
        finally:
            self._callbacks = ()  # they may refer to this trainer: the model would stay in memory in a cycle
        self.seconds = self._clock.seconds
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

    def _train_epoch(self) -> None:
        """Train the rest of an epoch, with pauses for checkpoints."""
        checkpoint = self._checkpoint
        chunks = chunks_of(self.tokens, self.chunk_tokens, self.index, self.start)
        self._last = self.totals()  # the tallies at the last report
        try:
            while True:
                pause = len(self.tokens) if checkpoint is None else checkpoint.limit(self)
                merge = self.replicas.limit(self.position) - (self.epoch - 1) * len(self.tokens)
                chunks.limit = min(pause, merge)
                self._train_chunks(chunks)
                self.index, self.start = chunks.index, chunks.start
                self.replicas.merge(self.position)
                self.model.compose()
                self.seconds = self._clock.seconds
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
        self.seconds = self._clock.seconds
        epoch, before_epoch = self.epoch, self.before_epoch
        if complete:
            self.epoch, self.index, self.start, self.before_epoch = epoch + 1, 0, 0, totals
        self._report(epoch, totals, before_epoch, ended=True)

    def _train_chunks(self, chunks: Chunks | StreamedChunks) -> None:
        """Train in threads until the chunks end or pause."""
        threads = [
            threading.Thread(target=self._work, args=(worker, chunks, self.epoch), daemon=True)
            for worker in self.replicas.workers
        ]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                left = math.inf if self._checkpoint is None else self._checkpoint.seconds_left()
                if left <= 0:
                    chunks.limit = 0
                _join(threads, max(0.0, min(self._clock.until_record(), left if left > 0 else math.inf)))
                ended = not any(thread.is_alive() for thread in threads)
                if not ended and not self.stopping and self._clock.until_record() <= 0:
                    self._report(self.epoch, self.totals(), self.before_epoch)
                    self._clock.record()
        except Exception:  # a callback failed or training diverged: stop all threads
            self.stopping = True
            _join(threads, None)
            raise
        if self.failures:
            raise self.failures[0]

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
                seeds = [self.config.seed, epoch, chunk.index]  # whichever thread trains the chunk
                tokens = chunk.tokens if self.sample is None else self.sample.of(chunk)
                worker.replica.train_chunk(worker, tokens, before + chunk.start, seeds, chunk.start)
                self.reached = max(self.reached, end)
        except BaseException as error:
            self.failures.append(error)
            self.stopping = True

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

    def _report(self, epoch: int, now: np.ndarray, before_epoch: np.ndarray, *, ended: bool = False) -> None:
        last, self._last = self._last, now
        seconds = self._clock.seconds
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
        for callback in self._callbacks:
            if callback(record):
                self.stopping = True


def _join(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    """Wait for the threads to end, at most this many seconds in all."""
    deadline = None if seconds is None else time.monotonic() + seconds
    for thread in threads:
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
