"""Vectors of new texts from a model of documents, for uses of sentence vectors.

Input: a model directory of documents and texts. Output: a row for each text, inferred; always the same
row for the same text.
"""

from wordvec_ca.documents.vectorizer import DocumentVectorizer

__all__ = ["DocumentVectorizer"]
