"""CA-SEM: re-embed word vectors for a collection of sentences.

Every word vector is split into a part that says nothing about the sentence it stands in, ``chi v0``, and a
part that does, ``(1 - chi) w'`` with ``w'`` orthogonal to ``v0`` (Zeng 2019, section 3.1, eq. 16 and 17):

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wordvec_ca._version import __version__
from wordvec_ca.atomic_file import atomic_file
from wordvec_ca.errors import DataError

Start = Literal["unit", "rms"]

BLOCK_ROWS = 1024
"""Rows worked on at a time: 1024 x 100 float64 stay in the cache between the products."""

one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")
"""For functions whose products are thin: BLAS threads wait busily for each other, which takes ten times as
long when other programs use the cores."""

FILES = frozenset({"v0.npy", "chi.npy", "counts.npz", "reembedding.json"})
"""What re-embedding adds to a model directory."""

HELD_BYTES = 1 << 28
"""Words in use are held in float64 up to this size; more are read and converted again in each iteration."""


class WordVectors(Protocol):
    """What this module asks of word vectors; ours and gensim's ``KeyedVectors`` both fit."""

    @property
    def vectors(self) -> NDArray[np.float32]:
        """A row for each word, shape (n_words, vector_size); may be a read-only memory map."""

    @property
    def index_to_key(self) -> list[str]:
        """The word of each row."""

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of each word."""


@dataclass(frozen=True)
class WordCounts:
    """How often each known word occurs in a text: all that Algorithm 1 needs to know about it.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), int64
        Occurrences of each word, in the row order of the vectors.
    n_oov : int
        Tokens that are not among the words.
    n_sentences : int
        Sentences read, empty ones included.
    """

    counts: NDArray[np.int64]
    n_oov: int = 0
    n_sentences: int = 0

    @property
    def n_tokens(self) -> int:
        """All tokens, known or not."""
        return int(self.counts.sum()) + self.n_oov

    def __add__(self, other: WordCounts) -> WordCounts:
        """Return the counts of both texts: the "reduce" over shards."""
        if self.counts.shape != other.counts.shape:
            raise DataError(
                f"cannot add counts of {len(self.counts)} and of {len(other.counts)} words: "
                "count every shard against the same word vectors"
            )
        return WordCounts(
            self.counts + other.counts, self.n_oov + other.n_oov, self.n_sentences + other.n_sentences
        )

    def save(self, path: str | Path) -> None:
        """Write the counts to one ``.npz`` file (plain arrays, no pickle)."""
        with atomic_file(path) as file:
            np.savez(file, counts=self.counts, n_oov=self.n_oov, n_sentences=self.n_sentences)

    @classmethod
    def load(cls, path: str | Path) -> WordCounts:
        """Read what :meth:`save` wrote.

        Raises
        ------
        DataError
            If the file is not such a file.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(
                    arrays["counts"].astype(np.int64), int(arrays["n_oov"]), int(arrays["n_sentences"])
                )
        except OSError:
            raise
        except Exception as error:  # damaged arrays raise nearly anything
            raise DataError(f"{path} is not a file of word counts (WordCounts.save): {error}") from error

    @classmethod
    def from_ids(cls, ids: NDArray[np.integer[Any]], n_words: int, n_sentences: int) -> WordCounts:
        """Count encoded tokens.

        Parameters
        ----------
        ids : ndarray of integers
            Row of each token; a negative number marks an unknown token.
        n_words : int
            Rows of the vectors.
        n_sentences : int
            Sentences that the tokens came from.
        """
        known = ids[ids >= 0]
        counts = np.bincount(known, minlength=n_words).astype(np.int64)
        return cls(counts, len(ids) - len(known), n_sentences)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, int], key_to_index: Mapping[str, int]) -> WordCounts:
        """Take the counts from a table word -> count.

        Words of the vectors that the table lacks count 0; words of the table that have no vector are
        out-of-vocabulary tokens.

        Raises
        ------
        DataError
            If a count is negative or not a whole number.
        """
        counts = np.zeros(len(key_to_index), np.int64)
        n_oov = 0
        for word, count in mapping.items():
            if count < 0 or int(count) != count:
                raise DataError(f"the count of {word!r} is {count!r}: counts must be whole numbers >= 0")
            row = key_to_index.get(word, -1)
            if row >= 0:
                counts[row] += int(count)
            else:
                n_oov += int(count)
        return cls(counts, n_oov)


@dataclass(frozen=True)
class Reembedding:
    """The result of Algorithm 1: one vector, and how it was found.

    Parameters
    ----------
    v0 : ndarray of shape (vector_size,), float64
        The context-free vector; everything else follows from it.
    energies : ndarray of shape (n_iter + 1,), float64
        Energy (eq. 17) at the feasible point of the start and after each iteration.
    norms : ndarray of shape (n_iter + 1,), float64
        Length of ``v0`` at the same moments.
    best : int
        Which of them ``v0`` is.
    converged : bool
        Whether the stopping rule ended the iteration (False: ``max_iter`` did).
    counts : WordCounts
        The statistics it was computed from.
    """

    v0: NDArray[np.float64]
    energies: NDArray[np.float64]
    norms: NDArray[np.float64]
    best: int
    converged: bool
    counts: WordCounts

    def chi(self, matrix: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return how context-free each row of ``matrix`` is; see :func:`chi`."""
        return chi(matrix, self.v0)

    def transform(self, matrix: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return the context-sensitive part of each row, ``(1 - chi) w'``; see :func:`sensitive_part`."""
        return sensitive_part(matrix, self.v0)

    def save(self, directory: str | Path) -> None:
        """Write ``v0.npy``, ``counts.npz`` and ``reembedding.json`` into a directory (made if missing)."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        np.save(directory / "v0.npy", self.v0)
        self.counts.save(directory / "counts.npz")
        record = {
            "format": 1,
            "energies": self.energies.tolist(),
            "norms": self.norms.tolist(),
            "best": self.best,
            "converged": self.converged,
        }
        (directory / "reembedding.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: str | Path) -> Reembedding:
        """Read what :meth:`save` wrote.

        Raises
        ------
        DataError
            If the files are missing or are not such files.
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
    """Some rows of a matrix in float64, ``BLOCK_ROWS`` at a time, with their place among these rows."""

    def __init__(self, matrix: NDArray[np.floating[Any]], rows: NDArray[np.int64] | None = None) -> None:
        self.size = matrix.shape[1]
        self._matrix = matrix
        self._rows = np.arange(len(matrix)) if rows is None else rows
        self._held: NDArray[np.float64] | None = None
        if rows is not None and len(rows) * matrix.shape[1] * 8 <= HELD_BYTES:  # they will be read often
            self._held = matrix[rows].astype(np.float64)

    def __iter__(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        for start in range(0, len(self._rows), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            if self._held is not None:
                yield part, self._held[part]
            else:
                yield part, self._matrix[self._rows[part]].astype(np.float64)


def _split(
    block: NDArray[np.float64], u: NDArray[np.float64], r: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return ``p``, ``q^2`` and ``chi`` of each row of ``block``, shape (rows,)."""
    p = block @ u
    q2 = np.maximum(np.einsum("ij,ij->i", block, block) - p * p, 0.0)
    return p, q2, np.clip(p * r / (r * r + q2), 0.0, 1.0)


def check_finite(matrix: NDArray[np.floating[Any]], words: list[str] | None = None) -> None:
    """Raise if a row holds NaN or infinity.

    Parameters
    ----------
    matrix : ndarray of shape (n_words, vector_size)
        Word vectors.
    words : list of str, optional
        The word of each row, for the message.

    Raises
    ------
    DataError
        Naming the first bad row.
    """
    for start in range(0, len(matrix), BLOCK_ROWS):
        bad = ~np.isfinite(matrix[start : start + BLOCK_ROWS]).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax())
            name = f"in row {row}" if words is None else f"of {words[row]!r}"
            raise DataError(f"the vector {name} holds NaN or infinity: drop or repair it first")


def chi(matrix: NDArray[np.floating[Any]], v0: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return how context-free each word is.

    ``chi = clip(<w, v0> / (|v0|^2 + |w'|^2), 0, 1)``: the place on the segment from ``w'`` to ``v0`` that is
    nearest to ``w``. (The caption of the paper's figure 1 describes ``1 - chi``.)

    Parameters
    ----------
    matrix : ndarray of shape (n_words, vector_size)
        Word vectors ``w``.
    v0 : ndarray of shape (vector_size,)
        The context-free vector.

    Returns
    -------
    ndarray of shape (n_words,), float32

    References
    ----------
    Zeng 2019, section 3.1.2, step 3.
    """
    u, r = _direction(v0)
    out = np.empty(len(matrix), np.float32)
    for part, block in _Rows(matrix):
        out[part] = _split(block, u, r)[2]
    return out


def sensitive_part(matrix: NDArray[np.floating[Any]], v0: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return ``(1 - chi) w'`` for each word: what of it depends on the sentence.

    Parameters
    ----------
    matrix : ndarray of shape (n_words, vector_size)
        Word vectors ``w``.
    v0 : ndarray of shape (vector_size,)
        The context-free vector.

    Returns
    -------
    ndarray of shape (n_words, vector_size), float32

    References
    ----------
    Zeng 2019, eq. 12 and section 3.1.2, step 2.
    """
    u, r = _direction(v0)
    out = np.empty(matrix.shape, np.float32)
    for part, block in _Rows(matrix):
        p, _, x = _split(block, u, r)
        out[part] = (1.0 - x)[:, None] * (block - p[:, None] * u)
    return out


def _direction(v0: NDArray[np.floating[Any]]) -> tuple[NDArray[np.float64], float]:
    """Return ``v0 / |v0|`` and ``|v0|``."""
    r = float(np.linalg.norm(v0))
    if not (np.isfinite(r) and r > 0.0):
        raise ValueError(f"v0 has length {r}: it must be a finite vector other than zero")
    return np.asarray(v0, np.float64) / r, r


def principal_direction(
    matrix: NDArray[np.floating[Any]], weights: NDArray[np.floating[Any]], *, center: bool = False
) -> NDArray[np.float64]:
    """Return the first principal component of the tokens, as a unit vector with ``sum n p >= 0``.

    Parameters
    ----------
    matrix : ndarray of shape (n_words, vector_size)
        Word vectors.
    weights : ndarray of shape (n_words,)
        How often each counts, ``n_w >= 0``.
    center : bool
        Subtract the weighted mean first. The default does not, like Arora et al. 2017.

    Returns
    -------
    ndarray of shape (vector_size,), float64
    """
    used = np.flatnonzero(weights)
    return _principal_direction(_Rows(matrix, used), np.asarray(weights, np.float64)[used], center)


def _principal_direction(rows: _Rows, n: NDArray[np.float64], center: bool) -> NDArray[np.float64]:
    size = rows.size
    second, first = np.zeros((size, size)), np.zeros(size)
    for part, block in rows:
        weighted = block * n[part, None]
        second += weighted.T @ block
        first += weighted.sum(axis=0)
    if center:
        second -= np.outer(first, first) / n.sum()
    u: NDArray[np.float64] = np.linalg.eigh(second)[1][:, -1]
    lean = float(first @ u)
    if abs(lean) <= 1e-12 * float(n.sum()) * np.sqrt(max(np.trace(second) / n.sum(), 0.0)):
        lean = float(u[np.abs(u).argmax()])  # the mean is orthogonal: any fixed rule will do
    return u if lean >= 0 else -u


def _step(
    rows: _Rows, n: NDArray[np.float64], v0: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64] | None]:
    """Read the vectors once: the energy at ``v0``, and what step 2 makes of it (None if all chi are 0)."""
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


def energy(
    matrix: NDArray[np.floating[Any]], weights: NDArray[np.floating[Any]], v0: NDArray[np.floating[Any]]
) -> float:
    """Return eq. 17 at the feasible point of ``v0``: ``w'`` the projection, ``chi`` its closed form.

    Parameters
    ----------
    matrix : ndarray of shape (n_words, vector_size)
        Word vectors.
    weights : ndarray of shape (n_words,)
        Counts ``n_w``.
    v0 : ndarray of shape (vector_size,)
        The context-free vector.
    """
    used = np.flatnonzero(weights)
    return _step(_Rows(matrix, used), np.asarray(weights, np.float64)[used], np.asarray(v0, np.float64))[0]


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
    center: bool = False,
    words: list[str] | None = None,
) -> Reembedding:
    """Run Algorithm 1 on word counts.

    Parameters
    ----------
    matrix : ndarray of shape (n_words, vector_size), float32 or float64
        Word vectors; may be a read-only memory map, is never copied whole.
    counts : WordCounts
        Statistics of the sentences.
    max_iter : int
        Iterations at most; 0 keeps the start.
    tol : float
        Stop when an iteration lowers the energy by no more than this part of it. 0: when it does not fall.
    start : {"unit", "rms"} or ndarray of shape (vector_size,)
        Length of the first principal component that the iteration starts from: 1 as in the paper, or the root
        mean square of ``|w'|``, with which the result does not depend on the scale of the vectors. An array
        is taken as it is.
    scale : float, optional
        Hold ``|v0|`` at this multiple of the root mean square of ``|w'|`` around the start (only the
        direction is then iterated). With None the length grows with the iterations, as in the paper.
    count_power : float
        Raise the counts to this power: 1 weighs tokens as in the paper, 0 weighs every type alike.
    center : bool
        Start from the centred principal component.
    words : list of str, optional
        Names of the rows, for messages.

    Returns
    -------
    Reembedding

    Raises
    ------
    DataError
        If no word of the sentences has a vector, all their vectors are zero, or a vector is not finite.

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
    rows = _Rows(matrix, used)
    if not any(block.any() for _, block in rows):
        raise DataError("the vectors of all words in the sentences are zero: there is nothing to split")

    v0, rms = _start(rows, n, start, center)
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
    rows: _Rows, n: NDArray[np.float64], start: Start | NDArray[np.floating[Any]], center: bool
) -> tuple[NDArray[np.float64], float]:
    """Return the first ``v0`` and the root mean square of ``|w'|`` around it."""
    if not isinstance(start, str):
        v0 = np.array(start, np.float64)
        if v0.shape != (rows.size,):
            raise ValueError(f"start has shape {v0.shape}: it must be ({rows.size},)")
    elif start in ("unit", "rms"):
        v0 = _principal_direction(rows, n, center)
    else:
        raise ValueError(f"start={start!r}: it must be 'unit', 'rms' or a vector")
    u, _ = _direction(v0)
    along = beside = 0.0
    for part, block in rows:
        p, q2, _ = _split(block, u, 1.0)
        along += float(n[part] @ (p * p))
        beside += float(n[part] @ q2)
    # all words along v0, but for rounding: their own length is the only one there is
    rms = float(np.sqrt((beside if beside > 1e-12 * along else along) / n.sum()))
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
        Those of :func:`reembed_counts`.

    Returns
    -------
    Reembedding

    Raises
    ------
    DataError
        See :func:`reembed_counts`.
    """
    if isinstance(sentences, WordCounts):
        counts = sentences
    elif isinstance(sentences, Mapping):
        counts = WordCounts.from_mapping(sentences, vectors.key_to_index)
    else:
        counts = count_sentences(sentences, vectors.key_to_index)
    return reembed_counts(vectors.vectors, counts, words=vectors.index_to_key, **options)


def count_sentences(sentences: Iterable[Iterable[str]], key_to_index: Mapping[str, int]) -> WordCounts:
    """Count the words of tokenised sentences in one pass.

    Parameters
    ----------
    sentences : iterable of token lists
        Read once.
    key_to_index : mapping word -> row
        The known words.

    Raises
    ------
    DataError
        If a sentence is a string rather than a list of tokens.
    """
    tally: dict[str, int] = {}
    n_sentences = 0
    for sentence in sentences:
        if isinstance(sentence, str | bytes):
            raise DataError(f"sentence {n_sentences} is a string, {sentence[:40]!r}: give lists of tokens")
        n_sentences += 1
        for token in sentence:
            tally[token] = tally.get(token, 0) + 1
    return replace(WordCounts.from_mapping(tally, key_to_index), n_sentences=n_sentences)


def count_text(
    corpus: Any,
    key_to_index: Mapping[str, int],
    *,
    tokenizer: str = "words",
    lowercase: bool = True,
    workers: int | None = None,
    progress: Any = None,
) -> WordCounts:
    """Count the words of text files, tokenised as in training, on all cores.

    The counts of several calls add up: a corpus in shards may be counted anywhere, in any order, and the sum
    is that of one pass.

    Parameters
    ----------
    corpus : path, list of paths, binary stream or iterable of lines
        What :func:`wordvec_ca.corpus.count_corpus` reads: one sentence a line, plain or compressed.
    key_to_index : mapping word -> row
        The known words.
    tokenizer, lowercase, workers, progress
        As there.

    Returns
    -------
    WordCounts

    Raises
    ------
    DataError
        If the text cannot be read.
    """
    from wordvec_ca.corpus import count_corpus

    vocab, stats = count_corpus(
        corpus, tokenizer=tokenizer, lowercase=lowercase, workers=workers, progress=progress
    )
    counts = WordCounts.from_mapping(dict(zip(vocab.words, vocab.counts.tolist(), strict=True)), key_to_index)
    return replace(counts, n_sentences=stats.lines)


def save_reembedded(
    directory: str | Path, vectors: WordVectors, result: Reembedding, *, overwrite: bool = False
) -> None:
    """Write a model directory whose vectors are the context-sensitive parts ``(1 - chi) w'``.

    gensim and ``KeyedVectors.load`` open it like any model. Beside the vectors lie ``v0.npy``, ``chi.npy``
    (float32, one number a word), ``counts.npz`` and ``reembedding.json``. The words keep their counts, or,
    where they have none, get those in the sentences.

    Parameters
    ----------
    directory : path
        Appears complete or not at all.
    vectors : KeyedVectors
        What was re-embedded.
    result : Reembedding
        How.
    overwrite : bool
        Replace an existing model directory.

    Raises
    ------
    DataError
        If the directory exists and ``overwrite`` is false, or cannot be written.
    """
    from wordvec_ca.escaped_word import escape_lines
    from wordvec_ca.gensim_index import gensim_is_installed, write_gensim_index, write_npy
    from wordvec_ca.model import FILES as MODEL_FILES
    from wordvec_ca.model import replacing

    own = getattr(vectors, "counts", None)
    counts = result.counts.counts if own is None else np.asarray(own)
    with replacing(directory, overwrite=overwrite, files=MODEL_FILES | FILES) as folder:
        write_npy(result.transform(vectors.vectors), folder / "vectors.kv.vectors.npy")
        np.save(folder / "chi.npy", result.chi(vectors.vectors))
        result.save(folder)
        words = escape_lines(vectors.index_to_key).split("\n")[:-1]
        lines = "".join(f"{word}\t{count}\n" for word, count in zip(words, counts.tolist(), strict=True))
        (folder / "vocab.tsv").write_bytes(lines.encode("utf-8", "surrogatepass"))
        if gensim_is_installed():
            write_gensim_index(folder, vectors.index_to_key, counts)
        record = {
            "format": 1,
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
        (folder / "config.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
