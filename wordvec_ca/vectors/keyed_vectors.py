"""Words and their vectors: lookup, similarity, neighbours and analogies, with the names of gensim.

The module is long because one class has all methods of gensim's class, each with its documentation.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, content_words, html_table
from wordvec_ca.formats import encode_words, format_of_suffix, read_vectors, to_gensim, write_vectors
from wordvec_ca.specs.formats import format_named
from wordvec_ca.tables import VectorTable, check_trained, row_blocks, show_word, with_fitted_ngrams
from wordvec_ca.vectors.approximate import ApproximateNeighbours
from wordvec_ca.vectors.intervals import LEVEL, Neighbour, Neighbours, judged
from wordvec_ca.vectors.lookup import NO_ATTENTION, Key, Lookup, NoAttentionError
from wordvec_ca.vectors.neighbours import Directions, ScoredWords, cosine, unit

Item: TypeAlias = "Key | np.ndarray | tuple[Key | np.ndarray, float]"

_RENAMED = {
    "vocab": "key_to_index (word -> row) and get_vecattr(word, 'count')",
    "index2word": "index_to_key",
    "index2entity": "index_to_key",
    "size": "vector_size",
    "syn0": "vectors",
    "vectors_norm": "get_normed_vectors()",
    "syn0norm": "get_normed_vectors()",
    "word_vec": "get_vector(word)",
    "wv": "the object itself: these are the vectors already",
    "load_word2vec_format": "KeyedVectors.load(path), which recognises the format",
    "init_sims": "nothing: norms are computed when needed",
}


class KeyedVectors(Lookup):
    """Vectors with a word for each row.

    Parameters
    ----------
    words : sequence of str
        Distinct words; by convention the most frequent first.
    vectors : array_like of shape (n_words, vector_size)
        One row for each word. A float32 array, also a read-only memory map, is used without a copy; other
        types are converted.
    counts : array_like of shape (n_words,), optional
        Occurrences of each word in the corpus.
    metadata : mapping, optional
        The record of the training run (``config.json`` of a model directory).
    ngrams : NgramVectors, optional
        Rows of n-grams, from which vectors of other words are computed.
    attention : callable, optional
        Returns the weight of each word in an attention model, shape (n_words,); called at the first use.
    resamples : Resamples, optional
        Models of resampled text, in the space of the vectors (``cawv train --resamples``).
    oov : {'ngrams', 'refuse'}
        Whether words without a row (out of vocabulary) get a vector from their n-grams: ``in``, ``[]`` and
        all methods then accept these words too. May be set later. ``key_to_index`` and ``len`` count only
        words with rows.

    Attributes
    ----------
    vectors : ndarray of shape (n_words, vector_size), float32
        Must not be changed in place, since norms are computed only once. Raises a ``NoWordVectorsError`` if
        only vectors of documents were trained (pv-dbow without ``dbow_words``).
    index_to_key : list of str
    key_to_index : dict of str to int
    vector_size : int
    counts : ndarray of shape (n_words,), int64, or None
    metadata : dict
    attends : bool
        Whether these are vectors of an attention model.
    attention : ndarray of shape (n_words,), float32
        Weights for averages of the vectors of an attention model; other vectors raise ``NoAttentionError``.
    resamples : Resamples or None
        The models from which `neighbours` computes intervals; ``resampled(number)`` returns one of them as
        vectors.

    Raises
    ------
    DataError
        The shapes do not fit, or a word repeats (detected at the first lookup).

    Notes
    -----
    Methods have the names, arguments and results of gensim 4's ``KeyedVectors``, with two differences. A
    vector of length zero, or with NaN or infinity in it, has no direction: its similarity to others is 0
    (zero) or NaN, and it is never returned as a neighbour; there are no division warnings. And where two
    words are equally similar the one with the lower row comes first.
    """

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str = "auto",  # noqa: A002 - the word users know
        errors: str = "strict",
        duplicates: str = "refuse",
        oov: str = "ngrams",
        vectors: str | None = None,
    ) -> KeyedVectors:
        """Read vectors; the format is recognised by content.

        Model directories, gensim's and safetensors files are memory-mapped. No pickle is run (see
        ``wordvec_ca.formats.unpickler``).

        Parameters
        ----------
        path : path-like
            A model directory; a file in word2vec text or binary, GloVe text, gensim's ``.kv`` or
            ``.model``, safetensors, or fastText's ``.bin``; or a folder with a projector pair, or for
            sentence-transformers, model2vec or the Hugging Face Hub. Text, binary and fastText's may be
            compressed.
        format : str
            ``'auto'``, or one of ``READABLE`` of ``wordvec_ca/specs/formats.py``.
        errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
            How to decode words that are not UTF-8; 'strict' raises an error.
        duplicates : {'refuse', 'first'}
            If a word repeats: raise an error, or keep its first vector and warn.
        oov : {'ngrams', 'refuse'}
            See the class; only for models with n-grams.
        vectors : {'input', 'output', 'both', 'fitted'}, optional
            For a model directory: the form of the vectors (``cawv train --vectors``); by default the
            published one. Other forms are computed in memory.

        Returns
        -------
        KeyedVectors

        Raises
        ------
        DataError
            The file is missing, damaged or of no known format; the message says where and what to do.
        """
        table = read_vectors(path, format=format, errors=errors, duplicates=duplicates, vectors=vectors)
        made = cls(
            table.words,
            table.vectors,
            table.counts,
            table.metadata,
            table.ngrams,
            table.attention,
            table.resamples,
            oov=oov,
        )
        made._model = os.fspath(path)
        return made

    def __repr__(self) -> str:
        first = ", ".join(show_word(word, 20) for word in self.index_to_key[:5])
        more = f": {first}{', …' if len(self) > 5 else ''}" if len(self) else ""
        return f"KeyedVectors({len(self)} words, vector_size={self.vector_size}{more})"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: some content words, and their counts."""
        shown = content_words(self.index_to_key, 10)
        rows: list[tuple[Any, ...]] = [(self.key_to_index[word], word) for word in shown]
        head = ["row", "word"]
        if self.counts is not None:
            head.append("count")
            rows = [(*row, int(self.counts[row[0]])) for row in rows]
        return html_table(f"KeyedVectors: {len(self):,} words, vector_size={self.vector_size}", head, rows)

    def __getattr__(self, name: str) -> Any:
        if name == "vectors":  # while a pickle is read there is no metadata
            check_trained(self.__dict__.get("metadata", {}), self._model)
        if name in _RENAMED:
            raise AttributeError(f"KeyedVectors has no {name!r}; use {_RENAMED[name]}")
        if name == "attention":  # Python calls this because the property raised an AttributeError
            raise NoAttentionError(NO_ATTENTION)
        raise AttributeError(f"'KeyedVectors' object has no attribute {name!r}")

    # ------------------------------------------------------------------ similarity

    @cached_property
    def _directions(self) -> Directions:
        return Directions(self.index_to_key, self.vectors)

    @property
    def norms(self) -> np.ndarray:
        """Length of each vector, shape (n_words,), float32; computed once, block by block."""
        return self._directions.norms

    def get_normed_vectors(self) -> np.ndarray:
        """Return a new (n_words, vector_size) float32 matrix with rows of length one; zero rows stay zero."""
        return self._directions.normed()

    def highest(self, scores: np.ndarray, topn: int, left_out: set[int]) -> list[int]:
        """Return the rows with the ``topn`` highest of some scores of the first words, best first.

        Rows in ``left_out`` and those of vectors without a direction are never returned.
        """
        return self._directions.highest(scores, topn, left_out)

    def _best(self, scores: np.ndarray, topn: int, left_out: set[int]) -> list[tuple[str, float]]:
        """Return the words with the ``topn`` highest scores, and the scores."""
        rows = self.highest(scores, topn, left_out)
        self._keep_rows(rows)
        return ScoredWords((self.index_to_key[row], float(scores[row])) for row in rows)

    def _query(self, positive: Any, negative: Any) -> tuple[list[Any], np.ndarray, set[int]]:
        """Return keys, signed weights and the rows to leave out of the answer."""
        keys: list[Any] = []
        weights: list[float] = []
        for sign, given in ((1.0, positive), (-1.0, negative)):
            for item in _listed(given):
                weighted = isinstance(item, (tuple, list)) and len(item) == 2
                keys.append(item[0] if weighted else item)
                weights.append(float(item[1]) if weighted else sign)
        if not keys:
            raise ValueError("give at least one word or vector, positive or negative")
        rows = {self._known_row(key) for key in keys if not isinstance(key, np.ndarray)} - {-1}
        return keys, np.array(weights), rows

    def _known_row(self, key: Key) -> int:
        """Return the row of a word, or -1 if its vector comes from n-grams."""
        return -1 if self._row(key) < 0 and key in self else self.get_index(key)

    def most_similar(
        self,
        positive: Item | Sequence[Item] | None = None,
        negative: Item | Sequence[Item] | None = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
        indexer: Any = None,
    ) -> list[tuple[str, float]] | np.ndarray:
        """Return the words whose vectors point most nearly in the direction of a sum of words.

        The direction is the mean of the positive words' unit vectors and the negated negative ones
        (3CosAdd: Levy & Goldberg 2014, eq. 3); the score is its cosine with each vector.

        Parameters
        ----------
        positive, negative : str, int, ndarray, (key, weight), or a sequence of those
            Words, rows or vectors that are added and subtracted; a weight replaces 1 or -1.
        topn : int or None
            Number of neighbours; None returns the cosines of all words.
        restrict_vocab : int, optional
            Search only this many of the first words.
        indexer : object, optional
            Object that does the search, such as an ``ApproximateNeighbours``: its ``most_similar(vector, n)``
            returns words and scores. It is not used if ``topn`` is None.

        Returns
        -------
        list of (str, float), or ndarray of shape (n_words,), float32, if ``topn`` is None
            Best first, without the words given.

        Raises
        ------
        UnknownWordError
            A word has no vector.
        DataError
            The words' vectors cancel, or hold NaN: there is no direction.
        ValueError
            No words are given.
        """
        keys, weights, rows = self._query(positive, negative)
        direction = self.get_mean_vector(keys, weights, post_normalize=True, ignore_missing=False)
        if not np.isfinite(direction).all() or not direction.any():
            shown = ", ".join(show_word(key) if isinstance(key, str) else "a given vector" for key in keys)
            raise DataError(
                f"the vectors of {shown} are zero, cancel each other or hold NaN: they have no neighbours"
            )
        if indexer is not None and topn is not None:
            n = max(topn, 0) + len(rows)
            if isinstance(indexer, ApproximateNeighbours) and indexer.words is self.index_to_key:
                nearest, cosines = indexer.nearest(direction, n)
                self._keep_rows(nearest.tolist())
                found = list(zip((self.index_to_key[row] for row in nearest), cosines.tolist(), strict=True))
            else:
                found = indexer.most_similar(direction, n)
            given = {self.index_to_key[row] for row in rows}
            return ScoredWords([pair for pair in found if pair[0] not in given][: max(topn, 0)])
        cosines = self._directions.cosines(direction, self._stop(restrict_vocab))
        return cosines if topn is None else self._best(cosines, max(topn, 0), rows)

    def neighbours(
        self, word: Key, topn: int = 10, *, restrict_vocab: int | None = None, level: float = LEVEL
    ) -> Neighbours:
        """Return the nearest words; with models of resampled text, also an interval and the agreement of
        each.

        Parameters
        ----------
        word : str or int
        topn : int
            How many neighbours.
        restrict_vocab : int, optional
            Search only this many of the first words.
        level : float, default 0.9
            Probability that an interval contains the cosine of one run on other text of the same kind and
            size.

        Returns
        -------
        Neighbours
            A list of ``Neighbour``: ``word``, ``score`` (the cosine, as from ``most_similar``), ``low`` and
            ``high`` of its interval in one run, and ``agreement``, in how many of ``models`` resampled
            models the word is among the ``topn``. Without resampled models ``models`` is 0 and the interval
            is nan.

        Raises
        ------
        UnknownWordError
            The word has no vector.
        ValueError
            ``level`` is not above 0 and below 1.
        """
        found = self.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)
        assert isinstance(found, list)
        row = self._row_of(word) if isinstance(word, str) else int(word)
        if row < 0:  # a vector from n-grams, which resampled models do not have
            return Neighbours([Neighbour(neighbour, score) for neighbour, score in found], 0)

        def scores(model: KeyedVectors) -> np.ndarray:
            cosines = model.most_similar(row, topn=None, restrict_vocab=restrict_vocab)
            assert isinstance(cosines, np.ndarray)
            return cosines

        return judged(self, found, scores, among=topn, left_out={row}, level=level)

    def _stop(self, restrict_vocab: int | None) -> int:
        """Return the number of first words to search."""
        if restrict_vocab is not None and restrict_vocab < 0:
            raise ValueError(
                f"restrict_vocab is {restrict_vocab}; it should be at least 1, or None for all words"
            )
        return min(restrict_vocab or len(self), len(self))

    def most_similar_cosmul(
        self,
        positive: Key | Sequence[Key | np.ndarray] | None = None,
        negative: Key | Sequence[Key | np.ndarray] | None = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]] | np.ndarray:
        """Return the words with the highest product of similarities (3CosMul: Levy & Goldberg 2014, eq. 4).

        The score is the product over positive words of s divided by that over negative words, plus 1e-6,
        with s = (1 + cosine) / 2. Arguments, results and errors as in ``most_similar``.
        """
        keys, weights, rows = self._query(positive, negative)
        if not np.isin(weights, (-1.0, 1.0)).all():
            raise ValueError("most_similar_cosmul takes no weights; use most_similar")
        stop = self._stop(restrict_vocab)
        numerator = np.ones(stop, dtype=np.float64)
        denominator = np.ones(stop, dtype=np.float64)
        for key, weight in zip(keys, weights, strict=True):
            direction = unit(key if isinstance(key, np.ndarray) else self.get_vector(key))
            if not np.isfinite(direction).all() or not direction.any():
                raise DataError(
                    f"the vector of {show_word(str(key))} is zero or holds NaN: it has no neighbours"
                )
            shifted = (1 + self._directions.cosines(direction, stop).astype(np.float64)) / 2
            if weight > 0:
                numerator *= shifted
            else:
                denominator *= shifted
        scores = numerator / (denominator + 1e-6)
        return scores if topn is None else self._best(scores, max(topn, 0), rows)

    def similar_by_key(
        self, key: Key, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> list[tuple[str, float]] | np.ndarray:
        """Return the neighbours of one word; see ``most_similar``."""
        return self.most_similar([key], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_word(
        self, word: Key, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> list[tuple[str, float]] | np.ndarray:
        """Return the neighbours of one word; see ``most_similar``."""
        return self.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(
        self, vector: np.ndarray, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> list[tuple[str, float]] | np.ndarray:
        """Return the neighbours of a vector of shape (vector_size,); see ``most_similar``."""
        return self.most_similar([np.asarray(vector)], topn=topn, restrict_vocab=restrict_vocab)

    def similarity(self, w1: Key, w2: Key) -> float:
        """Return the cosine of two words' vectors; 0 if one is zero, NaN if one holds NaN."""
        return cosine(self.get_vector(w1), self.get_vector(w2))

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> float:
        """Return the cosine of the mean vectors of two lists of words.

        Raises
        ------
        ValueError
            A list is empty.
        UnknownWordError
            A word has no vector.
        """
        if not len(ws1) or not len(ws2):
            raise ValueError("n_similarity needs at least one word in each list")
        means = [
            self.get_mean_vector(list(ws), pre_normalize=False, post_normalize=True, ignore_missing=False)
            for ws in (ws1, ws2)
        ]
        return float(np.dot(*means))

    def doesnt_match(self, words: Sequence[Key]) -> Key:
        """Return the word whose direction is farthest from the mean direction of all.

        Unknown words are left out with a warning.

        Raises
        ------
        DataError
            None of the words has a vector.
        """
        known = [word for word in words if word in self]
        if not known:
            raise DataError(f"none of the {len(words)} words has a vector")
        if len(known) < len(words):
            missing = ", ".join(show_word(str(word)) for word in words if word not in self)
            warnings.warn(f"words without a vector are left out: {missing}", stacklevel=2)
        directions = np.stack([self.get_vector(word, norm=True) for word in known])
        cosines = directions @ unit(directions.mean(axis=0))
        return known[int(np.argmin(np.nan_to_num(cosines, nan=-2.0)))]

    def analogy(
        self,
        a: Key,
        b: Key,
        c: Key,
        topn: int = 10,
        method: str = "add",
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]]:
        """Return the answers to the analogy: ``a`` is to ``b`` as ``c`` is to what?

        Parameters
        ----------
        a, b, c : str
            For instance ``'man', 'king', 'woman'``.
        topn : int
            Number of answers.
        method : {'add', 'mul'}
            3CosAdd (``most_similar``) or 3CosMul (``most_similar_cosmul``), Levy & Goldberg 2014.
        restrict_vocab : int, optional
            Search only this many of the first words.

        Returns
        -------
        list of (str, float)
        """
        if method not in ("add", "mul"):
            raise ValueError(f"method is {method!r}; known are 'add' (3CosAdd) and 'mul' (3CosMul)")
        search = self.most_similar if method == "add" else self.most_similar_cosmul
        answers = search(positive=[b, c], negative=[a], topn=topn, restrict_vocab=restrict_vocab)
        assert isinstance(answers, list)
        return answers

    # ------------------------------------------------------------------ writing

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word users know
        errors: str = "strict",
        unwritable: str = "refuse",
        dtype: str = "float32",
        max_words: int | None = None,
        evaluation: list[dict[str, Any]] | None = None,
        overwrite: bool = True,
        fold_attention: bool | None = None,
    ) -> int:
        """Write the vectors to a file; see ``wordvec_ca.vectors.write_vectors`` for errors.

        Parameters
        ----------
        path, format, errors, unwritable, dtype, max_words, evaluation, overwrite
            As in ``write_vectors``.
        fold_attention : bool, optional
            Write the vectors `with_attention_folded`; by default for the formats of `folds_attention`.

        Returns
        -------
        int
            Number of words written.
        """
        if fold_attention is None:
            fold_attention = self.folds_attention(format or format_of_suffix(path))
        if fold_attention:
            return self.with_attention_folded().save(
                path, format=format, errors=errors, unwritable=unwritable, dtype=dtype, max_words=max_words,
                evaluation=evaluation, overwrite=overwrite, fold_attention=False,
            )  # fmt: skip
        return write_vectors(
            self.table,
            path,
            format=format,
            errors=errors,
            unwritable=unwritable,
            dtype=dtype,
            max_words=max_words,
            evaluation=evaluation,
            overwrite=overwrite,
        )

    @property
    def table(self) -> VectorTable:
        """All data of the vectors, as the table that writers of formats accept."""
        return VectorTable(
            words=self.index_to_key,
            vectors=self.vectors,
            counts=self.counts,
            metadata=self.metadata,
            ngrams=self.ngrams,
            attention=self._read_attention,
            resamples=self.resamples,
        )

    def folds_attention(self, format: str) -> bool:  # noqa: A002 - the word users know
        """Return whether `save` multiplies vectors by attention, because readers of the format average
        vectors.

        Such programs do not weight words. With equal weights, the sentence vectors of an attention model lose
        what it has learnt about the importance of words.
        """
        return self.attends and format_named(format).averages

    def with_attention_folded(self) -> KeyedVectors:
        """Multiply vectors by the attention of their words, for programs that average vectors.

        Directions, and therefore cosines between words, stay the same. N-grams have no attention and are
        left out.

        Returns
        -------
        KeyedVectors
            A copy whose ``metadata`` has ``"attention_folded": True``.

        Raises
        ------
        DataError
            The vectors are not of an attention model.
        """
        if not self.attends:
            raise DataError(
                "these vectors have no attention to fold in: that needs the model directory of an attention "
                "model (cawv train --model cbow-attn)"
            )
        folded = np.empty(self.vectors.shape, np.float32)
        for rows in row_blocks(self.vectors):
            np.multiply(self.vectors[rows], self.attention[rows, None], out=folded[rows])
        return KeyedVectors(
            self.index_to_key, folded, self.counts, {**self.metadata, "attention_folded": True}, oov=self.oov
        )

    def save_word2vec_format(
        self,
        fname: str | os.PathLike[str],
        fvocab: str | os.PathLike[str] | None = None,
        binary: bool = False,
        write_header: bool = True,
    ) -> None:
        """Write word2vec text or binary, or (``write_header=False``) GloVe text, as gensim's method does.

        Parameters
        ----------
        fname : path-like
        fvocab : path-like, optional
            Also write ``word count`` lines there.
        binary : bool
        write_header : bool
            Whether to write the header line; only for text.

        Raises
        ------
        DataError
            A word is empty or contains white space; nothing is written then.
        """
        if binary and not write_header:
            raise ValueError("word2vec binary cannot be written without its header")
        if fvocab is not None:
            if self.counts is None:
                raise DataError("cannot write fvocab: these vectors came without counts")
            words = encode_words(self.index_to_key, "strict", "a vocabulary of 'word count' lines")
            with atomic_file(fvocab) as stream:
                pairs = zip(words, self.counts.tolist(), strict=True)
                stream.write(b"".join(b"%b %d\n" % pair for pair in pairs))
        self.save(fname, format="word2vec-binary" if binary else "word2vec" if write_header else "glove")

    def with_fitted_ngrams(self, weight: float = 0.5) -> KeyedVectors:
        """Return vectors to which is added what the n-grams of each word tell of it, without training.

        Vectors of character n-grams are fitted to the vectors by ridge regression. Words of similar spelling
        come nearer to each other, which usually improves similarity and analogies of finished vectors; words
        without a row get a vector from their n-grams. See `wordvec_ca.tables.fitted_ngrams`.

        Parameters
        ----------
        weight : float, default 0.5
            Weight of the n-grams of a known word; 0 only gives vectors to unknown words.

        Returns
        -------
        KeyedVectors
            Copies of the words and counts; vectors of about unit length, less their mean; ``ngrams``.

        Raises
        ------
        DataError
            The vectors have n-grams already, or the spelling of the words tells nothing of their vectors, as
            with names of items.
        """
        if self.ngrams is not None:
            raise DataError("these vectors have n-grams already: with them, nothing is fitted")
        made, ngrams, explained = with_fitted_ngrams(self.index_to_key, self.vectors, self.counts, weight)
        record = {"weight": weight, "explained": round(explained, 4)}
        metadata = {**self.metadata, "fitted_ngrams": record}
        return KeyedVectors(self.index_to_key, made, self.counts, metadata, ngrams, self._read_attention)

    def to_gensim(self) -> Any:
        """Return a ``gensim.models.KeyedVectors`` that shares ``vectors``.

        Raises
        ------
        ImportError
            gensim is not installed; the message says what to do.
        """
        return to_gensim(self.index_to_key, self.vectors, self.counts)


def _listed(given: Any) -> list[Any]:
    """Return a sequence of keys, vectors and weighted ones from one or several."""
    if given is None:
        return []
    if isinstance(given, (str, int, np.integer)):
        return [given]
    if isinstance(given, np.ndarray):
        return [given] if given.ndim == 1 and given.dtype.kind == "f" else list(given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], float):
        return [given]
    return list(given)


def analogies(
    vectors: KeyedVectors,
    a: str,
    b: str,
    c: str,
    found: Sequence[tuple[str, float]],
    *,
    method: str = "add",
    restrict_vocab: int | None = None,
    level: float = LEVEL,
) -> Neighbours:
    """Return, for each answer to an analogy, an interval of its score, and in how many models it is the
    first.

    Parameters
    ----------
    vectors : KeyedVectors
    a, b, c : str
    found : sequence of (str, float)
        The answers of ``vectors.analogy``.
    method, restrict_vocab
        As in ``vectors.analogy``.
    level : float
        Probability of the intervals.

    Returns
    -------
    Neighbours
    """
    rows = [vectors.key_to_index.get(word, -1) for word in (a, b, c)]
    if min(rows) < 0:  # a vector from n-grams, which resampled models do not have
        return Neighbours([Neighbour(word, score) for word, score in found], 0)

    def scores(model: KeyedVectors) -> np.ndarray:
        search = model.most_similar if method == "add" else model.most_similar_cosmul
        first, second, third = rows
        values = search([second, third], [first], topn=None, restrict_vocab=restrict_vocab)
        assert isinstance(values, np.ndarray)
        return values

    return judged(vectors, found, scores, among=1, left_out=set(rows), level=level, cosine=method == "add")
