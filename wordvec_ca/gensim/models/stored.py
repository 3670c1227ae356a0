"""Models and vectors on disk: one memory-mapped safetensors file, no pickle; gensim's files are read too.

Classes of other packages, such as compress-fasttext's, extend ours and keep codes in place of vectors. Such
an object is stored as its attributes, and restored without a call of any function. A file can name only
classes of one package, the package of the class whose ``load`` reads it, and only classes that are imported.

The file holds the arrays, the keys, and the other attributes as JSON. Attributes that JSON cannot hold
(functions, objects) are left out; ``pickle`` keeps them.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import write_errors
from wordvec_ca.formats import map_tensors, read_gensim_state, read_vectors, write_arrays, write_gensim_model
from wordvec_ca.gensim.models.keys import KeyTable
from wordvec_ca.tables import check_trained

logger = logging.getLogger(__name__)

Table = TypeVar("Table", bound=KeyTable)

# Attributes that are stored in another way, or computed again.
LEFT_OUT = {
    "hashfxn",
    "wv",
    "index_to_key",
    "key_to_index",
    "expandos",
    "norms",
    "random",
    "cum_table",
    "raw_vocab",
    "load",
}

# Attributes that may hold codes in place of an array.
ROWS = ("vectors", "vectors_ngrams")

# Attributes of keys that follow from their counts.
OF_THE_TREE = {"code", "point"}


def save(thing: Any, target: Any) -> None:
    """Write a ``Word2Vec`` or ``KeyedVectors`` to a path or a binary file."""
    vectors = getattr(thing, "wv", thing)
    package = package_of(type(vectors))
    tensors: dict[str, np.ndarray] = {}
    coded: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    objects = {"": vectors} if vectors is thing else {"wv.": vectors, "": thing}
    for prefix, each in objects.items():
        for name, value in vars(each).items():
            if name in LEFT_OUT or name.startswith("_") or (each is thing and name == "dv"):
                continue
            if each is vectors and name in ROWS and value is not None and not isinstance(value, np.ndarray):
                coded[name] = to_parts(value, name, package, tensors)
            elif isinstance(value, np.ndarray) and value.dtype != object:
                tensors["vectors" if each is vectors and name == "vectors" else prefix + name] = value
            elif _in_json(value):
                attributes[prefix + name] = value
            else:
                logger.warning("%s is not saved: it is a %s, use pickle for it", name, type(value).__name__)
    texts = {}
    for name, values in vectors.expandos.items():
        if values.dtype != object:
            tensors["counts" if name == "count" else f"expandos.{name}"] = values
        elif name not in OF_THE_TREE and _in_json(values.tolist()):
            texts[name] = values.tolist()
    keys = vectors.index_to_key
    numbers = np.array([isinstance(key, int | np.integer) for key in keys], bool)
    odd = [
        key
        for key, is_number in zip(keys, numbers, strict=True)
        if not is_number and not isinstance(key, str)
    ]
    if odd:
        raise DataError(
            f"the key {odd[0]!r} is a {type(odd[0]).__name__}: only str and int are saved; use pickle"
        )
    if numbers.any():
        tensors["key_is_int"] = numbers
    metadata = {
        "class": "KeyedVectors" if vectors is thing else "Word2Vec",
        "attributes": json.dumps(attributes),
        "texts": json.dumps(texts),
    }
    if (documents := getattr(thing, "dv", None)) is not None:
        _put_documents(documents, tensors)
    if coded:
        metadata["coded"] = json.dumps(coded)
        tensors.setdefault("vectors", np.zeros((len(keys), 0), np.float32))
    words = [str(key) for key in keys]
    if not hasattr(target, "write"):
        with write_errors(target):
            write_arrays(tensors, words, Path(target), metadata)
        return
    with tempfile.TemporaryDirectory() as folder:
        with write_errors(Path(folder) / "model"):
            write_arrays(tensors, words, Path(folder) / "model", metadata)
        with open(Path(folder) / "model", "rb") as file:
            shutil.copyfileobj(file, target)


def _put_documents(documents: Any, tensors: dict[str, np.ndarray]) -> None:
    """Add the vectors of documents, their tags as JSON, and their counts."""
    try:
        tags = [key if isinstance(key, str) else int(key) for key in documents.index_to_key]
    except (TypeError, ValueError) as error:
        raise DataError(f"a tag of a document cannot be saved: {error}; only str and int are") from error
    tensors["dv.vectors"] = documents.vectors
    if tags != list(range(len(tags))):
        tensors["dv.index_to_key"] = np.frombuffer(json.dumps(tags).encode(), np.uint8)
    for name, values in documents.expandos.items():
        if values.dtype != object:
            tensors[f"dv.expandos.{name}"] = values


def _documents_from(tensors: dict[str, np.ndarray], path: Path) -> dict[str, Any] | None:
    """Remove what `_put_documents` wrote from the tensors and return it; None if they do not have it."""
    found = {name: tensors.pop(name) for name in list(tensors) if name.startswith("dv.")}
    if "dv.vectors" not in found:
        return None
    names = found.get("dv.index_to_key")
    try:
        tags = list(range(len(found["dv.vectors"]))) if names is None else json.loads(bytes(names))
    except (RecursionError, ValueError) as error:
        raise DataError(f"{path}: the tags of the documents are damaged: {error}") from error
    head = "dv.expandos."
    counted = {name.removeprefix(head): values for name, values in found.items() if name.startswith(head)}
    return {"vectors": found["dv.vectors"], "index_to_key": tags, "expandos": counted}


def _in_json(value: Any) -> bool:
    """Return whether a value survives conversion to JSON and back."""
    try:
        return bool(json.loads(json.dumps(value)) == (list(value) if isinstance(value, tuple) else value))
    except (TypeError, ValueError, RecursionError):
        return False


def load(
    fname: str | os.PathLike[str], mmap: str | None = None, package: str = ""
) -> tuple[str, dict[str, Any]]:
    """Return the class and the attributes of a stored object; a model's vectors are a dictionary too."""
    path = Path(fname)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {os.fspath(fname)!r}")
    with open(path, "rb") if path.is_file() else open(os.devnull, "rb") as file:
        head = file.read(9)
    if head[8:] == b"{":
        kind, state = _read_own(path, package)
    elif head[:1] == b"\x80" or head[:4] == b"ccop":
        kind, state = read_gensim_state(path)
        kind = "Word2Vec" if "wv" in state or "Keyed" not in kind else "KeyedVectors"
    else:
        kind, state = "KeyedVectors", {}
    if not state:
        table = read_vectors(path)
        check_trained(table.metadata, os.fspath(path))
        expandos = {} if table.counts is None else {"count": table.counts}
        state = {"vectors": table.vectors, "index_to_key": table.words, "expandos": expandos}
    return kind, state if mmap else _in_memory(state)


def _in_memory(value: Any) -> Any:
    """Return writable copies of read-only arrays."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else np.array(value)
    return {key: _in_memory(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _read_own(path: Path, package: str) -> tuple[str, dict[str, Any]]:
    """Return class and attributes from a file that ``save`` wrote; no attributes for any other file."""
    tensors, metadata = map_tensors(path)
    if not isinstance(metadata, dict) or "class" not in metadata:
        return "KeyedVectors", {}
    keys: list[Any] = list(read_vectors(path, format="safetensors").words)
    tensors.pop("words")
    try:
        attributes, texts = json.loads(metadata["attributes"]), json.loads(metadata["texts"])
        coded = dict(json.loads(metadata.get("coded", "{}")))
    except (KeyError, RecursionError, ValueError, TypeError) as error:
        raise DataError(f"{path}: the attributes are damaged: {error}") from error
    for name, parts in coded.items():
        tensors[name] = from_parts(parts, package, tensors)
    for row in np.flatnonzero(tensors.pop("key_is_int", np.zeros(0))).tolist():
        keys[row] = int(keys[row])
    expandos = {name: np.array(values, object) for name, values in texts.items()}
    vectors: dict[str, Any] = {"index_to_key": keys, "expandos": expandos, "vectors": tensors.pop("vectors")}
    if "counts" in tensors:
        expandos["count"] = tensors.pop("counts")
    documents = _documents_from(tensors, path)
    model: dict[str, Any] = {} if documents is None else {"dv": documents}
    is_model = metadata["class"] == "Word2Vec"
    for name, value in (*tensors.items(), *attributes.items()):
        if name.startswith("expandos."):
            expandos[name.removeprefix("expandos.")] = value
        elif is_model and not name.startswith("wv."):
            model[name] = value
        else:
            vectors[name.removeprefix("wv.")] = value
    return ("Word2Vec", {**model, "wv": vectors}) if is_model else ("KeyedVectors", vectors)


def vectors_from(cls: type[Table], state: dict[str, Any]) -> Table:
    """Return vectors made of attributes that ``load`` returned, also those of gensim 1 to 3."""
    state = dict(cls.completed(state))
    keys = next(
        (state.pop(name) for name in ("index_to_key", "index2word", "index2entity") if name in state), None
    )
    vectors: Any = next(
        (state.pop(name) for name in ("vectors", "syn0") if state.get(name) is not None), None
    )
    if not isinstance(keys, list) or len(getattr(vectors, "shape", ())) != 2:
        raise DataError("the file holds no vectors with a key each; FastText's have to be read by FastText")
    entries, expandos = state.pop("vocab", None), state.pop("expandos", None)
    table = cls.__new__(cls)  # other packages' classes may need other arguments
    ours: Any = next(base for base in cls.__mro__ if not package_of(base))
    ours.__init__(table, vectors.shape[1])
    if not keys and isinstance(entries, dict):
        keys = sorted(entries, key=lambda key: entries[key].get("index", 0))
    if len(keys) != len(vectors):
        raise DataError(
            f"the file holds {len(keys)} keys and {len(vectors)} vectors: they do not fit together"
        )
    table.index_to_key, table.vectors, table.next_index = keys, vectors, len(keys)
    table.key_to_index = {key: row for row, key in enumerate(keys)}
    if isinstance(expandos, dict):
        table.expandos = {
            name: values
            for name, values in expandos.items()
            if isinstance(values, np.ndarray) and len(values) == len(keys)
        }
    elif isinstance(entries, dict):
        counts = [entries.get(key, {}).get("count", 0) for key in keys]
        table.expandos = {"count": np.array(counts, np.int64)}
    if isinstance(lockf := state.get("vectors_lockf"), np.ndarray):
        table.__dict__["vectors_lockf"] = lockf
    for name in (
        "key_to_index",
        "vector_size",
        "norms",
        "syn0norm",
        "vectors_norm",
        "next_index",
        "vectors_lockf",
    ):
        state.pop(name, None)
    for name, value in state.items():
        if not hasattr(cls, name):
            setattr(table, name, value)
    return table


def save_for_gensim(thing: Any, fname: str | os.PathLike[str]) -> None:
    """Write a model or vectors with n-grams, which gensim reads; see ``Word2Vec.save_for_gensim``."""
    write_gensim_model(next(cls.__name__ for cls in type(thing).__mro__ if not package_of(cls)), thing, fname)


def take(model: Any, state: dict[str, Any]) -> None:
    """Take over the attributes of a stored model, also of gensim 1 to 3."""
    for group in ("vocabulary", "trainables"):  # gensim 3 kept some attributes there
        state.update(state.pop(group, {}))
    state["epochs"] = state.pop("iter", state.get("epochs", model.epochs))
    model.wv = vectors_from(type(model.wv), state.pop("wv"))
    model.corpus_total_words = None
    own = {name for name in vars(model) if not name.startswith("_")} - {
        "wv",
        "random",
        "hashfxn",
        "raw_vocab",
    }
    own |= {"syn1", "syn1neg", "effective_min_count"}
    for name, value in state.items():
        if name in own or (name not in LEFT_OUT and not hasattr(type(model), name)):
            setattr(model, name, value)
    model.vector_size = model.layer1_size = model.wv.vector_size
    n_words = len(model.wv)
    for name in ("syn1", "syn1neg"):
        array = getattr(model, name, None)
        if array is not None and (
            not isinstance(array, np.ndarray) or array.shape != (n_words, model.layer1_size)
        ):
            raise DataError(f"{name} of the model does not fit its {n_words} words")


def package_of(cls: type) -> str:
    """Return the package that defines a class, or "" for this one."""
    package = cls.__module__.partition(".")[0]
    return "" if package == __name__.partition(".")[0] else package


def to_parts(value: Any, name: str, package: str, tensors: dict[str, np.ndarray]) -> Any:
    """Add an object's arrays to ``tensors``, as ``coded.NAME`` with its ``name``; return the rest as JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    stored = f"coded.{name}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        tensors[stored] = value
        return {"array": stored}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).str}
    if isinstance(value, dict) and all(isinstance(n, int | np.integer) for row in value.items() for n in row):
        tensors[stored] = np.array(list(value.items()), np.int64).reshape(-1, 2)
        return {"numbers": stored}
    cls = type(value)
    if not package or package_of(cls) != package or not hasattr(value, "__dict__"):
        raise DataError(f"{name} is a {cls.__name__}: only arrays are saved; use pickle")
    return {
        "class": [cls.__module__, cls.__qualname__],
        "parts": {
            part: to_parts(one, f"{name}.{part}", package, tensors) for part, one in vars(value).items()
        },
    }


def from_parts(parts: Any, package: str, tensors: dict[str, np.ndarray]) -> Any:
    """Return the object that `to_parts` took apart, and remove its arrays from the tensors."""
    if not isinstance(parts, dict):
        return parts
    try:
        if "array" in parts:
            return tensors.pop(parts["array"])
        if "dtype" in parts:
            return np.dtype(parts["dtype"])
        if "numbers" in parts:
            return dict(tensors.pop(parts["numbers"]).tolist())
        module, name = parts["class"]
        if not package or module.partition(".")[0] != package:
            raise TypeError(f"a {module}.{name} is loaded by a class of its package, and not by others")
        # Not imported here: a module that a file names must not run because the file is loaded.
        if module not in sys.modules:
            raise TypeError(f"{module} is not imported: import it, then load the file")
        cls = getattr(sys.modules[module], name)
        if not isinstance(cls, type) or package_of(cls) != package:
            raise TypeError(f"{module}.{name} is not a class of {package}")
        whole: Any = object.__new__(cls)
        vars(whole).update({key: from_parts(part, package, tensors) for key, part in parts["parts"].items()})
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"the file's rows of codes cannot be made: {error}") from error
    return whole
