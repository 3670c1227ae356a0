"""Vectors in the text and binary formats of word2vec.c, with gensim's arguments and errors."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeVar, cast

import numpy as np
from xopen import xopen

from wordvec_ca.files import atomic_file, compress_by_suffix
from wordvec_ca.gensim.models.keys import KeyTable

logger = logging.getLogger(__name__)

Path = str | os.PathLike[str]

Table = TypeVar("Table", bound=KeyTable)

CHUNK_BYTES = 1 << 20
"""Bytes of a binary file that are read at a time."""


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
    binary_chunk_size: int = CHUNK_BYTES,
) -> Table:
    """Return vectors from a file; parameters and errors are those of ``KeyedVectors.load_word2vec_format``.

    ``binary_chunk_size`` is how many bytes of a binary file are read at a time.
    """
    counts = None if fvocab is None else _read_counts(fvocab, unicode_errors)
    with _opened(fname) as file:
        if no_header:
            if binary:
                raise NotImplementedError("no_header only available for text-format files")
            entries = list(_text_rows(file, limit, encoding, unicode_errors))
            n_words, vector_size = len(entries), len(entries[0][1]) if entries else 0
            rows: Iterator[tuple[str, np.ndarray]] = iter(entries)
        else:
            n_words, vector_size = (int(number) for number in file.readline().decode(encoding).split())
            n_words = min(n_words, limit) if limit else n_words
            if binary:
                rows = _binary_rows(file, n_words, vector_size, encoding, unicode_errors, binary_chunk_size)
            else:
                rows = _text_rows(file, n_words, encoding, unicode_errors)
        table = cls(vector_size, 0, dtype=datatype)
        vectors = np.empty((n_words, vector_size), datatype)
        found: list[int | None] = []
        n_read = 0
        for word, row in rows:
            n_read += 1
            if word in table.key_to_index:
                logger.warning("duplicate word '%s' in word2vec file, ignoring all but first", word)
                continue
            if len(row) != vector_size:
                raise ValueError(
                    f"invalid vector of {word!r} in {fname}: {len(row)} numbers, {vector_size} expected"
                )
            vectors[len(table.index_to_key)] = row
            table.key_to_index[word] = len(table.index_to_key)
            table.index_to_key.append(word)
            found.append(n_words - len(found) if counts is None else counts.get(word))
        if n_read < n_words:
            raise EOFError("unexpected end of input; is count incorrect or file otherwise damaged?")
    missing = [word for word, count in zip(table.index_to_key, found, strict=True) if count is None]
    if missing:
        logger.warning("vocabulary file is incomplete: %s missing", ", ".join(map(repr, missing[:10])))
    table.vectors = vectors[: len(found)]
    table.next_index = len(found)
    table.expandos["count"] = np.array([count or 0 for count in found], np.int64)
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
    """Take the vectors of a file for the words that are there already, and return for how many.

    Parameters are those of ``KeyedVectors.intersect_word2vec_format``.
    """
    taken: list[int] = []
    with _opened(fname) as file:
        n_words, vector_size = (int(number) for number in file.readline().decode(encoding).split())
        if vector_size != table.vector_size:
            raise ValueError(f"incompatible vector size {vector_size} in file {os.fspath(fname)}")
        if binary:
            rows = _binary_rows(file, n_words, vector_size, encoding, unicode_errors, CHUNK_BYTES)
        else:
            rows = _text_rows(file, n_words, encoding, unicode_errors)
        for word, vector in rows:
            if len(vector) != vector_size:
                raise ValueError(f"invalid vector of {word!r} (is this really the text format?)")
            if word in table.key_to_index:
                row = table.key_to_index[word]
                table.vectors[row] = vector
                taken.append(row)
    factors = np.resize(table.vectors_lockf, len(table))  # one number for all would stop all of them
    factors[taken] = lockf
    table.vectors_lockf = factors  # type: ignore[attr-defined]  # of KeyedVectors
    table.norms = None
    logger.info("merged %d vectors into %s matrix from %s", len(taken), table.vectors.shape, fname)
    return len(taken)


@contextmanager
def _written(fname: Path, append: bool) -> Iterator[Any]:
    """Open a file to write to; unless it is added to, an older one stays until all is written."""
    if append:
        with xopen(fname, "ab") as file:
            yield file
    else:
        with atomic_file(fname) as plain, compress_by_suffix(plain, fname) as packed:
            yield packed


def _opened(fname: Path) -> IO[bytes]:
    return cast(IO[bytes], xopen(fname, "rb"))


def _read_counts(fvocab: Path, unicode_errors: str) -> dict[str, int]:
    counts = {}
    with _opened(fvocab) as file:
        for line in file:
            word, count = line.decode("utf-8", unicode_errors).split()
            counts[word] = int(count)
    return counts


def _text_rows(
    file: IO[bytes], limit: int | None, encoding: str, unicode_errors: str
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the words and vectors of up to ``limit`` lines."""
    for number, line in enumerate(file):
        if limit is not None and number == limit:
            return
        word, _, numbers = line.rstrip().partition(b" ")
        yield word.decode(encoding, unicode_errors), np.array(numbers.split(), np.float64)


def _binary_rows(
    file: IO[bytes], n_words: int, vector_size: int, encoding: str, unicode_errors: str, chunk_bytes: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the words and vectors of a binary file, behind its header."""
    rest, at, row_bytes = b"", 0, 4 * vector_size
    for _ in range(n_words):
        while (space := rest.find(b" ", at)) < 0 or len(rest) - space - 1 < row_bytes:
            more = file.read(chunk_bytes)
            if not more:
                return
            rest, at = rest[at:] + more, 0
        word = rest[at:space].decode(encoding, unicode_errors).lstrip("\n")
        at = space + 1 + row_bytes
        yield word, np.frombuffer(rest, "<f4", vector_size, space + 1)
