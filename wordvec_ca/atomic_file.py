"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from wordvec_ca.errors import DataError, OutputExistsError


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a new file for writing bytes; it takes the name ``path`` only when the block ends well.

    The bytes go to a hidden temporary file in the same folder, which is flushed to the disk and
    renamed. If anything fails (also Ctrl-C) the temporary file is removed and an older ``path`` stays.
    A symbolic link is followed. What is no file, such as ``/dev/stdout`` or a pipe, is written to as it is.

    Parameters
    ----------
    path : path-like
        Name of the file to be made.
    overwrite : bool
        Whether an existing file may be replaced.

    Yields
    ------
    BinaryIO
        A seekable stream.

    Raises
    ------
    DataError
        ``path`` is a folder, or its folder does not exist.
    OutputExistsError
        ``path`` exists and ``overwrite`` is false.
    OSError
        The disk is full or the folder not writable; the message names ``path``.
    """
    target = Path(path)
    if _is_device(target):
        with open(target, "wb") as stream:
            yield stream
        return
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if target.is_dir():
        raise DataError(f"cannot write {target}: it is a folder; give the name of a file")
    if target.exists() and not overwrite:
        raise OutputExistsError(f"{target} exists; choose another name or allow overwriting (--overwrite)")
    if not target.parent.is_dir():
        raise DataError(f"cannot write {target}: there is no folder {target.parent}; make it first")
    temporary = target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.filename in (None, str(temporary)) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _is_device(path: Path) -> bool:
    """Return whether a name stands for something that must not be replaced by a file."""
    if path.is_dir() or not path.exists():
        return False
    return not path.is_file() or path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems refuse; the rename itself is done
    finally:
        os.close(descriptor)
