"""Compiled loops: numpy in, numpy out, nothing of ``wordvec_ca`` above this floor.

``load`` hands out the training loop of a backend. Both backends have one door,
``train_chunk``, with the same arguments (see ``sgns_numba.train_chunk``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

MODELS = ("cbow", "skipgram", "ssg", "cwindow", "cbow-attn")
"""Model names; the index is the code in ``HYPER_DTYPE``."""

HYPER_DTYPE = np.dtype(
    [
        ("model", np.int32),  # index into MODELS
        ("width", np.int32),  # floats per input row, a multiple of 16
        ("out_width", np.int32),  # floats per output row: width, for cwindow 2 * window * width
        ("bands", np.int32),  # output rows per word: 1, for ssg 2 * window
        ("window", np.int32),  # context words on each side
        ("shrink_windows", np.int32),  # 1: each window is uniform on 1 .. window
        ("drawn", np.int32),  # negatives per tuple
        ("shared_by", np.int32),  # parts of the text read side by side that share tuples; 1 for ssg, cwindow
        ("alpha_begin", np.float32),  # learning rate at the first token of the chunk
        ("alpha_end", np.float32),  # learning rate after the last token of the chunk
        ("word2vec_update", np.int32),  # 1: context rows move by n times their gradient, as in word2vec.c
        ("word_stride", np.int32),  # floats per row of K; 0: no K
        ("word_slots", np.int32),  # 1: K has a column per slot, 0: one number per word
        ("use_slots", np.int32),  # 1: s is added to the logits and learns
        ("attention_rate", np.float32),  # learning rate of K and s relative to alpha; 0: frozen
        ("attention_clip", np.float32),  # logits are read as if within +- this
        ("n_private", np.int32),  # most frequent words of which each thread keeps its own rows
        ("merge_every", np.int32),  # tokens between two merges of private rows
        ("skip_dots", np.int32),  # 1: leave out the dot products (benchmarks of the memory system)
    ],
)
"""One record of hyper-parameters; mirrors ``Hyper`` in sgns.h (all fields 4 bytes, no padding)."""

STATS = ("examples", "loss", "words", "contexts", "concentration", "weighed")
"""What ``stats`` counts: predictions, summed loss, corpus words read, context words used,
summed sum of squared attention weights, and the predictions that these came from."""

TrainChunk = Callable[..., None]


def isa() -> str:
    """Return the instruction set in use: the best that the processor runs, or ``CAWV_ISA``.

    Raises
    ------
    ValueError
        If ``CAWV_ISA`` names an instruction set that this build or processor does not have.
    """
    from wordvec_ca.kernels import _sgns

    available = _sgns.isas()
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
        from wordvec_ca.kernels import _sgns

        return partial(_sgns.train_chunk, isa=isa())
    if backend == "numba":
        from wordvec_ca.kernels import sgns_numba

        return sgns_numba.train_chunk
    raise ValueError(f"backend is {backend!r}; it must be 'cython' or 'numba'")


def aligned_zeros(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Return zeros whose first element lies on a 64-byte boundary.

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
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def padded(n: int) -> int:
    """Return the floats of a row of ``n`` floats padded to 64 bytes."""
    return -(-n // 16) * 16
