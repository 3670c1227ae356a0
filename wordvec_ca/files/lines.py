r"""Splits text into lines. In all packages, only ``\n``, ``\r\n`` and ``\r`` end a line.

Python's ``str.splitlines`` also splits at eight other characters, among them U+2028 and the form feed.

Wherever a file keeps words in lines (``vocab.tsv``, the ``words`` tensor of safetensors files, the metadata
of the TensorBoard projector), backslash, tab, newline and carriage return in a word become ``\\ \t \n \r``,
and a backslash is put before U+FEFF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends; the last is empty if the text ends with a line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def whole_lines(pieces: Iterable[bytes], longest: int | None = None) -> Iterator[bytes]:
    r"""Yield the lines of a text without their ends, which are ``\n``, ``\r\n`` or ``\r``."""
    waiting: list[bytes] = []
    length = 0
    ended_by_cr = False
    for piece in pieces:
        text = piece[1:] if ended_by_cr and piece[:1] == b"\n" else piece
        if not text:
            ended_by_cr = ended_by_cr and not piece
            continue
        ended_by_cr = text.endswith(b"\r")
        lines = text.splitlines()
        rest = b"" if text.endswith((b"\r", b"\n")) else lines.pop()
        for line in lines:
            if waiting:
                line, waiting, length = b"".join([*waiting, line]), [], 0
            yield line
        if rest and (longest is None or length <= longest):
            waiting.append(rest)
            length += len(rest)
    if waiting:
        yield b"".join(waiting)


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
