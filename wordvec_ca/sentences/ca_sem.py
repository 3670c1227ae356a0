"""CA-SEM: re-embed word vectors for a collection of sentences.

Every word vector is split into a context-free part, ``chi v0``, whose direction is the same for all words,
and a context-sensitive part, ``(1 - chi) w'``, with ``w'`` orthogonal to ``v0`` (Zeng 2019, section 3.1,
eq. 16 and 17):

    minimise  sum_w n_w | w - chi_w v0 - (1 - chi_w) w'_w |^2     subject to  w'_w orthogonal to v0

With ``u = v0 / |v0|``, ``r = |v0|``, ``p = <w, u>`` and ``q = |w - p u|`` all three blocks are closed forms:

    w'  = w - p u
    chi = clip(p r / (r^2 + q^2), 0, 1)
    v0  = (u sum n chi p + sum n chi^2 w') / sum n chi^2

and since ``chi`` and ``w'`` follow from ``v0``, only ``v0`` is stored. The data enter through the word counts
``n_w`` alone: one iteration costs O(types x dimension) however long the text is, and the counts of shards of
text add up to the counts of the whole, exactly, since they are integers.

Three facts that the paper does not state shape this module:

* The energy has no minimiser: along a fixed direction it falls towards ``sum_{p<0} n p^2`` as ``|v0|`` grows,
  and each iteration adds about ``mean(q^2) / |v0|`` to ``|v0|``. The number of iterations and the length of
  the start are therefore parameters of the result. ``scale`` holds the length fixed instead.
* Step 1 (projection) does not minimise the energy over ``w'``, so an iteration can raise the energy of the
  feasible point ``(v0, w'(v0), chi(v0))``. That energy is what is recorded and compared, and the best ``v0``
  is kept.
* ``chi`` is 0 for every word on the far side of ``v0``, so the sign of the principal component matters; it is
  chosen so that ``sum n p > 0``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import replacing_files, save_json, save_npy
from wordvec_ca.sentences.counts import WordCounts, count_sentences
from wordvec_ca.sentences.word_vectors import WordVectors, check_finite
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.tables import one_blas_thread

Start = Literal["unit", "rms"]

# Rows per block: 1024 x 100 float64 stay in the cache between the products.
BLOCK_ROWS = 1024

# Vectors that occur are kept in float64 up to this size; beyond it, each iteration converts them again.
HELD_BYTES = 1 << 28


@dataclass(frozen=True)
class Reembedding:
    """The result of Algorithm 1: the context-free vector and the course of the iteration.

    Parameters
    ----------
    v0 : ndarray of shape (vector_size,), float64
        The context-free vector; everything else follows from it.
    energies : ndarray of shape (n_iter + 1,), float64
        Energy (eq. 17) at the feasible point of the start and after each iteration.
    norms : ndarray of shape (n_iter + 1,), float64
        Length of ``v0`` at the start and after each iteration.
    best : int
        Index of the lowest energy; ``v0`` is from that iteration.
    converged : bool
        Whether the stopping rule ended the iteration (False: ``max_iter`` did).
    counts : WordCounts
        The statistics from which the result was computed.
    """

    v0: NDArray[np.float64]
    energies: NDArray[np.float64]
    norms: NDArray[np.float64]
    best: int
    converged: bool
    counts: WordCounts

    def chi(
        self, matrix: NDArray[np.floating[Any]], weights: NDArray[np.floating[Any]] | None = None
    ) -> NDArray[np.float32]:
        """Return how context-free each row of ``matrix`` is; see :func:`chi`."""
        return chi(matrix, self.v0, weights)

    def transform(self, matrix: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return the context-sensitive part of each row, ``(1 - chi) w'`` (Zeng 2019, eq. 12)."""
        u, r = _direction(self.v0)
        out = np.empty(matrix.shape, np.float32)
        for part, block in _Rows(matrix):
            p, _, x = _split(block, u, r)
            out[part] = (1.0 - x)[:, None] * (block - p[:, None] * u)
        return out

    def save(self, directory: str | Path, *, words: Iterable[str] | None = None) -> None:
        """Write ``v0.npy``, ``counts.npz`` and ``reembedding.json`` into a directory (made if missing).

        Symbolic links of these names are replaced, not followed. With the ``words`` of the vectors, the
        counts can be used to re-embed the same words again; see :meth:`WordCounts.save`.
        """
        record = {
            "format": 1,
            "energies": self.energies.tolist(),
            "norms": self.norms.tolist(),
            "best": self.best,
            "converged": self.converged,
        }
        with replacing_files(directory, last="reembedding.json") as made:
            save_npy(made / "v0.npy", self.v0)
            self.counts.save(made / "counts.npz", words=words)
            save_json(made / "reembedding.json", record)

    @classmethod
    def load(cls, directory: str | Path) -> Reembedding:
        """Read what :meth:`save` wrote.

        Raises
        ------
        DataError
            The files are missing or are not files of a re-embedding.
        """
        directory = Path(directory)
        try:
            record = json.loads((directory / "reembedding.json").read_text(encoding="utf-8"))
            return cls(
                v0=np.load(directory / "v0.npy", allow_pickle=False),
                energies=np.array(record["energies"], np.float64),
                norms=np.array(record["norms"], np.float64),
                best=int(record["best"]),
                converged=bool(record["converged"]),
                counts=WordCounts.load(directory / "counts.npz"),
            )
        except Exception as error:  # damaged arrays and records raise nearly anything
            raise DataError(
                f"{directory} does not hold v0.npy, counts.npz and reembedding.json: {error!r}; "
                "write one with Reembedding.save or 'cawv reembed'"
            ) from error


class _Rows:
    """Some rows of a matrix in float64, in blocks of ``BLOCK_ROWS``; each block comes with its slice.

    With ``weights``, each row is multiplied by its weight.
    """

    def __init__(
        self,
        matrix: NDArray[np.floating[Any]],
        rows: NDArray[np.int64] | None = None,
        weights: NDArray[np.floating[Any]] | None = None,
    ) -> None:
        self.size = matrix.shape[1]
        self._matrix, self._weights = matrix, weights
        self._rows = np.arange(len(matrix)) if rows is None else rows
        self._held: NDArray[np.float64] | None = None
        if rows is not None and len(rows) * matrix.shape[1] * 8 <= HELD_BYTES:  # each iteration reads them
            self._held = self._read(rows)

    def _read(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        block = self._matrix[rows].astype(np.float64)
        if self._weights is not None:
            block *= self._weights[rows, None]
        return block

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        for start in range(0, len(self._rows), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            if self._held is not None:
                yield part, self._held[part]
            else:
                yield part, self._read(self._rows[part])


def _split(
    block: NDArray[np.float64], u: NDArray[np.float64], r: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return ``p``, ``q^2`` and ``chi`` of each row of ``block``, shape (rows,)."""
    p = block @ u
    q2 = np.maximum(np.einsum("ij,ij->i", block, block) - p * p, 0.0)
    return p, q2, np.clip(p * r / (r * r + q2), 0.0, 1.0)


def chi(
    matrix: NDArray[np.floating[Any]],
    v0: NDArray[np.floating[Any]],
    weights: NDArray[np.floating[Any]] | None = None,
) -> NDArray[np.float32]:
    """Return how context-free each word is.

    ``chi = clip(<w, v0> / (|v0|^2 + |w'|^2), 0, 1)``: the place on the segment from ``w'`` to ``v0`` that is
    nearest to ``w``. (The caption of the paper's figure 1 describes ``1 - chi``.)

    References
    ----------
    Zeng 2019, section 3.1.2, step 3.
    """
    u, r = _direction(v0)
    out = np.empty(len(matrix), np.float32)
    for part, block in _Rows(matrix, weights=weights):
        out[part] = _split(block, u, r)[2]
    return out


def _direction(v0: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], float]:
    """Return ``v0 / |v0|`` and ``|v0|``."""
    r = float(np.linalg.norm(v0))
    if not (np.isfinite(r) and r > 0.0):
        raise ValueError(f"v0 has length {r}: it must be a finite vector other than zero")
    return np.asarray(v0, np.float64) / r, r


def _principal_direction(rows: _Rows, n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first principal component of the tokens, as a unit vector with ``sum n p >= 0``."""
    # It is not centred, like that of Arora et al. 2017.
    size = rows.size
    second, first = np.zeros((size, size)), np.zeros(size)
    for part, block in rows:
        weighted = block * n[part, None]
        second += weighted.T @ block
        first += weighted.sum(axis=0)
    u: NDArray[np.float64] = np.linalg.eigh(second)[1][:, -1]
    lean = float(first @ u)
    if abs(lean) <= 1e-12 * float(n.sum()) * np.sqrt(max(np.trace(second) / n.sum(), 0.0)):
        lean = float(u[np.abs(u).argmax()])  # the mean is orthogonal to u: any fixed rule is good
    return u if lean >= 0 else -u


def _step(
    rows: _Rows, n: NDArray[np.float64], v0: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64] | None]:
    """Read the vectors once: the energy (eq. 17) at the feasible point of ``v0``, and the ``v0`` of step
    2.
    """
    # The feasible point has ``w'`` the projection and ``chi`` its closed form. The new ``v0`` is None if
    # every chi is 0.
    u, r = _direction(v0)
    energy = 0.0
    chi2 = chi_p = chi2_p = 0.0
    weighted = np.zeros_like(v0)
    for part, block in rows:
        p, q2, x = _split(block, u, r)
        m = n[part]
        energy += float(m @ ((p - x * r) ** 2 + x * x * q2))
        mx2 = m * x * x
        chi2 += float(mx2.sum())
        chi_p += float((m * x) @ p)
        chi2_p += float(mx2 @ p)
        weighted += mx2 @ block
    if chi2 == 0.0:
        return energy, None
    # u sum n chi p + sum n chi^2 w', where sum n chi^2 w' = sum n chi^2 w - u sum n chi^2 p
    return energy, (u * (chi_p - chi2_p) + weighted) / chi2


@one_blas_thread
def reembed_counts(
    matrix: NDArray[np.floating[Any]],
    counts: WordCounts,
    *,
    max_iter: int = 100,
    tol: float = 0.0,
    start: Start | NDArray[np.floating[Any]] = "unit",
    scale: float | None = None,
    count_power: float = 1.0,
    weights: NDArray[np.floating[Any]] | None = None,
    words: list[str] | None = None,
) -> Reembedding:
    """Run Algorithm 1 on word counts.

    References
    ----------
    Zeng 2019, Algorithm 1.
    """
    if max_iter < 0 or tol < 0 or (scale is not None and not scale > 0):
        raise ValueError(f"max_iter={max_iter}, tol={tol} must be >= 0 and scale={scale} > 0 or None")
    if len(counts.counts) != len(matrix):
        raise DataError(
            f"{len(counts.counts)} counts for {len(matrix)} vectors: count against the same vectors"
        )
    check_finite(matrix, words)
    used = np.flatnonzero(counts.counts)
    if len(used) == 0:
        raise DataError(
            f"none of the {counts.n_tokens} tokens in {counts.n_sentences} sentences has a vector: check "
            "that text and vectors agree in language, letter case and tokenisation"
        )
    n = counts.counts[used].astype(np.float64) ** count_power
    rows = _Rows(matrix, used, weights)
    if not any(block.any() for _, block in rows):
        raise DataError("the vectors of all words in the sentences are zero: there is nothing to split")

    v0, rms = _start(rows, n, start)
    radius = None if scale is None else scale * rms
    if radius is not None:
        v0 = v0 * (radius / np.linalg.norm(v0))
    energies: list[float] = []
    norms: list[float] = []
    best, best_v0 = 0, v0
    converged = False
    while True:
        value, new = _step(rows, n, v0)
        energies.append(value)
        norms.append(float(np.linalg.norm(v0)))
        last = len(energies) - 1
        if last > 0:
            if value < energies[best]:
                fell = energies[best] - value > tol * energies[best]
                best, best_v0 = last, v0
            else:
                fell = False
            if not fell:
                converged = True
                break
        if last == max_iter or new is None:
            converged = new is None
            break
        v0 = new if radius is None else new * (radius / np.linalg.norm(new))
    return Reembedding(best_v0, np.array(energies), np.array(norms), best, converged, counts)


def _start(
    rows: _Rows, n: NDArray[np.float64], start: Start | NDArray[np.floating[Any]]
) -> tuple[NDArray[np.float64], float]:
    """Return the first ``v0`` and the root mean square of ``|w'|`` around it."""
    if not isinstance(start, str):
        v0 = np.array(start, np.float64)
        if v0.shape != (rows.size,):
            raise ValueError(f"start has shape {v0.shape}: it must be ({rows.size},)")
    elif start in ("unit", "rms"):
        v0 = _principal_direction(rows, n)
    else:
        raise ValueError(f"start={start!r}: it must be 'unit', 'rms' or a vector")
    u, _ = _direction(v0)
    along = across = 0.0
    for part, block in rows:
        p, q2, _ = _split(block, u, 1.0)
        along += float(n[part] @ (p * p))
        across += float(n[part] @ q2)
    # if all words are parallel to v0 (up to rounding), w' is zero: use the length of the words instead
    rms = float(np.sqrt((across if across > 1e-12 * along else along) / n.sum()))
    return (v0 * rms if isinstance(start, str) and start == "rms" else v0), rms


def reembed(
    vectors: WordVectors,
    sentences: Iterable[Iterable[str]] | WordCounts | Mapping[str, int],
    **options: Any,
) -> Reembedding:
    """Find the context-free vector of a collection of sentences (CA-SEM).

    Parameters
    ----------
    vectors : KeyedVectors
        Pre-trained word vectors, ours or gensim's.
    sentences : iterable of token lists, or WordCounts, or mapping word -> count
        Read once and never held.
    **options
        ``max_iter``, at most so many iterations (100); ``tol``, the share by which one must lower the energy
        (0); ``start``, the first v0: "unit", "rms" or a vector; ``scale``, a fixed length of v0 as a multiple
        of the root mean square of ``|w'|`` (None: it grows); ``count_power``, an exponent of the counts (1).

    Returns
    -------
    Reembedding

    Raises
    ------
    DataError
        No token has a vector, all vectors are zero, or one is not finite.
    """
    if isinstance(sentences, WordCounts):
        counts = sentences
    elif isinstance(sentences, Mapping):
        counts = WordCounts.from_mapping(sentences, vectors.key_to_index)
    else:
        counts = count_sentences(sentences, vectors.key_to_index)
    return reembed_counts(vectors.vectors, counts, words=vectors.index_to_key, **options)


REEMBEDDING_FILES = frozenset({"v0.npy", "chi.npy", "counts.npz", "reembedding.json"})
"""Files that re-embedding adds to a model directory."""


def save_reembedded(
    directory: str | Path, vectors: WordVectors, result: Reembedding, *, overwrite: bool = False
) -> None:
    """Write a model directory whose vectors are the context-sensitive parts ``(1 - chi) w'``.

    gensim and ``KeyedVectors.load`` open it like any model. The directory also holds ``v0.npy``, ``chi.npy``
    (float32, one number per word), ``counts.npz`` and ``reembedding.json``. Words without counts get their
    counts in the sentences.

    Parameters
    ----------
    directory : path
        Appears complete or not at all.
    vectors : KeyedVectors
        The word vectors that were re-embedded.
    result : Reembedding
        The result of the re-embedding.
    overwrite : bool
        Replace an existing model directory.

    Raises
    ------
    DataError
        If the directory exists and ``overwrite`` is false, or cannot be written.
    """
    from wordvec_ca.files import escape_lines, replacing, save_npy, write_checksums
    from wordvec_ca.formats import MODEL_FILES, MODEL_FORMAT, write_gensim_index

    known = getattr(vectors, "counts", None)
    counts = result.counts.counts if known is None else np.asarray(known)
    with replacing(directory, overwrite=overwrite, files=MODEL_FILES | REEMBEDDING_FILES) as folder:
        save_npy(folder / ModelFile.VECTORS, result.transform(vectors.vectors))
        save_npy(folder / "chi.npy", result.chi(vectors.vectors))
        result.save(folder, words=vectors.index_to_key)
        words = escape_lines(vectors.index_to_key).split("\n")[:-1]
        lines = "".join(f"{word}\t{count}\n" for word, count in zip(words, counts.tolist(), strict=True))
        (folder / ModelFile.VOCAB).write_bytes(lines.encode("utf-8", "surrogatepass"))
        write_gensim_index(folder, vectors.index_to_key, counts)
        record = {
            "format": MODEL_FORMAT,
            "version": __version__,
            "n_words": len(vectors.index_to_key),
            "vector_size": int(vectors.vectors.shape[1]),
            "reembedded": {
                "iterations": len(result.energies) - 1,
                "best": result.best,
                "energy": float(result.energies[result.best]),
                "norm": float(result.norms[result.best]),
                "n_sentences": result.counts.n_sentences,
                "n_tokens": result.counts.n_tokens,
                "n_oov": result.counts.n_oov,
            },
            "source": getattr(vectors, "metadata", {}),
        }
        (folder / ModelFile.CONFIG).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        write_checksums(folder)
