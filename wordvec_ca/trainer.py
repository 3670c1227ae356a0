"""The trainer: threads that take chunks of encoded text, the learning rate, and the tallies."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence

import numpy as np

from wordvec_ca import kernels
from wordvec_ca._version import __version__
from wordvec_ca.checkpoint import State, tallies
from wordvec_ca.chunks import CHUNK_TOKENS, Chunks, StreamedChunks, chunk_size, chunks_of, parts
from wordvec_ca.config import PAIRWISE, TrainConfig
from wordvec_ca.corpus import EncodedCorpus
from wordvec_ca.divergence import TrainingDiverged, divergence
from wordvec_ca.errors import DataError
from wordvec_ca.history import History, Point
from wordvec_ca.kernels import STATS, aligned_zeros
from wordvec_ca.kernels.pool import POOL_DRAWS, noise_pool
from wordvec_ca.model import EmbeddingModel
from wordvec_ca.private_rows import private_rows
from wordvec_ca.progress import Callback, Progress
from wordvec_ca.token_stream import TokenStream
from wordvec_ca.unfinished_run import UnfinishedRun
from wordvec_ca.vocab import Vocab

RECORD_EVERY = 1.0
"""Seconds between two progress records."""


def keep_thresholds(vocab: Vocab, sample: float) -> np.ndarray:
    """Return, per word, the largest 32-bit draw with which sub-sampling keeps a token.

    The probability is sqrt(t / f) + t / f with the share f of the word in the text and t = ``sample``,
    as in word2vec.c (Mikolov et al. 2013, section 2.3, print another formula).

    Returns
    -------
    ndarray of shape (n_words,), or (0,) if every token is kept, uint32
    """
    if sample <= 0:
        return np.zeros(0, np.uint32)
    ratio = sample * vocab.total_count / np.maximum(vocab.counts, 1)
    keep = np.minimum(np.sqrt(ratio) + ratio, 1.0)
    return np.minimum(np.floor(keep * 2.0**32), 2.0**32 - 1).astype(np.uint32)


class Schedule:
    """Learning rates as a function of the position in the run, hence the same for any timing of threads."""

    def __init__(self, config: TrainConfig, n_tokens: int) -> None:
        assert config.alpha is not None
        assert config.attention_alpha is not None
        self._alpha, self._min_alpha = config.alpha, min(config.min_alpha, config.alpha)
        self._total = n_tokens * config.epochs
        self._warmup = config.attention_warmup
        self._ratio = config.attention_alpha / config.alpha if config.alpha else 0.0

    def fraction(self, position: int) -> float:
        """Return the share of the run that lies before a token, counted through all epochs."""
        return position / self._total if self._total else 1.0

    def alpha(self, position: int) -> float:
        """Return the learning rate there; it falls linearly."""
        return self._alpha - (self._alpha - self._min_alpha) * self.fraction(position)

    def attention_rate(self, position: int) -> float:
        """Return the rate of the attention logits relative to alpha: 0 during the warm-up."""
        return 0.0 if self.fraction(position) < self._warmup else self._ratio


class Clock:
    """Training time over all sessions of a run, and when the next record is due."""

    def __init__(self, before: float) -> None:
        self._started = time.monotonic() - before
        self._recorded = time.monotonic()

    @property
    def seconds(self) -> float:
        """Training time so far."""
        return time.monotonic() - self._started

    def until_record(self) -> float:
        """Return the seconds until the next record is due."""
        return self._recorded + RECORD_EVERY - time.monotonic()

    def record(self) -> None:
        """Start over: a record was made."""
        self._recorded = time.monotonic()


class Worker:
    """What one thread owns: its copy of the options, private rows, generator and tallies."""

    def __init__(self, model: EmbeddingModel, hyper: np.ndarray) -> None:
        self.hyper = hyper.copy()
        n_private = int(hyper["n_private"][0])
        rows = [min(n_private, len(array)) for array in model.shared]
        self.private = tuple(
            aligned_zeros((2, n, array.shape[1])) for n, array in zip(rows, model.shared, strict=True)
        )
        for own, array in zip(self.private, model.shared, strict=True):
            own[:] = array[: own.shape[1]]
        self.rng = np.zeros(2, np.uint64)
        self.stats = np.zeros(len(STATS), np.float64)


class Trainer:
    """Runs the training loop over encoded text, in threads, and keeps the tallies.

    Parameters
    ----------
    model : EmbeddingModel
        Its parameters are updated in place.
    tokens : ndarray of shape (n,), int32, or TokenStream
        Word ids, -1 after each line; may be memory-mapped, or read anew in each epoch.
    valid : ndarray of the same kind, optional
        Held-out text.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        tokens: np.ndarray | TokenStream,
        valid: np.ndarray | TokenStream | None = None,
    ) -> None:
        config = model.config
        assert config.workers is not None
        self.model, self.config, self.tokens, self.valid = model, config, tokens, valid
        self.train_chunk = kernels.load(config.backend)
        self.schedule = Schedule(config, len(tokens))
        self.keep = keep_thresholds(model.vocab, config.sample)
        self.hyper = model.hyper()
        self.hyper["shared_by"] = shared_by = parts(len(tokens), config)
        self._keep_rows_private()
        self.pool = noise_pool(
            model.vocab.counts,
            config.negative,
            ns_exponent=config.ns_exponent,
            burst=2 if shared_by == 1 else 1,  # else a row that is fetched serves several anyway
            row_bytes=4 * int(self.hyper["out_width"][0]),
            draws=max(50_000, min(POOL_DRAWS, len(tokens))),
            seed=config.seed,
        )
        self.lock = np.zeros(16, np.int32)
        self.workers = [Worker(model, self.hyper) for _ in range(config.workers)]
        self.chunk_tokens = chunk_size(len(tokens), config)
        self.stopping = False
        self.failures: list[BaseException] = []
        self.losses: list[float] = []
        self.valid_losses: list[float] = []
        self.history = History()
        self.seconds = 0.0
        self.interrupted = False
        self.epoch, self.index, self.start = 1, 0, 0  # where the run stands between two chunks
        self._before_epoch = np.zeros(len(STATS))
        self._position = 0

    def _keep_rows_private(self) -> None:
        """Give each of several threads its own rows of the most frequent words (docs/decisions/)."""
        config = self.config
        assert config.workers is not None
        contexts = config.contexts()
        if config.backend == "cython":  # the other has plain Hogwild threads
            self.hyper["n_private"], self.hyper["merge_every"] = private_rows(
                self.model.vocab.counts,
                self.keep,
                config.workers,
                predictions=contexts if config.model in PAIRWISE else 1,
                contexts=contexts,
                slots=bool(self.hyper["use_slots"][0]),
            )

    def run(self, callbacks: Sequence[Callback] = (), checkpoint: Checkpointing | None = None) -> None:
        """Train all epochs, or those that are left.

        The run ends early, with what was trained in place, if a callback returns true or after
        ``interrupt``.

        Parameters
        ----------
        callbacks : sequence of callable
            Each receives every ``Progress`` record.
        checkpoint : Checkpointing, optional
            When to write checkpoints, and how.

        Raises
        ------
        DataError
            If training diverged.
        """
        clock = Clock(self.seconds)
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

    def _train_epoch(
        self, clock: Clock, callbacks: Sequence[Callback], checkpoint: Checkpointing | None
    ) -> None:
        """Train what is left of an epoch, with pauses for checkpoints."""
        chunks = chunks_of(self.tokens, self.chunk_tokens, self.index, self.start)
        last = self._tallies()
        try:
            while True:
                if checkpoint is not None:
                    chunks.limit = checkpoint.limit(self)
                last = self._train_chunks(chunks, last, clock, callbacks, checkpoint)
                self.index, self.start = chunks.index, chunks.start
                self.seconds = clock.seconds
                if chunks.ended or self.stopping:
                    break
                assert checkpoint is not None
                checkpoint.write(self)
        finally:
            chunks.close()
        totals = self._tallies()
        self.losses.append(mean(totals - self._before_epoch, "loss", "examples"))
        complete = chunks.ended
        if self.valid is not None and not self.interrupted:
            valid_loss = self.held_out_loss()
            complete = complete and not self.interrupted
            if not self.interrupted:
                self.valid_losses.append(valid_loss)
        self.seconds = clock.seconds
        epoch, before_epoch = self.epoch, self._before_epoch
        if complete:
            self.epoch, self.index, self.start, self._before_epoch = epoch + 1, 0, 0, totals
        self._report(epoch, totals, last, before_epoch, clock, callbacks, ended=True)

    def _train_chunks(
        self,
        chunks: Chunks | StreamedChunks,
        last: np.ndarray,
        clock: Clock,
        callbacks: Sequence[Callback],
        checkpoint: Checkpointing | None,
    ) -> np.ndarray:
        """Train in threads until the chunks end or pause; return the last tallies that were reported."""
        threads = [
            threading.Thread(target=self._work, args=(worker, chunks, self.epoch), daemon=True)
            for worker in self.workers
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
                    now = self._tallies()
                    self._report(self.epoch, now, last, self._before_epoch, clock, callbacks)
                    clock.record()
                    last = now
        except Exception:  # of a callback, or training diverged: leave no thread at work
            self.stopping = True
            _join(threads, None)
            raise
        if self.failures:
            raise self.failures[0]
        return last

    def restore(self, state: State) -> None:
        """Go on from a checkpoint; its parameters must be in the model before the trainer is made.

        Raises
        ------
        DataError
            The state does not fit the text.
        """
        n = len(self.tokens)
        places = 1 <= state.epoch <= self.config.epochs + 1 and 0 <= state.start <= n and state.index >= 0
        if not places or state.chunk_tokens < 1 or min(len(state.losses), state.epoch - 1) < state.epoch - 1:
            raise DataError("the checkpoint stands at a place that its text does not have")
        self.workers[0].stats[:] = tallies(state.tallies, len(STATS))
        self._before_epoch = tallies(state.tallies_before_epoch, len(STATS))
        self.epoch, self.index, self.start = state.epoch, state.index, state.start
        self.chunk_tokens, self.seconds = state.chunk_tokens, state.seconds
        self._position = self.position
        try:
            self.history = History([Point.of(values) for values in state.history])
            self.losses = [float(loss) for loss in state.losses]
            self.valid_losses = [float(loss) for loss in state.valid_losses]
        except (OverflowError, TypeError, ValueError) as error:
            raise DataError(f"the history in the checkpoint cannot be used: {error}") from error

    @property
    def position(self) -> int:
        """The next token, counted through all epochs, between two chunks."""
        return (self.epoch - 1) * len(self.tokens) + self.start

    def interrupt(self) -> None:
        """End the run after the chunks under way; from a signal handler or another thread."""
        self.interrupted = self.stopping = True

    def _work(self, worker: Worker, chunks: Chunks | StreamedChunks, epoch: int) -> None:
        try:
            before = (epoch - 1) * len(self.tokens)
            while not self.stopping:
                chunk = chunks.next()
                if chunk is None:
                    return
                begin, end = before + chunk.start, before + chunk.stop
                worker.hyper["alpha_begin"] = self.schedule.alpha(begin)
                worker.hyper["alpha_end"] = self.schedule.alpha(end)
                if self.config.model == "cbow-attn":
                    worker.hyper["attention_rate"] = self.schedule.attention_rate(begin)
                self._seed(worker.rng, epoch, chunk.index)
                self.train_chunk(
                    worker.hyper,
                    chunk.tokens,
                    self.keep,
                    self.pool,
                    self.model.shared,
                    worker.private,
                    self.lock,
                    worker.rng,
                    worker.stats,
                )
                self._position = max(self._position, end)
        except BaseException as error:
            self.failures.append(error)
            self.stopping = True

    def _seed(self, rng: np.ndarray, epoch: int, index: int) -> None:
        """Set the generator as a function of the chunk: which thread trains it does not matter."""
        rng[:] = np.random.SeedSequence([self.config.seed, epoch, index]).generate_state(2, np.uint64)
        rng[1] %= np.uint64(len(self.pool))

    def held_out_loss(self) -> float:
        """Return the mean loss per prediction on the held-out text, in nats.

        The training loop itself at learning rate 0, without sub-sampling, with negatives of its own
        for each prediction, always the same ones: comparable between all settings of a model.
        """
        assert self.valid is not None
        hyper = self.model.hyper()
        pool = noise_pool(
            self.model.vocab.counts, self.config.negative, ns_exponent=self.config.ns_exponent, draws=500_000
        )
        private = tuple(array[:, :0] for array in self.workers[0].private)
        rng, stats = np.array([1, 0], np.uint64), np.zeros(len(STATS))
        everything = np.zeros(0, np.uint32)
        chunks = chunks_of(self.valid, CHUNK_TOKENS)
        try:
            while not self.interrupted and (chunk := chunks.next()) is not None:
                self.train_chunk(
                    hyper, chunk.tokens, everything, pool, self.model.shared, private, self.lock, rng, stats
                )
        finally:
            chunks.close()
        return mean(stats, "loss", "examples")

    def check_parameters(self) -> None:
        """Raise a DataError if the parameters are those of a run that has diverged."""
        fault = divergence(self.model)
        if fault:
            raise self._diverged(fault)

    def _diverged(self, fault: str) -> TrainingDiverged:
        self.stopping = True
        fraction = self.schedule.fraction(self._position)
        also = f" or attention_alpha (now {self.config.attention_alpha:g})" if attends(self.config) else ""
        if self.hyper["shared_by"][0] > 1:
            also += ", or draw exact negatives"
        return TrainingDiverged(
            f"training diverged: {fault} after {fraction:.1%} of the run. "
            f"Lower alpha (now {self.config.alpha:g}){also}"
        )

    def _tallies(self) -> np.ndarray:
        return np.sum([worker.stats for worker in self.workers], axis=0)

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
        fraction = self.schedule.fraction(self._position)
        loss = mean(now - last, "loss", "examples")
        if math.isinf(loss) or (
            math.isnan(loss) and now[STATS.index("examples")] > last[STATS.index("examples")]
        ):
            raise self._diverged(f"the loss is {loss}")
        fault = divergence(self.model, sample=not ended)
        if fault:
            raise self._diverged(fault)
        concentration = None
        if attends(self.config):
            concentration = mean(now - last, "concentration", "weighed")
        words = int(now[STATS.index("words")])
        record = Progress(
            epoch=epoch,
            epochs=self.config.epochs,
            epoch_ended=ended,
            fraction=fraction,
            words=words,
            words_per_second=words / seconds if seconds > 0 else 0.0,
            seconds=seconds,
            eta=seconds * (1 - fraction) / fraction if fraction > 0 else math.nan,
            alpha=self.schedule.alpha(self._position),
            loss=loss,
            epoch_loss=mean(now - before_epoch, "loss", "examples"),
            valid_loss=self.valid_losses[-1] if ended and self.valid_losses else None,
            attention_concentration=concentration,
        )
        self.history.add(record)
        for callback in callbacks:
            if callback(record):
                self.stopping = True


class Checkpointing:
    """Writes the state of a trainer as checkpoints of a run, when they are due.

    Parameters
    ----------
    run : UnfinishedRun
        Where to.
    encoded : EncodedCorpus
        The text.
    held_out : EncodedCorpus or None
        The held-out text.
    former : State or None
        The state that the run continues from.
    """

    def __init__(
        self, run: UnfinishedRun, encoded: EncodedCorpus, held_out: EncodedCorpus | None, former: State | None
    ) -> None:
        self._run, self._checkpoints = run, run.checkpoints
        self._texts = encoded.fingerprint, None if held_out is None else held_out.fingerprint
        self.sessions = 1 if former is None else former.sessions + 1
        self.changes = [] if former is None else list(former.changes)

    def begin(self, trainer: Trainer) -> None:
        """Start the clock."""
        self._checkpoints.begin(trainer.position)

    def seconds_left(self) -> float:
        """Return in how many seconds the next checkpoint is due; infinity if tokens decide."""
        left = self._checkpoints.seconds_left()
        return math.inf if left is None else left

    def limit(self, trainer: Trainer) -> int:
        """Return the token of this epoch before which the threads are to pause for a checkpoint."""
        position = self._checkpoints.next_position()
        n = len(trainer.tokens)
        return n if position is None else position - (trainer.epoch - 1) * n

    def write(self, trainer: Trainer) -> None:
        """Write a checkpoint, between two chunks.

        Raises
        ------
        DataError
            Training has diverged: such parameters are not worth keeping, those of the checkpoint before are.
        """
        trainer.check_parameters()
        config, done = trainer.config, trainer.epoch - 1
        state = State(
            run=self._run.request.run,
            config=config.as_dict(),
            version=__version__,
            isa=isa_in_use(config),
            fingerprint=self._texts[0],
            valid_fingerprint=self._texts[1],
            chunk_tokens=trainer.chunk_tokens,
            epoch=trainer.epoch,
            index=trainer.index,
            start=trainer.start,
            fraction=trainer.schedule.fraction(trainer.position),
            seconds=trainer.seconds,
            tallies=trainer._tallies().tolist(),
            tallies_before_epoch=trainer._before_epoch.tolist(),
            losses=trainer.losses[:done],
            valid_losses=trainer.valid_losses[:done],
            history=[list(point) for point in trainer.history.points],
            sessions=self.sessions,
            changes=self.changes,
        )
        self._checkpoints.write(state, trainer.model, trainer.position)


def isa_in_use(config: TrainConfig) -> str | None:
    """Return the instruction set of the compiled loop, or None for the other backend."""
    return kernels.isa() if config.backend == "cython" else None


def attends(config: TrainConfig) -> bool:
    """Return whether the model has attention."""
    return config.model == "cbow-attn"


def mean(tallies: np.ndarray, total: str, number: str) -> float:
    """Return one tally divided by another; nan for nothing."""
    n = tallies[STATS.index(number)]
    return float(tallies[STATS.index(total)] / n) if n else math.nan


def _join(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    """Wait for the threads to end, but no longer than so many seconds in all."""
    deadline = None if seconds is None else time.monotonic() + seconds
    for thread in threads:
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
