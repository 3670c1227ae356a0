"""Approximate nearest neighbours: a search finds most of them without comparing every vector.

The candidates come from an inverted file (``inverted_file``). They are ranked by exact cosines, so that only
their choice is approximate.

An index is a folder::

    index.json          number, size and digest of the vectors; the settings; the digest of the other file
    lists.safetensors   the inverted file; memory-mapped

Digests of more than 8,191 vectors or directions are of a sample of rows: to read all of them would take
longer than an exact search.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import in_memory, replacing
from wordvec_ca.tables import row_blocks
from wordvec_ca.vectors import inverted_file
from wordvec_ca.vectors.inverted_file import InvertedFile
from wordvec_ca.vectors.neighbours import highest, lengths, unit

RECORD, LISTS = "index.json", "lists.safetensors"
# Files of an index; a folder with any other file is never replaced.
FILES = {RECORD, LISTS}

# Version of the index format; others are refused, since an index is made again in seconds.
FORMAT = 4

PROBES = 64
LARGEST_PROBES = 100_000

# From this number of vectors on, an exact search is so slow that commands suggest an index.
MANY_VECTORS = 1_000_000

# From this number of vectors on, a search with an index is faster, even if it must first be opened for one
# query: 6 and .3 ms of a processor, against 17 the first time and 2.2 later (300,000: 9 and .6, 13 and 11;
# 100 components, AMD EPYC). With 20,000 it is 5 and .2 against 3 and .6, and an exact search misses nothing.
FASTER_FROM = 100_000

_SAMPLE = 4096


class Recall(NamedTuple):
    """How an approximate search compares with an exact one."""

    # Share of the exact nearest neighbours that is found. Rows of equal cosines, such as repeated ones, count
    # as the same.
    share: float
    queries: int  # Number of queries, and of neighbours per query
    topn: int
    exact_seconds: float  # Mean time of a query by either search
    approximate_seconds: float


class ApproximateNeighbours:
    """An index over the rows of a matrix; made by :meth:`build`, opened by :meth:`load`."""

    def __init__(self, vectors: np.ndarray, candidates: InvertedFile, words: list[str] | None = None) -> None:
        self.vectors = vectors
        self.words = words
        self._candidates = candidates

    def __len__(self) -> int:
        """Return the number of rows that can be found, that is, rows with a direction."""
        return len(self._candidates)

    @property
    def compared_rows(self) -> int:
        """Number of rows that are compared when the index is opened with vectors."""
        return len(self.vectors[:: _step(self.vectors)])

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of the vectors instead of their memory map."""
        return {**self.__dict__, "vectors": in_memory(self.vectors)}

    def __copy__(self) -> Self:
        """Return an index that shares the arrays."""
        return type(self)(self.vectors, self._candidates, self.words)

    @classmethod
    def build(
        cls,
        vectors: np.ndarray,
        folder: str | os.PathLike[str],
        *,
        words: list[str] | None = None,
        probes: int = PROBES,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Index the rows of a matrix."""
        if not 1 <= probes <= LARGEST_PROBES:
            raise ValueError(f"probes is {probes}, but must be from 1 to {LARGEST_PROBES:,}")
        if not len(vectors):
            raise DataError("there are no vectors to index")
        with replacing(folder, overwrite=True, files=FILES) as place:
            inverted_file.write(vectors, place / LISTS, workers=workers, progress=progress)
            record = {
                "kind": "approximate index",
                "format": FORMAT,
                "n_rows": len(vectors),
                "vector_size": vectors.shape[1],
                "digest": _digest(vectors),
                "probes": probes,
                "lists_digest": _digest_of_lists(
                    place / LISTS, InvertedFile.load(place / LISTS, vectors.shape, probes)
                ),
            }
            (place / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return cls.load(folder, vectors, words=words)

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], vectors: np.ndarray, *, words: list[str] | None = None
    ) -> Self:
        """Open an index. Its file is memory-mapped, and most of it is read only when a search needs it."""
        place = Path(folder)
        try:
            record = json.loads((place / RECORD).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise DataError(f"{place} is not an index of neighbours: make one with cawv index") from None
        except (OSError, RecursionError, ValueError) as error:
            raise DataError(
                f"{place / RECORD} is damaged ({error}): make it again with cawv index"
            ) from error
        if not isinstance(record, dict) or record.get("kind") != "approximate index":
            raise DataError(f"{place} is not an index of neighbours: make one with cawv index")
        found = [record.get(name) for name in ("n_rows", "vector_size", "digest")]
        if record.get("format") != FORMAT:
            raise DataError(
                f"{place} is an index of format {record.get('format')!r:.20}, and this version reads format "
                f"{FORMAT}: make it again with cawv index"
            )
        if found != [*vectors.shape, _digest(vectors)]:
            raise DataError(f"{place} is an index of other vectors: make it again with cawv index")
        probes = record.get("probes")
        if type(probes) is not int or not 1 <= probes <= LARGEST_PROBES:
            raise DataError(
                f"{place / RECORD} is damaged: probes is {probes!r:.40}, not a number from 1 to "
                f"{LARGEST_PROBES:,}: make the index again with cawv index"
            )
        try:
            candidates = InvertedFile.load(place / LISTS, vectors.shape, probes)
        except (DataError, OSError) as error:
            raise DataError(f"{place / LISTS} is damaged ({error}): make it again with cawv index") from error
        if _digest_of_lists(place / LISTS, candidates) != record.get("lists_digest"):
            raise DataError(f"{place / LISTS} is damaged: make it again with cawv index")
        return cls(vectors, candidates, words)

    def nearest(self, direction: np.ndarray, topn: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their exact cosines, best first; of equal cosines, the lower row first."""
        target = unit(direction)
        if topn < 1 or not len(self) or not target.any() or not np.isfinite(target).all():
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows = np.sort(self._candidates.candidates(target, min(topn + 8, len(self))))
        if len(rows) and rows[-1] >= len(self.vectors):
            raise DataError("the index is damaged: make it again with cawv index")
        block = np.asarray(self.vectors[rows], dtype=np.float32)
        cosines = np.clip(block @ target / lengths(block), -1, 1)
        best = highest(cosines, topn)
        return rows[best], cosines[best]

    def most_similar(self, vector: np.ndarray, num_neighbors: int) -> list[tuple[str, float]]:
        """Return words and cosines, best first; ``most_similar`` calls this on its ``indexer``."""
        if self.words is None:
            raise ValueError("the index was opened without words")
        rows, cosines = self.nearest(vector, num_neighbors)
        return [(self.words[row], float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]

    def recall(self, *, queries: int = 200, topn: int = 10, seed: int = 1) -> Recall:
        """Compare the search with an exact one, with random rows as queries."""
        # The nearest row of a query is the query itself, which any search finds. It is left out on both
        # sides.
        chosen = np.random.default_rng(seed).permutation(len(self.vectors))[: max(1, queries)]
        targets = np.asarray(self.vectors[np.sort(chosen)], dtype=np.float32)
        norms = lengths(targets)
        usable = (norms > 0) & np.isfinite(norms)
        targets = targets[usable] / norms[usable, np.newaxis]
        began = time.perf_counter()
        best = np.full((len(targets), topn + 1), -np.inf, np.float32)
        for rows in row_blocks(self.vectors):  # a table of all scores may not fit into memory
            block = np.asarray(self.vectors[rows], dtype=np.float32)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                scores = targets @ block.T / lengths(block)
            scores[~np.isfinite(scores)] = -np.inf
            scores = np.hstack([best, scores])
            best = np.partition(scores, scores.shape[1] - topn - 1, axis=1)[:, -topn - 1 :]
        exact = time.perf_counter() - began
        began = time.perf_counter()
        found = [self.nearest(target, topn + 1)[1][1:] for target in targets]
        approximate = time.perf_counter() - began
        expected = [of_row[of_row > -np.inf][:-1] for of_row in np.sort(best, axis=1)]
        n_expected = sum(map(len, expected))
        # the two searches round differently
        n_found = sum(
            int((cosines >= exactly.min(initial=1) - 1e-6).sum())
            for cosines, exactly in zip(found, expected, strict=True)
        )
        n_queries = max(1, len(targets))
        share = n_found / n_expected if n_expected else 1.0 if len(targets) else float("nan")
        return Recall(share, len(targets), topn, exact / n_queries, approximate / n_queries)


def _step(vectors: np.ndarray) -> int:
    return max(1, len(vectors) // _SAMPLE)


def _digest(vectors: np.ndarray) -> str:
    """Return a digest that identifies vectors by their shape and a sample of rows at equal distances."""
    digest = hashlib.blake2b(repr((vectors.shape, str(vectors.dtype))).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(vectors[:: _step(vectors)]).tobytes())
    return digest.hexdigest()


def _digest_of_lists(path: Path, lists: InvertedFile) -> str:
    """Return a digest of an inverted file without the directions, which are at its end, and of a sample of
    these.
    """
    with path.open("rb") as file:
        rest = file.read(path.stat().st_size - lists.directions.nbytes)
    return hashlib.blake2b(rest, digest_size=16).hexdigest() + _digest(lists.directions)
