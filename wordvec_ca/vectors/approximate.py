"""Approximate nearest neighbours: a graph search finds most of them without comparing every vector.

The graph is HNSW (Malkov & Yashunin 2018, algorithms 1 to 5) as usearch makes it. What it finds is ranked by
exact cosines, so that only the choice of candidates is approximate.

An index is a folder::

    index.json      of which vectors: number, size and digest; the settings; the digest of the graph
    graph.usearch   the graph and the vectors in it; memory-mapped
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import in_memory, replacing
from wordvec_ca.machine import usable_cpus
from wordvec_ca.tables import row_blocks
from wordvec_ca.vectors.neighbours import highest, lengths, unit

RECORD, GRAPH = "index.json", "graph.usearch"
FILES = {RECORD, GRAPH}
"""Files of an index; a folder with any other file is never replaced."""

FORMAT = 2
"""Format of an index. Format 1 did not have a digest of the graph."""

LARGEST_EXPANSION = 100_000

MANY_VECTORS = 1_000_000
"""From this number of vectors on, an exact search is so slow that commands suggest an index."""

_KINDS = {"float32": "f32", "float16": "f16", "int8": "i8"}
_SAMPLE = 4096


class Recall(NamedTuple):
    """How an approximate search compares with an exact one.

    Attributes
    ----------
    share : float
        Share of the exact nearest neighbours that is found.
    queries, topn : int
        Number of queries, and of neighbours of each.
    exact_seconds, approximate_seconds : float
        Mean time of a query.
    """

    share: float
    queries: int
    topn: int
    exact_seconds: float
    approximate_seconds: float


class ApproximateNeighbours:
    """An index over the rows of a matrix; made by :meth:`build`, opened by :meth:`load`.

    Parameters
    ----------
    vectors : ndarray of shape (n_rows, vector_size)
        The rows; float32 or float16, possibly memory-mapped.
    graph : usearch.index.Index
        The graph over them.
    words : list of str, optional
        The word of each row, for `most_similar`.
    """

    def __init__(self, vectors: np.ndarray, graph: Any, words: list[str] | None = None) -> None:
        self.vectors = vectors
        self.words = words
        self._graph = graph

    def __len__(self) -> int:
        """Return the number of rows that can be found: those with a direction."""
        return len(self._graph)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of the files instead of the memory maps."""
        return {
            "vectors": in_memory(self.vectors),
            "words": self.words,
            "graph": bytes(self._graph.save()),
            "expansion": self._graph.expansion_search,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.vectors, self.words = state["vectors"], state["words"]
        self._graph = _library().Index.restore(state["graph"])
        self._graph.expansion_search = state["expansion"]

    def __copy__(self) -> Self:
        """Return an index that shares the graph."""
        return type(self)(self.vectors, self._graph, self.words)

    @classmethod
    def build(
        cls,
        vectors: np.ndarray,
        folder: str | os.PathLike[str],
        *,
        words: list[str] | None = None,
        dtype: str = "float16",
        connectivity: int = 32,
        expansion: int = 64,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Index the rows of a matrix.

        Parameters
        ----------
        vectors : ndarray of shape (n_rows, vector_size)
            Rows of zeros, and those with NaN or infinity, are never found.
        folder : path-like
            Folder to create; an older index in it is replaced when the new one is complete.
        words : list of str, optional
            The word of each row.
        dtype : {'float32', 'float16', 'int8'}
            Type of the vectors stored in the graph; cosines are exact in any case. float16 finds as much as
            float32 in two thirds of the time.
        connectivity : int
            Edges of a node (M in the paper).
        expansion : int
            Candidates examined when a row is added (ef in the paper), and twice as many in a search. More
            candidates give better recall, but take longer.
        workers : int, optional
            Threads; by default one per usable processor. With more than one, the graph differs from run to
            run.
        progress : callable, optional
            Called with the number of rows done, and of all rows.

        Raises
        ------
        DataError
            There are no vectors, or the folder holds something else.
        ImportError
            usearch is not installed.
        """
        if dtype not in _KINDS:
            raise ValueError(f"dtype is {dtype!r}; known are {', '.join(map(repr, _KINDS))}")
        if not len(vectors):
            raise DataError("there are no vectors to index")
        graph = _library().Index(
            ndim=vectors.shape[1],
            metric="cos",
            dtype=_KINDS[dtype],
            connectivity=connectivity,
            expansion_add=expansion,
            expansion_search=2 * expansion,
        )
        with replacing(folder, overwrite=True, files=FILES) as place:
            for rows in row_blocks(vectors):
                block = np.asarray(vectors[rows], dtype=np.float32)
                norms = lengths(block)
                usable = np.flatnonzero((norms > 0) & np.isfinite(norms))
                directions = block[usable] / norms[usable, np.newaxis]
                with _faults(f"cannot make the index {os.fspath(folder)!r}"):
                    graph.add(
                        usable.astype(np.uint64) + np.uint64(rows.start),
                        directions,
                        threads=workers or usable_cpus(),
                    )
                if progress is not None:
                    progress(rows.stop, len(vectors))
            with _faults(f"cannot write the index {os.fspath(folder)!r}"):  # such as on a full disk
                graph.save(str(place / GRAPH))
            record = {
                "kind": "approximate index",
                "format": FORMAT,
                "n_rows": len(vectors),
                "vector_size": vectors.shape[1],
                "digest": _digest(vectors),
                "dtype": dtype,
                "connectivity": connectivity,
                "expansion": expansion,
                "graph_digest": _digest_of_file(place / GRAPH),
            }
            (place / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return cls.load(folder, vectors, words=words)

    @classmethod
    def load(
        cls, folder: str | os.PathLike[str], vectors: np.ndarray, *, words: list[str] | None = None
    ) -> Self:
        """Open an index; the graph is memory-mapped, and read once to compare it with its digest.

        Parameters
        ----------
        folder : path-like
            What `build` made.
        vectors : ndarray of shape (n_rows, vector_size)
            The rows that it was built with.
        words : list of str, optional
            The word of each row.

        Raises
        ------
        DataError
            The folder is not an index, or it is damaged or of other vectors.
        ImportError
            usearch is not installed.
        """
        place = Path(folder)
        try:
            record = json.loads((place / RECORD).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{place} is not an index of neighbours: make one with cawv index") from None
        except (OSError, RecursionError, ValueError) as error:
            raise DataError(
                f"{place / RECORD} is damaged ({error}): make it again with cawv index"
            ) from error
        if not isinstance(record, dict) or record.get("kind") != "approximate index":
            raise DataError(f"{place} is not an index of neighbours: make one with cawv index")
        if record.get("format") != FORMAT:
            raise DataError(
                f"{place} is an index of format {record.get('format')!r:.20}, and this version cannot tell "
                f"whether it is damaged; format {FORMAT} is read: make it again with cawv index"
            )
        found = [record.get(name) for name in ("n_rows", "vector_size", "digest")]
        if found != [*vectors.shape, _digest(vectors)]:
            raise DataError(f"{place} is an index of other vectors: make it again with cawv index")
        expansion, damaged = record.get("expansion"), f"{place / GRAPH} is damaged"
        if type(expansion) is not int or not 1 <= expansion <= LARGEST_EXPANSION:
            raise DataError(
                f"{place / RECORD} is damaged: expansion is {expansion!r:.40}, not a number from 1 to "
                f"{LARGEST_EXPANSION:,}: make the index again with cawv index"
            )
        # the library trusts the links of the graph: a wrong one leads it out of its memory
        if _digest_of_file(place / GRAPH) != record.get("graph_digest"):
            raise DataError(f"{damaged}: make it again with cawv index")
        try:
            graph = _library().Index.restore(str(place / GRAPH), view=True)
        except (RuntimeError, ValueError, OSError) as error:
            raise DataError(f"{damaged} ({error}): make it again with cawv index") from error
        if graph is None or graph.ndim != vectors.shape[1] or len(graph) > len(vectors):
            raise DataError(f"{damaged}: make it again with cawv index")
        graph.expansion_search = 2 * expansion
        return cls(vectors, graph, words)

    def nearest(self, direction: np.ndarray, topn: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their exact cosines, best first, of equal ones the lower row first.

        Parameters
        ----------
        direction : ndarray of shape (vector_size,)
            The query; its length does not matter.
        topn : int
            How many at most.
        """
        target = unit(direction)
        if topn < 1 or not len(self) or not target.any() or not np.isfinite(target).all():
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        keys = self._graph.search(target, min(topn + 8, len(self)), threads=1).keys
        rows = np.sort(np.asarray(keys, dtype=np.int64))
        if len(rows) and rows[-1] >= len(self.vectors):
            raise DataError("the index is damaged: make it again with cawv index")
        block = np.asarray(self.vectors[rows], dtype=np.float32)
        cosines = np.clip(block @ target / lengths(block), -1, 1)
        best = highest(cosines, topn)
        return rows[best], cosines[best]

    def most_similar(self, vector: np.ndarray, num_neighbors: int) -> list[tuple[str, float]]:
        """Return words and cosines, best first; ``KeyedVectors.most_similar`` calls this on its ``indexer``.

        Parameters
        ----------
        vector : ndarray of shape (vector_size,)
        num_neighbors : int
        """
        if self.words is None:
            raise ValueError("the index was opened without words")
        rows, cosines = self.nearest(vector, num_neighbors)
        return [(self.words[row], float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]

    def recall(self, *, queries: int = 200, topn: int = 10, seed: int = 1) -> Recall:
        """Compare with an exact search, for random rows as queries.

        Parameters
        ----------
        queries : int
            Number of queries.
        topn : int
            Neighbours of each.
        seed : int
            Seed of the choice.
        """
        chosen = np.random.default_rng(seed).permutation(len(self.vectors))[: max(1, queries)]
        targets = np.asarray(self.vectors[np.sort(chosen)], dtype=np.float32)
        norms = lengths(targets)
        usable = (norms > 0) & np.isfinite(norms)
        targets = targets[usable] / norms[usable, np.newaxis]
        began = time.perf_counter()
        best = np.full((len(targets), topn), -np.inf, np.float32)
        best_rows = np.full((len(targets), topn), -1)
        for rows in row_blocks(self.vectors):  # of ten million rows no table of all scores fits into memory
            block = np.asarray(self.vectors[rows], dtype=np.float32)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                scores = targets @ block.T / lengths(block)
            scores[~np.isfinite(scores)] = -np.inf
            scores = np.hstack([best, scores])
            numbers = np.hstack(
                [best_rows, np.broadcast_to(np.arange(rows.start, rows.stop), scores[:, topn:].shape)]
            )
            kept = np.argpartition(-scores, topn - 1, axis=1)[:, :topn]
            best, best_rows = np.take_along_axis(scores, kept, 1), np.take_along_axis(numbers, kept, 1)
        expected = [set(row[of_row > -np.inf].tolist()) for row, of_row in zip(best_rows, best, strict=True)]
        exact = time.perf_counter() - began
        began = time.perf_counter()
        found = [set(self.nearest(target, topn)[0].tolist()) for target in targets]
        approximate = time.perf_counter() - began
        n_expected = sum(map(len, expected))
        n_found = sum(len(a & b) for a, b in zip(expected, found, strict=True))
        n_queries = max(1, len(targets))
        share = n_found / n_expected if n_expected else float("nan")
        return Recall(share, len(targets), topn, exact / n_queries, approximate / n_queries)


def _digest(vectors: np.ndarray) -> str:
    """Return a digest that identifies the vectors: of their shape, and of rows at equal distances."""
    step = max(1, len(vectors) // _SAMPLE)
    digest = hashlib.blake2b(repr((vectors.shape, str(vectors.dtype))).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(vectors[::step]).tobytes())
    return digest.hexdigest()


def _digest_of_file(path: Path) -> str | None:
    """Return the SHA-256 of a file, or None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


@contextmanager
def _faults(what: str) -> Iterator[None]:
    """Convert errors of usearch, which raises one class for all faults, Ctrl-C included.

    Raises
    ------
    KeyboardInterrupt
        A signal arrived; usearch replaces the exception of the handler by an error of its own.
    DataError
        Any other error.
    """
    try:
        yield
    except RuntimeError as error:
        if "terminated" in str(error):
            raise KeyboardInterrupt from error
        # the library does not say why it could not write
        why = "; is the disk full, or a limit of file sizes (ulimit -f) reached?"
        raise DataError(f"{what}: {error}{why if 'serialize' in str(error) else ''}") from error


def _library() -> Any:
    try:
        import usearch.index as library
    except ImportError as error:
        raise ImportError(
            f"an approximate index needs usearch, which cannot be imported ({error}): "
            "pip install 'wordvec-ca[ann]'"
        ) from error
    return library
