"""Rows that are not an array: converts objects of other packages to arrays and JSON, and back.

Classes of other packages, such as compress-fasttext's, extend ours and keep codes in place of vectors. Such
an object is stored as its attributes, and restored without a call of any function. A file can name only
classes of one package, the package of the class whose ``load`` reads it, and only classes that are imported.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError


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
