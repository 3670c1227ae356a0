"""Texts of documents on a map: what each begins with, and the words that are typical of a region."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from wordvec_ca.models import PREFIX

SNIPPET = 140
"""Characters of a document that are shown: about two lines beside the pointer."""

TYPICAL = 3
"""Words that name a region, as many as name one of words."""


def snippets(texts: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return what the text of each document begins with; nothing for words."""
    return [" ".join(texts.get(_tag(name), "").split())[:SNIPPET] for name in names]


def typical_words(
    texts: Mapping[str, str], names: Sequence[str], groups: Sequence[np.ndarray]
) -> list[list[str]]:
    """Return the words that are typical of each group of documents.

    They are in more of its documents than in others: the share of the group's documents with the word, times
    the squared logarithm of how much larger that is than the share of all documents.
    """
    words_of = [set(re.findall(r"[^\W\d_]{3,}", texts.get(_tag(name), "").lower())) for name in names]
    of_all = Counter(word for words in words_of for word in words)
    n_all = max(1, sum(map(bool, words_of)))
    found = []
    for group in groups:
        own = Counter(word for row in group.tolist() for word in words_of[row])
        size = max(1, sum(bool(words_of[row]) for row in group.tolist()))
        # squared: a function word is in nearly all documents, and in a group a little oftener by chance
        scores = {word: n / size * math.log(n / size * n_all / of_all[word]) ** 2
                  for word, n in own.items() if n > 1 and n / size > of_all[word] / n_all}  # fmt: skip
        # by name where scores are equal: the page must not depend on the order of a set
        found.append(sorted(scores, key=lambda word: (-scores[word], word))[:TYPICAL])
    return found


def _tag(name: str) -> str:
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
