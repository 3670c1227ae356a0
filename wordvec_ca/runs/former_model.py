"""The model from which a run continues: a model directory, or a ``.bin`` of fastText, which is converted."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.formats import FastTextModel, FastTextOptions, read_trainable_fasttext, training_options
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig, read_config, read_record
from wordvec_ca.specs.model_files import ModelFile

END_OF_LINE = b"</s>"


def former_config(path: str | os.PathLike[str]) -> ResolvedConfig:
    """Return the options with which a model was trained."""
    if _is_fasttext(path):
        return ResolvedConfig.of(config_of_fasttext(read_trainable_fasttext(path).options))
    return read_config(Path(path))


def former_vocab(path: str | os.PathLike[str]) -> Vocab:
    """Return the words of a model; of a ``.bin`` without ``</s>``, which does not occur in our texts."""
    if _is_fasttext(path):
        return _vocab(read_trainable_fasttext(path), path)[0]
    record = read_record(Path(path))
    known = Vocab.load(Path(path) / ModelFile.VOCAB)
    known.raw_tokens, known.raw_types = record.get("raw_tokens", 0), record.get("raw_types", 0)
    return known


def former_model(path: str | os.PathLike[str]) -> EmbeddingModel:
    """Return a model with its parameters.

    The conversion of a ``.bin`` does not change the vectors of its words. N-grams that occur in the same
    words get one row, the mean of their rows: fastText gave them the same steps, so they differ only in their
    initial values. Buckets that no word uses, which still have random initial values, are left out.
    """
    if not _is_fasttext(path):
        return EmbeddingModel.load(path)
    found = read_trainable_fasttext(path)
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


def config_of_fasttext(options: FastTextOptions) -> TrainConfig:
    """Convert fastText's options for word vectors to those of this package."""
    try:
        return TrainConfig(**training_options(options))
    except ValueError as error:
        raise DataError(f"the options of this fastText model cannot be used: {error}") from error


def _is_fasttext(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a fastText model, which is a file and not a folder."""
    return Path(path).is_file()


def _vocab(found: FastTextModel, path: str | os.PathLike[str]) -> tuple[Vocab, np.ndarray]:
    """Return the words of a ``.bin``, the most frequent first, and their rows in the file."""
    rows = np.array([i for i in range(found.n_words) if found.words[i] != END_OF_LINE], np.int64)
    rows = rows[np.argsort(-found.counts[rows], kind="stable")]
    try:
        words = [found.words[row].decode("utf-8") for row in rows.tolist()]
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} holds words that are not UTF-8: {error}") from error
    return Vocab(words, np.maximum(found.counts[rows], 1), raw_tokens=max(0, found.n_tokens)), rows
