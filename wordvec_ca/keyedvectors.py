"""Words and their vectors: lookup, similarity, neighbours and analogies, with gensim's names and without "
"gensim.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.vector_table import VectorTable, row_blocks, show_word

Key: TypeAlias = "str | int | np.integer[Any]"
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


class UnknownWordError(DataError, KeyError):
    """A word has no vector. Both a ``DataError`` and a ``KeyError``."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the repr


class KeyedVectors:
    """Vectors with a word for each row.

    Parameters
    ----------
    words : sequence of str
        All different; by convention the most frequent first.
    vectors : array_like of shape (n_words, vector_size)
        Kept as it is if float32 (also a read-only memory map), else converted to float32.
    counts : array_like of shape (n_words,), optional
        How often each word stood in the corpus.
    metadata : mapping, optional
        The record of the training run (``config.json`` of a model directory).

    Attributes
    ----------
    vectors : ndarray of shape (n_words, vector_size), float32
        Not to be changed in place: norms are computed once.
    index_to_key : list of str
    key_to_index : dict of str to int
    vector_size : int
    counts : ndarray of shape (n_words,), int64, or None
    metadata : dict

    Raises
    ------
    DataError
        The shapes do not fit, or a word repeats (noticed at the first lookup).

    Notes
    -----
    Methods have the names, arguments and results of gensim 4's ``KeyedVectors``, with two differences. A
    vector of length zero, or with NaN or infinity in it, has no direction: its similarity to others is 0
    (zero) or NaN, and it is never returned as a neighbour; there are no division warnings. And where two
    words are equally similar the one with the lower row comes first.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: Any,
        counts: Any = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        matrix = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
        if matrix.dtype != np.dtype(np.float32):
            matrix = matrix.astype(np.float32)
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise DataError(
                f"vectors should be a matrix with one row for each of the {len(words)} words, but have the "
                f"shape {matrix.shape}"
            )
        self.vectors: np.ndarray = matrix
        self.index_to_key: list[str] = words if isinstance(words, list) else list(words)
        self.counts: np.ndarray | None = None if counts is None else np.asarray(counts, dtype=np.int64)
        if self.counts is not None and self.counts.shape != (len(words),):
            raise DataError(
                f"counts should be one for each of {len(words)} words, but have shape {self.counts.shape}"
            )
        self.metadata: dict[str, Any] = dict(metadata or {})

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str = "auto",  # noqa: A002 - the word users know
        errors: str = "strict",
        duplicates: str = "refuse",
    ) -> KeyedVectors:
        """Read vectors; the format is recognised by content.

        Model directories, gensim's and safetensors files are memory-mapped. No pickle is run (see
        ``wordvec_ca.gensim_format``).

        Parameters
        ----------
        path : path-like
            A model directory; a file in word2vec text or binary, GloVe text, gensim's ``.kv`` or
            ``.model``, or safetensors; or a folder with a projector pair. Text and binary may be compressed.
        format : str
            ``'auto'``, or one of ``wordvec_ca.formats.READABLE`` to insist.
        errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
            What to do with words that are not UTF-8: refuse the file, or decode them so.
        duplicates : {'refuse', 'first'}
            Refuse files in which a word repeats, or keep its first vector and warn.

        Returns
        -------
        KeyedVectors

        Raises
        ------
        DataError
            The file is missing, damaged or of no known format; the message says where and what to do.
        """
        from wordvec_ca.formats import read_vectors

        return cls(*read_vectors(path, format=format, errors=errors, duplicates=duplicates))

    # ------------------------------------------------------------------ lookup

    @property
    def vector_size(self) -> int:
        """Number of columns of ``vectors``."""
        return int(self.vectors.shape[1])

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """Row of each word."""
        index = dict(zip(self.index_to_key, range(len(self.index_to_key)), strict=True))
        if len(index) != len(self.index_to_key):
            from wordvec_ca.vector_table import check_unique

            check_unique(self.index_to_key, "vectors")
        return index

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, key: object) -> bool:
        return self._row(key) >= 0

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> np.ndarray:
        """Return the vector of one word or row, or the matrix of several (shape (k, vector_size))."""
        if isinstance(key_or_keys, (str, int, np.integer)):
            return self.get_vector(key_or_keys)
        rows = [self.get_index(key) for key in key_or_keys]
        return self.vectors[rows]

    def __repr__(self) -> str:
        return f"KeyedVectors({len(self)} words, vector_size={self.vector_size})"

    def __getattr__(self, name: str) -> Any:
        if name in _RENAMED:
            raise AttributeError(f"KeyedVectors has no {name!r}; use {_RENAMED[name]}")
        raise AttributeError(f"'KeyedVectors' object has no attribute {name!r}")

    def _row(self, key: object) -> int:
        """Return the row of a word or row number, or -1."""
        if isinstance(key, str):
            return self.key_to_index.get(key, -1)
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
            return int(key)
        return -1

    def get_index(self, key: Key, default: int | None = None) -> int:
        """Return the row of a word (or of a row number: itself).

        Raises
        ------
        UnknownWordError
            There is no such word and no ``default``.
        """
        row = self._row(key)
        if row >= 0:
            return row
        if default is not None:
            return default
        if isinstance(key, str):
            raise UnknownWordError(f"the word {show_word(key)} has no vector among the {len(self)} words")
        raise UnknownWordError(
            f"there is no row {key!r}; rows go from 0 to {len(self) - 1}, other keys are words"
        )

    def get_vector(self, key: Key, norm: bool = False) -> np.ndarray:
        """Return the vector of a word, shape (vector_size,), float32; of unit length if ``norm``."""
        row = self.get_index(key)
        vector = self.vectors[row]
        result = _unit(vector) if norm else vector.view()
        result.setflags(write=False)
        return result

    def get_vecattr(self, key: Key, attr: str) -> int:
        """Return an attribute of a word; the only one is ``"count"``, its frequency in the corpus.

        Raises
        ------
        KeyError
            The attribute is unknown, or these vectors came without counts.
        """
        row = self.get_index(key)
        if attr != "count":
            raise KeyError(f"no attribute {attr!r}; words have only a 'count'")
        if self.counts is None:
            raise KeyError(
                "these vectors came without counts (only model directories, gensim and safetensors keep them)"
            )
        return int(self.counts[row])

    def close_spellings(self, word: str, n: int = 3) -> list[str]:
        """Return up to ``n`` known words that are spelled like ``word``, other capitals first.

        Only words that share the first letter and are of similar length, and among them the most frequent,
        are compared, so that this stays quick for a million words.
        """
        variants = [word.lower(), word.capitalize(), word.upper(), word.strip(), word.replace(" ", "_")]
        found = [variant for variant in dict.fromkeys(variants) if variant != word and variant in self]
        candidates = []
        for other in self.index_to_key:
            if abs(len(other) - len(word)) <= 2 and other[:1] == word[:1]:
                candidates.append(other)
                if len(candidates) == 5000:
                    break
        close = difflib.get_close_matches(word, candidates, n=n, cutoff=0.7)
        return list(dict.fromkeys(found + close))[:n]

    # ------------------------------------------------------------------ directions

    @cached_property
    def norms(self) -> np.ndarray:
        """Length of each vector, shape (n_words,), float32; computed once, block by block."""
        norms = np.empty(len(self), dtype=np.float32)
        for rows in row_blocks(self.vectors):
            norms[rows] = _lengths(self.vectors[rows])
        self._warn_of_nonfinite(norms)
        return norms

    def _warn_of_nonfinite(self, norms: np.ndarray) -> None:
        """Warn once if vectors hold NaN or infinity."""
        bad = np.flatnonzero(~np.isfinite(norms))
        if len(bad):
            warnings.warn(
                f"{len(bad)} of {len(self)} vectors hold NaN or infinity (the first is that of "
                f"{show_word(self.index_to_key[bad[0]])}); they are never returned as neighbours",
                stacklevel=3,
            )

    def get_normed_vectors(self) -> np.ndarray:
        """Return a new (n_words, vector_size) float32 matrix with rows of unit length; zero rows stay "
        "zero.
        """
        norms = np.where(self.norms > 0, self.norms, np.float32(1))
        normed = np.empty(self.vectors.shape, dtype=np.float32)
        with np.errstate(invalid="ignore"):
            for rows in row_blocks(self.vectors):
                np.divide(self.vectors[rows], norms[rows, np.newaxis], out=normed[rows])
        return normed

    def get_mean_vector(
        self,
        keys: Sequence[Key | np.ndarray],
        weights: Sequence[float] | np.ndarray | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> np.ndarray:
        """Return the weighted mean of some vectors, divided by the sum of absolute weights, as gensim does.

        Parameters
        ----------
        keys : sequence of str, int or ndarray
            Words, rows, or vectors (taken as they are).
        weights : sequence of float, optional
            One for each key; 1 by default.
        pre_normalize, post_normalize : bool
            Whether words' vectors are scaled to unit length before, and the mean after.
        ignore_missing : bool
            Whether unknown words are skipped rather than refused.

        Returns
        -------
        ndarray of shape (vector_size,), float32
            Zero if every key was skipped.

        Raises
        ------
        ValueError
            There are no keys, or not one weight for each.
        UnknownWordError
            A word is unknown and ``ignore_missing`` is false.
        """
        if len(keys) == 0:
            raise ValueError("the mean of no keys is undefined; give at least one")
        factors = np.ones(len(keys)) if weights is None else np.asarray(weights, dtype=np.float64)
        if factors.shape != (len(keys),):
            raise ValueError(
                f"weights should be one for each of {len(keys)} keys, but have the shape {factors.shape}"
            )
        mean = np.zeros(self.vector_size)
        total = 0.0
        for key, factor in zip(keys, factors, strict=True):
            if isinstance(key, np.ndarray):
                if key.shape != (self.vector_size,):
                    raise ValueError(
                        f"a vector should have the shape ({self.vector_size},), but has {key.shape}"
                    )
                vector = key
            elif ignore_missing and self._row(key) < 0:
                continue
            else:
                vector = self.get_vector(key, norm=pre_normalize)
            mean += factor * vector
            total += abs(factor)
        if total > 0:
            mean /= total
        return _unit(mean) if post_normalize else mean.astype(np.float32)

    def _cosines(self, direction: np.ndarray, stop: int) -> np.ndarray:
        """Return the cosines of the first ``stop`` vectors with a unit vector; 0 for zero rows, NaN for NaN.

        The first call also computes the norms, in the same pass over memory.
        """
        cosines = np.empty(stop, dtype=np.float32)
        known = self.__dict__.get("norms")
        norms = np.empty(len(self), dtype=np.float32) if known is None and stop == len(self) else self.norms
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in row_blocks(self.vectors[:stop]):
                block = self.vectors[rows]
                if known is None and stop == len(self):
                    norms[rows] = _lengths(block)
                np.dot(block, direction, out=cosines[rows])
        if known is None and stop == len(self):
            self.__dict__["norms"] = norms
            self._warn_of_nonfinite(norms)
        lengths = norms[:stop]
        np.divide(cosines, lengths, out=cosines, where=(lengths > 0) & np.isfinite(lengths))
        cosines[lengths == 0] = 0
        cosines[~np.isfinite(lengths)] = np.nan
        return np.clip(cosines, -1, 1, out=cosines)

    def _best(self, scores: np.ndarray, topn: int, left_out: set[int]) -> list[tuple[str, float]]:
        """Return the ``topn`` highest scores with their words, ties by row; words without direction left "
        "out.
        """
        usable = scores.copy()
        lengths = self.norms[: len(scores)]
        usable[~((lengths > 0) & np.isfinite(lengths))] = -np.inf
        usable[[row for row in left_out if row < len(scores)]] = -np.inf
        n_best = min(topn, int(np.isfinite(usable).sum()))
        if n_best == 0:
            return []
        threshold = np.partition(usable, len(usable) - n_best)[len(usable) - n_best]
        rows = np.flatnonzero(usable >= threshold)
        rows = rows[np.argsort(-usable[rows], kind="stable")][:n_best]
        return [(self.index_to_key[row], float(usable[row])) for row in rows]

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
        rows = {self.get_index(key) for key in keys if not isinstance(key, np.ndarray)}
        return keys, np.array(weights), rows

    def most_similar(
        self,
        positive: Item | Sequence[Item] | None = None,
        negative: Item | Sequence[Item] | None = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]] | np.ndarray:
        """Return the words whose vectors point most nearly in the direction of a sum of words.

        The direction is the mean of the positive words' unit vectors and the negated negative ones
        (3CosAdd: Levy & Goldberg 2014, eq. 3); the score is its cosine with each vector.

        Parameters
        ----------
        positive, negative : str, int, ndarray, (key, weight), or a sequence of those
            Words, rows or vectors that pull and push; a weight replaces 1 or -1.
        topn : int or None
            How many neighbours; None for the cosines of all words.
        restrict_vocab : int, optional
            Look only at the first so many words.

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
        cosines = self._cosines(direction, self._stop(restrict_vocab))
        return cosines if topn is None else self._best(cosines, max(topn, 0), rows)

    def _stop(self, restrict_vocab: int | None) -> int:
        """Return how many of the first words are searched."""
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
            direction = _unit(key if isinstance(key, np.ndarray) else self.get_vector(key))
            if not np.isfinite(direction).all() or not direction.any():
                raise DataError(
                    f"the vector of {show_word(str(key))} is zero or holds NaN: it has no neighbours"
                )
            shifted = (1 + self._cosines(direction, stop).astype(np.float64)) / 2
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
        return float(np.dot(self.get_vector(w1, norm=True), self.get_vector(w2, norm=True)))

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
        known = [word for word in words if self._row(word) >= 0]
        if not known:
            raise DataError(f"none of the {len(words)} words has a vector")
        if len(known) < len(words):
            missing = ", ".join(show_word(str(word)) for word in words if self._row(word) < 0)
            warnings.warn(f"words without a vector are left out: {missing}", stacklevel=2)
        directions = np.stack([self.get_vector(word, norm=True) for word in known])
        cosines = directions @ _unit(directions.mean(axis=0))
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
        """Return the words that are to ``c`` as ``b`` is to ``a``.

        Parameters
        ----------
        a, b, c : str
            For instance ``'man', 'king', 'woman'``.
        topn : int
            How many answers.
        method : {'add', 'mul'}
            3CosAdd (``most_similar``) or 3CosMul (``most_similar_cosmul``), Levy & Goldberg 2014.
        restrict_vocab : int, optional
            Look only at the first so many words.

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
        overwrite: bool = True,
    ) -> int:
        """Write the vectors to a file; see ``wordvec_ca.formats.write_vectors`` for arguments and errors.

        Returns
        -------
        int
            How many words were written.
        """
        from wordvec_ca.formats import write_vectors

        table = VectorTable(self.index_to_key, self.vectors, self.counts, self.metadata)
        return write_vectors(
            table, path, format=format, errors=errors, unwritable=unwritable, overwrite=overwrite
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
            Only for text.

        Raises
        ------
        DataError
            A word is empty or contains white space; nothing is written then.
        """
        if binary and not write_header:
            raise ValueError("word2vec binary cannot be written without its header")
        if fvocab is not None:
            from wordvec_ca.atomic_file import atomic_file
            from wordvec_ca.text_format import encode_words

            if self.counts is None:
                raise DataError("cannot write fvocab: these vectors came without counts")
            words = encode_words(self.index_to_key, "strict", "a vocabulary of 'word count' lines")
            with atomic_file(fvocab) as stream:
                pairs = zip(words, self.counts.tolist(), strict=True)
                stream.write(b"".join(b"%b %d\n" % pair for pair in pairs))
        self.save(fname, format="word2vec-binary" if binary else "word2vec" if write_header else "glove")

    def to_gensim(self) -> Any:
        """Return a ``gensim.models.KeyedVectors`` that shares ``vectors``.

        Raises
        ------
        ImportError
            gensim is not installed; the message says what to do.
        """
        from wordvec_ca.gensim_index import to_gensim

        return to_gensim(self.index_to_key, self.vectors, self.counts)


def _lengths(block: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of each row; rows whose squares over- or underflow are done again in "
    "float64.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", block, block)
        lengths = np.sqrt(squares)
        odd = np.flatnonzero(~((squares > 1e-30) & (squares < 1e30)))
        if len(odd):
            lengths[odd] = np.sqrt(np.square(block[odd], dtype=np.float64).sum(axis=1))
    return lengths


def _unit(vector: np.ndarray) -> np.ndarray:
    """Return a float32 vector of unit length, zero if the vector is zero, NaN if it has NaN or infinity."""
    exact = np.asarray(vector, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt(np.dot(exact, exact))
        if not np.isfinite(length):
            return np.full(exact.shape, np.nan, dtype=np.float32)
        return (exact / (length or 1.0)).astype(np.float32)


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
