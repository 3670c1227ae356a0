"""Displays of the progress of a run: a bar, lines of text, a line in a notebook, and a log."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeAlias

from wordvec_ca.models import Callback, Progress
from wordvec_ca.showable import duration

# Seconds between two lines of output that is not a terminal.
LINE_EVERY = 10.0

# Seconds between two updates of the progress line in a notebook.
RENEW_EVERY = 0.3

# Seconds between two updates if each may stay visible, as in a page that nbconvert makes.
KEEP_EVERY = 60.0

# Environment variables (or their prefixes) that interactive notebooks set. An interactive notebook lets a
# new text replace the previous state of a line.
LIVE_NOTEBOOKS = ("JPY_SESSION_NAME", "COLAB_", "VSCODE_")


def describe(record: Progress, columns: int | None = None) -> str:
    """Return a record as one line of text, without its least important parts if it would be too wide."""
    loss = record.epoch_loss if record.epoch_ended else record.loss
    parts = {
        "share": f"{100 * record.fraction:5.1f}%",
        "epoch": f"epoch {record.epoch}/{record.epochs}",
        "speed": f"{record.words_per_second / 1e6:.2f} M words/s",
        "alpha": f"alpha {record.alpha:.5f}",
        "loss": "loss -" if math.isnan(loss) else f"loss {loss:.4f}",
        "eta": f"eta {duration(record.eta)}",
    }
    if record.valid_loss is not None:
        parts["held-out"] = f"held-out loss {record.valid_loss:.4f}"
    for part in ("alpha", "speed", "eta"):
        if columns is None or len("  ".join(parts.values())) <= columns:
            break
        del parts[part]
    return "  ".join(parts.values())


class Lines:
    """Writes plain lines to a stream that is not a terminal: one every ten seconds, and one per epoch."""

    def __init__(self) -> None:
        self.stream = sys.stderr
        self._last = time.monotonic()

    def __call__(self, record: Progress) -> None:
        """Write a line if one is due."""
        if record.epoch_ended or time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            with contextlib.suppress(OSError):  # a closed pipe must not end the run
                self.stream.write(describe(record) + "\n")
                self.stream.flush()


class ProgressBar:
    """A progress bar on a terminal, first for the reading of the text, then for the training.

    It appears with the first record and leaves one line per epoch. Without records nothing is shown.
    """

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Display

        self._console = Console(stderr=True)
        self._bar_width = 24 if self._console.width >= 80 else 10
        self._display = Display(
            TextColumn("{task.fields[share]}", markup=False),
            BarColumn(bar_width=self._bar_width),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            transient=True,
        )
        self._task = self._display.add_task("", total=1.0, share="")

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._display.stop()

    def reading(self, done: int, total: int | None, tokens: int) -> None:
        """Move the bar while a text is read; the ``progress`` argument of ``encode_corpus``."""
        self._move(min(done / total, 1.0) if total else None, f"Reading {tokens / 1e6:,.1f} M tokens")

    def __call__(self, record: Progress) -> None:
        """Move the bar while a model is trained."""
        text = describe(record, self._console.width - self._bar_width - 2).partition("%  ")[2]
        self._move(record.fraction, text)
        if record.epoch_ended:
            with contextlib.suppress(OSError):
                line = describe(record, self._console.width)
                self._console.print(line, highlight=False, soft_wrap=True)

    def _move(self, share: float | None, text: str) -> None:
        """Show how much is done; the share is None for a stream of unknown length."""
        with contextlib.suppress(OSError):  # a closed terminal must not end the run
            percent = "" if share is None else f"{100 * share:5.1f}%"
            total = None if share is None else 1.0
            self._display.update(
                self._task, total=total, completed=share or 0.0, description=text, share=percent
            )
            self._display.start()  # the first call draws the bar; later calls do nothing


class RenewedLine:
    """One line that is rewritten during a run; a notebook keeps only its last state."""

    def __init__(self, write: Callable[[str], None], every: float = RENEW_EVERY) -> None:
        self._write = write
        self._every = every
        self._last = 0.0 if every < 1.0 else time.monotonic()

    def reading(self, done: int, total: int | None, tokens: int) -> None:
        """Show how much of a text has been read; the ``progress`` argument of ``encode_corpus``."""
        share = f"{min(100.0 * done / total, 100.0):5.1f}%  " if total else ""
        self._renew(f"{share}Reading {tokens / 1e6:,.1f} M tokens")

    def __call__(self, record: Progress) -> None:
        """Show the progress of the training."""
        self._renew(describe(record), last=record.fraction >= 1.0)

    def _renew(self, text: str, *, last: bool = False) -> None:
        if last or time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            self._write(text)


def _cell_output() -> Callable[[str], None]:
    """Return a function that shows a text below the running cell of a notebook; each text replaces the
    previous one.
    """
    from IPython.display import display

    handle = None

    def write(text: str) -> None:
        nonlocal handle
        if handle is None:
            handle = display({"text/plain": text}, raw=True, display_id=True)
        else:
            handle.update({"text/plain": text}, raw=True)

    return write


def is_cell_that_keeps_all() -> bool:
    """Return whether a command runs in a cell (``!cawv ...``) whose output may keep every update of a
    line.
    """
    # ``nbconvert --execute`` keeps everything that a command writes and replaces nothing.
    return "JPY_PARENT_PID" in os.environ and not any(name.startswith(LIVE_NOTEBOOKS) for name in os.environ)


@contextlib.contextmanager
def _line_of_command(stream: IO[str]) -> Iterator[Callable[[str], None]]:
    """Yield a function that rewrites one line, for a command that runs in a cell (``!cawv train ...``)."""
    widest = 0

    def write(text: str) -> None:
        nonlocal widest
        widest = max(widest, len(text))
        with contextlib.suppress(OSError):
            stream.write(f"\r{text:<{widest}}")
            stream.flush()

    try:
        yield write
    finally:
        if widest:
            with contextlib.suppress(OSError):
                stream.write("\n")
                stream.flush()


Reading: TypeAlias = "Callable[[int, int | None, int], None]"


@contextlib.contextmanager
def progress_display(style: str) -> Iterator[tuple[list[Callback], Reading | None]]:
    """Yield the callbacks that show the training, and the one that shows the reading."""
    if style == "notebook":
        line = RenewedLine(_cell_output())
        yield [line], line.reading
    elif style == "bar" and "JPY_PARENT_PID" in os.environ:  # a command in a cell: its cursor cannot move
        with _line_of_command(sys.stderr) as write:
            line = RenewedLine(write, KEEP_EVERY if is_cell_that_keeps_all() else RENEW_EVERY)
            yield [line], line.reading
    elif style == "bar":
        with ProgressBar() as bar:
            yield [bar], bar.reading
    else:
        yield [Lines()] if style == "lines" else [], None


def show_progress(displays: Iterable[Callback], **state: Any) -> None:
    """Pass a record to callbacks, for loops other than the trainer's; ``state`` is as for `Progress.now`."""
    record = Progress.now(**state)
    for display in displays:
        display(record)


def style_for_python(elsewhere: str = "none") -> str:
    """Return the style in which ``train`` shows progress here: on a terminal, in a notebook or elsewhere."""
    if "ipykernel" in sys.modules:
        return "notebook"
    return "bar" if sys.stderr is not None and sys.stderr.isatty() else elsewhere


class JsonLog:
    """A log with one JSON object per line, one for each record, written at once so that a crash loses none.

    If the disk is full, the log ends with its last complete record, a warning is given, and the run
    continues.
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
            self._path.unlink()  # the run ended before it wrote a record

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
            with contextlib.suppress(OSError):  # not every file can be truncated
                self._file.truncate(os.fstat(self._file.fileno()).st_size - written)
            self._file.close()
            self._file = None
            warnings.warn(
                f"cannot write {str(self._path)!r}: {error.strerror}; the log ends here", stacklevel=2
            )
