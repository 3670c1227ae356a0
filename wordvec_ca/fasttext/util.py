"""fastText's module ``fasttext.util``: reduces dimensions, and finds published vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wordvec_ca.fasttext.text_model import TextModel

# Number of rows from which the directions to keep are computed, as in fastText.
SAMPLE = 100_000

ADDRESS = "https://dl.fbaipublicfiles.com/fasttext/vectors-crawl"


def reduce_model(ft_model: TextModel, target_dim: int) -> TextModel:
    """Project the rows of a model on their principal components, in place.

    Returns
    -------
    TextModel
        The same model.

    Raises
    ------
    ValueError
        The model has fewer dimensions, or is quantised.
    """
    dim = ft_model.get_dimension()
    if not 1 <= target_dim <= dim:
        raise ValueError(f"target_dim is {target_dim}; the model has {dim} dimensions")
    inputs = ft_model.get_input_matrix()
    _, directions = np.linalg.eigh(np.cov(inputs[:SAMPLE], rowvar=False).reshape(dim, dim))
    kept = directions[:, ::-1][:, :target_dim].astype(np.float32)
    ft_model.set_matrices(inputs @ kept, ft_model.get_output_matrix() @ kept)
    return ft_model


def download_model(lang_id: str, if_exists: str = "strict", dimension: int | None = None) -> str:
    """Return the file name of a language's vectors in this folder, or raise an error with its source.

    Raises
    ------
    FileNotFoundError
        The file is not in this folder.
    """
    name = f"cc.{lang_id}.300.bin"
    if not os.path.isfile(name):
        raise FileNotFoundError(
            f"{name} is not in this folder, and nothing is downloaded on its own (several GB): "
            f"curl -O {ADDRESS}/{name}.gz && gunzip {name}.gz"
        )
    return name


def test(
    predictions: Iterable[Sequence[str]],
    labels: Iterable[Sequence[str]],
    k: int = 1,  # noqa: PT028 - fastText's name and default
) -> tuple[float, float]:
    """Return the precision and recall of k predicted labels for each line, against the true labels."""
    right = n = n_labels = 0
    for found, gold in zip(predictions, labels, strict=False):
        right += sum(label in gold for label in found)
        n, n_labels = n + 1, n_labels + len(gold)
    return right / (k * n), right / n_labels


test.__test__ = False  # type: ignore[attr-defined]  # not a test for pytest


def find_nearest_neighbor(query: Any, vectors: Any, ban_set: set[int], cossims: Any = None) -> int:
    """Return the row that has the highest dot product with a vector and is not in a set."""
    products = np.matmul(vectors, query, out=cossims)
    return next(int(row) for row in np.argsort(-products, kind="stable") if int(row) not in ban_set)
