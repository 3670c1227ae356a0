"""Tables in text files, CSV and TSV: named columns, one or more of which contain the text."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.files import whole_lines
from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.records import RecordTexts, fields_to_read, option_of

# Largest number of characters in a cell. A longer cell is an error: most likely a quotation mark is never
# closed.
LONGEST_CELL = 1 << 24

# Largest number of bytes in a line, so that memory stays bounded: as of JSON.
LONGEST_LINE = 1 << 25

_CLOSE = "close it or, if it belongs to the text, double it and put the whole cell in quotation marks"

# If the cells of a column have more characters on average, a table is not taken for a log of events.
LONGEST_OF_EVENT = 40

# The columns of logs by parts of their names, the likeliest first.
_SESSIONS = ("session", "basket", "cart", "order", "visit", "user", "customer", "playlist", "member")
_TIMES = ("timestamp", "datetime", "time", "date", "created")
_ITEMS = ("item", "product", "sku", "asin", "article", "track", "song", "movie", "isbn", "stockcode")

_BY_SUFFIX = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}
_ALL = "\t,;|"


@contextmanager
def long_cells() -> Iterator[None]:
    """Within the block, let the `csv` reader accept cells of up to `LONGEST_CELL` characters."""
    longest = csv.field_size_limit()
    csv.field_size_limit(max(longest, LONGEST_CELL))
    try:
        yield
    finally:
        csv.field_size_limit(longest)


def table_suffix(path: str) -> str | None:
    """Return the suffix .csv, .tsv or .tab of a file, compressed or not; None for other files."""
    name = path.lower()
    for packed in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(packed)
    suffix = os.path.splitext(name)[1]
    return suffix if suffix in _BY_SUFFIX else None


def delimiter_of(head: bytes, fields: Sequence[str], suffix: str | None) -> str | None:
    """Return the delimiter of the cells in a table, or None if the file is not a table with one of these
    columns: names of its first row, or numbers of columns, counted from 0, if no name fits.
    """
    marks = _BY_SUFFIX.get(suffix or "", _ALL)
    named = next((mark for mark in marks if _has(head, fields, mark)), None)
    if named is not None or not all(field.isdecimal() for field in fields):
        return named
    widths = {
        mark: {len(row) for row in _rows(head, mark, 50)[:-1] or _rows(head, mark, 1)} for mark in marks
    }
    last = max(map(int, fields))
    return next((mark for mark, width in widths.items() if len(width) == 1 and last < min(width)), None)


def columns(head: bytes, suffix: str) -> list[str]:
    """Return the names of the columns of a table, given the beginning of its file."""
    return max((_rows(head, mark, 1)[0] for mark in _BY_SUFFIX[suffix]), key=len)


def tell_of_table(head: bytes, path: str, name: str) -> bool:
    """Warn if a table, by its file's suffix, is read as plain text; return whether it is one."""
    suffix = table_suffix(path)
    rows: list[list[str]] = max(
        (_rows(head, mark, 50) for mark in _BY_SUFFIX.get(suffix or "", "")),
        key=lambda r: len(r[0]),
        default=[[]],
    )
    header = rows[0]
    if suffix is None or not header:
        return False
    named = _names_columns(header, 4)
    whole = [row for row in rows[named:] if len(row) == len(header)] or rows[:1]
    lengths = [sum(map(len, cells)) / len(whole) for cells in zip(*whole, strict=True)]
    likely = lengths.index(max(lengths))
    event = event_fields(header) if named and max(lengths) < LONGEST_OF_EVENT else None
    what = f"{name} looks like {suffix[1:].upper()} and is read as plain text, with names and brackets; "
    field = Option("field", header[likely] if named else str(likely))
    advice = (
        (f"if it is a log of events, train on its sessions: {event}",)
        if event
        else (field, " reads one field")
    )
    warnings.warn(OptionWarning(what, *advice), stacklevel=3)
    return True


def event_fields(columns: Sequence[str]) -> str | None:
    """Return the options that read a log with these columns; None if they do not look like those of a log."""
    found: list[str] = []
    for words in (_SESSIONS, _TIMES, _ITEMS):
        likely = (name for word in words for name in columns if word in name.lower() and name not in found)
        found.append(next(likely, ""))
    if not all(found):
        return None
    session, time, item = map(shlex.quote, found)
    return f"cawv train FILE --for items --group-by {session} --order-by {time} --field {item}"


def _names_columns(row: Sequence[str], most: int) -> bool:
    """Return whether a first row names columns: different cells, no numbers, each of few words."""
    return len(set(row)) == len(row) and all(
        0 < len(cell.split()) <= most and not re.fullmatch(r"[-+.,:/\d\s]+", cell) for cell in row
    )


def _has(head: bytes, fields: Sequence[str], mark: str) -> bool:
    header = _rows(head, mark, 1)[0]
    return any(field in header for field in fields)


def _rows(head: bytes, mark: str, most: int) -> list[list[str]]:
    """Return the first rows; at least one, which may be empty."""
    lines = io.StringIO(from_utf8(head), newline=None)
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(islice(csv.reader(lines, delimiter=mark), most))
    return rows or [[]]


def cell_texts(pieces: Iterable[bytes], texts: RecordTexts, delimiter: str) -> Iterator[bytes]:
    """Yield the text of some columns of every row, each cell a line; line ends within it end lines."""
    # Cells are quoted as in RFC 4180 (``"`` doubled within quotes), in TSV too.
    fields, name = texts.fields, texts.name
    with long_cells():
        rows = _closed_rows(pieces, delimiter, name)
        line, header = next(rows)
        if all(field.isdecimal() and field not in header for field in fields):
            if _names_columns(header, 1):
                warnings.warn(
                    f"{name}: the first row, {', '.join(header)[:60]!r}, names the columns and is no text",
                    stacklevel=2,
                )
            else:
                rows = chain([(line, header)], rows)
            header = list(map(str, range(len(header))))
        needed = fields_to_read(fields, texts.records)
        for field in needed:
            if header.count(field) != 1:
                raise DataError(
                    f"{name} has {header.count(field) or 'no'} column(s) {field!r}; its header has "
                    f"{', '.join(map(repr, header[:20]))}; give the name of one, ",
                    option_of(field, fields, texts.records),
                )
        places = [(field, header.index(field)) for field in needed]
        for line, row in rows:
            if not row:
                continue
            if len(row) != len(header):
                texts.malformed(f"line {line} has {len(row)} cells, the header {len(header)}")
                continue
            yield from texts.of({field: row[place] or None for field, place in places}, f"line {line}")
    texts.end("no row has a text")


def _closed_rows(pieces: Iterable[bytes], delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row after the number of its last line; refuse a cell whose quotation mark is not closed."""
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        for line in whole_lines(pieces, LONGEST_LINE):
            if len(line) > LONGEST_LINE:  # and not whole
                raise csv.Error(f"it has a line of more than {LONGEST_LINE:,} bytes")
            yield from_utf8(line) + "\n"
        ended = True

    rows = csv.reader(lines(), delimiter=delimiter)
    begin = 1
    try:
        for row in rows:
            if ended:  # the reader yields a whole row before it takes the line after it
                opened = rows.line_num - row[-1].removesuffix("\n").count("\n")
                raise DataError(
                    f"{name}, line {opened}: a quotation mark opens there and is not closed before the end "
                    f"of the file; {_CLOSE}"
                )
            yield rows.line_num, row
            begin = rows.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, the row that begins in line {begin}: {error}; if a quotation mark is not closed there, "
            f"{_CLOSE}"
        ) from error
