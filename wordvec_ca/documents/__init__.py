"""Vectors of texts that a model of documents has not seen, for everything that takes sentence vectors.

Comes in: a model directory of documents and texts. Goes out: a row for each text, inferred; always the same
row for the same text.
"""

from wordvec_ca.documents.vectorizer import INFER, DocumentVectorizer

__all__ = ["INFER", "DocumentVectorizer"]
