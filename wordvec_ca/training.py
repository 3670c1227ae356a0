"""Training: chunks of encoded text handed to threads, the learning rate, progress, and the end."""

from __future__ import annotations

import datetime
import math
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from wordvec_ca import kernels
from wordvec_ca.attention import weights_by_place
from wordvec_ca.config import PAIRWISE, TrainConfig
from wordvec_ca.corpus import Corpus, EncodedCorpus, encode_corpus, stream_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.history import History
from wordvec_ca.kernels import STATS, aligned_zeros
from wordvec_ca.kernels.pool import POOL_DRAWS, noise_pool
from wordvec_ca.model import EmbeddingModel, check_memory, check_output, check_room
from wordvec_ca.progress import Callback, Progress
from wordvec_ca.text import find_files
from wordvec_ca.token_stream import TokenStream
from wordvec_ca.vocab import Vocab

CHUNK_TOKENS = 32_768
"""Tokens handed to a thread at a time: some milliseconds of work, so that none idles at the end."""

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

N_PRIVATE = 256
"""Most frequent words of which each of several threads has its own rows."""

MERGE_EVERY = 4_000
"""Tokens between two merges of these rows, for a model with one prediction per token."""

PAIRS_PER_MERGE = 24_000
"""The same in predictions, for models with one per context word: frequent rows must not drift far apart."""


@dataclass(frozen=True)
class Chunk:
    """A run of whole lines, the i-th of its epoch: its ``tokens`` are those from start to stop."""

    index: int
    start: int
    stop: int
    tokens: np.ndarray


class Chunks:
    """Hands out the chunks of one epoch, each once, in order, to any number of threads."""

    def __init__(self, tokens: np.ndarray, size: int) -> None:
        self._tokens, self._size = tokens, size
        self._lock = threading.Lock()
        self._index = self._start = 0

    def next(self) -> Chunk | None:
        """Return the next chunk, or None at the end of the text."""
        with self._lock:
            start, end = self._start, len(self._tokens)
            if start >= end:
                return None
            stop = min(start + self._size, end)
            while stop < end:  # on to the end of the line
                ends = np.flatnonzero(self._tokens[stop - 1 : stop + 1_000] < 0)
                if len(ends):
                    stop += int(ends[0])
                    break
                stop = min(stop + 1_000, end)
            chunk = Chunk(self._index, start, stop, self._tokens[start:stop])
            self._index, self._start = self._index + 1, stop
            return chunk

    def close(self) -> None:
        """Do nothing: a text that is stored needs no end of reading."""


class StreamedChunks:
    """The same chunks of a text that is read while they are handed out."""

    def __init__(self, tokens: TokenStream, size: int) -> None:
        self._blocks, self._size = tokens.blocks(), size
        self._lock = threading.Lock()
        self._waiting = np.empty(0, np.int32)
        self._searched = 0
        self._index = self._start = 0

    def next(self) -> Chunk | None:
        """Return the next chunk, or None at the end of the text."""
        with self._lock:
            while (length := self._end_of_chunk()) is None:
                block = next(self._blocks, None)
                if block is None:
                    length = len(self._waiting)
                    break
                self._waiting = np.concatenate([self._waiting, block])
            if not length:
                return None
            chunk = Chunk(self._index, self._start, self._start + length, self._waiting[:length])
            self._index, self._start = chunk.index + 1, chunk.stop
            self._waiting, self._searched = self._waiting[length:], 0
            return chunk

    def close(self) -> None:
        """Stop reading."""
        with self._lock:
            self._blocks.close()

    def _end_of_chunk(self) -> int | None:
        """Return how long the next chunk is, if its last line is here to its end."""
        begin = max(self._size - 1, self._searched)
        ends = np.flatnonzero(self._waiting[begin:] < 0)
        if len(ends):
            return begin + int(ends[0]) + 1
        self._searched = len(self._waiting)
        return None


def chunks_of(tokens: np.ndarray | TokenStream, size: int) -> Chunks | StreamedChunks:
    """Return the chunks of an encoded text; they are the same whether it is stored or not."""
    return StreamedChunks(tokens, size) if isinstance(tokens, TokenStream) else Chunks(tokens, size)


def chunk_size(n_tokens: int) -> int:
    """Return the tokens per chunk: a function of the text alone, not of the number of workers."""
    return max(1_000, min(CHUNK_TOKENS, n_tokens // 64))


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
        self.stopping = False
        self.failures: list[BaseException] = []
        self.losses: list[float] = []
        self.valid_losses: list[float] = []
        self.history = History()
        self.seconds = 0.0
        self.interrupted = False
        self._position = 0

    def _keep_rows_private(self) -> None:
        """Give each of several threads its own rows of the most frequent words (docs/decisions/)."""
        config = self.config
        if config.workers == 1 or config.backend != "cython":
            return
        self.hyper["n_private"] = min(N_PRIVATE, len(self.model.vocab))
        self.hyper["merge_every"] = MERGE_EVERY
        if config.model in PAIRWISE and config.window is not None:
            contexts = config.window + 1 if config.shrink_windows else 2 * config.window
            self.hyper["merge_every"] = max(100, PAIRS_PER_MERGE // contexts)

    def run(self, callbacks: Sequence[Callback] = ()) -> None:
        """Train all epochs.

        The run ends early, with what was trained in place, if a callback returns true or after
        ``interrupt``.

        Parameters
        ----------
        callbacks : sequence of callable
            Each receives every ``Progress`` record.

        Raises
        ------
        DataError
            If training diverged.
        """
        started = time.monotonic()
        totals = np.zeros(len(STATS))
        for epoch in range(1, self.config.epochs + 1):
            chunks = chunks_of(self.tokens, chunk_size(len(self.tokens)))
            before_epoch = self._tallies()
            last = before_epoch
            threads = [
                threading.Thread(target=self._work, args=(worker, chunks, epoch), daemon=True)
                for worker in self.workers
            ]
            for thread in threads:
                thread.start()
            try:
                while any(thread.is_alive() for thread in threads):
                    _join(threads, RECORD_EVERY)
                    ended = not any(thread.is_alive() for thread in threads)
                    now = self._tallies()
                    if not ended and not self.stopping:
                        self._report(epoch, now, last, before_epoch, started, callbacks)
                        last = now
            except Exception:  # of a callback, or training diverged: leave no thread at work
                self.stopping = True
                _join(threads, None)
                raise
            finally:
                chunks.close()
            if self.failures:
                raise self.failures[0]
            totals = self._tallies()
            self.losses.append(_mean(totals - before_epoch, "loss", "examples"))
            if self.valid is not None and not self.interrupted:
                valid_loss = self.held_out_loss()
                if not self.interrupted:
                    self.valid_losses.append(valid_loss)
            self.seconds = time.monotonic() - started
            self._report(epoch, totals, last, before_epoch, started, callbacks, ended=True)
            if self.stopping:
                break

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

    def _tallies(self) -> np.ndarray:
        return np.sum([worker.stats for worker in self.workers], axis=0)

    def _report(
        self,
        epoch: int,
        now: np.ndarray,
        last: np.ndarray,
        before_epoch: np.ndarray,
        started: float,
        callbacks: Iterable[Callback],
        *,
        ended: bool = False,
    ) -> None:
        seconds = time.monotonic() - started
        fraction = self.schedule.fraction(self._position)
        loss = _mean(now - last, "loss", "examples")
        if math.isinf(loss) or (
            math.isnan(loss) and now[STATS.index("examples")] > last[STATS.index("examples")]
        ):
            self.stopping = True
            raise DataError(
                f"training diverged: the loss is {loss} after {fraction:.1%} of the run. "
                f"Lower alpha (now {self.config.alpha:g})"
                + (
                    f" or attention_alpha (now {self.config.attention_alpha:g})"
                    if _attends(self.config)
                    else ""
                )
            )
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
        Replace that directory if it exists.
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
    config = (config or TrainConfig()).resolved()
    kernels.load(config.backend)  # fails at once if it cannot run here
    if output is not None:
        check_output(output, overwrite=overwrite)
    if isinstance(valid, str | os.PathLike):
        find_files([valid])  # a wrong name must not show only after the corpus was read
    if no_cache and keep_cache:
        raise ValueError("keep_cache and no_cache exclude each other: give one of them")
    read: Callable[..., EncodedCorpus] = partial(
        stream_corpus if no_cache else partial(encode_corpus, cache_dir=_cache_dir(output, cache_dir)),
        tokenizer=config.tokenizer,
        lowercase=config.lowercase,
        field=config.field,
        workers=config.workers,
    )
    started = time.time()
    with ExitStack() as cleanup:
        if isinstance(corpus, EncodedCorpus):
            encoded = corpus
        else:
            encoded = read(
                corpus,
                min_count=config.min_count,
                max_final_vocab=config.max_final_vocab,
                vocab=vocab,
                progress=encoding_progress,
                **({} if no_cache else {"keep": keep_cache}),
            )
            cleanup.enter_context(encoded)
        held_out = None
        if valid is not None:
            try:
                held_out = read(valid, vocab=encoded.vocab)
            except DataError as error:
                raise DataError(f"held-out text: {error}") from error
            cleanup.enter_context(held_out)
        check_memory(config, len(encoded.vocab))
        if output is not None:
            check_room(output, config, len(encoded.vocab))
        model = EmbeddingModel(config, encoded.vocab)
        model.initialise()
        trainer = Trainer(model, encoded.tokens, None if held_out is None else held_out.tokens)
        with _interrupts(trainer):
            trainer.run(callbacks)
            model.record = {"command": command, **_record(trainer, encoded, started)}
            model.history = trainer.history
            _warn_of_collapse(trainer)
            if output is not None:
                _save(model, output, overwrite=overwrite)
        return model


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


def _save(model: EmbeddingModel, output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Save a trained model; if that fails, save it elsewhere before saying so."""
    try:
        model.save(output, overwrite=overwrite)
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


def _record(trainer: Trainer, encoded: EncodedCorpus, started: float) -> dict[str, Any]:
    config, hyper = trainer.config, trainer.hyper
    tallies = dict(zip(STATS, trainer._tallies().tolist(), strict=True))
    stats = encoded.stats
    reading = stats.seconds_reading + stats.seconds_merging + stats.seconds_renumbering
    return {
        "started": datetime.datetime.fromtimestamp(started, datetime.UTC).isoformat(timespec="seconds"),
        "interrupted": trainer.interrupted,
        "trained_fraction": trainer.schedule.fraction(trainer._position),
        "corpus": {"fingerprint": encoded.fingerprint, **stats.as_dict()},
        "kernel": {
            "backend": config.backend,
            "isa": kernels.isa() if config.backend == "cython" else None,
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


def _warn_of_collapse(trainer: Trainer) -> None:
    if not _attends(trainer.config):
        return
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
        return
    warnings.warn(
        f"attention has collapsed {sign}: raise attention_warmup (now {trainer.config.attention_warmup:g}) "
        f"or lower attention_alpha (now {trainer.config.attention_alpha:g})",
        stacklevel=3,
    )


def _cache_dir(output: str | os.PathLike[str] | None, cache_dir: str | os.PathLike[str] | None) -> Path:
    if cache_dir is not None:
        return Path(cache_dir)
    if output is not None:
        path = Path(output)
        return path.with_name(path.name + ".cache")
    return Path(tempfile.gettempdir()) / f"cawv-{os.getpid()}"


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
