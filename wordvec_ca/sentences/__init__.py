"""Vectors of sentences from vectors of words: averages, SIF, uSIF, CA-SEM, and search among them.

Input: `KeyedVectors` and sentences. Output: an array with a row for each sentence, re-embedded word
vectors, or the nearest sentences of an index.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.sentences.ca_sem import REEMBEDDING_FILES, reembed, save_reembedded
from wordvec_ca.sentences.counts import WordCounts
from wordvec_ca.sentences.index import SearchIndex, Vectorizer, read_index_record
from wordvec_ca.sentences.segmentation import PhraseDictionary, segmented_counts
from wordvec_ca.sentences.tokens import Coverage, Sentence, SentenceReader, TextLines, TokenIds
from wordvec_ca.sentences.vectorizer import FIT_FILES, SentenceVectorizer
from wordvec_ca.sentences.word_vectors import with_rows_for
