"""Finds the files that are left out when a folder is read, because they are not text.

A file that the user names must be text, or the run ends with the reason. In a folder, files of other kinds
and earlier models must not end the run: they are left out, and a warning counts them.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Collection

from wordvec_ca.errors import DataError
from wordvec_ca.files import kind_of, open_by_content
from wordvec_ca.specs.model_files import ModelFile

OURS = ({ModelFile.VECTORS}, {"tokens.i32"}, {"offsets.npy", "text.bin"}, {"run.json", "lock"})
"""Names of files that identify the folders that cawv writes: models, encoded texts, search indexes,
unfinished runs.
"""

HEAD = 4096
"""Number of bytes at the beginning of a file that are examined."""


def is_ours(names: Collection[str]) -> bool:
    """Return whether a folder with files of these names was made by cawv."""
    return any(marks <= set(names) for marks in OURS)


def is_no_text(path: str) -> bool:
    """Return whether a file is certainly not text; the reader reports a file that cannot be opened."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return True  # a pipe or a device would be read for ever
        with open_by_content(path) as stream:
            head = stream.read(HEAD)
    except (DataError, OSError, ImportError):
        return False
    kind = kind_of(head)
    return b"\0" in head if kind is None else not kind.is_text


def without_foreign(directory: str, files: list[str], n_ours: int) -> list[str]:
    """Return the files of a folder that may be text, with a warning that counts the others."""
    foreign = [file for file in files if is_no_text(file)]
    others = set(foreign)
    kept = [file for file in files if file not in others]
    if not kept:
        foreign, kept = [], files
    left_out = [f"{len(foreign):,} files that are not text, the first {foreign[0]!r}"] if foreign else []
    left_out += [f"{n_ours:,} folders that cawv made"] if n_ours else []
    if left_out:
        warnings.warn(f"{directory!r}: left out {' and '.join(left_out)}", stacklevel=2)
    return kept
