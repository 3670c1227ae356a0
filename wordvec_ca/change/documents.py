"""Documents of a text: what is permuted among texts, or sampled, as a whole.

Lines that follow each other are about one thing and by one author. If each is taken for a document, chance
seems smaller than it is: 2,190 of 10,233 words "changed" between two halves of the same books.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.files import open_by_content
from wordvec_ca.text import field_names, find_files

BLANK_LINES, FILES, LINES = "blank-lines", "files", "lines"
"""Ways to tell documents apart, besides the name of a field."""

Line = str | Sequence[str]


class Documents:
    """A text as documents of several lines.

    Parameters
    ----------
    source : path, sequence of paths, or iterable of documents
        Files, directories or patterns, which are read with ``group_by``; or the documents themselves, each an
        iterable of lines (str, or lists of tokens).
    group_by : str, optional
        ``blank-lines``: documents have blank lines between them, and a file ends one; ``files``: each file is
        one; ``lines:N``: N lines are one; anything else is the name of a field of records (JSON lines, CSV or
        TSV with a header): records that have the same value are one document, wherever they are.
    field : str or sequence of str, optional
        Of records: the field with the text.

    Raises
    ------
    ValueError
        ``group_by`` and what is given do not belong together.
    """

    def __init__(
        self, source: Any, group_by: str | None = None, *, field: str | Sequence[str] | None = None
    ) -> None:
        paths = isinstance(source, str | os.PathLike)
        if not paths and group_by is not None:
            source = list(source)
            paths = all(isinstance(one, str | os.PathLike) for one in source)
        if paths and group_by is None:
            raise ValueError("documents of files need group_by: blank-lines, files, lines:N or a field")
        self._given = None if paths else source
        self._paths = [source] if isinstance(source, str | os.PathLike) else source
        self._way, _, number = (group_by or "").partition(":")
        self._fields = field_names(field)
        self._n = 0
        if self._way == LINES:
            if not number.isdigit() or int(number) < 1:
                raise ValueError(f"group_by is {group_by!r}; after lines: a number of 1 or more is needed")
            self._n = int(number)
        self._is_field = group_by is not None and self._way not in (BLANK_LINES, FILES, LINES)
        self._group_by = group_by
        if self._is_field and self._fields is None:
            raise ValueError(f"group_by is the field {group_by!r}: the field with the text is needed, too")
        if not self._is_field and self._fields is not None:
            raise ValueError("with a field of records, group_by is the name of another field")

    def __iter__(self) -> Iterator[list[Line]]:
        """Yield the lines of each document; empty ones are left out."""
        found: Iterable[Iterable[Line]]
        if self._given is not None:
            found = self._given
        elif self._is_field:
            found = self._records().values()
        else:
            found = (document for path in find_files(self._paths) for document in self._of_file(path))
        for document in found:
            if isinstance(document, str):
                raise DataError("a document is a list of lines; a single string was given")
            lines = [line for line in document if (line.strip() if isinstance(line, str) else line)]
            if lines:
                yield lines

    def _of_file(self, path: str) -> Iterator[list[str]]:
        lines = (line for _, line in numbered_file_lines(path))
        if self._way == FILES:
            yield list(lines)
        elif self._way == LINES:
            for _, numbered in groupby(enumerate(lines), key=lambda pair: pair[0] // self._n):
                yield [line for _, line in numbered]
        else:
            for filled, some in groupby(lines, key=lambda line: bool(line.strip())):
                if filled:
                    yield list(some)

    def _records(self) -> dict[str, list[str]]:
        """Return the texts of all records by the value of their field."""
        found: dict[str, list[str]] = {}
        assert self._fields is not None
        assert self._group_by is not None
        for path in find_files(self._paths):
            for number, record in records_of(path):
                if self._group_by not in record:
                    has = ", ".join(map(repr, list(record)[:20]))
                    raise DataError(f"{path}, record {number}: no field {self._group_by!r}; it has {has}")
                texts = [record.get(name) for name in self._fields]
                lines = [line for text in texts if text for line in str(text).splitlines()]
                found.setdefault(str(record[self._group_by]), []).extend(lines)
        return found


def numbered_file_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of the lines of a file, plain or compressed."""
    with open_by_content(path) as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise DataError(
                    f"{path}, line {number} is not UTF-8; convert the file, for example with: "
                    "iconv -f latin1 -t utf-8"
                ) from None
            yield number, line.rstrip("\r\n")


def records_of(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and record of JSON lines, or of a table with a header."""
    lines = (line for _, line in numbered_file_lines(path))
    first = next(lines, "")
    if first.lstrip().startswith("{"):
        for number, line in enumerate([first, *lines], 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(f"{path}, line {number} is not JSON: {error}") from None
            if not isinstance(record, dict):
                raise DataError(f"{path}, line {number} is not a JSON object with fields")
            yield number, record
        return
    if first.startswith("PAR1") or (not first.isprintable() and "\t" not in first):
        raise DataError(f"{path}: documents by a field are read from JSON lines, CSV and TSV only")
    text = io.StringIO("\n".join([first, *lines]))
    yield from enumerate(csv.DictReader(text, delimiter="\t" if "\t" in first else ","), 1)
