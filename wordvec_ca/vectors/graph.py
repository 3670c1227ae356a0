"""The graph of an index of format 2: HNSW (Malkov & Yashunin 2018, algorithm 5), as usearch stores it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError, install_extra


class Graph:
    """A graph over the rows of a matrix. It can be loaded, but not built.

    Parameters
    ----------
    graph : usearch.index.Index
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __len__(self) -> int:
        """Return the number of rows in the graph."""
        return len(self._graph)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of the file instead of its memory map."""
        return {"graph": bytes(self._graph.save()), "expansion": self._graph.expansion_search}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._graph = _library().Index.restore(state["graph"])
        self._graph.expansion_search = state["expansion"]

    @classmethod
    def load(cls, path: str | os.PathLike[str], shape: tuple[int, int], expansion: int) -> Graph:
        """Memory-map the graph of a matrix of this shape.

        Parameters
        ----------
        path : path-like
        shape : tuple of int
            Shape of the matrix.
        expansion : int
            Half of the number of candidates that a search examines.

        Raises
        ------
        DataError
            The file is damaged, or belongs to a matrix of another shape.
        ImportError
            usearch is not installed.
        """
        try:
            graph = _library().Index.restore(os.fspath(path), view=True)
        except (RuntimeError, ValueError) as error:
            raise DataError(str(error)) from error
        if graph is None or graph.ndim != shape[1] or len(graph) > shape[0]:
            raise DataError("it is not the graph of these vectors")
        graph.expansion_search = 2 * expansion
        return cls(graph)

    def candidates(self, target: np.ndarray, n: int) -> np.ndarray:
        """Return n rows that are near to a query, in any order.

        Parameters
        ----------
        target : ndarray of shape (vector_size,), float32
            The query.
        n : int
            Number of rows.
        """
        return np.asarray(self._graph.search(target, n, threads=1).keys, dtype=np.int64)


def _library() -> Any:
    try:
        import usearch.index as library
    except ImportError as error:
        raise ImportError(
            f"an index of format 2 needs usearch, which cannot be imported ({error}): "
            f"{install_extra('ann')}, or make the index again with cawv index"
        ) from error
    return library
