"""The record, the configuration, the settings and the attention logits of a model directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import check_sample, map_npy
from wordvec_ca.formats import map_part, read_metadata
from wordvec_ca.models.config import ResolvedConfig
from wordvec_ca.models.sizes import logits_of
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.models import models_with


def read_record(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` of a model directory and check that this version can use it."""
    record = read_metadata(folder)
    if not isinstance(record.get("config"), dict):
        raise DataError(f"{str(folder / ModelFile.CONFIG)!r} is not the record of a model")
    for name in ("n_words", "raw_tokens", "raw_types"):
        if type(record.get(name, 0)) is not int or record.get(name, 0) < 0:
            raise DataError(
                f"{str(folder / ModelFile.CONFIG)!r}: {name} is {record[name]!r:.80}, not a count"
            )
    return record


def read_config(folder: Path) -> ResolvedConfig:
    """Return the resolved configuration of a model directory."""
    try:
        return ResolvedConfig.from_dict(read_record(folder)["config"])
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"{folder / ModelFile.CONFIG} is damaged: {error}") from error


def read_attention(directory: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention logits of a saved cbow-attn model, memory-mapped."""
    folder = Path(directory)
    record, config = read_record(folder), read_config(folder)
    if not config.spec.attends:
        raise DataError(
            f"{str(folder)!r} is a {config.model} model; these have attention: "
            f"{', '.join(models_with('attends'))}"
        )
    slots, columns = logits_of(config)
    n_words = record.get("n_words", 0)
    words = np.zeros((n_words, 0), np.float32)
    if columns:
        words = read_array(folder / ModelFile.ATTENTION_WORDS, (n_words, columns))
    return words, read_array(folder / ModelFile.ATTENTION_SLOTS, (slots + config.spec.documents,))


def read_tree(path: Path, n_words: int) -> np.ndarray:
    """Return a tree that words have joined; see `wordvec_ca.models.paths.tree_paths`."""
    check_sample(path)
    tree = np.array(map_npy(path))
    whole = tree.shape == (3, n_words) and tree.dtype == np.int64 and tree.min() >= 0
    if whole:
        order = np.argsort(tree[2], kind="stable")
        groups = tree[1][order]
        whole = np.array_equal(tree[2][order], np.arange(n_words)) and groups[0] == 0
        whole = whole and bool(np.isin(np.diff(groups), (0, 1)).all())
    if not whole:
        raise DataError(f"{str(path)!r} is not the tree of {n_words} words: it is damaged")
    return tree


def read_array(path: Path, shape: tuple[int | str, ...]) -> np.ndarray:
    """Memory-map an ``.npy`` file, and check its shape, where a name stands for any size, and its type."""
    array = map_part(path)
    fits = array.ndim == len(shape) and all(
        isinstance(size, str) or n == size for n, size in zip(array.shape, shape, strict=True)
    )
    if not fits or array.dtype != np.float32:
        raise DataError(
            f"{str(path)!r} has shape {array.shape} and type {array.dtype}; expected "
            f"({', '.join(map(str, shape))}), float32"
        )
    return array


def settings_file(settings: Mapping[str, Any]) -> str:
    """Return the content of the file ``run.toml`` of a model directory."""
    lines = [
        f"# Settings of a run of cawv {__version__}. To do it again: cawv train --config run.toml -o NEW",
        "# Options that are not here have their defaults.",
    ]
    if "corpus" not in settings:
        lines.append("# The corpus was not given as files: add it, or give CORPUS on the command line.")
    kept = {}
    for name, value in settings.items():
        try:
            tomli_w.dumps({name: value}).encode()
            kept[name] = value
        except UnicodeEncodeError:
            lines.append(f"# {name} was {value!a}")
    return "\n".join(lines) + "\n\n" + tomli_w.dumps(kept)
