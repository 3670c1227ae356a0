"""A drop-in for gensim's word vectors: the same paths, names and arguments, several times as fast.

Input: a program with ``from gensim.models import Word2Vec``. Write ``from wordvec_ca.gensim.models
import Word2Vec`` or ``import wordvec_ca.gensim as gensim`` instead, and nothing else changes; gensim need not
be installed. If it is, its other modules (``utils``, ``corpora``, ...) are here too (``rest``).
docs/guides/from-gensim.md has a table of every parameter, and what differs.
"""

import logging
import sys

from wordvec_ca.gensim import models
from wordvec_ca.gensim.rest import Rest, gensims

__all__ = ["models"]

__version__ = "4.4.0"
"""The version of gensim whose names and arguments this package has: programs look at it."""

sys.meta_path.insert(0, Rest())

# As gensim has it: its warnings are for programs that configure logging, and no one else sees them.
logging.getLogger("gensim").addHandler(logging.NullHandler())


def __getattr__(name: str) -> object:
    """Return an attribute or module of gensim that this package does not replace."""
    return gensims(name)
