"""Hand vectors to gensim: the only module of the core that imports it, and only when called.

gensim keeps an object as a pickle (the index) that names the arrays stored beside it. ``vectors.kv`` here
is such an index made by gensim itself from an object whose matrix has no rows; the rows are already in
``vectors.kv.vectors.npy``, which gensim then maps or reads. So the vectors exist once on the disk and are
never copied in memory, and ``mmap="r"`` works however small the matrix is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.atomic_file import atomic_file, sync_folder
from wordvec_ca.errors import DataError, OutputExistsError
from wordvec_ca.model_directory import is_model_directory, map_array, read_model_directory
from wordvec_ca.vector_table import VectorTable, row_blocks

INDEX = "vectors.kv"


def gensim_is_installed() -> bool:
    """Return whether gensim can be imported."""
    try:
        import gensim.models.keyedvectors  # noqa: F401
    except Exception:  # compiled for another numpy, it raises a ValueError
        return False
    return True


def _gensim_class() -> Any:
    """Return gensim's KeyedVectors, or say how to install gensim."""
    try:
        from gensim.models.keyedvectors import KeyedVectors
    except ImportError as error:
        raise ImportError(
            f"gensim's own format and objects need gensim, which cannot be imported here ({error}); install "
            "it with 'pip install gensim' (it has wheels up to Python 3.13), or choose the format word2vec, "
            "which gensim reads with KeyedVectors.load_word2vec_format"
        ) from error
    return KeyedVectors


def to_gensim(words: Sequence[str], vectors: np.ndarray, counts: np.ndarray | None) -> Any:
    """Return a gensim KeyedVectors that shares the array ``vectors``.

    Parameters
    ----------
    words : sequence of str
    vectors : ndarray of shape (n_words, vector_size), float32
        Not copied: what one side changes, the other sees; a read-only memory map stays read-only.
    counts : ndarray of shape (n_words,), int64, or None
        Becomes ``get_vecattr(word, "count")``.

    Returns
    -------
    gensim.models.KeyedVectors

    Raises
    ------
    ImportError
        gensim is not installed; the message says what to do.
    """
    kv = _gensim_class()(vectors.shape[1], count=0)
    kv.index_to_key = list(words)
    kv.key_to_index = {word: i for i, word in enumerate(kv.index_to_key)}
    kv.next_index = len(kv.index_to_key)
    kv.vectors = vectors
    if counts is not None:
        kv.expandos["count"] = np.array(counts, dtype=np.int64)
    return kv


def write_gensim_index(
    directory: str | os.PathLike[str], words: Sequence[str], counts: np.ndarray | None, *, name: str = INDEX
) -> Path:
    """Write ``directory/vectors.kv`` for an existing ``directory/vectors.kv.vectors.npy``.

    Parameters
    ----------
    directory : path-like
        Where the array is and the index will be.
    words : sequence of str
        One for each row of the array.
    counts : ndarray of shape (n_words,), int64, or None
    name : str
        File name of the index; that of the array is ``name + ".vectors.npy"``.

    Returns
    -------
    Path
        The index, for ``gensim.models.KeyedVectors.load(path, mmap="r")``.

    Raises
    ------
    ImportError
        gensim is not installed.
    DataError
        The array is missing, damaged or has another number of rows than there are words.
    """
    folder = Path(directory)
    array = folder / f"{name}.vectors.npy"
    if not array.is_file():
        raise DataError(f"{array} does not exist; write the vectors there before their index")
    shape = map_array(array).shape
    if shape[0] != len(words):
        raise DataError(f"{array} has {shape[0]} rows, but there are {len(words)} words")
    kv = to_gensim(words, np.zeros((0, shape[1]), dtype=np.float32), counts)
    kv.lifecycle_events = None  # else gensim notes time, machine and the temporary path
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as temporary:
        index = Path(temporary) / name
        kv.save(str(index), separately=["vectors"])  # writes the empty matrix too, to be thrown away
        with open(index, "rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(index, folder / name)
    sync_folder(folder)
    return folder / name


def add_gensim_index(directory: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the index of a model directory that was made where gensim was not installed.

    Raises
    ------
    DataError
        The folder is no model directory, or has an index and ``overwrite`` is false.
    ImportError
        gensim is not installed.
    """
    folder = Path(directory)
    if not is_model_directory(folder):
        raise DataError(f"{folder} is not a model directory; give the output file with -o")
    if (folder / INDEX).exists() and not overwrite:
        raise OutputExistsError(f"{folder / INDEX} exists; allow overwriting (--overwrite) to write it again")
    table = read_model_directory(folder)
    return write_gensim_index(folder, table.words, table.counts)


def write_gensim(table: VectorTable, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write ``path`` (gensim's index) and ``path + ".vectors.npy"`` (the array), for ``KeyedVectors.load``.

    Raises
    ------
    ImportError
        gensim is not installed (nothing is written then).
    """
    _gensim_class()
    target = Path(path)
    if target.suffix in {".gz", ".bz2"}:
        raise DataError(f"{target}: gensim cannot map compressed files; choose a name like vectors.kv")
    array = target.with_name(f"{target.name}.vectors.npy")
    for existing in (target, array):
        if existing.is_dir():
            raise DataError(f"cannot write {existing}: it is a folder; give the name of a file")
        if existing.exists() and not overwrite:
            raise OutputExistsError(
                f"{existing} exists; choose another name or allow overwriting (--overwrite)"
            )
    if not target.parent.is_dir():
        raise DataError(f"cannot write {target}: there is no folder {target.parent}; make it first")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as temporary:
        write_npy(table.vectors, Path(temporary) / array.name)
        write_gensim_index(temporary, table.words, table.counts, name=target.name)
        for made in (array, target):
            os.replace(Path(temporary) / made.name, made)
    sync_folder(target.parent)


def write_npy(vectors: np.ndarray, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a float32 matrix as .npy, block by block and all or nothing."""
    with atomic_file(path, overwrite=overwrite) as stream:
        description = {"descr": "<f4", "fortran_order": False, "shape": tuple(vectors.shape)}
        np.lib.format.write_array_header_1_0(stream, description)
        for rows in row_blocks(vectors):
            stream.write(np.ascontiguousarray(vectors[rows], dtype="<f4").tobytes())
