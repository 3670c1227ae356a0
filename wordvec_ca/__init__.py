"""Static word vectors: training, reading and judging them on CPUs."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from wordvec_ca._version import __version__

if TYPE_CHECKING:
    from wordvec_ca.associations.axes import axis
    from wordvec_ca.associations.list_association import association
    from wordvec_ca.change.result import changes_of_models
    from wordvec_ca.change.texts import changes
    from wordvec_ca.corpus.phrases import Phrases
    from wordvec_ca.corpus.vocab import Vocab
    from wordvec_ca.errors import DataError, OutputExistsError
    from wordvec_ca.models.attention import attention_weights
    from wordvec_ca.models.config import TrainConfig
    from wordvec_ca.models.history import Progress
    from wordvec_ca.models.parameters import EmbeddingModel
    from wordvec_ca.report.explorer.contents import explore
    from wordvec_ca.runs.run import resume, train
    from wordvec_ca.sentences.ca_sem import reembed
    from wordvec_ca.sentences.index import SearchIndex
    from wordvec_ca.sentences.vectorizer import SentenceVectorizer
    from wordvec_ca.vectors.alignment import align
    from wordvec_ca.vectors.keyed_vectors import KeyedVectors

# kernels/ and eval/ are next to wordvec_ca/ in a checkout and inside it in an installation. A Python that is
# started in a checkout finds this folder before the installed package, and would fail later, at an import.
if importlib.util.find_spec(f"{__name__}.kernels") is None:
    raise ImportError(
        f"Python has found wordvec_ca in {__path__[0]}, a checkout that is not installed: start Python in "
        "another folder to use the installed package, or install the checkout with "
        "'pip install --editable .'"
    )

_HOMES = {
    "DataError": "errors",
    "EmbeddingModel": "models.parameters",
    "KeyedVectors": "vectors.keyed_vectors",
    "OutputExistsError": "errors",
    "Phrases": "corpus.phrases",
    "Progress": "models.history",
    "SearchIndex": "sentences.index",
    "SentenceVectorizer": "sentences.vectorizer",
    "TrainConfig": "models.config",
    "Vocab": "corpus.vocab",
    "changes": "change.texts",
    "changes_of_models": "change.result",
    "explore": "report.explorer.contents",
    "align": "vectors.alignment",
    "association": "associations.list_association",
    "attention_weights": "models.attention",
    "axis": "associations.axes",
    "reembed": "sentences.ca_sem",
    "resume": "runs.run",
    "train": "runs.run",
}

__all__ = [
    "DataError",
    "EmbeddingModel",
    "KeyedVectors",
    "OutputExistsError",
    "Phrases",
    "Progress",
    "SearchIndex",
    "SentenceVectorizer",
    "TrainConfig",
    "Vocab",
    "__version__",
    "align",
    "association",
    "attention_weights",
    "axis",
    "changes",
    "changes_of_models",
    "explore",
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
    return sorted(__all__)
