"""Text files with labels: read once, a block at a time, and kept as the numbers of their token types."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import END_OF_LINE
from wordvec_ca.kernels import TokenTypes

BLOCK = 4 << 20


def text_blocks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines."""
    try:
        with Path(path).open("rb") as file:
            rest: list[bytes] = []  # joined once: a line may be as long as the file
            while block := file.read(BLOCK):
                end = block.rfind(b"\n") + 1
                if end:
                    yield b"".join([*rest, block[:end]])
                    rest = []
                rest.append(block[end:])
            if last := b"".join(rest):
                yield last
    except OSError as error:
        raise DataError(f"{os.fspath(path)!r} cannot be opened for training or testing: {error}") from error


def line_ends(tokens: np.ndarray, end_of_line: int) -> np.ndarray:
    """Return the end of each line: after each ``</s>``, and at the end of the tokens."""
    ends = np.flatnonzero(tokens == end_of_line) + 1
    if len(tokens) and (not len(ends) or ends[-1] != len(tokens)):
        ends = np.append(ends, len(tokens))
    return ends.astype(np.int64)


def encoded(path: str | os.PathLike[str]) -> tuple[TokenTypes, np.ndarray]:
    """Return the types of a file, and the type of each of its tokens, int32."""
    types = TokenTypes()
    blocks = [types.read(block) for block in text_blocks(path)]
    tokens = np.concatenate(blocks) if blocks else np.zeros(0, np.int32)
    return types, tokens


def lines_of(types: TokenTypes, tokens: np.ndarray) -> np.ndarray:
    """Return the ends of the lines of an encoded text."""
    return line_ends(tokens, types.find(END_OF_LINE))
