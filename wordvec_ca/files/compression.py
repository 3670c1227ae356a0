"""Reads compressed files, recognised by their first bytes, and writes them, chosen by their suffix."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from wordvec_ca.errors import DataError
from wordvec_ca.files.pipes import check_readable_again
from wordvec_ca.files.signatures import SIGNATURES, signature_of

_SUFFIXES = {one.compression for one in SIGNATURES if one.compression}


def compression_of(path: str | os.PathLike[str]) -> str | None:
    """Return 'gz', 'bz2', 'xz' or 'zst' according to the first bytes of a file, or None for a plain file."""
    check_readable_again(path)
    with open(path, "rb") as stream:
        head = stream.read(8)
    signature = signature_of(head)
    return (signature and signature.compression) or None


@contextmanager
def open_by_content(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a plain or compressed file for reading bytes; the name's suffix does not matter."""
    kind = compression_of(path)
    if kind is None:
        with open(path, "rb") as stream:
            yield stream
        return
    from xopen import xopen

    damage: tuple[Any, ...] = (EOFError, zlib.error)
    try:
        import lzma

        damage += (lzma.LZMAError,)
        import zstandard

        damage += (zstandard.ZstdError,)
        from isal.isal_zlib import IsalError  # an error of the gzip reader that xopen prefers

        damage += (IsalError,)
    except ImportError:
        pass
    try:
        with xopen(path, "rb", format=kind, threads=0) as stream:
            yield stream
    except DataError:  # readers also raise EOFError for a file that ends early
        raise
    except damage as error:
        raise DataError(
            f"{path}: the {kind} data are cut off or damaged ({error}); fetch the file again"
        ) from error
    except OSError as error:
        if error.errno is None:  # gzip and bz2 report damage as a bare OSError
            raise DataError(f"{path}: the {kind} data are damaged ({error}); fetch the file again") from error
        raise


def compression_suffix(path: str | os.PathLike[str]) -> str | None:
    """Return 'gz', 'bz2', 'xz' or 'zst' if a file name has that suffix, else None."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    return suffix if suffix in _SUFFIXES else None


@contextmanager
def compress_by_suffix(stream: BinaryIO, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Wrap an open file so that it is compressed according to the suffix of ``path``.

    The compressed bytes depend only on the content, since names and times are left out.
    """
    kind = compression_suffix(path)
    writer: Any
    if kind is None:
        yield stream
        return
    if kind == "gz":
        import gzip

        writer = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6)
    elif kind == "bz2":
        import bz2

        writer = bz2.BZ2File(stream, "wb")
    elif kind == "xz":
        import lzma

        writer = lzma.LZMAFile(stream, "wb")  # noqa: SIM115 - closed below
    else:
        import zstandard

        writer = zstandard.ZstdCompressor().stream_writer(stream, closefd=False)
    with writer:
        yield writer
