"""A model directory of re-embedded vectors, which opens like any other model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.sentences.ca_sem import Reembedding
from wordvec_ca.sentences.word_vectors import WordVectors
from wordvec_ca.specs.model_files import ModelFile

REEMBEDDING_FILES = frozenset({"v0.npy", "chi.npy", "counts.npz", "reembedding.json"})
"""Files that re-embedding adds to a model directory."""


def save_reembedded(
    directory: str | Path, vectors: WordVectors, result: Reembedding, *, overwrite: bool = False
) -> None:
    """Write a model directory whose vectors are the context-sensitive parts ``(1 - chi) w'``.

    gensim and ``KeyedVectors.load`` open it like any model. The directory also holds ``v0.npy``, ``chi.npy``
    (float32, one number per word), ``counts.npz`` and ``reembedding.json``. Words without counts get their
    counts in the sentences.

    Parameters
    ----------
    directory : path
        Appears complete or not at all.
    vectors : KeyedVectors
        The word vectors that were re-embedded.
    result : Reembedding
        The result of the re-embedding.
    overwrite : bool
        Replace an existing model directory.

    Raises
    ------
    DataError
        If the directory exists and ``overwrite`` is false, or cannot be written.
    """
    from wordvec_ca.files import escape_lines, replacing, save_npy, write_checksums
    from wordvec_ca.formats import MODEL_FILES, MODEL_FORMAT, write_gensim_index

    known = getattr(vectors, "counts", None)
    counts = result.counts.counts if known is None else np.asarray(known)
    with replacing(directory, overwrite=overwrite, files=MODEL_FILES | REEMBEDDING_FILES) as folder:
        save_npy(folder / ModelFile.VECTORS, result.transform(vectors.vectors))
        save_npy(folder / "chi.npy", result.chi(vectors.vectors))
        result.save(folder, words=vectors.index_to_key)
        words = escape_lines(vectors.index_to_key).split("\n")[:-1]
        lines = "".join(f"{word}\t{count}\n" for word, count in zip(words, counts.tolist(), strict=True))
        (folder / ModelFile.VOCAB).write_bytes(lines.encode("utf-8", "surrogatepass"))
        write_gensim_index(folder, vectors.index_to_key, counts)
        record = {
            "format": MODEL_FORMAT,
            "version": __version__,
            "n_words": len(vectors.index_to_key),
            "vector_size": int(vectors.vectors.shape[1]),
            "reembedded": {
                "iterations": len(result.energies) - 1,
                "best": result.best,
                "energy": float(result.energies[result.best]),
                "norm": float(result.norms[result.best]),
                "n_sentences": result.counts.n_sentences,
                "n_tokens": result.counts.n_tokens,
                "n_oov": result.counts.n_oov,
            },
            "source": getattr(vectors, "metadata", {}),
        }
        (folder / ModelFile.CONFIG).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        write_checksums(folder)
