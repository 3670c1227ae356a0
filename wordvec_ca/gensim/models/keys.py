"""Keys, their rows and attributes, and the vectors that stand in the rows."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)

KEY_TYPES = (str, int, np.integer)

_GONE = {
    "vocab": "use key_to_index, index_to_key, get_vecattr(key, attr) and set_vecattr(key, attr, value)",
    "index2word": "use index_to_key",
    "index2entity": "use index_to_key",
    "vectors_norm": "use get_normed_vectors()",
    "syn0": "use vectors",
    "syn0norm": "use get_normed_vectors()",
}
"""Names of gensim 3, and what took their place."""


class KeyTable:
    """Keys with a row of ``vectors`` each, that can grow.

    Parameters
    ----------
    vector_size : int
        Dimensions of a vector.
    count : int, default 0
        Rows to make room for; ``add_vector`` fills them.
    dtype : numpy dtype, default float32
        Of the vectors.
    mapfile_path : str, optional
        Kept, not used.

    Attributes
    ----------
    vectors : ndarray of shape (n_keys, vector_size)
        May be changed in place, and training goes on from there; call ``fill_norms(force=True)`` then.
    index_to_key : list
    key_to_index : dict
    expandos : dict of str to ndarray of shape (n_keys,)
        Attributes of the keys, such as ``count``.
    norms : ndarray of shape (n_keys,), or None
        Lengths of the vectors, once they are needed.
    """

    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: str | None = None
    ) -> None:
        self.vector_size = int(vector_size)
        self.index_to_key: list[Any] = [None] * count
        self.next_index = 0
        self.key_to_index: dict[Any, int] = {}
        self.vectors: np.ndarray = np.zeros((count, self.vector_size), dtype)
        self.norms: np.ndarray | None = None
        self.expandos: dict[str, np.ndarray] = {}
        self.mapfile_path = mapfile_path

    @classmethod
    def completed(cls, state: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of stored vectors with those that a file leaves out."""
        return state

    def __str__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    __repr__ = __str__

    def __getattr__(self, name: str) -> Any:
        if name in _GONE:
            raise AttributeError(f"{name} was removed in gensim 4: {_GONE[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.index_to_key)

    # ---- rows ---------------------------------------------------------------------------------------------

    def get_index(self, key: Any, default: int | None = None) -> int:
        """Return the row of a key; an int that is no key is a row itself.

        Raises
        ------
        KeyError
            There is none, and no ``default``.
        """
        row = self.key_to_index.get(key, -1)
        if row >= 0:
            return row
        if isinstance(key, int | np.integer) and 0 <= key < len(self.index_to_key):
            return int(key)
        if default is not None:
            return default
        raise KeyError(f"Key '{key}' not present")

    def has_index_for(self, key: Any) -> bool:
        """Return whether a key has a row."""
        return self.get_index(key, -1) >= 0

    def __contains__(self, key: Any) -> bool:
        return self.has_index_for(key)

    def get_vector(self, key: Any, norm: bool = False) -> np.ndarray:
        """Return the vector of a key, read-only; of length 1 if ``norm``.

        Raises
        ------
        KeyError
            There is none.
        """
        row = self.get_index(key)
        vector = self.vectors[row]
        if norm:
            self.fill_norms()
            assert self.norms is not None
            vector = vector / (self.norms[row] or 1)
        vector.setflags(write=False)
        return vector

    def word_vec(self, key: Any, norm: bool = False) -> np.ndarray:
        """Do as ``get_vector``; the name of gensim 3."""
        warnings.warn("word_vec is deprecated: use get_vector", DeprecationWarning, stacklevel=2)
        return self.get_vector(key, norm)

    def __getitem__(self, key_or_keys: Any) -> np.ndarray:
        """Return the vector of one key, or a matrix with those of several."""
        if isinstance(key_or_keys, KEY_TYPES):
            return self.get_vector(key_or_keys)
        return np.vstack([self.get_vector(key) for key in key_or_keys])

    # ---- attributes ---------------------------------------------------------------------------------------

    def allocate_vecattrs(
        self, attrs: Iterable[str] | None = None, types: Iterable[Any] | None = None
    ) -> None:
        """Make room for attributes of all keys; by default for those that there are, as many as keys now.

        Parameters
        ----------
        attrs : iterable of str, optional
            Their names.
        types : iterable of type, optional
            A type for each.

        Raises
        ------
        TypeError
            An attribute has another type already.
        """
        if attrs is None:
            pairs: list[tuple[str, Any]] = [(name, values.dtype) for name, values in self.expandos.items()]
        else:
            assert types is not None
            pairs = list(zip(attrs, types, strict=True))
        for name, kind in pairs:
            dtype = np.dtype(np.int64 if kind is int else object if kind is str else kind)
            before = self.expandos.get(name)
            if before is not None and not np.issubdtype(dtype, before.dtype):
                raise TypeError(
                    f"Can't allocate type {dtype} for attribute {name}, "
                    f"conflicts with its existing type {before.dtype}"
                )
            if before is None or len(before) != len(self):
                room = np.zeros(len(self), dtype if before is None else before.dtype)
                if before is not None:
                    n = min(len(before), len(room))
                    room[:n] = before[:n]
                self.expandos[name] = room

    def set_vecattr(self, key: Any, attr: str, val: Any) -> None:
        """Set an attribute of a key; all keys get that attribute, 0 by default.

        Parameters
        ----------
        key : key
        attr : str
        val : object
            Of the type that the attribute has, if it is not new.
        """
        self.allocate_vecattrs([attr], [type(val)])
        self.expandos[attr][self.get_index(key)] = val

    def get_vecattr(self, key: Any, attr: str) -> Any:
        """Return an attribute of a key.

        Raises
        ------
        KeyError
            There is no such key or no such attribute.
        """
        return self.expandos[attr][self.get_index(key)]

    # ---- growth -------------------------------------------------------------------------------------------

    def add_vector(self, key: Any, vector: Any) -> int:
        """Add a key and its vector, in the next row that was made room for, or at the end; return the row.

        Parameters
        ----------
        key : key
        vector : array_like of shape (vector_size,)
        """
        row = self.next_index
        if row >= len(self) or self.index_to_key[row] is not None:
            row = len(self)
            warnings.warn(
                "Adding single vectors to a KeyedVectors which grows by one each time can be costly. "
                "Consider adding in batches or preallocating to the required size.",
                UserWarning,
                stacklevel=2,
            )
            self.add_vectors([key], [vector])
            self.allocate_vecattrs()
        else:
            self.index_to_key[row], self.key_to_index[key] = key, row
            self.vectors[row] = vector
            self.norms = None
        self.next_index = row + 1
        return row

    def add_vectors(
        self,
        keys: Any,
        weights: Any,
        extras: dict[str, np.ndarray] | None = None,
        replace: bool = False,
    ) -> None:
        """Add keys and their vectors at the end.

        Parameters
        ----------
        keys : key or list of keys
        weights : array_like of shape (n_keys, vector_size)
        extras : dict of str to ndarray of shape (n_keys,), optional
            Attributes of the keys.
        replace : bool, default False
            Replace the vectors of keys that are there already; else they stay as they are.
        """
        if isinstance(keys, KEY_TYPES):
            keys, weights = [keys], np.asarray(weights).reshape(1, -1)
        weights, extras = np.asarray(weights), extras or {}
        self.allocate_vecattrs(extras, [values.dtype for values in extras.values()])
        new = np.array([key not in self.key_to_index for key in keys], bool)
        for key in (key for key, is_new in zip(keys, new, strict=True) if is_new):
            self.key_to_index[key] = len(self.index_to_key)
            self.index_to_key.append(key)
        self.vectors = np.vstack([self.vectors, weights[new].astype(self.vectors.dtype)])
        self.allocate_vecattrs()
        chosen = np.ones(len(new), bool) if replace else new
        rows = [self.key_to_index[key] for key, is_set in zip(keys, chosen, strict=True) if is_set]
        self.vectors[rows] = weights[chosen]
        for name, values in extras.items():
            self.expandos[name][rows] = np.asarray(values)[chosen]
        self.norms = None

    def __setitem__(self, keys: Any, weights: Any) -> None:
        """Set the vector of a key, or the vectors of a list of keys; new keys come in at the end."""
        if not isinstance(keys, list):
            keys, weights = [keys], np.asarray(weights).reshape(1, -1)
        self.add_vectors(keys, weights, replace=True)

    def resize_vectors(self, seed: int = 0) -> None:
        """Give rows to keys that have none yet, with random vectors.

        They are uniform within plus or minus 1 / vector_size, the same numbers as gensim's.

        Parameters
        ----------
        seed : int
            Of the random numbers.
        """
        shape = (len(self.index_to_key), self.vector_size)
        if self.vectors.shape != shape:
            self.vectors = random_vectors(shape, self.vectors, seed)
        self.allocate_vecattrs()
        self.norms = None

    def sort_by_descending_frequency(self) -> None:
        """Put the most frequent keys first; equally frequent ones keep their order."""
        if not len(self):
            return
        order = np.argsort(-np.asarray(self.expandos["count"], np.int64), kind="stable")
        self.index_to_key = [self.index_to_key[row] for row in order.tolist()]
        self.key_to_index = {key: row for row, key in enumerate(self.index_to_key)}
        self.allocate_vecattrs()
        for name, values in self.expandos.items():
            self.expandos[name] = values[order]
        if len(self.vectors):
            logger.warning("sorting after vectors have been allocated is expensive & error-prone")
            self.vectors = self.vectors[order]
            self.norms = None

    # ---- lengths ------------------------------------------------------------------------------------------

    def fill_norms(self, force: bool = False) -> None:
        """Compute the lengths of the vectors, unless they are known.

        Parameters
        ----------
        force : bool, default False
            Compute them again: after ``vectors`` was changed in place.
        """
        if self.norms is None or force or len(self.norms) != len(self.vectors):
            self.norms = np.linalg.norm(self.vectors, axis=1)

    def get_normed_vectors(self) -> np.ndarray:
        """Return a new matrix with all vectors at length 1; zero vectors stay zero."""
        return self.vectors / self._lengths()[:, np.newaxis]

    def unit_normalize_all(self) -> None:
        """Scale all vectors to length 1, in place: what training needs of their lengths is lost."""
        self.vectors = self.get_normed_vectors()
        self.norms = np.ones(len(self.vectors), self.vectors.dtype)

    def init_sims(self, replace: bool = False) -> None:
        """Warn: lengths are computed when they are needed. With ``replace``, do ``unit_normalize_all``."""
        warnings.warn("init_sims is deprecated: use fill_norms", DeprecationWarning, stacklevel=2)
        logger.warning("init_sims() is deprecated: lengths of vectors are computed when they are needed")
        self.fill_norms()
        if replace:
            self.unit_normalize_all()

    def _lengths(self) -> np.ndarray:
        """Return the lengths of the vectors, 1 for a zero vector."""
        self.fill_norms()
        assert self.norms is not None
        return np.where(self.norms > 0, self.norms, self.norms.dtype.type(1))


def random_vectors(shape: tuple[int, int], former: np.ndarray | None = None, seed: int = 0) -> np.ndarray:
    """Return vectors uniform within plus or minus 1 / d, with those of ``former`` in the first rows.

    The numbers are those of gensim for the same seed.

    Parameters
    ----------
    shape : tuple of int
        Rows and d.
    former : ndarray of shape (n, d), optional
        Vectors that there are.
    seed : int
        Of the random numbers.
    """
    vectors = np.random.default_rng(seed=seed).random(shape, dtype=np.float32)
    vectors *= 2.0
    vectors -= 1.0
    vectors /= shape[1]
    if former is not None:
        vectors[: former.shape[0], : former.shape[1]] = former
    return vectors


def seeded_vector(size: int, seed_string: str | None = None, hashfxn: Any = hash) -> np.ndarray:
    """Return a vector uniform within plus or minus 0.5 / size that depends on a string alone.

    Parameters
    ----------
    size : int
        Its length.
    seed_string : str, optional
        What it depends on; without, it is another one each time.
    hashfxn : callable
        Makes a number of the string.
    """
    generator = np.random.default_rng(hashfxn(seed_string) & 0xFFFFFFFF if seed_string else None)
    return (generator.random(size).astype(np.float32) - np.float32(0.5)) / np.float32(size)


def as_list(given: Any) -> list[Any]:
    """Return what a query names as a list: of one key, vector or (key, weight), or of several of them."""
    if given is None:
        return []
    if isinstance(given, KEY_TYPES) or (isinstance(given, np.ndarray) and given.ndim == 1):
        return [given]
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return list(given)
    return list(given)


def cosine(a: np.ndarray, b: np.ndarray) -> np.float32:
    """Return the cosine of two vectors; exactly 1 for a vector and itself, 0 if one is zero."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    length = np.sqrt(np.dot(x, x) * np.dot(y, y))
    return np.float32(np.dot(x, y) / length if length > 0 else 0.0)


def listed(keys: Iterable[Any]) -> Sequence[Any]:
    """Return an iterable as a sequence."""
    return keys if isinstance(keys, Sequence) else list(keys)
