"""Parses sums of words that a person types: ``king - man + woman``, with or without spaces.

The explorer parses them by the same rules (``sumTerms`` in ``report/explorer/words.js``); one list of test
cases is used for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

# A hyphen, a minus and a dash all mean minus.
MINUS = "−–-"

_SIGN = re.compile(rf"[+{MINUS}]")
_CLEAR_SIGN = re.compile(r"[+−–]|\s-|-\s")
# Largest number of signs in one part that are considered, since the time grows with their square.
_MOST_SIGNS = 200


class Term(NamedTuple):
    """A word of a sum, as it was typed, and 1 or -1."""

    word: str
    sign: int


def sum_terms(text: str, is_known: Callable[[str], bool]) -> list[Term]:
    """Return the terms of a sum of words. A text that is not a sum is returned as the only term."""
    # A known word is never split, whatever signs it contains. Hyphens without spaces do not make a sum: an
    # unknown ``well-read`` is a word, not a difference; ``well - read`` is one. A sum without spaces is
    # split at those signs that make the largest part of it known words, preferring long ones.
    text = text.strip()
    whole = [Term(text, 1)]
    if is_known(text) or not _CLEAR_SIGN.search(text):
        return whole
    terms: list[Term] = []
    sign = 1
    for part in text.split():
        if _SIGN.fullmatch(part):
            sign = _value(part)
            continue
        following = 1
        if not is_known(part):  # a sign may touch only one of the words beside it: "king -man", "king- man"
            if _SIGN.match(part):
                sign, part = _value(part[0]), part[1:]
            if len(part) > 1 and _SIGN.match(part[-1]) and not is_known(part):
                following, part = _value(part[-1]), part[:-1]
        for word, join in _split(part, is_known):
            terms.append(Term(word, sign if join == "" else _value(join)))
        sign = following
    if not terms or (len(terms) == 1 and terms[0].sign > 0 and not is_known(terms[0].word)):
        return whole
    return terms


def shown_sum(terms: list[Term]) -> str:
    """Return the sum that was parsed, with spaces around its signs."""
    text = " ".join(f"{'+' if sign > 0 else '-'} {word}" for word, sign in terms)
    return text.removeprefix("+ ")


def _value(sign: str) -> int:
    return 1 if sign == "+" else -1


def _split(part: str, is_known: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Return the words of a part without spaces, each with the sign before it ("" for the first)."""
    # Of all ways to cut at signs, it is the one with the fewest characters in unknown words, then with the
    # fewest words, then with the longest first words.
    ends = [place.start() for place in _SIGN.finditer(part)][:_MOST_SIGNS] + [len(part)]
    best: dict[int, tuple[int, int, list[int]]] = {len(part) + 1: (0, 0, [])}  # by where a word begins
    for begin in [0, *(end + 1 for end in ends[:-1])][::-1]:
        for end in reversed(ends):
            if end > begin and end + 1 in best:
                unknown, n_words, later = best[end + 1]
                word = part[begin:end]
                cost = (unknown + (0 if is_known(word) else len(word)), n_words + 1)
                if begin not in best or cost < best[begin][:2]:
                    best[begin] = (*cost, [end, *later])
    words, begin = [], 0
    for end in best[0][2] if 0 in best else [len(part)]:
        words.append((part[begin:end], part[begin - 1] if begin else ""))
        begin = end + 1
    return words
