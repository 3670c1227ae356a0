"""The mean of the word vectors of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from wordvec_ca.eval.lookup import Vectors, rows_of


def averages(
    vectors: Vectors, sentences: Sequence[Sequence[str]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average the vectors of each sentence's words; a repeated word counts each time."""
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    rows = rows_of(vectors, words)
    used, column = np.unique(rows, return_inverse=True)
    if len(used) and used[0] == -1:
        used, column = used[1:], column - 1
    column_of = dict(zip(words, np.where(rows >= 0, column, -1).tolist(), strict=True))
    columns = [[c for word in sentence if (c := column_of[word]) >= 0] for sentence in sentences]
    known = np.array([len(c) for c in columns], dtype=np.int64)
    flat = np.array([c for each in columns for c in each], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(known)])
    counts = csr_array((np.ones(len(flat), dtype=np.float32), flat, offsets), shape=(len(columns), len(used)))
    matrix = np.array(vectors.vectors[used], dtype=np.float32).reshape(len(used), vectors.vectors.shape[1])
    means = np.asarray(counts @ matrix, dtype=np.float32) / np.maximum(known, 1)[:, None].astype(np.float32)
    return means, known, np.array([len(sentence) for sentence in sentences], dtype=np.int64)
