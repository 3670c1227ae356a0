"""The data of a set of vectors, without methods for similarity: a table of words, rows and counts.

A model adds n-grams for unknown words, parts, the published form of its two matrices, attention to words,
and models of resampled text. Readers of formats return a `VectorTable`, and writers take one.
"""

from wordvec_ca.tables.attention import attention_of_words, logits_by_part, mean_attention
from wordvec_ca.tables.blas import one_blas_thread
from wordvec_ca.tables.fitted_ngrams import MAX_N, MIN_N, published_vectors, with_fitted_ngrams
from wordvec_ca.tables.ngrams import (
    END_OF_LINE,
    NgramIndex,
    NgramVectors,
    encoded,
    keys_of,
    ngrams_of,
    with_boundary_marks,
)
from wordvec_ca.tables.parts import Part, parse_parts, parts_of_record
from wordvec_ca.tables.parts import written as written_parts
from wordvec_ca.tables.published import FITTED, FittedForm, Halves, check_form, map_of_inputs, output_weight
from wordvec_ca.tables.resamples import RESAMPLE_FILES, EightBit, Resamples
from wordvec_ca.tables.table import (
    CutOffError,
    GrowingRows,
    NoWordVectorsError,
    VectorTable,
    check_trained,
    check_unicode,
    check_unique,
    first_words,
    keep_first,
    row_blocks,
    show_word,
    warn_of_nonfinite,
    words_are_trained,
)

__all__ = [
    "END_OF_LINE",
    "FITTED",
    "MAX_N",
    "MIN_N",
    "RESAMPLE_FILES",
    "CutOffError",
    "EightBit",
    "FittedForm",
    "GrowingRows",
    "Halves",
    "NgramIndex",
    "NgramVectors",
    "NoWordVectorsError",
    "Part",
    "Resamples",
    "VectorTable",
    "attention_of_words",
    "check_form",
    "check_trained",
    "check_unicode",
    "check_unique",
    "encoded",
    "first_words",
    "keep_first",
    "keys_of",
    "logits_by_part",
    "map_of_inputs",
    "mean_attention",
    "ngrams_of",
    "one_blas_thread",
    "output_weight",
    "parse_parts",
    "parts_of_record",
    "published_vectors",
    "row_blocks",
    "show_word",
    "warn_of_nonfinite",
    "with_boundary_marks",
    "with_fitted_ngrams",
    "words_are_trained",
    "written_parts",
]
