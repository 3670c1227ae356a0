"""Detects inputs that can be read only once: standard input, pipes and devices."""

from __future__ import annotations

import os
import stat

from wordvec_ca.errors import DataError


def is_read_once(name: str | os.PathLike[str]) -> bool:
    """Return whether a name is ``-``, a pipe or a device, such as ``<(command)`` of a shell."""
    if os.fspath(name) == "-":
        return True
    try:
        mode = os.stat(name).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def check_readable_again(name: str | os.PathLike[str]) -> None:
    """Raise a DataError if a file can be read only once, for callers that read it several times."""
    if is_read_once(name):
        raise DataError(
            f"{os.fspath(name)!r} is a pipe or a device, and it is read more than once: write it to a "
            "file, and give that"
        )
