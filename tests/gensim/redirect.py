"""A plugin for pytest that runs gensim's own tests on the drop-in instead of gensim's classes.

The tests import ``gensim.models.word2vec`` and the like: these names are redirected to ``wordvec_ca.gensim``.
Everything else that they import, data and small functions, is gensim's own. ``make test-gensim`` runs them;
nothing of gensim is copied.
"""

from __future__ import annotations

import sys

import gensim
import gensim.models
import gensim.models.doc2vec
import gensim.models.fasttext
import gensim.test.utils
import pytest

from wordvec_ca.gensim.models import (
    callbacks,
    doc2vec,
    fasttext,
    keyedvectors,
    phrases,
    word2vec,
)

OURS = {
    "word2vec": word2vec,
    "doc2vec": doc2vec,
    "keyedvectors": keyedvectors,
    "callbacks": callbacks,
    "phrases": phrases,
    "fasttext": fasttext,
    "fasttext_inner": fasttext,
}
"""Modules of ``gensim.models`` -> the modules that replace them."""

THEIRS = {name: sys.modules[f"gensim.models.{name}"] for name in OURS}

OLD_PHRASES = "phrases of old gensim are pickles of classes that are gone: find them again"

NOT_APPLICABLE = {
    "test_fasttext": {
        "UnpackTest": "a private function of gensim's that spreads the packed rows of old files",
        "UnicodeVocabTest": "a private function of gensim's reader of .bin",
        "TestFromfile": "a private function of gensim's reader of .bin",
    },
    "test_phrases": {
        "load_custom_scorer": "files of ours name no function: a scoring function of one's own needs pickle",
        "Persistence::test_save_load_no_": OLD_PHRASES,
        "Persistence::test_save_load_string": OLD_PHRASES,
        "TestFrozenPhrasesModelCompatibility": OLD_PHRASES,
    },
}
"""Tests of each module that do not test public behaviour: parts of their names, and the reason."""

BORROWED = {"fasttext": ("_unpack",)}
"""Private names of gensim's that a module of tests imports, though only such tests use them."""

for name, module in OURS.items():
    for private in BORROWED.get(name, ()):
        setattr(module, private, getattr(THEIRS[name], private))
    sys.modules[f"gensim.models.{name}"] = module
    setattr(gensim.models, name, module)
gensim.models.Word2Vec = word2vec.Word2Vec
gensim.models.FastText = fasttext.FastText
gensim.models.Doc2Vec = doc2vec.Doc2Vec
gensim.models.Phrases = phrases.Phrases
gensim.models.KeyedVectors = keyedvectors.KeyedVectors


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that a module imports from another one, and mark those that do not apply."""
    own = []
    for item in items:
        module = item.module.__name__
        if item.cls is None or item.cls.__module__ == module:
            own.append(item)
        for part, reason in NOT_APPLICABLE.get(module.rpartition(".")[2], {}).items():
            if part in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=f"does not apply: {reason}"))
    items[:] = own
