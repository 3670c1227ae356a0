"""Work shared among threads, with results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

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
