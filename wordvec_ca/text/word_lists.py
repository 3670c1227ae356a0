"""Reads lists of words, given as objects or written as text: as JSON, or as Python or numpy prints them."""

from __future__ import annotations

import json
import numbers
import re
from ast import literal_eval
from collections.abc import Sequence
from typing import Any

from wordvec_ca.text.blocks import TokenLines

_ITEM = re.compile(r"""\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|-?\d+)(?:(\s*,)|(?=\s|$))""")
_ASCII_SPACE = " \t\n\r\v\f"
_WITHIN = re.compile(r"[ \t\n\r\v\f]")
_BRACKETS = {"[": "]", "(": ")"}
_WRITTEN = {**_BRACKETS, "{": "}"}
_LOOKS_WRITTEN = re.compile(r"""[\[(]\s*(?:[\[({]\s*)?(?:['"]|-?[\d.]+[\s,\])}])|\{\s*'[^'\n]*'\s*:""")


class NotWords(ValueError):
    """The value in a record cannot be used. The message, the end of a sentence, says why."""


def is_list(value: Any) -> bool:
    """Return whether a value of a record is a list, a tuple or an array of numpy."""
    return isinstance(value, list | tuple) or type(value).__name__ == "ndarray"


def words_of(values: Sequence[Any]) -> list[str]:
    """Return the words of a list. Integers become decimal digits, and empty words are left out."""
    values = values.tolist() if hasattr(values, "tolist") else values
    words = []
    for value in values:
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise NotWords(f"holds {value!r:.40}, a {type(value).__name__}, not only words")
        if word := value.strip(_ASCII_SPACE):
            if _WITHIN.search(word):
                raise NotWords(f"holds {word[:60]!r}, which is not a word: it has white space")
            words.append(word)
    return words


def token_line(values: Sequence[Any]) -> TokenLines:
    """Return a list of words as a line; see `words_of`."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if all(type(value) is str for value in values):
        line = " ".join(values)
        if len(line.split()) == len(values):  # the common case: no word is empty or contains white space
            return TokenLines(line.encode("utf-8", "surrogatepass") + b"\n")
    return TokenLines.of(words_of(values))


def written_list(text: str) -> list[str] | None:
    """Return the words of a list that is written as text; None if it is not a list of words."""
    text = text.strip()
    if len(text) < 2 or _BRACKETS.get(text[0]) != text[-1]:
        return None
    try:
        return _read(text)
    except (ValueError, SyntaxError, RecursionError):
        return None


def _read(text: str) -> list[str] | None:
    """Return the words of a text in brackets; ValueError if they are not a list of words."""
    if text[0] == "[":
        try:
            return words_of(json.loads(text))
        except json.JSONDecodeError:
            pass
    words: list[str] = []
    inside, at, commas = text[1:-1].rstrip(), 0, 0
    while at < len(inside):
        item = _ITEM.match(inside, at)
        if item is None:
            return None
        word = item[1]
        words.append(literal_eval(word) if "\\" in word else word[1:-1] if word[0] in "'\"" else word)
        commas += item[2] is not None
        at = item.end()
    if commas not in (0, len(words) - 1, len(words)) or (text[0] == "(" and not commas):
        return None
    return words_of(words)


def looks_written(text: str) -> bool:
    """Return whether a text looks like a list, a tuple, an array or a dict that was written out."""
    text = text.strip()
    return len(text) > 1 and _WRITTEN.get(text[0]) == text[-1] and _LOOKS_WRITTEN.match(text) is not None
