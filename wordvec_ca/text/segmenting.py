"""The program of a process that segments text: it puts spaces between the words of each block."""

from __future__ import annotations

import sys
from collections.abc import Callable

from wordvec_ca.errors import DataError
from wordvec_ca.text.answering_processes import answer_requests
from wordvec_ca.text.segmenters import load_segmenter, segment


def prepare(name: str, path: list[str]) -> Callable[[bytes], bytes]:
    """Load a segmenter, which may be a user's function; return a function that segments a block."""
    sys.path[:] = path
    load_segmenter(name)

    def answer(text: bytes) -> bytes:
        try:
            return segment(text.decode("utf-8"), name).encode("utf-8")
        except UnicodeError as error:
            raise DataError(str(error)) from error

    return answer


if __name__ == "__main__":
    answer_requests(prepare)
