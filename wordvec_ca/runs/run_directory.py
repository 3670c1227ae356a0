"""An unfinished run: the folder OUTPUT.run, from which ``resume`` continues it.

::

    run.json             the request for the run; written before anything else
    vocab.tsv            the vocabulary that the user gave, if any
    tree.npy             the tree of a model that is trained further, if it has one
    text/, valid/        the encoded texts (see `wordvec_ca.corpus.cache`), unless they are kept elsewhere
    000001.checkpoint    see `wordvec_ca.training.checkpoint`
    documents.work       rows of documents in training, and those that checkpoints do not contain any more:
    documents.base       see `wordvec_ca.training.document_journal`
    resamples/001/       checkpoints of the first model of resampled text, if there are such models
    lock                 held by the process at work

The folder is removed when the model is saved.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError, Option, OutputExistsError
from wordvec_ca.files import Storage, check_output, clear_leftovers, save_npy, still_named, take_lock
from wordvec_ca.formats import MODEL_FILES
from wordvec_ca.models import WORK, read_tree
from wordvec_ca.resampling import folder_of_model
from wordvec_ca.runs.request import REQUEST_FILE, RunRequest, absolute_names, request_in
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.training import BASE, Checkpoints, Interval, State, TrainingDiverged, parse_interval

OURS = {
    REQUEST_FILE,
    ModelFile.TREE,
    WORK,
    BASE,
    ModelFile.VOCAB,
    ModelFile.RARE,
    "text",
    "valid",
    "resamples",
    "lock",
}


class UnfinishedRun:
    """The folder of one run, a context manager that is locked while it is open.

    Create it with `begin` or `open`. If the block ends with an exception, the folder of a new run is removed,
    unless it contains a checkpoint; then a warning states how to continue.
    """

    def __init__(self, output: Path, request: RunRequest, lock: IO[bytes] | None) -> None:
        self.output, self.request, self._lock = output, request, lock
        self.folder = run_folder(output)
        self.checkpoints = Checkpoints(Storage(self.folder), parse_interval(request.checkpoint_every))
        self.finished = False
        self.begun_before = False
        self.at_work = True  # an error before this point has its own message

    @classmethod
    def begin(cls, request: RunRequest) -> UnfinishedRun:
        """Create the folder of a new run."""
        output, vocab, overwrite = request.output, request.vocab, request.overwrite
        assert output is not None
        target = Path(os.path.abspath(output))
        folder = run_folder(target)
        made = not folder.exists()
        with ExitStack() as undo:
            try:
                lock = _lock(folder, os.fspath(output), make=True)
                undo.callback(_release, lock)
                if made:  # undone only by who has the lock, and before it is released
                    undo.callback(_remove, folder)
                # again: another process may have saved this model before the lock was ours
                check_output(target, overwrite=overwrite, files=MODEL_FILES)
                _clear_old_run(folder, target, overwrite)
                if vocab is not None:
                    vocab.save_all(folder)
            except OSError as error:
                raise DataError(
                    f"cannot write to {str(folder)!r}, where checkpoints go: {error.strerror or error}"
                ) from error
            request.write_file(Storage(folder))
            undo.pop_all()
        return cls(target, request, lock)

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> UnfinishedRun:
        """Open the run of a future model directory, given by the name of the directory or of OUTPUT.run."""
        target, folder = _places(directory)
        try:
            lock = _lock(folder, os.fspath(directory))
        except OSError as error:
            raise DataError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from error
        with ExitStack() as undo:
            undo.callback(_release, lock)
            run = cls(target, _read_request(folder, target), lock)
            undo.pop_all()
        run.begun_before, run.at_work = True, False
        return run

    def __enter__(self) -> UnfinishedRun:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is not None and not self.begun_before and not _checkpoints_in(self.folder):
                self.remove()
            elif not self.finished and self._lock is not None and self.at_work:
                self.say_how_to_go_on(saved=error is None, diverged=isinstance(error, TrainingDiverged))
        finally:
            _release(self._lock)
            self._lock = None

    def checkpoint_every(self, interval: str) -> None:
        """Change how often a checkpoint is written (see ``parse_interval``)."""
        self.checkpoints.interval = parse_interval(interval) or Interval()

    def say_how_to_go_on(self, *, saved: bool = False, diverged: bool = False) -> None:
        """Warn that the run is not finished, with the command that continues it."""
        # ``saved`` states that the run was interrupted and its model saved.
        with contextlib.suppress(DataError):
            if states := self.newest_states():
                lower = " --alpha LOWER" if diverged and self.request.config.resamples is None else ""
                done = sum(state.fraction for state in states) / (self.request.config.resamples or 1)
                warnings.warn(
                    f"{'what was trained is saved, and ' * saved}the run is kept, "
                    f"up to its checkpoint at {done:.1%}: "
                    f"cawv train --resume {shown(self.output)}{lower} continues it",
                    stacklevel=3,
                )

    def newest_states(self) -> list[State]:
        """Return the state of the newest checkpoint, or of those of all models of resampled text."""
        folders = [folder_of_model(self.folder, k) for k in range(self.request.config.resamples or 0)]
        found = [Checkpoints(Storage(place)).newest_state() for place in folders or [self.folder]]
        return [state for state in found if state is not None]

    def resampled_bytes(self) -> int:
        """Return how many bytes the models of resampled text take in the folder."""
        return sum(path.stat().st_size for path in self.folder.glob("resamples/*/*.checkpoint"))

    def remove(self) -> None:
        """Remove the folder, the encoded texts that are not kept, and partial files of an interrupted
        save.
        """
        self.finished = True
        self._clear_elsewhere()
        _remove(self.folder)

    def _clear_elsewhere(self) -> None:
        for which in ("text", "valid"):
            if self.owns(which):
                shutil.rmtree(self.text_folder(which), ignore_errors=True)
        if self.request.cache_dir is not None:
            for empty in (Path(self.request.cache_dir) / f"run-{self.request.run}", self.request.cache_dir):
                with contextlib.suppress(OSError):
                    os.rmdir(empty)
        with contextlib.suppress(OSError):
            clear_leftovers(self.output, self.request.run)

    def text_folder(self, which: str) -> Path:
        """Return the folder of the encoded ``text`` or ``valid``."""
        if not self.owns(which):
            return self.request.kept_text()
        if self.request.cache_dir is None:
            return self.folder / which
        return Path(self.request.cache_dir) / f"run-{self.request.run}" / which

    def owns(self, which: str) -> bool:
        """Return whether an encoded text belongs only to this run, so that it is removed with the run."""
        return which == "valid" or not self.request.keep_cache

    def vocab(self) -> Vocab | None:
        """Return the vocabulary that the user gave, or None."""
        if self.request.vocab_raw is None:
            return None
        return Vocab.load_all(self.folder, *self.request.vocab_raw)

    def keep_tree(self, tree: np.ndarray | None) -> None:
        """Store the tree of a model that is trained further, so that the run can be resumed."""
        if tree is not None:
            save_npy(self.folder / ModelFile.TREE, tree)

    def tree(self, n_words: int) -> np.ndarray | None:
        """Return the stored tree, or None."""
        path = self.folder / ModelFile.TREE
        return read_tree(path, n_words) if path.exists() else None

    def may_overwrite(self) -> bool:
        """Return whether an existing output may be replaced, because an earlier session of this run saved
        it.
        """
        return self.request.overwrite or bool(self.request.saved_record())


def run_folder(output: str | os.PathLike[str]) -> Path:
    """Return the folder of the unfinished run of a model directory."""
    path = Path(os.path.abspath(output))
    return path.with_name(path.name + ".run")


def _checkpoints_in(folder: Path) -> list[Path]:
    return [*folder.glob("*.checkpoint"), *folder.glob("resamples/*/*.checkpoint")]


def files_of_run(directory: str | os.PathLike[str]) -> list[str]:
    """Return the names of the inputs of an unfinished run: texts, and models or vectors to begin with."""
    target, folder = _places(directory)
    request = _read_request(folder, target)
    texts = [*(absolute_names(request.corpus) or []), *(absolute_names(request.valid) or [])]
    others = (request.config.phrases, request.continue_from, request.init_vectors)
    return [*texts, *(os.fspath(name) for name in others if name is not None)]


def _places(directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Return the future model directory and the folder of an unfinished run; a DataError if there is none."""
    target = _output(directory)
    folder = run_folder(target)
    if not (folder / REQUEST_FILE).is_file():
        raise DataError(_nothing_to_resume(os.fspath(directory), target, folder))
    return target, folder


def _output(directory: str | os.PathLike[str]) -> Path:
    """Return the future model directory of a run, given by the directory's name or by its OUTPUT.run."""
    target = Path(os.path.abspath(directory))
    if target.name.endswith(".run") and (target / REQUEST_FILE).is_file():
        target = target.with_name(target.name.removesuffix(".run"))
    return target


def _nothing_to_resume(given: str, target: Path, folder: Path) -> str:
    if (target / ModelFile.CONFIG).is_file():
        return (
            f"{given!r} is a finished model, so there is nothing to resume; "
            f"to train it further: cawv train TEXT --continue-from {given}"
        )
    if folder.is_dir():
        return (
            f"there is nothing to resume in {str(folder)!r}: the run ended before it wrote down what to "
            "do. Start it again with the command that began it; the files there do not disturb it"
        )
    return (
        f"there is no run to resume: {str(folder)!r} has no run.json. Give the output of the run, or its "
        "folder, OUTPUT.run"
    )


def _read_request(folder: Path, output: Path) -> RunRequest:
    found = request_in(Storage(folder), lambda record: RunRequest.from_record(record, output))
    if found is None:
        raise DataError(f"there is no {str(folder / REQUEST_FILE)!r}")
    return found


def check_run_output(output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise a DataError if a run could not save its model to this output."""
    # An unfinished run is reported first.
    try:
        check_output(output, overwrite=overwrite, files=MODEL_FILES)
    except OutputExistsError:
        check_no_unfinished_run(Path(output))
        raise


def check_no_unfinished_run(target: Path) -> None:
    """Raise an OutputExistsError, with the way to continue, if a model has an unfinished run."""
    folder = run_folder(target)
    if not _checkpoints_in(folder):
        return
    done = _done(target)
    raise OutputExistsError(
        f"{str(folder)!r} holds an unfinished run{done}: cawv train --resume {shown(target)} continues it; ",
        Option("overwrite", True),
        " drops it and starts again",
    )


def _done(target: Path) -> str:
    """Return text for a message on how much of an unfinished run is done; '' if no checkpoint can be read."""
    with contextlib.suppress(DataError):
        run = UnfinishedRun(target, _read_request(run_folder(target), target), None)
        if states := run.newest_states():
            share = sum(state.fraction for state in states) / (run.request.config.resamples or 1)
            return f", {share:.1%} done"
    return ""


def _clear_old_run(folder: Path, target: Path, overwrite: bool) -> None:
    """Remove the folder of an earlier run, unless its work would be lost."""
    others = sorted(path.name for path in folder.iterdir() if path.name not in OURS and not _is_scrap(path))
    if others:
        raise DataError(
            f"{str(folder)!r} holds {others[0]!r}, which is not part of a run: it is not overwritten"
        )
    if not overwrite:
        check_no_unfinished_run(target)
    elif _checkpoints_in(folder):
        warnings.warn(f"the unfinished run in {str(folder)!r}{_done(target)}, is dropped", stacklevel=5)
    with contextlib.suppress(DataError):
        UnfinishedRun(target, _read_request(folder, target), None)._clear_elsewhere()
    for path in folder.iterdir():
        if path.name != "lock":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _is_scrap(path: Path) -> bool:
    """Return whether a file was written by a run: a checkpoint, or a partial file of a killed run."""
    return path.name.endswith((".checkpoint", ".tmp"))


def _remove(folder: Path) -> None:
    """Remove the files of a run from its folder, and the folder if it is then empty."""
    # ``run.json`` is removed after the others, so that a partly removed folder is still recognised, and the
    # lock at the very end: without it, another process may begin in the folder.
    if not folder.is_dir():
        return
    last = (REQUEST_FILE, "lock")
    for path in sorted(folder.iterdir(), key=lambda path: last.index(path.name) if path.name in last else -1):
        if path.name in ("text", "valid", "resamples"):
            shutil.rmtree(path, ignore_errors=True)
        elif path.name in OURS or _is_scrap(path):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


# Number of attempts to lock a run that other processes begin and remove meanwhile.
ATTEMPTS = 100


def _lock(folder: Path, given: str, *, make: bool = False) -> IO[bytes] | None:
    """Lock the run for this process; when the process ends, in any way, the system releases the lock."""
    for _ in range(ATTEMPTS):
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        if os.name == "nt":  # Windows has no such locks, and cannot remove an open file
            return None
        try:
            file = open(folder / "lock", "ab")  # noqa: SIM115
        except FileNotFoundError:  # the folder was removed by its owner
            if make:
                continue
            raise
        if take_lock(file.fileno()) is False:
            file.close()
            break
        if still_named(folder / "lock", file.fileno()):
            return file
        file.close()
    raise DataError(f"another process is training {given!r}; wait for it, or end it first")


def _release(lock: IO[bytes] | None) -> None:
    if lock is not None:
        lock.close()


def shown(path: Path) -> str:
    """Return a path as a person would type it in the working directory."""
    import shlex

    with contextlib.suppress(ValueError):
        return shlex.quote(os.fspath(path.relative_to(Path.cwd())))
    return shlex.quote(os.fspath(path))
