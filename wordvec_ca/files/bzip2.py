"""Decompresses bzip2 in several threads, since its blocks are independent."""

from __future__ import annotations

import os
from collections.abc import Iterator

SMALLEST = 1 << 20
"""Smallest size in bytes of a file for which several threads are worthwhile."""

_AT_ONCE = 1 << 20


def bzip2_pieces(path: str, workers: int) -> Iterator[tuple[bytes, int]]:
    """Yield decompressed pieces of a file, each with the number of compressed bytes read so far.

    At the end of the compressed data, yield (b"", the offset of the end), since other data may follow. If the
    data is damaged or threads cannot be used, the iterator ends without this.
    """
    try:
        from rapidgzip import IndexedBzip2File
    except ImportError:  # no wheel exists for this machine
        return
    size = os.path.getsize(path)
    if size < SMALLEST:
        return
    try:
        with IndexedBzip2File(path, parallelization=workers) as file:
            while piece := file.read(_AT_ONCE):
                yield piece, min(size, file.tell_compressed() // 8)
            yield b"", (file.tell_compressed() + 7) // 8
    except (RuntimeError, ValueError, OSError, MemoryError):
        return
