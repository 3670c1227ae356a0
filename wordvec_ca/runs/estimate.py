"""What a run will need, before it starts: vocabulary, memory, disk and time."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.corpus import Corpus, CorpusStats, DocumentTags, ReadingProgress, Vocab, count_corpus
from wordvec_ca.machine import machine_memory
from wordvec_ca.models import (
    PROCESS_BYTES,
    EmbeddingModel,
    ResolvedConfig,
    check_type,
    memory_bytes,
    n_parameters,
    saved_bytes,
)
from wordvec_ca.runs.warm_start import joint_vocab
from wordvec_ca.showable import duration, size
from wordvec_ca.training import Trainer, parts, pool_bytes, quality_warning, usual_replicas


@dataclass(frozen=True)
class Plan:
    """What a run will need."""

    config: ResolvedConfig  # The resolved configuration
    stats: CorpusStats  # The text, counted exactly
    n_words: int  # Size of the vocabulary
    n_parameters: int  # Number of trained parameters
    replicas: int  # Copies of the parameters that are trained at the same time
    memory_bytes: int  # Anonymous memory during training
    # Size of the encoded text on disk; while it is being written, about twice this size is needed
    cache_bytes: int
    model_bytes: int  # Size of the model directory
    # Words of text per second of all workers together, measured on made-up text with this vocabulary. None if
    # the parameters do not fit into the memory of this machine.
    words_per_second: float | None
    training_seconds: float | None  # Estimate that follows from this speed


def plan(
    corpus: Corpus,
    config: ResolvedConfig,
    *,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    continue_from: str | os.PathLike[str] | None = None,
    no_cache: bool = False,
    progress: ReadingProgress | None = None,
) -> Plan:
    """Count the corpus, measure the speed of the training loop briefly, and estimate what the run will need.

    Nothing is written. Parameters and errors are those of ``train``.
    """
    check_type(config)
    config = ResolvedConfig.of(config)
    if continue_from is None and (warning := config.alpha_warning()):
        warnings.warn(warning, stacklevel=2)
    given = vocab is not None or continue_from is not None
    options = config.text_options()
    if given:
        options = replace(options, min_count=1, max_final_vocab=None)
    words, stats = count_corpus(corpus, options, progress=progress)
    if given:
        found = words
        if continue_from is not None:
            words = joint_vocab(continue_from, found, config)
        elif vocab is not None:
            words = vocab if isinstance(vocab, Vocab) else Vocab.load(Path(vocab))
        kept = sum(n for word, n in zip(found.words, found.counts.tolist(), strict=True) if word in words)
        stats = replace(stats, kept_tokens=kept)
    replicas = usual_replicas(config, len(words), stats.kept_tokens + stats.lines)
    config = replace(config, replicas=replicas)  # as for the whole text, not for the short text that is timed
    fits = memory_bytes(config, len(words), replicas) <= machine_memory()
    speed = measured_speed(config, words, stats.kept_tokens + stats.lines) if fits else None
    return Plan(
        config=config,
        stats=stats,
        n_words=len(words),
        n_parameters=n_parameters(config, len(words)),
        replicas=replicas,
        memory_bytes=memory_bytes(config, len(words), replicas)
        + pool_bytes(len(words), stats.kept_tokens + stats.lines)
        + PROCESS_BYTES,
        cache_bytes=0 if no_cache else 4 * (stats.kept_tokens + stats.lines),
        model_bytes=saved_bytes(config, len(words)),
        words_per_second=speed,
        training_seconds=None
        if speed is None
        else stats.kept_tokens * config.epochs * (config.resamples or 1) / speed,
    )


def measured_speed(config: ResolvedConfig, vocab: Vocab, n_tokens: int, *, seconds: float = 0.5) -> float:
    """Measure the words per second of the training loop, on words drawn at random by frequency; the options
    are those for a text of ``n_tokens``.
    """
    sharing = parts(n_tokens, config)  # as for the whole text, not for the short one
    config = replace(config, negatives="shared" if sharing > 1 else "exact", shared_by=sharing)
    tags = DocumentTags(2_000) if config.spec.documents else None
    model = EmbeddingModel(replace(config, epochs=1_000_000), vocab, tags)
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
    copies = f", {plan.replicas} replicas and their base" if plan.replicas > 1 else ""
    rows = [
        ("model", f"{config.model}, {config.vector_size} dimensions, window {config.window}"),
        ("text", f"{stats.raw_tokens:,} tokens, {stats.raw_types:,} types, {stats.lines:,} lines"),
        (
            "vocabulary",
            f"{plan.n_words:,} words, {stats.kept_tokens / max(1, stats.raw_tokens):.1%} of the tokens",
        ),
        ("parameters", f"{plan.n_parameters:,}"),
        ("memory", f"{size(plan.memory_bytes)} while training{copies}"),
        (
            "disk",
            (
                f"{size(plan.cache_bytes)} for the encoded text (twice that for a moment), "
                if plan.cache_bytes
                else ""
            )
            + f"{size(plan.model_bytes)} for the model",
        ),
    ]
    if (warning := quality_warning(config, plan.replicas)) is not None:
        rows.append(("quality", warning))
    if plan.words_per_second is None or plan.training_seconds is None:
        rows.append(("too large", f"this machine has {size(machine_memory())} of memory: it cannot run here"))
    else:
        speed = f"{plan.words_per_second / 1e6:.2f} M words/s with {config.threads} workers, as just measured"
        time_needed = f"about {duration(plan.training_seconds)} for {config.epochs} epochs"
        if config.resamples:
            time_needed += f" of each of {config.resamples} models"
        rows += [("speed", speed), ("time", f"{time_needed}, after reading the text")]
    return "\n".join(f"{name:<11} {value}" for name, value in rows)
