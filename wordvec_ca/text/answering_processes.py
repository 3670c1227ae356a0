"""Work shared among threads, or among processes that answer requests: work that Python's threads cannot do in
parallel or that may crash.

``concurrent.futures`` ends the whole pool when one process dies; here only the request that killed the
process is lost. A request is a number of bytes, preceded by their length. So is an answer, and its first byte
says whether it is an answer or an error message.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import IO, Any, TypeVar

from wordvec_ca.errors import DataError

LENGTH = struct.Struct("<I")
HEAD = struct.Struct("<cI")
ANSWER, MESSAGE = b"+", b"!"


class NoAnswerError(DataError):
    """The process could not answer the request; the message gives its reason."""


class EndedError(DataError):
    """The process ended before it answered; the next request starts another."""


class AnsweringProcesses:
    """Processes that answer requests by a module's ``prepare``; a context manager that ends them."""

    def __init__(self, module: str, count: int, settings: Sequence[object], *, quiet: bool = False) -> None:
        self._module = module
        # Not ``-m``: Python warns of a module that its package has already imported.
        answering = f"from {__name__} import answer_requests; from {module} import prepare"
        self._command = [sys.executable, "-P", "-c", f"{answering}; answer_requests(prepare)"]
        self._settings = json.dumps(settings).encode()
        self._stderr = subprocess.DEVNULL if quiet else None
        self._free: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()
        self._all: set[subprocess.Popen[bytes]] = set()
        self._closed = False
        for _ in range(count):
            self._free.put(None)

    def __enter__(self) -> AnsweringProcesses:
        return self

    def __exit__(self, *exception: object) -> None:
        self._closed = True
        for process in list(self._all):
            self._end(process)

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request; several threads may call this."""
        process = self._free.get()
        try:
            if process is None:
                process = self._start()
            return self._exchange(process, request)
        except EndedError:
            process = None
            raise
        finally:
            self._free.put(process)

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
            )
        except OSError as error:
            raise DataError(f"cannot start {self._command}: {error.strerror or error}") from error
        self._all.add(process)
        if self._closed:
            self._end(process)
        try:
            self._exchange(process, self._settings)
        except EndedError as error:
            raise DataError(f"{error} at its start; try: {shlex.join(self._command)}") from error
        return process

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(request)) + request)
            process.stdin.flush()
            kind, size = HEAD.unpack(process.stdout.read(HEAD.size))
            answer = process.stdout.read(size)
        except (OSError, ValueError, struct.error):
            size, answer = 1, b""
        if len(answer) < size:
            self._end(process)
            raise EndedError(f"a process of {self._module} has ended (status {process.returncode})")
        if kind == MESSAGE:
            raise NoAnswerError(answer.decode("utf-8", "replace"))
        return answer

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # requests that were not yet written to it
                    pass
        self._all.discard(process)


def answer_requests(prepare: Callable[..., Callable[[bytes], bytes]]) -> None:
    """Answer the requests on standard input until it ends: the main function of an answering process."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to all processes of the terminal; the parent ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's function prints must not be taken for an answer
    serve(prepare, sys.stdin.buffer, answers)


def serve(prepare: Callable[..., Callable[[bytes], bytes]], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer the requests of one stream on another, see `answer_requests`."""
    answer: Callable[[bytes], bytes] | None = None
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        request = requests.read(LENGTH.unpack(head)[0])
        kind, text = ANSWER, b""
        try:
            if answer is None:
                answer = prepare(*json.loads(request))
            else:
                text = answer(request)
        except DataError as error:
            kind, text = MESSAGE, str(error).encode("utf-8", "replace")
        answers.write(HEAD.pack(kind, len(text)) + text)
        answers.flush()


T = TypeVar("T")
R = TypeVar("R")


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[T], R], items: Iterable[T], ahead: int
) -> Generator[R]:
    """Yield work(item) for each item; the pool computes at most ``ahead`` results in advance."""
    pending: deque[Any] = deque()
    for item in items:
        pending.append(pool.submit(work, item))
        if len(pending) >= ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


@contextmanager
def prompt_exit(pool: ThreadPoolExecutor) -> Iterator[None]:
    """If an exception (such as Ctrl-C) ends the block, cancel the work that the pool has not begun."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
