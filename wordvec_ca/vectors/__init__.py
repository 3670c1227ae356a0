"""Word vectors: lookup, comparison, reading and writing in every format.

Input: a file or folder of vectors from any tool. Output: `KeyedVectors`. One module of ``formats`` for
each format; a new one is a module and a line in ``formats/registry.py``.
"""

from wordvec_ca.vectors.alignment import Fit, align, directions, mean_space, robust_fit, rotation
from wordvec_ca.vectors.analogy_intervals import analogies
from wordvec_ca.vectors.approximate import MANY_VECTORS, ApproximateNeighbours
from wordvec_ca.vectors.attention import attention_of_words, logits_by_part, mean_attention
from wordvec_ca.vectors.blas import one_blas_thread
from wordvec_ca.vectors.dot_products import row_products
from wordvec_ca.vectors.formats.binary import read_binary
from wordvec_ca.vectors.formats.fasttext import LONGEST_NGRAM, MOST_DIMENSIONS, MOST_PLACES, FastTextModel
from wordvec_ca.vectors.formats.fasttext import Options as FastTextOptions
from wordvec_ca.vectors.formats.fasttext import read_model as read_fasttext_model
from wordvec_ca.vectors.formats.fasttext import write_model as write_fasttext_model
from wordvec_ca.vectors.formats.gensim import read_gensim_state
from wordvec_ca.vectors.formats.gensim_index import (
    add_gensim_index,
    write_gensim_index,
    write_gensim_model,
)
from wordvec_ca.vectors.formats.model_directory import (
    MODEL_FILES,
    MODEL_FORMAT,
    check_ngrams,
    form_of_directory,
    read_metadata,
)
from wordvec_ca.vectors.formats.precision import precision_loss
from wordvec_ca.vectors.formats.product_codes import QuantisedRows
from wordvec_ca.vectors.formats.registry import detect_format, format_of_suffix, read_vectors, write_vectors
from wordvec_ca.vectors.formats.safetensors import map_tensors, write_arrays
from wordvec_ca.vectors.formats.text import read_text
from wordvec_ca.vectors.intervals import (
    COVERAGE,
    LEVEL,
    WIDENING,
    Neighbour,
    Neighbours,
    interval,
    interval_of_difference,
    shown_interval,
)
from wordvec_ca.vectors.keyed_vectors import KeyedVectors
from wordvec_ca.vectors.lookup import NoAttentionError, UnknownWordError
from wordvec_ca.vectors.neighbours import Directions, cosine, highest
from wordvec_ca.vectors.ngrams import NgramIndex, NgramVectors, ngrams_of, with_boundary_marks
from wordvec_ca.vectors.parts import Part, parse_parts
from wordvec_ca.vectors.parts import written as written_parts
from wordvec_ca.vectors.published import FittedForm, Halves, map_of_inputs
from wordvec_ca.vectors.resamples import EightBit, Resamples
from wordvec_ca.vectors.table import CutOffError, VectorTable, keep_first
from wordvec_ca.vectors.word_sums import Term, shown_sum, sum_terms

__all__ = [
    "COVERAGE",
    "LEVEL",
    "LONGEST_NGRAM",
    "MANY_VECTORS",
    "MODEL_FILES",
    "MODEL_FORMAT",
    "MOST_DIMENSIONS",
    "MOST_PLACES",
    "WIDENING",
    "ApproximateNeighbours",
    "CutOffError",
    "Directions",
    "EightBit",
    "FastTextModel",
    "FastTextOptions",
    "Fit",
    "FittedForm",
    "Halves",
    "KeyedVectors",
    "Neighbour",
    "Neighbours",
    "NgramIndex",
    "NgramVectors",
    "NoAttentionError",
    "Part",
    "QuantisedRows",
    "Resamples",
    "Term",
    "UnknownWordError",
    "VectorTable",
    "add_gensim_index",
    "align",
    "analogies",
    "attention_of_words",
    "check_ngrams",
    "cosine",
    "detect_format",
    "directions",
    "form_of_directory",
    "format_of_suffix",
    "highest",
    "interval",
    "interval_of_difference",
    "keep_first",
    "logits_by_part",
    "map_of_inputs",
    "map_tensors",
    "mean_attention",
    "mean_space",
    "ngrams_of",
    "one_blas_thread",
    "parse_parts",
    "precision_loss",
    "read_binary",
    "read_fasttext_model",
    "read_gensim_state",
    "read_metadata",
    "read_text",
    "read_vectors",
    "robust_fit",
    "rotation",
    "row_products",
    "shown_interval",
    "shown_sum",
    "sum_terms",
    "with_boundary_marks",
    "write_arrays",
    "write_fasttext_model",
    "write_gensim_index",
    "write_gensim_model",
    "write_vectors",
    "written_parts",
]
