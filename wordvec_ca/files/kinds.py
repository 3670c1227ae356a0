"""What a file is, by its first bytes: one table, with advice on files that cannot be read; and whether an
input can be read only once.

`wordvec_ca.text` adds the kinds that only lines show, such as subtitles, and readers for some.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wordvec_ca.errors import DataError


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    # Its name in messages, with an article.
    name: str
    # Returns whether a file that begins with these bytes is of this kind.
    test: Callable[[bytes], object]
    # The beginning of such a file.
    sample: bytes
    # The usual suffix, if the kind is a compression that all readers support; otherwise empty.
    compression: str = ""
    # Whether the reader of text takes such files, although they may contain zero bytes.
    is_text: bool = False
    # as_text, as_vectors: Advice if such a file was given as text or as vectors, which is refused; empty if
    # the reader itself gives better advice.
    as_text: str = ""
    as_vectors: str = ""
    # The encoding of such text, if it is not UTF-8.
    encoding: str = ""
    # Whether the kind is a table with named columns.
    columns: bool = False


def _begins(firsts: tuple[bytes, ...], head: bytes) -> bool:
    return head.startswith(firsts)


def _kind(name: str, *firsts: bytes, **more: str | bool) -> Kind:
    """Return a kind that is known by its first bytes, one of ``firsts``."""
    return Kind(name, partial(_begins, firsts), firsts[0], **more)  # type: ignore[arg-type]


_POINTER = "it only names a file that Git LFS keeps elsewhere; fetch that file: git lfs pull"
_UTF = "iconv -f {0} -t UTF-8 FILE"
_BZIP2 = (b"1AY&SY", b"\x17rE8P\x90")  # first bytes of a block, and of the end: "BZh9" may begin a text

# The kinds that first bytes show; the first that fits counts.
KINDS = (
    _kind("gzip", b"\x1f\x8b\x08", compression="gz", is_text=True),
    _kind(
        "bzip2",
        *(b"BZh%d%b" % (level, mark) for level in range(1, 10) for mark in _BZIP2),
        compression="bz2",
        is_text=True,
    ),
    _kind("xz", b"\xfd7zXZ\0", compression="xz", is_text=True),
    _kind(
        "zstd",
        b"\x28\xb5\x2f\xfd",
        *(b"%c\x2a\x4d\x18" % first for first in range(0x50, 0x60)),  # frames that are skipped
        compression="zst",
        is_text=True,
    ),
    _kind("a Parquet file", b"PAR1", is_text=True, columns=True),
    _kind("an Arrow file", b"ARROW1\0\0", is_text=True, columns=True),
    _kind("a stream of Arrow", b"\xff\xff\xff\xff", is_text=True, columns=True),
    # before UTF-16, whose mark is the beginning of this one
    _kind("UTF-32 text", b"\xff\xfe\0\0", b"\0\0\xfe\xff", is_text=True, as_text=_UTF, encoding="utf-32"),
    _kind("UTF-16 text", b"\xff\xfe", b"\xfe\xff", is_text=True, as_text=_UTF, encoding="utf-16"),
    _kind(  # text, so that a folder with such a file is refused rather than read without it
        "a pointer of Git LFS",
        b"version https://git-lfs.github.com/spec/",
        is_text=True,
        as_text=_POINTER,
        as_vectors=_POINTER,
    ),
    _kind(
        "a zip archive (or a docx, xlsx, epub, PyTorch file)",
        b"PK\x03\x04",
        as_text="extract the text first",
        as_vectors="unpack it and give the file of vectors within",
    ),
    _kind("a 7-Zip archive", b"7z\xbc\xaf\x27\x1c", as_text="extract the text first"),
    _kind("an lz4 file", b"\x04\x22\x4d\x18", as_text="pipe it in: lz4 -dc FILE | cawv ... -"),
    _kind("an lzip file", b"LZIP", as_text="pipe it in: lzip -dc FILE | cawv ... -"),
    _kind("a compress (.Z) file", b"\x1f\x9d", as_text="pipe it in: zcat FILE | cawv ... -"),
    _kind("a PDF", b"%PDF", as_text="extract the text first, for instance with pdftotext"),
    _kind("an SQLite database", b"SQLite format 3\0", as_text="export the text first"),
    _kind("an HDF5 file", b"\x89HDF", as_vectors="convert the vectors to word2vec text or safetensors first"),
    _kind("an RTF document", b"{\\rtf1", as_text="save it as plain text, in UTF-8"),
)


def kind_of(head: bytes) -> Kind | None:
    """Return the kind of a file that begins with these bytes; None if no kind fits."""
    return next((one for one in KINDS if one.test(head)), None)


def is_read_once(name: str | os.PathLike[str]) -> bool:
    """Return whether a name is ``-``, a pipe or a device, such as ``<(command)`` of a shell."""
    if os.fspath(name) == "-":
        return True
    try:
        mode = os.stat(name).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def check_readable_again(name: str | os.PathLike[str]) -> None:
    """Raise a DataError if a file can be read only once, for callers that read it several times."""
    if is_read_once(name):
        raise DataError(
            f"{os.fspath(name)!r} is a pipe or a device, and it is read more than once: write it to a "
            "file, and give that"
        )
