"""Computes the size of a model: the shapes of its parameters, and the space in memory and on disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import nearest_existing
from wordvec_ca.kernels import padded
from wordvec_ca.machine import machine_memory
from wordvec_ca.models.config import ResolvedConfig
from wordvec_ca.showable import size
from wordvec_ca.specs.models import logit_columns

# Number of bytes of memory that the interpreter, the libraries and a small pool of negatives take.
PROCESS_BYTES = 110_000_000


def parameter_shapes(config: ResolvedConfig, n_words: int) -> dict[str, tuple[int, int]]:
    """Return the shape of each parameter array, padding included."""
    width = padded(config.vector_size)
    parts = config.spec.bands(config.reach) * config.widths()
    slots, columns = logits_of(config)
    stride = padded(columns) if config.attention == "full" else columns
    has_word_logits = config.spec.attends and stride > 0
    shapes = {
        "inputs": (n_words, width),
        "outputs": (n_words, parts * width) if config.negative else (1, 16),
        "word_logits": (n_words, stride) if has_word_logits else (1, 16),
        "slot_logits": (1, padded(slots + config.spec.documents)),
    }
    return {**shapes, "nodes": (n_words, parts * width)} if config.hs else shapes


# Approximate number of rows of words and n-grams for each word with ``subwords``; in English 2.4.
ROWS_PER_WORD = 3


def check_room(
    directory: str | os.PathLike[str],
    config: ResolvedConfig,
    n_words: int,
    present: int = 0,
    documents: int = 0,
) -> None:
    """Raise a DataError before training if the disk has no room for the model."""
    needed = 4 * documents * (config.vector_size + padded(config.vector_size))
    needed += saved_bytes(config, n_words) + max(0, resampling_bytes(config, n_words) - present)
    free = shutil.disk_usage(nearest_existing(Path(os.path.realpath(directory)).parent)).free
    if needed > free:
        raise DataError(
            f"no room for the model {os.fspath(directory)!r}: the run takes about {size(needed)} and "
            f"{size(free)} are free there; make room or choose another ",
            Option("output"),
        )


def check_memory(config: ResolvedConfig, n_words: int) -> None:
    """Raise a DataError if the parameters of a model cannot fit into this machine's memory."""
    replicas = min(config.replicas or 1, config.threads)
    needed, present = memory_bytes(config, n_words, replicas), machine_memory()
    if needed > present:
        several = f" in {replicas} replicas" if replicas > 1 else ""
        raise DataError(
            f"the parameters of {n_words:,} words{several} take {needed / 1e9:,.1f} GB and this machine has "
            f"{present / 1e9:,.1f} GB of memory: lower vector_size, window or max_final_vocab, "
            f"or raise min_count{', or take fewer replicas' if several else ''}"
        )


def memory_bytes(config: ResolvedConfig, n_words: int, replicas: int = 1, threads: int | None = None) -> int:
    """Return the bytes of memory that the parameters take, padding included."""
    shapes = list(parameter_shapes(config, n_words).values())
    copies = replicas + (replicas > 1)
    rows = sum(4 * rows * columns for rows, columns in shapes) * copies
    if config.subwords:  # each further thread composes its own vectors
        composed = max(0, (threads or config.threads) - copies)
        rows += 4 * (ROWS_PER_WORD * copies + composed) * n_words * shapes[0][1]
    return rows


def n_parameters(config: ResolvedConfig, n_words: int) -> int:
    """Return the number of trained parameters of a resolved configuration."""
    slots, columns = logits_of(config)
    of_output = config.spec.bands(config.reach) * config.widths()
    parts = ROWS_PER_WORD if config.subwords else 1
    parts += of_output * (bool(config.negative) + config.hs)
    attends = config.spec.attends
    columns = columns if attends else 0
    per_place = slots if attends and config.attention != "word" else 0
    return n_words * (config.vector_size * parts + columns) + per_place


def saved_bytes(config: ResolvedConfig, n_words: int) -> int:
    """Estimate how many bytes the model directory takes."""
    composed = (
        4 * n_words * config.vector_size + 100 * n_words
        if config.subwords or config.vectors == "fitted"
        else 0
    )
    rounded = (config.resamples or 0) * _rounded_bytes(config, n_words)
    rounded += config.vector_size * 4 * n_words if config.vectors not in (None, "input") else 0
    return 4 * n_parameters(config, n_words) + 60 * n_words + composed + rounded  # words are stored twice


def _rounded_bytes(config: ResolvedConfig, n_words: int) -> int:
    """Return the bytes of a model of resampled text with 8 bits a number."""
    columns = logits_of(config)[1] if config.spec.attends else 0
    return n_words * (config.vector_size + 4 + (columns + 4 if columns else 0))


def resampling_bytes(config: ResolvedConfig, n_words: int) -> int:
    """Estimate how many bytes models of resampled text take during a run; 0 for a single model."""
    # Each model has a checkpoint. Computing the mean also needs the sum of all models, and all models with
    # 8 bits a number.
    if config.resamples is None:
        return 0
    one = sum(4 * rows * columns for rows, columns in parameter_shapes(config, n_words).values())
    one *= ROWS_PER_WORD if config.subwords else 1
    return one + config.resamples * (one + _rounded_bytes(config, n_words))


def logits_of(config: ResolvedConfig) -> tuple[int, int]:
    """Return the number of attention logits by place (s), and the number for each word (K)."""
    places = 2 * config.reach
    return places, logit_columns(config.attention, places)
