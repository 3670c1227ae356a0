"""Looks up vectors, counts and means by words or row numbers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Never, Self, TypeAlias
from unicodedata import normalize

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import in_memory
from wordvec_ca.tables import (
    NgramVectors,
    Resamples,
    check_unique,
    config_of,
    show_word,
    words_are_trained,
)
from wordvec_ca.vectors.neighbours import unit

# Names of attributes that are computed at their first use.
DERIVED = {"key_to_index", "_directions", "_first_rows"}

# With more than MANY_WORDS words, the first FEW_LOOKUPS lookups search the list of words: for 1.6 million
# words, a search takes .03 s, but building the dictionary takes 1 s.
MANY_WORDS, FEW_LOOKUPS = 100_000, 10

# Largest number of rows of a search result that are remembered.
KEPT_ROWS = 1_000

Key: TypeAlias = "str | int | np.integer[Any]"


def _forms(word: str) -> list[str]:
    """Return a word unchanged, and in the normal forms of Unicode, which look the same."""
    return [word] if word.isascii() else [word, normalize("NFC", word), normalize("NFD", word)]


class UnknownWordError(DataError, KeyError):
    """A word has no vector. Both a ``DataError`` and a ``KeyError``."""

    hint: Callable[[], str] = staticmethod(str)
    """Function that returns the rest of the message. It is slow, so it is called only when the message is
    shown.
    """

    def __str__(self) -> str:
        return f"{self.args[0]}{self.hint()}"  # KeyError would show the message's repr

    def __reduce__(self) -> tuple[type[UnknownWordError], tuple[str]]:
        """Pickle the error with its complete message."""
        return type(self), (str(self),)


NO_ATTENTION = (
    "these vectors have no attention: only those of the model directory of an attention model have it (cawv "
    "train --model cbow-attn); vectors.attends tells"
)


class NoAttentionError(DataError, AttributeError):
    """Vectors have no attention. Both a ``DataError`` and an ``AttributeError``, as for `hasattr`."""


class AttentionArray(np.ndarray):  # type: ignore[type-arg]
    """An array that raises a helpful error if it is called like a function."""

    def __call__(self, *args: object, **options: object) -> Never:
        """Raise a TypeError that shows what to write instead."""
        raise TypeError(
            "attention is an array with the weight of each word, not a function: "
            "vectors.attention[vectors.get_index(word)]; what a model sees in a sentence tells "
            "wordvec_ca.attention_weights(model, sentence)"
        )


class _FirstRows:
    """Finds the rows of the first few words that are looked up, without a dictionary of all words."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._rows: dict[str, int] = {}
        self._left = FEW_LOOKUPS

    def find(self, word: str) -> int | None:
        """Return the row of a word, -1 if it has no row, or None if the dictionary should now be built."""
        if word not in self._rows:
            if not self._left:
                return None
            self._left -= 1
            times = self._words.count(word)
            if times > 1:
                check_unique(self._words, "vectors")
            self._rows[word] = self._words.index(word) if times else -1
        return self._rows[word]

    def keep(self, rows: Sequence[int]) -> None:
        """Remember rows found by another search."""
        if self._left and len(rows) <= KEPT_ROWS:
            self._rows.update((self._words[row], row) for row in rows)


class Lookup:
    """Vectors with a word for each row: looking up words, rows and counts.

    Parameters and attributes are those of :class:`wordvec_ca.vectors.KeyedVectors`, which adds similarity,
    files and gensim.

    Parameters
    ----------
    words : sequence of str
    vectors : array_like of shape (n_words, vector_size)
    counts : array_like of shape (n_words,), optional
    metadata : mapping, optional
    ngrams : NgramVectors, optional
    attention : callable, optional
    resamples : Resamples, optional
    oov : {'ngrams', 'refuse'}
    """

    # The file that the vectors are from, for messages.
    _model = "this model"

    def __init__(
        self,
        words: Sequence[str],
        vectors: Any,
        counts: Any = None,
        metadata: Mapping[str, Any] | None = None,
        ngrams: NgramVectors | None = None,
        attention: Callable[[], np.ndarray] | None = None,
        resamples: Resamples | None = None,
        *,
        oov: str = "ngrams",
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
        if not words_are_trained(self.metadata):
            # so that all that needs vectors of words meets the error of `__getattr__`, and none takes noise
            # for them; words, counts and the record can still be read
            del self.vectors
            self._n_columns: int = matrix.shape[1]
        if oov not in ("ngrams", "refuse"):
            raise ValueError(f"oov is {oov!r}; known are 'ngrams' and 'refuse'")
        self.ngrams, self.oov = ngrams, oov
        self._read_attention = attention
        self.resamples = resamples

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of mapped files, without attributes computed from it."""
        kept = {name: value for name, value in self.__dict__.items() if name not in DERIVED}
        return kept | ({"vectors": in_memory(self.vectors)} if "vectors" in kept else {})

    def __copy__(self) -> Self:
        """Return a shallow copy that shares all arrays; a mapped file stays mapped."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    @property
    def vector_size(self) -> int:
        """Number of columns of ``vectors``."""
        return int(self.vectors.shape[1]) if "vectors" in self.__dict__ else self._n_columns

    @property
    def attends(self) -> bool:
        """Whether these are the vectors of an attention model, with ``attention`` weights."""
        return self._read_attention is not None

    @cached_property
    def attention(self) -> np.ndarray:
        """The weight of each word in attention, shape (n_words,), float32; check `attends` first.

        The weight of an average token is 1. Computed at the first use; see
        `wordvec_ca.tables.mean_attention`.

        Raises
        ------
        NoAttentionError
            The vectors are not of an attention model. This is an ``AttributeError``, so that ``getattr`` with
            a default works.
        DataError
            The files of the attention are missing or damaged.
        """
        if self._read_attention is None:
            raise NoAttentionError(NO_ATTENTION)
        weights = self._read_attention()
        if weights.shape != (len(self),):
            raise DataError(f"attention should have a weight for each of {len(self)} words: {weights.shape}")
        return weights.view(AttentionArray)

    def resampled(self, number: int) -> Self:
        """Return a model of resampled text (``cawv train --resamples``), in the space of the vectors.

        Parameters
        ----------
        number : int
            From 0 to ``len(vectors.resamples) - 1``.

        Returns
        -------
        KeyedVectors
            The same words with the vectors of that model, stored with 8 bits a number; without n-grams.

        Raises
        ------
        DataError
            The vectors have no resampled models.
        """
        if self.resamples is None:
            raise DataError("these vectors have no resampled models: cawv train --resamples makes them")
        vectors = self.resamples.vectors(number)
        model = type(self)(self.index_to_key, vectors, self.counts, {**self.metadata, "resampled": number})
        if "key_to_index" in self.__dict__:
            model.__dict__["key_to_index"] = self.key_to_index
        return model

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """Row of each word."""
        index = dict(zip(self.index_to_key, range(len(self.index_to_key)), strict=True))
        if len(index) != len(self.index_to_key):
            check_unique(self.index_to_key, "vectors")
        return index

    @cached_property
    def _first_rows(self) -> _FirstRows | None:
        """Finder of rows without a dictionary, if there are too many words to build one for a few lookups."""
        return _FirstRows(self.index_to_key) if len(self.index_to_key) > MANY_WORDS else None

    def _row_of(self, word: str) -> int:
        """Return the row of a word with exactly this spelling, or -1."""
        if "key_to_index" not in self.__dict__ and self._first_rows is not None:
            row = self._first_rows.find(word)
            if row is not None:
                return row
        return self.key_to_index.get(word, -1)

    def _keep_rows(self, rows: Sequence[int]) -> None:
        """Remember the rows of returned words, since callers often look up their counts next."""
        if "key_to_index" not in self.__dict__ and self._first_rows is not None:
            self._first_rows.keep(rows)

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, key: object) -> bool:
        return self._row(key) >= 0 or self._composed(key) is not None

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> np.ndarray:
        """Return the vector of one word or row, or the matrix of several (shape (k, vector_size))."""
        if isinstance(key_or_keys, (str, int, np.integer)):
            return self.get_vector(key_or_keys)
        if not isinstance(key_or_keys, Iterable) or isinstance(key_or_keys, bytes):
            raise TypeError(f"{key_or_keys!r:.60} is neither a word nor a row, nor several of them")
        keys = list(key_or_keys)
        rows = [self._row(key) for key in keys]
        if min(rows, default=0) >= 0:
            return self.vectors[rows]
        return np.stack([self.get_vector(key) for key in keys])

    def _row(self, key: object) -> int:
        """Return the row of a word or row number, or -1."""
        if isinstance(key, str):
            # an unknown word may have a row in the other normal form of Unicode
            return next((row for form in _forms(key) if (row := self._row_of(form)) >= 0), -1)
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
            return int(key)
        return -1

    def _composed(self, key: object) -> np.ndarray | None:
        """Return the vector of an unknown word from its n-grams, or None."""
        if self.ngrams is None or self.oov == "refuse" or not isinstance(key, str):
            return None
        return self.ngrams.vector(key)

    def get_index(self, key: Key, default: int | None = None) -> int:
        """Return the row of a word; a row number is returned unchanged.

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
            error = UnknownWordError(f"the word {show_word(key)} has no vector among the {len(self)} words")
            error.hint = lambda: self._hint(key)
            raise error
        raise UnknownWordError(
            f"there is no row {key!r}; rows go from 0 to {len(self) - 1}, other keys are words"
        )

    def _hint(self, word: str) -> str:
        """Return a hint for the message about an unknown word."""
        form = self.known_form(word)
        if form is not None:
            return f", but {show_word(form)} has: look that up"
        close = self.close_spellings(word)
        return f"; did you mean {', '.join(map(show_word, close))}?" if close else ""

    def get_vector(self, key: Key, norm: bool = False) -> np.ndarray:
        """Return the vector of a word, shape (vector_size,), float32; of unit length if ``norm``.

        Raises
        ------
        UnknownWordError
            The word has no vector, and none can be made of its n-grams.
        """
        row = self._row(key)
        vector = self.vectors[row] if row >= 0 else self._composed(key)
        if vector is None:
            vector = self.vectors[self.get_index(key)]
        result = unit(vector) if norm else vector.view()
        result.setflags(write=False)
        return result

    def known_form(self, word: str) -> str | None:
        """Return a word as written if it has a vector, else in lower case if that has one, else None.

        A word whose vector comes only from n-grams is lower-cased if the model was trained on lower-cased
        text.

        Evaluation sets and queries are looked up in this way, since most models are trained on lower-cased
        text. The methods of this class use a word exactly as it is written, as gensim's do.
        """
        forms = [*_forms(word), *_forms(word.lower())]
        known = next((form for form in forms if self._row_of(form) >= 0), None)
        if known is None:
            form = word.lower() if config_of(self.metadata).get("lowercase") is True else word
            known = form if form in self else None
        return known

    def get_vecattr(self, key: Key, attr: str) -> int:
        """Return an attribute of a word; the only one is ``"count"``, its frequency in the corpus.

        Raises
        ------
        KeyError
            The attribute is unknown, or these vectors have no counts.
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
        """Return up to ``n`` known words with a similar spelling; words that differ only in capitals come
        first.

        Only words that share the first letter and are of similar length, and among them the most frequent,
        are compared, so that this stays quick for a million words.
        """
        variants = [word.lower(), word.capitalize(), word.upper(), word.strip(), word.replace(" ", "_")]
        found = [
            variant for variant in dict.fromkeys(variants) if variant != word and self._row(variant) >= 0
        ]
        candidates = []
        for other in self.index_to_key:
            if not isinstance(other, str):
                continue  # for example a node of a graph, or an item of a log
            if abs(len(other) - len(word)) <= 2 and other[:1] == word[:1]:
                candidates.append(other)
                if len(candidates) == 5000:
                    break
        close = difflib.get_close_matches(word, candidates, n=n, cutoff=0.7)
        return list(dict.fromkeys(found + close))[:n]

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
            Words, row numbers, or vectors (used unchanged).
        weights : sequence of float, optional
            One weight for each key; 1 by default.
        pre_normalize, post_normalize : bool
            Whether vectors of words are scaled to unit length before averaging, and the mean afterwards.
        ignore_missing : bool
            Skip unknown words instead of raising an error.

        Returns
        -------
        ndarray of shape (vector_size,), float32
            Zero if every key was skipped.

        Raises
        ------
        ValueError
            There are no keys, or the number of weights differs.
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
            elif ignore_missing and key not in self:
                continue
            else:
                vector = self.get_vector(key, norm=pre_normalize)
            mean += factor * vector
            total += abs(factor)
        if total > 0:
            mean /= total
        return unit(mean) if post_normalize else mean.astype(np.float32)
