"""What words contribute to a sentence: their vectors, and the factors of the formula in ``vectorizer``, among
them f(t), the weight of a word by its frequency, and uSIF's division by length (Ethayarajh 2018); and the
methods that choose them, with their parameters and defaults.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wordvec_ca.errors import DataError, Option, OptionError, OptionWarning
from wordvec_ca.sentences.ca_sem import chi
from wordvec_ca.sentences.counts import WordCounts
from wordvec_ca.sentences.tokens import TokenIds
from wordvec_ca.sentences.word_vectors import FIRST, WordVectors, check_finite
from wordvec_ca.tables import NgramVectors
from wordvec_ca.text import check_tokenizer

Method = Literal["auto", "attention", "mean", "idf", "sif", "usif", "ca-sem", "ca-sem-sif"]
Readout = Literal["full", "full-no-oov", "sensitive"]

# Methods that need only vectors.
METHODS: tuple[Method, ...] = ("mean", "idf", "sif", "usif", "ca-sem", "ca-sem-sif")

READOUTS: tuple[Readout, ...] = ("full", "full-no-oov", "sensitive")

# Parameters with a fixed set of values.
ALLOWED: dict[str, tuple[Any, ...]] = {
    "method": ("auto", "attention", *METHODS),
    "readout": READOUTS,
    "frequency": ("auto", None, "idf", "sif", "usif"),
    "attention": (None, True, False),
    "pooling": ("mean", "sum"),
}

# The two methods with chi -> the values of "auto": algorithm 1 of Zeng 2019, without word frequencies; and
# the weights 1 - chi times those of SIF.
CA_SEM: dict[str, dict[str, Any]] = {
    "ca-sem": {"frequency": None, "scale": None, "max_iter": 100},
    "ca-sem-sif": {"frequency": "sif", "scale": 2.0, "max_iter": 20},
}

# Method -> number of common directions that it removes by default; 0 for other methods.
N_COMPONENTS: dict[str, int] = {"attention": 1, "ca-sem-sif": 1, "sif": 1, "usif": 5}


def check_parameters(params: dict[str, Any]) -> None:
    """Raise ValueError if a parameter of a SentenceVectorizer has a value that is not allowed."""
    for name, values in ALLOWED.items():
        if params[name] not in values:
            raise ValueError(f"{name}={params[name]!r}: it must be one of {values}")
    if not params["a"] > 0:
        raise ValueError(f"a={params['a']}: it must be > 0")
    if params["n_components"] is not None and params["n_components"] < 0:
        raise ValueError(f"n_components={params['n_components']}: it must be >= 0 or None")
    if isinstance(params["tokenizer"], str):
        check_tokenizer(params["tokenizer"])
    if isinstance(params["counts"], str) and params["counts"] not in ("auto", "fit"):
        raise ValueError(f"counts={params['counts']!r}: it must be 'auto', 'fit', a mapping or an array")


def choose(
    method: Method, attention: bool | None, vectors: WordVectors
) -> tuple[Method, NDArray[np.float32] | None]:
    """Return the method that "auto" means, and the attention weights of words, if they are used."""
    # The default of attention models was chosen on training pairs (docs/evidence, attention-weights).
    if attention is False:
        if method == "attention":
            raise OptionError(
                Option("method", "attention"),
                " with ",
                Option("attention", False),
                ": take ",
                Option("method", "mean"),
                " for a plain mean",
            )
        return ("ca-sem-sif" if method == "auto" else method), None
    weights: NDArray[np.float32] | None = getattr(vectors, "attention", None)
    if weights is None:
        if attention or method == "attention":
            raise DataError(
                "these vectors carry no attention weights: only the model directory of an attention model "
                "has them (cawv train --model cbow-attn); take another method for these vectors"
            )
        return ("ca-sem-sif" if method == "auto" else method), None
    if method == "mean" and attention is None:
        warnings.warn(
            OptionWarning(
                "the vectors of an attention model are averaged without their attention, so 'the' counts as "
                "much as any word; ",
                Option("method", "attention"),
                " weighs them as they were trained",
            ),
            stacklevel=4,
        )
        return method, None
    return ("usif" if method == "auto" else method), weights


Frequency = Literal["idf", "sif", "usif"]
# Source of p(w): a table, the text itself, or ("auto") the counts of the vectors if they have any.
Counts = Literal["auto", "fit"] | Mapping[str, int] | NDArray[np.integer[Any]]


def frequency_factor(
    kind: str | None, text: TokenIds, vectors: WordVectors, counts: Counts, a: float
) -> tuple[NDArray[np.float64], int, float]:
    """Return f of each word, the number of words without a count, and f of a word that never occurs."""
    n_words = len(vectors.index_to_key)
    if kind == "idf":
        return inverse_document_frequency(text, n_words), 0, float(np.log(1.0 + len(text))) + 1.0
    if kind == "sif":
        return *smooth_inverse_frequency("sif", text, vectors, counts, a), 1.0
    if kind == "usif":
        return *smooth_inverse_frequency("usif", text, vectors, counts, a), 2.0
    return np.ones(n_words), 0, 1.0


def inverse_document_frequency(text: TokenIds, n_words: int) -> NDArray[np.float64]:
    """Return ln((1 + N) / (1 + df)) + 1 of each word, with N sentences of which df contain it."""
    sentence = np.repeat(np.arange(len(text)), np.diff(text.offsets))
    known = text.ids >= 0
    pairs = np.unique(sentence[known] * np.int64(n_words) + text.ids[known])
    df = np.bincount(pairs % n_words, minlength=n_words)
    return np.log((1.0 + len(text)) / (1.0 + df)) + 1.0


def smooth_inverse_frequency(
    kind: Literal["sif", "usif"], text: TokenIds, vectors: WordVectors, counts: Counts, a: float
) -> tuple[NDArray[np.float64], int]:
    """Return a / (a + p) of each word (sif), or a / (a/2 + p) with the constant of uSIF (usif)."""
    of_words, table = _word_counts(text, vectors, counts)
    total = int(table.sum())
    if total == 0:
        raise DataError("all counts are 0: give a table that has at least one word of the text")
    if kind == "usif":
        a = usif_constant(table[table > 0] / total, len(text.ids) / len(text))
    factor = a / ((a if kind == "sif" else a / 2.0) + of_words / total)
    return factor, int((of_words == 0).sum())


def _word_counts(
    text: TokenIds, vectors: WordVectors, given: Counts
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """Return the count of each word of the vectors, and all counts of the table they come from."""
    n_words = len(vectors.index_to_key)
    if isinstance(given, str):
        kept = getattr(vectors, "counts", None) if given == "auto" else None
        if kept is None:
            fitted = WordCounts.from_ids(text.ids, n_words, 0)
            return fitted.counts, np.append(fitted.counts, fitted.n_oov)
        given = kept
    if isinstance(given, Mapping):
        counts = WordCounts.from_mapping(given, vectors.key_to_index).counts
        return counts, np.fromiter(given.values(), np.int64, len(given))
    array = np.asarray(given)
    if array.shape != (n_words,) or (array < 0).any():
        raise DataError(f"counts of shape {array.shape}: give one count >= 0 for each of the {n_words} words")
    return array, array


def usif_constant(probabilities: NDArray[np.float64], length: float) -> float:
    """Return the constant ``a`` of uSIF.

    ``a = (1 - alpha) / (alpha |V| / 2)``, where alpha is the part of the vocabulary whose probability is
    above ``1 - (1 - 1/|V|)^length``: the probability that a random walk of ``length`` uniform steps visits a
    given word.

    References
    ----------
    Ethayarajh 2018, section 3.2.
    """
    n = len(probabilities)
    threshold = 1.0 - (1.0 - 1.0 / n) ** length
    alpha = float((probabilities > threshold).sum()) / n
    alpha = (
        min(max(alpha, 1.0 / n), 1.0 - 1.0 / n) if n > 1 else 0.5
    )  # 0 and 1 would leave no finite, positive a
    return (1.0 - alpha) / (alpha * n / 2.0)


def divided_by_length(
    rows: NDArray[np.float32],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    matrix: NDArray[np.float32],
    weights: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Divide each dimension of sentence vectors by its Euclidean length over the tokens of the sentence."""
    types, column = np.unique(ids, return_inverse=True)
    squares = matrix[types] ** 2
    of_tokens = np.ones(len(ids), np.float32) if weights is None else weights[ids] ** 2
    length = np.sqrt(csr_array((of_tokens, column, offsets), shape=(len(rows), len(types))) @ squares)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


@dataclass(frozen=True)
class WordRows:
    """Words with a row each."""

    matrix: NDArray[np.float32]  # (n, vector_size), float32: Vectors; possibly a memory map
    factors: NDArray[np.float32]  # (n,), float32: ``f a g`` and ``f b`` of the formula
    shifts: NDArray[np.float32]
    attention: NDArray[np.float32] | None  # (n,), float32, or None: ``g``, or None if it is 1
    names: Sequence[str]

    def of_batch(
        self, ids: NDArray[np.int32], made: Callable[[NDArray[np.int32]], WordRows]
    ) -> tuple[NDArray[np.int32], WordRows]:
        """Return the words of a batch, those without a row first, and tokens as rows of this table."""
        kinds, rows = np.unique(ids, return_inverse=True)
        first = int(np.searchsorted(kinds, 0))
        others, known = made(FIRST - kinds[:first]), kinds[first:]
        attention = None
        if self.attention is not None and others.attention is not None:
            attention = np.concatenate([others.attention, self.attention[known]])
        return rows.astype(np.int32), WordRows(
            np.concatenate([others.matrix, self.matrix[known]]),
            np.concatenate([others.factors, self.factors[known]]),
            np.concatenate([others.shifts, self.shifts[known]]),
            attention,
            [*others.names, *(self.names[row] for row in known)],
        )

    def weighted_sums(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the sum of ``f a g w`` over each sentence, shape (n_sentences, vector_size)."""
        shape = (len(offsets) - 1, len(self.matrix))
        out: NDArray[np.float32] = csr_array((self.factors[ids], ids, offsets), shape=shape) @ self.matrix
        if not np.isfinite(out).all():
            used = np.unique(ids)
            check_finite(self.matrix[used], [self.names[row] for row in used])
        return out


def words_of_ngrams(
    ngrams: NgramVectors,
    names: list[str],
    factor: float,
    attention: NDArray[np.float32] | None,
    v0: NDArray[np.float64] | None,
    readout: Readout,
) -> WordRows:
    """Return words without a row."""
    matrix = ngrams.vector_of_each(names)
    factors, shifts = np.full(len(names), factor), np.zeros(len(names))
    weights = None if attention is None else np.full(len(names), np.median(attention), np.float32)
    if v0 is not None:
        own, along = context_factors(matrix, v0, weights, readout)
        factors, shifts = factors * own, factors * along
    if weights is not None:
        factors = factors * weights
    return WordRows(matrix, factors.astype(np.float32), shifts.astype(np.float32), weights, names)


def context_factors(
    matrix: NDArray[np.float32],
    v0: NDArray[np.float64],
    weights: NDArray[np.float32] | None,
    readout: Readout,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a and b of words for ca-sem."""
    free = chi(matrix, v0, weights).astype(np.float64)
    # (1 - chi) w' = (1 - chi) w - (1 - chi) (p/r) v0
    projection: NDArray[Any] = (matrix @ v0.astype(np.float32)).astype(np.float64) / float(v0 @ v0)
    if weights is not None:
        projection *= weights
    shift = -(1.0 - free) * projection
    if readout != "sensitive":
        shift += free
    return 1.0 - free, shift
