"""Vectors in the text and binary formats of word2vec.c, with gensim's arguments and errors."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from xopen import xopen

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, compress_by_suffix
from wordvec_ca.formats import read_binary, read_text
from wordvec_ca.gensim.models.keys import KeyTable
from wordvec_ca.tables import keep_first

logger = logging.getLogger(__name__)

Path = str | os.PathLike[str]

Table = TypeVar("Table", bound=KeyTable)


def read_word2vec_format(
    cls: type[Table],
    fname: Path,
    fvocab: Path | None = None,
    binary: bool = False,
    encoding: str = "utf8",
    unicode_errors: str = "strict",
    limit: int | None = None,
    datatype: Any = np.float32,
    no_header: bool = False,
    binary_chunk_size: int | None = None,
) -> Table:
    """Return vectors from a file; parameters and errors are those of ``KeyedVectors.load_word2vec_format``.

    ``binary_chunk_size`` is ignored.
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
    table = cls(vectors.shape[1], 0)
    table.index_to_key, table.vectors = words, vectors.astype(datatype, copy=False)
    table.key_to_index = dict(zip(words, range(len(words)), strict=True))
    table.next_index = len(words)
    if counts is None:
        found = np.arange(len(entries.words), len(entries.words) - len(words), -1)
    else:
        found = np.array([counts.get(word, 0) for word in words], np.int64)
        if missing := [word for word in words if word not in counts]:
            logger.warning("vocabulary file is incomplete: %s missing", ", ".join(map(repr, missing[:10])))
    table.expandos["count"] = found
    logger.info("loaded %s matrix of type %s from %s", table.vectors.shape, table.vectors.dtype, fname)
    return table


def write_word2vec_format(
    table: KeyTable,
    fname: Path,
    fvocab: Path | None = None,
    binary: bool = False,
    total_vec: int | None = None,
    write_header: bool = True,
    prefix: str = "",
    append: bool = False,
    sort_attr: str = "count",
) -> None:
    """Write vectors to a file; parameters are those of ``KeyedVectors.save_word2vec_format``."""
    total = len(table) if total_vec is None else total_vec
    rows = np.arange(len(table))
    if sort_attr in table.expandos:
        rows = np.argsort(-np.asarray(table.expandos[sort_attr], np.float64), kind="stable")
    elif fvocab is not None:
        raise ValueError(f"Cannot store vocabulary with '{sort_attr}' because that attribute does not exist")
    else:
        logger.warning("attribute %s not present in %s; keeping the order of its keys", sort_attr, table)
    if fvocab is not None:
        with _written(fvocab, append) as file:
            for row in rows:
                file.write(f"{prefix}{table.index_to_key[row]} {table.expandos[sort_attr][row]}\n".encode())
    with _written(fname, append) as file:
        if write_header:
            file.write(f"{total} {table.vector_size}\n".encode())
        for row in rows:
            head, vector = f"{prefix}{table.index_to_key[row]} ".encode(), table.vectors[row]
            if binary:
                file.write(head + vector.astype(np.float32).tobytes())
            else:
                file.write(head + " ".join(map(str, vector)).encode() + b"\n")


def intersect_word2vec_format(
    table: KeyTable,
    fname: Path,
    lockf: float = 0.0,
    binary: bool = False,
    encoding: str = "utf8",
    unicode_errors: str = "strict",
) -> int:
    """Take the vectors of known words from a file, and return the number of these words.

    Parameters are those of ``KeyedVectors.intersect_word2vec_format``.
    """
    file = read_word2vec_format(type(table), fname, None, binary, encoding, unicode_errors)
    if file.vector_size != table.vector_size:
        raise ValueError(f"incompatible vector size {file.vector_size} in file {os.fspath(fname)}")
    common = [word for word in file.index_to_key if word in table.key_to_index]
    taken = [table.key_to_index[word] for word in common]
    table.vectors[taken] = file[common]
    factors = np.resize(table.vectors_lockf, len(table))  # a single number would apply to all vectors
    factors[taken] = lockf
    table.vectors_lockf = factors  # type: ignore[attr-defined]  # of KeyedVectors
    table.forget_norms()
    logger.info("merged %d vectors into %s matrix from %s", len(taken), table.vectors.shape, fname)
    return len(taken)


@contextmanager
def _written(fname: Path, append: bool) -> Iterator[Any]:
    """Open a file for writing; unless it is appended to, an older file stays until all is written."""
    if append:
        with xopen(fname, "ab") as file:
            yield file
    else:
        with atomic_file(fname) as plain, compress_by_suffix(plain, fname) as packed:
            yield packed


def _read_counts(fvocab: Path, unicode_errors: str) -> dict[str, int]:
    counts = {}
    with xopen(fvocab, "rb") as file:
        for line in file:
            word, count = line.decode("utf-8", unicode_errors).split()
            counts[word] = int(count)
    return counts
