"""Output on the terminal: colours, tables that fit its width, and progress lines that are erased.

Output to a pipe or a file has no colours, and nothing in it is cut or wrapped, since programs read it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import click

from wordvec_ca.cli.output import is_terminal, styled, terminal_width

# Largest width of a cell if the output is not a terminal; longer cells are shortened.
LONGEST = 80


def width(text: str) -> int:
    """Return how many terminal columns a text takes (two for wide East Asian characters, none for marks)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # a library, which cannot be loaded if there is not enough memory

    return cell_len(text)


def cell(text: str, widest: int = LONGEST) -> str:
    """Return a text as a table cell: on one line, without control characters, and of limited width."""
    from wordvec_ca.files import terminal_text

    shown = terminal_text(text[: 4 * widest])  # allows a character with three combining marks for each column
    if len(text) <= 4 * widest and width(shown) <= widest:
        return shown
    return _first_part(shown, widest - 1) + "…"


def _first_part(text: str, columns: int) -> str:
    """Return as much of a text as fits into a number of columns, at least a character."""
    from rich.cells import chop_cells

    return chop_cells(text, columns)[0] or text[:1]


def wrapped(text: str, columns: int) -> list[str]:
    """Break a text into lines of limited width, between words where possible."""
    # A word that is longer than a line is broken after a slash, hyphen, underscore or dot, if it has one.
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined) <= columns:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while width(word) > columns:
            end = len(_first_part(word, columns))
            end = max((word.rfind(mark, 0, end) + 1 for mark in "/-_."), default=0) or end
            lines[-1:] = [word[:end], ""]
            word = word[end:]
        lines[-1] = word
    return lines


class Column(NamedTuple):
    """A column of a table."""

    head: str
    # Width of its cells, at least that of the head.
    width: int = 0
    # Whether cells are aligned on the right, as numbers are.
    right: bool = False
    # Order in which columns are left out on a narrow terminal: the highest number first; columns with 0 are
    # always shown.
    spare: int = 0
    # Style of its cells; see `STYLES`.
    style: str = ""


class Table:
    """A table whose rows can be shown one by one, as wide as the terminal allows."""

    def __init__(self, columns: Sequence[Column], total: int | None = None) -> None:
        total = total or terminal_width()
        self._wraps = total is not None
        self._columns = [column._replace(width=max(column.width, width(column.head))) for column in columns]
        self._shown = [number for number, column in enumerate(self._columns) if column.head or column.width]
        while total is not None and self._total() > total:
            spare = max(self._shown, key=lambda number: self._columns[number].spare)
            if not self._columns[spare].spare:
                widest = max(self._shown, key=lambda number: self._columns[number].width)
                column = self._columns[widest]
                self._columns[widest] = column._replace(width=max(8, column.width - (self._total() - total)))
                break
            self._shown.remove(spare)

    def left_out(self) -> str:
        """Return a line that names the columns without room on the terminal; '' if all are shown."""
        names = [
            column.head
            for number, column in enumerate(self._columns)
            if column.head and number not in self._shown
        ]
        return f"No room in this terminal for: {', '.join(names)}." if names else ""

    def _total(self) -> int:
        return sum(self._columns[number].width + 2 for number in self._shown) - 2

    def head(self) -> str:
        """Return the line of headings, and a line below it."""
        heads = self._line([self._columns[number].head for number in self._shown])
        return f"{styled(heads, 'heading')}\n{'-' * self._total()}"

    def row(self, cells: Sequence[str]) -> str:
        """Return a row; a cell that is too wide is continued on further lines."""
        texts = [cell(cells[number], 4 * LONGEST) for number in self._shown]
        chosen = [
            wrapped(text, self._columns[number].width) if self._wraps else [text]
            for number, text in zip(self._shown, texts, strict=True)
        ]
        height = max(map(len, chosen))
        return "\n".join(
            self._line([lines[i] if i < len(lines) else "" for lines in chosen], with_styles=True)
            for i in range(height)
        )

    def _line(self, cells: Sequence[str], *, with_styles: bool = False) -> str:
        padded = []
        for number, text in zip(self._shown, cells, strict=True):
            column = self._columns[number]
            space = " " * (column.width - width(text))
            padded.append(space + text if column.right else text + space)
        while padded and not padded[-1].strip():
            padded.pop()
        if padded:
            padded[-1] = padded[-1].rstrip()
        if with_styles:
            padded = [
                styled(text, style) if (style := self._columns[number].style) else text
                for number, text in zip(self._shown, padded, strict=False)
            ]
        return "  ".join(padded)


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Return a whole table; each column is as wide as its widest cell."""
    rows = [[cell(text) for text in row] for row in rows]
    fitted = [
        column._replace(width=max([column.width, *(width(row[i]) for row in rows)]))
        for i, column in enumerate(columns)
    ]
    shown = Table(fitted)
    left_out = shown.left_out()
    return "\n".join(
        [shown.head(), *map(shown.row, rows), *([styled(left_out, "aside")] if left_out else [])]
    )


@contextmanager
def status(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that reports the current work."""
    # On a terminal each text replaces the previous one, and the last one is erased; an empty text clears
    # the line for a result. Elsewhere each text is a line on standard error, except in the cell of a
    # notebook that would keep all texts: there nothing is written.
    stream = sys.stderr
    on_terminal = is_terminal(stream) and os.environ.get("TERM") != "dumb"
    if "JPY_PARENT_PID" in os.environ:
        from wordvec_ca.runs import is_cell_that_keeps_all

        quiet = quiet or is_cell_that_keeps_all()

    def tell(text: str) -> None:
        if quiet or (not text and not on_terminal):
            return
        with suppress(OSError):
            if not on_terminal:
                from wordvec_ca.files import terminal_text

                click.echo(terminal_text(text, lines=True), err=True)
                return
            room = (terminal_width(stream) or LONGEST) - 1
            stream.write("\r\x1b[K" + styled(cell(text, room) if text else "", "aside", stream))
            stream.flush()

    try:
        yield tell
    finally:
        tell("")


@contextmanager
def reading_bar(quiet: bool) -> Iterator[Callable[[int, int | None, int], None] | None]:
    """Yield the ``progress`` argument of ``encode_corpus``: a bar on a terminal, nothing elsewhere."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    from wordvec_ca.runs import progress_display

    with progress_display("bar") as (_, reading):
        yield reading
