"""Signals during training: the first one ends the run in order, with its model saved."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Interruptible(Protocol):
    """Interface of a trainer, or of a run on a cluster, that can be ended in order."""

    interrupted: bool

    def interrupt(self) -> None:
        """End soon."""


@contextmanager
def ended_by_signals(trainer: Interruptible) -> Iterator[None]:
    """Let the first Ctrl-C within the block end and save the run; the second raises KeyboardInterrupt.

    SIGTERM and SIGHUP have the same effect if the program handles them, as ``cawv`` does. A signal that was
    ignored before stays ignored.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if trainer.interrupted:
            raise KeyboardInterrupt
        trainer.interrupt()
        warnings.warn(
            "interrupted: the run ends soon and saves what it has trained; a second Ctrl-C stops it now",
            stacklevel=2,
        )

    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            if callable(signal.getsignal(number)):
                former[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
