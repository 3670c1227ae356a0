"""Read gensim's ``.kv`` and ``.model`` files without gensim and without letting a pickle run anything.

A pickle is a program that may call any function it names. This reader lets it name gensim's vector classes,
which become empty shells that only hold attributes, NumPy's array, dtype and scalar, which are rebuilt here
from plain numbers, and a few names that whole models contain, which become nothing. Everything else is
refused before anything is called. What the stand-ins take and make is checked, and so is, before a pickle
runs, that it asks for no more memory than its size accounts for (`wordvec_ca.pickle_sizes`).
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.model_directory import map_array
from wordvec_ca.pickle_sizes import check_sizes
from wordvec_ca.vector_table import VectorTable

_SHELLS = {
    "gensim.models.keyedvectors": {
        "KeyedVectors",
        "Word2VecKeyedVectors",
        "EuclideanKeyedVectors",
        "Doc2VecKeyedVectors",
        "BaseKeyedVectors",
        "WordEmbeddingsKeyedVectors",
        "FastTextKeyedVectors",
        "CompatVocab",
        "Vocab",
    },
    "gensim.models.fasttext": {"FastText", "FastTextKeyedVectors", "FastTextTrainables", "FastTextVocab"},
    "gensim.models.word2vec": {
        "Word2Vec",
        "Word2VecKeyedVectors",
        "Word2VecTrainables",
        "Word2VecVocab",
        "Vocab",
    },
}
_IGNORED = {  # what whole models hold besides vectors: becomes an object that does nothing
    ("gensim.utils", "call_on_class_only"),
    ("numpy.random._mt19937", "MT19937"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__randomstate_ctor"),
    ("collections", "defaultdict"),
    *(
        (module, name)
        for module in ("builtins", "__builtin__")
        for name in ("frozenset", "hash", "int", "long")
    ),
}
_NUMPY_CORE = {"numpy.core.multiarray", "numpy._core.multiarray"}
_NUMPY_NUMERIC = {"numpy.core.numeric", "numpy._core.numeric"}
_PLAIN_DTYPE = re.compile(r"[<>=|]?([biufSU]\d{1,9}|\?)")


class _Refused(pickle.UnpicklingError):
    """The pickle names something that is not on the list."""


class _Dtype:
    """Stands for numpy.dtype while unpickling: accepts numbers, strings and objects, no structures."""

    def __init__(self, code: object, *_: object) -> None:
        if not isinstance(code, str):
            raise _Refused("a NumPy array without a NumPy dtype")
        if not (_PLAIN_DTYPE.fullmatch(code) or code in ("O8", "|O", "O")):
            raise _Refused(f"a NumPy array of type {code[:60]!r}")
        self.code = code.removeprefix("|") if "O" in code else code
        self.swapped = False

    def __setstate__(self, state: Any) -> None:
        self.swapped = state[1] == (">" if sys.byteorder == "little" else "<")

    def numpy(self) -> np.dtype[Any]:
        if "O" in self.code:
            return np.dtype(object)
        plain = np.dtype(self.code)
        return plain.newbyteorder() if self.swapped else plain


class _Array:
    """Stands for numpy.ndarray while unpickling: bytes of plain numbers, or a list of unpickled values."""

    array: np.ndarray | None = None
    rebuild: Callable[..., np.ndarray]

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        self.array = type(self).rebuild(data, dtype, shape, "F" if fortran else "C")


def _rebuild(data: Any, dtype: Any, shape: Any, order: str) -> np.ndarray:
    """Return an array from its raw bytes, or from a list if it holds objects."""
    if not isinstance(dtype, _Dtype):
        raise _Refused("a NumPy array without a NumPy dtype")
    kind = dtype.numpy()
    if kind == np.dtype(object):
        if not isinstance(data, list):
            raise _Refused("a NumPy array of objects without a list of them")
        array = np.empty(len(data), dtype=object)
        for i, entry in enumerate(data):  # at once NumPy would look into lists in lists
            array[i] = entry
    else:
        if isinstance(data, str):
            data = data.encode("latin1")
        if not isinstance(data, bytes | bytearray):
            raise _Refused("a NumPy array without its bytes")
        array = np.frombuffer(data, dtype=kind)
    if not all(isinstance(side, int) for side in shape):
        raise _Refused("a NumPy array of an impossible shape")
    return array.reshape(shape, order="F" if order == "F" else "C")


class _Scalar:
    """Stands for numpy.core.multiarray.scalar while unpickling."""

    def __new__(cls, dtype: Any, data: Any = b"") -> Any:
        return _rebuild(data, dtype, (), "C")[()] if isinstance(data, bytes | str) else data


class _Ignored:
    """Stands for whatever vectors do not need: takes any arguments, state and items, and forgets them."""

    def __new__(cls, *_: object, **__: object) -> _Ignored:
        return object.__new__(cls)

    def __setstate__(self, state: object) -> None:
        pass

    def __setitem__(self, key: object, value: object) -> None:
        pass


class _Room:
    """What the stand-ins of one pickle may copy in all, however often it calls them: a multiple of its size.

    Not part of the unpickler: objects left on its stack by a damaged pickle must not refer to it, since the
    garbage collector does not look there and could never free both.
    """

    def __init__(self, n_bytes: int) -> None:
        self._left = n_bytes

    def spend(self, n_bytes: int) -> None:
        """Take up so much, or refuse."""
        self._left -= n_bytes
        if self._left < 0:
            raise _Refused("more memory than its size accounts for")

    def rebuild(self, data: Any, dtype: Any, shape: Any, order: str) -> np.ndarray:
        """Return an array as ``_rebuild`` does."""
        self.spend(8 * len(data) if isinstance(data, list | str) else 0)
        return _rebuild(data, dtype, shape, order)

    def encode(self, text: Any, encoding: Any = "latin1") -> bytes:
        """Return the bytes that protocol 2 writes as text."""
        if not isinstance(text, str):
            raise _Refused("text that is none")
        self.spend(len(text))
        return text.encode("latin1")


class _Shells(pickle.Unpickler):
    """An unpickler that knows only the names listed in this module.

    Parameters
    ----------
    stream : binary stream
        The pickle.
    size : int
        Its bytes.
    """

    def __init__(self, stream: Any, size: int) -> None:
        super().__init__(stream)
        self._known: dict[tuple[str, str], Any] = {}
        self._room = _Room(16 * size)
        self._array_type = type("ndarray", (_Array,), {"rebuild": staticmethod(self._room.rebuild)})

    def find_class(self, module: str, name: str) -> Any:
        key = (module, name)
        if key not in self._known:
            self._known[key] = self._make(module, name)
        return self._known[key]

    def _make(self, module: str, name: str) -> Any:
        """Return a fresh stand-in, so that a pickle that spoils it spoils only its own copy."""
        if name in _SHELLS.get(module, ()):
            return type(name, (), {})
        if (module, name) in _IGNORED:
            return type(name, (_Ignored,), {})
        if module == "numpy" and name == "ndarray":
            return self._array_type
        if module == "numpy" and name == "dtype":
            return type("dtype", (_Dtype,), {})
        if module in _NUMPY_CORE and name == "_reconstruct":
            array_type = self._array_type
            return _fresh(lambda *_: array_type())
        if module in _NUMPY_NUMERIC and name == "_frombuffer":
            return _fresh(self._room.rebuild)
        if module in _NUMPY_CORE and name == "scalar":
            return type("scalar", (_Scalar,), {})
        if (module, name) == ("_codecs", "encode"):  # how protocol 2 writes bytes
            return _fresh(self._room.encode)
        if (module, name) in {("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor")}:
            return _fresh(_reconstruct_shell)
        if (module, name) in {("builtins", "object"), ("__builtin__", "object")}:
            return type("object", (), {})
        raise _Refused(f"the name {module}.{name}"[:200])


def _fresh(function: Callable[..., Any]) -> Any:
    """Wrap a function in an object without attributes, so that a pickle cannot change it."""

    class Call:
        __slots__ = ()

        def __call__(self, *arguments: Any) -> Any:
            return function(*arguments)

    return Call()


def _reconstruct_shell(cls: Any, *_: Any) -> Any:
    """Return an empty instance of a stand-in class (protocols 0 and 1)."""
    if not isinstance(cls, type) or cls.__module__ != __name__:
        raise _Refused("an object of an unknown class")
    return cls()


def read_gensim(path: str | os.PathLike[str]) -> VectorTable:
    """Read the vectors of a gensim ``KeyedVectors`` or ``Word2Vec`` file.

    Arrays stored beside the file are memory-mapped.

    Parameters
    ----------
    path : path-like
        The file that ``save`` was given; ``path + ".vectors.npy"`` must be beside it if gensim made one.

    Raises
    ------
    DataError
        The pickle names anything but vectors, is damaged, or does not hold vectors (gensim's FastText files
        hold those of subwords and compute the words' when they are loaded).
    """
    file = Path(path)
    check_sizes(file)
    with open(file, "rb") as stream:
        try:
            loaded = _Shells(stream, os.fstat(stream.fileno()).st_size).load()
        except _Refused as error:
            raise DataError(
                f"{file}: refused, because this pickle asks for {error}, which vectors do not need: it could "
                "run any program. If you trust its source, open it with gensim and save the vectors with "
                "save_word2vec_format"
            ) from error
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise DataError(
                f"{file}: not a readable gensim file ({type(error).__name__}: {error}); damaged or cut off?"
            ) from error
    state = dict(getattr(loaded, "__dict__", {}))
    prefix = str(file)
    if "wv" in state:  # a whole Word2Vec model
        state = dict(getattr(state["wv"], "__dict__", {}))
        prefix += ".wv"
    vectors = _array(state, ("vectors", "syn0"), prefix)
    words, counts = _words(state)
    if vectors is None and ("vectors_vocab" in state or "vectors_ngrams" in state):
        raise DataError(
            f"{file}: a FastText file of gensim keeps vectors of subwords, not of words; open it with gensim "
            "and write the words' vectors with wv.save_word2vec_format"
        )
    if vectors is None or words is None:
        raise DataError(f"{file}: this pickle holds no word vectors (no 'vectors' or no 'index_to_key')")
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.dtype.kind != "f":
        raise DataError(
            f"{file}: {len(words)} words and vectors of type {vectors.dtype} and shape {vectors.shape} do "
            "not fit together"
        )
    if vectors.dtype != np.dtype(np.float32):
        vectors = vectors.astype(np.float32)
    return VectorTable(words, vectors, counts, {})


def _array(state: dict[str, Any], names: tuple[str, ...], prefix: str) -> np.ndarray | None:
    """Return the first of the named arrays, from the pickle or from the file beside it."""
    for name in names:
        beside_it = state.get("__numpys")
        if isinstance(beside_it, list | tuple | set) and name in beside_it:
            beside = Path(f"{prefix}.{name}.npy")
            if not beside.is_file():
                raise DataError(
                    f"{beside} is missing; gensim keeps the vectors there, so copy it beside the index"
                )
            return map_array(beside)
        value = state.get(name)
        if isinstance(value, _Array):
            value = value.array
        if isinstance(value, np.ndarray):
            return value
    return None


def _words(state: dict[str, Any]) -> tuple[list[str] | None, np.ndarray | None]:
    """Return words and counts from an index of gensim 4, or 3 (``index2word``, ``vocab``)."""
    found = [state.get(name) for name in ("index_to_key", "index2word", "index2entity")]
    lists = [words for words in found if isinstance(words, list)]
    keys = next(filter(None, lists), lists[0] if lists else None)
    if keys is None or not all(isinstance(word, str | int) for word in keys):
        return None, None
    words = [str(word) for word in keys]
    expandos, vocab = state.get("expandos"), state.get("vocab")
    counts = expandos.get("count") if isinstance(expandos, dict) else None
    if isinstance(counts, _Array):
        counts = counts.array
    if counts is None and isinstance(vocab, dict) and vocab:
        entries = [getattr(vocab.get(word), "count", 0) for word in words]
        if all(isinstance(entry, int | np.integer) for entry in entries):
            counts = np.array(entries)
    try:
        if isinstance(counts, np.ndarray) and counts.shape == (len(words),):
            return words, counts.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        pass
    return words, None
