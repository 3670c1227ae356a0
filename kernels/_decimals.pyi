"""Types of the compiled module ``_decimals``."""

import numpy as np
from numpy.typing import NDArray

def read_rows(text: bytes, start: int, rows: NDArray[np.float32], words: list[bytes]) -> tuple[int, int]:
    """Read lines of a word and ``rows.shape[1]`` numbers, each after one space, with ends of line.

    Stops when ``rows`` is full, at the end, or before a line that is not of that simple kind: a word holds a
    space, or the numbers are separated otherwise, too many or too few, not finite or longer than 18 digits.

    Parameters
    ----------
    text : bytes
        Ends with a newline.
    start : int
        Where in the text to begin.
    rows : ndarray of shape (n_rows, vector_size), float32, C-contiguous, written
    words : list of bytes, appended to

    Returns
    -------
    n_read, place : int
        Lines read, and where in the text the next line begins.
    """

def write_rows(rows: NDArray[np.float32], words: list[bytes] | None, separator: str) -> bytes:
    """Return a line for each row: its word if words are given, and its numbers, with ``separator`` between.

    Numbers look as with ``%.9g``, but with the fewest digits that give the same float32 back.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, vector_size), float32, C-contiguous
    words : list of bytes, length n_rows, or None
    separator : str
        One ASCII character.

    Returns
    -------
    bytes
    """
