"""The paths of ``gensim.models``: from each, the same names."""

from wordvec_ca.gensim.models import callbacks, doc2vec, fasttext, keyedvectors, phrases, word2vec
from wordvec_ca.gensim.models.doc2vec import Doc2Vec
from wordvec_ca.gensim.models.fasttext import FastText
from wordvec_ca.gensim.models.keyedvectors import KeyedVectors
from wordvec_ca.gensim.models.phrases import Phrases
from wordvec_ca.gensim.models.word2vec import Word2Vec

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


def __getattr__(name: str) -> object:
    """Say where the rest of gensim's models are."""
    raise AttributeError(
        f"wordvec_ca.gensim.models has no {name!r}: it has {', '.join(__all__[:5])}; take others from gensim"
    )
