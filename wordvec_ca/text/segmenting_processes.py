"""Processes that segment a corpus: Python's threads would wait for each other."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from queue import SimpleQueue

from wordvec_ca.errors import DataError
from wordvec_ca.text.segmenters import load_segmenter, segment

LENGTH = struct.Struct("<I")
"""Stands before each block of text."""

SEGMENTED, FAILED = b"+", b"!"
"""Stands before each answer."""


class Segmented:
    """Text whose words are apart, and what was repaired in it.

    Attributes
    ----------
    text : bytes
        UTF-8, a space between words.
    repaired : int
        Invalid UTF-8 sequences, read as U+FFFD.
    first_repaired : int
        Offset of the first of them in the text as it was, or -1.
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
    workers : int
        How many processes; with 1 the text is segmented in this process.
    """

    def __init__(self, name: str, workers: int) -> None:
        load_segmenter(name)
        self._name = name
        self._alone = workers == 1
        self._free: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self._free.put(None)

    def __enter__(self) -> SegmentingProcesses:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self._all:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                try:
                    pipe.close()
                except OSError:  # what was not yet written to it
                    pass

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
        process = self._free.get()
        try:
            if process is None:
                process = self._start()
            return Segmented(self._ask(process, text), repaired, first)
        finally:
            self._free.put(process)

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "wordvec_ca.text.segmenting"]
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise DataError(f"cannot start a process to segment text: {error.strerror or error}") from error
        self._all.append(process)
        self._ask(process, json.dumps([self._name, sys.path]).encode())
        return process

    def _ask(self, process: subprocess.Popen[bytes], request: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(request)) + request)
            process.stdin.flush()
            head = process.stdout.read(1 + LENGTH.size)
            answer = process.stdout.read(LENGTH.unpack(head[1:])[0]) if head else b""
        except (OSError, ValueError, struct.error):
            head = b""
        if not head:
            raise DataError(
                f"a process that segments text with the tokenizer {self._name!r} has ended (status "
                f"{process.poll()}); what it wrote stands above"
            )
        if head[:1] == FAILED:
            raise DataError(answer.decode("utf-8", "replace"))
        return answer
