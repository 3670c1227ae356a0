"""What a run says of itself while it trains: records, a bar, lines, and a log."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

LINE_EVERY = 10.0
"""Seconds between two lines where there is no terminal."""


@dataclass(frozen=True)
class Progress:
    """State of a run at one moment; immutable.

    Attributes
    ----------
    epoch, epochs : int
        Epoch under way, from 1, and their number.
    epoch_ended : bool
        Whether this is the record at the end of an epoch.
    fraction : float
        Share of the whole run that is done, 0 to 1.
    words : int
        Words of text read in all epochs so far.
    words_per_second : float
        Mean rate since the start, in words of text per second of wall-clock time.
    seconds, eta : float
        Wall-clock seconds so far, and estimated until the end.
    alpha : float
        Learning rate.
    loss : float
        Mean loss per prediction since the record before, in nats; nan if there was none.
    epoch_loss : float
        Mean loss per prediction in this epoch.
    valid_loss : float or None
        Loss on the held-out text, at the end of an epoch.
    attention_concentration : float or None
        Mean sum of squared attention weights of a window since the record before: 1 / n if n words
        share it evenly, 1 if one word has it all.
    """

    epoch: int
    epochs: int
    epoch_ended: bool
    fraction: float
    words: int
    words_per_second: float
    seconds: float
    eta: float
    alpha: float
    loss: float
    epoch_loss: float
    valid_loss: float | None = None
    attention_concentration: float | None = None


Callback = Callable[[Progress], Any]
"""Receives each record; a true result stops the run after the chunks under way."""


def describe(record: Progress) -> str:
    """Return one line for people."""
    loss = record.epoch_loss if record.epoch_ended else record.loss
    parts = [
        f"{100 * record.fraction:5.1f}%",
        f"epoch {record.epoch}/{record.epochs}",
        f"{record.words_per_second / 1e6:.2f} M words/s",
        f"alpha {record.alpha:.5f}",
        "loss -" if math.isnan(loss) else f"loss {loss:.4f}",
        f"eta {clock(record.eta)}",
    ]
    if record.valid_loss is not None:
        parts.append(f"held-out loss {record.valid_loss:.4f}")
    return "  ".join(parts)


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss or m:ss; nan is not known."""
    if math.isnan(seconds):
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Lines:
    """Plain lines on a stream that is not a terminal, at most one in ten seconds and one per epoch."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = stream or sys.stderr
        self._last = time.monotonic()

    def __call__(self, record: Progress) -> None:
        """Write a line if it is time for one."""
        if record.epoch_ended or time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            with contextlib.suppress(OSError):  # a reader that has gone must not end the run
                self.stream.write(describe(record) + "\n")
                self.stream.flush()


class Bar:
    """A progress bar on a terminal, from the first record on; leaves one line per epoch behind."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Display

        self._console = Console(stderr=True)
        self._display = Display(
            TextColumn("{task.percentage:5.1f}%"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}"),
            console=self._console,
            transient=True,
        )
        self._task = self._display.add_task("", total=1.0)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._display.stop()

    def __call__(self, record: Progress) -> None:
        """Move the bar."""
        text = describe(record).split("%  ", 1)[1]
        with contextlib.suppress(OSError):  # a terminal that has gone must not end the run
            self._display.start()  # once is enough, more do no harm
            self._display.update(self._task, completed=record.fraction, description=text)
            if record.epoch_ended:
                self._console.print(describe(record), highlight=False, soft_wrap=True)


class JsonLog:
    """One JSON object per record and line, written at once, so that a crash loses none.

    If the disk is full the log ends with its last whole record and a warning; the run goes on.

    Parameters
    ----------
    path : Path
        File to append to.

    Raises
    ------
    OSError
        It cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = open(path, "ab", buffering=0)  # noqa: SIM115

    def __enter__(self) -> JsonLog:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._path.is_file() and self._path.stat().st_size == 0:
            self._path.unlink()  # the run ended before it began

    def __call__(self, record: Progress) -> None:
        """Append the record."""
        if self._file is None:
            return
        fields = {k: None if v != v else v for k, v in asdict(record).items()}  # JSON has no nan
        line = json.dumps({"time": time.time(), **fields}).encode() + b"\n"
        written = 0
        try:
            while written < len(line):
                written += self._file.write(line[written:]) or 0
        except OSError as error:
            with contextlib.suppress(OSError):  # not every file can be cut
                self._file.truncate(os.fstat(self._file.fileno()).st_size - written)
            self._file.close()
            self._file = None
            warnings.warn(
                f"cannot write {str(self._path)!r}: {error.strerror}; the log ends here", stacklevel=2
            )
