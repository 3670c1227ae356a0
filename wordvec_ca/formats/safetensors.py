r"""Reads and writes vectors in safetensors files, which contain no pickle and are memory-mapped when read.

Vectors are stored as float32, as float16, or as int8 with one scale per word: a row x is stored as int8 q and
a float32 scale s = max|x| / 127, with q = round(x / s); readers return s q.

::

    u64 length of the header, little endian
    header: JSON {tensor: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {str: str}}
    counts   I64 (n_words,)                 if known
    vectors  F32 (n_words, vector_size)     or F16, or I8 with
    scales   F32 (n_words,)                 by which each row of I8 is multiplied
    words    U8  (n_bytes,)                 UTF-8, a newline after each word, \\ \t \n \r escaped

Words are stored in a tensor because readers limit the size of the header. Lone surrogates are encoded like
characters (``surrogatepass``), so every Python string survives. This module does not use the safetensors
library, which would hold a second copy of all vectors in memory when writing and reading.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, escape_lines, unescape_lines
from wordvec_ca.showable import showable_record
from wordvec_ca.tables import VectorTable, row_blocks, show_word

DTYPES = ("float32", "float16", "int8")
# Names of the number types in safetensors files.
KINDS = {"float32": "F32", "float16": "F16", "int8": "I8"}


class Loss(NamedTuple):
    """How much stored vectors differ from the original ones."""

    # lowest, mean: Lowest and mean cosine between stored and original vectors of words; NaN if all vectors
    # are zero.
    lowest: float
    mean: float


def check_dtype(table: VectorTable, dtype: str) -> None:
    """Raise an error unless all vectors can be stored as ``dtype``."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; known are {', '.join(map(repr, DTYPES))}")
    if dtype == "float32":
        return
    largest = np.finfo(np.float16).max
    for rows in row_blocks(table.vectors):
        block = np.abs(table.vectors[rows])
        bad = ~np.isfinite(block) if dtype == "int8" else np.isfinite(block) & (block > largest)
        if bad.any():
            row = rows.start + int(np.flatnonzero(bad.any(axis=1))[0])
            why = "NaN or infinity" if dtype == "int8" else f"a number beyond {largest:g}"
            raise DataError(
                f"the vector of {show_word(table.words[row])} holds {why}, which {dtype} cannot hold; "
                "take float32"
            )


def scales(vectors: np.ndarray) -> np.ndarray:
    """Return the scale of each row for int8, shape (n_words,), float32; 0 for a row of zeros."""
    found = np.empty(len(vectors), dtype=np.float32)
    for rows in row_blocks(vectors):
        found[rows] = np.abs(vectors[rows]).max(axis=1, initial=0) / np.float32(127)
    return found


def stored_rows(vectors: np.ndarray, dtype: str) -> Iterator[np.ndarray]:
    """Yield blocks of rows in the form in which they are stored: of type ``dtype``, little-endian."""
    for rows in row_blocks(vectors):
        block = np.ascontiguousarray(vectors[rows], dtype=np.float32)
        if dtype == "int8":
            scale = scales(block)[:, np.newaxis]
            block = np.rint(np.divide(block, scale, out=np.zeros_like(block), where=scale > 0))
            yield np.clip(block, -127, 127).astype(np.int8)
        else:
            yield block.astype("<f2" if dtype == "float16" else "<f4", copy=False)


def scaled(stored: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return float32 vectors of shape (n_words, vector_size) from int8 rows and their scales."""
    vectors = np.empty(stored.shape, dtype=np.float32)
    for rows in row_blocks(vectors):
        np.multiply(stored[rows], scale[rows, np.newaxis], out=vectors[rows], dtype=np.float32)
    return vectors


def precision_loss(vectors: np.ndarray, dtype: str) -> Loss:
    """Return how much vectors stored as ``dtype`` differ from the original ones."""
    cosines, start = [], 0
    for stored in stored_rows(vectors, dtype):
        original = np.asarray(vectors[start : start + len(stored)], dtype=np.float64)
        start += len(stored)
        found = stored.astype(np.float64)  # scaling a row does not change its direction
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            product = np.einsum("ij,ij->i", original, found)
            norms = np.linalg.norm(original, axis=1) * np.linalg.norm(found, axis=1)
            cosines.append((product / norms)[norms > 0])
    known = np.concatenate(cosines) if cosines else np.zeros(0)
    known = known[np.isfinite(known)]
    return Loss(float(known.min()), float(known.mean())) if len(known) else Loss(float("nan"), float("nan"))


_LARGEST_HEADER = 100_000_000  # the limit of the safetensors library
_LARGEST_RECORD = 10_000_000
_DTYPES = {
    **{"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1"},
    **{"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"},
}
_KIND_OF = {np.dtype(code): kind for kind, code in _DTYPES.items()}


def read_safetensors(path: str | os.PathLike[str]) -> VectorTable:
    """Read vectors, words and counts; float32 vectors are memory-mapped."""
    tensors, record = map_tensors(path)
    vectors = tensors.get("vectors", tensors.get("embeddings"))
    if vectors is None or "words" not in tensors:
        raise DataError(
            f"{path}: needs the tensors 'vectors' (n_words, vector_size) and 'words' (UTF-8, a newline after "
            f"each), but has {', '.join(map(repr, tensors)) or 'none'}; files of other programs that keep "
            "their words elsewhere have to be converted first"
        )
    if vectors.dtype == np.int8 and "scales" in tensors:
        vectors = scaled_rows(vectors, tensors["scales"], str(path))
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
            metadata = showable_record(loaded) if isinstance(loaded, dict) else {}
        except (TypeError, RecursionError, ValueError) as error:
            raise DataError(f"{path}: the metadata entry 'config' is not JSON: {error}") from error
    return VectorTable(words, vectors, None if counts is None else counts.astype(np.int64), metadata)


def map_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], Any]:
    """Return the tensors of a file, memory-mapped and read-only, and the metadata in its header."""
    header, start = _read_header(path)
    record = header.pop("__metadata__", {})
    return {name: _map_tensor(path, start, name, entry) for name, entry in header.items()}, record


def scaled_rows(stored: np.ndarray, row_scales: np.ndarray, source: str) -> np.ndarray:
    """Return float32 vectors from rows of int8 and their scales."""
    if stored.ndim != 2 or row_scales.shape != stored.shape[:1] or row_scales.dtype.kind != "f":
        raise DataError(
            f"{source}: rows of int8 of the shape {stored.shape} need one scale each, but there are "
            f"{row_scales.dtype} {row_scales.shape}"
        )
    return scaled(stored, row_scales)


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
    """Memory-map one tensor after checking that it is inside the file."""
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
    if n_items == 0:  # an empty tensor cannot be mapped
        try:
            return np.zeros(shape, dtype=dtype)
        except ValueError as error:  # a shape larger than any array
            raise DataError(f"{path}: tensor {name!r} has the impossible shape {shape}") from error
    return np.memmap(path, dtype=dtype, mode="r", offset=start + begin, shape=shape)


class Tensor(NamedTuple):
    """A tensor to be written."""

    name: str
    # Type as safetensors names it, such as ``F32``.
    kind: str
    shape: tuple[int, ...]
    # Content of the tensor, little-endian, in order.
    blocks: Iterable[bytes]

    def with_row_of_zeros(self) -> Tensor:
        """Return the tensor with a row of zeros added at its end."""
        zeros = bytes(math.prod(self.shape[1:]) * np.dtype(_DTYPES[self.kind]).itemsize)
        shape = (self.shape[0] + 1, *self.shape[1:])
        return Tensor(self.name, self.kind, shape, chain(self.blocks, [zeros]))


def vector_tensors(table: VectorTable, name: str, dtype: str, scale_name: str) -> list[Tensor]:
    """Return the tensor of the vectors and, for int8, the tensor of the scales of its rows."""
    blocks = (block.tobytes() for block in stored_rows(table.vectors, dtype))
    tensors = [Tensor(name, KINDS[dtype], table.vectors.shape, blocks)]
    if dtype == "int8":
        row_scales = scales(table.vectors).astype("<f4")
        tensors.append(Tensor(scale_name, "F32", row_scales.shape, [row_scales.tobytes()]))
    return tensors


def write_tensors(
    tensors: list[Tensor],
    path: str | os.PathLike[str],
    record: dict[str, str],
    *,
    overwrite: bool = True,
) -> None:
    """Write tensors block by block, completely or not at all."""
    header: dict[str, Any] = {}
    end = 0
    for tensor in tensors:
        begin, end = end, end + math.prod(tensor.shape) * np.dtype(_DTYPES[tensor.kind]).itemsize
        header[tensor.name] = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": (begin, end)}
    header["__metadata__"] = record
    encoded = json.dumps(header).encode("ascii")
    encoded += b" " * (-len(encoded) % 8)  # tensors begin at a multiple of eight
    with atomic_file(path, overwrite=overwrite) as stream:
        stream.write(len(encoded).to_bytes(8, "little") + encoded)
        for tensor in tensors:
            for block in tensor.blocks:
                stream.write(block)


def write_safetensors(
    table: VectorTable, path: str | os.PathLike[str], *, dtype: str = "float32", overwrite: bool = True
) -> None:
    """Write vectors, words, counts and (if below 10 MB) the record of the run, completely or not at all."""
    check_dtype(table, dtype)
    text = escape_lines(table.words).encode("utf-8", "surrogatepass")
    vectors, *row_scales = vector_tensors(table, "vectors", dtype, "scales")
    tensors = [*row_scales, vectors, Tensor("words", "U8", (len(text),), [text])]
    if table.counts is not None:
        counts = np.ascontiguousarray(table.counts, dtype="<i8")
        tensors.insert(0, Tensor("counts", "I64", counts.shape, [counts.tobytes()]))
    record = {"format": "wordvec_ca", "words": "utf-8 lines, escapes \\\\ \\t \\n \\r"}
    config = json.dumps(showable_record(table.metadata), default=str)
    if table.metadata and len(config) <= _LARGEST_RECORD:
        record["config"] = config
    write_tensors(tensors, path, record, overwrite=overwrite)


def write_arrays(
    arrays: Mapping[str, np.ndarray],
    words: Sequence[str],
    path: str | os.PathLike[str],
    record: Mapping[str, str],
) -> None:
    """Write arrays, words and strings to one file, which ``map_tensors`` and ``read_safetensors`` read."""
    text = escape_lines(list(words)).encode("utf-8", "surrogatepass")
    tensors = [Tensor("words", "U8", (len(text),), [text])]
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].itemsize):  # so that all are aligned
        kind = _KIND_OF[array.dtype.newbyteorder("<")]
        tensors.insert(-1, Tensor(name, kind, array.shape, _content(array)))
    write_tensors(tensors, path, {"format": "wordvec_ca", **record})


def _content(array: np.ndarray) -> Iterator[bytes]:
    """Yield the bytes of an array, little-endian, some rows at a time."""
    for rows in row_blocks(array) if array.ndim == 2 else [slice(None)]:
        yield np.ascontiguousarray(array[rows], array.dtype.newbyteorder("<")).tobytes()
