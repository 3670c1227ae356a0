"""The table that readers return and writers accept: words, vectors and, if known, counts; and how much
attention the words of a model get, from its logits.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError, Option
from wordvec_ca.specs.models import SPECS

if TYPE_CHECKING:
    from wordvec_ca.tables.ngrams import NgramVectors
    from wordvec_ca.tables.resamples import Resamples


class CutOffError(DataError, EOFError):
    """A file ends before the data that its header announces. Both a ``DataError`` and an ``EOFError``."""


class NoWordVectorsError(DataError):
    """A model has vectors of documents alone."""


def config_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the record of a model; empty if it has none."""
    config = metadata.get("config")
    return config if isinstance(config, dict) else {}


def words_are_trained(metadata: Mapping[str, Any]) -> bool:
    """Return whether the record of a model says that its vectors of words were trained."""
    # Those of pv-dbow are not, unless ``dbow_words`` is true: they are as they were drawn, noise.
    config = config_of(metadata)
    if config.get("dbow_words") is not False:
        return True
    return config.get("model") not in {spec.name for spec in SPECS if spec.pairs_documents}


def check_trained(metadata: Mapping[str, Any], name: str) -> None:
    """Raise a NoWordVectorsError if the vectors of a model's words were not trained."""
    if not words_are_trained(metadata):
        raise NoWordVectorsError(
            f"{name} has no vectors of words: only its documents were trained. Use these (cawv nn MODEL "
            "--document TAG, cawv export MODEL --table documents; in Python "
            "wordvec_ca.documents.DocumentVectorizer), or train with --dbow-words (dbow_words=True)"
        )


BLOCK_BYTES = 4 << 20
"""Vectors are read, written and multiplied in blocks of about this size, which fits the cache."""


class VectorTable(NamedTuple):
    """Words and vectors of a file.

    Attributes
    ----------
    words : list of str
        Distinct words; they may contain any character, also lone surrogates (see ``errors`` of the readers).
    vectors : ndarray of shape (n_words, vector_size), float32
        Possibly a read-only memory map.
    counts : ndarray of shape (n_words,), int64, or None
        Occurrences of each word in the corpus, if the format keeps them.
    metadata : dict
        The record of the training run, if the format keeps that.
    ngrams : NgramVectors, optional
        Vectors for other words, if the model has n-grams.
    attention : callable, optional
        Returns the weight of each word in an attention model, see ``wordvec_ca.tables.mean_attention``.
    first_line : int, optional
        Line of the first word in the file, where the format itself does not determine it.
    resamples : Resamples, optional
        Models of resampled text, if the model has them.
    """

    words: list[str]
    vectors: np.ndarray
    counts: np.ndarray | None
    metadata: dict[str, Any]
    ngrams: NgramVectors | None = None
    attention: Callable[[], np.ndarray] | None = None
    first_line: int | None = None
    resamples: Resamples | None = None

    def rows(self, index: slice | np.ndarray) -> VectorTable:
        """Return the table with only some of the words.

        Parameters
        ----------
        index : slice, or ndarray of shape (k,), int
            The rows, in the order of the new table.
        """
        words = self.words[index] if isinstance(index, slice) else [self.words[row] for row in index]
        return self._replace(
            words=words,
            vectors=self.vectors[index],
            counts=None if self.counts is None else self.counts[index],
            attention=None if self.attention is None else partial(_rows_of, self.attention, index),
            resamples=None if self.resamples is None else self.resamples.rows(index),
        )


def _rows_of(read: Callable[[], np.ndarray], index: slice | np.ndarray) -> np.ndarray:
    """Read an array with ``read``, and return some of its rows."""
    return read()[index]


class GrowingRows:
    """A float32 matrix whose number of rows becomes known only at the end of the file."""

    def __init__(self, vector_size: int, capacity: int) -> None:
        self._rows = np.empty((max(capacity, 1), vector_size), dtype=np.float32)
        self.n_rows = 0

    def append(self, rows: np.ndarray) -> None:
        """Append ``rows`` of shape (k, vector_size)."""
        needed = self.n_rows + len(rows)
        if needed > len(self._rows):
            # realloc moves large blocks by remapping pages, so no second copy is made
            self._rows.resize((max(needed, len(self._rows) * 5 // 4), self._rows.shape[1]), refcheck=False)
        self._rows[self.n_rows : needed] = rows
        self.n_rows = needed

    def finish(self) -> np.ndarray:
        """Return the matrix, cut to its final shape (n_rows, vector_size)."""
        if self.n_rows < len(self._rows):
            self._rows.resize((self.n_rows, self._rows.shape[1]), refcheck=False)
        return self._rows


def row_blocks(vectors: np.ndarray, part: int = 1) -> Iterator[slice]:
    """Yield slices that cover the rows in order, each of about ``BLOCK_BYTES / part``."""
    n_rows, width = vectors.shape
    step = max(1, BLOCK_BYTES // part // max(1, width * vectors.itemsize))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def check_unicode(words: Iterable[str], format_name: str, *, empty: bool = True) -> None:
    """Check that all words can be written as UTF-8 and, unless ``empty`` is true, that none is empty."""
    for word in words:
        try:
            word.encode()
            problem = "" if word or empty else "empty"
        except UnicodeEncodeError:
            problem = "not valid Unicode"
        if problem:
            raise DataError(
                f"the word {show_word(word)} is {problem}: {format_name} cannot hold it. The format "
                "safetensors can; or leave such words out with ",
                Option("unwritable", "skip"),
            )


def show_word(word: str | bytes, limit: int = 60) -> str:
    """Return a word as a short quoted string for a message; bytes that are not UTF-8 are escaped."""
    shown = repr(word)
    if isinstance(word, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            shown = repr(word.decode())
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…{shown[-1]}"


def check_unique(words: list[str], source: str, first_line: int | None = None) -> None:
    """Raise DataError if a word occurs twice."""
    if len(set(words)) == len(words):
        return
    seen: dict[str, int] = {}
    for i, word in enumerate(words):
        if word in seen:
            if first_line is None:
                where = f"entries {seen[word] + 1} and {i + 1}"
            else:
                where = f"lines {seen[word] + first_line} and {i + first_line}"
            n_repeats = len(words) - len(set(words))
            raise DataError(
                f"{source}: the word {show_word(word)} occurs twice, at {where} ({n_repeats} repeated words "
                "in all); remove one, or keep the first of each with ",
                Option("duplicates", "first"),
            )
        seen[word] = i


def keep_first(table: VectorTable, source: str) -> VectorTable:
    """Return the table without later occurrences of a word, with a warning that counts them."""
    seen: dict[str, int] = {}
    for i, word in enumerate(table.words):
        seen.setdefault(word, i)
    if len(seen) == len(table.words):
        return table
    warnings.warn(
        f"{source}: {len(table.words) - len(seen)} repeated words left out; the first vector of each is kept",
        stacklevel=2,
    )
    rows = np.fromiter(seen.values(), dtype=np.int64, count=len(seen))
    return table.rows(rows)


def first_words(table: VectorTable, n_words: int) -> VectorTable:
    """Return the table with only its first words, by convention the most frequent."""
    if n_words < 1:
        raise ValueError(f"max_words is {n_words}; it must be at least 1")
    return table.rows(slice(n_words))


def warn_of_nonfinite(words: list[str], vectors: np.ndarray, source: str) -> int:
    """Warn if rows hold NaN or infinity; return how many do."""
    # Such rows are kept, so that a damaged model can be inspected, but they are never returned as
    # neighbours.
    n_bad = 0
    first = -1
    for rows in row_blocks(vectors):
        # a sum is finite unless a number is not, or unless it overflows: then check each number
        with np.errstate(over="ignore", invalid="ignore"):
            suspects = np.flatnonzero(~np.isfinite(vectors[rows].sum(axis=1, dtype=np.float64)))
        if len(suspects):
            n_bad += len(suspects)
            first = first if first >= 0 else rows.start + int(suspects[0])
    if n_bad:
        warnings.warn(
            f"{source}: {n_bad} of {len(words)} vectors hold NaN or infinity (the first is that of "
            f"{show_word(words[first])}); they are kept but never returned as neighbours",
            stacklevel=2,
        )
    return n_bad


# ---- the attention of words -------------------------------------------------------------------------------


def offsets_of(n_places: int) -> list[int]:
    """Return the places of a window relative to the target, from left to right."""
    half = n_places // 2
    return [*range(-half, 0), *range(1, half + 1)]


def mean_attention(
    word_logits: np.ndarray, slot_logits: np.ndarray, counts: np.ndarray, clip: float
) -> np.ndarray:
    """Return how much attention each word draws, relative to an average word in the same place.

    ``g[w] = mean over the places i of exp(K[w,i] + s[i]) / sum_v p(v) exp(K[v,i] + s[i])``

    with p(v) the relative frequency of v. 1 is the attention of an average token: ``sum_w p(w) g[w] = 1``.
    In training the vector of a context is the sum of a_i W_i, so g[w] W_w, not W_w, is what the word
    contributes to a context on average.

    Notes
    -----
    The maximum of each place is subtracted before ``exp``, so that ``exp`` cannot overflow.

    References
    ----------
    The attention of Ling, Tsvetkov, Amir et al. 2015, eq. 4.
    """
    n_words, columns = word_logits.shape
    total = float(np.sum(counts, dtype=np.float64))
    if not total > 0:
        raise DataError("all counts are 0: the mean attention needs the frequencies of words")
    if not columns:
        return np.ones(n_words, np.float32)
    p = np.asarray(counts, np.float64) / total
    places = slot_logits.astype(np.float64)
    if not np.isfinite(places).all():
        raise DataError("the attention logits of places hold NaN or infinity: the training has diverged")
    step = max(1, BLOCK_BYTES // (8 * max(columns, len(places))))
    blocks = [slice(start, min(start + step, n_words)) for start in range(0, n_words, step)]

    def logits(rows: slice) -> np.ndarray:
        found = word_logits[rows] + places
        if not np.isfinite(found).all():
            raise DataError("the attention logits of words hold NaN or infinity: the training has diverged")
        return np.clip(found, -clip, clip)

    highest = np.max([logits(rows).max(axis=0) for rows in blocks], axis=0)
    average = np.zeros(len(places))
    for rows in blocks:
        average += p[rows] @ np.exp(logits(rows) - highest)
    weights = np.empty(n_words, np.float32)
    for rows in blocks:
        weights[rows] = (np.exp(logits(rows) - highest) / average).mean(axis=1)
    return weights
