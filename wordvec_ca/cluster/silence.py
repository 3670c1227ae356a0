"""Ends a run if Ray does not answer its driver.

When a raylet or the GCS is stopped, or its machine is out of reach, a call of Ray may never return: it waits
in compiled code, where no time limit of ours and no Ctrl-C reaches it. So a thread watches the driver. All
calls that the driver makes return within seconds or have a time limit; between two calls the driver counts a
beat.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

LOOK_EVERY = 0.5
"""Seconds between two checks."""

REPORTED = 20.0
"""Seconds without an answer of Ray that are reported."""

ENDED = 75.0
"""Seconds without an answer after which the process ends, at least."""

LONGER = 15.0
"""Seconds by which that limit exceeds the patience with a node: the limit of the longest single call."""

ENDED_BY_SIGNAL = 10.0
"""Seconds without an answer after Ctrl-C after which the process ends."""

ASLEEP = 5.0
"""If two checks are this many seconds apart, the process itself was suspended."""


class RaySilence:
    """Watches the thread that created it."""

    def __init__(
        self, notice: Callable[[str], None], tell: Callable[[str], None], patience: float = 0.0
    ) -> None:
        self.beats = 0
        self.clear: Callable[[], None] = lambda: None
        """Kills the processes of Ray that this process has started; they do not end by themselves."""
        self._notice, self._tell = notice, tell
        self._limit, self._known = max(ENDED, patience + LONGER), ""
        self._thread = threading.get_ident()
        self._stop = threading.Event()

    def beat(self) -> None:
        """Count that Ray has answered."""
        self.beats += 1

    def is_dead(self, why: str) -> None:
        """Count Ray as dead: from now on, a call that does not return within seconds never will."""
        self._limit, self._known = ENDED_BY_SIGNAL, why

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch within the block, from the first beat."""
        with _signals() as arrived:
            watch = threading.Thread(target=self._watch, args=(arrived,), name="silence of Ray", daemon=True)
            watch.start()
            try:
                yield
            finally:
                self._stop.set()
                watch.join()

    def _watch(self, arrived: Callable[[], int | None]) -> None:
        since, beats = time.monotonic(), self.beats
        reported = False
        by_signal: tuple[int, float, int] | None = None  # number, time, and beats until then
        looked = since
        while not self._stop.wait(LOOK_EVERY):
            now = time.monotonic()
            slept, looked = now - looked > ASLEEP, now
            if (found := arrived()) is not None and by_signal is None:
                by_signal = found, now, self.beats
            if (
                slept  # this process was stopped itself (Ctrl-Z, a debugger): Ray gets its time again
                or not self.beats
                or self.beats != beats
                or not _waits_for_ray(sys._current_frames().get(self._thread))
            ):
                since, beats, reported = now, self.beats, False
                if by_signal is not None:  # once Ray answers, Python handles the signal itself
                    by_signal = (by_signal[0], now, beats) if by_signal[2] == beats else None
                continue
            if now - since > REPORTED and not reported:
                reported = True
                self._notice(
                    f"Ray has not answered for {now - since:.0f} s; after {self._limit:.0f} s the run ends"
                )
            if by_signal is not None and now - by_signal[1] > ENDED_BY_SIGNAL:
                self._end(f"Ray does not answer, also {ENDED_BY_SIGNAL:.0f} s after the signal", by_signal[0])
            elif now - since > self._limit:
                self._end(self._known or f"Ray has not answered for {now - since:.0f} s", None)

    def _end(self, reason: str, by_signal: int | None) -> None:
        """End the whole process, since a thread that waits in compiled code cannot be ended alone."""
        with contextlib.suppress(Exception):
            self._tell(reason)
        with contextlib.suppress(Exception):
            self.clear()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(1 if by_signal is None else 128 + by_signal)


def _waits_for_ray(frame: FrameType | None) -> bool:
    """Return whether a thread is in a call of Ray that this package made, not in a callback or in a user's
    own call.
    """
    in_ray = False
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "ray":
            in_ray = True
        elif package == "wordvec_ca" or (in_ray and package not in sys.stdlib_module_names):
            return in_ray and package == "wordvec_ca"
        frame = frame.f_back
    return False


@contextmanager
def _signals() -> Iterator[Callable[[], int | None]]:
    """Yield a function that returns a signal that has arrived, even while the main thread cannot handle
    signals.
    """
    ends = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield lambda: None
        return
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if former != -1:  # of an event loop, as in notebooks: it needs its signals more
        signal.set_wakeup_fd(former)

    def arrived() -> int | None:
        with contextlib.suppress(BlockingIOError):
            return next((number for number in os.read(reader, 512) if number in ends), None)
        return None

    try:
        yield arrived
    finally:
        if former == -1:
            signal.set_wakeup_fd(-1)
        os.close(reader)
        os.close(writer)
