"""Recognises well-known formats by their first bytes, and gives advice on files that cannot be read."""

from __future__ import annotations

from typing import NamedTuple


class Signature(NamedTuple):
    r"""The first bytes of a format.

    Attributes
    ----------
    begins : bytes
    what : str
        Name of the format in messages, with its article.
    compression : str
        The usual suffix, if the format is a compression that all readers support; otherwise empty.
    is_text : bool
        Whether the reader of text accepts such files although they contain zero bytes.
    as_text, as_vectors : str
        Advice if such a file was given as text or as vectors; empty if the reader itself gives better advice.
    """

    begins: bytes
    what: str
    compression: str = ""
    is_text: bool = False
    as_text: str = ""
    as_vectors: str = ""
    encoding: str = ""


UTF_16 = "iconv -f UTF-16 -t UTF-8 FILE"

SIGNATURES = (
    Signature(b"\x1f\x8b", "gzip", "gz", is_text=True),
    Signature(b"BZh", "bzip2", "bz2", is_text=True),
    Signature(b"\xfd7zXZ\0", "xz", "xz", is_text=True),
    Signature(b"\x28\xb5\x2f\xfd", "zstd", "zst", is_text=True),
    Signature(b"PAR1", "a Parquet file", is_text=True),
    Signature(b"ARROW1", "an Arrow file", is_text=True),
    Signature(b"\xff\xff\xff\xff", "a stream of Arrow", is_text=True),
    Signature(b"\xef\xbb\xbf", "UTF-8 text", is_text=True),
    Signature(b"\xff\xfe", "UTF-16 text", is_text=True, as_text=UTF_16, encoding="utf-16"),
    Signature(b"\xfe\xff", "UTF-16 text", is_text=True, as_text=UTF_16, encoding="utf-16"),
    Signature(b"\0\0\xfe\xff", "UTF-32 text", is_text=True),
    Signature(
        b"PK\x03\x04",
        "a zip archive (or a docx, xlsx, epub, PyTorch file)",
        as_text="extract the text first",
        as_vectors="unpack it and give the file of vectors within",
    ),
    Signature(b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", as_text="extract the text first"),
    Signature(b"\x04\x22\x4d\x18", "an lz4 file", as_text="pipe it in: lz4 -dc FILE | cawv ... -"),
    Signature(b"LZIP", "an lzip file", as_text="pipe it in: lzip -dc FILE | cawv ... -"),
    Signature(b"\x1f\x9d", "a compress (.Z) file", as_text="pipe it in: zcat FILE | cawv ... -"),
    Signature(b"%PDF", "a PDF", as_text="extract the text first, for instance with pdftotext"),
    Signature(b"SQLite format 3\0", "an SQLite database", as_text="export the text first"),
    Signature(b"\x93NUMPY", "a NumPy array"),
    Signature(
        b"\x89HDF", "an HDF5 file", as_vectors="convert the vectors to word2vec text or safetensors first"
    ),
    Signature(b"\xd0\xcf\x11\xe0", "an old Office document"),
    Signature(b"{\\rtf1", "an RTF document", as_text="save it as plain text, in UTF-8"),
    Signature(b"\x7fELF", "a program"),
    Signature(b"\x89PNG", "a picture"),
    Signature(b"\xff\xd8\xff", "a picture"),
)


def signature_of(head: bytes) -> Signature | None:
    """Return the format that the first bytes of a file show; None if they match no known signature."""
    return next((one for one in SIGNATURES if head.startswith(one.begins)), None)
