"""Documents of a text: the units that are permuted among texts, or sampled.

Consecutive lines are often about one subject and by one author. If each line counts as a document, chance
variation is underestimated: 2,190 of 10,233 words "changed" between two halves of the same books.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.text.blocks import TokenLines
from wordvec_ca.text.reader import TextFiles, warn_of_wrapped_lines
from wordvec_ca.text.records import Records, field_names
from wordvec_ca.text.sources import find_files

# Ways to separate documents; the other way is by the name of a field.
BLANK_LINES, FILES, LINES = "blank-lines", "files", "lines"

WAYS = BLANK_LINES, FILES, LINES

Line = str | Sequence[str]


def check_group_by(group_by: str, field: str | Sequence[str] | None) -> tuple[str, int]:
    """Return how documents are separated, and the number of lines of each, or 0; see `Documents`."""
    way, _, number = group_by.partition(":")
    if way == LINES and (not number.isdigit() or int(number) < 1):
        raise ValueError(f"group_by is {group_by!r}; after lines: a number of 1 or more is needed")
    if way in WAYS:
        if number and way != LINES:
            raise ValueError(f"group_by is {group_by!r}; only lines has a number after it, as lines:100")
        if field is not None:
            raise ValueError("with a field of records, group_by is the name of another field")
        return way, int(number) if way == LINES else 0
    if field is None:
        close = get_close_matches(group_by, WAYS, n=1)
        raise ValueError(
            f"group_by is the field {group_by!r}: the field with the text is needed, too; the other ways are "
            "blank-lines, files and lines:N" + (f"; did you mean {close[0]}?" if close else "")
        )
    return group_by, 0


class Documents:
    """A text as a sequence of documents, each of several lines.

    Parameters
    ----------
    source : path, sequence of paths, or iterable of documents
        Files, directories or patterns, which are read with ``group_by``; or the documents themselves, each an
        iterable of lines (str, or lists of tokens).
    group_by : str, optional
        ``blank-lines``: documents have blank lines between them, and a file ends one; ``files``: each file is
        one; ``lines:N``: N lines are one; anything else is the name of a field of records (JSON, CSV or TSV
        with a header, Parquet, Arrow): records with the same value in it are one document, wherever they are.
    field : str or sequence of str, optional
        For records: the field with the text.
    encoding : str, optional
        Encoding of text files; by default UTF-8.

    Attributes
    ----------
    paths : list of str or path, or None
        The files, directories and patterns; None if the documents themselves were given.
    fields : list of str or None
        For records: the fields with the text.
    encoding : str or None
    group_by : str or None

    Raises
    ------
    ValueError
        ``group_by`` does not fit the source or the other arguments.
    """

    def __init__(
        self,
        source: Any,
        group_by: str | None = None,
        *,
        field: str | Sequence[str] | None = None,
        encoding: str | None = None,
    ) -> None:
        paths = isinstance(source, str | os.PathLike)
        if not paths and group_by is not None:
            source = list(source)
            paths = all(isinstance(one, str | os.PathLike) for one in source)
            if not paths:
                raise ValueError(
                    f"group_by is {group_by!r}, which is for files; leave it out for an iterable of documents"
                )
        if paths and group_by is None:
            raise ValueError("documents of files need group_by: blank-lines, files, lines:N or a field")
        self._given = None if paths else source
        self.paths = None if not paths else [source] if isinstance(source, str | os.PathLike) else source
        self.encoding, self.fields, self.group_by = encoding, field_names(field), group_by
        self._way, self._n = ("", 0) if group_by is None else check_group_by(group_by, field)
        self._is_field = bool(self._way) and self._way not in WAYS
        self._told_of_lines = False

    def __iter__(self) -> Iterator[list[Line]]:
        """Yield the lines of each document; empty documents are left out."""
        found: dict[int, list[Line]] = {}
        for number, line in self.numbered_lines():
            if not self._is_field and number not in found:
                yield from found.values()
                found = {}
            found.setdefault(number, []).append(line)
        yield from found.values()

    def numbered_lines(self) -> Iterator[tuple[int, Line]]:
        """Yield each line with the number of its document, in the order of the text.

        The lines of a document are adjacent, unless a field separates the documents. Empty lines are left
        out.

        Raises
        ------
        DataError
            A file cannot be read as documents, or something else was given.
        """
        for number, line in self._numbered():
            if line.strip() if isinstance(line, str) else line:
                yield number, line

    def _numbered(self) -> Iterator[tuple[int, Line]]:
        if self._given is not None:
            for number, document in enumerate(self._given):
                if isinstance(document, str):
                    raise DataError("a document is a list of lines; a single string was given")
                for line in document:
                    yield from ((number, part) for part in _split(line))
        elif self._is_field:
            yield from self._records()
        else:
            number = -1
            wrapped: dict[str, int] = {}
            assert self.paths is not None
            for path in find_files(self.paths):
                for first, line in self._of_file(path, wrapped):
                    number += first
                    yield number, line
            if wrapped and not self._told_of_lines:  # a text is read several times
                self._told_of_lines = True
                warn_of_wrapped_lines(wrapped)

    def _of_file(self, path: str, wrapped: dict[str, int]) -> Iterator[tuple[bool, Line]]:
        """Yield each line of a file, and whether it is the first of a document."""
        begins = True
        lines = located_lines(path, encoding=self.encoding, wrapped=wrapped)
        for place, (_, _, line) in enumerate(lines):
            if self._way == LINES and place % self._n == 0:
                begins = True
            if self._way == BLANK_LINES and isinstance(line, str) and not line.strip():
                begins = True
                continue
            yield begins, line
            begins = False

    def _records(self) -> Iterator[tuple[int, Line]]:
        """Yield the lines of all records; records with the same value of the field have the same number."""
        numbers: dict[str, int] = {}
        assert self.paths is not None
        for path in find_files(self.paths):
            for _, group, line in located_lines(path, self.fields, self.encoding, self.group_by):
                yield numbers.setdefault(str(group), len(numbers)), line


def located_lines(
    path: str,
    fields: Sequence[str] | None = None,
    encoding: str | None = None,
    group_field: str | None = None,
    wrapped: dict[str, int] | None = None,
) -> Iterator[tuple[int, Any, Line]]:
    """Yield the lines of a file of any kind that `TextFiles` reads: the number of each (for records, that
    of the record), the record's value of ``group_field``, and its content (lists of words stay lists).
    """
    # ``wrapped`` receives the file's name and width if its lines are broken at a fixed width: no warning.
    records = Records(origins=fields is not None, group_field=group_field)
    rest, number, group = b"", 0, None
    wrapped = {} if wrapped is None else wrapped
    for piece in TextFiles([path], fields, encoding=encoding, records=records, wrapped=wrapped).pieces():
        if records.origins is not None:  # each piece is one text
            number, group = records.origins.popleft()
        lines = (rest + piece).splitlines(keepends=True)
        rest = b"" if not lines or lines[-1].endswith(b"\n") else lines.pop()
        for ended in lines:
            number += records.origins is None
            line = ended.rstrip(b"\r\n")
            if isinstance(piece, TokenLines):
                yield number, group, line.decode("utf-8", "replace").split(" ") if line else []
                continue
            try:
                yield number, group, line.decode()
            except UnicodeDecodeError:
                kind = "line" if records.origins is None else "record"
                raise DataError(
                    f"{path}, {kind} {number} is not {encoding or 'UTF-8'}; convert the file to UTF-8: "
                    "iconv -f NAME -t UTF-8 FILE > NEW"
                ) from None


def _split(line: Line) -> list[Line]:
    """Split a str at the line ends inside it."""
    if isinstance(line, str) and ("\n" in line or "\r" in line):
        return list(re.split("\r\n|\r|\n", line))
    return [line]
