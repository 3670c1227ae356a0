"""The data of a set of vectors, without methods for similarity: a table of words, rows and counts.

A model adds n-grams for unknown words, the published form of its two matrices, attention to words,
and models of resampled text. Readers of formats return a `VectorTable`, and writers take one.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

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
from wordvec_ca.tables.published import (
    FittedForm,
    Halves,
    check_form,
    map_of_inputs,
    one_blas_thread,
    output_weight,
)
from wordvec_ca.tables.resamples import RESAMPLE_FILES, EightBit, Resamples
from wordvec_ca.tables.table import (
    CutOffError,
    GrowingRows,
    NoWordVectorsError,
    VectorTable,
    check_trained,
    check_unicode,
    check_unique,
    config_of,
    first_words,
    keep_first,
    mean_attention,
    offsets_of,
    row_blocks,
    show_word,
    warn_of_nonfinite,
    words_are_trained,
)
