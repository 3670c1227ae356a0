"""Training from a text to a saved model: encoding, the run and its checkpoints, signals, the record."""

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
from wordvec_ca.checkpoint import DEFAULT_INTERVAL, State, parse_interval
from wordvec_ca.collapse import CollapseWatch
from wordvec_ca.config import TrainConfig, check_type
from wordvec_ca.continuation import (
    begin_from_model,
    begin_from_vectors,
    continued_config,
    expanded_vocab,
    first_vectors,
)
from wordvec_ca.corpus import Corpus, EncodedCorpus, encode_corpus, stream_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.kernels import STATS
from wordvec_ca.keyedvectors import KeyedVectors
from wordvec_ca.model import EmbeddingModel, check_memory, check_output, check_room
from wordvec_ca.progress import Callback
from wordvec_ca.text import find_files
from wordvec_ca.trainer import Checkpointing, Trainer, isa_in_use
from wordvec_ca.unfinished_run import UnfinishedRun, encoding_options
from wordvec_ca.vocab import Vocab


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
    OutputExistsError
        If the output, or an unfinished run of that name, exists.
    TypeError
        If ``config`` is no ``TrainConfig``, or ``callbacks`` no sequence of callables.
    """
    if config is not None:
        check_type(config)
    callbacks = _listed(callbacks)
    if continue_from is not None:
        if vocab is not None or init_vectors is not None:
            raise ValueError("continue_from brings its own vocabulary and vectors: leave out the others")
        config = config or continued_config(continue_from, {})
    config = (config or TrainConfig()).resolved()
    if continue_from is None and (doubt := config.doubt()):
        warnings.warn(doubt, stacklevel=2)
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
    TypeError
        ``callbacks`` is no sequence of callables.
    """
    started = time.time()
    callbacks = _listed(callbacks)
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
            run.check(former, config, isa_in_use(config), accept_changes=accept_changes)
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


def _listed(callbacks: Sequence[Callback]) -> list[Callback]:
    """Return a list of the callbacks; something else would show only after the corpus was read."""
    if not isinstance(callbacks, Iterable) or not all(map(callable, found := list(callbacks))):
        raise TypeError(f"callbacks is {callbacks!r}; give a list of callables, as callbacks=[show]")
    return found


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
        if not model.record["predictions"] and not interrupted:
            warnings.warn(_nothing_predicted(trainer.config), stacklevel=2)
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
            "isa": isa_in_use(config),
            "drawn": int(hyper["drawn"][0]),
            "shared_by": int(hyper["shared_by"][0]),
            "n_private": int(hyper["n_private"][0]),
            "merge_every": int(hyper["merge_every"][0]) if hyper["n_private"][0] else None,
        },
        "loss_by_epoch": _none_for_nan(trainer.losses),
        "valid_loss_by_epoch": _none_for_nan(trainer.valid_losses),
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


def _nothing_predicted(config: TrainConfig) -> str:
    dropped = f"after sub-sampling (sample is {config.sample:g}) " if config.sample else ""
    return (
        f"not one prediction was made, so the vectors are as they began, random: {dropped}no line had two "
        f"words left; give more text{' or sample 0' if config.sample else ', with longer lines'}"
    )


def _none_for_nan(losses: Sequence[float]) -> list[float | None]:
    """Return what JSON can hold; nan is the loss of an epoch without a prediction."""
    return [None if math.isnan(loss) else loss for loss in losses]


def _cache_dir(output: str | os.PathLike[str] | None, cache_dir: str | os.PathLike[str] | None) -> Path:
    if cache_dir is not None:
        return Path(cache_dir)
    if output is not None:
        path = Path(output)
        return path.with_name(path.name + ".cache")
    return Path(tempfile.gettempdir()) / f"cawv-{os.getpid()}"
