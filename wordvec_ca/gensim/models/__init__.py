"""The modules of ``gensim.models`` under the same paths, each with the same names."""

from wordvec_ca.gensim.models import callbacks, doc2vec, fasttext, keyedvectors, phrases, word2vec
from wordvec_ca.gensim.models.doc2vec import Doc2Vec
from wordvec_ca.gensim.models.fasttext import FastText, FastTextKeyedVectors
from wordvec_ca.gensim.models.keyedvectors import KeyedVectors
from wordvec_ca.gensim.models.phrases import Phrases
from wordvec_ca.gensim.models.word2vec import Word2Vec
from wordvec_ca.gensim.rest import gensims

__all__ = [
    "Doc2Vec",
    "FastText",
    "KeyedVectors",
    "Phrases",
    "Word2Vec",
    "callbacks",
    "doc2vec",
    "fasttext",
    "keyedvectors",
    "phrases",
    "word2vec",
]


keyedvectors.FastTextKeyedVectors = FastTextKeyedVectors  # type: ignore[attr-defined]  # as in gensim 3


def __getattr__(name: str) -> object:
    """Return an attribute of gensim that this package does not replace."""
    return gensims(f"models.{name}")
