"""Opens the model of a command, with a notice if its training was cut short, and the index beside it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordvec_ca.cli.output import say
from wordvec_ca.specs.model_files import INDEX_SUFFIX

if TYPE_CHECKING:
    import numpy as np

    from wordvec_ca.vectors import KeyedVectors


def load_vectors(model: str | os.PathLike[str], **options: Any) -> KeyedVectors:
    """Return the vectors of a model, like `KeyedVectors.load`; report on stderr if its run was cut short."""
    from wordvec_ca.vectors import KeyedVectors

    vectors = KeyedVectors.load(model, **options)
    if vectors.metadata.get("interrupted") is True:
        say(_unfinished(os.fspath(model), vectors.metadata.get("trained_fraction")))
    return vectors


def _unfinished(model: str, fraction: Any) -> str:
    from wordvec_ca.runs import REQUEST_FILE, run_folder

    after = f" after {fraction:.1%}" if isinstance(fraction, float) else ""
    more = ""
    if (run_folder(model) / REQUEST_FILE).is_file():
        more = f"; cawv train --resume {shlex.quote(model)} continues it"
    return f"Note: the run of {model!r} was interrupted{after}{more}"


def index_of(model: str | os.PathLike[str]) -> Path:
    """Return the folder of the index of a model."""
    return Path(os.path.normpath(model) + INDEX_SUFFIX)


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


def opened(model: str | os.PathLike[str], vectors: np.ndarray, words: list[str], folder: str) -> Any:
    """Open the index of a model in a given folder."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import ApproximateNeighbours

    if not Path(folder).exists():
        raise DataError(f"there is no index {folder!r}: make it with cawv index {model} -o {folder}")
    return ApproximateNeighbours.load(folder, vectors, words=words)


def faster_index(
    model: str | os.PathLike[str], vectors: np.ndarray, words: list[str] | None = None, *, quiet: bool = False
) -> Any:
    """Open the index of a model if it has one that is of these vectors and faster than comparing them all."""
    # Otherwise return None. If there are very many vectors, suggest to make one.
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import FASTER_FROM, MANY_VECTORS, ApproximateNeighbours

    tell = (lambda told: None) if quiet else say
    place, n = index_of(model), len(vectors)
    if n < FASTER_FROM or not place.exists():
        if n > MANY_VECTORS:
            tell(f"{n:,} vectors, all compared: cawv index {model} makes an index, with which few are")
        return None
    try:
        found = ApproximateNeighbours.load(place, vectors, words=words)
    except DataError as error:  # of another model that had this name, or of another version
        tell(f"{error}. All {n:,} vectors are compared")
        return None
    tell(f"some of {n:,} vectors are compared, those that {place} finds (--exact: all)")
    return found
