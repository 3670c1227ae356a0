"""Classes of words, by which a map can be coloured."""

from __future__ import annotations

import os
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.files import split_lines


def read_classes(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the class of each word from a UTF-8 file of lines ``word TAB class``; empty lines are skipped."""
    try:
        lines = split_lines(Path(path).read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} is not UTF-8 (byte {error.start}): classes are text") from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        word, tab, kind = line.partition("\t")
        if tab:
            found[word] = kind.partition("\t")[0]
        elif line.strip():
            raise DataError(f"{os.fspath(path)!r}, line {number}: expected a word, a tab and its class")
    return found
