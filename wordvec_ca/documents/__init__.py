"""Vectors of new texts from a model of documents, for uses of sentence vectors.

Input: a model directory with documents, and texts. Output: an inferred vector for each text, which is always
the same for the same text.
"""

from wordvec_ca.documents.training_text import fields_of_training, texts_of_training
from wordvec_ca.documents.vectorizer import DocumentVectorizer

__all__ = ["DocumentVectorizer", "fields_of_training", "texts_of_training"]
