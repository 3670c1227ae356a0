r"""Writes any word on one line: backslash, tab, newline and carriage return become ``\\ \t \n \r``;
a backslash is put before U+FEFF.

Used wherever a file keeps words in lines: ``vocab.tsv``, the ``words`` tensor of safetensors files and
the metadata of the TensorBoard projector.
"""

from __future__ import annotations

import re

# A word that begins with U+FEFF would, in the first line, be taken for the byte order mark of the file.
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\\ufeff"}
_ORIGINALS = {escape: original for original, escape in _ESCAPES.items()}
_TABLE = str.maketrans(_ESCAPES)


def escape_lines(words: list[str]) -> str:
    """Return the words joined by newlines, each escaped, with a newline after the last."""
    joined = "\0".join(words)
    if not words:
        return ""
    if joined.count("\0") == len(words) - 1 and not any(character in joined for character in _ESCAPES):
        return joined.replace("\0", "\n") + "\n"  # the common case, without a call per word
    return "".join(f"{word.translate(_TABLE)}\n" for word in words)


def unescape(text: str) -> str:
    r"""Undo the escapes in one word."""
    if "\\" not in text:
        return text

    def original(match: re.Match[str]) -> str:
        if match[0] not in _ORIGINALS:
            raise ValueError(f"unknown escape {match[0]!r} in {text!r}; known are " + " ".join(_ORIGINALS))
        return _ORIGINALS[match[0]]

    return re.sub(r"\\.?", original, text, flags=re.DOTALL)


def unescape_lines(text: str) -> list[str]:
    """Return the words of a text made by ``escape_lines``; every word ends with a newline."""
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    return [unescape(line) for line in lines] if "\\" in text else lines
