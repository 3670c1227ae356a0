"""Word vectors that read their context: training, reading and judging them on CPUs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wordvec_ca._version import __version__

if TYPE_CHECKING:
    from wordvec_ca.config import TrainConfig
    from wordvec_ca.errors import DataError, OutputExistsError
    from wordvec_ca.keyedvectors import KeyedVectors
    from wordvec_ca.model import EmbeddingModel
    from wordvec_ca.progress import Progress
    from wordvec_ca.reembedding import reembed
    from wordvec_ca.search import SearchIndex
    from wordvec_ca.sentences import SentenceVectorizer
    from wordvec_ca.training import resume, train
    from wordvec_ca.vocab import Vocab

_HOMES = {
    "DataError": "errors",
    "EmbeddingModel": "model",
    "KeyedVectors": "keyedvectors",
    "OutputExistsError": "errors",
    "Progress": "progress",
    "SearchIndex": "search",
    "SentenceVectorizer": "sentences",
    "TrainConfig": "config",
    "Vocab": "vocab",
    "reembed": "reembedding",
    "resume": "training",
    "train": "training",
}

__all__ = [
    "DataError",
    "EmbeddingModel",
    "KeyedVectors",
    "OutputExistsError",
    "Progress",
    "SearchIndex",
    "SentenceVectorizer",
    "TrainConfig",
    "Vocab",
    "__version__",
    "reembed",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that ``import wordvec_ca`` is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, those too that have not been used yet."""
    return sorted({*globals(), *__all__})
