"""Cuts text into blocks at line ends, with at most one block in memory. Lines that were broken at a fixed
width, as in e-books, are detected: each would be read as a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.kernels import cut_point

BLOCK_BYTES = 1 << 20


# Largest number of bytes without white space; longer stretches are cut so that memory stays bounded.
LONGEST_RUN = 1 << 24


class TokenLines(bytes):
    """Text that is already split into tokens: one sentence a line, one space between tokens.

    Such text is made from lists of words. It is neither tokenised again nor lower-cased.
    """

    @classmethod
    def of(cls, sentence: Sequence[str]) -> TokenLines:
        """Return a sentence as one line. No token may be empty or contain ASCII white space."""
        return cls(" ".join(sentence).encode("utf-8", "surrogatepass") + b"\n")


class ReadText:
    """Pieces of text that are in memory already, UTF-8 and `TokenLines`; `TextFiles` takes them as a file,
    once. ``name`` is that of the text in messages.
    """

    def __init__(self, name: str, pieces: Iterator[bytes]) -> None:
        self.name, self.pieces = name, pieces


def line_pieces(lines: Iterable[Any], *, documents: bool = False) -> Iterator[bytes]:
    """Yield str lines as UTF-8, each with a line end; DataError names a line that is not Unicode text.

    With ``documents``, line ends inside an item become spaces, so that each item stays one line.
    """
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(
                f"line {number} of the corpus is a {type(line).__name__}; it began with str, and all must be"
            )
        try:
            piece = line.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"line {number} of the corpus holds a lone surrogate at character {error.start}"
            ) from error
        if documents:
            piece = piece.rstrip(b"\r\n").replace(b"\r", b" ").replace(b"\n", b" ")
        yield piece if piece.endswith(b"\n") else piece + b"\n"


def cut_into_blocks(
    pieces: Iterable[bytes], size: int = BLOCK_BYTES, *, whole_lines: bool = False
) -> Iterator[bytes]:
    """Join pieces of text and cut them into blocks of about ``size`` bytes.

    A block ends after a line end. A line longer than a block is cut after white space, and a stretch of more
    than ``LONGEST_RUN`` bytes without white space is cut after ``LONGEST_RUN`` bytes. So the tokens do not
    depend on ``size``. With ``whole_lines``, lines shorter than ``LONGEST_RUN`` bytes are not cut, and the
    cuts of longer ones do not depend on ``size`` either. Each piece of `TokenLines` becomes a block of the
    same type.
    """
    for kind, group in groupby(pieces, type):
        for block in _cut_into_blocks(group, min(size, LONGEST_RUN), whole_lines=whole_lines):
            yield block if kind is bytes else kind(block)


def _cut_into_blocks(pieces: Iterable[bytes], size: int, *, whole_lines: bool) -> Iterator[bytes]:
    waiting: list[bytes] = []
    length = 0
    wanted = size
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        while length >= wanted:
            text = b"".join(waiting)
            cut = (_cut_line if whole_lines else _cut)(text, min(length, LONGEST_RUN))
            if cut:
                yield text if cut == length else text[:cut]
                text = text[cut:]
            length = len(text)
            waiting = [text]
            wanted = size if cut else length + size
    text = b"".join(waiting)
    while text:
        cut = len(text)
        if cut > LONGEST_RUN:
            cut = (_cut_line if whole_lines else _cut)(text, LONGEST_RUN) or cut
        yield text[:cut]
        text = text[cut:]


def _cut_line(text: bytes, n: int) -> int:
    """Return the position after the last line end in text[:n]; if there is none, 0 until n is LONGEST_RUN."""
    cut = max(text.rfind(b"\n", 0, n), text.rfind(b"\r", 0, min(n, len(text) - 1))) + 1
    if cut and text[cut - 1 : cut + 1] == b"\r\n":
        cut += 1
    return cut if cut or n < LONGEST_RUN else _cut(text, n)


def _cut(text: bytes, n: int) -> int:
    cut = cut_point(text, n)
    if cut or len(text) <= LONGEST_RUN:
        return cut
    while n > LONGEST_RUN - 3 and text[n] & 0xC0 == 0x80:  # never cut inside a character
        n -= 1
    return n


# Smallest and largest line width at which people and programs break lines.
NARROWEST, WIDEST = 40, 120

# Smallest number of lines needed for a decision.
FEWEST = 30

# Largest share of lines within paragraphs that may be longer than the width or shorter than ``SHORTEST`` of
# it.
MOST_UNLIKE = 0.05

SHORTEST = 0.7


# Joins the lines of each paragraph. Without tr, the blank lines of a file with CRLF are not blank to awk.
JOIN = r"""tr -d '\r' < OLD | awk -v RS= '{gsub("\n", " "); print}' > NEW"""


def width_of_wrapped(text: str) -> int | None:
    """Return the width at which the lines of a text are broken, or None if they are not."""
    within: list[int] = []
    n_paragraphs = 0
    for paragraph in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n"))[:-1]:
        lines = [len(line) for line in paragraph.strip("\n").split("\n")]
        n_paragraphs += len(lines) > 1
        within += lines[:-1]
    if len(within) < FEWEST or n_paragraphs < 5:
        return None
    width = sorted(within)[int(0.98 * len(within))]
    unlike = sum(not SHORTEST * width <= length <= width + 2 for length in within)
    return width if NARROWEST <= width <= WIDEST and unlike <= MOST_UNLIKE * len(within) else None
