"""Reads and writes files and folders of vectors: a module for each format, and a registry that recognises
them.

Readers turn a file or folder of vectors from any tool into a `VectorTable`; writers do the reverse. A new
format is a module and an entry in ``wordvec_ca/specs/formats.py``.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.formats.binary import read_binary
from wordvec_ca.formats.fasttext import (
    LONGEST_NGRAM,
    MOST_DIMENSIONS,
    MOST_PLACES,
    FastTextModel,
    QuantisedRows,
)
from wordvec_ca.formats.fasttext import Options as FastTextOptions
from wordvec_ca.formats.fasttext import read_model as read_fasttext_model
from wordvec_ca.formats.fasttext import write_model as write_fasttext_model
from wordvec_ca.formats.fasttext_table import WRITTEN_BUCKETS, training_options
from wordvec_ca.formats.fasttext_table import read_trainable_model as read_trainable_fasttext
from wordvec_ca.formats.gensim import read_gensim_state
from wordvec_ca.formats.gensim_index import (
    add_gensim_index,
    to_gensim,
    write_gensim_index,
    write_gensim_model,
)
from wordvec_ca.formats.model_directory import (
    MODEL_FILES,
    MODEL_FORMAT,
    check_ngrams,
    form_of_directory,
    map_part,
    read_metadata,
    read_ngrams,
)
from wordvec_ca.formats.registry import detect_format, format_of_suffix, read_vectors, write_vectors
from wordvec_ca.formats.safetensors import Tensor, map_tensors, precision_loss, write_arrays, write_tensors
from wordvec_ca.formats.text import encode_words, read_text
