r"""Reads and writes vectors as text: word2vec's format (with a header) and GloVe's (without).

::

    header  = n_words " " vector_size "\n"          only word2vec
    line    = word (" " number) * vector_size "\n"  n_words times; word in UTF-8

Each number is the shortest decimal that reads back as the same float32. The reader also accepts words that
contain spaces (it counts the numbers from the right), a blank before the end of a line, tabs between numbers,
and ``\r\n``; the writer refuses words that contain ASCII white space, because other readers cut them there.
"""

from __future__ import annotations

import os
import re
import warnings
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import atomic_file, compress_by_suffix, compression_of, open_by_content
from wordvec_ca.kernels import read_rows, write_rows
from wordvec_ca.tables import CutOffError, GrowingRows, VectorTable, row_blocks, show_word

_BLOCK = 4 << 20
_LONGEST_LINE = 64 << 20
BOM = b"\xef\xbb\xbf"
_ASCII_SPACE = re.compile(r"[ \t\n\r\v\f]")


def parse_header(line: bytes) -> tuple[int, int] | None:
    """Return (n_words, vector_size) if a line is a word2vec header, else None."""
    match = re.fullmatch(rb"(?:\xef\xbb\xbf)?\s*(\d{1,18})[ \t]+(\d{1,9})\s*", line)
    return (int(match[1]), int(match[2])) if match else None


_DL4J_HEADER = re.compile(rb"(\d{1,18} \d{1,9}) \d{1,18}\s*")
# Before words in base64, as DL4J writes them; its header also has the number of documents.
BASE64 = b"B64:"


def is_comment(line: bytes) -> bool:
    """Return whether a line on top of vectors is a comment, such as a licence; a vector has more numbers."""
    return line.removeprefix(BOM).startswith((b"#", b"%", b"//", b";")) and numbers_in(line) < 2


def without_comments(head: bytes) -> bytes:
    """Return the beginning of a file without the lines of comments on top."""
    while is_comment(head.partition(b"\n")[0]):
        head = head.partition(b"\n")[2]
    return head


LARGEST_VECTOR_SIZE = 1_000_000
# Factor by which blocks of text are smaller than other blocks, since text takes more memory than float32.
TEXT_PART = 8


def sizes_of(line: bytes, name: str, what: str) -> tuple[int, int]:
    """Return (n_words, vector_size) from a header line."""
    with_documents = _DL4J_HEADER.fullmatch(line)
    sizes = parse_header(with_documents[1] if with_documents else line)
    if sizes is None:
        raise DataError(
            f"{name}: line 1 should be the header 'n_words vector_size' of {what}, but is {show_word(line)}; "
            "for a text without header use format='glove'"
        )
    if not 1 <= sizes[1] <= LARGEST_VECTOR_SIZE:
        raise DataError(
            f"{name}: line 1 says vectors of size {sizes[1]}; sizes go from 1 to {LARGEST_VECTOR_SIZE}"
        )
    return sizes


_DECIMAL_COMMA = re.compile(rb"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_UNICODE_MINUS = re.compile("(?:\u2012|\u2013|\u2212)".encode() + rb"\d[\d.eE+-]*")
_PAIR = re.compile(rb"\d+:[-+]?\d*[.,]?\d+(?:[eE][-+]?\d+)?")


def strangeness(line: bytes) -> str:
    """Return a description of what is wrong with a line of vectors, or an empty string for unknown faults."""
    fields = line.split()
    if not fields:
        return "the line is blank; remove blank lines"
    if any(map(_PAIR.fullmatch, fields[1:])):
        return "column:value pairs (sparse vectors) are not read; write every number of each vector"
    minus = next(filter(_UNICODE_MINUS.fullmatch, fields[1:]), None)
    if minus is not None:
        return f"{minus.decode()!r} is not a number: its minus is not the sign of ASCII; write -"
    comma = next(filter(_DECIMAL_COMMA.fullmatch, fields[1:]), None)
    if comma is not None:
        return f"{comma.decode()!r} is not a number: decimal comma? Write decimal points"
    for mark, what in ((b";", "semicolons"), (b",", "commas")):
        cells = line.replace(b",", b"." if mark == b";" else b",").split(mark)
        if len(cells) > 2 and numbers_in(b" ".join(cells)) > 1 and numbers_in(line) < 2:
            return f"numbers are separated by {what}, not by spaces"
    return ""


def check_line_ends(head: bytes, name: str) -> None:
    """Raise a DataError if the lines at the beginning of a text end with carriage returns alone."""
    if b"\r" in head and b"\n" not in head and is_printable(head):
        raise DataError(
            f"{name}: its lines end with carriage returns alone, as on old Macs; convert it: "
            "tr '\\r' '\\n' < OLD > NEW"
        )


def is_printable(sample: bytes) -> bool:
    """Return whether bytes are text, possibly cut within a character, and not float32 numbers."""
    if _CONTROL.search(sample):
        return False
    numeric = len(sample) - len(sample.translate(None, b"0123456789.,:;-+eE \t\r\n"))
    try:
        sample[:-4].decode("utf-8") if len(sample) > 4 else sample.decode("ascii")
    except UnicodeDecodeError as error:
        return 2 * numeric > len(sample) or error.start >= len(sample) - 8
    return True


_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def numbers_in(line: bytes) -> int:
    """Return how many fields at the end of a line are numbers, not counting the first field."""
    fields = line.split()[1:]
    n_numbers = 0
    for field in reversed(fields):
        try:
            float(field)
        except ValueError:
            break
        n_numbers += 1
    return n_numbers


def guess_vector_size(lines: list[bytes]) -> int:
    """Return the vector size of a text without header, from some of its lines."""
    # A word may hold spaces and numbers ("3 1/2"), so a line can have more numeric fields than the vector
    # has numbers, and a damaged line has fewer. The most common count is chosen. If several are equally
    # common, it is the largest: a damaged line then causes an error, instead of numbers becoming part of
    # words.
    tally = Counter(map(numbers_in, lines))
    return max(tally, key=lambda n_numbers: (tally[n_numbers], n_numbers), default=0)


def read_text(
    path: str | os.PathLike[str],
    *,
    header: bool,
    errors: str = "strict",
    encoding: str = "utf-8",
    max_words: int | None = None,
) -> VectorTable:
    """Read word2vec text (``header=True``) or GloVe text (``header=False``), plain or compressed."""
    name = str(path)
    size = os.path.getsize(path)
    plain = compression_of(path) is None
    n_words: int | None
    with open_by_content(path) as stream:
        first_line = 2 if header else 1
        while is_comment(first := stream.readline(1 << 16)):
            first_line += 1
        if n_comments := first_line - 1 - header:
            warnings.warn(f"{name}: {n_comments} line(s) of comments on top are left out", stacklevel=4)
        if header:
            check_line_ends(first, name)
            promised, vector_size = sizes_of(first, name, "word2vec text")
            n_words = promised if max_words is None else min(promised, max_words)
            second = stream.readline(_LONGEST_LINE) if n_words else b""
            if second.endswith(
                b"\n"
            ):  # a complete line that is wrong is malformed; it does not mean that the file was cut off
                _split(second[:-1], vector_size, f"{name}, line {first_line}")
            # the shortest line is " 0 0 ... 0\n"; a bound on memory as well as a check
            if plain and n_words * (2 * vector_size + 1) > size + 1:
                raise CutOffError(
                    f"{name}: line 1 promises {n_words} vectors of {vector_size} numbers, which need at "
                    f"least {n_words * (2 * vector_size + 1)} bytes, but the file has {size}; it is cut off "
                    "or the header is wrong"
                )
            blocks = line_blocks(stream, second, name)
            capacity = n_words if plain else 1
        else:
            sample = first + stream.read(1 << 18)
            while b"\n" not in sample and len(sample) < _LONGEST_LINE:
                more = stream.read(1 << 20)
                if not more:
                    break
                sample += more
            sample = sample.removeprefix(BOM)
            check_line_ends(sample, name)
            complete = sample[: sample.rfind(b"\n") + 1] or sample
            vector_size = guess_vector_size([line for line in complete.split(b"\n")[:1000] if line.strip()])
            if vector_size == 0:
                first = sample.partition(b"\n")[0]
                raise DataError(
                    f"{name}: not GloVe text: line 1 is {show_word(first)}, which is not a word followed by "
                    "numbers"
                )
            n_words = max_words
            blocks = line_blocks(stream, sample, name)
            capacity = int(1.1 * size / max(1, len(complete)) * complete.count(b"\n")) if plain else 1
        rows = GrowingRows(vector_size, capacity)
        words: list[bytes] = []
        for block in blocks:
            if n_words is not None and len(words) + block.count(b"\n") > n_words:
                if max_words is None:
                    # the error is the blank line, not the header
                    parse_lines(block, vector_size, words, name, first_line)
                    raise DataError(
                        f"{name}: line 1 promises {n_words} vectors, but there are more: the first extra one "
                        f"is at line {n_words + 2}; correct the header or cut the file"
                    )
                *_, beyond = block.split(b"\n", n_words - len(words))
                block = block[: len(block) - len(beyond)]
            rows.append(parse_lines(block, vector_size, words, name, first_line))
            if len(words) == max_words:
                break
    if header and len(words) != n_words:
        raise CutOffError(
            f"{name}: line 1 promises {n_words} vectors, but the file ends after {len(words)} (line "
            f"{len(words) + 1}); it is cut off or the header is wrong"
        )
    _look_for_numbers(words, vector_size, name, first_line)
    if words and all(word.startswith(BASE64) for word in words):
        try:
            words = [b64decode(word.removeprefix(BASE64), validate=True) for word in words]
        except ValueError as error:
            raise DataError(f"{name}: a word that begins with B64: is not base64 ({error})") from error
    spelled = decode_words(words, errors, lambda i: f"{name}, line {first_line + i}", encoding)
    return VectorTable(spelled, rows.finish(), None, {}, first_line=first_line)


_ENDS_IN_NUMBER = re.compile(rb"^.*[ \t][-+]?\d*\.?\d+(?:[eE][-+]?\d+)?$", re.MULTILINE)
_ENDS_IN_DECIMALS = re.compile(rb"^.*[ \t][-+]?\d*\.\d+(?:[eE][-+]?\d+)?$", re.MULTILINE)


def _look_for_numbers(words: list[bytes], vector_size: int, name: str, first_line: int) -> None:
    """Warn of words that end in a decimal number, since their lines may have one number too many."""
    joined = b"\n".join(words)
    if b" " not in joined and b"\t" not in joined:
        return
    found = len(_ENDS_IN_NUMBER.findall(joined))
    if 2 * found > len(words):
        raise DataError(
            f"{name}: {found} of {len(words)} lines have more than {vector_size} numbers; correct the vector "
            "size in the header"
        )
    first = _ENDS_IN_DECIMALS.search(joined)
    if first is not None:
        found = len(_ENDS_IN_DECIMALS.findall(joined))
        line = first_line + joined.count(b"\n", 0, first.start())
        warnings.warn(
            f"{name}: {found} of {len(words)} words end in a number, the first is {show_word(first[0])} in "
            f"line {line}; if that line has a number too many, its vector is wrong",
            stacklevel=4,
        )


def line_blocks(stream: BinaryIO, carry: bytes, name: str) -> Iterator[bytes]:
    """Yield complete lines, many at a time; blank lines at the end of the file are dropped."""
    while True:
        block = stream.read(_BLOCK)
        text = carry + block if block else carry.rstrip(b"\r\n") + b"\n"
        # the last line that is not blank ends here; blank lines after it are kept until more text follows
        cut = text.find(b"\n", len(text[: text.rfind(b"\n") + 1].rstrip(b"\r\n"))) + 1
        if text[:cut].strip(b"\r\n"):
            yield text[:cut]
            carry = text[cut:]
        else:
            carry = text
        if not block:
            return
        if len(carry) > _LONGEST_LINE:
            raise DataError(
                f"{name}: a line of more than {_LONGEST_LINE >> 20} MB; this is not a text of vectors"
            )


def parse_lines(text: bytes, vector_size: int, words: list[bytes], name: str, first_line: int) -> np.ndarray:
    """Return the numbers of some lines and append their words to ``words``."""
    rows = np.empty((text.count(b"\n"), vector_size), dtype=np.float32)
    place = n_read = 0
    while n_read < len(rows):
        n_more, place = read_rows(text, place, rows[n_read:], words)
        n_read += n_more
        if n_read < len(rows):  # a line that needs the slow way
            end = text.index(b"\n", place)
            word, rows[n_read] = _split(
                text[place:end], vector_size, f"{name}, line {first_line + len(words)}"
            )
            words.append(word)
            n_read += 1
            place = end + 1
    return rows


def _split(line: bytes, vector_size: int, where: str) -> tuple[bytes, np.ndarray]:
    """Split a line into word and numbers from the right, so that the word may contain spaces."""
    line = line.rstrip(b" \t\r")
    fields = line.rsplit(b" ", vector_size)
    if not all(fields[1:]) or any(b"\t" in field for field in fields):
        fields = line.rsplit(None, vector_size)
    if len(fields) != vector_size + 1:
        if strange := strangeness(line):
            raise DataError(f"{where}: {strange}")
        raise DataError(
            f"{where}: expected a word and {vector_size} numbers, found only {len(line.split())} fields: "
            f"{show_word(line[:80])}; the line is damaged or the vector size is wrong"
        )
    row = np.empty(vector_size, dtype=np.float32)
    with np.errstate(over="ignore"):
        for i, field in enumerate(fields[1:]):
            try:
                if b"_" in field:  # Python allows underscores in numbers
                    raise ValueError
                row[i] = float(field)
            except ValueError as error:
                if strange := strangeness(line):
                    raise DataError(f"{where}: {strange}") from error
                raise DataError(
                    f"{where}: expected a word and {vector_size} numbers, but {show_word(field)} is not a "
                    "number; the line is damaged or the vector size is wrong"
                ) from error
    return fields[0], row


def decode_words(
    words: list[bytes], errors: str, where: Callable[[int], str], encoding: str = "utf-8"
) -> list[str]:
    """Decode words, in the usual case all in one call; ``where`` says where a word is that cannot be."""
    joined = b"\n".join(words)
    if encoding == "utf-8" and joined.count(b"\n") == len(words) - 1:
        with suppress(UnicodeDecodeError):
            return joined.decode().split("\n")
    decoded = []
    for i, word in enumerate(words):
        try:
            decoded.append(word.decode(encoding, errors))
        except UnicodeDecodeError as error:
            raise not_utf8(word, where(i)) from error
    return decoded


def not_utf8(word: bytes, where: str) -> DataError:
    """Return the error for a word that is not UTF-8."""
    return DataError(
        f"{where}: the word {show_word(word)} is not UTF-8; keep its bytes with ",
        Option("errors", "surrogateescape"),
        ", or mark them with ",
        Option("errors", "replace"),
    )


def encode_words(words: list[str], errors: str, format_name: str, *, skippable: bool = True) -> list[bytes]:
    """Encode words for a format that separates fields by spaces; ``skippable`` if callers can skip some."""
    joined = "\n".join(words)
    if words and joined.count("\n") == len(words) - 1 and "" not in words:
        try:
            if not re.search(r"[ \t\r\v\f]", joined):
                return joined.encode("utf-8", errors).split(b"\n")
        except UnicodeEncodeError:
            pass
    encoded = []
    for word in words:
        problem = ""
        if not word:
            problem = "is empty"
        elif _ASCII_SPACE.search(word):
            problem = "contains white space, at which readers of the format would cut it"
        if problem:
            raise DataError(
                f"the word {show_word(word)} {problem}: {format_name} cannot hold it. The formats "
                "safetensors, gensim and projector can",
                *(("; or leave such words out with ", Option("unwritable", "skip")) if skippable else ()),
            )
        try:
            encoded.append(word.encode("utf-8", errors))
        except UnicodeEncodeError as error:
            raise DataError(
                f"the word {show_word(word)} is not valid Unicode: {format_name} cannot hold it as UTF-8. "
                "The formats safetensors and gensim can; or write its original bytes with ",
                Option("errors", "surrogateescape"),
                ", or leave such words out with ",
                Option("unwritable", "skip"),
            ) from error
    return encoded


def write_text(
    table: VectorTable,
    path: str | os.PathLike[str],
    *,
    header: bool,
    errors: str = "strict",
    overwrite: bool = True,
) -> None:
    """Write word2vec text (``header=True``) or GloVe text block by block, completely or not at all."""
    words = encode_words(table.words, errors, "word2vec text" if header else "GloVe text")
    marked = None if header else next((word for word in table.words if "\ufeff" in word), None)
    if marked is not None:
        raise DataError(
            f"the word {show_word(marked)} has a byte order mark, which readers of a file without header "
            "remove: GloVe text cannot hold it. The formats safetensors, gensim and projector can; or leave "
            "such words out with ",
            Option("unwritable", "skip"),
        )
    n_words, vector_size = table.vectors.shape
    with atomic_file(path, overwrite=overwrite) as raw, compress_by_suffix(raw, path) as stream:
        if header:
            stream.write(b"%d %d\n" % (n_words, vector_size))
        for rows in row_blocks(table.vectors, TEXT_PART):
            block = np.ascontiguousarray(table.vectors[rows], dtype=np.float32)
            stream.write(write_rows(block, words[rows], " "))
