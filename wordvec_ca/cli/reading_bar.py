"""The bar that commands show while they read a corpus."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def reading_bar(quiet: bool) -> Iterator[Callable[[int, int | None, int], None] | None]:
    """Give the ``progress`` argument of ``encode_corpus``: a bar on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label="Reading", file=sys.stderr) as bar:

        def update(done: int, total: int | None, tokens: int) -> None:
            bar.length = total
            bar.label = f"Reading {tokens / 1e6:,.1f} M tokens"
            bar.update(done - bar.pos)

        yield update
