"""Reads gensim's ``.kv`` and ``.model`` files without gensim and without running a pickle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import map_npy
from wordvec_ca.formats.model_directory import map_array
from wordvec_ca.formats.unpickler import PickledArray, unpickle
from wordvec_ca.tables import NgramIndex, NgramVectors, VectorTable


def read_gensim(path: str | os.PathLike[str]) -> VectorTable:
    """Read the vectors of a gensim ``KeyedVectors``, ``Word2Vec`` or ``FastText`` file."""
    # Arrays in files of their own are memory-mapped.
    file = Path(path)
    loaded = unpickle(file)
    state = dict(getattr(loaded, "__dict__", {}))
    prefix = str(file)
    if "wv" in state:  # a whole Word2Vec model
        state = dict(getattr(state["wv"], "__dict__", {}))
        prefix += ".wv"
    vectors = _array(state, ("vectors", "syn0"), prefix)
    words, counts = _words(state)
    if words is not None and vectors is None and "bucket" in state:
        return _fasttext(state, words, counts, prefix, file)
    if vectors is None or words is None:
        raise DataError(f"{file}: this pickle holds no word vectors (no 'vectors' or no 'index_to_key')")
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.dtype.kind != "f":
        raise DataError(
            f"{file}: {len(words)} words and vectors of type {vectors.dtype} and shape {vectors.shape} do "
            "not fit together"
        )
    if vectors.dtype != np.dtype(np.float32):
        vectors = vectors.astype(np.float32)
    return VectorTable(words, vectors, counts, {})


def _fasttext(
    state: dict[str, Any], words: list[str], counts: np.ndarray | None, prefix: str, file: Path
) -> VectorTable:
    """Return vectors composed of rows of words and n-grams, as gensim composes them when it loads a model."""
    own, rows = (_array(state, (name,), prefix) for name in ("vectors_vocab", "vectors_ngrams"))
    least, most, buckets = (state.get(name) for name in ("min_n", "max_n", "bucket"))
    if (
        own is None
        or rows is None
        or not (isinstance(least, int) and isinstance(most, int) and isinstance(buckets, int))
        or own.shape != (len(words), rows.shape[-1])
        or len(rows) != buckets
        or state.get("compatible_hash") is not True
    ):
        raise DataError(
            f"{file}: the rows of words and n-grams do not fit together, or were made by gensim before 4"
        )
    if not buckets or most < max(least, 1):
        return VectorTable(words, np.asarray(own, np.float32), counts, {})
    ngrams = NgramVectors(NgramIndex(max(least, 1), most, buckets, None, 0), np.asarray(rows, np.float32))
    return VectorTable(words, ngrams.vectors_of(words, own), counts, {}, ngrams)


def _array(state: dict[str, Any], names: tuple[str, ...], prefix: str) -> np.ndarray | None:
    """Return the first of the named arrays that exists, in the pickle or in a file beside it."""
    for name in names:
        beside_it = state.get("__numpys")
        if isinstance(beside_it, list | tuple | set) and name in beside_it:
            return map_array(_existing(prefix, name))
        value = state.get(name)
        if isinstance(value, PickledArray):
            value = value.array
        if isinstance(value, np.ndarray):
            return value
    return None


def _existing(prefix: str, name: str) -> Path:
    """Return the file beside the index that contains an array."""
    beside = Path(f"{prefix}.{name}.npy")
    if not beside.is_file():
        raise DataError(f"{beside} is missing; gensim keeps the vectors there, so copy it beside the index")
    return beside


def _words(state: dict[str, Any]) -> tuple[list[str] | None, np.ndarray | None]:
    """Return words and counts from an index of gensim 4, or 3 (``index2word``, ``vocab``)."""
    found = [state.get(name) for name in ("index_to_key", "index2word", "index2entity")]
    lists = [words for words in found if isinstance(words, list)]
    keys = next(filter(None, lists), lists[0] if lists else None)
    if keys is None or not all(isinstance(word, str | int) for word in keys):
        return None, None
    words = [str(word) for word in keys]
    expandos, vocab = state.get("expandos"), state.get("vocab")
    counts = expandos.get("count") if isinstance(expandos, dict) else None
    if isinstance(counts, PickledArray):
        counts = counts.array
    if counts is None and isinstance(vocab, dict) and vocab:
        entries = [getattr(vocab.get(word), "count", 0) for word in words]
        if all(isinstance(entry, int | np.integer) for entry in entries):
            counts = np.array(entries)
    try:
        if isinstance(counts, np.ndarray) and counts.shape == (len(words),):
            return words, counts.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        pass
    return words, None


def read_gensim_state(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Return the class name and the attributes of the object in a gensim file."""
    # An attribute that is a gensim object becomes a dictionary of its attributes. Arrays in files of their
    # own are memory-mapped. Values other than numbers, texts, arrays and collections of these are left out.
    loaded = unpickle(Path(path))
    if not hasattr(loaded, "__dict__"):
        raise DataError(f"{os.fspath(path)}: this pickle holds no model of gensim")
    return type(loaded).__name__, _attributes(loaded, os.fspath(path), 0)


def _attributes(shell: Any, prefix: str, depth: int) -> dict[str, Any]:
    """Return the attributes of an object that was unpickled; ``prefix`` begins the names of its files."""
    if depth > 3:
        raise DataError(f"{prefix}: objects within objects nested deeper than in any file of gensim")
    state = dict(shell.__dict__)
    beside = state.get("__numpys")
    for name in beside if isinstance(beside, list | tuple) else ():
        state[name] = map_npy(_existing(prefix, str(name)))
    found = {}
    for name, value in state.items():
        if name.startswith("__"):
            continue
        plain = _plain(value, f"{prefix}.{name}", depth)
        if plain is not None or value is None:
            found[name] = plain
    return found


def _plain(value: Any, prefix: str, depth: int) -> Any:
    """Replace the placeholders of the unpickler in a value by None or plain values."""
    if isinstance(value, PickledArray):
        return value.array
    if isinstance(value, str | int | float | list | tuple | np.ndarray | np.generic):
        return value
    if isinstance(value, dict):
        return {key: _plain(inner, prefix, depth) for key, inner in value.items()}
    if isinstance(value, type) or not hasattr(value, "__dict__"):
        return None
    return _attributes(value, prefix, depth + 1)
