"""Keys, their rows and attributes, and the vectors in the rows."""

from __future__ import annotations

import datetime
import logging
import platform
import sys
import warnings
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.vectors import Directions
from wordvec_ca.vectors import KeyedVectors as LightVectors

logger = logging.getLogger(__name__)

KEY_TYPES = (str, int, np.integer)


class Lifecycle:
    """Keeps a list of events, which is saved with the model."""

    lifecycle_events: list[dict[str, Any]] | None

    def add_lifecycle_event(
        self, event_name: str, log_level: int | bool = logging.INFO, **event: Any
    ) -> None:
        """Add an event to the list."""
        event["datetime"] = datetime.datetime.now().isoformat()
        event |= {"python": sys.version, "platform": platform.platform(), "event": event_name}
        if log_level:
            logging.getLogger("gensim.utils").log(
                log_level, "%s lifecycle event %s", type(self).__name__, event
            )
        events = vars(self).setdefault("lifecycle_events", [])
        if events is not None:  # None: the user wants no list
            events.append(event)


class CompatVocab:
    """A word as gensim 3 stores it: its count and other attributes."""

    def __init__(self, **kwargs: Any) -> None:
        self.count = 0
        self.__dict__.update(kwargs)

    def __lt__(self, other: CompatVocab) -> bool:
        return bool(self.count < other.count)

    def __str__(self) -> str:
        values = [f"{key}:{value!r}" for key, value in sorted(vars(self).items()) if not key.startswith("_")]
        return f"{type(self).__name__}<{', '.join(values)}>"


Vocab = CompatVocab


class Heapitem(NamedTuple):
    """A node of a Huffman tree, ordered by its count alone."""

    count: Any
    index: Any
    left: Any
    right: Any

    def __lt__(self, other: Any) -> bool:
        return bool(self.count < other.count)


class Trainables(SimpleNamespace):
    """An object in models of gensim 3 that holds only attributes."""


class KeyTable(Lifecycle, LightVectors):
    """A table of keys, each of which has a row in ``vectors``.

    It can grow. Look-up and search are those of all our vectors.

    Parameters
    ----------
    vector_size : int
        Dimensions of a vector.
    count : int, default 0
        Rows to make room for; ``add_vector`` fills them.
    dtype : numpy dtype, default float32
        Type of the vectors.
    mapfile_path : str, optional
        Kept, not used.

    Attributes
    ----------
    vectors : ndarray of shape (n_keys, vector_size)
        May be changed in place, and further training begins there; then call ``fill_norms(force=True)``.
    index_to_key : list
    key_to_index : dict
    expandos : dict of str to ndarray of shape (n_keys,)
        Attributes of the keys, such as ``count``.
    norms : ndarray of shape (n_keys,)
        Lengths of the vectors, computed when they are needed.
    """

    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: str | None = None
    ) -> None:
        super().__init__([], np.zeros((0, int(vector_size)), np.float32))
        self.index_to_key: list[Any] = [None] * count
        self.next_index = 0
        self.key_to_index: dict[Any, int] = {}
        self.vectors: np.ndarray = np.zeros((count, int(vector_size)), dtype)
        self.expandos: dict[str, np.ndarray] = {}
        self.mapfile_path = mapfile_path

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle; tags that are ints are rows, but not keys in ``key_to_index``."""
        state = super().__getstate__()
        if len(self.key_to_index) != len(self.index_to_key):
            state["key_to_index"] = self.key_to_index
        return state

    @classmethod
    def completed(cls, state: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of stored vectors, completed by those that a file leaves out."""
        return state

    def __str__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    __repr__ = __str__

    @property
    def vector_size(self) -> int:
        """Dimensions of a vector; may be set while there are no vectors."""
        return int(self.vectors.shape[1])

    @vector_size.setter
    def vector_size(self, size: int) -> None:
        if size != self.vectors.shape[1] and len(self.vectors):
            raise ValueError(
                f"vector_size is {size}, and the vectors have {self.vectors.shape[1]} dimensions"
            )
        if not len(self.vectors):
            self.vectors = np.zeros((0, int(size)), self.vectors.dtype)

    # ---- rows ---------------------------------------------------------------------------------------------

    def _row(self, key: Any) -> int:
        """Return the row of a key, or -1; an int that is not a key is a row itself."""
        row = self.key_to_index.get(key, -1)
        return int(key) if row < 0 and isinstance(key, int | np.integer) and 0 <= key < len(self) else row

    def has_index_for(self, key: Any) -> bool:
        """Return whether a key has a row."""
        return self._row(key) >= 0

    def word_vec(self, key: Any, norm: bool = False) -> np.ndarray:
        """Return what ``get_vector`` returns; the name of gensim 3."""
        warnings.warn("word_vec is deprecated: use get_vector", DeprecationWarning, stacklevel=2)
        return self.get_vector(key, norm)

    # ---- attributes ---------------------------------------------------------------------------------------

    def allocate_vecattrs(
        self, attrs: Iterable[str] | None = None, types: Iterable[Any] | None = None
    ) -> None:
        """Make room for attributes, one value for each key; by default for the existing attributes.

        Raises
        ------
        TypeError
            An attribute already has another type.
        """
        if attrs is None:
            pairs: list[tuple[str, Any]] = [(name, values.dtype) for name, values in self.expandos.items()]
        else:
            assert types is not None
            pairs = list(zip(attrs, types, strict=True))
        # all rooms first: an attribute that is refused leaves the others as they are, too
        self.expandos |= {name: self._room(name, kind, len(self)) for name, kind in pairs}

    def _room(self, name: str, kind: Any, n_keys: int) -> np.ndarray:
        """Return an attribute's values with room for ``n_keys``; the attributes do not change."""
        dtype = np.dtype(np.int64 if kind is int else object if kind is str else kind)
        before = self.expandos.get(name)
        if before is None:
            return np.zeros(n_keys, dtype)
        if not np.issubdtype(dtype, before.dtype):
            raise TypeError(
                f"Can't allocate type {dtype} for attribute {name}, "
                f"conflicts with its existing type {before.dtype}"
            )
        if len(before) == n_keys:
            return before
        room = np.zeros(n_keys, before.dtype)
        n = min(len(before), n_keys)
        room[:n] = before[:n]
        return room

    def set_vecattr(self, key: Any, attr: str, val: Any) -> None:
        """Set an attribute of a key; all keys get that attribute, 0 by default."""
        row, room = self.get_index(key), self._room(attr, type(val), len(self))
        room[row] = val
        self.expandos[attr] = room

    def get_vecattr(self, key: Any, attr: str) -> Any:
        """Return an attribute of a key.

        Raises
        ------
        KeyError
            The key or the attribute is unknown.
        """
        return self.expandos[attr][self.get_index(key)]

    # ---- growth -------------------------------------------------------------------------------------------

    def add_vector(self, key: Any, vector: Any) -> int:
        """Add a key and its vector in the next empty row, or at the end; return the row.

        Raises
        ------
        ValueError
            The vector has another shape; then nothing has changed.
        """
        row, vector = self.next_index, self._checked([key], [vector])[0]
        if row >= len(self) or self.index_to_key[row] is not None:
            row = len(self)
            warnings.warn(
                "Adding single vectors to a KeyedVectors which grows by one each time can be costly. "
                "Consider adding in batches or preallocating to the required size.",
                UserWarning,
                stacklevel=2,
            )
            self.add_vectors([key], [vector])
        else:
            self.key_to_index[key] = row  # before the others: a key that cannot be hashed is refused here
            self.index_to_key[row], self.vectors[row] = key, vector
            self.forget_norms()
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

        Raises
        ------
        ValueError
            The vectors or the attributes have another shape than the keys need; then nothing has changed.
        TypeError
            An attribute already has another type; then nothing has changed.
        """
        if isinstance(keys, KEY_TYPES):
            keys, weights = [keys], np.asarray(weights).reshape(1, -1)
        keys = list(keys)
        weights = self._checked(keys, weights)
        given = {name: np.asarray(values) for name, values in (extras or {}).items()}
        for name, values in given.items():
            if len(values) != len(keys):
                raise ValueError(f"the attribute {name} has {len(values)} values for {len(keys)} keys")
        # Everything is made before anything changes: what raises an error leaves the table as it was.
        added: dict[Any, int] = {}
        chosen = [i for i, key in enumerate(keys) if self._new_row(key, added) or replace]
        rows = [added.get(keys[i], self.key_to_index.get(keys[i], -1)) for i in chosen]
        n_keys = len(self) + len(added)
        vectors = np.zeros((n_keys, self.vector_size), self.vectors.dtype)
        vectors[: len(self)], vectors[rows] = self.vectors, weights[chosen]
        kinds = {name: values.dtype for name, values in (self.expandos | given).items()}
        expandos = {name: self._room(name, kind, n_keys) for name, kind in kinds.items()}
        for name, values in given.items():
            expandos[name] = expandos[name].copy()
            expandos[name][rows] = values[chosen]
        self.key_to_index |= added
        self.index_to_key.extend(added)
        self.vectors, self.expandos = vectors, expandos
        self.forget_norms()

    def _new_row(self, key: Any, added: dict[Any, int]) -> bool:
        """Give a key a row in ``added`` if it has none; return whether it had none."""
        if key in self.key_to_index or key in added:
            return False
        added[key] = len(self) + len(added)
        return True

    def _checked(self, keys: list[Any], weights: Any) -> np.ndarray:
        """Return the vectors of keys as an array; raise an error if they have another shape."""
        rows = np.asarray(weights).astype(self.vectors.dtype)
        if rows.shape != (len(keys), self.vector_size):
            raise ValueError(
                f"the vectors have the shape {rows.shape}; for {len(keys)} keys it must be "
                f"{(len(keys), self.vector_size)}"
            )
        return rows

    def __setitem__(self, keys: Any, weights: Any) -> None:
        """Set the vector of a key, or the vectors of a list of keys; new keys are appended."""
        if not isinstance(keys, list):
            keys, weights = [keys], np.asarray(weights).reshape(1, -1)
        self.add_vectors(keys, weights, replace=True)

    def resize_vectors(self, seed: int = 0) -> None:
        """Give rows to keys that have none yet, with random vectors.

        The vectors are uniform within plus or minus 1 / vector_size, the same numbers as gensim's.
        """
        shape = (len(self.index_to_key), self.vector_size)
        if self.vectors.shape != shape:
            self.vectors = random_vectors(shape, self.vectors, seed)
        self.next_index = len(self.index_to_key)
        self.allocate_vecattrs()
        self.forget_norms()

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
            self.forget_norms()

    # ---- lengths ------------------------------------------------------------------------------------------

    @property
    def _directions(self) -> Directions:  # type: ignore[override]  # made again for another matrix
        kept: Directions | None = self.__dict__.get("_kept")
        if kept is None or not kept.of(self.vectors):
            kept = self.__dict__["_kept"] = Directions(self.index_to_key, self.vectors)
        return kept

    @property
    def norms(self) -> np.ndarray:
        """Length of each vector, shape (n_keys,); set it to None to have the lengths computed again."""
        return self._directions.norms

    @norms.setter
    def norms(self, norms: Any) -> None:
        self.forget_norms()
        if norms is not None:
            self._directions.norms = np.asarray(norms)

    def forget_norms(self) -> None:
        """Forget the lengths, since vectors have changed in place; they are computed when they are needed."""
        self.__dict__.pop("_kept", None)

    def fill_norms(self, force: bool = False) -> None:
        """Compute the lengths of the vectors, unless they are known."""
        if force:
            self.forget_norms()
        self._directions.norms  # noqa: B018 - computed at the first use

    def unit_normalize_all(self) -> None:
        """Scale all vectors to length 1, in place; training needs the lengths, which are lost."""
        self.vectors = self.get_normed_vectors().astype(self.vectors.dtype, copy=False)

    def init_sims(self, replace: bool = False) -> None:
        """Warn: lengths are computed when they are needed. With ``replace``, do ``unit_normalize_all``."""
        warnings.warn("init_sims is deprecated: use fill_norms", DeprecationWarning, stacklevel=2)
        logger.warning("init_sims() is deprecated: lengths of vectors are computed when they are needed")
        self.fill_norms()
        if replace:
            self.unit_normalize_all()


def random_vectors(shape: tuple[int, int], former: np.ndarray | None = None, seed: int = 0) -> np.ndarray:
    """Return random vectors, uniform within plus or minus 1 / d, with those of ``former`` in the first
    rows.
    """
    # The numbers are those of gensim for the same seed.
    vectors = np.random.default_rng(seed=seed).random(shape, dtype=np.float32)
    vectors *= 2.0
    vectors -= 1.0
    vectors /= shape[1]
    if former is not None:
        vectors[: former.shape[0], : former.shape[1]] = former
    return vectors


def seeded_vector(size: int, seed_string: str | None = None, hashfxn: Any = hash) -> np.ndarray:
    """Return a vector uniform within plus or minus 0.5 / size that depends on a string alone."""
    generator = np.random.default_rng(hashfxn(seed_string) & 0xFFFFFFFF if seed_string else None)
    return (generator.random(size).astype(np.float32) - np.float32(0.5)) / np.float32(size)
