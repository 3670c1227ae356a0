"""Handles files of records or lists for which no field was named: read, read with a warning, or refused.

Names, brackets and quotation marks must not become words. Lists of words are read unchanged. For objects and
tables the user must name the field with the text.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.files import whole_lines
from wordvec_ca.text.blocks import TokenLines
from wordvec_ca.text.delimited import likely_text, table_suffix
from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.json_lines import LONGEST_RECORD, first_record, too_long
from wordvec_ca.text.records import RecordTexts, fields_of, fields_with_text, value_of
from wordvec_ca.text.word_lists import NotWords, is_list, looks_written, token_line, written_list

_LOOKED_AT = 1 << 16
_DECODER = json.JSONDecoder()
_FIRST_TAG = re.compile(r"<(?:[?!]|[A-Za-z][\w:.-]*(?=[\s/>]))[^<>]*>")
_END_TAG = re.compile(r"</[A-Za-z][\w:.-]*\s*>")
_NUMBER_OF_WORD = re.compile(r"\d+(?:[-.]\d+)?")
_SPACE = re.compile(r"[ \t\n\r]*")


def holds_lists(head: bytes) -> bool:
    """Return whether the lines of a file are written-out lists (JSON or Python), some of them of words."""
    lines = _first_lines(head)
    if len(lines) == 1 and _is_sample(head) and lines[0].startswith("["):  # a list longer than the sample
        lines[0] = lines[0][: lines[0].rfind(",")] + "]" if not lines[0].endswith("]") else lines[0]
    words = [written_list(line) is not None for line in lines]
    # the reader of the lines reports a list of something else: one such line must not change the file's kind
    return any(words) and all(found or _is_json(line, list) for found, line in zip(words, lines, strict=True))


def list_lines(pieces: Iterable[bytes], name: str, records: Counter[str]) -> Iterator[bytes]:
    """Yield the words of lists in JSON or Python notation, one list a line."""
    texts = RecordTexts((), name, records)
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
    element, end = _decoded(text, begin, cut_off=_is_sample(head))
    return element is ... or (element is not None and text[_skipped(text, end) :][:1] in (",", "]"))


def array_texts(
    pieces: Iterable[bytes], fields: Sequence[str] | None, name: str, records: Counter[str]
) -> Iterator[bytes]:
    """Yield the texts of the elements of a JSON array: objects with fields, or lists of words."""
    texts = RecordTexts(fields or (), name, records)
    for number, element in enumerate(_elements(pieces, name), 1):
        where = f"element {number}"
        if isinstance(element, dict):
            if fields is None:
                raise refused(f"{name} is a JSON array of objects", element)
            yield from texts.of(element, where)
        elif fields is not None or not is_list(element):
            if number == 1:
                raise DataError(
                    f"{name} is a JSON array whose first element is {json.dumps(element)[:60]}, a "
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
    source = map(from_utf8, _at_characters(pieces))
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


def _at_characters(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes, but cut only between characters.

    Only the last four bytes of a piece are checked, so the work does not grow with the length of a piece.
    """
    rest = b""
    for piece in pieces:
        whole = rest + piece
        # a character that continues in the next piece begins in the last three bytes
        last = next((at for at in range(1, min(4, len(whole)) + 1) if whole[-at] & 0xC0 != 0x80), 0)
        cut = len(whole) - (last if last and whole[-last] >= 0xC0 else 0)
        rest = whole[cut:]
        if cut:
            yield whole[:cut]
    if rest:
        yield rest


def _skipped(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def check_plain(head: bytes, name: str) -> None:
    """Raise an error or warn if a file to be read as plain text contains records."""
    record = first_record(head)
    if record is not None:
        lengths = fields_with_text(record)
        texts = [field for field in lengths if isinstance(value_of(record, field), str)]
        if not texts:
            raise refused(f"{name} looks like JSON lines, whose objects hold no text", record)
        _warn(name, "JSON lines", max(lengths, key=lengths.__getitem__))
        return
    text = from_utf8(head).lstrip()
    if re.match(r'\{\s*"[^"\n]*"\s*:', text):
        whole, _ = _decoded(text, 0, cut_off=_is_sample(head))
        if whole is not None:
            fields = f", with the fields {fields_of(whole)}" if isinstance(whole, dict) else ""
            raise DataError(
                f"{name} holds JSON objects{fields}, the first over many lines or very long; write "
                "one object a line (jq -c . FILE), and name the field with the text, ",
                Option("field"),
            )
    lines = _first_lines(head)
    if lines and all(map(looks_written, lines)):
        raise DataError(
            f"{name} holds lists or dicts that were written out, which are not lists of words: "
            f"{lines[0][:60]!r}; write the words of a sentence in a line, with a space between two, or as "
            "a JSON list of strings"
        )
    if len(lines) > 1 and all(_is_json(line, str) for line in lines):
        warnings.warn(
            f"{name} has a JSON string in each line, which is read as plain text, with its quotes; "
            "jq -r . FILE writes the texts without them",
            stacklevel=3,
        )
        return
    if _FIRST_TAG.match(text) and _END_TAG.search(text):
        warnings.warn(
            f"{name} begins as XML or HTML and is read as plain text, with its tags; extract the text first",
            stacklevel=3,
        )
        return
    if _is_conll(lines):
        warnings.warn(
            f"{name} has a word and its annotations in each line, as CoNLL-U, and is read as plain text with "
            "all columns; write the words of a sentence in a line, with a space between two",
            stacklevel=3,
        )
        return
    suffix = table_suffix(name.strip("'\""))
    if suffix is not None and (field := likely_text(head, suffix)) is not None:
        _warn(name, suffix[1:].upper(), field)


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


def _warn(name: str, what: str, field: str) -> None:
    warnings.warn(
        OptionWarning(
            f"{name} looks like {what} and is read as plain text, with names and brackets; ",
            Option("field", field),
            " reads one field",
        ),
        stacklevel=4,
    )


def _decoded(text: str, begin: int, *, cut_off: bool) -> tuple[Any, int]:
    """Return a JSON value and its end. The value is ``...`` if it is cut off, and None if there is none."""
    try:
        return _DECODER.raw_decode(text, begin)
    except RecursionError:
        return None, begin
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text) - 16 or error.msg.startswith("Unterminated string")
        return (... if cut_off and at_end else None), begin


def _is_json(line: str, kind: type) -> bool:
    """Return whether a line is a JSON value of this Python type."""
    try:
        return isinstance(json.loads(line), kind)
    except (ValueError, RecursionError):
        return False


def _is_conll(lines: list[str]) -> bool:
    """Return whether the lines are CoNLL: a word's number, the word, and at least two more columns."""
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return (
        len(rows) > 1
        and len(rows[0]) >= 4
        and all(len(row) == len(rows[0]) and _NUMBER_OF_WORD.fullmatch(row[0]) for row in rows)
        and not any(" " in row[1] for row in rows)
    )


def _is_sample(head: bytes) -> bool:
    """Return whether the beginning may be only a part of the file."""
    return len(head) >= _LOOKED_AT


def _first_lines(head: bytes) -> list[str]:
    """Return the non-blank lines at the beginning of a file, without the last one, which may be cut off."""
    lines = head[:_LOOKED_AT].splitlines()
    if _is_sample(head) and len(lines) > 1:
        lines.pop()
    if len(lines) == 1:  # one long line
        lines = head.splitlines()[:1]
    return [from_utf8(line) for line in lines if line.strip()]
