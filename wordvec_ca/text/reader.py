"""Reads files as a stream of text: decompresses and checks them, and cuts them into blocks at line ends.

This module does not handle words or ids, and holds at most a block of text.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import IO

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.files import Content, PieceStream, is_read_once, is_url, kind_of, open_by_content
from wordvec_ca.kernels import count_strange
from wordvec_ca.showable import showable_name
from wordvec_ca.text.blocks import JOIN, ReadText, width_of_wrapped
from wordvec_ca.text.delimited import cell_texts, columns, delimiter_of, table_suffix, tell_of_table
from wordvec_ca.text.encodings import (
    WrongEncodingError,
    decoded,
    encoding_advice,
    iconv_name,
    is_disguised_utf8,
    is_utf8,
    likely_encodings,
    too_many_undecodable,
    undecodable,
    unmarked_encoding,
    wrong_encoding,
)
from wordvec_ca.text.json_records import field_texts
from wordvec_ca.text.normal_forms import in_normal_form
from wordvec_ca.text.records import RecordTexts, field_names
from wordvec_ca.text.remote import RemoteFile, url_size
from wordvec_ca.text.shapes import Shape, any_fields, shape_of, tell
from wordvec_ca.text.sources import find_files
from wordvec_ca.text.tables import column_texts

_SAMPLE = 1 << 16
_LONG_SAMPLE = 1 << 20  # more bytes, read if the beginning is damaged, to decide whether the whole file is
# Largest number of files that are checked in order to name all files in another encoding.
_MOST_LOOKED_AT = 1000

_BOM = b"\xef\xbb\xbf"


class TextFiles:
    """Files read one after another as UTF-8 text: paths (``-`` is standard input), URLs, streams, `ReadText`.

    ``field`` names the fields of records that are the text, ``encoding`` that of plain text, JSON lines, CSV
    and TSV, ``normalize`` a normal form of Unicode; ``helpers`` is the number of threads that decompress
    bzip2, and of processes that remove markup.
    """

    # bytes_read: Bytes read so far, before decompression.
    # bytes_total: Bytes of all files, if all are regular files or remote ones of known size.
    # starts: Offset in the text of each file begun so far.
    # records: Counts of records in files that are not plain text.
    # wrapped: Receives the names of files whose lines are broken at a fixed width, and the width, for
    # `warn_of_wrapped_lines`. If not given, there is a warning at the first such file.

    def __init__(
        self,
        files: Sequence[str | IO[bytes] | ReadText],
        field: str | Sequence[str] | None = None,
        helpers: int = 1,
        encoding: str | None = None,
        records: Counter[str] | None = None,
        normalize: str = "none",
        wrapped: dict[str, int] | None = None,
    ) -> None:
        self.files = files
        self.helpers = helpers
        self.fields = field_names(field)
        self.encoding = encoding
        self.normalize = normalize
        self.records: Counter[str] = Counter() if records is None else records
        self.bytes_read = 0
        self.starts: list[int] = []
        self._wrapped = wrapped
        sizes = [_size(file) for file in files]
        self.bytes_total = None if None in sizes else sum(size or 0 for size in sizes)

    def pieces(self) -> Generator[bytes, None, None]:
        """Yield the text of all files, each without a byte order mark and with a line end at its end."""
        offset = 0
        for file in self.files:
            self.starts.append(offset)
            last = b"\n"
            try:
                with closing(self._text(file)) as text:
                    for piece in in_normal_form(text, self.normalize):
                        yield piece
                        offset += len(piece)
                        last = piece[-1:]
            except WrongEncodingError as error:
                if others := self._others_undecodable(len(self.starts)):
                    raise WrongEncodingError(*error.args, f". So are others: {others}") from None
                raise
            if last != b"\n":
                yield b"\n"
                offset += 1

    def _others_undecodable(self, start: int) -> str:
        """Return, for a message, the names of later files that are not in the given encoding either."""
        found = []
        for file in self.files[start : start + _MOST_LOOKED_AT]:
            if not isinstance(file, str) or not os.path.isfile(file):
                continue
            with suppress(DataError, OSError), open_by_content(file) as stream:
                head = stream.read(_SAMPLE)
                if self.encoding is not None and not is_utf8(self.encoding):
                    head = b"".join(decoded([head], self.encoding, file))
                strange = count_strange(head)
                if too_many_undecodable(*undecodable(head)) or (strange >= 16 and strange * 10 > len(head)):
                    guesses = " or ".join(likely_encodings(head))
                    found.append(f"{file!r}" + (f" (most likely {guesses})" if guesses else ""))
        more = f" and {len(found) - 20:,} more" if len(found) > 20 else ""
        return ", ".join(found[:20]) + more

    @property
    def named(self) -> str:
        """The number of files and the name of the first one, for messages."""
        return f"{len(self.files)} file(s), the first {_name(self.files[0])}"

    def place(self, offset: int) -> tuple[str, int]:
        """Return the name of the file that holds an offset of the text, and the offset at which it starts."""
        number = bisect_right(self.starts, offset) - 1
        return _name(self.files[number]), self.starts[number]

    def _text(self, file: str | IO[bytes] | ReadText) -> Generator[bytes, None, None]:
        """Check the beginning of a file, and yield its text."""
        if isinstance(file, ReadText):
            for piece in file.pieces:
                self.bytes_read += len(piece)
                yield piece
            return
        name = _name(file)
        with ExitStack() as stack:
            stream = self._open(file, stack)
            path = file if isinstance(file, str) and os.path.isfile(file) else None
            content = Content(stream, name, path, self.helpers)
            kind = kind_of(content.start)
            if kind is not None and kind.columns:
                yield from stack.enter_context(closing(self._table(stream, content, file)))
                return
            pieces = self._counted(content)
            if self.encoding is not None and not is_utf8(self.encoding):
                pieces = _looked_at(pieces, self.encoding, name)
                pieces = decoded(pieces, self.encoding, name)
            head, pieces = self._beginning(pieces, name)
            everything = chain([head] if head else [], pieces)
            shape, texts = shape_of(head), RecordTexts(self.fields or (), name, self.records, self.helpers)
            if self.fields is not None:
                yield from _records(everything, head, shape, texts, _path(file))
            elif shape is not None and shape.read is not None and shape.advice is None:
                # closed at once, since a reader may have processes
                yield from stack.enter_context(closing(shape.read(everything, texts)))
            else:
                if shape is not None:
                    tell(shape, head, name)
                elif not tell_of_table(head, _path(file), name):
                    self._look_at_lines(head, name)
                yield from everything

    def _look_at_lines(self, head: bytes, name: str) -> None:
        """Find out whether the lines of a file are broken; warn if nobody collects such files."""
        width = width_of_wrapped(head[: 1 << 16].decode("utf-8", "replace"))
        if width is not None:
            if self._wrapped is None:
                self._wrapped = {}
                warn_of_wrapped_lines({name: width})
            self._wrapped[name] = width

    def _counted(self, content: Content) -> Iterator[bytes]:
        """Yield a file's content, and count the bytes that it takes."""
        before = self.bytes_read
        for piece in content.pieces():
            self.bytes_read = before + content.bytes_read
            yield piece
        self.bytes_read = before + content.bytes_read

    def _beginning(self, pieces: Iterator[bytes], name: str) -> tuple[bytes, Iterator[bytes]]:
        """Check the beginning of a text; return it and the rest."""
        head = b""
        for enough in (_SAMPLE, _LONG_SAMPLE):
            while len(head) < enough and (piece := next(pieces, None)):
                head += piece
            bad, words = undecodable(head)
            if not too_many_undecodable(bad, words):
                break
        _look(head, name, self.encoding)
        return head.removeprefix(_BOM), pieces

    def _table(
        self, stream: IO[bytes], content: Content, file: str | IO[bytes]
    ) -> Generator[bytes, None, None]:
        """Yield the text of a Parquet table or Arrow data."""
        before = self.bytes_read
        size = _size(file) or 0

        def done(share: float) -> None:
            self.bytes_read = before + int(share * size)

        if stream.seekable():
            stream.seek(0)
        else:
            stream = io.BufferedReader(PieceStream(content.pieces()))
        yield from column_texts(stream, content.start, self.fields, _name(file), self.records, done)

    def _open(self, file: str | IO[bytes], stack: ExitStack) -> IO[bytes]:
        if not isinstance(file, str):
            return file
        if file == "-":
            return sys.stdin.buffer
        if is_url(file) and not os.path.exists(file):
            return stack.enter_context(RemoteFile(file))  # type: ignore[arg-type]
        try:
            return stack.enter_context(open(file, "rb", buffering=0))
        except OSError as error:
            raise DataError(f"cannot read {file!r}: {error.strerror or error}") from error


def _records(
    pieces: Iterator[bytes], head: bytes, shape: Shape | None, texts: RecordTexts, path: str
) -> Iterator[bytes]:
    """Yield the text of some fields of records."""
    suffix, named = table_suffix(path), " or ".join(map(repr, texts.fields))
    # the first cell of a table may be JSON, too: then its suffix decides
    is_cell = suffix is not None and shape is not None and shape.fields is any_fields
    if shape is not None and shape.read is not None and shape.fields(texts.fields) and not is_cell:
        return shape.read(pieces, texts)
    if suffix is not None or not head.lstrip().startswith(b"{"):
        if (mark := delimiter_of(head, texts.fields, suffix)) is not None:
            return cell_texts(pieces, texts, mark)
        if suffix is not None:
            raise DataError(
                f"{texts.name} has no column {named}; its header has "
                f"{', '.join(map(repr, columns(head, suffix)[:20]))}; give the name of one (",
                Option("field"),
                "), or none for plain text",
            )
    if shape is not None and shape.read is not None and shape.advice is not None:
        what, *advice = shape.advice(head)
        raise DataError(f"{texts.name} has no field {named}: without one it {what}", *advice)
    return field_texts(pieces, texts)


def holds_records(name: str, fields: Sequence[str]) -> bool:
    """Return whether a file (of a folder or pattern, the first) holds records, as its content or name says.

    JSON, Parquet and files named .csv or .tsv do, also without such fields: then their reader names those
    that there are. Other files are tables if their header has one of the fields.
    """
    if is_read_once(name):  # to look at its beginning would take that from the reader
        return False
    found = [name]
    with warnings.catch_warnings(), suppress(DataError):  # the reader of the text will tell the same
        warnings.simplefilter("ignore")
        found = find_files([name])
    path = found[0]
    if table_suffix(path) is not None or path.endswith((".jsonl", ".parquet")):  # also remote, also missing
        return True
    try:
        with open_by_content(path) as stream:
            head = stream.read(_SAMPLE)
    except (DataError, OSError):
        return False
    kind, shape = kind_of(head), shape_of(head)
    if kind is not None and kind.columns:
        return True
    if shape is not None:
        return shape.fields(fields)
    # numbers of columns would fit any text
    return not all(field.isdecimal() for field in fields) and delimiter_of(head, fields, None) is not None


def _name(file: str | IO[bytes] | ReadText) -> str:
    if isinstance(file, str):
        return "standard input" if file == "-" else repr(showable_name(file))
    return f"stream {showable_name(str(getattr(file, 'name', None) or type(file).__name__))}"


def _path(file: str | IO[bytes]) -> str:
    return file if isinstance(file, str) else str(getattr(file, "name", ""))


def _size(file: str | IO[bytes] | ReadText) -> int | None:
    if not isinstance(file, str) or file == "-":
        return None
    if os.path.isfile(file):
        return os.path.getsize(file)
    return url_size(file) if is_url(file) else None


def warn_of_wrapped_lines(found: Mapping[str, int]) -> None:
    """Warn, once for all, of files whose lines are broken, given the names and widths."""
    name, width = next(iter(found.items()))
    files = f"{len(found):,} files, such as {name}," if len(found) > 1 else name
    warnings.warn(
        f"the lines of {files} are broken at {width} characters, and no window crosses a line: better "
        f"join the lines of each paragraph: {JOIN}",
        stacklevel=3,
    )


def _looked_at(pieces: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield a text unchanged; warn if its beginning is UTF-8 although another encoding was given."""
    first = next(pieces, b"")
    head = first if len(first) > 16 else first + next(pieces, b"")
    if is_disguised_utf8(head[:_SAMPLE], encoding):
        what = f"{name} is UTF-8, as it seems, and is read as {encoding}; leave out "
        rest = f", and convert files that are {encoding}: iconv -f {iconv_name(encoding)} -t UTF-8 FILE > NEW"
        warnings.warn(OptionWarning(what, Option("encoding"), rest), stacklevel=3)
    yield head
    yield from pieces


def _look(head: bytes, name: str, encoding: str | None) -> None:
    """Raise a DataError if the beginning of a file is not text."""
    kind = kind_of(head)
    if kind is not None and kind.as_text:
        if kind.encoding:
            raise DataError(
                f"{name} is {kind.name}, not UTF-8 text; give ",
                Option("encoding", kind.encoding),
                f", or convert it: {kind.as_text.format(kind.encoding.upper())}",
            )
        raise DataError(f"{name} is {kind.name}, not UTF-8 text; {kind.as_text}")
    nul = head.find(b"\0")
    if nul >= 0 and (found := unmarked_encoding(head)):
        raise DataError(
            f"{name} is {found.upper()} text without a byte order mark, not UTF-8 text; give ",
            Option("encoding", found),
            f", or convert it: iconv -f {found.upper()} -t UTF-8 FILE",
        )
    if nul >= 0:
        raise DataError(
            f"{name} looks binary: there is a NUL byte at offset {nul:,} of its content; give UTF-8 text "
            "(plain or .gz, .bz2, .xz, .zst)"
        )
    strange = count_strange(head)
    if strange >= 16 and strange * 10 > len(head):
        raise WrongEncodingError(
            f"{name} looks binary: {strange:,} of its first {len(head):,} bytes are control characters or "
            f"not {encoding or 'UTF-8'}; ",
            *encoding_advice(head, encoding),
        )
    bad, words = undecodable(head)
    if too_many_undecodable(bad, words):
        raise wrong_encoding(f"the beginning of {name}", bad, words, head, encoding)
