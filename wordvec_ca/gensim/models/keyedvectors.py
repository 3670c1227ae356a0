"""``KeyedVectors``: words, or other keys, and their vectors, with gensim's names, arguments and results."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from wordvec_ca.gensim.models import stored
from wordvec_ca.gensim.models.keys import CompatVocab, Vocab, random_vectors, seeded_vector
from wordvec_ca.gensim.models.word2vec_format import Word2VecFormat
from wordvec_ca.vectors import KeyedVectors as LightVectors

__all__ = [
    "REAL",
    "CompatVocab",
    "Doc2VecKeyedVectors",
    "EuclideanKeyedVectors",
    "KeyedVectors",
    "Vocab",
    "Word2VecKeyedVectors",
    "load_word2vec_format",
    "prep_vectors",
    "pseudorandom_weak_vector",
]

Path = str | os.PathLike[str]

REAL = np.float32


class KeyedVectors(Word2VecFormat):
    """Keys and their vectors; see ``KeyTable`` for parameters and attributes.

    It differs from gensim's in two ways: a vector of length zero has cosine 0 with all, without warnings of
    division, and ``most_similar`` uses vectors that are set (``kv[key] = vector``) at once.
    """

    def like_this(self) -> KeyedVectors:
        """Return vectors of the same kind without keys."""
        return KeyedVectors(self.vector_size)

    def vectors_for_all(
        self, keys: Iterable[Any], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> KeyedVectors:
        """Return the vectors of some keys; unknown ones that have no n-grams are left out."""
        known: Any = self if allow_inference else self.key_to_index
        chosen = [key for key in dict.fromkeys(keys) if key in known]
        rows = np.array([self.get_index(key, -1) for key in chosen], np.int64)
        has_row = rows >= 0

        def of_rows(values: np.ndarray) -> np.ndarray:
            found = np.zeros((len(chosen), *values.shape[1:]), values.dtype)
            found[has_row] = values[rows[has_row]]
            return found

        made = KeyedVectors(self.vector_size, dtype=self.vectors.dtype)
        made.index_to_key, made.key_to_index = chosen, {key: row for row, key in enumerate(chosen)}
        made.vectors, made.next_index = of_rows(self.vectors), len(chosen)
        for place in np.flatnonzero(~has_row).tolist():  # FastText makes these of n-grams
            made.vectors[place] = self.get_vector(chosen[place])
        if copy_vecattrs:
            made.expandos = {name: of_rows(values) for name, values in self.expandos.items()}
        else:
            made.expandos = {"count": np.arange(len(chosen), 0, -1)}
        return made

    # ---- files --------------------------------------------------------------------------------------------

    def save(self, fname_or_handle: Any, **_: Any) -> None:  # type: ignore[override]  # as gensim's
        """Write the vectors to one file that ``load`` memory-maps; no pickle.

        ``cawv`` and the library safetensors read it too. ``save_for_gensim`` writes a file that gensim loads.

        Raises
        ------
        DataError
            A key is neither str nor int.
        """
        stored.save(self, fname_or_handle)

    @classmethod
    def load(cls, fname: Path, mmap: str | None = None) -> Any:  # type: ignore[override]  # as gensim's
        """Read what ``save`` wrote, a ``.kv`` of gensim 1 to 4, or any other vectors that cawv reads.

        FastText's vectors come back as ``FastTextKeyedVectors``, with their n-grams.

        Raises
        ------
        DataError
            The file is damaged, or a pickle that names anything but vectors (no pickle is run).
        FileNotFoundError
            There is no such file.
        """
        kind, state = stored.load(fname, mmap)
        vectors = state["wv"] if kind == "Word2Vec" else state
        return stored.vectors_from(cls.kind_of(vectors), vectors)

    @classmethod
    def kind_of(cls, state: dict[str, Any]) -> type[KeyedVectors]:
        """Return the class that stored these attributes: a subclass, if they identify one, or this class."""
        return next((kind for kind in cls.__subclasses__() if kind.stored_it(state)), cls)

    @classmethod
    def stored_it(cls, state: dict[str, Any]) -> bool:
        """Return whether attributes identify this subclass."""
        return False

    def save_for_gensim(self, fname: Path) -> None:
        """Write a file that ``gensim.models.KeyedVectors.load`` reads; needs gensim.

        Raises
        ------
        ImportError
            gensim is not installed.
        """
        LightVectors([str(key) for key in self.index_to_key], self.vectors, self.expandos.get("count")).save(
            fname, format="gensim"
        )


Word2VecKeyedVectors = KeyedVectors
Doc2VecKeyedVectors = KeyedVectors
EuclideanKeyedVectors = KeyedVectors

load_word2vec_format = KeyedVectors.load_word2vec_format
pseudorandom_weak_vector = seeded_vector
prep_vectors = random_vectors


def _load_word2vec_format(
    cls: type[KeyedVectors], *arguments: Any, binary_chunk_size: int | None = None, **options: Any
) -> KeyedVectors:
    """Return vectors from a file, for programs that call this function of gensim's."""
    # The last of gensim's nine parameters, ``binary_chunk_size``, is ignored.
    # not cls.load_word2vec_format: that of a subclass may call this function, as in gensim
    read = KeyedVectors.load_word2vec_format.__func__  # type: ignore[attr-defined]
    table: KeyedVectors = read(cls, *arguments[:8], **options)
    return table
