"""What a folder has besides text, and what is therefore left out when the folder is read.

A file that the user names is read, and refused with the reason if it is not text. In a folder, one document
or an earlier model beside the texts must not end the run: they are left out, and a warning counts them.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Collection

from wordvec_ca.errors import DataError
from wordvec_ca.files import compression_of, open_by_content, signature_of
from wordvec_ca.specs.model_files import ModelFile

OURS = ({ModelFile.VECTORS}, {"tokens.i32"}, {"offsets.npy", "text.bin"}, {"run.json", "lock"})
"""Files by which cawv knows its folders: models, encoded texts, search indexes, unfinished runs."""

HEAD = 4096
"""Bytes that are looked at."""


def is_ours(names: Collection[str]) -> bool:
    """Return whether a folder with files of these names was made by cawv."""
    return any(marks <= set(names) for marks in OURS)


def is_no_text(path: str) -> bool:
    """Return whether a file is surely no text; one that cannot be opened is left to the reader's message."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return True  # a pipe or a device would be read for ever
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    if compression_of(path) is not None:
        head = _decompressed_head(path)
    signature = signature_of(head)
    return b"\0" in head if signature is None else not signature.is_text


def _decompressed_head(path: str) -> bytes:
    """Return how the content of a compressed file begins; nothing if it is damaged."""
    try:
        with open_by_content(path) as stream:
            return stream.read(HEAD)
    except (DataError, OSError, ImportError):
        return b""


def without_foreign(directory: str, files: list[str], n_ours: int) -> list[str]:
    """Return the files of a folder that may be text, with a warning that counts the others.

    Parameters
    ----------
    directory : str
        The folder, for the message.
    files : list of str
        All files in it and below.
    n_ours : int
        How many folders of cawv's were left out.

    Returns
    -------
    list of str
        All, if none of them may be text: then the reader says what is wrong with the first.
    """
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
