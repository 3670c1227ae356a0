"""Word vectors with methods for lookup, similarity, neighbours, analogies, alignment and search.

Input: vectors in any format (`wordvec_ca.formats`). Output: `KeyedVectors`. This package also has the
functions with which a program reads and writes vectors.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.formats import detect_format, read_vectors, write_vectors
from wordvec_ca.tables import (
    NgramVectors,
    NoWordVectorsError,
    Resamples,
    VectorTable,
    check_trained,
    words_are_trained,
)
from wordvec_ca.vectors.alignment import Fit, align, directions, mean_space, robust_fit
from wordvec_ca.vectors.approximate import FASTER_FROM, MANY_VECTORS, ApproximateNeighbours
from wordvec_ca.vectors.intervals import (
    COVERAGE,
    LEVEL,
    SHOWN_COVERAGE,
    Neighbour,
    Neighbours,
    interval,
    interval_of_difference,
    shown_interval,
    widening,
)
from wordvec_ca.vectors.keyed_vectors import KeyedVectors, analogies
from wordvec_ca.vectors.lookup import NoAttentionError, UnknownWordError
from wordvec_ca.vectors.neighbours import Directions, cosine, highest, row_products
from wordvec_ca.vectors.recommendations import recommend, recommend_each
from wordvec_ca.vectors.word_sums import Term, shown_sum, sum_terms
