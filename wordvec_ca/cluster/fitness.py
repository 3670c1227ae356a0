"""Fitness: whether a node can join a run, checked before it gets work.

Ray ensures that all nodes have one version of Ray and of Python; this module checks the rest. A node that
does not fit is left out with a notice that names it, and the run continues with the others.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import is_transient, is_url
from wordvec_ca.text import url_identity

WRONG_CLOCK = 600.0
"""Largest error of a node's clock in seconds: object stores refuse requests that are off by 15 minutes."""

LOOKED_AT = 4
"""Largest number of files of the text that a node must be able to open."""

SECONDS_TO_OPEN = 5.0
"""While a node is checked: seconds for which requests to a server that does not answer are repeated."""

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class UnfitNode(DataError):
    """A node cannot continue because of its disk or its memory; another node may be able to."""


class UnreadableText(UnfitNode):
    """A node cannot read the text; if another cannot either, the text is at fault."""


@dataclass(frozen=True)
class Requirements:
    """What a node must be able to reach.

    Attributes
    ----------
    files : tuple of str
        Some files of the text.
    place : str or None
        A file on the shared storage.
    content : bytes or None
        Content of that file.
    """

    files: tuple[str, ...] = ()
    place: str | None = None
    content: bytes | None = None

    @classmethod
    def of_text(cls, files: Sequence[str]) -> Requirements:
        """Return the requirement to open some of these files, from the first to the last."""
        step = -(-len(files) // LOOKED_AT) or 1
        return cls(tuple(files[::step]))


def cannot_open(files: Sequence[str]) -> str | None:
    """Return why this machine cannot open one of some files; None if it can."""
    for file in files:
        try:
            if is_url(file) and not os.path.exists(file):
                url_identity(file, SECONDS_TO_OPEN)
            else:
                with open(file, "rb"):
                    pass
        except DataError as error:
            if is_transient(error.__cause__):
                raise
            return str(error)
        except OSError as error:
            return f"cannot read {file!r}: {error.strerror or error}"
    return None


def cannot_write(directory: Path) -> str | None:
    """Return why this machine cannot put files into a folder; None if it can."""
    try:
        os.stat(directory)
        with tempfile.TemporaryFile(dir=directory):
            return None
    except OSError as error:
        error.filename = os.fspath(directory)
        return fault_of_disk(error)


def unfit_reason(found: Mapping[str, Any], required: Requirements, asked: float, now: float) -> str | None:
    """Return why a node cannot join a run; None if it can."""
    if found["version"] != __version__:
        has = f"has version {found['version']} of wordvec-ca" if found["version"] else "has no wordvec-ca"
        return f"it {has}, and this machine {__version__}: install the same one everywhere"
    wrong = max(asked - found["clock"], found["clock"] - now)
    if wrong > WRONG_CLOCK:
        return f"its clock is {wrong:.0f} s off, and object stores would refuse it: set it"
    if found["disk"] is not None:
        return str(found["disk"])
    if found["text"] is not None:
        return f"it cannot read the text: {found['text']}"
    if required.place is not None and found["storage"] != required.content:
        return (
            f"it does not see {required.place!r}, where checkpoints are kept: name a folder for checkpoints "
            "that all nodes share, or a URL (s3://...), or let no checkpoints be written"
        )
    return None


def fault_of_disk(error: OSError) -> str:
    """Return what is wrong with a node's disk, and what to do."""
    name = f"{error.filename!r}: " if error.filename is not None else ""
    hint = ""
    if error.errno in DISK_FULL:
        hint = "; make room there, or name a folder with more for the encoded text, and start again"
    return f"{name}{error.strerror or error}{hint}"


def as_fault_of_node(error: Exception) -> Exception:
    """Convert an error of reading or encoding into the fault of a node, if another node may succeed."""
    if isinstance(error, MemoryError):
        return UnfitNode("its memory is full")
    if isinstance(error, OSError):
        return UnfitNode(fault_of_disk(error))
    cause: BaseException | None = error
    while isinstance(cause, DataError):
        cause = cause.__cause__
    if isinstance(cause, OSError) and cause.errno in DISK_FULL:
        return UnfitNode(fault_of_disk(cause))
    return error if cause is None or isinstance(cause, ValueError) else UnreadableText(str(error))
