"""What a run will need, before it starts: vocabulary, memory, disk and time."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.config import TrainConfig
from wordvec_ca.corpus import Corpus, CorpusStats, Progress, count_corpus
from wordvec_ca.model import EmbeddingModel, memory_bytes, n_parameters, saved_bytes
from wordvec_ca.trainer import Trainer
from wordvec_ca.vocab import Vocab

OVERHEAD = 150_000_000
"""Bytes that the interpreter, the libraries and the pool of negatives take."""


@dataclass(frozen=True)
class Plan:
    """What a run will need.

    Attributes
    ----------
    config : TrainConfig
        Resolved.
    stats : CorpusStats
        The text, counted exactly.
    n_words : int
        Vocabulary.
    n_parameters : int
        Numbers that learn.
    memory_bytes : int
        Anonymous memory while training.
    cache_bytes : int
        Encoded text on disk; about twice that while it is being written.
    model_bytes : int
        The model directory.
    words_per_second : float
        Measured on made-up text with this vocabulary, in words of text, all workers together.
    training_seconds : float
        Estimate from that.
    """

    config: TrainConfig
    stats: CorpusStats
    n_words: int
    n_parameters: int
    memory_bytes: int
    cache_bytes: int
    model_bytes: int
    words_per_second: float
    training_seconds: float


def plan(
    corpus: Corpus,
    config: TrainConfig,
    *,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Count the corpus, time the training loop for a moment, and work out what the run will need.

    Nothing is written. Parameters and errors as in ``train``.
    """
    config = config.resolved()
    words, stats = count_corpus(
        corpus,
        tokenizer=config.tokenizer,
        lowercase=config.lowercase,
        min_count=config.min_count if vocab is None else 1,
        max_final_vocab=config.max_final_vocab if vocab is None else None,
        field=config.field,
        count_memory=config.count_memory,
        phrases=config.phrases,
        workers=config.workers,
        progress=progress,
    )
    if vocab is not None:
        words = vocab if isinstance(vocab, Vocab) else Vocab.load(Path(vocab))
    speed = measured_speed(config, words)
    return Plan(
        config=config,
        stats=stats,
        n_words=len(words),
        n_parameters=n_parameters(config, len(words)),
        memory_bytes=memory_bytes(config, len(words)) + OVERHEAD,
        cache_bytes=4 * (stats.kept_tokens + stats.lines),
        model_bytes=saved_bytes(config, len(words)),
        words_per_second=speed,
        training_seconds=stats.kept_tokens * config.epochs / speed,
    )


def measured_speed(config: TrainConfig, vocab: Vocab, *, seconds: float = 0.5) -> float:
    """Return the words per second of the training loop on text drawn from the vocabulary's frequencies."""
    model = EmbeddingModel(replace(config, epochs=1_000_000), vocab)
    model.initialise()
    rng = np.random.default_rng(0)
    tokens = rng.choice(len(vocab), size=100_000, p=vocab.counts / vocab.counts.sum()).astype(np.int32)
    tokens[49::50] = -1
    trainer = Trainer(model, tokens)
    started = time.monotonic()
    last: dict[str, Any] = {}

    def stop(record: Any) -> bool:
        last["speed"] = record.words_per_second
        return time.monotonic() - started > seconds

    trainer.run([stop])
    return max(1.0, float(last["speed"]))


def describe(plan: Plan) -> str:
    """Return the plan as text for people."""
    config, stats = plan.config, plan.stats
    rows = [
        ("model", f"{config.model}, {config.vector_size} dimensions, window {config.window}"),
        ("text", f"{stats.raw_tokens:,} tokens, {stats.raw_types:,} types, {stats.lines:,} lines"),
        (
            "vocabulary",
            f"{plan.n_words:,} words, {stats.kept_tokens / max(1, stats.raw_tokens):.1%} of the tokens",
        ),
        ("parameters", f"{plan.n_parameters:,}"),
        ("memory", f"{size(plan.memory_bytes)} while training"),
        (
            "disk",
            f"{size(plan.cache_bytes)} for the encoded text (twice that for a moment), "
            f"{size(plan.model_bytes)} for the model",
        ),
        (
            "speed",
            f"{plan.words_per_second / 1e6:.2f} M words/s with {config.workers} workers, as just measured",
        ),
        (
            "time",
            f"about {duration(plan.training_seconds)} for {config.epochs} epochs, after reading the text",
        ),
    ]
    return "\n".join(f"{name:<11} {value}" for name, value in rows)


def size(n_bytes: float) -> str:
    """Return a number of bytes for people, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def duration(seconds: float) -> str:
    """Return a time span for people."""
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
