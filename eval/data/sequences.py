"""Reader of sequences of items: sessions, baskets, play lists, walks on a graph."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wordvec_ca.eval.data.lines import excerpt
from wordvec_ca.files import Lines

ReadSequences = Callable[[Path], Iterator[list[str]]]
"""Reads the items of each sequence in a file."""


@dataclass(frozen=True)
class Sequences:
    """Held-out sequences, and those that baselines learn from.

    Attributes
    ----------
    name : str
    held_out : list of list of str
    train : callable, optional
        Returns an iterator over the sequences that the vectors were trained on.
    """

    name: str
    held_out: list[list[str]]
    train: Callable[[], Iterator[list[str]]] | None = None


def read_sequences(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the items of each line: tokens between white space, or a JSON list of strings or integers."""
    lines = Lines(path)
    for line in lines:
        if not line.lstrip().startswith("["):
            yield line.split()
            continue
        try:
            items = json.loads(line)
        except (ValueError, RecursionError):  # not a list, or brackets too deep
            yield line.split()  # an item may begin with a bracket
            continue
        if not all(type(item) in (str, int) for item in items):
            raise lines.wrong(f"found {excerpt(line)}", "a list must hold strings or whole numbers")
        yield [str(item) for item in items]
