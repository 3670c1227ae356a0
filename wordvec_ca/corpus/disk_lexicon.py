"""Counts types (different words) that do not fit into memory: their hashes choose parts on disk, which fit.

A lexicon that has grown too large is scattered over 128 temporary files by the hashes of its words, so that a
word has the same part in all lexicons. Counts are added up part by part. The frequent types are gathered in a
lexicon if they fit into memory; else the parts are sorted and merged into a file.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import reserve
from wordvec_ca.kernels import Lexicon, vocabulary_lines
from wordvec_ca.machine import free_memory

# Number of bits of a word's hash that choose its part.
BITS = 7

_AT_ONCE = 1 << 24

# Default number of bytes for words and counts, if four times as many are free.
MOST_MEMORY = 1 << 30


def memory_for_types() -> int:
    """Return how many bytes words and counts may take by default: 1/4 of what is free, at most 1 GiB."""
    return max(min(free_memory() // 4, MOST_MEMORY), 1 << 26)


# Number of a lexicon, ids of types in that lexicon, and ids of the same types in the part.
Owner = tuple[int, NDArray[np.int32], NDArray[np.int32]]


class SpilledTypes:
    """Types that were moved to disk from lexicons that had grown too large. Must be closed."""

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        self._segments: list[list[tuple[int, int]]] = [[] for _ in range(1 << BITS)]
        self._sizes: dict[int, int] = {}
        self._lock = threading.Lock()
        self._ids: IO[bytes] | None = None
        self._begins: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._sizes)

    def close(self) -> None:
        """Release the space on disk."""
        self._stack.close()

    def add(self, number: int, lexicon: Lexicon) -> None:
        """Write the types of a lexicon, and give it the next number."""
        try:
            with self._lock:
                if not self._files:
                    self._files = [self._new_file() for _ in range(1 << BITS)]
                at = 0
                while at < lexicon.arena_bytes:
                    data, sizes, at = lexicon.scatter(at, _AT_ONCE, BITS)
                    place = 0
                    for part, size in enumerate(sizes.tolist()):
                        if size:
                            self._files[part].write(data[place : place + size])
                            self._segments[part].append((number, size))
                            place += size
                self._sizes[number] = len(lexicon)
        except OSError as error:
            raise self._full(error) from error

    def parts(self) -> Iterator[tuple[Lexicon, list[Owner]]]:
        """Yield, part by part, the types with their total counts, and the lexicons that contain them."""
        for file, segments in zip(self._files, self._segments, strict=True):
            merged = Lexicon()
            owners = []
            file.seek(0)
            for number, size in segments:
                owners.append((number, *merged.absorb_records(file.read(size))))
            yield merged, owners

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct counts, and how many types have each of them."""
        types_of: dict[int, int] = {}
        for merged, _ in self.parts():
            for count, n in zip(*np.unique(merged.counts(), return_counts=True), strict=True):
                if not count:  # a word of which each occurrence was joined into a phrase
                    continue
                types_of[int(count)] = types_of.get(int(count), 0) + int(n)
        counts = np.array(sorted(types_of), dtype=np.int64)
        return counts, np.array([types_of[count] for count in counts.tolist()], dtype=np.int64)

    def gather(self, least: int, *, with_ids: bool) -> Lexicon:
        """Return a lexicon of the types with at least this count; ``with_ids`` also stores the ids of all
        types.
        """
        whole = Lexicon()
        ids: NDArray[np.int32] | None = None
        if with_ids:
            self._ids = self._new_file()
            total = 0
            for number, n in self._sizes.items():
                self._begins[number] = total
                total += n
            try:
                reserve(self._ids.fileno(), max(4 * total, 4))
            except OSError as error:
                raise self._full(error) from error
            ids = np.memmap(self._ids, dtype=np.int32, mode="r+", shape=(max(total, 1),))
        for merged, owners in self.parts():
            final = whole.absorb(merged, least)
            if ids is not None:
                for number, theirs, ours in owners:
                    ids[self._begins[number] + theirs] = final[ours]
        return whole

    def ids(self, number: int) -> NDArray[np.int32]:
        """Return, for each type of a lexicon, its id in the gathered lexicon, or -1 if it is not there."""
        assert self._ids is not None
        begin, n = self._begins[number], self._sizes[number]
        return np.memmap(self._ids, dtype=np.int32, mode="r", offset=0)[begin : begin + n]

    def lines(self, least: int) -> Iterator[bytes]:
        """Yield the lines of a vocabulary file of the types of at least this count."""
        sorted_ = self._new_file()
        ends = [0]
        try:
            for merged, _ in self.parts():
                ends.append(ends[-1] + sorted_.write(merged.ranked_records(least)))
            sorted_.flush()
        except OSError as error:
            raise self._full(error) from error
        if ends[-1]:
            data = np.memmap(sorted_, dtype=np.uint8, mode="r")
            yield from vocabulary_lines([data[a:b] for a, b in pairwise(ends)])

    def _new_file(self) -> IO[bytes]:
        return self._stack.enter_context(tempfile.TemporaryFile(dir=self._directory))

    def _full(self, error: OSError) -> Any:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            return error
        where = os.fspath(self._directory or tempfile.gettempdir())
        written = sum(size for segments in self._segments for _, size in segments)
        return DataError(
            f"cannot count the words within the memory that is allowed: {where!r}, where they would go, is "
            f"full after {written:,} bytes ({error.strerror}); make room, set TMPDIR or ",
            Option("cache_dir"),
            " to another directory, or raise ",
            Option("count_memory"),
        )
