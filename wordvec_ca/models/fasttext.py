"""Converts a fastText ``.bin`` to a model of this package, so that it can be trained further."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.formats import FastTextModel, FastTextOptions, read_fasttext_model
from wordvec_ca.models.config import TrainConfig
from wordvec_ca.models.parameters import EmbeddingModel
from wordvec_ca.specs.models import SPECS

END_OF_LINE = b"</s>"

MODELS_OF: dict[int, Any] = {spec.fasttext_number: spec.name for spec in SPECS if spec.fasttext_number}
"""fastText's number of a model -> its name here."""

HIERARCHICAL_SOFTMAX, NEGATIVE_SAMPLING = 1, 2

NS_EXPONENT = 0.5
"""Negatives of fastText are drawn in proportion to the root of their counts."""


def is_fasttext(path: str | os.PathLike[str]) -> bool:
    """Return whether the model to continue from is a fastText model, that is, a file and not a folder."""
    return Path(path).is_file()


def fasttext_config(path: str | os.PathLike[str]) -> TrainConfig:
    """Return the options with which a ``.bin`` was trained.

    Raises
    ------
    DataError
        The file cannot be read, or the model is a classifier or was trained with another loss than negative
        sampling.
    """
    return config_of_fasttext(_readable(path).options)


def fasttext_vocab(path: str | os.PathLike[str]) -> Vocab:
    """Return the words of a ``.bin`` without ``</s>``, which no text of ours has."""
    return _vocab(_readable(path), path)[0]


def config_of_fasttext(options: FastTextOptions) -> TrainConfig:
    """Convert fastText's options for word vectors to those of this package.

    Raises
    ------
    DataError
        A value is outside the limits of this package.
    """
    o, shortest, hs = options, max(1, options.minn), options.loss == HIERARCHICAL_SOFTMAX
    subwords: dict[str, Any] = {}
    if o.bucket > 0 and o.maxn >= shortest:
        subwords = {"subwords": True, "min_n": shortest, "max_n": o.maxn, "buckets": o.bucket}
    try:
        return TrainConfig(
            model=MODELS_OF[o.model],
            vector_size=o.dim,
            window=o.ws,
            negative=0 if hs else o.neg,
            hs=hs,
            ns_exponent=NS_EXPONENT,
            sample=min(o.t, 1.0),
            min_count=max(1, o.minCount),
            tokenizer="whitespace",
            lowercase=False,
            **subwords,
        )
    except ValueError as error:
        raise DataError(f"the options of this fastText model cannot be used: {error}") from error


def model_of_fasttext(path: str | os.PathLike[str]) -> EmbeddingModel:
    """Return the words, rows and outputs of a ``.bin`` as a model.

    The vectors of its words are the same. N-grams that occur in the same words get one row, the mean of
    theirs: fastText gave them the same steps, so they differ only in their initial values. Buckets that no
    word uses, which still have their random initial values, are left out.

    Raises
    ------
    DataError
        As from ``fasttext_config``.
    """
    found = _readable(path)
    vocab, rows = _vocab(found, path)
    model = EmbeddingModel(config_of_fasttext(found.options), vocab)
    size = found.options.dim
    model.outputs[:, :size] = found.outputs[rows]
    if model.subwords is None:
        model.inputs[:, :size] = found.inputs[rows]
    else:
        keys = model.subwords.index.keys
        assert keys is not None
        of_buckets = np.asarray(found.inputs[found.n_words + keys.astype(np.int64)])
        words = np.arange(len(vocab))
        model.subwords.begin_with(words, np.asarray(found.inputs[rows]), np.arange(len(keys)), of_buckets)
        model.compose()
    return model


def _readable(path: str | os.PathLike[str]) -> FastTextModel:
    found = read_fasttext_model(path)
    options = found.options
    if options.model not in MODELS_OF or options.loss != NEGATIVE_SAMPLING:
        raise DataError(
            f"{os.fspath(path)!r} is a classifier or was trained with another loss than negative sampling "
            "(fastText's -loss ns): it cannot be trained further"
        )
    return found


def _vocab(found: FastTextModel, path: str | os.PathLike[str]) -> tuple[Vocab, np.ndarray]:
    """Return the words, the most frequent first, and their rows in the file."""
    rows = np.array([i for i in range(found.n_words) if found.words[i] != END_OF_LINE], np.int64)
    rows = rows[np.argsort(-found.counts[rows], kind="stable")]
    try:
        words = [found.words[row].decode("utf-8") for row in rows.tolist()]
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} holds words that are not UTF-8: {error}") from error
    return Vocab(words, np.maximum(found.counts[rows], 1), raw_tokens=max(0, found.n_tokens)), rows
