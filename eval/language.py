"""Is an evaluation set in another language than the vectors? Most public sets are English."""

from __future__ import annotations

import re

from wordvec_ca.eval.lookup import Vectors

ENGLISH_SETS = re.compile(
    r"wordsim353|simlex999|questions-words|ws353.*|rg65|mc30|mturk\d+|yp130|verb143|men|rw|ap|essli.*|esslli.*"
    r"|battig|wsj.*|ud_e[wns]t.*|ud_english.*|brown|conll2000.*|sst.*|mr|cr|mpqa|subj|trec|sts.*|sick.*",
    re.IGNORECASE,
)
"""Names of public sets that are English."""

FREQUENT = frozenset(
    ("the", "of", "and", "to", "in", "a", "is", "was", "for", "on", "that", "with", "as", "by", "at", "from")
    + ("it", "be", "this", "are", "he", "his", "not", "or", "an")
)
"""English function words that are among the first hundred of any English text."""

AMONG = 1000
"""Number of first words that are searched for these: vocabularies have the most frequent words first."""

LEAST = 300
"""Vectors of fewer words are not judged."""


def other_language(vectors: Vectors, dataset: str) -> str | None:
    """Return a warning if a set is known to be English and the words of the vectors do not look English.

    Notes
    -----
    English vectors have all of ``FREQUENT`` among their first thousand words; vectors of another language
    have a few that are spelled alike. The threshold is a half.
    """
    first = [word.lower() for word in vectors.index_to_key[:AMONG]]
    if len(first) < LEAST or not ENGLISH_SETS.fullmatch(dataset):
        return None
    if 2 * len(FREQUENT.intersection(first)) >= len(FREQUENT):
        return None
    return (
        "the set is English, and the words of these vectors do not look so (the first ones: "
        f"{', '.join(vectors.index_to_key[:8])})"
    )
