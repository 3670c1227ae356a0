"""The names of the files of a model directory; ``wordvec_ca.formats`` describes their content."""

from __future__ import annotations

from enum import StrEnum


class ModelFile(StrEnum):
    """The name of a file in a model directory."""

    CONFIG = "config.json"
    VOCAB = "vocab.tsv"
    RARE = "rare.tsv"
    VECTORS = "vectors.kv.vectors.npy"
    INDEX = "vectors.kv"
    INPUTS = "inputs.npy"
    OUTPUTS = "outputs.npy"
    NODES = "nodes.npy"
    TREE = "tree.npy"
    ATTENTION_WORDS = "attention_words.npy"
    ATTENTION_SLOTS = "attention_slots.npy"
    DOCUMENTS = "documents.npy"
    DOCUMENT_TAGS = "documents.tags"
    ATTENTION_DOCUMENTS = "attention_documents.npy"
    HISTORY = "history.tsv"
    HELD_OUT = "held_out.json"
    SETTINGS = "run.toml"
    NGRAMS = "ngrams.tsv"
    NGRAM_ROWS = "ngrams.npy"
    NGRAMS_PUBLISHED = "ngrams_published.npy"
    REPORT_PAGE = "report.html"
    WORDS_PAGE = "words.html"


# What ``cawv explore`` and ``cawv index`` put beside a model: its name with these suffixes.
MAPS_SUFFIX, INDEX_SUFFIX = ".cawv-maps", ".cawv-neighbours"
