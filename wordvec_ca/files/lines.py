r"""Splits text into lines. In all packages, only ``\n``, ``\r\n`` and ``\r`` end a line.

Python's ``str.splitlines`` also splits at eight other characters, among them U+2028 and the form feed.
"""

from __future__ import annotations

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
