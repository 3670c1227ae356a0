"""Vectors of sentences from vectors of words: averages, SIF, uSIF, CA-SEM, and search among them.

Input: `KeyedVectors` and sentences. Output: an array with a row for each sentence, re-embedded word
vectors, or the nearest sentences of an index.
"""

from wordvec_ca.sentences.ca_sem import reembed
from wordvec_ca.sentences.counts import WordCounts
from wordvec_ca.sentences.coverage import Coverage
from wordvec_ca.sentences.index import SearchIndex, Vectorizer, read_index_record
from wordvec_ca.sentences.reembedded_model import REEMBEDDING_FILES, save_reembedded
from wordvec_ca.sentences.segmentation import PhraseDictionary, segmented_counts
from wordvec_ca.sentences.text_lines import TextLines
from wordvec_ca.sentences.tokens import Sentence, SentenceReader, TokenIds
from wordvec_ca.sentences.unknown_words import with_rows_for
from wordvec_ca.sentences.vectorizer import FIT_FILES, SentenceVectorizer

__all__ = [
    "FIT_FILES",
    "REEMBEDDING_FILES",
    "Coverage",
    "PhraseDictionary",
    "SearchIndex",
    "Sentence",
    "SentenceReader",
    "SentenceVectorizer",
    "TextLines",
    "TokenIds",
    "Vectorizer",
    "WordCounts",
    "read_index_record",
    "reembed",
    "save_reembedded",
    "segmented_counts",
    "with_rows_for",
]
