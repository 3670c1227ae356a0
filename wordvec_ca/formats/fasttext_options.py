"""Converts fastText's options to the names of this package, and back."""

from __future__ import annotations

import os
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.formats.fasttext import (
    CBOW,
    HIERARCHICAL_SOFTMAX,
    LARGEST_OPTION,
    NEGATIVE_SAMPLING,
    SKIPGRAM,
    FastTextModel,
    Options,
    read_model,
)
from wordvec_ca.specs.models import SPECS

MODELS_OF: dict[int, Any] = {spec.fasttext_number: spec.name for spec in SPECS if spec.fasttext_number}
"""fastText's number of a model -> its name in this package; without classifiers."""

NS_EXPONENT = 0.5
"""Exponent of the counts by which fastText draws negatives: their square root."""


def read_trainable_model(path: str | os.PathLike[str]) -> FastTextModel:
    """Read a ``.bin`` model that can be trained further."""
    found = read_model(path)
    if found.options.model not in MODELS_OF or found.options.loss != NEGATIVE_SAMPLING:
        raise DataError(
            f"{os.fspath(path)!r} is a classifier or was trained with another loss than negative sampling "
            "(fastText's -loss ns): it cannot be trained further"
        )
    return found


def training_options(options: Options) -> dict[str, Any]:
    """Return fastText's options for word vectors as arguments of ``TrainConfig``."""
    o, shortest, hs = options, max(1, options.minn), options.loss == HIERARCHICAL_SOFTMAX
    subwords: dict[str, Any] = {}
    if o.bucket > 0 and o.maxn >= shortest:
        subwords = {"subwords": True, "min_n": shortest, "max_n": o.maxn, "buckets": o.bucket}
    return {
        "model": MODELS_OF[o.model],
        "vector_size": o.dim,
        "window": o.ws,
        "negative": 0 if hs else o.neg,
        "hs": hs,
        "ns_exponent": NS_EXPONENT,
        "sample": min(o.t, 1.0),
        "min_count": max(1, o.minCount),
        "tokenizer": "whitespace",
        "lowercase": False,
        **subwords,
    }


def options_of_training(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a training run of this package under fastText's names."""
    config = metadata.get("config")
    if not isinstance(config, dict):
        return {}
    names = {"window": "ws", "epochs": "epoch", "min_count": "minCount", "negative": "neg"}
    found = {
        names[name]: min(config[name], LARGEST_OPTION) for name in names if isinstance(config.get(name), int)
    }
    pairwise = any(spec.name == config.get("model") and spec.pairwise for spec in SPECS)
    found["model"] = SKIPGRAM if pairwise else CBOW
    if config.get("hs") and not config.get("negative"):
        found["loss"] = HIERARCHICAL_SOFTMAX
    return found | ({"t": config["sample"]} if isinstance(config.get("sample"), int | float) else {})
