"""Reads and writes folders for the Hugging Face Hub: words, vectors, counts and the record of the run.

::

    model.safetensors   the format safetensors of this package: tensors vectors, words, counts
    config.json         the record of the run, and sizes
    tokenizer.json      for the library tokenizers: splits as our tokeniser does; the id of a word is its row
    README.md           the model card
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.files import replacing
from wordvec_ca.formats.model_card import example_words, model_card
from wordvec_ca.formats.safetensors import read_safetensors, write_safetensors
from wordvec_ca.formats.static_embedding import CARD, CONFIG, TENSORS, TOKENIZER
from wordvec_ca.formats.token_pattern import splitting_of
from wordvec_ca.formats.tokenizer_json import tokenizer_json
from wordvec_ca.tables import VectorTable

FILES = {CARD, CONFIG, TENSORS, TOKENIZER}
"""Files of such a folder; a folder with any other file is never replaced."""

_USAGE = (
    "from wordvec_ca import KeyedVectors\n\n"
    'vectors = KeyedVectors.load("{name}")  # the folder, downloaded\n'
    'vectors.most_similar("{word}")'
)


def read_hugging_face(path: str | Path) -> VectorTable:
    """Read the vectors of a folder that `write_hugging_face` made."""
    return read_safetensors(Path(path) / TENSORS)


def write_hugging_face(
    table: VectorTable,
    path: str | Path,
    *,
    dtype: str = "float32",
    evaluation: list[dict[str, Any]] | None = None,
    overwrite: bool = True,
) -> None:
    """Write the folder, completely or not at all; ``KeyedVectors.load`` reads it."""
    splitting = splitting_of(table.metadata, table.words)
    tokenizer = tokenizer_json(table.words, splitting)
    name = Path(path).name
    usage = _USAGE.format(name=name, **example_words(table.words))
    card = model_card(
        table, splitting, name=name, dtype=dtype, library=None, usage=usage, evaluation=evaluation or []
    )
    n_words, vector_size = table.vectors.shape
    config = {
        "model_type": "wordvec_ca",
        "dtype": dtype,
        "n_words": n_words,
        "vector_size": vector_size,
        "tokenizer": splitting.tokenizer,
        "lowercase": splitting.lowercase,
        "wordvec_ca": table.metadata or {"version": __version__},
    }
    with replacing(path, overwrite=overwrite, files=FILES) as folder:
        write_safetensors(table, folder / TENSORS, dtype=dtype)
        (folder / TOKENIZER).write_bytes(tokenizer)
        (folder / CARD).write_text(card, encoding="utf-8")
        (folder / CONFIG).write_text(json.dumps(config, indent=1, default=str) + "\n", encoding="utf-8")
