"""JSON lines: one object a line, with the text in one or more fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wordvec_ca.files import whole_lines
from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.records import RecordTexts

LONGEST_RECORD = 1 << 25
"""Largest number of bytes in a line; longer lines are skipped, so that memory stays bounded."""

MOST_PARTS = 1 << 21
"""Largest number of commas, brackets and braces in a line, since each may become a Python object."""


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


def field_texts(
    pieces: Iterable[bytes], fields: Sequence[str], name: str, records: Counter[str]
) -> Iterator[bytes]:
    r"""Yield the text of some fields of every object, each a line; line ends within it end lines."""
    texts = RecordTexts(fields, name, records)
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
