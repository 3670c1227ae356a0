"""The bar that commands show while they read a corpus."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def reading_bar(quiet: bool) -> Iterator[Callable[[int, int | None, int], None] | None]:
    """Yield the ``progress`` argument of ``encode_corpus``: a bar on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from wordvec_ca.runs import progress_display

    with progress_display("bar") as (_, reading):
        yield reading
