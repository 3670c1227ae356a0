"""Text as a stream: files are found, decompressed, looked at and cut into blocks at line ends.

Nothing here knows words or ids, and nothing holds more than a block of text.
"""

from __future__ import annotations

import bz2
import glob
import io
import lzma
import os
import re
import sys
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from typing import IO, Any, Protocol

from wordvec_ca.bzip2_blocks import bzip2_pieces
from wordvec_ca.errors import DataError
from wordvec_ca.json_lines import field_texts, looks_like_json_lines
from wordvec_ca.kernels._text import Lexicon, count_strange, cut_point
from wordvec_ca.mediawiki_dump import article_texts, is_dump

try:  # three times as fast; comes with xopen where there are wheels for it
    from isal.isal_zlib import decompressobj as gzip_decompressor
except ImportError:
    from zlib import decompressobj as gzip_decompressor  # type: ignore[assignment]

TOKENIZERS = ("words", "whitespace")
BLOCK_BYTES = 1 << 20
LONGEST_RUN = 1 << 24
"""Bytes without any white space that are read as one; longer runs are cut so that memory stays bounded."""

_SAMPLE = 1 << 16
_READ_PLAIN = 1 << 20
_READ_COMPRESSED = 1 << 15  # small: one such piece of a well-compressed file may be 100 MB of text
_BOM = b"\xef\xbb\xbf"

_NOT_TEXT: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive (or a docx, xlsx, epub)", "extract the text first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "extract the text first"),
    (b"\x04\x22\x4d\x18", "an lz4 file", "pipe it in: lz4 -dc FILE | cawv ... -"),
    (b"LZIP", "an lzip file", "pipe it in: lzip -dc FILE | cawv ... -"),
    (b"\x1f\x9d", "a compress (.Z) file", "pipe it in: zcat FILE | cawv ... -"),
    (b"PAR1", "a Parquet table", "write its text column to a file, one text per line"),
    (b"%PDF", "a PDF", "extract the text first, for instance with pdftotext"),
    (b"SQLite format 3\0", "an SQLite database", "export the text first"),
    (b"\xff\xfe", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8 FILE"),
    (b"\xfe\xff", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8 FILE"),
)


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def tokenize(text: str, tokenizer: str = "words", lowercase: bool = True) -> list[str]:
    """Return the tokens of a text exactly as training sees them (docs/tokenising.md).

    Parameters
    ----------
    text : str
        Any text; line ends are white space here.
    tokenizer : {"words", "whitespace"}, default "words"
        ``words`` splits Unicode words, numbers, punctuation; ``whitespace`` at ASCII white space only.
    lowercase : bool, default True
        Map characters to lower case (simple case mapping).

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        The text holds a lone surrogate.
    """
    words = is_words(tokenizer)
    lexicon = Lexicon()
    try:
        ids, _ = lexicon.read_text(text.encode("utf-8"), words, lowercase)
    except UnicodeEncodeError as error:
        raise DataError(
            f"the text holds a lone surrogate (character {error.start}), which is not Unicode text"
        ) from error
    types = lexicon.words()
    return [types[i] for i in ids.tolist() if i >= 0]


def is_words(tokenizer: str) -> bool:
    """Return True for tokenizer "words", False for "whitespace"; ValueError for others."""
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"tokenizer must be one of {', '.join(TOKENIZERS)}; got {tokenizer!r}")
    return tokenizer == "words"


def find_files(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files that paths, globs and directories stand for.

    Parameters
    ----------
    paths : iterable of path
        Files as they are; directories: all files below in sorted order, hidden ones skipped; patterns with
        ``* ? [`` (``**`` for any depth) if no file has that very name; ``-`` for standard input, once.
        A warning tells if a file is among them twice.

    Returns
    -------
    list of str
        At least one.

    Raises
    ------
    DataError
        A path does not exist or cannot be reached, a directory has no files, or a pattern matches nothing.
    """
    given = [os.fspath(path) for path in paths]
    if not given:
        raise DataError("no corpus: give one or more files, directories or patterns, or - for standard input")
    if given.count("-") > 1:
        raise ValueError("standard input (-) can be read only once")
    files = [file for path in given for file in _expand(path)]
    seen: set[str] = set()
    for file in files:
        if (whole := os.path.realpath(file)) in seen:
            warnings.warn(
                f"{file!r} is given twice: it is read twice, and its words count twice", stacklevel=2
            )
            break
        seen.add(whole)
    return files


def _expand(path: str) -> list[str]:
    if path == "-":
        return [path]
    try:
        os.stat(path)
    except FileNotFoundError as error:
        if glob.has_magic(path):
            found = sorted(glob.glob(path, recursive=True))
            below = (_files_below(match) if os.path.isdir(match) else [match] for match in found)
            files = list(
                dict.fromkeys(chain.from_iterable(below))
            )  # ** gives both a folder and what is in it
            if files:
                return files
            raise DataError(f"no file matches the pattern {path!r}") from error
        hint = (
            "; a list of str is a list of paths: to train on lines of text, pass iter(lines)"
            if any(character.isspace() for character in path)
            else ""
        )
        raise DataError(f"there is no file {path!r}{hint}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from error
    if not os.path.isdir(path):
        return [path]
    files = _files_below(path)
    if not files:
        raise DataError(f"the directory {path!r} has no files (hidden ones are not read)")
    return files


def _files_below(directory: str) -> list[str]:
    """Return all files in a directory and those below it, sorted; links are followed, but not in circles."""

    def unreadable(error: OSError) -> None:
        raise DataError(f"cannot read the directory {error.filename!r}: {error.strerror}") from error

    files = []
    seen = set()
    for folder, folders, names in os.walk(directory, onerror=unreadable, followlinks=True):
        seen.add(os.path.realpath(folder))
        folders[:] = [
            name
            for name in sorted(folders)
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) not in seen
        ]
        files += [os.path.join(folder, name) for name in names if not name.startswith(".")]
    return sorted(files, key=lambda file: file.split(os.sep))


class TextFiles:
    """Files read one after another as UTF-8 text.

    Parameters
    ----------
    files : sequence of str or binary stream
        Paths (``-`` is standard input) or open binary streams.
    field : str, optional
        The files are JSON lines; this field of each is the text.
    workers : int, default 1
        Threads that decompress bzip2, processes that remove markup.

    Attributes
    ----------
    bytes_read : int
        Bytes read so far, before decompression.
    bytes_total : int or None
        Bytes of all files, if all are regular files.
    starts : list of int
        Offset in the text of each file begun so far.
    records : Counter
        What was met in files that are not plain text, and how often.
    """

    def __init__(self, files: Sequence[str | IO[bytes]], field: str | None = None, workers: int = 1) -> None:
        self.files = files
        self.workers = workers
        self.field = field
        self.records: Counter[str] = Counter()
        self.bytes_read = 0
        self.starts: list[int] = []
        regular = all(isinstance(file, str) and file != "-" and os.path.isfile(file) for file in files)
        self.bytes_total = sum(os.path.getsize(str(file)) for file in files) if regular else None

    def pieces(self) -> Iterator[bytes]:
        """Yield the text of all files; each begins without byte order mark and ends with a line end.

        Raises
        ------
        DataError
            A file cannot be read, does not look like text, or its compressed data is damaged or ends early.
        """
        offset = 0
        for file in self.files:
            self.starts.append(offset)
            last = b"\n"
            with closing(self._text(file)) as text:
                for piece in text:
                    yield piece
                    offset += len(piece)
                    last = piece[-1:]
            if last != b"\n":
                yield b"\n"
                offset += 1

    def place(self, offset: int) -> tuple[str, int]:
        """Return the name of the file that holds an offset of the text, and the offset at which it starts."""
        number = bisect_right(self.starts, offset) - 1
        return _name(self.files[number]), self.starts[number]

    def _text(self, file: str | IO[bytes]) -> Generator[bytes]:
        """Yield the text of one file, having looked at its beginning."""
        name = _name(file)
        with ExitStack() as stack:
            stream = self._open(file, stack)
            pieces = self._decompressed(stream, name, file)
            head = b""
            for piece in pieces:
                head += piece
                if len(head) >= _SAMPLE:
                    break
            _look(head, name)
            head = head.removeprefix(_BOM)
            everything = chain([head] if head else [], pieces)
            if self.field is not None:
                yield from field_texts(everything, self.field, name, self.records)
                return
            if is_dump(head):
                yield from stack.enter_context(
                    closing(article_texts(everything, name, self.workers, self.records))
                )
                return
            if field := looks_like_json_lines(head):
                warnings.warn(
                    f"{name} looks like JSON lines and is read as plain text, with names and brackets; "
                    f"--field {field} reads one field",
                    stacklevel=2,
                )
            yield from everything

    def _open(self, file: str | IO[bytes], stack: ExitStack) -> IO[bytes]:
        if not isinstance(file, str):
            return file
        if file == "-":
            return sys.stdin.buffer
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

    def _decompressed(self, stream: IO[bytes], name: str, file: str | IO[bytes]) -> Iterator[bytes]:
        """Yield the bytes of a stream; which compression it has, if any, its first bytes say."""
        before = self.bytes_read
        data = b""
        while len(data) < 16 and (more := self._read(stream, _READ_COMPRESSED, name)):
            data += more
        kind, open_decompressor = _compression(data)
        if open_decompressor is None:
            while data:
                yield data
                data = self._read(stream, _READ_PLAIN, name)
            return
        decompressor: _Decompressor | None = None
        decoded = known = 0
        if kind == "bzip2" and self.workers > 1 and isinstance(file, str) and os.path.isfile(file):
            threads = bzip2_pieces(file, self.workers)
            for piece, place in threads:
                self.bytes_read = before + place
                known += len(piece)
                if piece:
                    yield piece
                else:  # the data ends here, but perhaps not the file
                    stream.seek(place)
                    decoded, known = known, 0
                    data = self._read(stream, _READ_COMPRESSED, name).lstrip(b"\0")
            if known:  # they met damage: read again in one thread, which says what it is
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
            try:
                piece = decompressor.decompress(data)
            except Exception as error:  # every library has an exception of its own
                raise DataError(
                    f"{name}: the {kind} data is damaged after {decoded:,} bytes of text "
                    f"(byte {self.bytes_read - before:,} of the file or a little before): {error}"
                ) from error
            decoded += len(piece)
            if decoded > known and piece:
                yield piece[max(0, len(piece) - (decoded - known)) :]
            if decompressor.eof:  # another stream may follow; zero bytes are padding
                data = decompressor.unused_data.lstrip(b"\0")
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


def _name(file: str | IO[bytes]) -> str:
    if isinstance(file, str):
        return "standard input" if file == "-" else repr(file)
    return f"stream {getattr(file, 'name', None) or type(file).__name__!r}"


def _compression(head: bytes) -> tuple[str, Callable[[], _Decompressor] | None]:
    """Return the name and the decompressor of data that begins so."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip", lambda: gzip_decompressor(31)
    if re.match(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", head):
        return "bzip2", bz2.BZ2Decompressor
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)
    if head.startswith(b"\x28\xb5\x2f\xfd") or re.match(rb"[\x50-\x5f]\x2a\x4d\x18", head):
        import zstandard

        return "zstd", lambda: zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
    return "", None


def _look(head: bytes, name: str) -> None:
    """Refuse what is not text."""
    for magic, what, advice in _NOT_TEXT:
        if head.startswith(magic):
            raise DataError(f"{name} is {what}, not UTF-8 text; {advice}")
    nul = head.find(b"\0")
    if nul >= 0:
        raise DataError(
            f"{name} looks binary: there is a NUL byte at offset {nul:,} of its content; give UTF-8 text "
            "(plain or .gz, .bz2, .xz, .zst); convert UTF-16 or UTF-32 with iconv"
        )
    strange = count_strange(head)
    if strange >= 16 and strange * 10 > len(head):
        raise DataError(
            f"{name} looks binary: {strange:,} of its first {len(head):,} bytes are control characters or "
            "not UTF-8; if it is text in another encoding, convert it: iconv -f ENCODING -t UTF-8 FILE"
        )


def line_pieces(lines: Iterable[Any]) -> Iterator[bytes]:
    """Yield str lines as UTF-8, each with a line end; DataError names a line that is not Unicode text."""
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(
                f"line {number} of the corpus is a {type(line).__name__}; it began with str, and all must be"
            )
        try:
            piece = line.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"line {number} of the corpus holds a lone surrogate at character {error.start}"
            ) from error
        yield piece if piece.endswith(b"\n") else piece + b"\n"


def cut_into_blocks(
    pieces: Iterable[bytes], size: int = BLOCK_BYTES, *, whole_lines: bool = False
) -> Iterator[bytes]:
    """Join pieces of text and cut them into blocks of about ``size`` bytes.

    A block ends behind a line end; in a line longer than a block, behind white space; in a run of more than
    ``LONGEST_RUN`` bytes without white space, after so many bytes. Hence tokens do not depend on ``size``.
    With ``whole_lines`` no line of less than ``LONGEST_RUN`` bytes is cut, and a longer one at places that do
    not depend on ``size`` either.
    """
    size = min(size, LONGEST_RUN)
    waiting: list[bytes] = []
    length = 0
    wanted = size
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        while length >= wanted:
            text = b"".join(waiting)
            cut = (_cut_line if whole_lines else _cut)(text, min(length, LONGEST_RUN))
            if cut:
                yield text if cut == length else text[:cut]
                text = text[cut:]
            length = len(text)
            waiting = [text]
            wanted = size if cut else length + size
    text = b"".join(waiting)
    while text:
        cut = len(text)
        if cut > LONGEST_RUN:
            cut = (_cut_line if whole_lines else _cut)(text, LONGEST_RUN) or cut
        yield text[:cut]
        text = text[cut:]


def _cut_line(text: bytes, n: int) -> int:
    """Return the place behind the last line end in text[:n]; if there is none, 0 until n is LONGEST_RUN."""
    cut = max(text.rfind(b"\n", 0, n), text.rfind(b"\r", 0, min(n, len(text) - 1))) + 1
    if cut and text[cut - 1 : cut + 1] == b"\r\n":
        cut += 1
    return cut if cut or n < LONGEST_RUN else _cut(text, n)


def _cut(text: bytes, n: int) -> int:
    cut = cut_point(text, n)
    if cut or len(text) <= LONGEST_RUN:
        return cut
    while n > LONGEST_RUN - 3 and text[n] & 0xC0 == 0x80:  # not inside a character
        n -= 1
    return n


def is_stream(corpus: object) -> bool:
    """Return True for an open binary file."""
    return isinstance(corpus, (io.RawIOBase, io.BufferedIOBase))
