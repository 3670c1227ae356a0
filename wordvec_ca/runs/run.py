"""Training, from a text to a saved model: encoding, training with checkpoints, signals and the record."""

from __future__ import annotations

import dataclasses
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Never, Protocol

from wordvec_ca import kernels
from wordvec_ca.corpus import Corpus, DocumentTags, EncodedCorpus, ReadingProgress, Vocab
from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.models import (
    Callback,
    EmbeddingModel,
    ResolvedConfig,
    TrainConfig,
    check_memory,
    check_room,
    check_type,
    tags_of_model,
)
from wordvec_ca.resampling import ResampledModels
from wordvec_ca.runs.displays import progress_display, style_for_python
from wordvec_ca.runs.request import BASE_SETTING, RunRequest
from wordvec_ca.runs.resume_options import changed_config, check_pools, check_state, check_texts, differences
from wordvec_ca.runs.run_directory import UnfinishedRun, check_run_output
from wordvec_ca.runs.texts import DIGESTS, Texts, check_not_learned, digests_of_files, remembered_fields
from wordvec_ca.runs.warm_start import (
    BASE,
    anchor,
    begin_from_model,
    begin_from_vectors,
    continued_config,
    expanded_vocab,
    first_vectors,
)
from wordvec_ca.specs.options import OPTIONS, check_together, meant_option, options_set
from wordvec_ca.text import find_files
from wordvec_ca.training import (
    DEFAULT_INTERVAL,
    CheckpointSchedule,
    CollapseWatch,
    Trainer,
    isa_in_use,
    parse_interval,
    run_record,
)
from wordvec_ca.vectors import KeyedVectors


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
    progress: bool | None = None,
    **options: Never,
) -> EmbeddingModel:
    """Train a model.

    ``config`` defines what is learned, and how. The other parameters concern only this run: where its text
    and its files are, with which parameters it begins, and which functions receive its progress.

    Parameters
    ----------
    corpus : path, list of paths, or iterable of token lists or lines
        The text (see ``encode_corpus``), or an ``EncodedCorpus`` from an earlier call.
    config : TrainConfig, optional
        Options.
    output : path, optional
        Directory in which the model is saved, at the end or when the run is stopped.
    overwrite : bool, default False
        Replace that directory if it exists, and remove an unfinished run with that output.
    callbacks : sequence of callable
        Functions that are called with a ``Progress`` about once a second and at the end of each epoch. If one
        returns a true value, the run stops.
    valid : corpus, optional
        Held-out text; its loss is measured at the end of each epoch.
    vocab : Vocab or path, optional
        Vocabulary to use instead of that of the corpus.
    cache_dir : path, optional
        Folder for the encoded text; by default beside the output, or in the system's temporary directory.
    keep_cache : bool, default False
        Keep the encoded text in ``cache_dir``, and use it again if nothing has changed.
    no_cache : bool, default False
        Do not store the encoded text, but read the text again in every epoch (see ``stream_corpus``).
    encoding_progress : callable, optional
        See ``encode_corpus``.
    checkpoint_every : str, default "10m"
        A time (``30s``, ``10m``, ``2h``) or a number of tokens (``5M``) after which a checkpoint is written
        to ``OUTPUT.run``, or ``never``; see ``resume``. With the default, the interval grows if writing would
        take more than a fiftieth of the time. Without ``output`` no checkpoints are written.
    continue_from : path, optional
        A model directory: begin with its parameters, words and counts. Words that occur only in the corpus
        are added (see ``expanded_vocab``). By default ``config`` is that of the model (see
        ``continued_config``).
    init_vectors : path, optional
        A file of vectors in any format that ``KeyedVectors.load`` reads: begin with these vectors for the
        words in it.
    progress : bool, optional
        Whether to show the progress of the run; by default it is shown on a terminal and in notebooks,
        unless ``callbacks`` or ``encoding_progress`` are given.
    **options
        Not allowed; the error explains that the options of training belong in ``config``.

    Returns
    -------
    EmbeddingModel
        ``.wv`` holds the vectors; ``.record["interrupted"]`` is true if Ctrl-C cut the run short.

    Raises
    ------
    DataError
        The corpus cannot be used, the output cannot be written, or training diverged.
    OptionError
        An option is outside its limits, or cannot be combined with another.
    OutputExistsError
        The output, or an unfinished run with that output, exists.
    TypeError
        ``config`` is not a ``TrainConfig``, ``corpus`` is None, ``callbacks`` is not a sequence of callables,
        or options are given outside a ``TrainConfig``.
    """
    _check_call(corpus, options)
    if config is not None:
        check_type(config)
    elif continue_from is not None:
        config = continued_config(continue_from, remembered_fields(continue_from, corpus))
    request = RunRequest(
        config=ResolvedConfig.of(config or TrainConfig()),
        corpus=corpus,
        valid=valid,
        validates=valid is not None,
        vocab=Vocab.load(vocab) if isinstance(vocab, str | os.PathLike) else vocab,
        output=output,
        overwrite=overwrite,
        cache_dir=cache_dir,
        keep_cache=keep_cache,
        no_cache=no_cache,
        checkpoint_every=checkpoint_every,
        continue_from=continue_from,
        init_vectors=init_vectors,
    )
    return run_request(request, callbacks=callbacks, encoding_progress=encoding_progress, progress=progress)


def run_request(
    request: RunRequest,
    *,
    callbacks: Sequence[Callback] = (),
    encoding_progress: Any = None,
    progress: bool | None = None,
) -> EmbeddingModel:
    """Carry out a request; parameters, result and errors are those of ``train``, which makes a request."""
    # The command line makes its own request, which contains the typed command and the settings that repeat
    # it.
    session = Session(callbacks, encoding_progress)
    with ExitStack() as cleanup:
        cleanup.enter_context(session.shown(progress))
        request, first = _prepare(request, session)
        run = None
        if request.output is not None and parse_interval(request.checkpoint_every) is not None:
            run = cleanup.enter_context(UnfinishedRun.begin(request))
        texts = cleanup.enter_context(Texts(request, run, request.config, progress=session.progress))
        encoded = texts.text(request.corpus, request.vocab)
        held_out = texts.held_out(request.valid, encoded.vocab)
        if request.config.resamples is not None:
            return _resampled(request, request.config, session, run, encoded, held_out)
        model, origin = _initialised(request, request.config, encoded, run, first)
        if run is not None:
            run.keep_tree(model.tree)
        trainer = Trainer(model, encoded.tokens, None if held_out is None else held_out.tokens)
        checkpoint = (
            None
            if run is None
            else CheckpointSchedule(run.checkpoints, run.request.run, encoded, held_out, None, origin)
        )
        model.record["changes"] = origin
        with ended_by_signals(trainer):
            _fit(trainer, encoded, session, run, checkpoint, request)
            _save(trainer, request, run, checkpoint)
        return model


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
    progress: bool | None = None,
) -> EmbeddingModel:
    """Continue a run that was cut short, from its last checkpoint, or from the beginning if it has none.

    With one worker the model is bit for bit that of an uninterrupted run.

    Parameters
    ----------
    directory : path
        The run's ``output``, or its folder ``OUTPUT.run``.
    corpus, valid : corpus, optional
        The texts of the run, needed only if they were not files and their encoded form no longer exists.
        Files must be those of the run.
    vocab : Vocab or path, optional
        The vocabulary; it must be that of the run, which has its own copy.
    changes : mapping, optional
        Options to change, with their new values; only those in ``CHANGEABLE``.
    accept_changes : bool, default False
        Continue even if the files of the corpus have changed (with the text as it was read), or if the
        instruction set or the way to draw negatives has changed.
    callbacks, encoding_progress
        As in ``train``.
    checkpoint_every : str, optional
        As in ``train``; by default the value with which the run began.
    progress : bool, optional
        As in ``train``.

    Returns
    -------
    EmbeddingModel
        As from ``train``.

    Raises
    ------
    DataError
        There is nothing to resume; or the corpus, the vocabulary or an option has changed, so that the result
        would not be that of an uninterrupted run.
    ValueError
        An option is outside its limits.
    TypeError
        ``callbacks`` is not a sequence of callables.
    """
    session = Session(callbacks, encoding_progress)
    with ExitStack() as cleanup:
        cleanup.enter_context(session.shown(progress))
        run = cleanup.enter_context(UnfinishedRun.open(directory))
        request = run.request
        if request.is_saved():  # the process was killed after saving, before it could tidy up
            model = EmbeddingModel.load(run.output)
            run.remove()
            return model
        check_texts(run, corpus, valid, vocab)
        former = next(iter(run.newest_states()), None)
        several = request.config.resamples is not None
        begun = request.config if former is None or several else ResolvedConfig.from_dict(former.config)
        config = changed_config(begun, changes or {})
        kernels.load(config.backend)
        if former is not None:
            workers = former.config["workers"] if several else config.workers
            now = dataclasses.replace(config, workers=workers)
            check_state(run, former, now, isa_in_use(config), accept_changes=accept_changes)
        run.at_work = True
        if checkpoint_every is not None:
            run.checkpoint_every(checkpoint_every)
        texts = cleanup.enter_context(
            Texts(
                request, run, config, former=former, accept_changes=accept_changes, progress=session.progress
            )
        )
        encoded = texts.text(request.corpus if corpus is None else corpus, run.vocab())
        held_out = texts.held_out(request.valid if valid is None else valid, encoded.vocab)
        if several:
            request = dataclasses.replace(request, overwrite=run.may_overwrite())
            return _resampled(request, config, session, run, encoded, held_out)
        if former is None:
            model, origin = _initialised(request, config, encoded, run)
            run.keep_tree(model.tree)
        else:
            check_memory(config, len(encoded.vocab))
            tags = _tags(request, config, encoded)
            model, origin = EmbeddingModel(config, encoded.vocab, tags, run.folder), []
            model.tree = run.tree(len(encoded.vocab))
            former = run.checkpoints.load(model)
        trainer = Trainer(model, encoded.tokens, None if held_out is None else held_out.tokens)
        checkpoint = CheckpointSchedule(run.checkpoints, run.request.run, encoded, held_out, former, origin)
        if former is not None:
            check_pools(former, trainer, accept_changes=accept_changes)
            trainer.restore(former)
            checkpoint.changes += differences(former, config)
        with ended_by_signals(trainer):
            _fit(trainer, encoded, session, run, checkpoint, request)
            _save(trainer, dataclasses.replace(request, overwrite=run.may_overwrite()), run, checkpoint)
        return model


class Session:
    """The part of a run that this process does: when it began, and which functions receive its progress."""

    def __init__(self, callbacks: Sequence[Callback], progress: ReadingProgress | None) -> None:
        if not isinstance(callbacks, Iterable) or not all(map(callable, found := list(callbacks))):
            raise TypeError(f"callbacks is {callbacks!r}; give a list of callables, as callbacks=[show]")
        self.callbacks: list[Callback] = found
        self.progress = progress
        self.started = time.time()

    @contextmanager
    def shown(self, progress: bool | None) -> Iterator[None]:
        """Show the progress within the block, if the argument ``progress`` of ``train`` asks for it."""
        style = "none"
        if progress:
            style = style_for_python("lines")
        elif progress is None and not self.callbacks and self.progress is None:
            style = style_for_python()
        with progress_display(style) as (displays, reading):
            self.callbacks += displays
            self.progress = self.progress or reading
            yield


def _check_call(corpus: object, options: Mapping[str, object]) -> None:
    """Raise a TypeError for wrong arguments that shows what to write instead."""
    if options:
        for name in options:
            if name not in TrainConfig.__dataclass_fields__:
                meant = meant_option(name)
                hint = f". Did you mean {meant}?" if meant else ""
                raise TypeError(f"train() and TrainConfig have no parameter {name!r}{hint}")
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise TypeError(
            "give the options of training in a TrainConfig: from wordvec_ca import TrainConfig, then "
            f"train(corpus, TrainConfig({given}), …)"
        )
    if corpus is None:
        raise TypeError(
            "corpus is None; give the name of a file, a list of names, or sentences as lists of words"
        )


def _prepare(request: RunRequest, session: Session) -> tuple[RunRequest, KeyedVectors | None]:
    """Check all that can be checked before the text is read; return the request with its vocabulary, and the
    initial vectors.
    """
    config = request.config
    of_run = options_set(request) | ({"read_vocab"} if request.vocab is not None else set())
    for name in sorted(of_run):
        OPTIONS[name].check_model(config.model)
    check_together(of_run | options_set(config))
    if request.continue_from is None and (warning := config.alpha_warning()):
        warnings.warn(warning, stacklevel=4)
    if (config.replicas or 1) > config.threads:
        warnings.warn(
            OptionWarning(
                Option("replicas"),
                f" is {config.replicas}, but each needs a thread and ",
                Option("workers"),
                f" is {config.threads}: there will be {config.threads}",
            ),
            stacklevel=4,
        )
    kernels.load(config.backend)  # fails at once if the backend cannot run here
    parse_interval(request.checkpoint_every)
    if request.output is not None:
        check_run_output(request.output, overwrite=request.overwrite)
    if isinstance(request.valid, str | os.PathLike):
        find_files([request.valid])  # so that a wrong name is reported before the corpus is read
    if request.continue_from is not None:
        if isinstance(request.corpus, EncodedCorpus):
            raise ValueError("continue_from chooses the words again: give the corpus as text, not encoded")
        assert request.corpus is not None
        check_not_learned(request.continue_from, request.corpus, request.valid)
        vocab = expanded_vocab(request.corpus, config, request.continue_from, progress=session.progress)
        request = dataclasses.replace(request, vocab=vocab)
    first = None
    if request.init_vectors is not None:
        first = first_vectors(request.init_vectors, config.vector_size)
    return request, first


def _initialised(
    request: RunRequest,
    config: ResolvedConfig,
    encoded: EncodedCorpus,
    run: UnfinishedRun | None,
    first: KeyedVectors | None = None,
) -> tuple[EmbeddingModel, list[dict[str, Any]]]:
    """Return a model with its initial parameters, and the record of their origin."""
    vocab = encoded.vocab
    tags = _tags(request, config, encoded)
    check_memory(config, len(vocab))
    if request.output is not None:
        check_room(request.output, config, len(vocab), documents=0 if tags is None else tags.n)
    model = EmbeddingModel(config, vocab, tags, None if run is None else run.folder)
    model.initialise()
    if request.continue_from is not None:
        return model, [{"at": 0.0, **begin_from_model(model, request.continue_from)}]
    if request.init_vectors is not None:
        first = first or first_vectors(request.init_vectors, config.vector_size)
        return model, [{"at": 0.0, **begin_from_vectors(model, first, request.init_vectors)}]
    return model, []


def _tags(request: RunRequest, config: ResolvedConfig, encoded: EncodedCorpus) -> DocumentTags | None:
    """Return the documents of the model that is trained further, if any, followed by those of the text."""
    if not config.spec.documents:
        return None
    if encoded.documents is None:
        raise DataError(
            f"the lines of this encoded text are not documents, which {config.model} needs: encode it with "
            "TextOptions(documents=True), or give the text"
        )
    if request.continue_from is None:
        return encoded.documents
    return encoded.documents.after(tags_of_model(request.continue_from))


def _resampled(
    request: RunRequest,
    config: ResolvedConfig,
    session: Session,
    run: UnfinishedRun | None,
    encoded: EncodedCorpus,
    held_out: EncodedCorpus | None,
) -> EmbeddingModel:
    """Train models of resampled text, and save and return their mean."""
    check_memory(config, len(encoded.vocab))
    if request.output is not None:
        present = 0 if run is None else run.resampled_bytes()
        check_room(request.output, config, len(encoded.vocab), present)
    place = () if run is None else (run.folder, run.checkpoints.interval, run.request.run)
    with ResampledModels(config, encoded, held_out, *place) as models, ended_by_signals(models):
        models.train(session.callbacks)
        models.publish(session.started)
        models.model.sorted_log = encoded.sorted_log
        models.model.record |= {
            "command": request.command,
            "settings": request.as_settings() if request.settings is None else dict(request.settings),
            "changes": [],
        }
        if run is not None:
            models.model.record["run"] = request.run
        _save(models, request, run, None)
        return models.model


def _fit(
    trainer: Trainer,
    encoded: EncodedCorpus,
    session: Session,
    run: UnfinishedRun | None,
    checkpoint: CheckpointSchedule | None,
    request: RunRequest,
) -> None:
    """Train, and record the run in the model."""
    model = trainer.model
    digests = list(digests_of_files(request.corpus).values())
    trainer.run([*session.callbacks, CollapseWatch(trainer)], checkpoint)
    changes = model.record.get("changes", []) if checkpoint is None else checkpoint.changes
    if trainer.config.anchored and request.continue_from is not None:
        try:
            anchor(model, request.continue_from, changes)
        except DataError:  # the former model cannot be read: keep at least what was trained
            if checkpoint is not None:
                checkpoint.write(trainer)
            raise
    settings = request.as_settings() if request.settings is None else dict(request.settings)
    for change in changes:
        if BASE in change:
            settings[BASE_SETTING] = change[BASE]
    model.record = {
        "command": request.command,
        "settings": settings,
        "changes": changes,
        DIGESTS: digests,
        **run_record(trainer, encoded, session.started, interrupted=trainer.cut_short),
    }
    if not model.record["predictions"] and not trainer.cut_short:
        warnings.warn(_nothing_predicted(trainer.config), stacklevel=3)
    model.history, model.sorted_log = trainer.history, encoded.sorted_log
    if run is not None and checkpoint is not None:
        model.record["run"] = run.request.run
        model.record["sessions"] = checkpoint.sessions


def _save(
    trainer: Trainer | ResampledModels,
    request: RunRequest,
    run: UnfinishedRun | None,
    checkpoint: CheckpointSchedule | None,
) -> None:
    """Save the model if there is an output, and remove the run's folder if the run is finished."""
    if request.output is not None:
        try:
            mark = None if run is None else request.run
            _save_somewhere(trainer.model, request.output, overwrite=request.overwrite, mark=mark)
            if trainer.model.documents is not None:
                trainer.model.documents.use_saved(Path(request.output))
        except DataError:
            if checkpoint is not None and isinstance(trainer, Trainer):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the disk may still be full, which the error reports
                    checkpoint.write(trainer)
            raise
    if run is not None and not trainer.cut_short:
        run.remove()


def _save_somewhere(
    model: EmbeddingModel, output: str | os.PathLike[str], *, overwrite: bool, mark: str | None
) -> None:
    """Save a trained model; if that fails, save it elsewhere before raising the error."""
    try:
        model.save(output, overwrite=overwrite, mark=mark)
    except DataError as error:
        fallback = Path(tempfile.mkdtemp(prefix="cawv-")) / os.path.basename(os.path.realpath(output))
        try:
            model.save(fallback)
        except DataError:
            os.rmdir(fallback.parent)
            raise error from None
        raise DataError(
            f"{error}. The trained model is in {str(fallback)!r} instead: move it from there"
        ) from error


def _nothing_predicted(config: ResolvedConfig) -> str:
    dropped = f"after sub-sampling (sample is {config.sample:g}) " if config.sample else ""
    return (
        f"not one prediction was made, so the vectors are as they began, random: {dropped}no line had two "
        f"words left; give more text{' or sample 0' if config.sample else ', with longer lines'}"
    )


class Interruptible(Protocol):
    """Interface of a trainer, or of a run on a cluster, that can be ended in order."""

    interrupted: bool

    def interrupt(self) -> None:
        """End soon."""


@contextmanager
def ended_by_signals(trainer: Interruptible) -> Iterator[None]:
    """Let the first Ctrl-C within the block end and save the run; the second raises KeyboardInterrupt."""
    # SIGTERM and SIGHUP have the same effect if the program handles them, as ``cawv`` does. A signal that
    # was ignored before stays ignored.

    def stop(number: int, frame: FrameType | None) -> None:
        if trainer.interrupted:
            raise KeyboardInterrupt
        trainer.interrupt()
        warnings.warn(
            "interrupted: the run ends soon and saves what it has trained; a second Ctrl-C stops it now",
            stacklevel=2,
        )

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
