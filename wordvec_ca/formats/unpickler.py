"""Unpickles files of gensim without letting the pickle run anything.

A pickle is a program that may call any function it names. This unpickler allows only a few names: gensim's
vector classes become empty shells that hold attributes; NumPy's array, dtype and scalar are rebuilt here from
plain numbers; some names that whole models contain become objects that do nothing. Every other name stops the
reading before anything is called. The stand-ins check their arguments.

An unpickler also allocates memory before it reads: ten bytes can make it allocate a memo of 32 GB. So every
length and every memo index is compared with the size of the pickle before it runs. Opcodes: ``pickletools``.
"""

from __future__ import annotations

import mmap
import os
import pickle
import pickletools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError

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
    "gensim.models.doc2vec": {"Doc2Vec", "Doctag", "Doc2VecTrainables", "Doc2VecVocab"},
    "gensim.models.word2vec": {
        "Word2Vec",
        "Word2VecKeyedVectors",
        "Word2VecTrainables",
        "Word2VecVocab",
        "Vocab",
    },
}
_IGNORED = {  # objects in whole models other than vectors: each becomes an object that does nothing
    ("gensim.utils", "call_on_class_only"),
    ("numpy.random", "__RandomState_ctor"),
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


class Refused(pickle.UnpicklingError):
    """The pickle names something that is not on the allow-list, or misuses something that is."""


class _Dtype:
    """Replaces numpy.dtype while unpickling; accepts types of numbers, strings and objects, but not
    structures.
    """

    def __init__(self, code: object, *_: object) -> None:
        if not isinstance(code, str):
            raise Refused("a NumPy array without a NumPy dtype")
        if not (_PLAIN_DTYPE.fullmatch(code) or code in ("O8", "|O", "O")):
            raise Refused(f"a NumPy array of type {code[:60]!r}")
        self.code = code.removeprefix("|") if "O" in code else code
        self.swapped = False

    def __setstate__(self, state: Any) -> None:
        self.swapped = state[1] == (">" if sys.byteorder == "little" else "<")

    def numpy(self) -> np.dtype[Any]:
        if "O" in self.code:
            return np.dtype(object)
        plain = np.dtype(self.code)
        return plain.newbyteorder() if self.swapped else plain


class PickledArray:
    """Replaces numpy.ndarray while unpickling; made of bytes of plain numbers or of a list of unpickled
    values.
    """

    array: np.ndarray | None = None
    rebuild: Callable[..., np.ndarray]

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        self.array = type(self).rebuild(data, dtype, shape, "F" if fortran else "C")


def _rebuild(data: Any, dtype: Any, shape: Any, order: str) -> np.ndarray:
    """Return an array from its raw bytes, or from a list if it holds objects."""
    if not isinstance(dtype, _Dtype):
        raise Refused("a NumPy array without a NumPy dtype")
    kind = dtype.numpy()
    if kind == np.dtype(object):
        if not isinstance(data, list):
            raise Refused("a NumPy array of objects without a list of them")
        array = np.empty(len(data), dtype=object)
        for i, entry in enumerate(data):  # np.array(data) would also convert nested lists
            array[i] = entry
    else:
        if isinstance(data, str):
            data = data.encode("latin1")
        if not isinstance(data, bytes | bytearray):
            raise Refused("a NumPy array without its bytes")
        array = np.frombuffer(data, dtype=kind)
    if not all(isinstance(side, int) for side in shape):
        raise Refused("a NumPy array of an impossible shape")
    return array.reshape(shape, order="F" if order == "F" else "C")


class _Scalar:
    """Replaces numpy.core.multiarray.scalar while unpickling."""

    def __new__(cls, dtype: Any, data: Any = b"") -> Any:
        return _rebuild(data, dtype, (), "C")[()] if isinstance(data, bytes | str) else data


class _Ignored:
    """Replaces objects that vectors do not need: accepts any arguments, state and items, and drops them."""

    def __new__(cls, *_: object, **__: object) -> _Ignored:
        return object.__new__(cls)

    def __setstate__(self, state: object) -> None:
        pass

    def __setitem__(self, key: object, value: object) -> None:
        pass


class _Room:
    """Limit of the bytes that the stand-ins of one pickle may copy in total: a multiple of its size.

    This is a separate object because stand-ins refer to it: if they referred to the unpickler and a damaged
    pickle left them on its stack, which the garbage collector does not see, neither could be freed.
    """

    def __init__(self, n_bytes: int) -> None:
        self._left = n_bytes

    def spend(self, n_bytes: int) -> None:
        """Subtract from the remaining bytes; raise an error if they do not suffice."""
        self._left -= n_bytes
        if self._left < 0:
            raise Refused("more memory than its size explains")

    def rebuild(self, data: Any, dtype: Any, shape: Any, order: str) -> np.ndarray:
        """Return an array as ``_rebuild`` does."""
        self.spend(8 * len(data) if isinstance(data, list | str) else 0)
        return _rebuild(data, dtype, shape, order)

    def encode(self, text: Any, encoding: Any = "latin1") -> bytes:
        """Return bytes that pickle protocol 2 stores as text."""
        if not isinstance(text, str):
            raise Refused("bytes that are not written as text")
        self.spend(len(text))
        return text.encode("latin1")


class _Shells(pickle.Unpickler):
    """An unpickler that knows only the names listed in this module."""

    def __init__(self, stream: Any, size: int) -> None:
        super().__init__(stream, encoding="latin1")  # strings of Python 2, decoded as gensim does
        self._known: dict[tuple[str, str], Any] = {}
        self._room = _Room(16 * size)
        self._array_type = type("ndarray", (PickledArray,), {"rebuild": staticmethod(self._room.rebuild)})

    def find_class(self, module: str, name: str) -> Any:
        key = (module, name)
        if key not in self._known:
            self._known[key] = self._make(module, name)
        return self._known[key]

    def _make(self, module: str, name: str) -> Any:
        """Return a new stand-in for a name, so that a pickle can change only its own copy."""
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
        if (module, name) == ("_codecs", "encode"):  # protocol 2 writes bytes in this way
            return _fresh(self._room.encode)
        if (module, name) in {("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor")}:
            return _fresh(_reconstruct_shell)
        if (module, name) in {("builtins", "object"), ("__builtin__", "object")}:
            return type("object", (), {})
        raise Refused(f"the name {module}.{name}"[:200])


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
        raise Refused("an object of an unknown class")
    return cls()


def unpickle(path: Path) -> Any:
    """Return the object in a pickle, made of shells with attributes, lists, dictionaries and
    ``PickledArray``.
    """
    check_sizes(path)
    with open(path, "rb") as stream:
        try:
            return _Shells(stream, os.fstat(stream.fileno()).st_size).load()
        except Refused as error:
            raise DataError(
                f"{path}: refused, because this pickle uses {error}, which vectors do not need: it could "
                "run any program. If you trust its source, open it with gensim and save the vectors with "
                "save_word2vec_format"
            ) from error
        except Exception as error:  # a damaged pickle can raise nearly any exception
            raise DataError(
                f"{path}: not a readable gensim file ({type(error).__name__}: {error}); damaged or cut off?"
            ) from error


# ---- sizes ------------------------------------------------------------------------------------------------

_SIZED = {
    pickletools.TAKEN_FROM_ARGUMENT1: (1, False),
    pickletools.TAKEN_FROM_ARGUMENT4: (4, True),
    pickletools.TAKEN_FROM_ARGUMENT4U: (4, False),
    pickletools.TAKEN_FROM_ARGUMENT8U: (8, False),
}

_SHORT = 48


def _opcodes() -> tuple[re.Pattern[bytes], dict[int, tuple[int, bool]]]:
    """Return a pattern for consecutive opcodes that allocate nothing, and the width of the length field of
    the others.
    """
    plain: dict[int, list[bytes]] = {}
    lines: dict[int, list[bytes]] = {1: [], 2: []}
    sized: dict[int, tuple[int, bool]] = {}
    for opcode in pickletools.opcodes:
        code = opcode.code.encode("latin1")
        if opcode.name in ("STOP", "PUT", "LONG_BINPUT", "FRAME"):
            continue
        if opcode.arg is None:
            plain.setdefault(0, []).append(code)
        elif opcode.arg.n in _SIZED:
            sized[code[0]] = _SIZED[opcode.arg.n]
        elif opcode.arg.n == pickletools.UP_TO_NEWLINE:
            lines[1 + (opcode.name in ("GLOBAL", "INST"))].append(code)
        else:
            plain.setdefault(opcode.arg.n, []).append(code)

    def any_of(codes: list[bytes]) -> bytes:
        return b"[" + b"".join(map(re.escape, codes)) + b"]"

    runs = [any_of(codes) + b".{%d}" % width for width, codes in plain.items()]
    # most of an index is short strings, which one match of the pattern skips without a Python loop
    for code, width in ((b"\x8c", 1), (b"X", 4)):
        short = b"|".join(re.escape(n.to_bytes(width, "little")) + b".{%d}" % n for n in range(1, _SHORT))
        runs.append(code + b"(?:" + short + b")")
    runs += [any_of(codes) + rb"(?:[^\n]*\n){%d}" % count for count, codes in lines.items()]
    return re.compile(b"(?:" + b"|".join(runs) + b")*+", re.DOTALL), sized


_RUN, _LENGTHS = _opcodes()
_STOP, _PUT, _LONG_BINPUT, _FRAME = b".pr\x95"


def check_sizes(path: Path) -> None:
    """Search a pickle for lengths and memo indexes larger than the file."""
    # This takes about a second for a million words. A pickle that is cut off or has unknown opcodes is not
    # an error here: the unpickler stops there too.
    with open(path, "rb") as stream:
        if not stream.read(1):
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _check(data, path)


def _check(data: mmap.mmap, path: Path) -> None:
    size, at = len(data), 0
    while True:
        run = _RUN.match(data, at)
        assert run is not None, "the empty run matches everywhere"
        at = run.end()
        code = data[at] if at < size else _STOP
        after = at + 1
        if code == _LONG_BINPUT:
            asked, after = int.from_bytes(data[after : after + 4], "little"), after + 4
        elif code == _FRAME:
            asked, after = int.from_bytes(data[after : after + 8], "little"), after + 8
        elif code == _PUT:
            end = data.find(b"\n", after)
            if end < 0:
                return
            digits = data[after:end]
            asked, after = (int(digits) if digits.isdigit() and len(digits) < 20 else size), end + 1
        elif code in _LENGTHS:
            width, signed = _LENGTHS[code]
            asked = int.from_bytes(data[after : after + width], "little", signed=signed)
            after += width + max(asked, 0)
        else:
            return
        if asked >= size:
            raise DataError(
                f"{path}: at byte {at} this pickle would allocate {asked:,} bytes or entries, but has only "
                f"{size:,} bytes; it is damaged, or made to exhaust memory"
            )
        at = after
