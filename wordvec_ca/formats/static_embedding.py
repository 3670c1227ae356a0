"""Folders for sentence-transformers and model2vec, which represent a text by the mean of its words' vectors,
and for the Hugging Face Hub.

::

    tokenizer.json       splits as our tokeniser does; the id of a word is its row
    model.safetensors    (n_words + 1, vector_size), the last row, of zeros, for unknown words:
                         sentence-transformers' StaticEmbedding  embedding.weight  F32 or F16
                         model2vec                               embeddings        F32, F16 or I8; with I8
                                                                 weights           F32, the scale of each row
                         the Hub: the format safetensors of this package, with words and counts
    modules.json         what sentence-transformers builds
    config.json          model2vec: its settings;    config_sentence_transformers.json: those of the other;
                         the Hub: the record of the run, and sizes
    README.md            the model card

model2vec's ``mapping``, if there is one, contains the row of each word in ``embeddings``. It is read, but
never written. model2vec leaves unknown words out of the mean; sentence-transformers includes them with a
vector of zeros, so that the mean is shorter but has the same direction. The folders do not contain pickles.
`cawv` reads all three.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import replacing
from wordvec_ca.formats.model_card import example_words, model_card
from wordvec_ca.formats.safetensors import (
    check_dtype,
    map_tensors,
    read_safetensors,
    scaled_rows,
    vector_tensors,
    write_safetensors,
    write_tensors,
)
from wordvec_ca.formats.tokenizer_json import splitting_of, tokenizer_json, words_of_tokenizer
from wordvec_ca.tables import VectorTable

TOKENIZER, TENSORS, MODULES, CARD = "tokenizer.json", "model.safetensors", "modules.json", "README.md"
CONFIG, SETTINGS = "config.json", "config_sentence_transformers.json"
# Files of all kinds of folder; a folder with any other file is never replaced.
FILES = {TOKENIZER, TENSORS, MODULES, CARD, CONFIG, SETTINGS}

# Name of the tensor of vectors for each library.
WEIGHT_NAMES = {"sentence-transformers": "embedding.weight", "model2vec": "embeddings"}

_USAGE = {
    "sentence-transformers": (
        "from sentence_transformers import SentenceTransformer\n\n"
        'model = SentenceTransformer("{name}")\n'
        'model.similarity(model.encode("{word} {other}"), model.encode("{other}"))'
    ),
    "model2vec": (
        "from model2vec import StaticModel\n\n"
        'model = StaticModel.from_pretrained("{name}")\n'
        'model.encode(["{word} {other}", "{other}"])'
    ),
    "wordvec_ca": (
        "from wordvec_ca import KeyedVectors\n\n"
        'vectors = KeyedVectors.load("{name}")  # the folder, downloaded\n'
        'vectors.most_similar("{word}")'
    ),
}


def is_static_folder(path: Path) -> bool:
    """Return whether a folder contains tensors and a tokeniser."""
    return (path / TENSORS).is_file() and (path / TOKENIZER).is_file()


def static_folder_library(path: Path) -> str | None:
    """Return which of the two libraries a folder is for, or None if it is for neither."""
    tensors, _ = map_tensors(path / TENSORS)
    return next((library for library, name in WEIGHT_NAMES.items() if name in tensors), None)


def read_static_folder(path: Path) -> VectorTable:
    """Read a folder of either kind, if its tokens are whole words."""
    if not is_static_folder(path):
        raise DataError(f"{path} has no {TENSORS} or no {TOKENIZER}")
    tensors, _ = map_tensors(path / TENSORS)
    stored = next((tensors[name] for name in WEIGHT_NAMES.values() if name in tensors), None)
    if stored is None or stored.ndim != 2:
        raise DataError(f"{path / TENSORS} has no matrix with one row for each word; it cannot be read here")
    words, unknown = words_of_tokenizer((path / TOKENIZER).read_bytes(), str(path / TOKENIZER))
    if "mapping" in tensors:  # model2vec folders may have fewer rows than words: similar words share a row
        mapping = tensors["mapping"]
        if mapping.dtype.kind not in "iu" or mapping.ndim != 1 or not _within(mapping, len(stored)):
            raise DataError(
                f"{path / TENSORS}: 'mapping' should have a row from 0 to {len(stored) - 1} a word"
            )
        stored = stored[mapping]
    if len(words) != len(stored):
        raise DataError(f"{path}: {TOKENIZER} has {len(words)} words but {TENSORS} has {len(stored)} vectors")
    if "weights" in tensors:
        stored = scaled_rows(stored, tensors["weights"], str(path / TENSORS))
    vectors = stored.astype(np.float32, copy=False)
    if words and words[-1] == unknown:  # without a vector, it is not a word
        last = -1 if not vectors[-1].any() else len(words)
        words, vectors = words[:last], vectors[:last]
    return VectorTable(words, vectors, None, {})


def _within(rows: np.ndarray, n: int) -> bool:
    """Return whether all row numbers are below n and not negative."""
    return not len(rows) or (int(rows.min()) >= 0 and int(rows.max()) < n)


def read_hub_folder(path: str | Path) -> VectorTable:
    """Read the vectors of a folder that was written for the Hugging Face Hub."""
    return read_safetensors(Path(path) / TENSORS)


def write_static_folder(
    table: VectorTable,
    path: str | Path,
    *,
    library: str,
    dtype: str = "float32",
    evaluation: list[dict[str, Any]] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a folder for one of the three libraries, completely or not at all."""
    if dtype == "int8" and library == "sentence-transformers":
        raise DataError(
            "sentence-transformers' own layout has no int8: take float16, or the format model2vec, which "
            "sentence-transformers loads too"
        )
    check_dtype(table, dtype)
    splitting = splitting_of(table.metadata, table.words)
    tokenizer = tokenizer_json(table.words, splitting)
    name, ours = Path(path).name, library == "wordvec_ca"
    usage = _USAGE[library].format(name=name, **example_words(table.words))
    card = model_card(
        table,
        splitting,
        name=name,
        dtype=dtype,
        library=None if ours else library,
        usage=usage,
        evaluation=evaluation or [],
    )
    n_words, size = table.vectors.shape
    origin = {"wordvec_ca": table.metadata or {"version": __version__}}
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}]
    contents: dict[str, Any] = {MODULES: modules}
    if ours:
        config = {"model_type": library, "dtype": dtype, "n_words": n_words, "vector_size": size}
        splits = {"tokenizer": splitting.tokenizer, "lowercase": splitting.lowercase}
        contents = {CONFIG: config | splits | origin}
    elif library == "model2vec":
        contents[CONFIG] = {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": size,
            "seq_length": 1_000_000,
            "max_length": None,  # texts are not truncated
            "normalize": False,
            "embedding_dtype": dtype,
            **origin,
        }
    else:
        config = {"model_type": "SentenceTransformer", "similarity_fn_name": "cosine"}
        contents[SETTINGS] = {**config, "prompts": {}, "default_prompt_name": None}
    with replacing(path, overwrite=overwrite, files=FILES) as folder:
        if ours:  # words and counts are in the file too: nothing is lost on the way back
            write_safetensors(table, folder / TENSORS, dtype=dtype)
        else:
            tensors = vector_tensors(table, WEIGHT_NAMES[library], dtype, "weights")
            rows = [tensor.with_row_of_zeros() for tensor in tensors]
            write_tensors(rows, folder / TENSORS, {"format": "pt"})
        (folder / TOKENIZER).write_bytes(tokenizer)
        (folder / CARD).write_text(card, encoding="utf-8")
        for file, content in contents.items():
            (folder / file).write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
