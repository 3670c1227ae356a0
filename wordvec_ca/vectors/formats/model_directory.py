"""The result of a training run: a folder with vectors, vocabulary and the record of the run.

::

    config.json             the complete record of configuration, version, corpus and timings
    vocab.tsv               word TAB count, one a line, UTF-8, most frequent first
    vectors.kv.vectors.npy  float32 (n_words, vector_size); memory-mapped by this reader and by gensim
    vectors.kv              gensim's index to it (optional, not read here)
    run.toml                settings that repeat the run: cawv train --config run.toml
    ngrams.tsv              n-gram TAB row, one a line (only of models with n-grams)
    ngrams.npy              float32 (n_rows, vector_size): rows of the words, then rows that n-grams share
    resamples*.npy          models of resampled text, if there are some: see `wordvec_ca.vectors.resamples`
    SHA256SUMS              checksums of the files, which `cawv check` and `sha256sum --check` compare
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import (
    CHECKSUMS,
    OpenedArray,
    OpenedFile,
    check_file,
    map_npy,
    parse_words,
    read_whole_folder,
    read_words,
)
from wordvec_ca.showable import showable_record
from wordvec_ca.specs.models import logit_columns, spec_of
from wordvec_ca.vectors.attention import attention_of_words, logits_by_part
from wordvec_ca.vectors.ngrams import NgramIndex, NgramVectors, encoded, keys_of
from wordvec_ca.vectors.parts import Part, parts_of_record
from wordvec_ca.vectors.resamples import RESAMPLE_FILES, Resamples
from wordvec_ca.vectors.table import VectorTable

VECTORS = "vectors.kv.vectors.npy"
VOCAB = "vocab.tsv"
CONFIG = "config.json"
OUTPUTS = "outputs.npy"
ATTENTION_WORDS, ATTENTION_SLOTS = "attention_words.npy", "attention_slots.npy"
NGRAMS, NGRAM_ROWS = "ngrams.tsv", "ngrams.npy"
MODEL_FORMAT = 1
"""Version of the model directory; older ones are still read."""

MODEL_FILES = {
    *("config.json", "vocab.tsv", "vectors.kv", "vectors.kv.vectors.npy"),
    *("outputs.npy", "nodes.npy", "tree.npy", "attention_words.npy", "attention_slots.npy", "history.tsv"),
    *("ngrams.tsv", "ngrams.npy", "run.toml", "report.html", "words.html", CHECKSUMS),
    *RESAMPLE_FILES,
}
"""Files of a model directory; a directory with any other file is never overwritten."""


def is_model_directory(path: Path) -> bool:
    """Return whether a folder holds at least the vectors of a model."""
    return (path / VECTORS).is_file()


def read_model_directory(path: Path) -> VectorTable:
    """Read a model directory; the vectors are memory-mapped, so opening takes the same time for any size.

    What is read later is opened now: it belongs to the model, whatever takes its place meanwhile.

    Raises
    ------
    DataError
        A file is missing, damaged or does not fit the others.
    """
    for name in (VECTORS, VOCAB):
        if not (path / name).is_file():
            raise DataError(f"{path} is not a model directory: it has no {name}")
    return read_whole_folder(path, lambda: _read_model_directory(path))


def _read_model_directory(path: Path) -> VectorTable:
    check_file(path / VOCAB)
    metadata = read_metadata(path) if (path / CONFIG).is_file() else {}
    vectors = map_array(path / VECTORS)
    words, counts = read_words(
        path / VOCAB, foreign=False
    )  # a repeated word is noticed when they are indexed
    if len(words) != len(vectors):
        raise DataError(
            f"{path}: {VOCAB} has {len(words)} words but {VECTORS} has {len(vectors)} rows; the files are "
            "not of the same model"
        )
    ngrams = _ngrams(path, metadata, *vectors.shape)
    return VectorTable(
        *(words, vectors, counts, metadata, ngrams, _attention(path, metadata, counts)),
        resamples=Resamples.load(path, *vectors.shape),
    )


def _attention(path: Path, metadata: dict[str, Any], counts: np.ndarray) -> Callable[..., np.ndarray] | None:
    """Return a function that reads the weights of words, if the model has attention."""
    config = metadata.get("config")
    try:
        attends = isinstance(config, dict) and spec_of(config.get("model", "")).attends
    except ValueError:  # a model of a later version: its vectors can be used
        return None
    logits = OpenedArray(path / ATTENTION_WORDS), OpenedArray(path / ATTENTION_SLOTS)
    return partial(read_word_attention, path, config or {}, counts, *logits) if attends else None


def read_word_attention(
    path: Path,
    config: dict[str, Any],
    counts: np.ndarray,
    of_words: OpenedArray,
    of_slots: OpenedArray,
    part: str | None = None,
) -> np.ndarray:
    """Return how much attention each word of a model directory draws.

    Parameters
    ----------
    path : Path
    config : dict
        The options of the model, in its record.
    counts : ndarray of shape (n_words,)
    of_words, of_slots : OpenedArray
        The logits K and s.
    part : str, optional
        Only of this part of the vectors.

    Returns
    -------
    ndarray of shape (n_words,), float32
        See ``wordvec_ca.vectors.mean_attention``.

    Raises
    ------
    DataError
        The logits are missing, damaged or not of this model.
    """
    kind, clip = config.get("attention", "full"), config.get("attention_clip", 10.0)
    try:
        slots = of_slots.get()
        parts = _parts(path, config, slots.size)
        columns = logit_columns(kind, slots.size, len(parts))
        words = of_words.get() if columns else np.zeros((len(counts), 0), np.float32)
    except FileNotFoundError as error:
        raise DataError(
            f"{path} is an attention model, but {Path(error.filename).name} is missing: the weights of its "
            "words cannot be known (",
            Option("attention", False),
            " does without)",
        ) from None
    except (KeyError, TypeError) as error:
        raise DataError(f"{path / CONFIG}: {kind!r} is no kind of attention") from error
    fits = slots.ndim == 1 and words.shape == (len(counts), columns)
    if not fits or not isinstance(clip, int | float) or {slots.dtype.kind, words.dtype.kind} != {"f"}:
        raise DataError(
            f"{path}: logits of shape {words.shape} and {slots.shape} are not of a model of {len(counts)} "
            "words; the files do not belong together"
        )
    return attention_of_words(logits_by_part(words, slots, kind, parts), counts, clip, part)


def _parts(path: Path, config: dict[str, Any], n_slots: int) -> tuple[Part, ...]:
    """Return the parts of a model whose logits are for so many places."""
    try:
        parts = parts_of_record({"config": config}) or (Part("", 1, n_slots // 2, 0, 1),)
    except ValueError as error:
        raise DataError(f"{path / CONFIG}: {error}") from error
    places = sum(len(part.offsets) for part in parts)
    if places != n_slots:
        raise DataError(f"{path}: logits of {n_slots} places, but the parts have {places}: they do not fit")
    return parts


def _ngrams(path: Path, metadata: dict[str, Any], n_words: int, vector_size: int) -> NgramVectors | None:
    """Return the vectors of n-grams, if the model has some; which row each has is read when it is needed."""
    config = metadata.get("config")
    if not isinstance(config, dict) or not config.get("subwords"):
        return None
    rows = map_array(path / NGRAM_ROWS)
    if rows.shape[1] != vector_size:
        raise DataError(
            f"{path}: {NGRAM_ROWS} has rows of {rows.shape[1]} numbers, the vectors have {vector_size}; the "
            "files are not of the same model"
        )
    options = [config.get(name) or 0 for name in ("min_n", "max_n", "buckets")]
    if not all(type(number) is int and 0 <= number < 2**31 for number in options):
        raise DataError(f"{path}: min_n, max_n and buckets in {CONFIG} should be whole numbers: {options}")
    names = OpenedFile(path / NGRAMS)
    check_file(path / NGRAMS)
    check_ngrams(path, len(rows) - n_words)
    index = partial(read_index, path / NGRAMS, names, *options, n_rows=len(rows))
    return NgramVectors(index, rows, OpenedArray(path / OUTPUTS) if (path / OUTPUTS).exists() else None)


def check_ngrams(path: Path, n_rows: int) -> None:
    """Raise a DataError if a model directory has rows of n-grams, but names no n-grams."""
    names = path / NGRAMS
    if n_rows > 0 and not (names.is_file() and names.stat().st_size):
        state = "is empty" if names.is_file() else "is missing"
        raise DataError(f"{names} {state}, but {NGRAM_ROWS} has {n_rows:,} rows of n-grams: use a backup")


def read_index(
    path: Path, file: OpenedFile, min_n: int, max_n: int, buckets: int, *, n_rows: int
) -> NgramIndex:
    """Read which row each n-gram has: ``n-gram TAB row`` lines, or ``bucket TAB row``.

    Parameters
    ----------
    path : Path
        What to call the file in messages.
    file : OpenedFile
        The file.
    min_n, max_n : int
        Characters of the shortest and of the longest n-gram.
    buckets : int
        Number of buckets; 0 if n-grams are named.
    n_rows : int
        Rows that the model has for n-grams.

    Raises
    ------
    DataError
        The file is missing or damaged.
    """
    names, rows = parse_words(file.read(), str(path), foreign=False)
    try:
        keys = np.array(names, np.uint64) if buckets else keys_of([encoded(name) for name in names], 0)
    except (ValueError, OverflowError):
        raise DataError(f"{path} should hold numbers of buckets and of rows") from None
    if len(rows) and (rows.max() >= n_rows or (buckets and keys.max() >= buckets)):
        raise DataError(f"{path} names a row or a bucket that the model does not have")
    order = np.argsort(keys, kind="stable")
    return NgramIndex(
        *(min_n, max_n, buckets, keys[order], rows[order].astype(np.int32)),
        None if buckets else partial(_in_order, names, order),
    )


def _in_order(names: list[str], order: np.ndarray) -> list[bytes]:
    return [encoded(names[i]) for i in order]


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return ``config.json`` of a model directory.

    Raises
    ------
    DataError
        There is none, it is not a JSON object, or its format is newer than this program.
    """
    path = folder / CONFIG
    check_file(path)
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{str(folder)!r} is not a model directory: it has no {CONFIG}") from None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except (RecursionError, ValueError) as error:
        raise DataError(f"{str(path)!r} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f"{str(path)!r} should hold a JSON object, but holds a {type(record).__name__}")
    version = record.get("format", MODEL_FORMAT)
    if not isinstance(version, int) or version > MODEL_FORMAT:
        raise DataError(
            f"{str(path)!r}: format {version!r} is newer than the format {MODEL_FORMAT} that this program "
            f"({__version__}) knows; update it, or export the vectors with the version that wrote it"
        )
    return showable_record(record)  # earlier versions recorded URLs whole


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
