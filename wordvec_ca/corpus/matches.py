"""Warns if given phrases or words do not match a text, or if different spellings look the same."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain

from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.corpus.phrases import Phrases
from wordvec_ca.corpus.vocab import Vocab
from wordvec_ca.errors import Option, OptionWarning
from wordvec_ca.text import TOKENIZERS, normal_word, tokenize, twins, with_ligatures

# If a larger share of the words has a common property, that is the likely cause.
FEW = 0.1

# Usually at least this share of the tokens is in a vocabulary.
USUAL = 0.9

_LOOKED_AT = 50_000


def warn_of_twins(vocab: Vocab, options: TextOptions) -> None:
    """Warn if words occur in two normal forms of Unicode, and therefore twice in the vocabulary."""
    if options.normalize != "none" or not (pairs := twins(vocab.words)):
        return
    composed, other = pairs[0]
    counts = [vocab.counts[vocab.index[word]] for word in (composed, other)]
    warnings.warn(
        OptionWarning(
            f"{len(pairs):,} words are there twice, with accents composed and otherwise, as {composed!r} "
            f"({counts[0]:,} and {counts[1]:,} times); ",
            Option("normalize", "nfc"),
            " makes one word of both",
        ),
        stacklevel=4,
    )


def warn_of_ligatures(vocab: Vocab, options: TextOptions) -> None:
    """Warn if words hold ligatures, which come from typeset pages: ofﬁce and office are two words."""
    if options.normalize == "nfkc" or not (words := with_ligatures(vocab.words)):
        return
    count = sum(int(vocab.counts[vocab.index[word]]) for word in words)
    warnings.warn(
        OptionWarning(
            f"{len(words):,} words, {count:,} tokens, have ligatures, as {words[0]!r}, and differ from the "
            "words without; ",
            Option("normalize", "nfkc"),
            " writes their letters",
        ),
        stacklevel=4,
    )


def warn_of_phrases(phrases: Phrases, options: TextOptions) -> None:
    """Warn that none of the given phrases occurs in the text."""
    words = list(dict.fromkeys(chain.from_iterable(phrases.sequences)))
    reason = unmatched(words, options)
    if reason is None and options.tokenizer in TOKENIZERS:
        split = [word for word in words[:_LOOKED_AT] if len(tokenize(word, options.tokenizer)) != 1]
        if len(split) > FEW * len(words):
            reason = (f"the tokenizer splits {len(split):,} of their words, as {split[0]!r}",)
    warnings.warn(
        OptionWarning(
            f"none of the {len(phrases):,} phrases occurs in the text, so nothing was joined",
            *(("; ", *reason) if reason else (": their words must be as the tokeniser gives them",)),
        ),
        stacklevel=4,
    )


def warn_of_vocabulary(vocab: Vocab, options: TextOptions, kept: int, tokens: int) -> None:
    """Warn if few tokens are in the given vocabulary and a cause is likely."""
    if kept < USUAL * tokens and (reason := unmatched(vocab.words, options)) is not None:
        warnings.warn(
            OptionWarning(
                f"{kept / max(tokens, 1):.1%} of the tokens are words of the vocabulary that was given; ",
                *reason,
            ),
            stacklevel=4,
        )


def unmatched(words: Sequence[str], options: TextOptions) -> tuple[str | Option, ...] | None:
    """Return the likely cause why words do not occur in a text, as pieces of a message, or None."""
    words = words[:_LOOKED_AT]
    capitals = [word for word in words if word != word.lower()] if options.lowercase else []
    if len(capitals) > FEW * len(words):
        return (
            f"{len(capitals):,} of {len(words):,} words have capitals, as {capitals[0]!r}, but the text is "
            "read in lower case: write them so, or give ",
            Option("lowercase", False),
        )
    odd = [word for word in words if word != normal_word(word)]
    if odd:
        return (
            f"{len(odd):,} of {len(words):,} words are not in the normal form NFC, as {odd[0]!r}: bring "
            "them into it (uconv -x nfc), as ",
            Option("normalize", "nfc"),
            " does with the text",
        )
    return None
