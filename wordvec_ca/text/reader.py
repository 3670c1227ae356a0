"""Reads files as a stream of text: decompresses and checks them, and cuts them into blocks at line ends.

This module does not handle words or ids, and holds at most a block of text.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import re
import sys
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import IO, Any, Protocol

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.files import bzip2_pieces, is_url, open_by_content, signature_of
from wordvec_ca.kernels import count_strange
from wordvec_ca.showable import showable_name
from wordvec_ca.text.blocks import ReadText
from wordvec_ca.text.delimited import cell_texts, columns, delimiter_of, table_suffix
from wordvec_ca.text.encodings import (
    WrongEncodingError,
    decoded,
    encoding_advice,
    is_disguised_utf8,
    is_utf8,
    likely_encodings,
    too_many_undecodable,
    undecodable,
    wrong_encoding,
)
from wordvec_ca.text.json_lines import field_texts
from wordvec_ca.text.mediawiki import article_texts, is_dump
from wordvec_ca.text.normal_forms import in_nfc
from wordvec_ca.text.records import field_names
from wordvec_ca.text.remote import RemoteFile, url_size
from wordvec_ca.text.structure import array_texts, begins_json_array, check_plain, holds_lists, list_lines
from wordvec_ca.text.tables import column_texts, is_table
from wordvec_ca.text.wrapped_lines import width_of_wrapped

try:  # three times as fast as zlib; xopen installs it where wheels exist
    from isal.isal_zlib import decompressobj as gzip_decompressor
except ImportError:
    from zlib import decompressobj as gzip_decompressor  # type: ignore[assignment]


_SAMPLE = 1 << 16
_LONG_SAMPLE = 1 << 20  # more bytes, read if the beginning is damaged, to decide whether the whole file is
_MOST_LOOKED_AT = 1000
"""Largest number of files that are checked in order to name all files in another encoding."""

_READ_PLAIN = 1 << 20
_READ_COMPRESSED = 1 << 15
_DECOMPRESSED_AT_ONCE = 1 << 11  # small: it may become 64 MB, since four bytes of zstd can expand to 128 kB
_LARGEST_PIECE = 1 << 20
_LARGEST_XZ = 300 << 20  # memory of its dictionary; xz -9 takes 65 MB
_USUAL_WINDOW = 1 << 27  # of zstd; only --long gives larger ones
_BOM = b"\xef\xbb\xbf"


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Output:
    """Decompressed data in pieces whose size is bounded, whatever the compression ratio.

    Attributes
    ----------
    rest : bytes
        Data after the end of the compressed stream; set once all pieces have been taken.
    """

    def __init__(self, decompressor: _Decompressor, data: bytes) -> None:
        self._decompressor, self._data, self.rest = decompressor, data, b""

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[bytes] = []
        length = 0
        for begin in range(0, len(self._data), _DECOMPRESSED_AT_ONCE):
            end = begin + _DECOMPRESSED_AT_ONCE
            piece = self._decompressor.decompress(self._data[begin:end])
            if length and length + len(piece) > _LARGEST_PIECE:
                yield b"".join(waiting)
                waiting, length = [], 0
            while len(piece) > _LARGEST_PIECE:
                yield piece[:_LARGEST_PIECE]
                piece = piece[_LARGEST_PIECE:]
            waiting.append(piece)
            length += len(piece)
            if self._decompressor.eof:
                self.rest = self._decompressor.unused_data + self._data[end:]
                break
        if length:
            yield b"".join(waiting)


def _zstd_window(data: bytes) -> int:
    """Return the window size of a zstd frame from its beginning; 0 for a frame without content."""
    import zstandard

    try:
        return int(zstandard.get_frame_parameters(data).window_size)
    except zstandard.ZstdError:
        return 0


class TextFiles:
    """Files read one after another as UTF-8 text.

    Parameters
    ----------
    files : sequence of str, binary stream or ReadText
        Paths (``-`` is standard input), URLs, open binary streams, or `ReadText`.
    field : str or sequence of str, optional
        The files are JSON lines or tables (CSV, TSV, Parquet, Arrow); these fields of each record are
        the text.
    helpers : int, default 1
        Number of threads that decompress bzip2, and of processes that remove markup.
    encoding : str, optional
        Encoding of plain text, JSON lines, CSV and TSV; by default UTF-8.
    records : Counter, optional
        Counts what occurs in files that are not plain text.
    normalize : {"none", "nfc"}
        Normal form into which the text is converted.

    Attributes
    ----------
    bytes_read : int
        Bytes read so far, before decompression.
    bytes_total : int or None
        Bytes of all files, if all are regular files or remote ones of known size.
    starts : list of int
        Offset in the text of each file begun so far.
    records : Counter
        Counts of records in files that are not plain text.
    """

    def __init__(
        self,
        files: Sequence[str | IO[bytes] | ReadText],
        field: str | Sequence[str] | None = None,
        helpers: int = 1,
        encoding: str | None = None,
        records: Counter[str] | None = None,
        normalize: str = "none",
    ) -> None:
        self.files = files
        self.helpers = helpers
        self.fields = field_names(field)
        self.encoding = encoding
        self.normalize = normalize
        self.records: Counter[str] = Counter() if records is None else records
        self.bytes_read = 0
        self.starts: list[int] = []
        self._told_of_lines = False
        sizes = [_size(file) for file in files]
        self.bytes_total = None if None in sizes else sum(size or 0 for size in sizes)

    def pieces(self) -> Generator[bytes, None, None]:
        """Yield the text of all files, each without a byte order mark and with a line end at its end.

        Raises
        ------
        DataError
            A file cannot be read, does not look like text, or its compressed data is damaged or ends early.
        """
        offset = 0
        for file in self.files:
            self.starts.append(offset)
            last = b"\n"
            try:
                with closing(self._text(file)) as text:
                    for piece in in_nfc(text) if self.normalize == "nfc" else text:
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
            start = self._read(stream, 16, name)
            if is_table(start):
                yield from stack.enter_context(closing(self._table(stream, start, file)))
                return
            pieces = self._decompressed(stream, name, file, start)
            if self.encoding is not None and not is_utf8(self.encoding):
                pieces = _looked_at(pieces, self.encoding, name)
                pieces = decoded(pieces, self.encoding, name)
            head, pieces = self._beginning(pieces, name)
            everything = chain([head] if head else [], pieces)
            if self.fields is not None:
                yield from self._records(everything, head, file)
            elif is_dump(head):
                yield from stack.enter_context(
                    closing(article_texts(everything, name, self.helpers, self.records))
                )
            elif holds_lists(head):
                yield from list_lines(everything, name, self.records)
            elif begins_json_array(head):
                yield from array_texts(everything, None, name, self.records)
            else:
                check_plain(head, name)
                self._told_of_lines = self._told_of_lines or _warn_of_wrapped_lines(head, name)
                yield from everything

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

    def _table(self, stream: IO[bytes], start: bytes, file: str | IO[bytes]) -> Generator[bytes, None, None]:
        """Yield the text of a Parquet table or Arrow data."""
        before = self.bytes_read - len(start)
        size = _size(file) or 0

        def done(share: float) -> None:
            self.bytes_read = before + int(share * size)

        if stream.seekable():
            stream.seek(0)
        else:
            stream = io.BufferedReader(_PrefixedStream(start, stream))
        yield from column_texts(stream, start, self.fields, _name(file), self.records, done)

    def _records(self, pieces: Iterator[bytes], head: bytes, file: str | IO[bytes]) -> Iterator[bytes]:
        """Yield the text of JSON lines, CSV or TSV."""
        assert self.fields is not None
        name = _name(file)
        path = file if isinstance(file, str) else str(getattr(file, "name", ""))
        suffix = table_suffix(path)
        if suffix is None and begins_json_array(head) and not holds_lists(head):
            return array_texts(pieces, self.fields, name, self.records)
        if suffix is not None or not head.lstrip().startswith(b"{"):
            mark = delimiter_of(head, self.fields, suffix)
            if mark is not None:
                return cell_texts(pieces, self.fields, mark, name, self.records)
            if suffix is not None:
                raise DataError(
                    f"{name} has no column {' or '.join(map(repr, self.fields))}; its header has "
                    f"{', '.join(map(repr, columns(head, suffix)[:20]))}; give the name of one (",
                    Option("field"),
                    "), or none for plain text",
                )
        return field_texts(pieces, self.fields, name, self.records)

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

    def _read(self, stream: IO[bytes], size: int, name: str) -> bytes:
        try:
            data = stream.read(size) or b""
        except OSError as error:
            raise DataError(
                f"cannot read {name} after {self.bytes_read:,} bytes: {error.strerror or error}"
            ) from error
        self.bytes_read += len(data)
        return data

    def _decompressed(
        self, stream: IO[bytes], name: str, file: str | IO[bytes], data: bytes
    ) -> Iterator[bytes]:
        """Yield the decompressed bytes of a stream; its beginning ``data`` identifies the compression."""
        before = self.bytes_read - len(data)
        while len(data) < 16 and (more := self._read(stream, _READ_COMPRESSED, name)):
            data += more
        kind, open_decompressor = _compression(data)
        if open_decompressor is None:
            while data:
                yield data
                data = self._read(stream, _READ_PLAIN, name)
            return
        decompressor: _Decompressor | None = None
        decoded = known = window = 0
        if kind == "bzip2" and self.helpers > 1 and isinstance(file, str) and os.path.isfile(file):
            threads = bzip2_pieces(file, self.helpers)
            for piece, place in threads:
                self.bytes_read = before + place
                known += len(piece)
                if piece:
                    yield piece
                else:  # the compressed data ends here, but the file may go on
                    stream.seek(place)
                    decoded, known = known, 0
                    data = self._read(stream, _READ_COMPRESSED, name).lstrip(b"\0")
            if known:  # the threads met damage: read again in one thread, which reports it
                stream.seek(0)
                self.bytes_read = before
                data = self._read(stream, _READ_COMPRESSED, name)
        while data:
            if decompressor is None:
                if decoded and _compression(data)[0] != kind:
                    raise DataError(
                        f"{name}: {len(data):,} bytes or more follow the end of the {kind} data; "
                        "cut them off, or decompress the file by hand to see what they are"
                    )
                decompressor = open_decompressor()
                window = _zstd_window(data) if kind == "zstd" else 0
            output = _Output(decompressor, data)
            pieces = iter(output)
            while True:
                try:
                    piece = next(pieces, b"")
                except Exception as error:  # each library raises an exception of its own
                    raise DataError(
                        f"{name}: the {kind} data is damaged after {decoded:,} bytes of text "
                        f"(byte {self.bytes_read - before:,} of the file or a little before): {error}"
                    ) from error
                if not piece:
                    break
                decoded += len(piece)
                if decoded > known:
                    yield piece[max(0, len(piece) - (decoded - known)) :]
                if window > _USUAL_WINDOW < decoded // 2 and decoded > 256 * (self.bytes_read - before):
                    raise DataError(
                        f"{name}: its zstd window of {window:,} bytes takes as much memory, and "
                        f"{self.bytes_read - before:,} bytes became {decoded:,}: decompress it by hand"
                    )
            if decompressor.eof:  # another stream may follow; zero bytes are padding
                data = output.rest.lstrip(b"\0")
                decompressor = None
                while len(data) < 16 and (more := self._read(stream, _READ_COMPRESSED, name)):
                    data = (data + more).lstrip(b"\0")
            else:
                data = self._read(stream, _READ_COMPRESSED, name)
        if decompressor is not None:
            raise DataError(
                f"{name} is truncated: its {kind} data ends early, after {self.bytes_read - before:,} bytes "
                f"of the file and {decoded:,} of text; fetch it again, or use what can be decompressed"
            )


def _name(file: str | IO[bytes] | ReadText) -> str:
    if isinstance(file, str):
        return "standard input" if file == "-" else repr(showable_name(file))
    return f"stream {showable_name(str(getattr(file, 'name', None) or type(file).__name__))}"


def _compression(head: bytes) -> tuple[str, Callable[[], _Decompressor] | None]:
    """Return the name of the compression of data with this beginning, and its decompressor."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip", lambda: gzip_decompressor(31)
    if re.match(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", head):
        return "bzip2", bz2.BZ2Decompressor
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LARGEST_XZ)
    if head.startswith(b"\x28\xb5\x2f\xfd") or re.match(rb"[\x50-\x5f]\x2a\x4d\x18", head):
        import zstandard

        return "zstd", lambda: zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
    return "", None


def _size(file: str | IO[bytes] | ReadText) -> int | None:
    if not isinstance(file, str) or file == "-":
        return None
    if os.path.isfile(file):
        return os.path.getsize(file)
    return url_size(file) if is_url(file) else None


class _PrefixedStream(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start[: len(buffer)] or self._rest.read(len(buffer)) or b""
        self._start = self._start[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _warn_of_wrapped_lines(head: bytes, name: str) -> bool:
    """Warn if the lines were broken at a fixed width; return whether they were."""
    width = width_of_wrapped(head[: 1 << 16].decode("utf-8", "replace"))
    if width is not None:
        warnings.warn(
            f"the lines of {name} are broken at {width} characters, and no window crosses a line: better "
            """join the lines of each paragraph, as awk -v RS= '{gsub("\\n", " "); print}' OLD > NEW does""",
            stacklevel=3,
        )
    return width is not None


def _looked_at(pieces: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield a text unchanged; warn if its beginning is UTF-8 although another encoding was given."""
    first = next(pieces, b"")
    head = first if len(first) > 16 else first + next(pieces, b"")
    if is_disguised_utf8(head[:_SAMPLE], encoding):
        what = f"{name} is UTF-8, as it seems, and is read as {encoding}; leave out "
        warnings.warn(OptionWarning(what, Option("encoding")), stacklevel=3)
    yield head
    yield from pieces


def _look(head: bytes, name: str, encoding: str | None) -> None:
    """Raise a DataError if the beginning of a file is not text."""
    signature = signature_of(head)
    if signature is not None and signature.as_text:
        if signature.encoding:
            raise DataError(
                f"{name} is {signature.what}, not UTF-8 text; give ",
                Option("encoding", signature.encoding),
                f", or convert it: {signature.as_text}",
            )
        raise DataError(f"{name} is {signature.what}, not UTF-8 text; {signature.as_text}")
    nul = head.find(b"\0")
    if nul >= 0:
        raise DataError(
            f"{name} looks binary: there is a NUL byte at offset {nul:,} of its content; give UTF-8 text "
            "(plain or .gz, .bz2, .xz, .zst); of UTF-16 or UTF-32 give the ",
            Option("encoding"),
            ", or use iconv",
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
