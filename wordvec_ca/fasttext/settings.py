"""fastText's options: their names, their defaults, and which values are allowed."""

from __future__ import annotations

import difflib
import os
from typing import Any

import numpy as np

from wordvec_ca.kernels import LOSSES
from wordvec_ca.machine import usable_cpus
from wordvec_ca.specs.models import SPECS
from wordvec_ca.vectors import FastTextOptions

UNSUPERVISED: dict[str, Any] = {
    "model": next(spec.name for spec in SPECS if spec.fasttext_number == 2),
    "lr": 0.05,
    "dim": 100,
    "ws": 5,
    "epoch": 5,
    "minCount": 5,
    "minCountLabel": 0,
    "minn": 3,
    "maxn": 6,
    "neg": 5,
    "wordNgrams": 1,
    "loss": "ns",
    "bucket": 2_000_000,
    "thread": max(1, usable_cpus() - 1),
    "lrUpdateRate": 100,
    "t": 1e-4,
    "label": "__label__",
    "verbose": 2,
    "pretrainedVectors": "",
    "seed": 0,
}
"""Defaults of ``train_unsupervised``, in the order of its positional arguments behind ``input``."""

AUTOTUNE: dict[str, Any] = {
    "autotuneValidationFile": "",
    "autotuneMetric": "f1",
    "autotunePredictions": 1,
    "autotuneDuration": 300,
    "autotuneModelSize": "",
}

SUPERVISED: dict[str, Any] = {
    **{name: value for name, value in UNSUPERVISED.items() if name != "model"},
    **{"lr": 0.1, "minCount": 1, "minn": 0, "maxn": 0, "loss": "softmax"},
    **AUTOTUNE,
}
"""Defaults of ``train_supervised``, in the order of its positional arguments behind ``input``."""

SHOWN = tuple(name for name in UNSUPERVISED if name not in ("model", "seed"))
"""Options that a trained model shows as attributes."""

SYNONYMS = {
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "lr_update_rate": "lrUpdateRate",
    "label_prefix": "label",
    "pretrained_vectors": "pretrainedVectors",
}

_LEAST = {
    "dim": 1,
    "epoch": 0,
    "minCount": 0,
    "minCountLabel": 0,
    "minn": 0,
    "maxn": 0,
    "neg": 0,
    "wordNgrams": 1,
}


def settings(
    given: tuple[Any, ...], named: dict[str, Any], defaults: dict[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Return all options, and the names of those that were given.

    Raises
    ------
    TypeError
        A name is unknown, given twice, or ``input`` is missing.
    ValueError
        A value is not allowed.
    """
    names = ["input", *defaults]
    found: dict[str, Any] = dict(zip(names, given, strict=False))
    if len(given) > len(names):
        raise TypeError(f"{len(given)} arguments are given; there are {len(names)}")
    for name, value in named.items():
        name = SYNONYMS.get(name, name)
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f". Did you mean {close[0]}?" if close else ""
            raise TypeError(f"unexpected keyword argument {name!r}{hint}")
        if name in found:
            raise TypeError(f"multiple values for argument {name!r}")
        found[name] = value
    if "input" not in found:
        raise TypeError("input, the file to train on, is missing")
    every = {**defaults, **found}
    _check(every)
    if every["wordNgrams"] <= 1 and every["maxn"] == 0:
        every["bucket"] = 0
    return every, set(found)


def stored_options(every: dict[str, Any], model: int) -> FastTextOptions:
    """Return the options that the file of a model holds; ``model`` is fastText's number."""
    names = (name for name in FastTextOptions._fields if name in every and name not in ("model", "loss"))
    return FastTextOptions(model=model, loss=LOSSES[every["loss"]], **{name: every[name] for name in names})


def _check(every: dict[str, Any]) -> None:
    if every["loss"] not in LOSSES:
        raise ValueError(f"loss is {every['loss']!r}; it must be one of {', '.join(LOSSES)}")
    if not isinstance(every["input"], str | os.PathLike):
        raise TypeError(f"input is a {type(every['input']).__name__}; it must be the path of a file of lines")
    for name, usual in SUPERVISED.items():
        value = every.get(name, usual)
        if isinstance(usual, int | float) and not isinstance(value, int | float | np.number):
            raise TypeError(f"{name} is {value!r}; it must be a number")
    for name, least in _LEAST.items():
        if every[name] < least:
            raise ValueError(f"{name} is {every[name]}; it must be at least {least}")
    grams = every["wordNgrams"] > 1 or every["maxn"] > 0
    if grams and every["bucket"] < 1:
        raise ValueError(f"bucket is {every['bucket']}; n-grams need at least 1")
