"""Reads word vectors and options from fastText's ``.bin`` models and writes them (``fasttext.py`` has the
file format).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import OpenedArray
from wordvec_ca.formats.fasttext import (
    CBOW,
    HIERARCHICAL_SOFTMAX,
    LARGEST_OPTION,
    NEGATIVE_SAMPLING,
    SKIPGRAM,
    FastTextModel,
    Options,
    QuantisedRows,
    read_model,
    write_model,
)
from wordvec_ca.formats.text import decode_words, encode_words
from wordvec_ca.specs.models import SPECS
from wordvec_ca.tables import NgramIndex, NgramVectors, VectorTable, config_of


def read_fasttext(path: str | os.PathLike[str], *, errors: str = "strict") -> VectorTable:
    """Read the vectors of words, each composed of the word's own row and the rows of its n-grams."""
    model = read_model(path, quantised=True)
    quantised = isinstance(model.inputs, QuantisedRows)
    if quantised:
        model.inputs = model.inputs[:]
    words = decode_words(model.words[: model.n_words], errors, lambda i: f"{path}, entry {i + 1}")
    ngrams, own_rows = model.ngrams(), model.inputs[: len(words)]
    vectors = np.array(own_rows, np.float32) if ngrams is None else ngrams.vectors_of(words, own_rows)
    metadata = {"fasttext": model.options._asdict(), "raw_tokens": model.n_tokens}
    ngrams = ngrams or NgramVectors(
        NgramIndex(1, 0, 0, np.empty(0, np.uint64), np.empty(0, np.int32)), own_rows
    )
    ngrams.source = None if quantised or model.places is not None else model  # else not written unchanged
    return VectorTable(words, vectors, model.counts[: len(words)], metadata, ngrams)


# Rows of n-grams in a file that is written, if each n-gram of the model has its own row. For 24,000 n-grams,
# vectors of unknown words in the file have cosine .99 with those of the model, with 16 rows for each n-gram
# .97, and with 4 rows .87: n-grams that the model does not know then often meet a row of others.
WRITTEN_BUCKETS = 2_000_000

# Number of words whose rows are made at a time.
BLOCK_WORDS = 8_192


def write_fasttext(
    table: VectorTable,
    path: str | os.PathLike[str],
    *,
    errors: str = "strict",
    overwrite: bool = True,
    buckets: int = WRITTEN_BUCKETS,
) -> None:
    """Write a ``.bin`` model that gives the words the same vectors in fastText and gensim."""
    # Unknown words get the same vectors too if the model has buckets. If each n-gram has a row of its own,
    # the n-grams of one bucket must share a row in the file (their mean), and an n-gram without a row may
    # belong to a bucket that has one. A model read from a ``.bin`` is written back byte for byte.
    ngrams = table.ngrams
    if ngrams is not None:
        ngrams.check_unpublished("fastText")
    words = encode_words(table.words, errors, "fastText")
    source = None if ngrams is None else ngrams.source
    if isinstance(source, FastTextModel) and source.words[: source.n_words] == words:
        write_model(source, path, overwrite=overwrite)
        return
    n, d = table.vectors.shape
    counts = np.ones(n, np.int64) if table.counts is None else np.asarray(table.counts, np.int64)
    options, inputs = Options(d), table.vectors
    if ngrams is not None and ngrams.index.max_n:
        inputs = np.concatenate([table.vectors, ngrams.bucket_rows(buckets)], dtype=np.float32)
        index, bucket = ngrams.index, len(inputs) - n
        options = options._replace(bucket=bucket, minn=index.min_n, maxn=index.max_n)
        composed = NgramVectors(NgramIndex(index.min_n, index.max_n, bucket, None, 0), inputs[n:])
        for at in range(0, n, BLOCK_WORDS):
            _to_own_rows(composed, table.words[at : at + BLOCK_WORDS], inputs[at : min(at + BLOCK_WORDS, n)])
    options = options._replace(**options_of_training(table.metadata))
    outputs = np.zeros((n, d), np.float32)
    if isinstance(source, OpenedArray):  # of a model directory; of several rows of a word, the first
        trained = source.get()
        if trained.shape[0] == n and trained.size % (n * d) == 0:
            outputs = trained.reshape(n, -1, d)[:, 0]
    model = FastTextModel(
        options,
        words,
        counts,
        np.zeros(n, np.int8),
        int(counts.sum()),
        np.asarray(inputs, np.float32),
        outputs,
    )
    write_model(model, path, overwrite=overwrite)


def _to_own_rows(composed: NgramVectors, words: Sequence[str], vectors: np.ndarray) -> None:
    """Replace each vector by the row whose mean with the word's bucket rows is that vector."""
    vectors -= composed.vectors_of(words, np.zeros(vectors.shape, np.float32))
    vectors *= 1 + np.diff(composed.index.rows_of(words)[0])[:, None]


# fastText's number of a model -> its name in this package; without classifiers.
MODELS_OF: dict[int, Any] = {spec.fasttext_number: spec.name for spec in SPECS if spec.fasttext_number}

# Exponent of the counts by which fastText draws negatives: their square root.
NS_EXPONENT = 0.5


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
    if not (config := config_of(metadata)):
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
