"""Columns of a line, its excerpt in a message, and the name of a data set."""

from __future__ import annotations

import os
from pathlib import Path


def cells_of(line: str) -> list[str]:
    """Return the columns of a line, which tabs separate or, without any, blanks."""
    return line.split("\t") if "\t" in line else line.split()


def excerpt(text: str) -> str:
    """Return the text in quotes, shortened to fit in a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a data set from its file: without folders and suffixes."""
    name = Path(path).name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".tsv", ".txt", ".csv", ".conllu", ".conll"):
        name = name.removesuffix(suffix)
    return name
