r"""Vectors in a safetensors file: no pickle, and memory-mapped when read.

::

    u64 length of the header, little endian
    header: JSON {tensor: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {str: str}}
    counts   I64 (n_words,)                 if known
    vectors  F32 (n_words, vector_size)
    words    U8  (n_bytes,)                 UTF-8, a newline after each word, \\ \t \n \r escaped

Words live in a tensor because readers limit the size of the header. Lone surrogates are encoded as if they
were characters (``surrogatepass``), so every Python string survives. Written by hand, block by block: the
library would hold a second copy of all vectors in memory, in writing and in reading.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from wordvec_ca.atomic_file import atomic_file
from wordvec_ca.errors import DataError
from wordvec_ca.escaped_word import escape_lines, unescape_lines
from wordvec_ca.vector_table import VectorTable, row_blocks

_LARGEST_HEADER = 100_000_000  # the limit of the safetensors library
_LARGEST_RECORD = 10_000_000
_DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1"}


def read_safetensors(path: str | os.PathLike[str]) -> VectorTable:
    """Read vectors, words and counts; float32 vectors are memory-mapped.

    Raises
    ------
    DataError
        The file is damaged or cut off, or has no tensors ``vectors`` (or ``embeddings``) and ``words``.
    """
    header, start = _read_header(path)
    record = header.pop("__metadata__", {})
    tensors = {name: _map_tensor(path, start, name, entry) for name, entry in header.items()}
    vectors = tensors.get("vectors", tensors.get("embeddings"))
    if vectors is None or "words" not in tensors:
        raise DataError(
            f"{path}: needs the tensors 'vectors' (n_words, vector_size) and 'words' (UTF-8, a newline after "
            f"each), but has {', '.join(map(repr, tensors)) or 'none'}; files of other programs that keep "
            "their words elsewhere have to be converted first"
        )
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or tensors["words"].dtype != np.uint8:
        raise DataError(
            f"{path}: 'vectors' should be a matrix of floats and 'words' of bytes, but they are "
            f"{vectors.dtype} {vectors.shape} and {tensors['words'].dtype} {tensors['words'].shape}"
        )
    try:
        words = unescape_lines(tensors["words"].tobytes().decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise DataError(f"{path}: the tensor 'words' is damaged: {error}") from error
    counts = tensors.get("counts")
    if len(words) != len(vectors) or (counts is not None and counts.shape != (len(words),)):
        raise DataError(
            f"{path}: {len(words)} words, {len(vectors)} vectors and "
            f"{'no' if counts is None else counts.shape} counts do not fit together"
        )
    if vectors.dtype != np.dtype(np.float32):
        vectors = vectors.astype(np.float32)
    metadata: dict[str, Any] = {}
    if isinstance(record, dict) and "config" in record:
        try:
            loaded = json.loads(record["config"])
            metadata = loaded if isinstance(loaded, dict) else {}
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}: the metadata entry 'config' is not JSON: {error}") from error
    return VectorTable(words, vectors, None if counts is None else counts.astype(np.int64), metadata)


def _read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the header and the position of the first tensor."""
    size = os.path.getsize(path)
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _LARGEST_HEADER):
            raise DataError(
                f"{path}: the header should take {length} bytes, but the file has {size} (and the limit is "
                f"{_LARGEST_HEADER}); not a safetensors file, or cut off"
            )
        try:
            header = json.loads(stream.read(length))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: the safetensors header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise DataError(f"{path}: the safetensors header should be a JSON object")
    return header, 8 + length


def _map_tensor(path: str | os.PathLike[str], start: int, name: str, entry: Any) -> np.ndarray:
    """Memory-map one tensor after checking that it lies within the file."""
    try:
        kind, shape = entry["dtype"], tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        whole = len(shape) <= 8 and all(type(n) is int and 0 <= n < 2**60 for n in (*shape, begin, end))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: the header entry of tensor {name!r} is malformed") from error
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise DataError(f"{path}: tensor {name!r} is of type {kind!r:.60}; known are {', '.join(_DTYPES)}")
    dtype = np.dtype(_DTYPES[kind])
    n_items = 1
    for side in shape if whole else ():
        n_items *= side
    if not whole or end - begin != n_items * dtype.itemsize or start + end > os.path.getsize(path):
        raise DataError(
            f"{path}: tensor {name!r} of type {kind} and shape {shape} does not fit its bytes {begin} to "
            f"{end}, or the file is cut off"
        )
    if n_items == 0:  # nothing to map
        try:
            return np.zeros(shape, dtype=dtype)
        except ValueError as error:  # sides beyond all arrays
            raise DataError(f"{path}: tensor {name!r} has the impossible shape {shape}") from error
    return np.memmap(path, dtype=dtype, mode="r", offset=start + begin, shape=shape)


def write_safetensors(table: VectorTable, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write vectors, words, counts and (up to 10 MB) the record of the run, block by block, all or "
    "nothing.
    """
    text = escape_lines(table.words).encode("utf-8", "surrogatepass")
    n_words, vector_size = table.vectors.shape
    header: dict[str, Any] = {}
    end = 0

    def place(name: str, kind: str, shape: tuple[int, ...], n_bytes: int) -> None:
        nonlocal end
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": (end, end + n_bytes)}
        end += n_bytes

    if table.counts is not None:
        place("counts", "I64", (n_words,), 8 * n_words)
    place("vectors", "F32", (n_words, vector_size), 4 * n_words * vector_size)
    place("words", "U8", (len(text),), len(text))
    record = json.dumps(table.metadata, default=str)
    header["__metadata__"] = {"format": "wordvec_ca", "words": "utf-8 lines, escapes \\\\ \\t \\n \\r"}
    if table.metadata and len(record) <= _LARGEST_RECORD:
        header["__metadata__"]["config"] = record
    encoded = json.dumps(header).encode("ascii")
    encoded += b" " * (-len(encoded) % 8)  # tensors begin at a multiple of eight
    with atomic_file(path, overwrite=overwrite) as stream:
        stream.write(len(encoded).to_bytes(8, "little") + encoded)
        if table.counts is not None:
            stream.write(np.ascontiguousarray(table.counts, dtype="<i8").tobytes())
        for rows in row_blocks(table.vectors):
            stream.write(np.ascontiguousarray(table.vectors[rows], dtype="<f4").tobytes())
        stream.write(text)
