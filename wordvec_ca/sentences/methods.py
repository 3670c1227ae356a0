"""The methods of sentence vectors: their names, parameters and defaults."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError, Option, OptionError, OptionWarning
from wordvec_ca.sentences.word_vectors import WordVectors
from wordvec_ca.text import check_tokenizer

Method = Literal["auto", "attention", "mean", "idf", "sif", "usif", "ca-sem", "ca-sem-sif"]
Readout = Literal["full", "full-no-oov", "sensitive"]

# Methods that need only vectors.
METHODS: tuple[Method, ...] = ("mean", "idf", "sif", "usif", "ca-sem", "ca-sem-sif")

READOUTS: tuple[Readout, ...] = ("full", "full-no-oov", "sensitive")

# Parameters with a fixed set of values.
ALLOWED: dict[str, tuple[Any, ...]] = {
    "method": ("auto", "attention", *METHODS),
    "readout": READOUTS,
    "frequency": ("auto", None, "idf", "sif", "usif"),
    "attention": (None, True, False),
    "pooling": ("mean", "sum"),
}

# The two methods with chi -> the values of "auto": algorithm 1 of Zeng 2019, without word frequencies; and
# the weights 1 - chi times those of SIF.
CA_SEM: dict[str, dict[str, Any]] = {
    "ca-sem": {"frequency": None, "scale": None, "max_iter": 100},
    "ca-sem-sif": {"frequency": "sif", "scale": 2.0, "max_iter": 20},
}

# Method -> number of common directions that it removes by default; 0 for other methods.
N_COMPONENTS: dict[str, int] = {"attention": 1, "ca-sem-sif": 1, "sif": 1, "usif": 5}


def check_parameters(params: dict[str, Any]) -> None:
    """Raise ValueError if a parameter of a SentenceVectorizer has a value that is not allowed."""
    for name, values in ALLOWED.items():
        if params[name] not in values:
            raise ValueError(f"{name}={params[name]!r}: it must be one of {values}")
    if not params["a"] > 0:
        raise ValueError(f"a={params['a']}: it must be > 0")
    if params["n_components"] is not None and params["n_components"] < 0:
        raise ValueError(f"n_components={params['n_components']}: it must be >= 0 or None")
    if isinstance(params["tokenizer"], str):
        check_tokenizer(params["tokenizer"])
    if isinstance(params["counts"], str) and params["counts"] not in ("auto", "fit"):
        raise ValueError(f"counts={params['counts']!r}: it must be 'auto', 'fit', a mapping or an array")


def choose(
    method: Method, attention: bool | None, vectors: WordVectors
) -> tuple[Method, NDArray[np.float32] | None]:
    """Return the method that "auto" means, and the attention weights of words, if they are used."""
    # The default of attention models was chosen on training pairs (docs/evidence, attention-weights).
    if attention is False:
        if method == "attention":
            raise OptionError(
                Option("method", "attention"),
                " with ",
                Option("attention", False),
                ": take ",
                Option("method", "mean"),
                " for a plain mean",
            )
        return ("ca-sem-sif" if method == "auto" else method), None
    weights: NDArray[np.float32] | None = getattr(vectors, "attention", None)
    if weights is None:
        if attention or method == "attention":
            raise DataError(
                "these vectors carry no attention weights: only the model directory of an attention model "
                "has them (cawv train --model cbow-attn); take another method for these vectors"
            )
        return ("ca-sem-sif" if method == "auto" else method), None
    if method == "mean" and attention is None:
        warnings.warn(
            OptionWarning(
                "the vectors of an attention model are averaged without their attention, so 'the' counts as "
                "much as any word; ",
                Option("method", "attention"),
                " weighs them as they were trained",
            ),
            stacklevel=4,
        )
        return method, None
    return ("usif" if method == "auto" else method), weights
