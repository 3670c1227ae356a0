"""Compiled loops that take and return numpy arrays; they import nothing else of ``wordvec_ca``.

Input: arrays. Output: the same arrays, trained, counted, compared or written. ``load`` returns the
training loop of a backend; both backends have a ``train_chunk`` with the same arguments (see
``sgns_reference.train_chunk``). The modules below are imported when one of their names is first used, because
importing Numba's takes a third of a second.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from wordvec_ca.kernels._sgns import STATS, compiler, hyper_fields, isas
    from wordvec_ca.kernels._sgns import train_chunk as compiled_train_chunk
except ModuleNotFoundError as error:
    if error.name != "wordvec_ca.kernels._sgns":
        raise
    raise ImportError(
        "the compiled parts of wordvec_ca are missing: build them with pip install -e . (or make demo), "
        "where a C compiler is installed"
    ) from error
except ImportError as error:
    if "failed to map" in str(error) or "allocate memory" in str(error):
        raise MemoryError(f"of the address space for the compiled parts of wordvec_ca: {error}") from error
    raise ImportError(
        f"the compiled parts of wordvec_ca are of another version than its Python ({error}): build them anew "
        "with pip install -e . (or make demo)"
    ) from error

if TYPE_CHECKING:
    from wordvec_ca.kernels._decimals import read_rows, write_rows
    from wordvec_ca.kernels._ngrams import distinct_words, ngram_keys, word_ngrams
    from wordvec_ca.kernels._replicas import (
        add_delta,
        copy_rows,
        delta_of,
        merge_replicas,
        number_rows,
        sum_of_deltas,
    )
    from wordvec_ca.kernels._text import (
        CHARACTER_CLASSES,
        LINE_END,
        UNICODE_VERSION,
        Lexicon,
        PhraseTable,
        Renumbered,
        TextStats,
        character_classes,
        count_strange,
        cut_point,
        renumber,
        vocabulary_lines,
    )
    from wordvec_ca.kernels.classifier import (
        LOSSES,
        LineModel,
        RowMatrix,
        TextLines,
        TokenTypes,
        load_classifier_loop,
        predict_labels,
    )
    from wordvec_ca.kernels.huffman import Paths, huffman_paths
    from wordvec_ca.kernels.pool import POOL_DRAWS, NoisePools, noise_mass, noise_pool

_HOMES = {
    "_ngrams": "distinct_words ngram_keys word_ngrams",
    "_decimals": "read_rows write_rows",
    "_replicas": "add_delta copy_rows delta_of merge_replicas number_rows sum_of_deltas",
    "_text": "CHARACTER_CLASSES LINE_END UNICODE_VERSION Lexicon PhraseTable character_classes count_strange "
    "cut_point renumber vocabulary_lines",
    "classifier": "LOSSES LineModel RowMatrix TextLines TokenTypes load_classifier_loop predict_labels",
    "huffman": "Paths huffman_paths",
    "pool": "POOL_DRAWS NoisePools noise_mass noise_pool",
}
"""Module -> its names that are imported when they are first used."""


HYPER_DTYPE = np.dtype([(name, kind) for name, kind, _ in hyper_fields()])
"""One record of hyper-parameters; its fields are declared, and explained, in ``HYPER_FIELDS`` of sgns.h."""

TrainChunk = Callable[..., None]


def __getattr__(name: str) -> Any:
    """Import the module of a name when it is first used."""
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def isa() -> str:
    """Return the instruction set in use: ``CAWV_ISA`` or, if it is not set, the best that the processor runs.

    Raises
    ------
    ValueError
        If ``CAWV_ISA`` names an instruction set that this build or processor does not have.
    """
    available = isas()
    wanted = os.environ.get("CAWV_ISA")
    if not wanted:
        return str(available[0])
    if wanted not in available:
        raise ValueError(
            f"CAWV_ISA={wanted!r} cannot run here: this processor runs {', '.join(available)}; "
            "unset CAWV_ISA or set it to one of these"
        )
    return wanted


def load(backend: str = "cython") -> TrainChunk:
    """Return ``train_chunk`` of a backend, ``"cython"`` or ``"numba"``."""
    if backend == "cython":
        return partial(compiled_train_chunk, isa=isa())
    if backend == "numba":
        from wordvec_ca.kernels import sgns_reference

        return sgns_reference.train_chunk
    raise ValueError(f"backend is {backend!r}; it must be 'cython' or 'numba'")


def load_ngram_loops(backend: str = "cython") -> tuple[TrainChunk, TrainChunk]:
    """Return ``compose`` and ``give_back`` of a backend (see ``ngrams_numpy``)."""
    if backend == "cython":
        from wordvec_ca.kernels import _ngrams

        return partial(_ngrams.compose, isa=isa()), partial(_ngrams.give_back, isa=isa())
    from wordvec_ca.kernels import ngrams_numpy

    return ngrams_numpy.compose, ngrams_numpy.give_back


def aligned_zeros(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Return zeros whose first element is on a 64-byte boundary, as cache lines and the widest vectors are.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : numpy dtype, default float32
        Element type.

    Returns
    -------
    ndarray of that shape and dtype, C-contiguous
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def padded(n: int) -> int:
    """Return the number of floats of a row of ``n`` floats that is padded to a multiple of 64 bytes."""
    return -(-n // 16) * 16
