"""Reads word vectors from fastText's ``.bin`` models and writes them (``fasttext.py`` has the file
format).
"""

from __future__ import annotations

import os

import numpy as np

from wordvec_ca.files import OpenedArray
from wordvec_ca.formats.fasttext import FastTextModel, Options, read_model, write_model
from wordvec_ca.formats.fasttext_options import options_of_training
from wordvec_ca.formats.product_codes import QuantisedRows
from wordvec_ca.formats.text import encode_words, not_utf8
from wordvec_ca.tables import NgramIndex, NgramVectors, VectorTable


def read_fasttext(
    path: str | os.PathLike[str], *, errors: str = "strict", source: str | None = None
) -> VectorTable:
    """Read the vectors of words, each composed of the word's own row and the rows of its n-grams."""
    name = source or str(path)
    model = read_model(path, source=name, quantised=True)
    quantised = isinstance(model.inputs, QuantisedRows)
    if quantised:
        model.inputs = model.inputs[:]
    words = []
    for i, word in enumerate(model.words[: model.n_words]):
        try:
            words.append(word.decode("utf-8", errors))
        except UnicodeDecodeError as error:
            raise not_utf8(word, f"{name}, entry {i + 1}") from error
    ngrams, own_rows = model.ngrams(), model.inputs[: len(words)]
    vectors = np.array(own_rows, np.float32) if ngrams is None else ngrams.vectors_of(words, own_rows)
    metadata = {"fasttext": model.options._asdict(), "raw_tokens": model.n_tokens}
    ngrams = ngrams or NgramVectors(
        NgramIndex(1, 0, 0, np.empty(0, np.uint64), np.empty(0, np.int32)), own_rows
    )
    ngrams.source = None if quantised or model.places is not None else model  # else not written unchanged
    return VectorTable(words, vectors, model.counts[: len(words)], metadata, ngrams)


def write_fasttext(
    table: VectorTable,
    path: str | os.PathLike[str],
    *,
    errors: str = "strict",
    overwrite: bool = True,
    buckets: int = 2_000_000,
) -> None:
    """Write a ``.bin`` model that gives the words the same vectors in fastText and gensim.

    Unknown words get the same vectors too if the model has buckets. If each n-gram has a row of its own, the
    n-grams of one bucket must share a row in the file (their mean), and an n-gram without a row may belong to
    a bucket that has one. A model read from a ``.bin`` is written back byte for byte.
    """
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
        bucket_rows = ngrams.bucket_rows(buckets)
        options = options._replace(bucket=len(bucket_rows), minn=ngrams.index.min_n, maxn=ngrams.index.max_n)
        inputs = np.concatenate([_own_rows(table, bucket_rows), bucket_rows])
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


def _own_rows(table: VectorTable, bucket_rows: np.ndarray) -> np.ndarray:
    """Return a row for each word such that the mean of it and the word's bucket rows is the word's vector."""
    assert table.ngrams is not None
    index = table.ngrams.index
    buckets = NgramIndex(index.min_n, index.max_n, len(bucket_rows), None, 0)
    zeros = np.zeros(table.vectors.shape, np.float32)
    means = NgramVectors(buckets, bucket_rows).vectors_of(table.words, zeros)
    numbers = 1 + np.diff(buckets.rows_of(table.words)[0])
    return np.asarray((table.vectors - means) * numbers[:, None], np.float32)
