"""The lines of a text file, compressed or not, and the error that names one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.files import check_readable_again, open_by_content, whole_lines

# Bytes; a longer line is not a line of an evaluation set.
LONGEST = 10_000_000


class Lines:
    r"""The lines of a UTF-8 file, plain or .gz, .bz2, .xz, .zst, and the error that names the last one read.

    ``\n``, ``\r\n`` and ``\r`` end a line; a byte order mark at the start is dropped. Other characters
    that Unicode calls line ends (U+0085, U+2028) stay in the line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.number = path, 0

    def __iter__(self) -> Iterator[str]:
        check_readable_again(self.path)
        if not Path(self.path).is_file():
            what = "is a folder" if Path(self.path).is_dir() else "does not exist"
            raise DataError(
                f"{self.path}: {what}; give the path of a text file (plain, .gz, .bz2, .xz or .zst)"
            )
        with open_by_content(self.path) as stream:
            for raw in whole_lines(iter(lambda: stream.read(1 << 16), b""), LONGEST):
                self.number += 1
                if len(raw) > LONGEST:
                    raise self.wrong(f"the line is longer than {LONGEST:,} bytes", "is this a text file?")
                if b"\0" in raw:
                    raise self.wrong("there is a NUL byte", "give a UTF-8 text file")
                try:
                    line = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    found = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8"
                    advice = "convert the file, for example with: iconv -f latin1 -t utf-8"
                    raise self.wrong(found, advice) from None
                yield line.removeprefix("\ufeff") if self.number == 1 else line
        if self.number == 0:
            raise DataError(f"{self.path}: the file is empty")

    def filled(self, comment: str = "#") -> Iterator[str]:
        """Yield the lines that are neither blank nor begin with the mark of comments."""
        return (line for line in self if line.strip() and not line.startswith(comment))

    def wrong(self, found: str, expected: str) -> DataError:
        """Return the error for the line that was read last."""
        return DataError(f"{self.path}, line {self.number}: {found}; {expected}")


def cells_of(line: str) -> list[str]:
    """Return the columns of a line, which tabs separate or, without any, blanks."""
    return line.split("\t") if "\t" in line else line.split()


def excerpt(text: str) -> str:
    """Return the text in quotes, shortened to fit in a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def name_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a data set from its file: without folders and suffixes."""
    name = Path(path).name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".tsv", ".txt", ".csv", ".conllu", ".conll"):
        name = name.removesuffix(suffix)
    return name
