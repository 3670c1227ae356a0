"""Reads and writes a NumPy array and a file of its words, for faiss, hnswlib and other programs."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import check_files, map_npy, replacing_files, save_npy
from wordvec_ca.formats.text import encode_words
from wordvec_ca.tables import VectorTable


def read_numpy(path: str | os.PathLike[str], *, errors: str = "strict") -> VectorTable:
    """Map ``v.npy``, and read the word of each row from ``v.words.txt``."""
    beside = words_beside(Path(path))
    if not beside.is_file():
        raise DataError(
            f"{path} is a bare NumPy array without words: put them beside it in {beside.name}, one a line in "
            "the order of the rows, or give the model directory or .kv file it belongs to"
        )
    vectors = map_npy(Path(path))
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise DataError(
            f"{path} holds {vectors.dtype} of shape {vectors.shape}; expected floats of shape "
            "(n_words, vector_size)"
        )
    try:
        content = beside.read_bytes().removeprefix(BOM_UTF8)
        lines = content.removesuffix(b"\n").split(b"\n") if content else []
        words = [line.removesuffix(b"\r").decode("utf-8", errors) for line in lines]
    except UnicodeDecodeError as error:
        raise DataError(f"{beside} is not UTF-8: {error}") from error
    except OSError as error:
        raise DataError(f"{beside} cannot be read: {error.strerror or error}") from error
    if len(words) != len(vectors):
        raise DataError(
            f"{beside} has {len(words):,} lines, but {path} has {len(vectors):,} rows; each needs a word"
        )
    if "" in words:
        raise DataError(f"{beside}, line {words.index('') + 1} is empty; each row needs a word")
    return VectorTable(words, vectors.astype(np.float32, copy=False), None, {})


def words_beside(path: Path) -> Path:
    """Return the path of the file with the words of an array."""
    return path.with_name(f"{path.stem}.words.txt")


def write_numpy(
    table: VectorTable, path: str | os.PathLike[str], *, errors: str = "strict", overwrite: bool = True
) -> None:
    """Write ``v.npy`` (float32) and ``v.words.txt`` (a line with the word of each row)."""
    target = Path(path)
    words = words_beside(target)
    lines = b"".join(word + b"\n" for word in encode_words(table.words, errors, "NumPy's array"))
    if lines.startswith(BOM_UTF8):  # readers remove one byte order mark, so add another
        lines = BOM_UTF8 + lines
    check_files(target, words, overwrite=overwrite)
    with replacing_files(target.parent, last=target.name) as made:
        save_npy(made / target.name, table.vectors, np.float32)
        (made / words.name).write_bytes(lines)
