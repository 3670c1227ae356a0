"""The graph of an index of format 2: HNSW (Malkov & Yashunin 2018, algorithm 5), as usearch stores it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError, install_extra


class Graph:
    """A graph over the rows of a matrix. It can be loaded, but not built."""

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
        """Memory-map the graph of a matrix of this shape."""
        try:
            graph = _library().Index.restore(os.fspath(path), view=True)
        except (RuntimeError, ValueError) as error:
            raise DataError(str(error)) from error
        if graph is None or graph.ndim != shape[1] or len(graph) > shape[0]:
            raise DataError("it is not the graph of these vectors")
        graph.expansion_search = 2 * expansion
        return cls(graph)

    def candidates(self, target: np.ndarray, n: int) -> np.ndarray:
        """Return n rows that are near to a query, in any order."""
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
