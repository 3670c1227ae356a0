"""Writes folders completely or not at all, and never replaces other people's files in them."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from wordvec_ca.errors import DataError, Option, OutputExistsError
from wordvec_ca.files.atomic import (
    clear_temporary_files,
    original_name,
    still_named,
    sync,
    take_lock,
    withdraw,
)


@contextmanager
def replacing(
    directory: str | os.PathLike[str],
    *,
    overwrite: bool,
    files: Collection[str],
    mark: str | None = None,
) -> Iterator[Path]:
    """Yield a new folder that gets the name of ``directory`` once it is complete and on disk."""
    # Until then, and if anything fails, an older directory of that name is unchanged. A symbolic link is
    # followed. A directory with other files than ``files`` is never overwritten. The next process with the
    # same ``mark`` (or also without one) removes folders that killed processes left.
    check_output(directory, overwrite=overwrite, files=files)
    target = Path(os.path.realpath(directory))
    partial, former = _leftover_names(target, mark)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _owned(partial, directory):
            _restore(former, target)
            # again: another process may have finished this output before the folder was ours
            check_output(directory, overwrite=overwrite, files=files)
            yield partial
            for path in [*partial.rglob("*"), partial]:
                sync(path)
            if not target.exists():
                partial.rename(target)
            elif not _exchange(partial, target):
                target.rename(former)
                partial.rename(target)
            sync(target.parent)
    except OSError as error:
        raise _refused(directory, error) from error
    finally:
        clear_leftovers(directory, mark)


@contextmanager
def replacing_files(directory: str | os.PathLike[str], *, last: str) -> Iterator[Path]:
    """Yield a new folder whose files move to ``directory`` once all are complete and on disk."""
    # Other files of ``directory`` are kept, and if anything fails, all files are unchanged. Readers need
    # the file ``last``. Its older version is removed first, and the new one moves last, so that a reader
    # never combines old and new files. Symbolic links are replaced, not followed.
    directory = Path(directory)
    new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / f".{last[:60]}.partial"
    try:
        with _owned(partial, directory / last):
            try:
                yield partial
                files = sorted(partial.iterdir(), key=lambda file: file.name == last)
                for file in files:
                    sync(file)
                withdraw(directory / last)
                for file in files:
                    clear_temporary_files(directory, f".{file.name[:100]}.")
                    os.replace(file, directory / file.name)
                    sync(directory)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        if error.errno is None:
            raise
        name = Path(error.filename or last).name
        raise OSError(error.errno, error.strerror, str(directory / name)) from error
    finally:
        if new:
            with contextlib.suppress(OSError):  # not empty: the new directory is complete
                directory.rmdir()


def _refused(directory: str | os.PathLike[str], error: OSError) -> DataError:
    return DataError(f"cannot write the model to {str(directory)!r}: {error.strerror or error}")


def clear_leftovers(directory: str | os.PathLike[str], mark: str | None = None) -> None:
    """Remove folders of processes that were killed while writing a model; restore an older model."""
    target = Path(os.path.realpath(directory))
    partial, former = _leftover_names(target, mark)
    if not partial.exists():
        _restore(former, target)
        return
    with _held(partial) as free:
        if free:  # else its owner is at work, and may be exchanging the two this moment
            _restore(former, target)
            shutil.rmtree(partial, ignore_errors=True)


def _restore(former: Path, target: Path) -> None:
    """Give an older model its name back, if the newer one never came; else remove it."""
    if former.exists() and not target.exists():
        former.rename(target)
    shutil.rmtree(former, ignore_errors=True)


def _leftover_names(target: Path, mark: str | None) -> tuple[Path, Path]:
    """Return the hidden names of the incomplete new folder and of the older one."""
    if mark is None:  # shortened to the length that file systems allow
        mark = f"{target.name[:60]}.{hashlib.blake2b(os.fsencode(target.name), digest_size=4).hexdigest()}"
    return target.with_name(f".{mark}.partial"), target.with_name(f".{mark}.former")


# Number of attempts to lock a folder that other processes make and remove meanwhile.
ATTEMPTS = 100


@contextmanager
def _owned(folder: Path, output: str | os.PathLike[str]) -> Iterator[None]:
    """Make a folder empty, and lock it during the block; a DataError if another process has it."""
    # Who gets the lock owns the folder, no matter who made it: between making and locking, another process
    # could take it for one that a killed process left.
    for _ in range(ATTEMPTS):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        with _held(folder) as free:
            if free is None:
                continue
            if not free:
                break
            for left in folder.iterdir():  # by a process that was killed
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
            yield
            return
    raise DataError(f"another process is writing {os.fspath(output)!r}; wait for it, or end it")


@contextmanager
def _held(folder: Path) -> Iterator[bool | None]:
    """Lock a folder during the block; yield False if another process has locked it, None if the folder with
    this name has been removed or replaced before the lock was taken.
    """
    if os.name == "nt":  # Windows opens no folders
        yield True
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield None
        return
    try:
        yield still_named(folder, descriptor) if take_lock(descriptor) is not False else False
    finally:
        os.close(descriptor)


def _exchange(a: Path, b: Path) -> bool:
    """Exchange two folders in one step, so that both names always exist; return whether that was possible."""
    library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    for name, here in (("renameat2", -100), ("renameatx_np", -2)):  # Linux, macOS
        if (call := getattr(library, name, None)) is not None:
            return call(here, os.fsencode(a), here, os.fsencode(b), 2) == 0
    return False


def check_output(directory: str | os.PathLike[str], *, overwrite: bool, files: Collection[str]) -> None:
    """Raise a DataError before training if a model could not be written to ``directory``."""
    name, target = repr(os.fspath(directory)), Path(os.path.realpath(directory))
    if not target.name:
        raise DataError(f"cannot write a model to {name}: give a directory of its own")
    if target.exists():
        if not target.is_dir():
            raise DataError(f"{name} exists and is not a model directory: it is not overwritten")
        if not overwrite:
            raise OutputExistsError(
                f"{name} exists already: choose another ",
                Option("output"),
                ", or allow it with ",
                Option("overwrite", True),
            )
        others = sorted(path.name for path in target.iterdir() if original_name(path.name) not in files)
        if others:
            raise DataError(
                f"{name} holds {others[0]!r}, which is not part of a model: it is not overwritten"
            )
    parent = nearest_existing(target.parent)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(f"cannot write to {name}: {str(parent)!r} is not a writable directory")


def check_files(*paths: Path, overwrite: bool) -> None:
    """Raise an error if several files could not be written to their common folder."""
    for existing in paths:
        if existing.is_dir():
            raise DataError(f"cannot write {existing}: it is a folder; give the name of a file")
        if existing.exists() and not overwrite:
            raise OutputExistsError(
                f"{existing} exists; choose another name, or allow it with ", Option("overwrite", True)
            )
    if not paths[0].parent.is_dir():
        raise DataError(f"cannot write {paths[0]}: there is no folder {paths[0].parent}; make it first")


def nearest_existing(folder: Path) -> Path:
    """Return a folder if it exists; otherwise its nearest existing parent."""
    while not folder.exists():
        folder = folder.parent
    return folder


def nearest_name(path: str) -> str:
    """Return `` Did you mean this?`` with similarly spelled names in the same folder, or an empty string."""
    folder, name = os.path.split(path)
    try:
        entries = os.listdir(folder or ".")
        # not the folder of a run beside its model, which users do not read
        here = sorted(name for name in entries if not name.startswith(".") and not name.endswith(".run"))
    except OSError:
        return ""
    close = difflib.get_close_matches(name, here, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(os.path.join(folder, entry) for entry in close)}?" if close else ""
