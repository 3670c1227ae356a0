"""Processes that segment a corpus: Python's threads would wait for each other."""

from __future__ import annotations

import sys

from wordvec_ca.errors import DataError
from wordvec_ca.text.answering_processes import AnsweringProcesses, EndedError
from wordvec_ca.text.segmenters import load_segmenter, segment


class Segmented:
    """Segmented text, and the number of repairs in it.

    Attributes
    ----------
    text : bytes
        UTF-8, with a space between words.
    repaired : int
        Number of invalid UTF-8 sequences, each read as U+FFFD.
    first_repaired : int
        Offset of the first of them in the original text, or -1.
    """

    def __init__(self, text: bytes, repaired: int, first_repaired: int) -> None:
        self.text = text
        self.repaired = repaired
        self.first_repaired = first_repaired


class SegmentingProcesses:
    """Processes that segment text; a context manager that ends them.

    Parameters
    ----------
    name : str
        The segmenter.
    processes : int
        Number of processes; with 1, this process segments the text itself.
    """

    def __init__(self, name: str, processes: int) -> None:
        load_segmenter(name)
        self._name = name
        self._alone = processes == 1
        self._processes = AnsweringProcesses("wordvec_ca.text.segmenting", processes, (name, sys.path))

    def __enter__(self) -> SegmentingProcesses:
        return self

    def __exit__(self, *exception: object) -> None:
        self._processes.__exit__()

    def segment(self, text: bytes) -> Segmented:
        """Segment a block of text that ends at the end of a line; several threads may call this."""
        repaired, first = 0, -1
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            first = error.start
            spelled = text.decode("utf-8", "replace")
            repaired = spelled.count("\ufffd") - text.count("\ufffd".encode())
            text = spelled.encode("utf-8")
        if self._alone:
            return Segmented(segment(text.decode("utf-8"), self._name).encode("utf-8"), repaired, first)
        try:
            return Segmented(self._processes.ask(text), repaired, first)
        except EndedError as error:
            raise DataError(
                f"{error}; it segmented text with the tokenizer {self._name!r}; its own output is above"
            ) from error
