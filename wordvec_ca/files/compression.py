"""Reads compressed files, recognised by their first bytes, and writes them, chosen by their suffix."""

from __future__ import annotations

import bz2
import io
import lzma
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from wordvec_ca.errors import DataError
from wordvec_ca.files.kinds import KINDS, Kind, check_readable_again, kind_of

try:  # three times as fast as zlib
    from isal.isal_zlib import decompressobj as gzip_decompressor
except ImportError:  # no wheel exists for this machine
    from zlib import decompressobj as gzip_decompressor  # type: ignore[assignment]

_SUFFIXES = {one.compression for one in KINDS if one.compression}

# Number of first bytes that tell a compression.
ENOUGH = 16

_READ_PLAIN = 1 << 20
_READ_COMPRESSED = 1 << 15
_DECOMPRESSED_AT_ONCE = 1 << 11  # small: it may become 64 MB, since four bytes of zstd can expand to 128 kB
_LARGEST_PIECE = 1 << 20
_LARGEST_XZ = 300 << 20  # memory of its dictionary; xz -9 takes 65 MB
_USUAL_WINDOW = 1 << 27  # of zstd; only --long gives larger ones
_SMALLEST_BZIP2 = 1 << 20  # of a file for which several threads are worthwhile


def _decompressor(kind: str) -> Any:
    """Return an object with ``decompress``, ``eof`` and ``unused_data``, as each of the libraries has."""
    if kind == "gz":
        return gzip_decompressor(31)
    if kind == "bz2":
        return bz2.BZ2Decompressor()
    if kind == "xz":
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LARGEST_XZ)
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()


def _zstd_window(data: bytes) -> int:
    """Return the window size of a zstd frame from its beginning; 0 for a frame without content."""
    import zstandard

    try:
        return int(zstandard.get_frame_parameters(data).window_size)
    except zstandard.ZstdError:
        return 0


class _Output:
    """Decompressed data in pieces whose size is bounded, whatever the compression ratio."""

    # rest: Data after the end of the compressed stream; set once all pieces have been taken.

    def __init__(self, decompressor: Any, data: bytes) -> None:
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


class Content:
    """The bytes of a stream, decompressed if its first bytes say so, in pieces of bounded size."""

    # path: Path of the file, if several threads may decompress it.
    # bytes_read: Bytes read so far, before decompression.
    # start: The first bytes of the stream, before decompression.

    def __init__(self, stream: IO[bytes], name: str, path: str | None = None, threads: int = 1) -> None:
        self._stream, self._name, self._path, self._threads = stream, name, path, threads
        self.bytes_read = 0
        self.start = b""
        while len(self.start) < ENOUGH and (more := self._read(ENOUGH - len(self.start))):
            self.start += more

    def _read(self, size: int) -> bytes:
        try:
            data = self._stream.read(size) or b""
        except OSError as error:
            raise DataError(
                f"cannot read {self._name} after {self.bytes_read:,} bytes: {error.strerror or error}"
            ) from error
        self.bytes_read += len(data)
        return data

    def _enough(self, data: bytes) -> bytes:
        """Return data with enough bytes to tell a compression; zero bytes before them are padding."""
        while len(data) < ENOUGH and (more := self._read(_READ_COMPRESSED)):
            data = (data + more).lstrip(b"\0")
        return data

    def pieces(self) -> Iterator[bytes]:
        """Yield the content."""
        data = self.start
        kind = kind_of(data)
        if kind is not None and kind.compression:
            yield from self._decompressed(data, kind)
            return
        while data:
            yield data
            data = self._read(_READ_PLAIN)

    def _decompressed(self, data: bytes, kind: Kind) -> Iterator[bytes]:
        what = kind.name
        decompressor: Any = None
        decoded = known = window = 0
        if kind.compression == "bz2" and self._threads > 1 and self._path is not None:
            for piece, place in _bzip2_pieces(self._path, self._threads):
                self.bytes_read = place
                known += len(piece)
                if piece:
                    yield piece
                else:  # the compressed data ends here, but the file may go on
                    self._stream.seek(place)
                    decoded, known = known, 0
                    data = self._read(_READ_COMPRESSED).lstrip(b"\0")
            if known:  # the threads met damage: read again in one thread, which reports it
                self._stream.seek(0)
                self.bytes_read = 0
                data = self._read(_READ_COMPRESSED)
        while data:
            if decompressor is None:
                if decoded and kind_of(data) is not kind:
                    raise DataError(
                        f"{self._name}: {len(data):,} bytes or more follow the end of the {what} data; "
                        "cut them off, or decompress the file by hand to see what they are"
                    )
                decompressor = _decompressor(kind.compression)
                window = _zstd_window(data) if what == "zstd" else 0
            output = _Output(decompressor, data)
            pieces = iter(output)
            while True:
                try:
                    piece = next(pieces, b"")
                except Exception as error:  # each library raises an exception of its own
                    raise DataError(
                        f"{self._name}: the {what} data is damaged after {decoded:,} bytes of text "
                        f"(byte {self.bytes_read:,} of the file or a little before): {error}"
                    ) from error
                if not piece:
                    break
                decoded += len(piece)
                if decoded > known:
                    yield piece[max(0, len(piece) - (decoded - known)) :]
                if window > _USUAL_WINDOW < decoded // 2 and decoded > 256 * self.bytes_read:
                    raise DataError(
                        f"{self._name}: its zstd window of {window:,} bytes takes as much memory, and "
                        f"{self.bytes_read:,} bytes became {decoded:,}: decompress it by hand"
                    )
            if decompressor.eof:  # another stream may follow
                decompressor, data = None, self._enough(output.rest.lstrip(b"\0"))
            else:
                data = self._read(_READ_COMPRESSED)
        if decompressor is not None:
            raise DataError(
                f"{self._name} is truncated: its {what} data ends early, after {self.bytes_read:,} bytes "
                f"of the file and {decoded:,} of text; fetch it again, or use what can be decompressed"
            )


def _bzip2_pieces(path: str, threads: int) -> Iterator[tuple[bytes, int]]:
    """Yield decompressed pieces of a bzip2 file, each with the number of compressed bytes read so far."""
    # Its blocks are independent, so that several threads can decompress them. At the end of the compressed
    # data, yield (b"", the offset of the end), since other data may follow. If the data is damaged or
    # threads cannot be used, the iterator ends without this.
    try:
        from rapidgzip import IndexedBzip2File
    except ImportError:  # no wheel exists for this machine
        return
    size = os.path.getsize(path)
    if size < _SMALLEST_BZIP2:
        return
    try:
        with IndexedBzip2File(path, parallelization=threads) as file:
            while piece := file.read(_LARGEST_PIECE):
                yield piece, min(size, file.tell_compressed() // 8)
            yield b"", (file.tell_compressed() + 7) // 8
    except (RuntimeError, ValueError, OSError, MemoryError):
        return


class PieceStream(io.RawIOBase):
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        super().__init__()
        self._pieces, self._rest = iter(pieces), b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return the number of bytes."""
        data = self._rest or next(self._pieces, b"")
        n = min(len(data), len(buffer))
        buffer[:n], self._rest = data[:n], data[n:]
        return n


def compression_of(path: str | os.PathLike[str]) -> str | None:
    """Return 'gz', 'bz2', 'xz' or 'zst' according to the first bytes of a file, or None for a plain file."""
    check_readable_again(path)
    with open(path, "rb") as stream:
        kind = kind_of(stream.read(ENOUGH))
    return (kind and kind.compression) or None


@contextmanager
def open_by_content(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a plain or compressed file for reading bytes; the name's suffix does not matter."""
    compressed = compression_of(path) is not None
    with open(path, "rb") as stream:
        if not compressed:
            yield stream
            return
        pieces = PieceStream(Content(stream, os.fspath(path)).pieces())
        with io.BufferedReader(pieces, _LARGEST_PIECE) as content:
            yield cast(BinaryIO, content)


def compression_suffix(path: str | os.PathLike[str]) -> str | None:
    """Return 'gz', 'bz2', 'xz' or 'zst' if a file name has that suffix, else None."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    return suffix if suffix in _SUFFIXES else None


@contextmanager
def compress_by_suffix(stream: BinaryIO, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Wrap an open file so that it is compressed according to the suffix of ``path``."""
    # The compressed bytes depend only on the content, since names and times are left out.
    kind = compression_suffix(path)
    writer: Any
    if kind is None:
        yield stream
        return
    if kind == "gz":
        import gzip

        writer = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6)
    elif kind == "bz2":
        writer = bz2.BZ2File(stream, "wb")
    elif kind == "xz":
        writer = lzma.LZMAFile(stream, "wb")  # noqa: SIM115 - closed below
    else:
        import zstandard

        writer = zstandard.ZstdCompressor().stream_writer(stream, closefd=False)
    with writer:
        yield writer
