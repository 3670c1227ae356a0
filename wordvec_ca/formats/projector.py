r"""Reads and writes folders with the two files that the TensorBoard projector (projector.tensorflow.org)
loads.

::

    vectors.tsv    number (TAB number) * (vector_size - 1)
    metadata.tsv   word                    without counts: no header, as the projector wants it
                   "word" TAB "count"      with counts: this header, then word TAB count

Words have ``\ TAB LF CR`` escaped as ``\\ \t \n \r``, so any valid Unicode survives.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import atomic_file, escape_lines, is_unicode, unescape, withdraw
from wordvec_ca.formats.text import TEXT_PART, line_blocks, not_utf8, parse_lines
from wordvec_ca.kernels import write_rows
from wordvec_ca.tables import GrowingRows, VectorTable, row_blocks, show_word

VECTORS = "vectors.tsv"
METADATA = "metadata.tsv"
_HEADER = b"word\tcount"


def is_projector_folder(path: Path) -> bool:
    """Return whether a folder contains the two files of the projector."""
    return (path / VECTORS).is_file() and (path / METADATA).is_file()


def read_projector(path: Path, *, errors: str = "strict") -> VectorTable:
    """Read the projector's two files from a folder."""
    for name in (VECTORS, METADATA):
        if not (path / name).is_file():
            raise DataError(
                f"{path} has no {name}; a projector pair is a folder with {VECTORS} and {METADATA}"
            )
    lines = (path / METADATA).read_bytes().removesuffix(b"\n").split(b"\n")
    counts = None
    if lines == [b""] and not (path / METADATA).stat().st_size:
        lines = []
    if lines and lines[0] == _HEADER:
        pairs = [line.split(b"\t") for line in lines[1:]]
        bad = next((i for i, pair in enumerate(pairs, 2) if len(pair) != 2 or not pair[1].isdigit()), None)
        if bad is not None:
            raise DataError(f"{path / METADATA}, line {bad}: expected a word, a tab and a count")
        lines = [word for word, _ in pairs]
        counts = np.array([int(count) for _, count in pairs], dtype=np.int64)
    words = []
    for i, line in enumerate(lines):
        try:
            words.append(unescape(line.decode("utf-8", errors)))
        except UnicodeDecodeError as error:
            raise not_utf8(line, f"{path / METADATA}, line {i + 1 + (counts is not None)}") from error
        except ValueError:
            words.append(line.decode("utf-8", errors))  # written by another program, without escapes
    vectors = _read_vectors(path / VECTORS)
    if len(words) != len(vectors):
        raise DataError(f"{path}: {METADATA} has {len(words)} words but {VECTORS} has {len(vectors)} vectors")
    return VectorTable(words, vectors, counts, {}, first_line=1 + (counts is not None))


def _read_vectors(path: Path) -> np.ndarray:
    with open(path, "rb") as stream:
        vector_size = stream.readline().count(b"\t") + 1
        stream.seek(0)
        rows = GrowingRows(vector_size, 1)
        for block in line_blocks(stream, b"", str(path)):
            # made to look like GloVe text with empty words
            text = b" " + block[:-1].replace(b"\t", b" ").replace(b"\n", b"\n ") + b"\n"
            words: list[bytes] = []
            rows.append(parse_lines(text, vector_size, words, str(path), 1 + rows.n_rows))
            if any(words):
                extra = next(i for i, word in enumerate(words) if word)
                line = rows.n_rows - len(words) + extra + 1
                raise DataError(f"{path}, line {line}: more than {vector_size} numbers")
    return rows.finish()


def write_projector(
    table: VectorTable, path: str | os.PathLike[str], *, errors: str = "strict", overwrite: bool = True
) -> None:
    """Write the two files to a folder, which is created if necessary."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"cannot write a projector pair into {folder}: it is a file; give a folder")
    try:
        text = escape_lines(table.words).encode("utf-8", errors)
    except UnicodeEncodeError as error:
        bad = next(word for word in table.words if not is_unicode(word))
        raise DataError(
            f"the word {show_word(bad)} is not valid Unicode: the projector's metadata cannot hold it. The "
            "formats safetensors and gensim can; or write its original bytes with ",
            Option("errors", "surrogateescape"),
            ", or leave such words out with ",
            Option("unwritable", "skip"),
        ) from error
    if table.counts is not None:
        pairs = zip(text.split(b"\n"), table.counts.tolist(), strict=False)
        text = _HEADER + b"\n" + b"".join(b"%b\t%d\n" % pair for pair in pairs)
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with (
            atomic_file(folder / METADATA, overwrite=overwrite, follow_links=False) as metadata,
            atomic_file(folder / VECTORS, overwrite=overwrite, follow_links=False) as stream,
        ):
            metadata.write(text)
            for rows in row_blocks(table.vectors, TEXT_PART):
                block = np.ascontiguousarray(table.vectors[rows], dtype=np.float32)
                stream.write(write_rows(block, None, "\t"))
            for written in (metadata, stream):
                written.flush()
                os.fsync(written.fileno())
            withdraw(folder / METADATA)  # the new one is written last
    except BaseException:
        if made and not any(folder.iterdir()):
            folder.rmdir()
        raise
