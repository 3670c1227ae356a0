r"""Regular expressions equivalent to the tokeniser, for programs that cannot run it (docs/tokenising.md).

The classes of characters are written out, code point by code point, from the table that the tokeniser itself
uses: ``\w`` and ``\p{L}`` depend on the version of Unicode of the program that reads them.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.kernels import CHARACTER_CLASSES, character_classes

SOFT_HYPHEN = "\N{SOFT HYPHEN}"
"""Character to remove before the pattern is applied."""


class Splitting(NamedTuple):
    """How a text is split into tokens.

    Attributes
    ----------
    tokenizer : {'words', 'whitespace'}
    lowercase : bool
    recorded : bool
        Whether this was read from the record of a run; otherwise it is assumed.
    """

    tokenizer: str
    lowercase: bool
    recorded: bool


def splitting_of(metadata: dict[str, Any], words: list[str]) -> Splitting:
    """Return how the text of a model was split, according to its record or, without one, to its words.

    Without a record, the default tokeniser is assumed, with lower case unless a word has a capital letter.
    """
    config = metadata.get("config")
    config = config if isinstance(config, dict) else {}
    tokenizer, lowercase = config.get("tokenizer"), config.get("lowercase")
    recorded = tokenizer in ("words", "whitespace") and isinstance(lowercase, bool)
    if recorded:
        return Splitting(str(tokenizer), bool(lowercase), recorded)
    return Splitting("words", all(word == word.lower() for word in words), recorded)


def word_pattern() -> str:
    """Return a pattern whose matches are the tokens of the tokeniser ``words``.

    It is for lower-cased text without soft hyphens, and has the same meaning for Python and Oniguruma.
    """
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
