"""Sentence vectors from word vectors, as a scikit-learn transformer.

Every method here is one formula with different numbers in it: a sentence is

    s = 1/m ( sum_t  f(t) a(t) w_t  +  v sum_t f(t) b(t) )        t over its tokens

followed, for some methods, by the removal of common directions. With ``f`` the frequency factor:

=========  =======================  ==================  ===================  =======================
method     f(t)                     a(t)                b(t)                 directions removed
=========  =======================  ==================  ===================  =======================
mean       1                        1                   0                    0
idf        ln((1+N)/(1+df)) + 1     1                   0                    0
sif        a / (a + p(t))           1                   0                    1
usif       a / (a/2 + p(t))         1 / length          0                    5, each in part
ca-sem     one of the above         1 - chi             see ``readout``      1
=========  =======================  ==================  ===================  =======================

so that a batch of sentences is one product of a sparse matrix of tokens with the word vectors as they are:
no second, re-embedded matrix is ever made, and a memory-mapped one is read where it lies.

References
----------
Arora, Liang, Ma 2017 (sif); Ethayarajh 2018 (usif); Zeng 2019, section 3.1 (ca-sem).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordvec_ca.errors import DataError
from wordvec_ca.kernels._text import LINE_END, Lexicon
from wordvec_ca.reembedding import (
    Reembedding,
    Start,
    WordCounts,
    WordVectors,
    check_finite,
    one_blas_thread,
    reembed_counts,
)
from wordvec_ca.segmentation import PhraseDictionary

Method = Literal["mean", "idf", "sif", "usif", "ca-sem"]
Readout = Literal["full", "full-no-oov", "sensitive"]
Sentence = str | Sequence[str]

METHODS: tuple[Method, ...] = ("mean", "idf", "sif", "usif", "ca-sem")
READOUTS: tuple[Readout, ...] = ("full", "full-no-oov", "sensitive")
BATCH = 8192
"""Sentences per sparse product: some MB of work, small beside the vectors."""


@dataclass(frozen=True)
class Coverage:
    """How much of a text the vocabulary knows.

    Parameters
    ----------
    n_sentences, n_empty, n_all_oov : int
        Sentences; those without a token; those with tokens but without a known one.
    n_tokens, n_oov : int
        Tokens; those that have no vector.
    """

    n_sentences: int = 0
    n_empty: int = 0
    n_all_oov: int = 0
    n_tokens: int = 0
    n_oov: int = 0

    @property
    def oov_rate(self) -> float:
        """Part of the tokens that have no vector (0 without tokens)."""
        return self.n_oov / self.n_tokens if self.n_tokens else 0.0

    def __add__(self, other: Coverage) -> Coverage:
        """Return the coverage of both texts together."""
        return Coverage(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"{self.n_sentences:,} sentences ({self.n_empty:,} empty, {self.n_all_oov:,} without a known "
            f"word), {self.n_tokens:,} tokens, {100 * self.oov_rate:.2f} % unknown"
        )


@dataclass(frozen=True)
class Encoded:
    """Tokenised sentences as rows of the word vectors.

    Parameters
    ----------
    ids : ndarray of shape (n_tokens,), int32
        Row of each token, -1 for an unknown one.
    offsets : ndarray of shape (n_sentences + 1,), int64
        Where each sentence starts in ``ids``.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def batches(self) -> Iterator[Encoded]:
        """Yield the sentences ``BATCH`` at a time."""
        for start in range(0, len(self.offsets) - 1, BATCH):
            offsets = self.offsets[start : start + BATCH + 1]
            yield Encoded(self.ids[offsets[0] : offsets[-1]], offsets - offsets[0])

    def coverage(self) -> Coverage:
        """Return how much of the text is known."""
        lengths = np.diff(self.offsets)
        known = _sums(self.ids >= 0, self.offsets)
        return Coverage(
            n_sentences=len(lengths),
            n_empty=int((lengths == 0).sum()),
            n_all_oov=int(((lengths > 0) & (known == 0)).sum()),
            n_tokens=len(self.ids),
            n_oov=int((self.ids < 0).sum()),
        )


def _sums(values: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add up ``values`` of shape (n_tokens,) within each sentence; 0 for an empty one."""
    running = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return running[offsets[1:]] - running[offsets[:-1]]


def encode(sentences: Sequence[Sequence[str]], key_to_index: Mapping[str, int]) -> Encoded:
    """Look up the tokens of sentences.

    Parameters
    ----------
    sentences : list of lists of str
        Tokenised sentences.
    key_to_index : mapping word -> row
        The known words.

    Raises
    ------
    DataError
        If a token is not a string.
    """
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    tokens = chain.from_iterable(sentences)
    try:
        ids = np.fromiter(map(key_to_index.get, tokens, repeat(-1)), np.int32, int(offsets[-1]))  # type: ignore[arg-type]
    except TypeError as error:
        raise DataError(f"a token is not a string: {error}; give strings or lists of strings") from error
    if ids.size and ids.min() < 0:  # only an unknown token can be something other than a string
        odd = [kind for kind in set(map(type, chain.from_iterable(sentences))) if not issubclass(kind, str)]
        if odd:
            raise DataError(f"a token is a {odd[0].__name__}: give strings or lists of strings")
    return Encoded(ids, offsets)


def joined(parts: Sequence[Encoded]) -> Encoded:
    """Put batches of encoded sentences one after the other."""
    starts = np.cumsum([0, *(len(part.ids) for part in parts)])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return Encoded(
        np.concatenate([np.empty(0, np.int32), *(part.ids for part in parts)]),
        np.concatenate([np.zeros(1, np.int64), *offsets]),
    )


def usif_constant(probabilities: NDArray[np.float64], length: float) -> float:
    """Return the constant ``a`` of uSIF.

    ``a = (1 - alpha) / (alpha |V| / 2)``, where alpha is the part of the vocabulary whose probability is
    above ``1 - (1 - 1/|V|)^length``: the chance to meet a word in a random walk of that many uniform steps.

    Parameters
    ----------
    probabilities : ndarray of shape (n_words,)
        p(w) of the words that occur.
    length : float
        Mean number of tokens of a sentence.

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


@one_blas_thread
def principal_directions(
    blocks: Iterable[NDArray[np.float32]], n_components: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the first principal directions of rows, not centred, and how much each explains.

    Parameters
    ----------
    blocks : iterable of ndarray of shape (n, vector_size)
        Sentence vectors; at least one block.
    n_components : int
        How many directions.

    Returns
    -------
    directions : ndarray of shape (n_components, vector_size), float32
        Orthonormal rows.
    shares : ndarray of shape (n_components,), float32
        ``sigma_i^2 / sum_{j <= n_components} sigma_j^2``.
    """
    second: Any = 0.0
    for block in blocks:
        wide = block.astype(np.float64)
        second = second + wide.T @ wide
    values, vectors = np.linalg.eigh(second)
    values = np.maximum(values[::-1][:n_components], 0.0)
    total = float(values.sum())
    shares = values / total if total > 0 else np.zeros(len(values))
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :n_components].T)
    return directions.astype(np.float32), shares.astype(np.float32)


class SentenceVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn sentences into vectors.

    ``fit`` reads sentences and computes what the method needs of them (word counts, document frequencies,
    the context-free vector, common directions); ``transform`` embeds any sentences with it. To follow Arora
    et al. 2017, where the common direction is that of the evaluated sentences, ``fit`` on those.

    Parameters
    ----------
    vectors : KeyedVectors or path
        Word vectors, ours or gensim's, or where to load ours from. Shared, not copied, by ``sklearn.clone``.
    method : {"ca-sem", "mean", "idf", "sif", "usif"}
        See the table of this module.
    readout : {"sensitive", "full", "full-no-oov"}
        For ca-sem. "full" is eq. 18, ``chi v0 + (1 - chi) w'``, where an unknown token counts as ``v0``;
        "full-no-oov" the same without unknown tokens; "sensitive" is ``(1 - chi) w'`` alone.
    frequency : {None, "idf", "sif", "usif"}
        For ca-sem: frequency factor on top of it; the other methods have their own.
    counts : {"auto", "fit"} or mapping word -> count or array of shape (n_words,)
        Where p(w) comes from: a table; "fit": the sentences that ``fit`` reads; "auto": the counts that the
        vectors carry, or else "fit". A word that the counts lack has p = 0, which is factor 1 in sif.
    a : float
        Constant of sif.
    n_components : int, optional
        Common directions to remove. None: as many as the method says.
    pooling : {"mean", "sum"}
        Divide by the number of tokens that took part, or not (eq. 18 does not).
    max_iter, tol, start, scale, count_power
        Of :func:`wordvec_ca.reembedding.reembed_counts`, for ca-sem.
    tokenizer : {"words", "whitespace"} or callable str -> list of str
        For sentences given as strings: as in training (:func:`wordvec_ca.corpus.tokenize`), or your own.
    lowercase : bool
        For sentences given as strings and tokenised as in training.
    phrases : str, optional
        The character that joins the words of a multi-word entry of the vocabulary (``"_"``); sentences are
        then segmented by :mod:`wordvec_ca.segmentation`. None: no phrases.

    Attributes
    ----------
    coverage_ : Coverage
        Of the sentences that ``fit`` read.
    reembedding_ : Reembedding
        For ca-sem: the context-free vector and how it was found.
    n_uncounted_ : int
        Words of the vocabulary without a count (0 if the method needs no counts).
    token_weights_, shift_weights_ : ndarray of shape (n_words,), float32
        ``f a`` and ``f b``.
    components_ : ndarray of shape (n_components, vector_size), float32
        Directions removed; ``component_shares_`` says how much of each.

    Notes
    -----
    The defaults of ca-sem are those that did best on training pairs (docs/results.md). The paper's are
    ``frequency=None, n_components=0, scale=None, max_iter=100``, and its eq. 18 is ``readout="full"``.

    Empty sentences, and those of unknown words only, become zero vectors; with ``readout="full"`` the latter
    become ``v0`` (``m v0`` with ``pooling="sum"``).
    """

    def __init__(
        self,
        vectors: WordVectors | str | Path | None = None,
        *,
        method: Method = "ca-sem",
        readout: Readout = "sensitive",
        frequency: Literal["idf", "sif", "usif"] | None = "sif",
        counts: Literal["auto", "fit"] | Mapping[str, int] | NDArray[np.integer[Any]] = "auto",
        a: float = 1e-3,
        n_components: int | None = None,
        pooling: Literal["mean", "sum"] = "mean",
        max_iter: int = 20,
        tol: float = 0.0,
        start: Start = "unit",
        scale: float | None = 2.0,
        count_power: float = 1.0,
        tokenizer: Literal["words", "whitespace"] | Callable[[str], list[str]] = "words",
        lowercase: bool = True,
        phrases: str | None = None,
    ) -> None:
        self.vectors = vectors
        self.method = method
        self.readout = readout
        self.frequency = frequency
        self.counts = counts
        self.a = a
        self.n_components = n_components
        self.pooling = pooling
        self.max_iter = max_iter
        self.tol = tol
        self.start = start
        self.scale = scale
        self.count_power = count_power
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.phrases = phrases

    def __sklearn_clone__(self) -> Self:
        """Clone without copying the word vectors."""
        shared = {"vectors", "counts"}
        params = self.get_params(deep=False)
        return type(self)(
            **{name: value if name in shared else clone(value, safe=False) for name, value in params.items()}
        )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that the input is text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Iterable[Sentence], y: Any = None) -> Self:
        """Learn from sentences what the method needs.

        Parameters
        ----------
        X : iterable of str or of lists of str
            Sentences; read once.
        y : ignored

        Returns
        -------
        SentenceVectorizer

        Raises
        ------
        DataError
            If there is no sentence, a sentence is neither a string nor a list of strings, no token is known,
            or a vector is not finite.
        ValueError
            If a parameter has a value that is not allowed.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Iterable[Sentence], y: Any = None) -> NDArray[np.float32]:
        """Fit on sentences and embed the same sentences, reading them once.

        Parameters
        ----------
        X : iterable of str or of lists of str
            Sentences.
        y : ignored

        Returns
        -------
        ndarray of shape (n_sentences, vector_size), float32
        """
        return np.concatenate([self._embed(batch) for batch in self._fit(X).batches()])

    def _fit(self, X: Iterable[Sentence]) -> Encoded:
        self._check_parameters()
        self.vectors_ = self._load_vectors()
        self._lexicon: Lexicon | None = None
        self._phrase_dictionary: PhraseDictionary | None = None
        text = joined(list(self._encoded(X)))
        self.coverage_ = text.coverage()
        if self.coverage_.n_sentences == 0:
            raise DataError("there are no sentences to fit on: give at least one")
        if self.coverage_.n_tokens == self.coverage_.n_oov:
            raise DataError(
                f"none of the {self.coverage_.n_tokens} tokens in {self.coverage_.n_sentences} sentences has "
                "a vector: check that text and vectors agree in language, letter case and tokenisation"
            )
        n_words, size = self.vectors_.vectors.shape
        factor = self._frequency_factor(text, n_words)
        shift = np.zeros(n_words)
        self.oov_weight_ = 0.0
        self.direction_ = np.zeros(size, np.float32)
        if self.method == "ca-sem":
            factor, shift = self._fit_context(text, factor)
        self.token_weights_ = factor.astype(np.float32)
        self.shift_weights_ = shift.astype(np.float32)
        self._n_features_out = size
        self._fit_components(text, size)
        return text

    def _check_parameters(self) -> None:
        allowed: dict[str, tuple[Any, ...]] = {
            "method": METHODS,
            "readout": READOUTS,
            "frequency": (None, "idf", "sif", "usif"),
            "pooling": ("mean", "sum"),
        }
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name}={getattr(self, name)!r}: it must be one of {values}")
        if not self.a > 0:
            raise ValueError(f"a={self.a}: it must be > 0")
        if self.n_components is not None and self.n_components < 0:
            raise ValueError(f"n_components={self.n_components}: it must be >= 0 or None")
        if isinstance(self.tokenizer, str) and self.tokenizer not in ("words", "whitespace"):
            raise ValueError(f"tokenizer={self.tokenizer!r}: it must be 'words', 'whitespace' or a callable")
        if isinstance(self.counts, str) and self.counts not in ("auto", "fit"):
            raise ValueError(f"counts={self.counts!r}: it must be 'auto', 'fit', a mapping or an array")

    def _load_vectors(self) -> WordVectors:
        if self.vectors is None:
            raise ValueError("vectors is None: give word vectors or the path of a model")
        if isinstance(self.vectors, str | Path):
            from wordvec_ca.keyedvectors import KeyedVectors

            return KeyedVectors.load(self.vectors)
        return self.vectors

    def _frequency_factor(self, text: Encoded, n_words: int) -> NDArray[np.float64]:
        """Return f of each word."""
        kind = self.frequency if self.method == "ca-sem" else self.method
        self.n_uncounted_ = 0
        if kind == "idf":
            sentence = np.repeat(np.arange(len(text.offsets) - 1), np.diff(text.offsets))
            known = text.ids >= 0
            pairs = np.unique(sentence[known] * np.int64(n_words) + text.ids[known])
            df = np.bincount(pairs % n_words, minlength=n_words)
            return np.log((1.0 + self.coverage_.n_sentences) / (1.0 + df)) + 1.0
        if kind in ("sif", "usif"):
            counts, table = self._word_counts(text, n_words)
            total = int(table.sum())
            if total == 0:
                raise DataError("all counts are 0: give a table that has at least one word of the text")
            self.n_uncounted_ = int((counts == 0).sum())
            a = self.a
            if kind == "usif":
                length = self.coverage_.n_tokens / self.coverage_.n_sentences
                a = usif_constant(table[table > 0] / total, length)
            return a / ((a if kind == "sif" else a / 2.0) + counts / total)
        return np.ones(n_words)

    def _word_counts(self, text: Encoded, n_words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the count of each word of the vectors, and all counts of the table they come from."""
        given = self.counts
        if isinstance(given, str):
            own = getattr(self.vectors_, "counts", None) if given == "auto" else None
            if own is None:
                fitted = WordCounts.from_ids(text.ids, n_words, 0)
                return fitted.counts, np.append(fitted.counts, fitted.n_oov)
            given = own
        if isinstance(given, Mapping):
            counts = WordCounts.from_mapping(given, self.vectors_.key_to_index).counts
            return counts, np.fromiter(given.values(), np.int64, len(given))
        counts = np.asarray(given)
        if counts.shape != (n_words,) or (counts < 0).any():
            raise DataError(
                f"counts of shape {counts.shape}: give one count >= 0 for each of the {n_words} words"
            )
        return counts, counts

    def _fit_context(
        self, text: Encoded, factor: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Run Algorithm 1 and return f a and f b."""
        matrix = self.vectors_.vectors
        self.reembedding_: Reembedding = reembed_counts(
            matrix,
            WordCounts.from_ids(text.ids, len(matrix), self.coverage_.n_sentences),
            max_iter=self.max_iter,
            tol=self.tol,
            start=self.start,
            scale=self.scale,
            count_power=self.count_power,
            words=self.vectors_.index_to_key,
        )
        v0 = self.reembedding_.v0
        chi = self.reembedding_.chi(matrix).astype(np.float64)
        # (1 - chi) w' = (1 - chi) w - (1 - chi) (p/r) v0
        projection = (matrix @ v0.astype(np.float32)).astype(np.float64) / float(v0 @ v0)
        shift = -(1.0 - chi) * projection
        if self.readout != "sensitive":
            shift += chi
        if self.readout == "full":
            self.oov_weight_ = 1.0
        self.direction_ = v0.astype(np.float32)
        return factor * (1.0 - chi), factor * shift

    def _fit_components(self, text: Encoded, size: int) -> None:
        """Find the common directions of the sentences."""
        wanted = self.n_components
        if wanted is None:
            wanted = {"ca-sem": 1, "sif": 1, "usif": 5}.get(self.method, 0)
        self.components_ = np.zeros((0, size), np.float32)
        self.component_shares_ = np.zeros(0, np.float32)
        if wanted:
            rows = (self._embed(batch) for batch in text.batches())
            components, shares = principal_directions(rows, min(wanted, size))
            self.components_ = components
            self.component_shares_ = shares if self.method == "usif" else np.ones_like(shares)

    # ------------------------------------------------------------------ embedding

    def transform(self, X: Iterable[Sentence]) -> NDArray[np.float32]:
        """Embed sentences.

        Parameters
        ----------
        X : iterable of str or of lists of str
            Sentences.

        Returns
        -------
        ndarray of shape (n_sentences, vector_size), float32

        Raises
        ------
        DataError
            If a sentence is neither a string nor a list of strings, or a vector it needs is not finite.
        """
        check_is_fitted(self, "token_weights_")
        batches = [self._embed(encoded) for encoded in self._encoded(X)]
        return np.concatenate([np.empty((0, self._n_features_out), np.float32), *batches])

    def stream(self, sentences: Iterable[Sentence]) -> Iterator[tuple[NDArray[np.float32], Coverage]]:
        """Embed any number of sentences, a batch at a time.

        Yields
        ------
        vectors : ndarray of shape (batch, vector_size), float32
        coverage : Coverage
            Of that batch.
        """
        check_is_fitted(self, "token_weights_")
        for encoded in self._encoded(sentences):
            yield self._embed(encoded), encoded.coverage()

    def coverage(self, X: Iterable[Sentence]) -> Coverage:
        """Return how much of some sentences the vocabulary knows."""
        check_is_fitted(self, "token_weights_")
        return sum((encoded.coverage() for encoded in self._encoded(X)), Coverage())

    def _encoded(self, sentences: Iterable[Sentence]) -> Iterator[Encoded]:
        """Yield sentences as rows of the vectors, ``BATCH`` at a time."""
        if isinstance(sentences, str | bytes) or not isinstance(sentences, Iterable):
            raise DataError(
                f"sentences is a {type(sentences).__name__}, {str(sentences)[:40]!r}: give a list"
            )
        source = iter(sentences)
        done = 0
        while batch := list(islice(source, BATCH)):
            kinds = set(map(type, batch))
            for kind in kinds:
                if not issubclass(kind, str | list | tuple):
                    where = next(i for i, sentence in enumerate(batch) if type(sentence) is kind)
                    raise DataError(
                        f"sentence {done + where} is a {kind.__name__}: give strings or lists of strings"
                    )
            if kinds == {str} and isinstance(self.tokenizer, str) and self.phrases is None:
                yield self._read(batch)
            else:
                yield encode([self._tokens(sentence) for sentence in batch], self.vectors_.key_to_index)
            done += len(batch)

    def _read(self, batch: list[Any]) -> Encoded:
        """Tokenise and look up strings in C, without an object for each token."""
        lexicon: Lexicon | None = getattr(self, "_lexicon", None)
        if lexicon is None:
            lexicon = self._lexicon = Lexicon(self.vectors_.index_to_key)
        # A mark at the head of each line keeps empty ones apart: several line ends in a row count once.
        lines = "".join(f"0 {line}\n" for line in map(_one_line, batch))
        raw, _ = lexicon.read_text(
            lines.encode("utf-8", "replace"), self.tokenizer == "words", self.lowercase
        )
        ends = np.flatnonzero(raw == LINE_END)
        if len(ends) != len(batch):
            raise AssertionError(f"{len(batch)} sentences were read as {len(ends)}")
        starts = np.concatenate(([0], ends[:-1] + 1))
        keep = np.ones(len(raw), bool)
        keep[ends] = keep[starts] = False
        lengths = ends - starts - 1
        ids = np.where(raw >= 0, raw, np.int32(-1))[keep]
        return Encoded(ids, np.concatenate(([0], np.cumsum(lengths))))

    def _tokens(self, sentence: Any) -> Sequence[str]:
        """Return the tokens of a string or list, phrases joined."""
        tokens: Sequence[str] = sentence
        if isinstance(sentence, str):
            tokens = self._tokenize(sentence)
        if self.phrases is None:
            return tokens
        dictionary: PhraseDictionary | None = getattr(self, "_phrase_dictionary", None)
        if dictionary is None:
            dictionary = PhraseDictionary(self.vectors_.key_to_index, self.phrases)
            self._phrase_dictionary = dictionary
        return dictionary.segment(tokens)

    def _tokenize(self, text: str) -> list[str]:
        if callable(self.tokenizer):
            return self.tokenizer(text)
        from wordvec_ca.corpus import tokenize

        return tokenize(text.encode("utf-8", "replace").decode("utf-8"), self.tokenizer, self.lowercase)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when needed and cannot be pickled."""
        state: dict[str, Any] = dict(super().__getstate__())
        for name in ("_lexicon", "_phrase_dictionary"):
            state.pop(name, None)
        return state

    def _embed(self, text: Encoded) -> NDArray[np.float32]:
        """Apply the formula of this module to encoded sentences."""
        matrix = self.vectors_.vectors
        known = text.ids >= 0
        ids = text.ids[known]
        ends = np.concatenate(([0], np.cumsum(known)))
        offsets = ends[text.offsets]
        shape = (len(offsets) - 1, len(matrix))
        out: NDArray[np.float32] = csr_array((self.token_weights_[ids], ids, offsets), shape=shape) @ matrix
        if not np.isfinite(out).all():
            used = np.unique(ids)
            check_finite(matrix[used], [self.vectors_.index_to_key[row] for row in used])
        if self.method == "usif":
            out = self._divided_by_length(out, ids, offsets)
        n_taking_part = np.diff(offsets).astype(np.float64)
        n_oov = np.diff(text.offsets) - np.diff(offsets)
        if self.method == "ca-sem":
            along = _sums(self.shift_weights_[ids], offsets) + self.oov_weight_ * n_oov
            out += np.outer(along.astype(np.float32), self.direction_)
            n_taking_part += self.oov_weight_ * n_oov
        if self.pooling == "mean":
            out /= np.maximum(n_taking_part, 1.0).astype(np.float32)[:, None]
        for component, share in zip(self.components_, self.component_shares_, strict=True):
            # einsum: BLAS would wake its threads for a product too thin to share
            out -= np.outer(np.einsum("ij,j->i", out, component) * share, component)
        return out

    def _divided_by_length(
        self, out: NDArray[np.float32], ids: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Divide each dimension by its length over the tokens of the sentence (uSIF's normalisation)."""
        types, column = np.unique(ids, return_inverse=True)
        squares = self.vectors_.vectors[types] ** 2
        ones = np.ones(len(ids), np.float32)
        length = np.sqrt(csr_array((ones, column, offsets), shape=(len(out), len(types))) @ squares)
        return np.divide(out, length, out=np.zeros_like(out), where=length > 0)

    # ------------------------------------------------------------------ storing

    def save(self, directory: str | Path) -> None:
        """Write what was fitted, not the word vectors, without pickle.

        Writes ``sentences.json`` (parameters, coverage, sizes) and ``sentences.npz`` (arrays). A tokenizer
        of your own is not stored, nor are ``counts`` once used.

        Parameters
        ----------
        directory : path
            Made if missing.
        """
        check_is_fitted(self, "token_weights_")
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        params = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("vectors", "counts") and not callable(value)
        }
        record = {
            "format": 1,
            "params": params,
            "own_tokenizer": callable(self.tokenizer),
            "coverage": asdict(self.coverage_),
            "oov_weight": self.oov_weight_,
            "n_uncounted": self.n_uncounted_,
            "vocabulary": _fingerprint(self.vectors_),
        }
        (directory / "sentences.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        with open(directory / "sentences.npz", "wb") as file:
            np.savez(file, **{name: getattr(self, name + "_") for name in _ARRAYS})
        if self.method == "ca-sem":
            self.reembedding_.save(directory)

    @classmethod
    def load(
        cls,
        directory: str | Path,
        vectors: WordVectors | str | Path,
        *,
        tokenizer: Callable[[str], list[str]] | None = None,
    ) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        directory : path
            Where it is.
        vectors : KeyedVectors or path
            The word vectors that it was fitted with.
        tokenizer : callable, optional
            The tokenizer that it was fitted with, if it had one of its own.

        Raises
        ------
        DataError
            If files are missing, or the word vectors are others.
        """
        directory = Path(directory)
        try:
            record = json.loads((directory / "sentences.json").read_text(encoding="utf-8"))
            with np.load(directory / "sentences.npz", allow_pickle=False) as arrays:
                fitted = {name: arrays[name] for name in _ARRAYS}
            made = cls(vectors, **record["params"])
            if tokenizer is not None:
                made.tokenizer = tokenizer
            made.vectors_ = made._load_vectors()
            for name, array in fitted.items():
                setattr(made, name + "_", array)
            made.coverage_ = Coverage(**record["coverage"])
            made.oov_weight_ = float(record["oov_weight"])
            made.n_uncounted_ = int(record["n_uncounted"])
            made._n_features_out = fitted["direction"].shape[0]
            other = record["vocabulary"] != _fingerprint(made.vectors_)
            own_tokenizer = record["own_tokenizer"]
        except OSError as error:
            raise DataError(
                f"{directory} does not hold a SentenceVectorizer: {error.filename}: {error.strerror}"
            ) from error
        except Exception as error:  # damaged arrays and records raise nearly anything
            raise DataError(f"{directory} does not hold a SentenceVectorizer: {error!r}") from error
        if other:
            raise DataError(
                f"{directory} was fitted with other word vectors than those given: give the same ones"
            )
        if own_tokenizer and tokenizer is None:
            raise DataError(f"{directory} was fitted with a tokenizer of its own: give it as tokenizer=")
        if made.method == "ca-sem":
            made.reembedding_ = Reembedding.load(directory)
        return made


_ARRAYS = ("token_weights", "shift_weights", "direction", "components", "component_shares")


def _fingerprint(vectors: WordVectors) -> dict[str, Any]:
    """Return what tells one vocabulary from another: its size and a checksum of its words in order."""
    checksum = 0
    words = vectors.index_to_key
    for start in range(0, len(words), 65536):
        checksum = zlib.crc32(
            "\n".join(words[start : start + 65536]).encode("utf-8", "surrogatepass"), checksum
        )
    return {"n_words": len(words), "vector_size": int(vectors.vectors.shape[1]), "crc32": checksum}


class TextLines:
    """The lines of text files, as strings; can be read again, unless standard input is among them.

    Parameters
    ----------
    paths : iterable of path
        What :func:`wordvec_ca.text.find_files` takes: files, also compressed, directories, patterns, ``-``.

    Attributes
    ----------
    repaired : int
        Lines, in the last reading, that were not UTF-8 and were read with U+FFFD in place of the bad bytes.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        from wordvec_ca.text import find_files

        self.files = find_files(paths)
        self.repaired = 0

    def __iter__(self) -> Iterator[str]:
        """Yield each line without its end, empty ones too."""
        from wordvec_ca.text import TextFiles

        self.repaired = 0
        rest = b""
        for piece in TextFiles(self.files).pieces():
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            for line in lines:
                try:
                    yield line.decode("utf-8").removesuffix("\r")
                except UnicodeDecodeError:
                    self.repaired += 1
                    yield line.decode("utf-8", "replace").removesuffix("\r")


def _one_line(text: str) -> str:
    """Return a sentence without line ends."""
    return text.replace("\n", " ").replace("\r", " ")
