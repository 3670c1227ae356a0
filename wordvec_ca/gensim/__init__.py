"""A drop-in for gensim's word vectors: the same paths, names and arguments, several times sooner.

Comes in: a program that says ``from gensim.models import Word2Vec``. It says ``from wordvec_ca.gensim.models
import Word2Vec`` or ``import wordvec_ca.gensim as gensim`` instead, and nothing else changes; gensim need not
be installed. docs/tutorials/from-gensim.md has a table of every parameter, and what differs.
"""

from wordvec_ca.gensim import models

__all__ = ["models"]


def __getattr__(name: str) -> object:
    """Say where the rest of gensim is."""
    raise AttributeError(
        f"wordvec_ca.gensim has no {name!r}: it has models, for word vectors; take the rest from gensim"
    )
