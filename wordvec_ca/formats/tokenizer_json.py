"""Writes our tokeniser and vocabulary as ``tokenizer.json`` for Hugging Face's ``tokenizers``, and reads such
files.

A normaliser lower-cases the text, a pre-tokeniser splits by a regular expression, and a WordLevel model gives
each word its row. Words that are not known become one token, `UNKNOWN`, which is not a word of the text.

It differs from our tokeniser in three rare cases: letters of a later version of Unicode may be lower-cased;
tokens of more than 1,000 bytes are not cut; phrases are not joined.
"""

from __future__ import annotations

import json
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.formats.token_pattern import SOFT_HYPHEN, Splitting, whitespace_pattern, word_pattern
from wordvec_ca.tables import check_unicode, check_unique

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
