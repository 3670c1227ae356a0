"""Numbered lines of a text file, compressed or not, and the error that names one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.files import check_readable_again, open_by_content, whole_lines

LONGEST = 10_000_000
"""Bytes; a longer line is not a line of an evaluation set."""


def numbered_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    r"""Yield (line number from 1, line without its end) of a UTF-8 file, plain or .gz, .bz2, .xz, .zst.

    ``\n``, ``\r\n`` and ``\r`` end a line; a byte order mark at the start is dropped. Other characters
    that Unicode calls line ends (U+0085, U+2028) stay in the line.
    """
    check_readable_again(path)
    if not Path(path).is_file():
        what = "is a folder" if Path(path).is_dir() else "does not exist"
        raise DataError(f"{path}: {what}; give the path of a text file (plain, .gz, .bz2, .xz or .zst)")
    number = 0
    with open_by_content(path) as stream:
        for raw in whole_lines(iter(lambda: stream.read(1 << 16), b""), LONGEST):
            number += 1
            if len(raw) > LONGEST:
                raise malformed(
                    path, number, f"the line is longer than {LONGEST:,} bytes", "is this a text file?"
                )
            if b"\0" in raw:
                raise malformed(path, number, "there is a NUL byte", "give a UTF-8 text file")
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                bad = raw[error.start : error.start + 1].hex()
                raise malformed(
                    path,
                    number,
                    f"byte {error.start + 1} (0x{bad}) is not UTF-8",
                    "convert the file, for example with: iconv -f latin1 -t utf-8",
                ) from None
            if number == 1:
                line = line.removeprefix("\ufeff")
            yield number, line
    if number == 0:
        raise DataError(f"{path}: the file is empty")


def malformed(path: str | os.PathLike[str], number: int, found: str, expected: str) -> DataError:
    """Return the error for one line."""
    return DataError(f"{path}, line {number}: {found}; {expected}")


def excerpt(text: str) -> str:
    """Return the text in quotes, shortened to fit in a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a data set from its file: without folders and suffixes."""
    name = Path(path).name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".tsv", ".txt", ".csv", ".conllu", ".conll"):
        name = name.removesuffix(suffix)
    return name
