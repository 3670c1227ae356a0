"""Sentence vectors from word vectors, as a scikit-learn transformer.

All methods are one formula with different factors. The vector of a sentence is

    s = 1/m ( sum_t  f(t) a(t) g_t w_t  +  v sum_t f(t) b(t) )        t over its tokens

followed, for some methods, by the removal of common directions. With ``f`` the frequency factor:

==========  =======================  ==================  ===================  =======================
method      f(t)                     a(t)                b(t)                 directions removed
==========  =======================  ==================  ===================  =======================
mean        1                        1                   0                    0
attention   1                        1                   0                    1
idf         ln((1+N)/(1+df)) + 1     1                   0                    0
sif         a / (a + p(t))           1                   0                    1
usif        a / (a/2 + p(t))         1 / length          0                    5, each in part
ca-sem      1                        1 - chi             see ``readout``      0
ca-sem-sif a / (a + p(t))           1 - chi             see ``readout``      1
==========  =======================  ==================  ===================  =======================

``g`` is 1 or, in an attention model, the mean attention of the word (`wordvec_ca.tables.mean_attention`):
training uses ``g w``, never ``w`` alone, so every method uses ``g w`` as the vector, also in ``length`` and
``chi``.

A batch of sentences is one product of a sparse matrix of tokens with the word vectors. No re-embedded
copy of the vectors is made, and memory-mapped vectors are not loaded.

References
----------
Arora, Liang, Ma 2017 (sif); Ethayarajh 2018 (usif); Zeng 2019, section 3.1, algorithm 1 (ca-sem).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordvec_ca.errors import DataError
from wordvec_ca.files import replacing_files, save_json
from wordvec_ca.sentences.ca_sem import Reembedding, Start, reembed_counts
from wordvec_ca.sentences.counts import WordCounts
from wordvec_ca.sentences.tokens import Coverage, Sentence, SentenceReader, TokenIds, Tokenizer, joined, sums
from wordvec_ca.sentences.word_factors import (
    CA_SEM,
    N_COMPONENTS,
    Counts,
    Frequency,
    Method,
    Readout,
    WordRows,
    check_parameters,
    choose,
    context_factors,
    divided_by_length,
    frequency_factor,
    words_of_ngrams,
)
from wordvec_ca.sentences.word_vectors import NO_VECTOR, WordVectors, fingerprint, ngrams_in_use
from wordvec_ca.tables import one_blas_thread
from wordvec_ca.text import trusted_tokenizer


@dataclass(eq=False, repr=False)  # scikit-learn has its own of both
class SentenceVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn sentences into vectors.

    ``fit`` reads sentences and computes the statistics that the method needs (word counts, document
    frequencies, the context-free vector, common directions); ``transform`` embeds any sentences with it.
    Arora et al. 2017 take the common direction of the evaluated sentences: to do the same, ``fit`` on those.

    Parameters
    ----------
    vectors : KeyedVectors or path
        Word vectors of this package or of gensim, or a path to load them from. Shared, not copied, by
        ``sklearn.clone``. With n-grams (``oov='ngrams'``), unknown words count as words that occur nowhere
        else.
    method : {"auto", "attention", "mean", "idf", "sif", "usif", "ca-sem", "ca-sem-sif"}
        See the table of this module. "auto" is usif if attention weights are used, else ca-sem-sif.
        "ca-sem" is the paper's algorithm, which has no word frequencies; "ca-sem-sif" multiplies its weights
        by SIF's and removes a direction.
    attention : bool, optional
        Whether words are weighted by their mean attention, which the directory of an attention model has.
        None: true if the vectors have such weights and the method is not "mean", which then warns.
    readout : {"sensitive", "full", "full-no-oov"}
        For ca-sem and ca-sem-sif. "full" is eq. 18, ``chi v0 + (1 - chi) w'``, where an unknown token counts
        as ``v0``; "full-no-oov" the same without unknown tokens; "sensitive" is ``(1 - chi) w'`` alone.
    frequency : {"auto", None, "idf", "sif", "usif"}
        For ca-sem and ca-sem-sif: an additional frequency factor; the other methods have a fixed one.
        "auto": None and "sif".
    counts : {"auto", "fit"} or mapping word -> count or array of shape (n_words,)
        Where p(w) comes from: a table; "fit": the sentences that ``fit`` reads; "auto": the counts that the
        vectors carry, or else "fit". A word that the counts lack has p = 0, which is factor 1 in sif.
    a : float
        Constant of sif.
    n_components : int, optional
        Common directions to remove. None: as in the table of this module.
    pooling : {"mean", "sum"}
        "mean" divides by the number of tokens used, "sum" does not (as in eq. 18).
    max_iter, tol, start, scale, count_power
        Of :func:`wordvec_ca.sentences.ca_sem.reembed_counts`, for ca-sem and ca-sem-sif. "auto":
        ``max_iter`` is 100 and 20, ``scale`` is None and 2.
    tokenizer : {"words", "whitespace", "icu", "jieba"}, "module:function" or callable str -> list of str
        For sentences given as strings: as in training (:func:`wordvec_ca.text.tokenize`), or a function.
    lowercase : bool
        For sentences given as strings and tokenised as in training.
    phrases : str, optional
        The character that joins the words of a multi-word entry of the vocabulary (``"_"``); sentences are
        then segmented by :mod:`wordvec_ca.sentences.segmentation`. None: no phrases.

    Attributes
    ----------
    coverage_ : Coverage
        Coverage of the sentences that ``fit`` read.
    reembedding_ : Reembedding
        For ca-sem and ca-sem-sif: the context-free vector and how it was found.
    n_uncounted_ : int
        Words of the vocabulary without a count (0 if the method needs no counts).
    method_ : str
        The method used, also for "auto".
    attention_weights_ : ndarray of shape (n_words,), float32
        ``g``; of shape (0,) if it is 1.
    token_weights_, shift_weights_ : ndarray of shape (n_words,), float32
        ``f a g`` and ``f b``.
    components_ : ndarray of shape (n_components, vector_size), float32
        Directions removed; ``component_shares_`` holds the part of each that is removed.

    Notes
    -----
    The defaults of ca-sem-sif performed best on training pairs (docs/results.md). Those of ca-sem are the
    paper's, except for eq. 18, which is ``readout="full"``.

    Empty sentences, and those of unknown words only, become zero vectors; with ``readout="full"`` the latter
    become ``v0`` (``m v0`` with ``pooling="sum"``).
    """

    # each parameter by itself, not grouped: scikit-learn's clone and grid search set them by these names
    vectors: WordVectors | str | Path | None = None
    _: KW_ONLY
    method: Method = "auto"
    attention: bool | None = None
    readout: Readout = "sensitive"
    frequency: Frequency | Literal["auto"] | None = "auto"
    counts: Counts = "auto"
    a: float = 1e-3
    n_components: int | None = None
    pooling: Literal["mean", "sum"] = "mean"
    max_iter: int | Literal["auto"] = "auto"
    tol: float = 0.0
    start: Start = "unit"
    scale: float | Literal["auto"] | None = "auto"
    count_power: float = 1.0
    tokenizer: Tokenizer = "words"
    lowercase: bool = True
    phrases: str | None = None

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

    def fit(self, X: Iterable[Sentence], y: Any = None) -> Self:
        """Compute from sentences the statistics that the method needs.

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

    def _fit(self, X: Iterable[Sentence]) -> TokenIds:
        check_parameters(self.get_params(deep=False))
        self.vectors_ = self._load_vectors()
        self.method_, weights = choose(self.method, self.attention, self.vectors_)
        self.attention_weights_ = np.zeros(0, np.float32) if weights is None else weights
        self._reader = self._new_reader()
        text = joined(list(self._read(X)))
        self.coverage_ = text.coverage()
        if self.coverage_.n_sentences == 0:
            raise DataError("there are no sentences to fit on: give at least one")
        if self.coverage_.n_tokens == self.coverage_.n_oov:
            raise DataError(
                f"none of the {self.coverage_.n_tokens} tokens in {self.coverage_.n_sentences} sentences has "
                "a vector: check that text and vectors agree in language, letter case and tokenisation"
            )
        n_words, size = self.vectors_.vectors.shape
        chosen = {
            name: value if getattr(self, name) == "auto" else getattr(self, name)
            for name, value in CA_SEM.get(self.method_, {}).items()
        }
        kind = chosen["frequency"] if chosen else self.method_
        of_counts = frequency_factor(kind, text, self.vectors_, self.counts, self.a)
        factor, self.n_uncounted_, self.unknown_factor_ = of_counts
        shift = np.zeros(n_words)
        self.oov_weight_ = 0.0
        self.direction_ = np.zeros(size, np.float32)
        if chosen:
            factor, shift = self._fit_context(text, factor, chosen["max_iter"], chosen["scale"])
        if weights is not None:
            factor = factor * weights
        self.token_weights_ = factor.astype(np.float32)
        self.shift_weights_ = shift.astype(np.float32)
        self._n_features_out = size
        self._fit_components(text, size)
        return text

    def _load_vectors(self) -> WordVectors:
        if self.vectors is None:
            raise ValueError("vectors is None: give word vectors or the path of a model")
        if isinstance(self.vectors, str | Path):
            from wordvec_ca.vectors import KeyedVectors

            return KeyedVectors.load(self.vectors)
        return self.vectors

    def _fit_context(
        self, text: TokenIds, factor: NDArray[np.float64], max_iter: int, scale: float | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Run Algorithm 1 and return f a and f b."""
        matrix, weights = self.vectors_.vectors, self._weights()
        self.reembedding_: Reembedding = reembed_counts(
            matrix,
            WordCounts.from_ids(text.ids, len(matrix), self.coverage_.n_sentences),
            max_iter=max_iter,
            tol=self.tol,
            start=self.start,
            scale=scale,
            count_power=self.count_power,
            weights=weights,
            words=self.vectors_.index_to_key,
        )
        v0 = self.reembedding_.v0
        own, shift = context_factors(matrix, v0, weights, self.readout)
        if self.readout == "full":
            self.oov_weight_ = 1.0
        self.direction_ = v0.astype(np.float32)
        return factor * own, factor * shift

    def _fit_components(self, text: TokenIds, size: int) -> None:
        """Find the common directions of the sentences."""
        wanted = self.n_components
        if wanted is None:
            wanted = N_COMPONENTS.get(self.method_, 0)
        elif wanted >= size:
            raise DataError(
                f"n_components={wanted}: the vectors have {size} dimensions, and without {wanted} directions "
                f"nothing is left of a sentence; give at most {size - 1}"
            )
        self.components_ = np.zeros((0, size), np.float32)
        self.component_shares_ = np.zeros(0, np.float32)
        if wanted:
            rows = (self._embed(batch) for batch in text.batches())
            components, shares = principal_directions(rows, min(wanted, size))
            self.components_ = components
            self.component_shares_ = shares if self.method_ == "usif" else np.ones_like(shares)

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
        batches = [self._embed(encoded) for encoded in self._read(X)]
        return np.concatenate([np.empty((0, self._n_features_out), np.float32), *batches])

    def stream(self, sentences: Iterable[Sentence]) -> Iterator[tuple[NDArray[np.float32], Coverage]]:
        """Embed any number of sentences, a batch at a time.

        Yields
        ------
        vectors : ndarray of shape (batch, vector_size), float32
        coverage : Coverage
            Coverage of the batch.
        """
        check_is_fitted(self, "token_weights_")
        for encoded in self._read(sentences):
            yield self._embed(encoded), encoded.coverage()

    def coverage(self, X: Iterable[Sentence]) -> Coverage:
        """Return how much of some sentences the vocabulary knows."""
        check_is_fitted(self, "token_weights_")
        return sum((encoded.coverage() for encoded in self._read(X)), Coverage())

    def _weights(self) -> NDArray[np.float32] | None:
        return self.attention_weights_ if len(self.attention_weights_) else None

    def _new_reader(self) -> SentenceReader:
        return SentenceReader(self.vectors_, self.tokenizer, self.lowercase, self.phrases)

    def _read(self, sentences: Iterable[Sentence]) -> Iterator[TokenIds]:
        """Yield sentences as rows of the vectors, a batch at a time."""
        if not hasattr(self, "_reader"):  # unpickled or loaded
            self._reader = self._new_reader()
        return self._reader.read(sentences)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the reader, whose lexicon cannot be pickled; it is created again when needed."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_reader", None)
        return state

    def _embed(self, text: TokenIds) -> NDArray[np.float32]:
        """Apply the formula of this module to encoded sentences."""
        known = text.ids != NO_VECTOR
        ids = text.ids[known]
        ends = np.concatenate(([0], np.cumsum(known)))
        offsets = ends[text.offsets]
        words = WordRows(
            self.vectors_.vectors,
            self.token_weights_,
            self.shift_weights_,
            self._weights(),
            self.vectors_.index_to_key,
        )
        if text.others:
            ids, words = words.of_batch(
                ids, lambda places: self._made_of_ngrams([text.others[place] for place in places])
            )
        out = words.weighted_sums(ids, offsets)
        if self.method_ == "usif":
            out = divided_by_length(out, ids, offsets, words.matrix, words.attention)
        n_taking_part = np.diff(offsets).astype(np.float64)
        n_oov = np.diff(text.offsets) - np.diff(offsets)
        if self.method_ in CA_SEM:
            along = sums(words.shifts[ids], offsets) + self.oov_weight_ * n_oov
            out += np.outer(along.astype(np.float32), self.direction_)
            n_taking_part += self.oov_weight_ * n_oov
        if self.pooling == "mean":
            out /= np.maximum(n_taking_part, 1.0).astype(np.float32)[:, None]
        remove_directions(out, self.components_, self.component_shares_)
        return out

    def _made_of_ngrams(self, names: list[str]) -> WordRows:
        """Return words without a row."""
        ngrams = ngrams_in_use(self.vectors_)
        assert ngrams is not None
        v0 = self.reembedding_.v0 if self.method_ in CA_SEM else None
        return words_of_ngrams(ngrams, names, self.unknown_factor_, self._weights(), v0, self.readout)

    def save(self, directory: str | Path) -> None:
        """Write the fitted state, without the word vectors and without pickle.

        Writes ``sentences.json`` (parameters, coverage, sizes) and ``sentences.npz`` (arrays). A tokenizer
        that is a function is not stored, nor are ``counts``.

        Parameters
        ----------
        directory : path
            Created if missing. Older files of these names are replaced once the new ones are complete, and
            symbolic links not followed.
        """
        check_is_fitted(self, "token_weights_")
        given = self.get_params(deep=False).items()
        kept = [item for item in given if item[0] not in ("vectors", "counts") and not callable(item[1])]
        record = {
            "format": _FORMAT,
            "params": dict(kept),
            "method": self.method_,
            "own_tokenizer": callable(self.tokenizer),
            "coverage": asdict(self.coverage_),
            "oov_weight": self.oov_weight_,
            "n_uncounted": self.n_uncounted_,
            "unknown_factor": self.unknown_factor_,
            "vocabulary": fingerprint(self.vectors_),
        }
        with replacing_files(directory, last="sentences.json") as made:
            np.savez(made / "sentences.npz", **{name: getattr(self, name + "_") for name in _ARRAYS})
            if self.method_ in CA_SEM:
                self.reembedding_.save(made)
            save_json(made / "sentences.json", record)

    @classmethod
    def load(
        cls,
        directory: str | Path,
        vectors: WordVectors | str | Path,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> Self:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        directory : path
            Directory of the fitted state.
        vectors : KeyedVectors or path
            The word vectors that it was fitted with.
        tokenizer : str or callable, optional
            The tokenizer that it was fitted with, if that was a function, since a name in a file must not run
            code.

        Raises
        ------
        DataError
            Files are missing, or the word vectors are different ones.
        """
        directory = Path(directory)
        try:
            record = json.loads((directory / "sentences.json").read_text(encoding="utf-8"))
            if record["format"] != _FORMAT:
                raise DataError(
                    f"{directory} has format {record['format']!r:.20}, and this version reads format "
                    f"{_FORMAT}: fit it again"
                )
            with np.load(directory / "sentences.npz", allow_pickle=False) as arrays:
                fitted = {name: arrays[name] for name in _ARRAYS}
            made = cls(vectors, **record["params"])
            if tokenizer is not None:
                made.tokenizer = tokenizer
            made.vectors_ = made._load_vectors()
            made.method_ = record["method"]
            for name, array in fitted.items():
                setattr(made, name + "_", array)
            made.coverage_ = Coverage(**record["coverage"])
            made.oov_weight_ = float(record["oov_weight"])
            made.n_uncounted_ = int(record["n_uncounted"])
            made.unknown_factor_ = float(record["unknown_factor"])
            made._n_features_out = fitted["direction"].shape[0]
            other = record["vocabulary"] != fingerprint(made.vectors_)
            own_tokenizer = record["own_tokenizer"]
        except OSError as error:
            raise DataError(
                f"{directory} does not hold a SentenceVectorizer: {error.filename}: {error.strerror}"
            ) from error
        except DataError:  # of the format or of the word vectors
            raise
        except Exception as error:  # damaged arrays and records raise nearly anything
            raise DataError(f"{directory} does not hold a SentenceVectorizer: {error!r}") from error
        if other:
            raise DataError(
                f"{directory} was fitted with other word vectors than those given: give the same ones"
            )
        if tokenizer is None and isinstance(made.tokenizer, str):
            made.tokenizer = trusted_tokenizer(made.tokenizer, None, str(directory))
        if own_tokenizer and tokenizer is None:
            raise DataError(f"{directory} was fitted with a tokenizer function: give it as tokenizer=")
        if made.method_ in CA_SEM:
            made.reembedding_ = Reembedding.load(directory)
        return made


# Version of the files; others are refused, since a fit is made again in seconds.
_FORMAT = 1

FIT_FILES = {"sentences.json", "sentences.npz", "v0.npy", "counts.npz", "reembedding.json"}
"""Files that `SentenceVectorizer.save` writes."""

_ARRAYS = (
    *("token_weights", "shift_weights", "direction"),
    *("components", "component_shares", "attention_weights"),
)


@one_blas_thread
def principal_directions(
    blocks: Iterable[NDArray[np.float32]], n_components: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the first principal directions of rows, not centred, and how much each explains."""
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


def remove_directions(
    rows: NDArray[np.float32], directions: NDArray[np.float32], shares: NDArray[np.float32]
) -> None:
    """Subtract from each row its projection on each direction, times the direction's share; in place."""
    for direction, share in zip(directions, shares, strict=True):
        # einsum: BLAS would wake its threads for a product too thin to share
        rows -= np.outer(np.einsum("ij,j->i", rows, direction) * share, direction)
