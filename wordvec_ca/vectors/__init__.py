"""Word vectors with methods for lookup, similarity, neighbours, analogies, alignment and search.

Input: vectors in any format (`wordvec_ca.formats`). Output: `KeyedVectors`. This package also has the
functions with which a program reads and writes vectors.
"""

from wordvec_ca.formats import detect_format, format_of_suffix, precision_loss, read_vectors, write_vectors
from wordvec_ca.tables import (
    CutOffError,
    NgramVectors,
    NoWordVectorsError,
    Resamples,
    VectorTable,
    check_trained,
    words_are_trained,
)
from wordvec_ca.vectors.alignment import Fit, align, directions, mean_space, robust_fit
from wordvec_ca.vectors.analogy_intervals import analogies
from wordvec_ca.vectors.approximate import MANY_VECTORS, ApproximateNeighbours
from wordvec_ca.vectors.dot_products import row_products
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
from wordvec_ca.vectors.recommendations import recommend, recommend_each
from wordvec_ca.vectors.word_sums import Term, shown_sum, sum_terms

__all__ = [
    "COVERAGE",
    "LEVEL",
    "MANY_VECTORS",
    "WIDENING",
    "ApproximateNeighbours",
    "CutOffError",
    "Directions",
    "Fit",
    "KeyedVectors",
    "Neighbour",
    "Neighbours",
    "NgramVectors",
    "NoAttentionError",
    "NoWordVectorsError",
    "Resamples",
    "Term",
    "UnknownWordError",
    "VectorTable",
    "align",
    "analogies",
    "check_trained",
    "cosine",
    "detect_format",
    "directions",
    "format_of_suffix",
    "highest",
    "interval",
    "interval_of_difference",
    "mean_space",
    "precision_loss",
    "read_vectors",
    "recommend",
    "recommend_each",
    "robust_fit",
    "row_products",
    "shown_interval",
    "shown_sum",
    "sum_terms",
    "words_are_trained",
    "write_vectors",
]
