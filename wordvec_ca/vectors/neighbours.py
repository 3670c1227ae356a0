"""Searches exactly: computes the cosines of all vectors with one direction, and finds the highest."""

from __future__ import annotations

import warnings
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.files import Bar, data_frame, html_table
from wordvec_ca.tables import row_blocks, show_word


def lengths(block: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of each row, computed in float64 where float32 would over- or underflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", block, block, dtype=np.result_type(block, np.float32))
        found = np.sqrt(squares)
        odd = np.flatnonzero(~((squares > 1e-30) & (squares < 1e30)))
        if len(odd):
            found[odd] = np.sqrt(np.square(block[odd], dtype=np.float64).sum(axis=1))
    return found


def unit(vector: np.ndarray) -> np.ndarray:
    """Return a float32 vector of unit length, zero if the vector is zero, NaN if it has NaN or infinity."""
    exact = np.asarray(vector, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt(np.dot(exact, exact))
        if not np.isfinite(length):
            return np.full(exact.shape, np.nan, dtype=np.float32)
        return (exact / (length or 1.0)).astype(np.float32)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine of two vectors; exactly 1 for a vector and itself, 0 if one is zero, NaN for NaN."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt(np.dot(x, x) * np.dot(y, y))
        return float(np.float32(np.dot(x, y) / (length or 1.0)))


class ScoredWords(list[tuple[str, float]]):
    """A list of words and scores, best first, which a notebook shows as a table with bars."""

    def _repr_html_(self) -> str:
        """Return the table. Bars begin at 0, and the highest score has the longest bar."""
        most = max((score for _, score in self), default=0.0)
        rows = [
            (rank, str(word), Bar(score, score / most if most > 0 else 0.0))
            for rank, (word, score) in enumerate(self, start=1)
        ]
        return html_table("", ("", "word", "score"), rows)

    def to_frame(self) -> Any:
        """Return a pandas data frame with the columns word and score."""
        return data_frame(("word", "score"), self)


class Directions:
    """The directions of the rows of a matrix: norms, cosines and the nearest rows."""

    def __init__(self, words: list[str], vectors: np.ndarray) -> None:
        self._words = words
        self._vectors = vectors
        self._dtype = np.result_type(vectors, np.float32)

    def of(self, vectors: np.ndarray) -> bool:
        """Return whether these are the directions of this same matrix object."""
        return self._vectors is vectors

    @cached_property
    def norms(self) -> np.ndarray:
        """Length of each vector, shape (n_words,); computed once, block by block."""
        norms = np.empty(len(self._vectors), self._dtype)
        for rows in row_blocks(self._vectors):
            norms[rows] = lengths(self._vectors[rows])
        self._warn_of_nonfinite(norms)
        return norms

    def _warn_of_nonfinite(self, norms: np.ndarray) -> None:
        """Warn once if vectors contain NaN or infinity."""
        bad = np.flatnonzero(~np.isfinite(norms))
        if len(bad):
            warnings.warn(
                f"{len(bad)} of {len(self._vectors)} vectors hold NaN or infinity (the first is that of "
                f"{show_word(self._words[bad[0]])}); they are never returned as neighbours",
                stacklevel=4,
            )

    def normed(self) -> np.ndarray:
        """Return a new (n_words, vector_size) matrix with rows of length one; zero rows stay zero."""
        norms = np.where(self.norms > 0, self.norms, self._dtype.type(1))
        normed = np.empty(self._vectors.shape, self._dtype)
        with np.errstate(invalid="ignore"):
            for rows in row_blocks(self._vectors):
                np.divide(self._vectors[rows], norms[rows, np.newaxis], out=normed[rows])
        return normed

    def cosines(self, direction: np.ndarray, stop: int) -> np.ndarray:
        """Return the cosines of the first ``stop`` vectors with a unit vector; 0 for zero rows, NaN for
        NaN.
        """
        # The first call also computes the norms, in the same pass over memory.
        cosines = np.empty(stop, self._dtype)
        n_words = len(self._vectors)
        first = "norms" not in self.__dict__ and stop == n_words
        norms = np.empty(n_words, self._dtype) if first else self.norms
        direction = direction.astype(self._dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in row_blocks(self._vectors[:stop]):
                block = self._vectors[rows]
                if first:
                    norms[rows] = lengths(block)
                # not with BLAS, see `row_products`
                np.einsum("ij,j->i", block, direction, out=cosines[rows])
        if first:
            self.__dict__["norms"] = norms
            self._warn_of_nonfinite(norms)
        norms = norms[:stop]
        np.divide(cosines, norms, out=cosines, where=(norms > 0) & np.isfinite(norms))
        cosines[norms == 0] = 0
        cosines[~np.isfinite(norms)] = np.nan
        return np.clip(cosines, -1, 1, out=cosines)

    def highest(self, scores: np.ndarray, topn: int, left_out: set[int]) -> list[int]:
        """Return the rows of the ``topn`` highest scores, best first, ties by row."""
        usable = scores.copy()
        norms = self.norms[: len(scores)]
        usable[~((norms > 0) & np.isfinite(norms))] = -np.inf
        usable[[row for row in left_out if row < len(scores)]] = -np.inf
        return highest(usable, topn)


def highest(scores: np.ndarray, topn: int) -> list[int]:
    """Return the positions of the highest scores, best first; of equal scores, the earlier first."""
    n_best = min(topn, int(np.isfinite(scores).sum()))
    if n_best <= 0:
        return []
    threshold = np.partition(scores, len(scores) - n_best)[len(scores) - n_best]
    rows = np.flatnonzero(scores >= threshold)
    found: list[int] = rows[np.argsort(-scores[rows], kind="stable")][:n_best].tolist()
    return found


# Number of rows of a block, which stays in the cache while several queries are multiplied with it.
BLOCK_ROWS = 8192


def row_products(
    rows: NDArray[Any], queries: NDArray[np.float32], out: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Compute ``out[i, j] = <queries[i], rows[j]>`` of many stored rows, as fast as memory can be read."""
    # Not with BLAS: its threads busy-wait for each other, and while another program ran, one product of
    # blocks of some MB took 20 times as long. One thread reads a row about as fast as two.
    n_queries, size = queries.shape
    if rows.ndim != 2 or rows.shape[1] != size or out.shape != (n_queries, len(rows)):
        raise ValueError(f"rows {rows.shape}, queries {queries.shape} and out {out.shape} do not fit")
    if rows.dtype == np.float16:
        # The bits of a float16, moved to those of a float32, give the number times 2^-112, also for
        # subnormals.
        _half_products()(rows.view(np.uint16), queries * np.float32(2.0**112), out)
    elif rows.dtype == np.float32:
        for start in range(0, len(rows), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            for query, scores in zip(queries, out, strict=True):
                np.einsum("ij,j->i", rows[part], query, out=scores[part])
    else:
        raise ValueError(f"rows are {rows.dtype}: they must be float32 or float16")
    return out


@cache
def _half_products() -> Any:
    """Return the compiled loop over float16 rows; numba is slow to import, and few vectors are float16."""
    import numba

    # Sums may be reordered, so that they vectorise; NaN and infinity keep their meaning.
    @numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
    def half_products(rows: Any, queries: Any, out: Any) -> None:
        size = rows.shape[1]
        bits = np.empty(size, np.uint32)
        row = bits.view(np.float32)
        sign, rest = np.uint32(0x8000), np.uint32(0x7FFF)
        for j in range(rows.shape[0]):
            for k in range(size):
                half = np.uint32(rows[j, k])
                bits[k] = ((half & sign) << np.uint32(16)) | ((half & rest) << np.uint32(13))
            for i in range(queries.shape[0]):
                total = np.float32(0)
                for k in range(size):
                    total += queries[i, k] * row[k]
                out[i, j] = total

    return half_products
