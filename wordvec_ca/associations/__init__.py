"""Positions of words between two poles, and associations of two groups of words with two others.

Input: vectors, and lists of words or pairs of words. Output: projections on an axis, and measures of
association, each with an interval over models and words, and a comparison with random lists.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.associations.axes import Axis, Projection, Projections, axis
from wordvec_ca.associations.list_association import Association, association
from wordvec_ca.associations.measures import MEASURES
from wordvec_ca.associations.word_lists import (
    PUBLISHED,
    PublishedTest,
    published_test,
    read_pairs,
    read_words,
)
