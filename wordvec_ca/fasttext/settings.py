"""fastText's options: their names, their defaults, and which values are allowed."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from wordvec_ca.errors import did_you_mean
from wordvec_ca.formats import LONGEST_NGRAM, MOST_DIMENSIONS, FastTextOptions
from wordvec_ca.kernels import LOSSES
from wordvec_ca.machine import usable_cpus
from wordvec_ca.specs.models import SPECS

# Defaults of ``train_unsupervised``, in the order of its positional arguments after ``input``.
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

AUTOTUNE: dict[str, Any] = {
    "autotuneValidationFile": "",
    "autotuneMetric": "f1",
    "autotunePredictions": 1,
    "autotuneDuration": 300,
    "autotuneModelSize": "",
}

# Defaults of ``train_supervised``, in the order of its positional arguments after ``input``.
SUPERVISED: dict[str, Any] = {
    **{name: value for name, value in UNSUPERVISED.items() if name != "model"},
    **{"lr": 0.1, "minCount": 1, "minn": 0, "maxn": 0, "loss": "softmax"},
    **AUTOTUNE,
}

# Options that a trained model has as attributes.
SHOWN = tuple(name for name in UNSUPERVISED if name not in ("model", "seed"))

SYNONYMS = {
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "lr_update_rate": "lrUpdateRate",
    "label_prefix": "label",
    "pretrained_vectors": "pretrainedVectors",
}

# Largest integer in a model's file, which has 32 bits for each.
LARGEST = 2**31 - 1

_COUNTS = (
    *("ws", "epoch", "minCount", "minCountLabel", "neg", "bucket", "lrUpdateRate", "seed"),
    "autotuneDuration",
)

# The smallest and the largest value of integer options: those that a model file can store.
_WHOLE = {
    **dict.fromkeys(_COUNTS, (0, LARGEST)),
    **dict.fromkeys(("minn", "maxn"), (0, LONGEST_NGRAM)),
    "dim": (1, MOST_DIMENSIONS),
    "wordNgrams": (1, LARGEST),
    "thread": (0, 10_000),
    "verbose": (-LARGEST, LARGEST),
    "autotunePredictions": (-1, LARGEST),
}

# The smallest and the largest value of other numbers.
_FRACTIONS = {"lr": (0.0, 1e6), "t": (0.0, 1e300)}


def settings(
    given: tuple[Any, ...], named: dict[str, Any], defaults: dict[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """Return all options, and the names of those that were given."""
    names = ["input", *defaults]
    found: dict[str, Any] = dict(zip(names, given, strict=False))
    if len(given) > len(names):
        raise TypeError(f"{len(given)} arguments are given; there are {len(names)}")
    for name, value in named.items():
        name = SYNONYMS.get(name, name)
        if name not in names:
            raise TypeError(f"unexpected keyword argument {name!r}.{did_you_mean(name, names)}")
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
    """Return the options for a model's file; ``model`` is fastText's number of the model type."""
    names = (name for name in FastTextOptions._fields if name in every and name not in ("model", "loss"))
    return FastTextOptions(model=model, loss=LOSSES[every["loss"]], **{name: every[name] for name in names})


def _check(every: dict[str, Any]) -> None:
    if every["loss"] not in LOSSES:
        raise ValueError(f"loss is {every['loss']!r}; it must be one of {', '.join(LOSSES)}")
    if not isinstance(every["input"], str | os.PathLike):
        raise TypeError(f"input is a {type(every['input']).__name__}; it must be the path of a file of lines")
    for name, limits in _WHOLE.items():
        if name in every:
            every[name] = whole_number(name, every[name], *limits)
    for name, (least, most) in _FRACTIONS.items():
        value = every[name]
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise TypeError(f"{name} is {value!r}; it must be a number")
        if not least <= value <= most:
            raise ValueError(f"{name} is {value}; it must be from {least:g} to {most:g}")
        every[name] = float(value)
    for name in ("label", "pretrainedVectors"):
        if not isinstance(every[name], str | os.PathLike):
            raise TypeError(f"{name} is {every[name]!r}; it must be a string")
    grams = every["wordNgrams"] > 1 or every["maxn"] > 0
    if grams and every["bucket"] < 1:
        raise ValueError(f"bucket is {every['bucket']}; n-grams need at least 1")


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """Return an option as an integer."""
    try:
        number = operator.index(value)
    except TypeError:
        kind = "a whole number" if isinstance(value, float | np.number) else "a number"
        raise TypeError(f"{name} is {value!r}; it must be {kind}") from None
    if number < least:
        raise ValueError(f"{name} is {number}; it must be at least {least}")
    if number > most:
        raise ValueError(f"{name} is {number}; it must be at most {most}")
    return number
