"""Training: chunks of encoded text handed to threads, the learning rate, progress, and the end."""

from __future__ import annotations

import dataclasses
import datetime
import math
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from wordvec_ca import kernels
from wordvec_ca._version import __version__
from wordvec_ca.attention import weights_by_place
from wordvec_ca.checkpoint import DEFAULT_INTERVAL, State, parse_interval, tallies
from wordvec_ca.chunks import CHUNK_TOKENS, Chunks, StreamedChunks, chunk_size, chunks_of
from wordvec_ca.config import PAIRWISE, TrainConfig
from wordvec_ca.continuation import (
    begin_from_model,
    begin_from_vectors,
    continued_config,
    expanded_vocab,
    first_vectors,
)
from wordvec_ca.corpus import Corpus, EncodedCorpus, encode_corpus, stream_corpus
from wordvec_ca.divergence import TrainingDiverged, divergence
from wordvec_ca.errors import DataError
from wordvec_ca.history import History, Point
from wordvec_ca.kernels import STATS, aligned_zeros
from wordvec_ca.kernels.pool import POOL_DRAWS, noise_pool
from wordvec_ca.keyedvectors import KeyedVectors
from wordvec_ca.model import EmbeddingModel, check_memory, check_output, check_room
from wordvec_ca.private_rows import private_rows
from wordvec_ca.progress import Callback, Progress
from wordvec_ca.text import find_files
from wordvec_ca.token_stream import TokenStream
from wordvec_ca.unfinished_run import UnfinishedRun, encoding_options
from wordvec_ca.vocab import Vocab

RECORD_EVERY = 1.0
"""Seconds between two progress records."""

CONCENTRATED = 0.9
"""Mean sum of squared attention weights from which attention is said to have collapsed."""

NEGLECTED = 0.2
"""Attention to the word before or after the target, in equal shares, below which it is said to have
collapsed. On Wikipedia these two had at least 1 in every setting tried, and no place within 20 words less
than 0.18; in the collapse that tests/test_languages.py reproduces one has less than 0.1, for good, while
what is left is spread so widely that its concentration shows nothing."""

PLACE_TOKENS = 20_000
"""Tokens over which the attention to each place is averaged."""


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
        shared_by, drawn = config.sharing()
        self.hyper["shared_by"], self.hyper["drawn"] = shared_by, drawn
        self.hyper["negative_weight"] = config.negative / drawn
        self._keep_rows_private()
        self.pool = noise_pool(
            model.vocab.counts,
            int(self.hyper["drawn"][0]),
            ns_exponent=config.ns_exponent,
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
        predictions = config.contexts() if config.model in PAIRWISE else 1
        if config.backend == "cython":  # the other has plain Hogwild threads
            counts = self.model.vocab.counts
            self.hyper["n_private"], self.hyper["merge_every"] = private_rows(
                counts, self.keep, config.workers, predictions
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
        self.losses.append(_mean(totals - self._before_epoch, "loss", "examples"))
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
        return _mean(stats, "loss", "examples")

    def check_parameters(self) -> None:
        """Raise a DataError if the parameters are those of a run that has diverged."""
        fault = divergence(self.model)
        if fault:
            raise self._diverged(fault)

    def _diverged(self, fault: str) -> TrainingDiverged:
        self.stopping = True
        fraction = self.schedule.fraction(self._position)
        also = f" or attention_alpha (now {self.config.attention_alpha:g})" if _attends(self.config) else ""
        if self.config.negatives == "shared":
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
        loss = _mean(now - last, "loss", "examples")
        if math.isinf(loss) or (
            math.isnan(loss) and now[STATS.index("examples")] > last[STATS.index("examples")]
        ):
            raise self._diverged(f"the loss is {loss}")
        fault = divergence(self.model, sample=not ended)
        if fault:
            raise self._diverged(fault)
        concentration = None
        if _attends(self.config):
            concentration = _mean(now - last, "concentration", "weighed")
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
            epoch_loss=_mean(now - before_epoch, "loss", "examples"),
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
            isa=_isa(config),
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


def train(
    corpus: Corpus | EncodedCorpus,
    config: TrainConfig | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    callbacks: Sequence[Callback] = (),
    valid: Corpus | None = None,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    keep_cache: bool = False,
    no_cache: bool = False,
    encoding_progress: Any = None,
    checkpoint_every: str = DEFAULT_INTERVAL,
    continue_from: str | os.PathLike[str] | None = None,
    init_vectors: str | os.PathLike[str] | None = None,
    command: str | None = None,
) -> EmbeddingModel:
    """Train a model.

    Parameters
    ----------
    corpus : path, list of paths, or iterable of token lists or lines
        The text, see ``encode_corpus``; or an ``EncodedCorpus`` to use again.
    config : TrainConfig, optional
        Options.
    output : path, optional
        Directory to save the model to, at the end or when the run is stopped.
    overwrite : bool, default False
        Replace that directory if it exists, and drop an unfinished run of that name.
    callbacks : sequence of callable
        Each receives a ``Progress`` about once a second and at the end of each epoch; a true result
        stops the run.
    valid : corpus, optional
        Held-out text; its loss is measured at the end of each epoch.
    vocab : Vocab or path, optional
        Vocabulary to use instead of the corpus's own.
    cache_dir : path, optional
        Where the encoded text goes; beside the output, or the system's temporary directory.
    keep_cache : bool, default False
        Leave the encoded text there and use it again if nothing has changed.
    no_cache : bool, default False
        Store no encoded text: read the text anew in every epoch (see ``stream_corpus``).
    encoding_progress : callable, optional
        See ``encode_corpus``.
    checkpoint_every : str, default "10m"
        A time (``30s``, ``10m``, ``2h``) or a number of tokens (``5M``) after which a checkpoint is written
        to ``OUTPUT.run``, or ``never``; see ``resume``. At the default the time grows for models so large
        that writing them would take more than a fiftieth of it. Without ``output`` there are none.
    continue_from : path, optional
        A model directory: begin with its parameters, words and counts; words that only the corpus has come
        in (see ``expanded_vocab``). ``config`` is by default the model's (see ``continued_config``).
    init_vectors : path, optional
        A file of vectors in any format that ``KeyedVectors.load`` reads: begin with these for the words
        that it has.
    command : str, optional
        What to type to do this again; kept in the record of the model.

    Returns
    -------
    EmbeddingModel
        ``.wv`` holds the vectors; ``.record["interrupted"]`` tells whether Ctrl-C cut the run short.

    Raises
    ------
    DataError
        If the corpus cannot be used, the output cannot be written, or training diverged.
    ValueError
        If an option is outside its limits.
    """
    if continue_from is not None:
        if vocab is not None or init_vectors is not None:
            raise ValueError("continue_from brings its own vocabulary and vectors: leave out the others")
        config = config or continued_config(continue_from, {})
    config = (config or TrainConfig()).resolved()
    kernels.load(config.backend)  # fails at once if it cannot run here
    interval = parse_interval(checkpoint_every)
    if output is not None:
        check_output(output, overwrite=overwrite)
    if isinstance(valid, str | os.PathLike):
        find_files([valid])  # a wrong name must not show only after the corpus was read
    if no_cache and keep_cache:
        raise ValueError("keep_cache and no_cache exclude each other: give one of them")
    if isinstance(vocab, str | os.PathLike):
        vocab = Vocab.load(vocab)
    if continue_from is not None:
        if isinstance(corpus, EncodedCorpus):
            raise ValueError("continue_from chooses the words anew: give the corpus as text, not encoded")
        vocab = expanded_vocab(corpus, config, continue_from, progress=encoding_progress)
    first = None if init_vectors is None else first_vectors(init_vectors, config.vector_size)
    started = time.time()
    with ExitStack() as cleanup:
        run = None
        if output is not None and interval is not None:
            run = UnfinishedRun.begin(
                output,
                config,
                corpus=corpus,
                valid=valid,
                vocab=vocab,
                cache_dir=cache_dir,
                keep_cache=keep_cache,
                no_cache=no_cache,
                overwrite=overwrite,
                checkpoint_every=checkpoint_every,
                command=command,
                continue_from=continue_from,
                init_vectors=init_vectors,
            )
            cleanup.enter_context(run)
        texts = _Texts(config, run, cleanup, encoding_progress)
        texts.cache_dir = None if no_cache else _cache_dir(output, cache_dir)
        texts.keep_cache = keep_cache
        encoded = texts.text(corpus, vocab)
        held_out = None if valid is None else texts.held_out(valid, encoded.vocab)
        check_memory(config, len(encoded.vocab))
        if output is not None:
            check_room(output, config, len(encoded.vocab))
        model = EmbeddingModel(config, encoded.vocab)
        origin = _begin(model, continue_from, init_vectors, first)
        trainer = Trainer(model, encoded.tokens, None if held_out is None else held_out.tokens)
        checkpoint = None if run is None else Checkpointing(run, encoded, held_out, None)
        if checkpoint is not None:
            checkpoint.changes += origin
        model.record["changes"] = origin
        _run_and_save(trainer, encoded, callbacks, started, output, overwrite, command, run, checkpoint)
        return model


CHANGEABLE = ("alpha", "attention_alpha", "count_memory", "min_alpha", "workers")
"""Options that may change when a run is continued: after a divergence, or on another machine."""


def resume(
    directory: str | os.PathLike[str],
    *,
    corpus: Corpus | EncodedCorpus | None = None,
    valid: Corpus | None = None,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    changes: Mapping[str, Any] | None = None,
    accept_changes: bool = False,
    callbacks: Sequence[Callback] = (),
    encoding_progress: Any = None,
    checkpoint_every: str | None = None,
) -> EmbeddingModel:
    """Continue a run that was cut short, from its last checkpoint, or from the beginning if it has none.

    With one worker the model is bit for bit that of an uninterrupted run.

    Parameters
    ----------
    directory : path
        The run's ``output``, or its folder ``OUTPUT.run``.
    corpus, valid : corpus, optional
        The texts, if they were not given as files: used only if their encoded form is not there any more.
        Files must be those of the run.
    vocab : Vocab or path, optional
        Must be that of the run, which has its own copy.
    changes : mapping, optional
        Options to change, of ``CHANGEABLE``.
    accept_changes : bool, default False
        Go on although the corpus's files have changed, with the text as it was read, or although
        the instruction set has.
    callbacks, encoding_progress
        As in ``train``.
    checkpoint_every : str, optional
        As in ``train``; by default as before.

    Returns
    -------
    EmbeddingModel
        As from ``train``.

    Raises
    ------
    DataError
        There is nothing to resume; or the corpus, the vocabulary or an option has changed so that the result
        would not be that of one run.
    ValueError
        An option is outside its limits.
    """
    started = time.time()
    with ExitStack() as cleanup:
        run = cleanup.enter_context(UnfinishedRun.open(directory))
        request = run.request
        if run.is_saved():  # and the process was killed before it could tidy up
            model = EmbeddingModel.load(run.output)
            run.remove()
            return model
        run.check_texts(corpus, valid, vocab)
        former = run.checkpoints.newest_state()
        begun = TrainConfig.from_dict(request.config if former is None else former.config)
        config = _changed(begun, changes or {})
        kernels.load(config.backend)
        if former is not None:
            run.check(former, config, _isa(config), accept_changes=accept_changes)
        if checkpoint_every is not None:
            run.checkpoint_every(checkpoint_every)
        texts = _Texts(config, run, cleanup, encoding_progress, former, accept_changes)
        encoded = texts.text(request.corpus if corpus is None else corpus, run.vocab())
        held_out = None
        if request.validates:
            held_out = texts.held_out(request.valid if valid is None else valid, encoded.vocab)
        check_memory(config, len(encoded.vocab))
        model = EmbeddingModel(config, encoded.vocab)
        checkpoint = Checkpointing(run, encoded, held_out, former)
        if former is None:
            checkpoint.changes += _begin(model, request.continue_from, request.init_vectors)
        else:
            former = run.checkpoints.load(model)
        trainer = Trainer(model, encoded.tokens, None if held_out is None else held_out.tokens)
        if former is not None:
            trainer.restore(former)
            checkpoint.changes += _differences(former, config)
        overwrite, command = run.may_overwrite(), request.command
        _run_and_save(trainer, encoded, callbacks, started, run.output, overwrite, command, run, checkpoint)
        return model


def _begin(
    model: EmbeddingModel,
    continue_from: str | os.PathLike[str] | None,
    init_vectors: str | os.PathLike[str] | None,
    first: KeyedVectors | None = None,
) -> list[dict[str, Any]]:
    """Give a model the parameters with which it begins; return what is recorded of where they come from."""
    model.initialise()
    if continue_from is not None:
        return [{"at": 0.0, **begin_from_model(model, continue_from)}]
    if init_vectors is not None:
        first = first or first_vectors(init_vectors, model.config.vector_size)
        return [{"at": 0.0, **begin_from_vectors(model, first, init_vectors)}]
    return []


def _changed(config: TrainConfig, changes: Mapping[str, Any]) -> TrainConfig:
    for name, value in changes.items():
        former = getattr(config, name)
        if name not in CHANGEABLE and value != former:
            raise DataError(
                f"{name} was {former!r} when the run began and is {value!r} now: that would be another run. "
                f"Only {', '.join(CHANGEABLE)} may change; leave it out, or start a new run"
            )
    return dataclasses.replace(config, **changes).resolved()


def _differences(former: State, config: TrainConfig) -> list[dict[str, Any]]:
    differences = {
        name: [former.config[name], getattr(config, name)]
        for name in CHANGEABLE
        if former.config[name] != getattr(config, name)
    }
    return [{"at": former.fraction, **differences}] if differences else []


class _Texts:
    """Encodes the texts of a run: so that they can be found again if there is a run to resume."""

    def __init__(
        self,
        config: TrainConfig,
        run: UnfinishedRun | None,
        cleanup: ExitStack,
        progress: Any,
        former: State | None = None,
        accept_changes: bool = False,
    ) -> None:
        self._config, self._run, self._cleanup = config, run, cleanup
        self._progress, self._former, self._accept_changes = progress, former, accept_changes
        self.cache_dir: Path | None = None  # of a text that is not a run's; None: do not store it
        self.keep_cache = False

    def text(self, corpus: Corpus | EncodedCorpus | None, vocab: Vocab | None) -> EncodedCorpus:
        """Encode the corpus, or find it encoded."""
        expected = None if self._former is None else self._former.fingerprint
        if isinstance(corpus, EncodedCorpus):
            if expected is not None and corpus.fingerprint != expected:
                raise DataError("this encoded corpus is not the one with which the run began")
            return corpus
        return self._encode("text", corpus, vocab, expected)

    def held_out(self, valid: Corpus | None, vocab: Vocab) -> EncodedCorpus:
        """Encode the held-out text with the words of the corpus."""
        try:
            return self._encode(
                "valid", valid, vocab, None if self._former is None else self._former.valid_fingerprint
            )
        except DataError as error:
            raise DataError(f"held-out text: {error}") from error

    def _encode(
        self, which: str, corpus: Corpus | None, vocab: Vocab | None, expected: str | None
    ) -> EncodedCorpus:
        progress = self._progress if which == "text" else None
        if self._run is not None:
            encoded = self._run.encode(
                which,
                corpus,
                self._config,
                vocab,
                expected=expected,
                accept_changes=self._accept_changes,
                progress=progress,
            )
        else:
            assert corpus is not None
            options = encoding_options(self._config, vocab, progress)
            if self.cache_dir is None:
                encoded = stream_corpus(corpus, **options)
            else:
                keep = self.keep_cache and which == "text"
                encoded = encode_corpus(corpus, cache_dir=self.cache_dir, keep=keep, **options)
        return self._cleanup.enter_context(encoded)


def _run_and_save(
    trainer: Trainer,
    encoded: EncodedCorpus,
    callbacks: Sequence[Callback],
    started: float,
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    command: str | None,
    run: UnfinishedRun | None,
    checkpoint: Checkpointing | None,
) -> None:
    """Train, save the model, and drop the run if it is finished."""
    model = trainer.model
    with _interrupts(trainer):
        trainer.run([*callbacks, CollapseWatch(trainer)], checkpoint)
        interrupted = trainer.interrupted and not trainer.finished
        model.record = {
            "command": command,
            "changes": model.record.get("changes", []),
            **_record(trainer, encoded, started, interrupted=interrupted),
        }
        model.history = trainer.history
        if run is not None and checkpoint is not None:
            model.record["run"] = run.request.run
            model.record["sessions"] = checkpoint.sessions
            model.record["changes"] = checkpoint.changes
        if output is not None:
            try:
                _save(model, output, overwrite=overwrite, mark=None if run is None else run.request.run)
            except DataError:
                if checkpoint is not None:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # of a disk that is still full: the error says so
                        checkpoint.write(trainer)
                raise
        if run is not None and not interrupted:
            run.remove()


@contextmanager
def _interrupts(trainer: Trainer) -> Iterator[None]:
    """Within the block the first Ctrl-C lets the run end and be saved; the second is a KeyboardInterrupt.

    So are SIGTERM and SIGHUP, if the program handles them at all (``cawv`` does). A signal that is ignored
    stays so.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if trainer.interrupted:
            raise KeyboardInterrupt
        trainer.interrupt()
        warnings.warn("interrupted: the run ends soon and is saved; once more stops it at once", stacklevel=2)

    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            if callable(signal.getsignal(number)):
                former[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _save(
    model: EmbeddingModel, output: str | os.PathLike[str], *, overwrite: bool, mark: str | None
) -> None:
    """Save a trained model; if that fails, save it elsewhere before saying so."""
    try:
        model.save(output, overwrite=overwrite, mark=mark)
    except DataError as error:
        refuge = Path(tempfile.mkdtemp(prefix="cawv-")) / os.path.basename(os.path.realpath(output))
        try:
            model.save(refuge)
        except DataError:
            os.rmdir(refuge.parent)
            raise error from None
        raise DataError(
            f"{error}. The trained model is in {str(refuge)!r} instead: move it from there"
        ) from error


def _record(trainer: Trainer, encoded: EncodedCorpus, started: float, *, interrupted: bool) -> dict[str, Any]:
    config, hyper = trainer.config, trainer.hyper
    tallies = dict(zip(STATS, trainer._tallies().tolist(), strict=True))
    stats = encoded.stats
    reading = stats.seconds_reading + stats.seconds_merging + stats.seconds_renumbering
    return {
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "interrupted": interrupted,
        "trained_fraction": trainer.schedule.fraction(trainer._position),
        "corpus": {"fingerprint": encoded.fingerprint, **stats.as_dict()},
        "kernel": {
            "backend": config.backend,
            "isa": _isa(config),
            "drawn": int(hyper["drawn"][0]),
            "shared_by": int(hyper["shared_by"][0]),
            "n_private": int(hyper["n_private"][0]),
            "merge_every": int(hyper["merge_every"][0]) if hyper["n_private"][0] else None,
        },
        "loss_by_epoch": trainer.losses,
        "valid_loss_by_epoch": trainer.valid_losses,
        "predictions": int(tallies["examples"]),
        "timings": {
            "encoding_seconds": round(reading, 3),
            "training_seconds": round(trainer.seconds, 3),
            "words_per_second": round(tallies["words"] / trainer.seconds) if trainer.seconds else None,
        },
        "attention_concentration": tallies["concentration"] / tallies["weighed"]
        if tallies["weighed"]
        else None,
        "platform": {"python": sys.version.split()[0], "numpy": np.__version__, "system": sys.platform},
    }


class CollapseWatch:
    """Warns once, at the end of an epoch, if attention has collapsed; a callback.

    Parameters
    ----------
    trainer : Trainer
        Whose records it receives.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self._warned = trainer, False

    def __call__(self, record: Progress) -> None:
        """Look at the attention if an epoch has ended."""
        if record.epoch_ended and not self._warned:
            self._warned = _warn_of_collapse(self._trainer)


def _warn_of_collapse(trainer: Trainer) -> bool:
    if not _attends(trainer.config):
        return False
    assert trainer.config.window is not None
    tallies = trainer._tallies()
    concentration = _mean(tallies, "concentration", "weighed")
    tokens = trainer.tokens.opening if isinstance(trainer.tokens, TokenStream) else trainer.tokens
    by_place = weights_by_place(trainer.model, np.asarray(tokens[:PLACE_TOKENS]))
    before, after = by_place[trainer.config.window - 1 : trainer.config.window + 1]
    if concentration > CONCENTRATED:
        sign = f"onto single words (mean sum of squared weights {concentration:.2f})"
    elif before < NEGLECTED or after < NEGLECTED:
        sign = f"away from the nearest words (before: {before:.2f}, after: {after:.2f}; 1 is an equal share)"
    else:
        return False
    warnings.warn(
        f"attention has collapsed {sign}: raise attention_warmup (now {trainer.config.attention_warmup:g}) "
        f"or lower attention_alpha (now {trainer.config.attention_alpha:g})",
        stacklevel=3,
    )
    return True


def _cache_dir(output: str | os.PathLike[str] | None, cache_dir: str | os.PathLike[str] | None) -> Path:
    if cache_dir is not None:
        return Path(cache_dir)
    if output is not None:
        path = Path(output)
        return path.with_name(path.name + ".cache")
    return Path(tempfile.gettempdir()) / f"cawv-{os.getpid()}"


def _isa(config: TrainConfig) -> str | None:
    return kernels.isa() if config.backend == "cython" else None


def _attends(config: TrainConfig) -> bool:
    return config.model == "cbow-attn"


def _mean(tallies: np.ndarray, total: str, number: str) -> float:
    n = tallies[STATS.index(number)]
    return float(tallies[STATS.index(total)] / n) if n else math.nan


def _join(threads: Iterable[threading.Thread], seconds: float | None) -> None:
    """Wait for the threads to end, but no longer than so many seconds in all."""
    deadline = None if seconds is None else time.monotonic() + seconds
    for thread in threads:
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
