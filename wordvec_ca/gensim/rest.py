"""gensim's other modules under this package's name, if gensim is installed.

``wordvec_ca.gensim.utils`` is the module ``gensim.utils`` itself, so that one replaced name is enough for a
whole program. Only modules that this package defines, such as ``wordvec_ca.gensim.models.word2vec``, differ.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
from collections.abc import Sequence
from types import ModuleType
from typing import Any

OURS = "wordvec_ca.gensim."
# Modules that this package defines itself.
HERE = ("models", "rest")


def gensims(name: str) -> Any:
    """Return a module of gensim, or a name from one."""
    try:
        return importlib.import_module(f"gensim.{name}")
    except ImportError:
        module, _, attribute = f"gensim.{name}".rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError:
        raise AttributeError(
            f"wordvec_ca.gensim has no {name!r} of its own: it has word vectors; install gensim for the rest"
        ) from None


class Rest(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds gensim's modules where this package has none.

    It comes before other finders: those would load ``wordvec_ca.gensim.corpora.dictionary`` a second time,
    from the folder that gensim.corpora names.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of gensim, or None."""
        if not fullname.startswith(OURS):
            return None
        name = fullname.removeprefix(OURS)
        if name.split(".")[0] in HERE:
            own = importlib.machinery.PathFinder.find_spec(fullname, path)
            if own is not None:
                return own
        try:
            there = importlib.util.find_spec(f"gensim.{name}") is not None
        except ImportError:
            return None
        return importlib.machinery.ModuleSpec(fullname, self) if there else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return gensim's module itself."""
        module = importlib.import_module("gensim." + spec.name.removeprefix(OURS))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import has replaced; the module has already run."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state
