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
from wordvec_ca.npy_stream import map_npy
from wordvec_ca.vector_table import VectorTable
from wordvec_ca.vocab import read_words

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
    words, counts = read_words(
        path / VOCAB, foreign=False
    )  # a repeated word is noticed when they are indexed
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
    except (RecursionError, ValueError) as error:
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
    array = map_npy(path)
    if array.ndim != 2 or array.dtype.kind != "f":
        raise DataError(
            f"{path} should hold a matrix of floats, one row a word, but holds {array.dtype} of shape "
            f"{array.shape}"
        )
    if array.dtype != np.dtype(np.float32):
        array = array.astype(np.float32)
    return array
