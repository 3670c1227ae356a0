r"""Splits text into lines, and reads lines of words and counts.

In all packages, only ``\n``, ``\r\n`` and ``\r`` end a line.
Python's ``str.splitlines`` also splits at eight other characters, among them U+2028 and the form feed.

Wherever a file keeps words in lines (``vocab.tsv``, the ``words`` tensor of safetensors files, the metadata
of the TensorBoard projector), backslash, tab, newline and carriage return in a word become ``\\ \t \n \r``,
and a backslash is put before U+FEFF.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files.compression import open_by_content


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends; the last is empty if the text ends with a line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_unicode(word: str) -> bool:
    """Return whether a word can be written in UTF-8: one with a lone surrogate cannot."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def whole_lines(pieces: Iterable[bytes], longest: int | None = None) -> Iterator[bytes]:
    r"""Yield the lines of a text without their ends, which are ``\n``, ``\r\n`` or ``\r``."""
    waiting: list[bytes] = []
    length = 0
    ended_by_cr = False
    for piece in pieces:
        text = piece[1:] if ended_by_cr and piece[:1] == b"\n" else piece
        if not text:
            ended_by_cr = ended_by_cr and not piece
            continue
        ended_by_cr = text.endswith(b"\r")
        lines = text.splitlines()
        rest = b"" if text.endswith((b"\r", b"\n")) else lines.pop()
        for line in lines:
            if waiting:
                line, waiting, length = b"".join([*waiting, line]), [], 0
            yield line
        if rest and (longest is None or length <= longest):
            waiting.append(rest)
            length += len(rest)
    if waiting:
        yield b"".join(waiting)


# Bytes; a longer line is not a line of a list that somebody wrote.
LONGEST_LINE = 10_000_000


class Lines:
    r"""The lines of a UTF-8 file, plain or .gz, .bz2, .xz, .zst, and the error that names the last one read.

    ``\n``, ``\r\n`` and ``\r`` end a line; a byte order mark at the start is dropped. Other characters
    that Unicode calls line ends (U+0085, U+2028) stay in the line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path, self.number = path, 0

    def __iter__(self) -> Iterator[str]:
        try:
            with open_by_content(self.path) as stream:
                yield from self._decoded(whole_lines(iter(lambda: stream.read(1 << 16), b""), LONGEST_LINE))
        except OSError as error:
            raise DataError(
                f"cannot read {self.path}: {error.strerror or error}; give a text file (plain, .gz, .bz2, "
                ".xz or .zst)"
            ) from error
        if self.number == 0:
            raise DataError(f"{self.path}: the file is empty")

    def _decoded(self, lines: Iterable[bytes]) -> Iterator[str]:
        for raw in lines:
            self.number += 1
            if len(raw) > LONGEST_LINE:
                raise self.wrong(f"the line is longer than {LONGEST_LINE:,} bytes", "is this a text file?")
            if b"\0" in raw:
                raise self.wrong("there is a NUL byte", "give a UTF-8 text file")
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                found = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8"
                advice = "convert the file, for example with: iconv -f latin1 -t utf-8"
                raise self.wrong(found, advice) from None
            yield line.removeprefix("\ufeff") if self.number == 1 else line

    def filled(self, comment: str = "#") -> Iterator[str]:
        """Yield the lines that are neither blank nor begin with the mark of comments."""
        return (line for line in self if line.strip() and not line.startswith(comment))

    def wrong(self, found: str, expected: str) -> DataError:
        """Return the error for the line that was read last."""
        return DataError(f"{self.path}, line {self.number}: {found}; {expected}")


# A word that begins with U+FEFF would, in the first line, be taken for the byte order mark of the file.
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\ufeff": "\\\ufeff"}
_ORIGINALS = {escape: original for original, escape in _ESCAPES.items()}
_TABLE = str.maketrans(_ESCAPES)


def escape_lines(words: list[str]) -> str:
    """Return the words joined by newlines, each escaped, with a newline after the last."""
    joined = "\0".join(words)
    if not words:
        return ""
    if joined.count("\0") == len(words) - 1 and not any(character in joined for character in _ESCAPES):
        return joined.replace("\0", "\n") + "\n"  # the common case, without a call per word
    return "".join(f"{word.translate(_TABLE)}\n" for word in words)


def unescape(text: str) -> str:
    r"""Undo the escapes in one word."""
    if "\\" not in text:
        return text

    def original(match: re.Match[str]) -> str:
        if match[0] not in _ORIGINALS:
            raise ValueError(f"unknown escape {match[0]!r} in {text!r}; known are " + " ".join(_ORIGINALS))
        return _ORIGINALS[match[0]]

    return re.sub(r"\\.?", original, text, flags=re.DOTALL)


def unescape_lines(text: str) -> list[str]:
    """Return the words of a text made by ``escape_lines``; every word ends with a newline."""
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    return [unescape(line) for line in lines] if "\\" in text else lines


_MOST_DIGITS = 15  # larger counts are errors

_LARGEST_COUNT = 2**53  # counts become float64 probabilities


def read_words(path: str | os.PathLike[str], *, foreign: bool = True) -> tuple[list[str], NDArray[np.int64]]:
    r"""Read the lines of a vocabulary file in their order, whether or not words occur twice."""
    return parse_words(_content(path), os.fspath(path), foreign=foreign)


def _content(path: str | os.PathLike[str]) -> bytes:
    try:
        with open_by_content(path) as stream:
            return stream.read()
    except OSError as error:
        raise DataError(f"cannot read the vocabulary {path}: {error.strerror or error}") from error


def parse_words(data: bytes, name: str, *, foreign: bool = True) -> tuple[list[str], NDArray[np.int64]]:
    """Return words and counts from the content of a file; otherwise as `read_words`."""
    regular = _regular_lines(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {number}: invalid UTF-8 (byte 0x{data[error.start]:02x}); convert it to UTF-8"
        ) from error
    del data
    if regular is not None:
        words = regular[0].decode("utf-8-sig").split("\n")[:-1]
        if "\\" not in text or _unescape_all(words):
            return words, regular[1]
    lines = split_lines(text)
    while lines and not lines[-1]:
        lines.pop()
    words, numbers = [], []
    for number, line in enumerate(lines, 1):
        word, tab, count = line.rpartition("\t")
        fits = foreign or (bool(tab) and "\t" not in word)
        if not tab and foreign:
            word, _, count = line.rpartition(" ")
        elif "\\" in word:
            try:
                word = unescape(word)
            except ValueError:  # not written by us: backslashes are literal
                fits = fits and foreign
        # int() would also accept "1_000", " 7" and digits of other scripts.
        whole = count.isascii() and count.isdigit() and len(count) < 20 and int(count) <= _LARGEST_COUNT
        if not (whole and fits and (word or not foreign)):
            raise DataError(f"{name}, line {number}: {_complaint(line, word, count)}")
        words.append(word)
        numbers.append(int(count))
    return words, np.array(numbers, dtype=np.int64)


def _regular_lines(data: bytes) -> tuple[bytes, NDArray[np.int64]] | None:
    """Return all words, each with a newline, and their counts, without a loop, if each line is a word,
    a tab and digits.
    """
    content = np.frombuffer(data, np.uint8)
    tabs, ends = np.flatnonzero(content == ord("\t")), np.flatnonzero(content == ord("\n"))
    if len(tabs) != len(ends) or data[-1:] not in (b"", b"\n") or b"\r" in data:
        return None
    n_digits = ends - tabs - 1
    begins = np.append(0, ends + 1)[:-1]
    if not ((begins < tabs) & (n_digits >= 1) & (n_digits <= _MOST_DIGITS)).all():
        return None
    counts = np.zeros(len(ends), np.int64)
    for place in range(1, int(n_digits.max(initial=0)) + 1):
        rows = np.flatnonzero(n_digits >= place)
        digits = content[ends[rows] - place] - np.uint8(ord("0"))
        if (digits > 9).any():  # bytes below "0" have wrapped around to large numbers
            return None
        counts[rows] += digits.astype(np.int64) * 10 ** (place - 1)
    of_count = np.zeros(len(content), np.int8)
    of_count[tabs], of_count[ends] = 1, -1
    np.cumsum(of_count, out=of_count)  # 1 for bytes from the tab to the newline
    return content[of_count == 0].tobytes(), counts


def _unescape_all(words: list[str]) -> bool:
    """Undo the escapes in words, in place; return whether this package writes all of these escapes."""
    for i in [i for i, word in enumerate(words) if "\\" in word]:
        try:
            words[i] = unescape(words[i])
        except ValueError:
            return False
    return True


def _complaint(line: str, word: str, count: str) -> str:
    if not line.strip():
        return "the line is blank; expected 'word TAB count'"
    if not word:
        return f"{line!r} is not a word and a count; expected 'word TAB count'"
    if count.isascii() and count.isdigit() and (len(count) > 16 or int(count) > _LARGEST_COUNT):
        return f"the count {count} of {word!r} is too large; the largest allowed is 2^53"
    if not (count.isascii() and count.isdigit()):
        return f"the count {count!r} of {word!r} is not a whole number >= 0"
    return f"{line[:80]!r} is not a word, a tab and a count"
