"""JSON: objects with the text in one or more fields, or lists of words, one a line or in one array."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import whole_lines
from wordvec_ca.text.blocks import TokenLines
from wordvec_ca.text.encodings import KEEP, from_utf8
from wordvec_ca.text.records import RecordTexts, fields_of, fields_with_text
from wordvec_ca.text.word_lists import NotWords, is_list, token_line, written_list

# Number of bytes at the beginning of a file by which its shape is judged.
LOOKED_AT = 1 << 16

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")

# Largest number of bytes in a line; longer lines are skipped, so that memory stays bounded.
LONGEST_RECORD = 1 << 25

# Largest number of commas, brackets and braces in a line, since each may become a Python object.
MOST_PARTS = 1 << 21


def too_long(record: bytes | str) -> str:
    """Return why a record is too long to be read, or an empty string if it is not."""
    if len(record) > LONGEST_RECORD:
        return f"it has more than {LONGEST_RECORD:,} bytes"
    if len(record) > MOST_PARTS:
        marks = ",[{"
        parts = [
            record.count(mark) if isinstance(record, str) else record.count(mark.encode()) for mark in marks
        ]
        if sum(parts) > MOST_PARTS:
            return f"it has more than {MOST_PARTS:,} commas, brackets and braces"
    return ""


def field_texts(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    r"""Yield the text of some fields of every object, each a line; line ends within it end lines."""
    for number, line in enumerate(whole_lines(pieces, LONGEST_RECORD), 1):
        if not line.strip():
            continue
        try:
            if why := too_long(line):
                raise ValueError(why)
            record = json.loads(from_utf8(line))
        except (ValueError, RecursionError) as error:
            why = str(error)
            if isinstance(error, json.JSONDecodeError):  # whose own line is always 1
                why = f"{error.msg} (column {error.colno})"
            texts.malformed(f"line {number} cannot be used: {why}")
            continue
        yield from texts.of(record, f"line {number}")
    texts.end()


def first_record(head: bytes) -> dict[str, Any] | None:
    """Return the JSON object in the first line of a file, given its beginning; None if there is none."""
    line = next((line for line in head.splitlines() if line.strip()), b"")
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        record = json.loads(from_utf8(line))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def is_sample(head: bytes) -> bool:
    """Return whether the beginning may be only a part of the file."""
    return len(head) >= LOOKED_AT


def list_lines(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    """Yield the words of lists in JSON or Python notation, one list a line."""
    for number, line in enumerate(whole_lines(pieces, LONGEST_RECORD), 1):
        if not line.strip():
            continue
        words = None if too_long(line) else written_list(from_utf8(line))
        if words is None:
            texts.malformed(f"line {number} is not a list of words: {from_utf8(line[:60])!r}")
        else:
            texts.count()
            yield TokenLines.of(words)
    texts.end()


def begins_json_array(head: bytes) -> bool:
    """Return whether the beginning of a text is that of a JSON array of objects, arrays or strings."""
    text = from_utf8(head).lstrip()
    if not text.startswith("["):
        return False
    begin = _skipped(text, 1)
    if text[begin : begin + 1] not in ("{", "[", '"'):
        return False
    element, end = decoded_value(text, begin, cut_off=is_sample(head))
    return element is ... or (element is not None and text[_skipped(text, end) :][:1] in (",", "]"))


def array_texts(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    """Yield the texts of the elements of a JSON array: objects with fields, or lists of words."""
    for number, element in enumerate(_elements(pieces, texts.name), 1):
        where = f"element {number}"
        if isinstance(element, dict):
            if not texts.fields:
                raise refused(f"{texts.name} is a JSON array of objects", element)
            yield from texts.of(element, where)
        elif texts.fields or not is_list(element):
            if number == 1:
                raise DataError(
                    f"{texts.name} is a JSON array whose first element is {json.dumps(element)[:60]}, a "
                    f"{type(element).__name__}: an array of objects or of lists of words can be read, "
                    "or a list of words in each line, with nothing else than words in it"
                )
            texts.malformed(f"{where} is a {type(element).__name__}")
        else:
            try:
                line = token_line(element)
            except NotWords as error:
                texts.malformed(f"{where} {error}")
                continue
            texts.count()
            yield line
    texts.end("no element has a text")


def _elements(pieces: Iterable[bytes], name: str) -> Iterator[Any]:
    """Yield the elements of JSON arrays, one after another; only one is in memory at a time."""
    source = codecs.iterdecode(pieces, "utf-8", KEEP)
    text, at, inside, done = "", 0, False, False
    while True:
        at = _skipped(text, at)
        if at < len(text) and text[at] == ("," if inside else "["):
            at, inside = at + 1, True
            continue
        if inside and text[at : at + 1] == "]":
            at, inside = at + 1, False
            continue
        if at == len(text) and done and not inside:
            return
        try:
            if not inside and at < len(text):
                raise ValueError(f"{text[at : at + 20]!r} follows its end")
            element, end = _DECODER.raw_decode(text, at)
            if end == len(text) and not done:
                raise ValueError("a number may go on")
        except (ValueError, RecursionError) as error:
            text, at = text[at:], 0
            if not too_long(text) and (inside or not text) and not done:
                more = [piece for _, piece in zip(range(max(1, len(text) >> 20)), source, strict=False)]
                done = not more
                text += "".join(more)
                continue
            raise DataError(
                f"{name} begins as a JSON array, and is damaged, cut off or longer than can be read: "
                f"{error}; write one object or list a line"
            ) from error
        yield element
        at = end
        if at > 1 << 20:
            text, at = text[at:], 0


def _skipped(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def refused(what: str, record: dict[str, Any]) -> DataError:
    """Return the error for records without a named field."""
    lengths = fields_with_text(record)
    if not lengths:
        return DataError(
            f"{what}: the fields are {fields_of(record)}, and none holds a text or a list of words"
        )
    likely = max(lengths, key=lengths.__getitem__)
    return DataError(
        f"{what}: the fields are {fields_of(record)}; ", Option("field", likely), " reads one field"
    )


def decoded_value(text: str, begin: int, *, cut_off: bool) -> tuple[Any, int]:
    """Return a JSON value and its end. The value is ``...`` if it is cut off, and None if there is none."""
    try:
        return _DECODER.raw_decode(text, begin)
    except RecursionError:
        return None, begin
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text) - 16 or error.msg.startswith("Unterminated string")
        return (... if cut_off and at_end else None), begin
