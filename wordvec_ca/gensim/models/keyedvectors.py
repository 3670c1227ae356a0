"""``KeyedVectors``: words, or other keys, and their vectors, with gensim's names, arguments and results."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from wordvec_ca.gensim.models import stored
from wordvec_ca.gensim.models.evaluation import Evaluated
from wordvec_ca.gensim.models.keys import random_vectors, seeded_vector
from wordvec_ca.gensim.models.lifecycle import CompatVocab, Vocab
from wordvec_ca.gensim.models.word2vec_format import (
    intersect_word2vec_format,
    read_word2vec_format,
    write_word2vec_format,
)
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


class KeyedVectors(Evaluated):
    """Keys and their vectors; see ``KeyTable`` for parameters and attributes.

    It differs from gensim's in two ways: a vector of length zero has cosine 0 with all, without warnings of
    division, and ``most_similar`` uses vectors that are set (``kv[key] = vector``) at once.
    """

    @property
    def vectors_lockf(self) -> np.ndarray:
        """Factor of each vector's gains in training, 1 by default: shape (1,) or (n_keys,), float32."""
        return self.__dict__.setdefault("vectors_lockf", np.ones(1, np.float32))

    @vectors_lockf.setter
    def vectors_lockf(self, factors: Any) -> None:
        self.__dict__["vectors_lockf"] = factors

    def like_this(self) -> KeyedVectors:
        """Return vectors of the same kind without keys."""
        return KeyedVectors(self.vector_size)

    def vectors_for_all(
        self, keys: Iterable[Any], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> KeyedVectors:
        """Return the vectors of some keys; unknown keys are left out.

        Parameters
        ----------
        keys : iterable of keys
        allow_inference : bool, default True
            Take int keys for rows.
        copy_vecattrs : bool, default False
            Copy the attributes of the keys too.
        """
        known: Any = self if allow_inference else self.key_to_index
        chosen = [key for key in dict.fromkeys(keys) if key in known]
        rows = [self.get_index(key) for key in chosen]
        made = KeyedVectors(self.vector_size, dtype=self.vectors.dtype)
        made.index_to_key, made.key_to_index = chosen, {key: row for row, key in enumerate(chosen)}
        made.vectors, made.next_index = self.vectors[rows], len(chosen)
        if copy_vecattrs:
            made.expandos = {name: values[rows] for name, values in self.expandos.items()}
        else:
            made.expandos = {"count": np.arange(len(chosen), 0, -1)}
        return made

    # ---- files --------------------------------------------------------------------------------------------

    def save(self, fname_or_handle: Any, **_: Any) -> None:  # type: ignore[override]  # as gensim's
        """Write the vectors to one file that ``load`` memory-maps; no pickle.

        ``cawv`` and the library safetensors read it too. ``save_for_gensim`` writes a file that gensim loads.

        Parameters
        ----------
        fname_or_handle : path or binary file
        **_ : object
            gensim's ``separately``, ``sep_limit``, ``ignore``, ``pickle_protocol``: ignored, since arrays
            need no files of their own and there is no pickle.

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

        Parameters
        ----------
        fname : path
        mmap : {None, "r"}
            "r" maps arrays from the file: they are read when they are used, and cannot be changed.

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

    def save_word2vec_format(  # type: ignore[override]  # as gensim's
        self,
        fname: Path,
        fvocab: Path | None = None,
        binary: bool = False,
        total_vec: int | None = None,
        write_header: bool = True,
        prefix: str = "",
        append: bool = False,
        sort_attr: str = "count",
    ) -> None:
        """Write the format of word2vec.c.

        Parameters
        ----------
        fname : path
            Compressed if it ends in .gz, .bz2, .xz or .zst.
        fvocab : path, optional
            File to which lines of word and count are written too.
        binary : bool, default False
        total_vec : int, optional
            The number of words in the header; by default the number of keys.
        write_header : bool, default True
        prefix : str
            Text before each key.
        append : bool, default False
            Whether to append to the file.
        sort_attr : str, default "count"
            Attribute by which keys are sorted, the highest first.

        Raises
        ------
        ValueError
            ``fvocab`` is given, but the keys do not have the attribute ``sort_attr``.
        """
        write_word2vec_format(self, fname, fvocab, binary, total_vec, write_header, prefix, append, sort_attr)

    @classmethod
    def load_word2vec_format(
        cls,
        fname: Path,
        fvocab: Path | None = None,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
        limit: int | None = None,
        datatype: Any = np.float32,
        no_header: bool = False,
    ) -> KeyedVectors:
        """Read the format of word2vec.c, or of GloVe.

        Parameters
        ----------
        fname : path
            May be compressed.
        fvocab : path, optional
            File with lines of word and count; without it, counts fall from the number of words to 1.
        binary : bool, default False
        encoding, unicode_errors : str
            How words are decoded.
        limit : int, optional
            Read only this number of first words.
        datatype : numpy dtype, default float32
            Type of the vectors.
        no_header : bool, default False
            Whether the text file lacks a header, as GloVe's files do.

        Raises
        ------
        EOFError
            The file has fewer words than its header announces.
        UnicodeDecodeError
            A word cannot be decoded.
        """
        return read_word2vec_format(
            cls, fname, fvocab, binary, encoding, unicode_errors, limit, datatype, no_header
        )

    def intersect_word2vec_format(
        self,
        fname: Path,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> None:
        """Take the vectors of known words from a file; words are not added.

        Parameters
        ----------
        fname : path
        lockf : float, default 0
            Factor of these vectors' gains in later training: 0 keeps them fixed, 1 trains them as others.
            Afterwards ``vectors_lockf`` has one number for each key.
        binary : bool, default False
        encoding, unicode_errors : str
            How words are decoded.

        Raises
        ------
        ValueError
            The vectors in the file have another size.
        """
        intersect_word2vec_format(self, fname, lockf, binary, encoding, unicode_errors)


Word2VecKeyedVectors = KeyedVectors
Doc2VecKeyedVectors = KeyedVectors
EuclideanKeyedVectors = KeyedVectors

load_word2vec_format = KeyedVectors.load_word2vec_format
pseudorandom_weak_vector = seeded_vector
prep_vectors = random_vectors
_load_word2vec_format = read_word2vec_format
