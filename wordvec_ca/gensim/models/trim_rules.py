"""Which words a vocabulary keeps: rules that a caller gives, with gensim's constants."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

RULE_DEFAULT = 0
"""Keep a word that is frequent enough."""

RULE_DISCARD = 1
"""Drop a word."""

RULE_KEEP = 2
"""Keep a word, however rare."""

TrimRule = Callable[[Any, int, int], int]


def keep_vocab_item(word: Any, count: int, min_count: int, trim_rule: TrimRule | None = None) -> bool:
    """Return whether a word is kept."""
    verdict = RULE_DEFAULT if trim_rule is None else trim_rule(word, count, min_count)
    if verdict in (RULE_KEEP, RULE_DISCARD):
        return verdict == RULE_KEEP
    return count >= min_count


def prune_vocab(vocab: MutableMapping[Any, int], min_reduce: int, trim_rule: TrimRule | None = None) -> int:
    """Drop the words of at most ``min_reduce`` occurrences, in place, and return how often they occurred."""
    dropped = [
        word for word, count in vocab.items() if not keep_vocab_item(word, count, min_reduce + 1, trim_rule)
    ]
    return sum(vocab.pop(word) for word in dropped)
