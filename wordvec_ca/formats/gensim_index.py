"""Writes the index file from which gensim loads vectors, and makes gensim's objects.

gensim keeps an object as a pickle (the index) that names the arrays stored beside it. ``vectors.kv`` here
is such an index for the matrix in ``vectors.kv.vectors.npy``, which gensim then maps or reads. So the vectors
are stored only once on the disk and are not copied in memory, and ``mmap="r"`` works for a matrix of any
size. The index is written without gensim: importing it takes a second, a tenth of a short training run. This
is the only module of the core that imports gensim, and only for its objects.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from wordvec_ca.errors import DataError, Option, OutputExistsError
from wordvec_ca.files import (
    atomic_file,
    check_files,
    read_checksums,
    replacing_files,
    save_npy,
    write_checksums,
)
from wordvec_ca.formats.model_directory import is_model_directory, map_array, read_model_directory
from wordvec_ca.machine import out_of_addresses
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.tables import VectorTable


def _gensim_class() -> Any:
    """Return gensim's KeyedVectors, or say how to install gensim."""
    try:
        from gensim.models.keyedvectors import KeyedVectors
    except ImportError as error:
        if out_of_addresses(error):
            raise
        raise ImportError(
            f"gensim's own format and objects need gensim, which cannot be imported here ({error}); install "
            "it with 'pip install gensim' (it has wheels up to Python 3.13), or choose the format word2vec, "
            "which gensim reads with KeyedVectors.load_word2vec_format"
        ) from error
    return KeyedVectors


def to_gensim(words: Sequence[str], vectors: np.ndarray, counts: np.ndarray | None) -> Any:
    """Return a gensim KeyedVectors that shares the array ``vectors``."""
    kv = _gensim_class()(vectors.shape[1], count=0)
    kv.index_to_key = list(words)
    kv.key_to_index = {word: i for i, word in enumerate(kv.index_to_key)}
    kv.next_index = len(kv.index_to_key)
    kv.vectors = vectors
    if counts is not None:
        kv.expandos["count"] = np.array(counts, dtype=np.int64)
    return kv


def write_gensim_index(
    directory: str | os.PathLike[str],
    words: Sequence[str],
    counts: np.ndarray | None,
    *,
    name: str = ModelFile.INDEX,
) -> Path:
    """Write ``directory/vectors.kv`` for an existing ``directory/vectors.kv.vectors.npy``."""
    folder = Path(directory)
    array = folder / f"{name}.vectors.npy"
    if not array.is_file():
        raise DataError(f"{array} does not exist; write the vectors there before their index")
    shape = map_array(array).shape
    if shape[0] != len(words):
        raise DataError(f"{array} has {shape[0]} rows, but there are {len(words)} words")
    # atomic, because a reader may have the index of an earlier model open
    with atomic_file(folder / name, follow_links=False) as stream:
        _pickle_index(stream, words, shape[1], counts)
    return folder / name


def _pickle_index(
    stream: IO[bytes], words: Sequence[str], vector_size: int, counts: np.ndarray | None
) -> None:
    """Write the same pickle as gensim 4's ``KeyedVectors.save(path, separately=["vectors"])``."""
    words = list(words)
    state = {
        "vector_size": vector_size,
        "index_to_key": words,
        "next_index": len(words),
        "key_to_index": {word: i for i, word in enumerate(words)},
        "norms": None,
        "expandos": {} if counts is None else {"count": np.array(counts, dtype=np.int64)},
        "mapfile_path": None,
        "lifecycle_events": None,  # gensim would record time, machine and path here
        "__numpys": ["vectors"],
        "__scipys": [],
        "__ignoreds": [],
        "__recursive_saveloads": [],
    }
    # A pickler imports the class of an object to check its name. The opcodes of an object whose class has not
    # been imported are written by hand; they use no memo, so that the numbers in the state's own pickle hold.
    module, name = b"gensim.models.keyedvectors", b"KeyedVectors"
    head = pickle.PROTO + b"\x04"
    made = b"".join(pickle.SHORT_BINUNICODE + bytes([len(text)]) + text for text in (module, name))
    made += pickle.STACK_GLOBAL + pickle.EMPTY_TUPLE + pickle.NEWOBJ
    pickled = pickle.dumps(state, protocol=4)
    assert pickled.startswith(head)
    stream.write(head + made)
    stream.write(memoryview(pickled)[len(head) : -len(pickle.STOP)])
    stream.write(pickle.BUILD + pickle.STOP)


def add_gensim_index(directory: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the index of a model directory that has none."""
    folder = Path(directory)
    if not is_model_directory(folder):
        raise DataError(f"{folder} is not a model directory; give the output file with -o")
    if (folder / ModelFile.INDEX).exists() and not overwrite:
        raise OutputExistsError(
            f"{folder / ModelFile.INDEX} exists; ", Option("overwrite", True), " writes it again"
        )
    table = read_model_directory(folder)
    index = write_gensim_index(folder, table.words, table.counts)
    if read_checksums(folder):
        write_checksums(folder, [index.name])
    return index


def write_gensim(table: VectorTable, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write gensim's index to ``path`` and the array to ``path + ".vectors.npy"``."""
    target = Path(path)
    if target.suffix in {".gz", ".bz2"}:
        raise DataError(f"{target}: gensim cannot map compressed files; choose a name like vectors.kv")
    array = target.with_name(f"{target.name}.vectors.npy")
    check_files(target, array, overwrite=overwrite)
    # the index comes last: it is what gensim loads, so the arrays are complete when it appears
    with replacing_files(target.parent, last=target.name) as made:
        save_npy(made / array.name, table.vectors, np.float32)
        write_gensim_index(made, table.words, table.counts, name=target.name)


# Attributes that gensim makes itself, or that a file cannot hold.
_NOT_COPIED = {"wv", "dv", "random", "hashfxn", "raw_vocab", "callbacks", "load"}


def write_gensim_model(kind: str, ours: Any, path: str | os.PathLike[str]) -> None:
    """Let gensim write an object of its class ``kind`` with our attributes, which it can load and train."""
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        wrong = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise DataError(f"cannot write {target}: {wrong}; give the name of a file in a folder that exists")
    theirs = _gensim_object(kind, ours)
    with replacing_files(target.parent, last=target.name) as made:
        theirs.save(str(made / target.name))


def _gensim_object(kind: str, ours: Any) -> Any:
    """Return an object of gensim's class ``kind``, with the attributes that it has and ours has, too."""
    _gensim_class()
    from gensim.models import doc2vec, fasttext, word2vec

    cls = next(getattr(module, kind) for module in (word2vec, fasttext, doc2vec) if hasattr(module, kind))
    if not cls.__module__.startswith("gensim."):  # a pickle names a class, which would be ours
        raise DataError(
            f"gensim.models.{kind} is {cls.__module__}.{kind} in this program, so gensim cannot write its "
            "own class: use save(), and call save_for_gensim in a program that does not replace gensim"
        )
    if getattr(ours, "dm_concat", 0):
        raise DataError(
            "gensim trains with dm_concat only if there is a null word, which this model has not: use save()"
        )
    of_ngrams = {name: getattr(ours, name) for name in ("min_n", "max_n", "bucket") if name in vars(ours)}
    theirs = cls(vector_size=ours.vector_size, **of_ngrams)
    for name in (vars(theirs).keys() & vars(ours).keys()) - _NOT_COPIED:
        value = getattr(ours, name)
        setattr(theirs, name, np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value)
    if hasattr(theirs, "index_to_key"):
        theirs.expandos = {n: values for n, values in ours.expandos.items() if values.dtype != object}
        if "sample_int" in theirs.expandos:  # gensim's compiled code reads 32 bits
            theirs.expandos["sample_int"] = np.asarray(theirs.expandos["sample_int"], np.uint32)
        theirs.vectors_lockf = np.ones(1, np.float32)
        if kind == "FastTextKeyedVectors":
            theirs.recalc_char_ngram_buckets()
        return theirs
    theirs.layer1_size = ours.layer1_size
    for name in ("syn1neg", "syn1"):
        if hasattr(ours, name):
            setattr(theirs, name, np.ascontiguousarray(getattr(ours, name)))
    theirs.wv = _gensim_object("FastTextKeyedVectors" if kind == "FastText" else "KeyedVectors", ours.wv)
    if kind == "Doc2Vec":
        theirs.dv = _gensim_object("KeyedVectors", ours.dv)
    if theirs.negative:
        theirs.make_cum_table()
    if theirs.hs:
        theirs.create_binary_tree()
    return theirs
