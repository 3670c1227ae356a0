"""The path of the index that ``cawv index`` makes, and how ``nn`` and ``search`` open or suggest it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.output import say

if TYPE_CHECKING:
    import numpy as np


def index_of(model: str | os.PathLike[str]) -> Path:
    """Return the folder of the index of a model."""
    return Path(f"{os.path.normpath(model)}.cawv-neighbours")


def rows_of(model: str, form: str | None = None) -> np.ndarray:
    """Return the vectors of a model in the form that ``--vectors`` names, or the sentence vectors of a
    search index.
    """
    from wordvec_ca.files import map_npy
    from wordvec_ca.sentences import read_index_record

    if (Path(model) / "offsets.npy").is_file():
        read_index_record(model)
        return map_npy(Path(model) / "vectors.npy")
    return load_vectors(model, vectors=form).vectors


def opened(
    model: str | os.PathLike[str],
    vectors: np.ndarray,
    words: list[str] | None = None,
    folder: str | None = None,
) -> Any:
    """Open the index of a model, in the given folder or, by default, in its usual place."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import ApproximateNeighbours

    place = index_of(model) if folder is None else Path(folder)
    if not place.exists():
        output = "" if folder is None else f" -o {folder}"
        raise DataError(f"there is no index {str(place)!r}: make it with cawv index {model}{output}")
    return ApproximateNeighbours.load(place, vectors, words=words)


def offer(model: str | os.PathLike[str], n_vectors: int) -> None:
    """Suggest an approximate search to the user if there are many vectors."""
    from wordvec_ca.vectors import MANY_VECTORS

    if n_vectors > MANY_VECTORS:
        say(
            f"{n_vectors:,} vectors, all compared: cawv index {model} makes an index, with which "
            "--approximate looks at few"
        )
