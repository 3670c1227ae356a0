"""Signals during training: the first ends the run in order."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Interruptible(Protocol):
    """Interface of what can be ended in order: a trainer, or a run on a cluster."""

    interrupted: bool

    def interrupt(self) -> None:
        """End soon."""


@contextmanager
def ended_by_signals(trainer: Interruptible) -> Iterator[None]:
    """Within the block the first Ctrl-C lets the run end and be saved; the second is a KeyboardInterrupt.

    SIGTERM and SIGHUP act in the same way, if the program handles them (``cawv`` does). A signal that is
    ignored is still ignored.
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
