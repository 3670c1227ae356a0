"""A run that is under way or was cut short: the folder OUTPUT.run, from which ``resume`` goes on.

::

    run.json             what was asked for; written before anything else
    vocab.tsv            the vocabulary that was given, if one was
    text/, valid/        the encoded texts (see `wordvec_ca.cache`), unless they are kept elsewhere
    000001.checkpoint    see `wordvec_ca.checkpoint`
    lock                 held by the process at work

When the model is saved the folder goes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from wordvec_ca import cache
from wordvec_ca._version import __version__
from wordvec_ca.atomic_file import atomic_file
from wordvec_ca.checkpoint import DEFAULT_INTERVAL, Checkpoints, Interval, State, parse_interval
from wordvec_ca.config import TrainConfig
from wordvec_ca.corpus import Corpus, EncodedCorpus, encode_corpus, stream_corpus
from wordvec_ca.divergence import TrainingDiverged
from wordvec_ca.encoding import Progress
from wordvec_ca.errors import DataError, OutputExistsError
from wordvec_ca.model import clear_scraps, read_record
from wordvec_ca.vocab import Vocab

RUN_FORMAT = 1
OURS = {"run.json", "vocab.tsv", "text", "valid", "lock"}


@dataclass(frozen=True)
class Request:
    """What was asked for, as far as the run can be begun again from it.

    Attributes
    ----------
    run : str
        A random name, which its checkpoints and its model carry too.
    config : dict
        The resolved ``TrainConfig``.
    corpus, valid : list of str or None
        Absolute paths and patterns, or ``-``; None for anything but paths.
    validates : bool
        Whether there is held-out text.
    vocab_raw : list of int or None
        ``raw_tokens`` and ``raw_types`` of the vocabulary that was given; None if none was.
    cache_dir : str or None
        Where encoded texts go.
    keep_cache, no_cache : bool
        Whether they stay there, and whether they are not stored at all.
    overwrite : bool
        Whether an existing model may be replaced.
    checkpoint_every : str
        See ``parse_interval``.
    command : str or None
        What was typed.
    continue_from, init_vectors : str or None
        Where the parameters come from with which the run begins.
    """

    run: str
    config: dict[str, Any]
    corpus: list[str] | None
    valid: list[str] | None
    validates: bool
    vocab_raw: list[int] | None
    cache_dir: str | None
    keep_cache: bool
    no_cache: bool
    overwrite: bool
    checkpoint_every: str
    command: str | None
    continue_from: str | None
    init_vectors: str | None


class UnfinishedRun:
    """The folder of one run, locked while this object is open; a context manager.

    If the block ends with an exception, the folder of a new run goes, unless there is a checkpoint in it;
    then a warning says how to go on. Make one with `begin` or `open`.

    Parameters
    ----------
    output : Path
        The model directory to be.
    request : Request
        What was asked for.
    lock : file or None
        The lock that is held.
    """

    def __init__(self, output: Path, request: Request, lock: IO[bytes] | None) -> None:
        self.output, self.request, self._lock = output, request, lock
        self.folder = run_folder(output)
        self.checkpoints = Checkpoints(self.folder, _interval(request.checkpoint_every))
        self.finished = False
        self._begun_before = False

    @classmethod
    def begin(
        cls,
        output: str | os.PathLike[str],
        config: TrainConfig,
        *,
        corpus: Corpus | EncodedCorpus,
        valid: Corpus | None,
        vocab: Vocab | None,
        cache_dir: str | os.PathLike[str] | None,
        keep_cache: bool,
        no_cache: bool,
        overwrite: bool,
        checkpoint_every: str,
        command: str | None,
        continue_from: str | os.PathLike[str] | None = None,
        init_vectors: str | os.PathLike[str] | None = None,
    ) -> UnfinishedRun:
        """Make the folder of a new run; the parameters are those of ``train``.

        Raises
        ------
        DataError
            There is an unfinished run already and ``overwrite`` is false, another process is at work on it,
            or the folder cannot be written.
        """
        request = Request(
            run=secrets.token_hex(4),
            config=config.as_dict(),
            corpus=_paths(corpus),
            valid=_paths(valid),
            validates=valid is not None,
            vocab_raw=None if vocab is None else [vocab.raw_tokens, vocab.raw_types],
            cache_dir=None if cache_dir is None else os.path.abspath(cache_dir),
            keep_cache=keep_cache,
            no_cache=no_cache,
            overwrite=overwrite,
            checkpoint_every=checkpoint_every,
            command=command,
            continue_from=None if continue_from is None else os.path.abspath(continue_from),
            init_vectors=None if init_vectors is None else os.path.abspath(init_vectors),
        )
        target = Path(os.path.abspath(output))
        folder = run_folder(target)
        made = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = _lock(folder, os.fspath(output))
        except OSError as error:
            raise DataError(
                f"cannot write to {str(folder)!r}, where checkpoints go: {error.strerror or error}"
            ) from error
        try:
            if not made:
                _make_way(folder, target, overwrite)
            if vocab is not None:
                vocab.save(folder / "vocab.tsv")
            record = {"format": RUN_FORMAT, "version": __version__, **asdict(request)}
            with atomic_file(folder / "run.json") as file:
                file.write(json.dumps(record, indent=1).encode())
        except OSError as error:
            _release(lock)
            if made:
                shutil.rmtree(folder, ignore_errors=True)
            raise DataError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from error
        except BaseException:
            _release(lock)
            raise
        return cls(target, request, lock)

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> UnfinishedRun:
        """Open the run of a model directory to be, which may also be given as its OUTPUT.run.

        Raises
        ------
        DataError
            There is none, it cannot be read, or another process is at work on it.
        """
        target = Path(os.path.abspath(directory))
        if target.name.endswith(".run") and (target / "run.json").is_file():
            target = target.with_name(target.name.removesuffix(".run"))
        folder = run_folder(target)
        if not (folder / "run.json").is_file():
            raise DataError(_nothing_to_resume(os.fspath(directory), target, folder))
        try:
            lock = _lock(folder, os.fspath(directory))
        except OSError as error:
            raise DataError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from error
        try:
            run = cls(target, _read_request(folder), lock)
            run._begun_before = True
            return run
        except BaseException:
            _release(lock)
            raise

    def __enter__(self) -> UnfinishedRun:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None and not self._begun_before and not self.checkpoints.paths():
                self.remove()
            elif not self.finished and self._lock is not None:
                self.say_how_to_go_on(diverged=isinstance(error, TrainingDiverged))
        finally:
            _release(self._lock)
            self._lock = None

    def checkpoint_every(self, interval: str) -> None:
        """Change how often a checkpoint is written (see ``parse_interval``)."""
        self.checkpoints.interval = _interval(interval)

    def say_how_to_go_on(self, *, diverged: bool = False) -> None:
        """Warn that the run is not finished, and say what continues it."""
        with contextlib.suppress(DataError):
            state = self.checkpoints.newest_state()
            if state is not None:
                lower = " --alpha LOWER" if diverged else ""
                warnings.warn(
                    f"the run is kept, up to its checkpoint at {state.fraction:.1%}: "
                    f"cawv train --resume {_shown(self.output)}{lower} continues it",
                    stacklevel=3,
                )

    def remove(self) -> None:
        """Remove the folder, the encoded texts that are not kept, and scraps of an interrupted save."""
        self.finished = True
        self._clear_elsewhere()
        _remove(self.folder)

    def _clear_elsewhere(self) -> None:
        for which in ("text", "valid"):
            if self._own(which):
                shutil.rmtree(self.text_folder(which), ignore_errors=True)
        if self.request.cache_dir is not None and not self.request.keep_cache:
            with contextlib.suppress(OSError):
                (Path(self.request.cache_dir) / f"run-{self.request.run}").rmdir()
            with contextlib.suppress(OSError):
                Path(self.request.cache_dir).rmdir()
        with contextlib.suppress(OSError):
            clear_scraps(self.output, self.request.run)

    def text_folder(self, which: str) -> Path:
        """Return where the encoded ``text`` or ``valid`` is."""
        if not self._own(which):
            kept = self.request.cache_dir
            return Path(kept) if kept else self.output.with_name(self.output.name + ".cache")
        if self.request.cache_dir is None:
            return self.folder / which
        return Path(self.request.cache_dir) / f"run-{self.request.run}" / which

    def _own(self, which: str) -> bool:
        return which == "valid" or not self.request.keep_cache

    def vocab(self) -> Vocab | None:
        """Return the vocabulary that was given, if one was."""
        if self.request.vocab_raw is None:
            return None
        vocab = Vocab.load(self.folder / "vocab.tsv")
        vocab.raw_tokens, vocab.raw_types = self.request.vocab_raw
        return vocab

    def is_saved(self) -> bool:
        """Return whether the finished model of this very run is in place."""
        record = self._saved_record()
        return record.get("run") == self.request.run and record.get("interrupted") is False

    def may_overwrite(self) -> bool:
        """Return whether a model in the output's place may be replaced, as an earlier part of this run."""
        return self.request.overwrite or self._saved_record().get("run") == self.request.run

    def _saved_record(self) -> dict[str, Any]:
        with contextlib.suppress(DataError):
            return read_record(self.output)
        return {}

    def encode(
        self,
        which: str,
        corpus: Corpus | None,
        config: TrainConfig,
        vocab: Vocab | None,
        *,
        expected: str | None = None,
        accept_changes: bool = False,
        progress: Progress | None = None,
    ) -> EncodedCorpus:
        """Encode a text so that it can be found again, or find it again.

        Parameters
        ----------
        which : {"text", "valid"}
            Which of the run's texts.
        corpus : Corpus or None
            The text; None if it cannot be read a second time.
        config : TrainConfig
            How text is split and words are chosen.
        vocab : Vocab or None
            Words that are given.
        expected : str, optional
            Fingerprint that the encoded text must have.
        accept_changes : bool
            Use the text as it was encoded although its files have changed since.
        progress : callable, optional
            See ``encode_corpus``.

        Raises
        ------
        DataError
            The text has changed, or is gone.
        """
        folder = self.text_folder(which)
        if self._begun_before and not self.request.no_cache:
            found = cache.reopen(folder)
            whole = not isinstance(found, str) and (
                self._own(which) if expected is None else found[0].fingerprint == expected
            )
            if whole:
                assert not isinstance(found, str)
                encoding, change = found
                if change and not accept_changes:
                    raise DataError(
                        f"{change} since the run began. Put the old file back; or continue with the text as "
                        f"it was read then: cawv train --resume {_shown(self.output)} --accept-changes"
                    )
                if change:
                    warnings.warn(f"{change}; the text is used as it was read then", stacklevel=3)
                tokens = np.memmap(folder / "tokens.i32", dtype=np.int32, mode="r")
                reason = "the run continues"
                return EncodedCorpus(tokens, *encoding, directory=folder, reused=True, reason=reason)
            if expected is not None and not self._own(which):
                folder = self.folder / which  # what is kept there now belongs to another run
        if corpus is None or (self._begun_before and isinstance(corpus, list) and "-" in corpus):
            raise DataError(
                f"the {_NAMES[which]} cannot be read again, because it was not given as files; start the run "
                "anew, or in Python give it once more: resume(..., corpus=...)"
            )
        options = encoding_options(config, vocab, progress)
        if self.request.no_cache:
            encoded = stream_corpus(corpus, **options)
        else:
            encoded = encode_corpus(corpus, cache_dir=folder, keep=True, **options)
        if expected is not None and encoded.fingerprint != expected:
            encoded.close()
            raise DataError(
                f"the {_NAMES[which]} has changed since the run began: its words or their order are not the "
                "same. Put the old text back, or start a new run (--overwrite); cawv train NEW "
                "--continue-from MODEL trains a finished model on more text"
            )
        return encoded

    def check_texts(self, corpus: Any, valid: Any, vocab: Vocab | str | os.PathLike[str] | None) -> None:
        """Raise a DataError if texts or words are given once more that are not those of the run."""
        for which, given, begun in (
            ("text", corpus, self.request.corpus),
            ("valid", valid, self.request.valid),
        ):
            names = _paths(given)
            if names is not None and names != begun:
                raise DataError(
                    f"the {_NAMES[which]} was {_listed(begun)} when the run began and is {_listed(names)} "
                    "now: that would be another run. Leave it out, or start a new run"
                )
        if vocab is not None:
            given_vocab = vocab if isinstance(vocab, Vocab) else Vocab.load(vocab)
            if self.vocab() != given_vocab:
                raise DataError(
                    "the vocabulary is not the one with which the run began: that would be another run. "
                    "Leave it out, or start a new run"
                )

    def check(self, state: State, config: TrainConfig, isa: str | None, *, accept_changes: bool) -> None:
        """Raise a DataError if the run would not go on as it was begun; warn if merely its bits differ."""
        if state.run != self.request.run:
            raise DataError(
                f"the checkpoint in {str(self.folder)!r} is of another run: copy a run's folder as a whole"
            )
        if state.isa != isa:
            change = f"the run began with the instruction set {state.isa} and would go on with {isa}"
            if not accept_changes:
                raise DataError(
                    f"{change}: its last bits would differ. Set CAWV_ISA={state.isa} where the processor has "
                    "it, or give --accept-changes"
                )
            warnings.warn(f"{change}: the last bits will differ", stacklevel=3)
        if state.version != __version__:
            warnings.warn(
                f"the run began with version {state.version} and goes on with {__version__}: "
                "the result may differ in its last bits",
                stacklevel=3,
            )
        begun = TrainConfig.from_dict(state.config)
        if begun.workers != config.workers and 1 in (begun.workers, config.workers):
            warnings.warn(
                f"the run had {begun.workers} workers and goes on with {config.workers}: "
                "it will not be the same bit for bit",
                stacklevel=3,
            )


_NAMES = {"text": "corpus", "valid": "held-out text"}


def _interval(text: str) -> Interval:
    interval = parse_interval(text) or Interval(seconds=float("inf"))  # none but when the run is interrupted
    return dataclasses.replace(interval, stretch=text == DEFAULT_INTERVAL)


def encoding_options(config: TrainConfig, vocab: Vocab | None, progress: Progress | None) -> dict[str, Any]:
    """Return the arguments that ``encode_corpus`` and ``stream_corpus`` share."""
    return {
        "tokenizer": config.tokenizer,
        "lowercase": config.lowercase,
        "min_count": config.min_count,
        "max_final_vocab": config.max_final_vocab,
        "vocab": vocab,
        "field": config.field,
        "count_memory": config.count_memory,
        "phrases": config.phrases,
        "workers": config.workers,
        "progress": progress,
    }


def _listed(names: list[str] | None) -> str:
    return "not made of files" if names is None else ", ".join(map(repr, names))


def run_folder(output: str | os.PathLike[str]) -> Path:
    """Return where the unfinished run of a model directory is."""
    path = Path(os.path.abspath(output))
    return path.with_name(path.name + ".run")


def _nothing_to_resume(given: str, target: Path, folder: Path) -> str:
    if (target / "config.json").is_file():
        return (
            f"{given!r} is a finished model, so there is nothing to resume; "
            f"to train it further: cawv train TEXT --continue-from {given}"
        )
    return (
        f"there is no run to resume: {str(folder)!r} has no run.json. Give the --output of the run, or its "
        "folder, OUTPUT.run"
    )


def _read_request(folder: Path) -> Request:
    path = folder / "run.json"
    try:
        record = json.loads(path.read_bytes())
        if record.pop("format") != RUN_FORMAT:
            raise ValueError("it has a format that this version does not know")
        record.pop("version")
        request = Request(**record)
        TrainConfig.from_dict(request.config)
        parse_interval(request.checkpoint_every)
        if not request.run.isalnum() or len(request.run) > 16:
            raise ValueError(f"its run is {request.run!r}")
        for paths in (request.corpus, request.valid):
            if paths is not None and not all(isinstance(name, str) for name in paths):
                raise ValueError("its corpus is not a list of names")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{str(path)!r} cannot be used: {error}; start the run anew") from error
    return request


def _paths(corpus: Any) -> list[str] | None:
    """Return absolute names if a corpus is given by names, else None."""
    given: Sequence[Any] = [corpus] if isinstance(corpus, str | os.PathLike) else corpus
    if not isinstance(given, list | tuple) or not given:
        return None
    if not all(isinstance(name, str | os.PathLike) for name in given):
        return None
    return [os.fspath(name) if os.fspath(name) == "-" else os.path.abspath(name) for name in given]


def _make_way(folder: Path, target: Path, overwrite: bool) -> None:
    """Clear the folder of an earlier run, unless that would lose work."""
    others = sorted(
        path.name
        for path in folder.iterdir()
        if path.name not in OURS and not path.name.endswith((".checkpoint", ".tmp"))
    )
    if others:
        raise DataError(
            f"{str(folder)!r} holds {others[0]!r}, which is not part of a run: it is not overwritten"
        )
    checkpoints = Checkpoints(folder, Interval())
    if checkpoints.paths() and not overwrite:
        done = ""
        with contextlib.suppress(DataError):
            state = checkpoints.newest_state()
            done = f", {state.fraction:.1%} done" if state else ""
        raise OutputExistsError(
            f"{str(folder)!r} holds an unfinished run{done}: cawv train --resume {_shown(target)} continues "
            "it; --overwrite drops it and starts anew"
        )
    with contextlib.suppress(DataError):
        UnfinishedRun(target, _read_request(folder), None)._clear_elsewhere()
    for path in folder.iterdir():
        if path.name != "lock":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _remove(folder: Path) -> None:
    """Remove a run's folder, ``run.json`` last, so that it can be recognised; keep what is not ours."""
    if not folder.is_dir():
        return
    last = ("lock", "run.json")
    for path in sorted(folder.iterdir(), key=lambda path: last.index(path.name) if path.name in last else -1):
        if path.name in ("text", "valid"):
            shutil.rmtree(path, ignore_errors=True)
        elif path.name in OURS or path.name.endswith((".checkpoint", ".tmp")):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _lock(folder: Path, given: str) -> IO[bytes] | None:
    """Take the run for this process; the system gives it back however the process ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    file = open(folder / "lock", "ab")  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise DataError(f"another process is training {given!r}; wait for it, or end it first") from None
    except OSError:  # some network file systems have no locks
        pass
    return file


def _release(lock: IO[bytes] | None) -> None:
    if lock is not None:
        lock.close()


def _shown(path: Path) -> str:
    """Return a path as one would type it here."""
    import shlex

    with contextlib.suppress(ValueError):
        return shlex.quote(os.fspath(path.relative_to(Path.cwd())))
    return shlex.quote(os.fspath(path))
