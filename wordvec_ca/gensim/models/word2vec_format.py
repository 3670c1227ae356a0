"""Vectors in the text and binary formats of word2vec.c, with gensim's arguments and errors."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, compress_by_suffix, open_by_content, write_errors
from wordvec_ca.formats import encode_words, read_binary, read_text
from wordvec_ca.gensim.models.neighbours import Evaluated
from wordvec_ca.tables import keep_first, warn_of_nonfinite

logger = logging.getLogger(__name__)

Path = str | os.PathLike[str]


class Word2VecFormat(Evaluated):
    """Keys and their vectors, written to files of word2vec.c and read from them."""

    @property
    def vectors_lockf(self) -> np.ndarray:
        """Factor of each vector's gains in training, 1 by default: shape (1,) or (n_keys,), float32."""
        return self.__dict__.setdefault("vectors_lockf", np.ones(1, np.float32))

    @vectors_lockf.setter
    def vectors_lockf(self, factors: Any) -> None:
        self.__dict__["vectors_lockf"] = factors

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

        Parameters are gensim's.

        Raises
        ------
        ValueError
            ``fvocab`` is given, but the keys do not have the attribute ``sort_attr``.
        DataError
            A key is empty or contains white space, where readers would cut it; nothing is written.
        """
        keys = self.encoded_keys(prefix)
        total = len(self) if total_vec is None else total_vec
        rows = np.arange(len(self))
        if sort_attr in self.expandos:
            rows = np.argsort(-np.asarray(self.expandos[sort_attr], np.float64), kind="stable")
        elif fvocab is not None:
            raise ValueError(
                f"Cannot store vocabulary with '{sort_attr}' because that attribute does not exist"
            )
        else:
            logger.warning("attribute %s not present in %s; keeping the order of its keys", sort_attr, self)
        if fvocab is not None:
            with _written(fvocab, append) as file:
                for row in rows:
                    file.write(b"%b %b\n" % (keys[row], str(self.expandos[sort_attr][row]).encode()))
        with _written(fname, append) as file:
            if write_header:
                file.write(f"{total} {self.vector_size}\n".encode())
            for row in rows:
                head, vector = keys[row] + b" ", self.vectors[row]
                if binary:
                    file.write(head + vector.astype(np.float32).tobytes())
                else:
                    file.write(head + " ".join(map(str, vector)).encode() + b"\n")

    def encoded_keys(self, prefix: str = "") -> list[bytes]:
        """Return the keys, with text before each, as the format stores them.

        Raises
        ------
        DataError
            The format cannot hold a key.
        """
        keys = [f"{prefix}{key}" for key in self.index_to_key]
        return encode_words(keys, "strict", "the format of word2vec", skippable=False)

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
    ) -> Self:
        """Read the format of word2vec.c, or of GloVe.

        Parameters are gensim's.

        Raises
        ------
        EOFError
            The file has fewer words than its header announces.
        UnicodeDecodeError
            A word cannot be decoded.
        """
        if binary and no_header:
            raise NotImplementedError("no_header only available for text-format files")
        counts = None if fvocab is None else _read_counts(fvocab, unicode_errors)
        read = read_binary if binary else partial(read_text, header=not no_header)
        try:
            entries = read(fname, errors=unicode_errors, encoding=encoding, max_words=limit or sys.maxsize)
        except DataError as error:
            if isinstance(error.__cause__, UnicodeDecodeError):
                raise error.__cause__ from None
            raise
        words, vectors, *_ = keep_first(entries, os.fspath(fname))
        warn_of_nonfinite(words, vectors, os.fspath(fname))
        table = cls(vectors.shape[1], 0)
        table.index_to_key, table.vectors = words, vectors.astype(datatype, copy=False)
        table.key_to_index = dict(zip(words, range(len(words)), strict=True))
        table.next_index = len(words)
        if counts is None:
            found = np.arange(len(entries.words), len(entries.words) - len(words), -1)
        else:
            found = np.array([counts.get(word, 0) for word in words], np.int64)
            if missing := [word for word in words if word not in counts]:
                logger.warning(
                    "vocabulary file is incomplete: %s missing", ", ".join(map(repr, missing[:10]))
                )
        table.expandos["count"] = found
        logger.info("loaded %s matrix of type %s from %s", table.vectors.shape, table.vectors.dtype, fname)
        return table

    def intersect_word2vec_format(
        self,
        fname: Path,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> None:
        """Take the vectors of known words from a file; words are not added.

        Parameters are gensim's.

        Raises
        ------
        ValueError
            The vectors in the file have another size.
        """
        # not self.load_word2vec_format: a subclass may have another, or other arguments of its constructor
        file = Word2VecFormat.load_word2vec_format(fname, None, binary, encoding, unicode_errors)
        if file.vector_size != self.vector_size:
            raise ValueError(f"incompatible vector size {file.vector_size} in file {os.fspath(fname)}")
        common = [word for word in file.index_to_key if word in self.key_to_index]
        taken = [self.key_to_index[word] for word in common]
        self.vectors[taken] = file[common]
        factors = np.resize(self.vectors_lockf, len(self))  # a single number would apply to all vectors
        factors[taken] = lockf
        self.vectors_lockf = factors
        self.forget_norms()
        logger.info("merged %d vectors into %s matrix from %s", len(taken), self.vectors.shape, fname)


@contextmanager
def _written(fname: Path, append: bool) -> Iterator[Any]:
    """Open a file for writing; unless it is appended to, an older file stays until all is written."""
    with (
        write_errors(fname),
        open(fname, "ab") if append else atomic_file(fname) as plain,
        compress_by_suffix(plain, fname) as packed,
    ):
        yield packed


def _read_counts(fvocab: Path, unicode_errors: str) -> dict[str, int]:
    counts = {}
    with open_by_content(fvocab) as file:
        for line in file:
            word, count = line.decode("utf-8", unicode_errors).split()
            counts[word] = int(count)
    return counts
