"""JSON lines: one object a line, of which some fields are the text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.records import RecordTexts

LONGEST_RECORD = 1 << 28
"""Bytes of a line above which it is skipped, so that memory stays bounded."""


def field_texts(
    pieces: Iterable[bytes], fields: Sequence[str], name: str, records: Counter[str]
) -> Iterator[bytes]:
    r"""Yield the text of some fields of every object, each a line; line ends within it end lines.

    Parameters
    ----------
    pieces : iterable of bytes
        The file, cut anywhere. Lines end with ``\n``; blank ones do not count.
    fields : sequence of str
        Names of the fields.
    name : str
        The file, for messages.
    records : Counter
        As in `RecordTexts`; a line that is no JSON or has more than 256 MiB is malformed.

    Raises
    ------
    DataError
        No record of the file has a text.
    """
    texts = RecordTexts(fields, name, records)
    for number, line in enumerate(_lines(pieces), 1):
        if not line.strip():
            continue
        try:
            if len(line) > LONGEST_RECORD:
                raise ValueError(f"it has more than {LONGEST_RECORD:,} bytes")
            record = json.loads(from_utf8(line))
        except (ValueError, RecursionError) as error:
            why = str(error)
            if isinstance(error, json.JSONDecodeError):  # whose own line is always 1
                why = f"{error.msg} (column {error.colno})"
            texts.malformed(f"line {number} cannot be used: {why}")
            continue
        if text := texts.of(record, f"line {number}"):
            yield text
    texts.end()


def looks_like_json_lines(head: bytes) -> str | None:
    """Return the name of a field with text if the first line of a file is a JSON object, else None."""
    line, end, _ = head.partition(b"\n")
    if not end or not line.lstrip().startswith(b"{"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    texts = [name for name, value in record.items() if isinstance(value, str)]
    return max(texts, key=lambda name: len(record[name]), default=None)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines; of one that is too long, no more than shows it."""
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        begin = 0
        while (end := piece.find(b"\n", begin)) >= 0:
            waiting.append(piece[begin:end])
            yield b"".join(waiting)
            waiting, length = [], 0
            begin = end + 1
        if length <= LONGEST_RECORD:
            waiting.append(piece[begin:])
            length += len(piece) - begin
    if length:
        yield b"".join(waiting)
