"""Names: words that have a capital inside most sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wordvec_ca.change.evidence import numbered_lines
from wordvec_ca.corpus import TextOptions
from wordvec_ca.text import tokenize

ENDS = frozenset(".!?:;…\"'“”‘’«»()[]—-*_")
"""A capital after one of these tokens may only begin a sentence, a quotation or a heading."""


def names(texts: Sequence[Any], options: TextOptions) -> set[str]:
    """Return the words of texts that have a capital in more than half of their places inside sentences."""
    inside: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts:
        for _, _, line in numbered_lines(text, options):
            tokens = tokenize(line, options.tokenizer, lowercase=False) if isinstance(line, str) else line
            for before, token in pairwise(tokens):
                if before in ENDS:
                    continue
                word = token.lower() if options.lowercase else token
                inside[word] += 1
                capital[word] += token[:1].isupper()
    return {word for word, n in capital.items() if 2 * n > inside[word]}
