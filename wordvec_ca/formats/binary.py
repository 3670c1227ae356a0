r"""word2vec's binary format.

::

    header = n_words " " vector_size "\n"
    entry  = word " " vector_size * float32 (little endian) "\n"     n_words times; word in UTF-8

The writer ends each vector with a newline, as the C tool does. Readers accept files without it, since gensim
leaves it out.
"""

from __future__ import annotations

import os
import re

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, compress_by_suffix, compression_of, open_by_content
from wordvec_ca.formats.text import decode_words, encode_words, sizes_of
from wordvec_ca.tables import CutOffError, GrowingRows, VectorTable, row_blocks

_BLOCK = 16 << 20
_LONGEST_WORD = 1 << 16
_AS_TEXT = re.compile(rb"[-+.0-9eE\s]*")


def read_binary(
    path: str | os.PathLike[str],
    *,
    errors: str = "strict",
    encoding: str = "utf-8",
    max_words: int | None = None,
) -> VectorTable:
    """Read word2vec binary, plain or compressed."""
    name = str(path)
    with open_by_content(path) as stream:
        first = stream.readline(1 << 16)
        n_words, vector_size = sizes_of(first, name, "word2vec binary")
        n_words = n_words if max_words is None else min(n_words, max_words)
        width = 4 * vector_size
        plain = compression_of(path) is None
        if plain and n_words * (width + 1) > os.path.getsize(path) - len(first):
            raise CutOffError(
                f"{name}: the header promises {n_words} vectors of {vector_size} numbers, which need at "
                f"least {n_words * (width + 1)} bytes, but the file has {os.path.getsize(path)}; it is cut "
                "off or the header is wrong"
            )
        rows = GrowingRows(vector_size, n_words if plain else 1)
        words: list[bytes] = []
        buffer = b""
        offset = len(first)  # position of the buffer's start in the (decompressed) file
        while len(words) < n_words:
            block = stream.read(_BLOCK)
            buffer += block
            at = 0
            pieces = []
            while len(words) < n_words:
                space = buffer.find(b" ", at, at + _LONGEST_WORD)
                if space < 0 or space + 1 + width > len(buffer):
                    break
                words.append(buffer[at:space].lstrip(b"\n"))
                pieces.append(buffer[space + 1 : space + 1 + width])
                at = space + 1 + width
            if pieces:
                if len(words) == len(pieces) and vector_size > 2 and _AS_TEXT.fullmatch(pieces[0]):
                    raise DataError(
                        f"{name}: the numbers of {words[0]!r} are written as text, not binary; read it "
                        "as text (format='word2vec', in gensim binary=False, cawv export --from word2vec)"
                    )
                joined = np.frombuffer(b"".join(pieces), dtype="<f4")
                rows.append(joined.reshape(len(pieces), vector_size))
            if len(words) < n_words:
                if space < 0 and len(buffer) - at >= _LONGEST_WORD:
                    raise DataError(
                        f"{name}: no space within {_LONGEST_WORD} bytes from byte {offset + at}, where the "
                        f"word of entry {len(words) + 1} should be; this is not word2vec binary with vectors "
                        f"of size {vector_size}"
                    )
                if not block:
                    raise CutOffError(
                        f"{name}: the file ends at byte {offset + len(buffer)} within entry {len(words) + 1} "
                        f"of the {n_words} that its header promises; it is cut off or the header is wrong"
                    )
            buffer = buffer[at:]
            offset += at
        rest = b"" if max_words is not None else buffer or stream.read(16)
        if rest.strip(b"\r\n"):
            raise DataError(
                f"{name}: data follow after the {n_words} vectors that the header promises, from byte "
                f"{offset}; correct the header or cut the file"
            )
    decoded = decode_words(words, errors, lambda i: f"{name}, entry {i + 1}", encoding)
    return VectorTable(decoded, rows.finish(), None, {})


def write_binary(
    table: VectorTable, path: str | os.PathLike[str], *, errors: str = "strict", overwrite: bool = True
) -> None:
    """Write word2vec binary block by block, completely or not at all; the suffix ``.gz`` compresses it."""
    words = encode_words(table.words, errors, "word2vec binary")
    n_words, vector_size = table.vectors.shape
    with atomic_file(path, overwrite=overwrite) as raw, compress_by_suffix(raw, path) as stream:
        stream.write(b"%d %d\n" % (n_words, vector_size))
        for rows in row_blocks(table.vectors):
            block = np.ascontiguousarray(table.vectors[rows], dtype="<f4")
            stream.write(
                b"".join(
                    b"%b %b\n" % (word, row.tobytes()) for word, row in zip(words[rows], block, strict=True)
                )
            )
