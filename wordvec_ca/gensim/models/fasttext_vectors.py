"""``FastTextKeyedVectors``: vectors of words made of n-grams, with gensim's names, arguments and results."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.gensim.models import stored
from wordvec_ca.gensim.models.keyedvectors import KeyedVectors, Path
from wordvec_ca.gensim.models.keys import random_vectors
from wordvec_ca.gensim.models.stored import package_of
from wordvec_ca.tables import NgramIndex, NgramVectors

logger = logging.getLogger("gensim.models.fasttext")


class FastTextKeyedVectors(KeyedVectors):
    """Keys, their vectors, and vectors for any other string, made of its n-grams.

    The vector of a key is the mean of its row of ``vectors_vocab`` and the rows of ``vectors_ngrams`` that
    its n-grams have (Bojanowski et al. 2017); any other string has the mean of its n-grams' rows. As in
    fastText, and unlike in gensim, ``</s>`` has no n-grams.

    Parameters
    ----------
    vector_size : int
        Dimensions of a vector.
    min_n, max_n : int
        Characters of an n-gram, with the marks ``<`` and ``>``.
    bucket : int
        Rows of n-grams; 0 for words alone.
    count : int, default 0
        Rows to make room for; ``add_vector`` fills them.
    dtype : numpy dtype, default float32
        Type of the vectors.

    Attributes
    ----------
    vectors : ndarray of shape (n_keys, vector_size)
        Computed from the two others; after a change of these, ``adjust_vectors`` computes it again.
    vectors_vocab : ndarray of shape (n_keys, vector_size)
    vectors_ngrams : ndarray of shape (bucket, vector_size), or object that returns a row by its number
    vectors_vocab_lockf, vectors_ngrams_lockf : ndarray of shape (1,) or (n_keys,), (bucket,)
        Share of its gain that a row keeps at the end of each epoch.
    """

    def __init__(
        self,
        vector_size: int,
        min_n: int = 3,
        max_n: int = 6,
        bucket: int = 2_000_000,
        count: int = 0,
        dtype: Any = np.float32,
    ) -> None:
        super().__init__(vector_size, count=count, dtype=dtype)
        self.min_n, self.max_n, self.bucket = int(min_n), int(max_n), int(bucket)
        if not 0 <= self.bucket < 2**31:
            raise ValueError(f"bucket is {bucket}; it must be from 0 to {2**31 - 1}")
        self.vectors_vocab: np.ndarray = np.zeros((count, self.vector_size), dtype)
        self.vectors_ngrams: np.ndarray = np.zeros((0, self.vector_size), dtype)
        self.vectors_vocab_lockf = np.ones(1, np.float32)
        self.vectors_ngrams_lockf = np.ones(1, np.float32)
        self.compatible_hash = True

    def like_this(self) -> FastTextKeyedVectors:
        """Return vectors of the same kind without keys."""
        return type(self)(self.vector_size, self.min_n, self.max_n, self.bucket)

    # ---- look-up ------------------------------------------------------------------------------------------

    def _composed(self, key: Any) -> np.ndarray | None:
        """Return the vector of a string from its n-grams; zeros if it is too short for any."""
        if not (self.bucket and isinstance(key, str)):
            return None
        if isinstance(self.vectors_ngrams, np.ndarray):
            vector = self._ngrams.vector(key)
        else:  # of compress-fasttext and the like, which return one row at a time
            rows = [self.vectors_ngrams[i] for i in self._ngrams.index.rows_of([key])[1].tolist()]
            vector = np.mean(rows, axis=0, dtype=np.float32) if rows else None
        if vector is None:
            logger.warning("could not extract any ngrams from %r, returning origin vector", key)
            return np.zeros(self.vector_size, np.float32)
        return vector

    @property
    def _ngrams(self) -> NgramVectors:
        return NgramVectors(
            NgramIndex(max(self.min_n, 1), self.max_n, self.bucket, None, 0), self.vectors_ngrams
        )

    def get_sentence_vector(self, sentence: Sequence[Any]) -> np.ndarray:
        """Return the mean of the vectors of words, scaled to length 1; see ``get_mean_vector``."""
        return self.get_mean_vector(sentence)

    # ---- rows ---------------------------------------------------------------------------------------------

    def resize_vectors(self, seed: int = 0) -> None:
        """Give rows with random numbers, the same as gensim's, to buckets and to keys that have none yet."""
        if not len(self.vectors):  # no row is kept
            self.vectors_vocab, self.vectors_ngrams = self.vectors_vocab[:0], self.vectors_ngrams[:0]
        for name, n_rows, own_seed in (
            ("vectors_vocab", len(self.index_to_key), seed),
            ("vectors_ngrams", self.bucket, seed + 1),
        ):
            former = getattr(self, name)
            if former.shape != (n_rows, self.vector_size):
                setattr(self, name, random_vectors((n_rows, self.vector_size), former, own_seed))
        self.next_index = len(self.index_to_key)
        self.allocate_vecattrs()
        self.adjust_vectors()

    def adjust_vectors(self) -> None:
        """Compute ``vectors`` again from the rows of words and n-grams."""
        if self.bucket:
            self.vectors = self._ngrams.vectors_of(self.spelled(), self.vectors_vocab)
        else:
            self.vectors = self.vectors_vocab
        self.forget_norms()

    def spelled(self) -> list[str]:
        """Return the strings from which n-grams are taken: the keys, with others than str as ``str(key)``."""
        return list(map(str, self.index_to_key))

    def recalc_char_ngram_buckets(self) -> None:
        """Do nothing: n-grams are computed when they are needed."""

    @property
    def buckets_word(self) -> list[np.ndarray]:
        """The buckets of each key's n-grams: arrays of uint32."""
        if not self.bucket:
            return [np.zeros(0, np.uint32)] * len(self)
        offsets, buckets = self._ngrams.index.rows_of(self.spelled())
        return np.split(buckets.astype(np.uint32), offsets[1:-1])

    # ---- files --------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, fname: Path, mmap: str | None = None) -> Any:  # type: ignore[override]  # as gensim's
        """Read what ``save`` wrote, or a file of gensim 3.8 to 4; see ``KeyedVectors.load``.

        Raises
        ------
        TypeError
            The vectors have no n-grams.
        """
        _, state = stored.load(fname, mmap, package_of(cls))
        return stored.vectors_from(cls, state.get("wv", state))

    def save_for_gensim(self, fname: Path) -> None:
        """Write a file that gensim's class of this name reads, with the n-grams; needs gensim.

        Raises
        ------
        ImportError
            gensim is not installed.
        DataError
            The folder does not exist, or the program has put the drop-in in the place of gensim.
        """
        stored.save_for_gensim(self, fname)

    @classmethod
    def stored_it(cls, state: dict[str, Any]) -> bool:
        """Return whether stored attributes include rows of n-grams."""
        return bool(state.get("compatible_hash")) and state.get("vectors_ngrams") is not None

    @classmethod
    def completed(cls, state: dict[str, Any]) -> dict[str, Any]:
        """Return attributes of stored vectors with all rows of buckets and the vectors of words.

        Files of gensim have no vectors of words; those of gensim 3 have only the rows of buckets in use.

        Raises
        ------
        TypeError
            Rows of n-grams are missing.
        DataError
            The rows do not fit together.
        """
        state = dict(state)
        if "vectors_vocab" not in state or "min_n" not in state:
            raise TypeError("these vectors were not stored by FastText: read them with KeyedVectors.load")
        if state.get("compatible_hash", True) is False:
            raise TypeError(
                "this model of gensim before 3.8 hashes n-grams as fastText does not: its vectors of n-grams "
                "cannot be used; read the vectors of words with KeyedVectors.load"
            )
        if state["vectors_vocab"] is None and state.get("vectors") is not None:
            return state  # pruned by compress-fasttext, which stores the vectors of words
        own, ngrams = state["vectors_vocab"], state.get("vectors_ngrams")
        size, bucket = int(own.shape[1]), int(state.get("bucket", 0))
        ngrams = np.zeros((0, size), np.float32) if ngrams is None else ngrams
        places = state.pop("hash2index", None)
        if isinstance(places, dict) and len(ngrams) != bucket:
            rows = _rows_of_all_buckets(bucket, size, len(ngrams))
            rows[list(places)] = ngrams[list(places.values())]
            ngrams = rows
        if ngrams.shape != (bucket, size):
            raise DataError(
                f"there are rows of shape {ngrams.shape} for {bucket} buckets of {size} dimensions"
            )
        state["vectors_ngrams"] = ngrams
        for name in ("vectors_vocab_lockf", "vectors_ngrams_lockf"):
            if np.ndim(state.get(name, 0)) != 1:
                state[name] = np.ones(1, np.float32)
        keys = state.get("index_to_key", state.get("index2word"))
        if isinstance(keys, list) and len(keys) == len(own) and state.get("vectors") is None:
            index = NgramIndex(max(int(state["min_n"]), 1), int(state["max_n"]), bucket, None, 0)
            state["vectors"] = (
                NgramVectors(index, ngrams).vectors_of(list(map(str, keys)), own) if bucket else own
            )
        derived = {"buckets_word", "num_ngram_vectors", "vectors_vocab_norm", "vectors_ngrams_norm"}
        return {name: value for name, value in state.items() if name not in derived}


# Default number of buckets of a model.
USUAL_BUCKETS = 2_000_000

# Largest number of buckets for each row in use, in models with more than ``USUAL_BUCKETS``.
BUCKETS_OF_A_ROW = 1_000

# Above this size, rows not in use are zeros, which take no memory until they change, and not random.
MOST_RANDOM_BYTES = 1 << 28


def _rows_of_all_buckets(bucket: int, size: int, n_rows: int) -> np.ndarray:
    """Return rows for all buckets from a file that holds only those in use."""
    if not 0 <= bucket <= max(USUAL_BUCKETS, BUCKETS_OF_A_ROW * n_rows):
        raise DataError(
            f"the file has {n_rows:,} rows of n-grams for {bucket:,} buckets: the bucket count does not fit "
            "the file, which is damaged"
        )
    if 4 * bucket * size > MOST_RANDOM_BYTES and 2 * n_rows < bucket:
        return np.zeros((bucket, size), np.float32)
    return random_vectors((bucket, size), seed=1)
