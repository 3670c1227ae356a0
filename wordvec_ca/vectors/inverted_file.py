"""An inverted file: lists of rows, where each list contains the rows nearest to one centre.

A search reads the lists whose centres are nearest to the query (Jégou, Douze & Schmid 2011, section IV.A,
with whole vectors instead of codes). The centres are those of k-means, learnt in batches (Sculley 2010).

The file is in the safetensors format::

    rows        I64 (n_rows,)               the row of the matrix at each place
    starts      I64 (n_lists + 1,)          the place at which each list begins, and the end of the last
    centres     F32 (n_lists, vector_size)
    directions  F32 (n_rows, vector_size)   the row at each place, of length one
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from math import isqrt
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import in_memory
from wordvec_ca.formats import Tensor, map_tensors, write_tensors
from wordvec_ca.machine import usable_cpus
from wordvec_ca.tables import one_blas_thread, row_blocks
from wordvec_ca.vectors.neighbours import highest, lengths

# Mean number of rows from which each centre is learnt.
ROWS_PER_CENTRE = 64

# How many times longer it takes to learn centres from a row than to assign a row to a list.
LEARNING = 3

BATCH_ROWS = 8192
SEED = 1


class InvertedFile:
    """The lists; written by :func:`write`, opened by :meth:`load`."""

    def __init__(self, arrays: dict[str, np.ndarray], probes: int) -> None:
        # slicing a np.memmap would take longer than the products of a list
        self._arrays = {name: np.asarray(array) for name, array in arrays.items()}
        self._probes = probes
        self._sizes = np.diff(self._arrays["starts"])
        centres = self._arrays["centres"]
        self._half_squares = np.einsum("ij,ij->i", centres, centres) / 2

    def __len__(self) -> int:
        """Return the number of rows in the lists."""
        return len(self._arrays["rows"])

    @property
    def directions(self) -> np.ndarray:
        """Row at each place, of length one, shape (n_rows, vector_size)."""
        return self._arrays["directions"]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of the file instead of its memory map."""
        arrays = {name: in_memory(array) for name, array in self._arrays.items()}
        return {"arrays": arrays, "probes": self._probes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @classmethod
    def load(cls, path: str | os.PathLike[str], shape: tuple[int, int], probes: int) -> InvertedFile:
        """Memory-map the lists made for a matrix of this shape."""
        arrays, _ = map_tensors(path)
        try:
            rows, starts, centres, directions = (
                arrays[name] for name in ("rows", "starts", "centres", "directions")
            )
        except KeyError as error:
            raise DataError(f"it has no array {error}") from error
        fits = (
            [array.dtype.str for array in (rows, starts, centres, directions)] == ["<i8", "<i8", "<f4", "<f4"]
            and rows.ndim == starts.ndim == 1
            and len(starts) >= 2
            and centres.shape == (len(starts) - 1, shape[1])
            and directions.shape == (len(rows), shape[1])
            and not ((rows < 0) | (rows >= shape[0])).any()
            and (starts[0], starts[-1]) == (0, len(rows))
            and (starts[1:] >= starts[:-1]).all()
        )
        if not fits:
            raise DataError("its arrays do not fit together")
        return cls(arrays, probes)

    @one_blas_thread
    def candidates(self, target: np.ndarray, n: int) -> np.ndarray:
        """Return the rows with the highest cosines in the nearest lists, in any order."""
        arrays = self._arrays
        # ordered by the distance of the centres
        nearest = np.argsort(self._half_squares - arrays["centres"] @ target)
        ends = np.cumsum(self._sizes[nearest])
        n_read = min(max(self._probes, int(np.searchsorted(ends, n)) + 1), len(nearest))
        nearest, ends = nearest[:n_read], ends[:n_read]
        begins = ends - self._sizes[nearest]
        firsts = arrays["starts"][nearest]
        cosines = np.empty(ends[-1], np.float32)
        for first, begin, end in zip(firsts.tolist(), begins.tolist(), ends.tolist(), strict=True):
            np.dot(arrays["directions"][first : first + end - begin], target, out=cosines[begin:end])
        found = np.array(highest(cosines, n), np.int64)
        of_list = np.searchsorted(ends, found, side="right")
        rows: np.ndarray = arrays["rows"][firsts[of_list] + found - begins[of_list]]
        return rows


def write(
    vectors: np.ndarray,
    path: str | os.PathLike[str],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Assign the rows that have a direction to lists, and write the lists."""
    # There are four times as many lists as the square root of the number of rows, so that a search compares
    # the query with about as many centres as rows. The file does not depend on the number of threads.
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    usable = np.concatenate([_usable(vectors, rows) for rows in row_blocks(vectors)])
    if not len(usable):
        raise DataError("there is nothing to index: all vectors are zeros, or have NaN or infinity")
    n_lists = max(1, min(4 * isqrt(len(usable)), len(usable) // 16))
    batch = max(BATCH_ROWS, 2 * n_lists)  # the first batch must contain all centres
    n_drawn = max(1, ROWS_PER_CENTRE * n_lists // batch) * batch
    drawn = np.random.default_rng(SEED).permutation(usable)[:n_drawn]
    total, done = LEARNING * len(drawn) + len(usable), 0

    def report(n: int) -> None:
        nonlocal done
        done += n
        if progress is not None:
            progress(done, total)

    means = MiniBatchKMeans(n_lists, init="random", n_init=1, random_state=SEED)
    list_of = np.empty(len(usable), np.int32)
    with threadpool_limits(workers or usable_cpus()):
        for start in range(0, len(drawn), batch):
            rows = np.sort(drawn[start : start + batch])
            means.partial_fit(_directions(vectors, rows))
            report(LEARNING * len(rows))
        for start in range(0, len(usable), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            list_of[part] = means.predict(_directions(vectors, usable[part]))
            report(len(list_of[part]))
    places = usable[np.argsort(list_of, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(list_of, minlength=n_lists))])

    def directions() -> Iterator[bytes]:
        for start in range(0, len(places), BATCH_ROWS):
            yield _directions(vectors, places[start : start + BATCH_ROWS]).astype("<f4").tobytes()

    size = vectors.shape[1]
    write_tensors(
        [
            Tensor("rows", "I64", places.shape, [places.astype("<i8").tobytes()]),
            Tensor("starts", "I64", starts.shape, [starts.astype("<i8").tobytes()]),
            Tensor("centres", "F32", (n_lists, size), [means.cluster_centers_.astype("<f4").tobytes()]),
            Tensor("directions", "F32", (len(places), size), directions()),
        ],
        path,
        {"format": "wordvec_ca"},
    )


def _usable(vectors: np.ndarray, rows: slice) -> np.ndarray:
    """Return the numbers of the rows that have a direction."""
    norms = lengths(np.asarray(vectors[rows], dtype=np.float32))
    return np.flatnonzero((norms > 0) & np.isfinite(norms)) + rows.start


def _directions(vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows, scaled to length one, as float32."""
    block = np.asarray(vectors[rows], dtype=np.float32)
    directions: np.ndarray = (block / lengths(block)[:, np.newaxis]).astype(np.float32, copy=False)
    return directions
