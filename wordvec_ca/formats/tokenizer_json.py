r"""Writes our tokeniser and vocabulary as ``tokenizer.json`` for Hugging Face's ``tokenizers``, and reads
such files.

A normaliser lower-cases the text, a pre-tokeniser splits by a regular expression, and a WordLevel model gives
each word its row. Words that are not known become one token, `UNKNOWN`, which is not a word of the text.

It differs from our tokeniser in three rare cases: letters of a later version of Unicode may be lower-cased;
tokens of more than 1,000 bytes are not cut; phrases are not joined.

The classes of characters in its regular expressions are written out, code point by code point, from the table
that the tokeniser itself uses: ``\w`` and ``\p{L}`` depend on the version of Unicode of the program that
reads them.
"""

from __future__ import annotations

import functools
import json
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.kernels import CHARACTER_CLASSES, character_classes
from wordvec_ca.tables import check_unicode, check_unique, config_of

# Character to remove before the pattern is applied.
SOFT_HYPHEN = "\N{SOFT HYPHEN}"


class Splitting(NamedTuple):
    """How a text is split into tokens."""

    tokenizer: str
    lowercase: bool
    # Whether this was read from the record of a run; otherwise it is assumed.
    recorded: bool


def splitting_of(metadata: dict[str, Any], words: list[str]) -> Splitting:
    """Return how the text of a model was split, according to its record or, without one, to its words."""
    # Without a record, the default tokeniser is assumed, with lower case unless a word has a capital
    # letter.
    config = config_of(metadata)
    tokenizer, lowercase = config.get("tokenizer"), config.get("lowercase")
    recorded = tokenizer in ("words", "whitespace") and isinstance(lowercase, bool)
    if recorded:
        return Splitting(str(tokenizer), bool(lowercase), recorded)
    return Splitting("words", all(word == word.lower() for word in words), recorded)


def word_pattern() -> str:
    """Return a pattern whose matches are the tokens of the tokeniser ``words``."""
    # It is for lower-cased text without soft hyphens, and has the same meaning for Python and Oniguruma.
    inside = characters("letter", "digit", "mark")
    word = (
        f"[{inside}](?:[{inside}]"
        f"|[{characters('joiner')}](?=[{characters('letter', 'digit')}])"
        f"|[{characters('linker')}](?=[{inside}])"
        f"|(?<=[{characters('digit')}])[{characters('point')}](?=[{characters('digit')}]))*"
    )
    nothing = characters("space", "linker", "hidden")
    return f"{word}|[^{inside}{nothing}][{characters('mark')}]*"


def between_words_pattern() -> str:
    """Return a pattern for characters that the tokeniser ``words`` drops: white space and invisible ones."""
    return f"[{characters('space', 'linker', 'hidden')}]+"


def whitespace_pattern() -> str:
    """Return a pattern whose matches are the tokens of the tokeniser ``whitespace``."""
    return r"[^ \t\n\v\f\r]+"


@functools.cache
def characters(*names: str) -> str:
    """Return the content of a bracket expression that matches all characters of some classes."""
    numbers = [CHARACTER_CLASSES.index(name) for name in names]
    members = np.isin(character_classes(), numbers)
    members[0xD800:0xE000] = False  # surrogates are not characters
    edges = np.flatnonzero(np.diff(np.concatenate([[False], members, [False]]).astype(np.int8)))
    ranges = []
    for first, end in edges.reshape(-1, 2).tolist():
        middle = "-" if end - first > 2 else ""
        ranges.append(_literal(first) + (middle + _literal(end - 1) if end - first > 1 else ""))
    return "".join(ranges)


def _literal(code: int) -> str:
    """Return a character as it is written in a bracket expression."""
    character = chr(code)
    return "\\" + character if character in "\\]-^[&~|'\"#" else character


UNKNOWN = "[UNK]"


def tokenizer_json(words: list[str], splitting: Splitting) -> bytes:
    """Return the content of the file; the id of a word is its row, and the unknown word comes last."""
    steps: list[dict[str, Any]] = []
    if splitting.tokenizer == "words":
        steps.append({"type": "Replace", "pattern": {"String": SOFT_HYPHEN}, "content": ""})
    if splitting.lowercase:  # our tokeniser maps one character to one; the library maps only this one to two
        steps.append({"type": "Replace", "pattern": {"String": "\u0130"}, "content": "i"})
        steps.append({"type": "Lowercase"})
    pattern = word_pattern() if splitting.tokenizer == "words" else whitespace_pattern()
    check_unique(words, "the vectors")
    unknown = unknown_word(words)
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": pattern},
            "behavior": "Removed",
            "invert": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: row for row, word in enumerate([*words, unknown])},
            "unk_token": unknown,
        },
    }
    check_unicode(words, "tokenizer.json")
    return json.dumps(content, ensure_ascii=False).encode("utf-8")


def words_of_tokenizer(content: bytes, source: str) -> tuple[list[str], str | None]:
    """Return the words (or pieces of words) of a ``tokenizer.json`` in the order of their ids, and the
    unknown word.
    """
    try:
        model = json.loads(content)["model"]
        vocab, unknown = model["vocab"], model.get("unk_token")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{source} is not a tokenizer of the tokenizers library: {error!r}") from error
    if model.get("type") not in ("WordLevel", "WordPiece") or not isinstance(vocab, dict):
        raise DataError(
            f"{source} has tokens of the type {model.get('type')!r:.40}, which are parts of words; only "
            "WordLevel, and WordPiece as it is, with ## before what goes on a word, can be read"
        )
    words = sorted(vocab, key=lambda word: vocab[word] if type(vocab[word]) is int else -1)
    if [vocab[word] for word in words] != list(range(len(words))):
        raise DataError(f"{source}: the ids of the words should be 0 to {len(words) - 1}, each once")
    return words, unknown


def unknown_word(words: list[str]) -> str:
    """Return a token for unknown words that is not itself a word of the vocabulary."""
    unknown, taken = UNKNOWN, set(words)
    while unknown in taken:
        unknown = f"[{unknown}]"
    return unknown
