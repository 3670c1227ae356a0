"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from wordvec_ca.errors import DataError, Option, OutputExistsError


@contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, overwrite: bool = True, follow_links: bool = True, private: bool = False
) -> Iterator[BinaryIO]:
    """Open a new file for writing bytes. It gets the name ``path`` only if the block ends without an
    exception.
    """
    # The bytes go to a hidden temporary file in the same folder, which is flushed to the disk and renamed.
    # If anything fails (also Ctrl-C), the temporary file is removed and an older ``path`` is kept. The next
    # process that writes to the same ``path`` removes temporary files of killed processes. A device or a
    # pipe, such as ``/dev/stdout``, is written to directly.
    target = Path(path)
    link = target.is_symlink() and not follow_links
    if not link and _is_device(target):
        try:
            with open(target, "wb") as stream:
                yield stream
        except OSError as error:  # the error of a write does not contain the name
            if error.filename is not None or error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, str(target)) from error
        return
    if target.is_symlink() and follow_links:
        target = Path(os.path.realpath(target))
    if target.is_dir() and not link:
        raise DataError(f"cannot write {target}: it is a folder; give the name of a file")
    if (target.exists() or link) and not overwrite:
        raise OutputExistsError(
            f"{target} exists; choose another name, or allow it with ", Option("overwrite", True)
        )
    if not target.parent.is_dir():
        raise DataError(f"cannot write {target}: there is no folder {target.parent}; make it first")
    prefix = f".{target.name[:100]}."
    clear_temporary_files(target.parent, prefix)
    temporary = target.parent / f"{prefix}{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb", opener=_for_the_owner if private else None) as stream:
            take_lock(stream.fileno())
            yield stream
        sync(temporary)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):  # on a read-only file system
            temporary.unlink(missing_ok=True)
        if error.filename in (None, str(temporary)) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(target.parent)


@contextlib.contextmanager
def write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the system while ``path`` is written into a DataError that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "; make room on the disk, or write elsewhere" if full else ""
        raise DataError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}{advice}") from error


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def original_name(name: str) -> str:
    """Return the name for which a temporary file or folder was made; any other name is returned unchanged."""
    left = re.fullmatch(r"\.(.+)\.(?:[0-9a-f]{8}\.tmp|partial)", name, re.DOTALL)
    return left[1] if left else name


def take_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder until this process ends, so that others can tell that it is alive."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def still_named(path: Path, descriptor: int) -> Literal[True] | None:
    """Return True if a locked file or folder still has its name, else None."""
    # Its owner may have finished between opening and locking; then the lock protects nothing.
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor)) or None
    except FileNotFoundError:
        return None


# Age from which an empty file was left by a killed process. A living one locks its file at once; an hour
# allows for a stopped process and for the clock of a file server.
UNLOCKED_SECONDS = 3600


def clear_temporary_files(folder: Path, prefix: str) -> None:
    """Remove temporary files that no living process writes to, and empty ones, which may not be locked yet,
    when they are old.
    """
    size = len(prefix) + 8 + len(".tmp")
    with os.scandir(folder) as entries:
        found = [e.path for e in entries if e.name.startswith(prefix) and len(e.name) == size]
    for path in found:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                found_file = os.fstat(descriptor)
                begun = not found_file.st_size and time.time() - found_file.st_mtime < UNLOCKED_SECONDS
                if path.endswith(".tmp") and not begun and take_lock(descriptor):
                    os.unlink(path)
            finally:
                os.close(descriptor)


def save_json(path: Path, record: Any) -> None:
    """Write a record as JSON, completely or not at all. A symbolic link of that name is replaced."""
    with atomic_file(path, follow_links=False) as file:
        file.write(json.dumps(record, indent=1).encode() + b"\n")


def withdraw(path: Path) -> None:
    """Remove a file, and flush the removal to the disk, before related files are replaced one by one."""
    # The new file of this name must be written last, so that a reader never combines old and new files.
    if path.is_symlink() or path.exists():
        path.unlink()
        sync(path.parent)


def _is_device(path: Path) -> bool:
    """Return whether a path is a device or a pipe, which must not be replaced by a file."""
    if path.is_dir() or not path.exists():
        return False
    top = path.absolute().parts[1:3]
    return not path.is_file() or (top[:1] in (("dev",), ("proc",)) and top != ("dev", "shm"))


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    is_folder = path.is_dir()
    try:
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    except OSError:
        if is_folder:  # Windows opens no folders
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError:
        if not is_folder:  # some network file systems refuse folders; the rename itself is done
            raise
    finally:
        os.close(descriptor)
