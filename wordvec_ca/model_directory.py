"""What a training run leaves: a folder with vectors, vocabulary and the record of the run.

::

    config.json             the complete record of configuration, version, corpus and timings
    vocab.tsv               word TAB count, one a line, UTF-8, most frequent first
    vectors.kv.vectors.npy  float32 (n_words, vector_size); memory-mapped by this reader and by gensim
    vectors.kv              gensim's index to it (optional, not read here)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.escaped_word import unescape
from wordvec_ca.vector_table import VectorTable

VECTORS = "vectors.kv.vectors.npy"
VOCAB = "vocab.tsv"
CONFIG = "config.json"
NEWEST_FORMAT = 1


def is_model_directory(path: Path) -> bool:
    """Return whether a folder holds at least the vectors of a model."""
    return (path / VECTORS).is_file()


def read_model_directory(path: Path) -> VectorTable:
    """Read a model directory; the vectors are memory-mapped, so this takes no time whatever their size.

    Raises
    ------
    DataError
        A file is missing, damaged or does not fit the others.
    """
    for name in (VECTORS, VOCAB):
        if not (path / name).is_file():
            raise DataError(f"{path} is not a model directory: it has no {name}")
    metadata = _read_config(path / CONFIG)
    vectors = map_array(path / VECTORS)
    words, counts = read_vocab(path / VOCAB)
    if len(words) != len(vectors):
        raise DataError(
            f"{path}: {VOCAB} has {len(words)} words but {VECTORS} has {len(vectors)} rows; the files are "
            "not of the same model"
        )
    return VectorTable(words, vectors, counts, metadata)


def _read_config(path: Path) -> dict[str, Any]:
    """Return the record of the run; empty if there is none."""
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f"{path} should hold a JSON object, but holds a {type(record).__name__}")
    version = record.get("format", 1)
    if not isinstance(version, int) or version > NEWEST_FORMAT:
        raise DataError(
            f"{path}: format {version!r} is newer than this program knows ({NEWEST_FORMAT}); update it"
        )
    return record


def map_array(path: Path) -> np.ndarray:
    """Memory-map a float32 matrix from an .npy file, read-only; other float types are converted in memory.

    Raises
    ------
    DataError
        The file is no .npy file, is cut off, or holds anything but a matrix of floats.
    """
    try:
        # an empty file region cannot be mapped; then there is nothing to map either
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        try:
            array = np.load(path, allow_pickle=False)
            if not isinstance(array, np.ndarray) or array.size:
                raise ValueError(str(error))
        except (ValueError, EOFError, OSError):
            raise DataError(f"{path} is not a readable .npy array (damaged or cut off?): {error}") from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind != "f":
        shape = getattr(array, "shape", None)
        raise DataError(
            f"{path} should hold a matrix of floats, one row a word, but holds "
            f"{getattr(array, 'dtype', type(array))} of shape {shape}"
        )
    if array.dtype != np.dtype(np.float32):
        array = array.astype(np.float32)
    return array


def read_vocab(path: Path) -> tuple[list[str], np.ndarray]:
    """Read words and counts (int64) from ``word TAB count`` lines.

    Raises
    ------
    DataError
        A line is malformed or not UTF-8; the message names the line.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8") from error
    if not text:
        return [], np.zeros(0, dtype=np.int64)
    text = text.removesuffix("\n")
    fields = text.replace("\n", "\t").split("\t")
    words, numbers = fields[0::2], fields[1::2]
    try:
        separators = np.frombuffer(data.removesuffix(b"\n") + b"\n", dtype=np.uint8)
        separators = separators[(separators == ord("\t")) | (separators == ord("\n"))]
        if len(separators) % 2 or (separators.reshape(-1, 2) != (ord("\t"), ord("\n"))).any():
            raise ValueError("not one tab in every line")
        counts = np.fromiter(map(int, numbers), dtype=np.int64, count=len(numbers))
        if "\\" in text:
            words = [unescape(word) for word in words]
    except (ValueError, OverflowError) as error:
        raise _bad_vocab_line(path, text) from error
    return words, counts  # a repeated word is noticed when the words are indexed


def _bad_vocab_line(path: Path, text: str) -> DataError:
    """Return the error for the first malformed line."""
    for i, line in enumerate(text.split("\n"), 1):
        word, *rest = line.split("\t")
        try:
            unescape(word)
            if len(rest) == 1 and abs(int(rest[0])) < 2**63:
                continue
        except ValueError:
            pass
        return DataError(f"{path}, line {i}: expected a word, a tab and a count, found {line[:80]!r}")
    return DataError(f"{path}: malformed")
