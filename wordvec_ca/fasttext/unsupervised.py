"""Trains word vectors as fastText does, from its options and an encoded text to a fastText model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.formats import FastTextModel, FastTextOptions
from wordvec_ca.models import EmbeddingModel, ResolvedConfig
from wordvec_ca.runs import config_of_fasttext, progress_display, style_for_python
from wordvec_ca.training import Trainer


def train_fasttext_model(
    options: FastTextOptions,
    words: list[bytes],
    counts: np.ndarray,
    tokens: np.ndarray,
    *,
    n_tokens: int,
    alpha: float,
    workers: int,
    seed: int,
    progress: bool = False,
) -> FastTextModel:
    """Train skip-gram or CBOW vectors with n-grams of characters."""
    config = replace(
        config_of_fasttext(options),
        alpha=alpha,
        epochs=options.epoch,
        workers=workers,
        seed=seed,
        min_count=1,
    )
    names = [word.decode("utf-8", "surrogateescape") for word in words]
    model = EmbeddingModel(ResolvedConfig.of(config), Vocab.as_given(names, counts))
    model.initialise()
    with progress_display(style_for_python() if progress else "none") as (displays, _):
        Trainer(model, tokens).run(displays)
    inputs, places = model.inputs[:, : options.dim], None
    if model.subwords is not None:
        index = model.subwords.index
        assert index.keys is not None
        rows = model.subwords.rows[:, : options.dim]
        inputs = np.concatenate([rows[: len(words)], rows[index.rows]])
        places = np.full(options.bucket, -1, np.int32)
        places[index.keys.astype(np.int64)] = np.arange(len(index.keys))
    outputs = np.zeros_like(inputs[: len(words)]) if config.hs else model.outputs[:, : options.dim]
    return FastTextModel(
        options,
        words,
        counts,
        np.zeros(len(words), np.int8),
        n_tokens,
        np.ascontiguousarray(inputs),
        np.ascontiguousarray(outputs),
        places=places,
    )
