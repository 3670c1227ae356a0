"""Vectors of new texts from a model of documents, for uses of sentence vectors.

Input: a model directory with documents, and texts. Output: an inferred vector for each text, which is always
the same for the same text.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.documents.vectorizer import DocumentVectorizer, texts_of_training
