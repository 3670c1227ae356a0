"""JSON lines: one object a line, of which one field is the text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from wordvec_ca.errors import DataError

LONGEST_RECORD = 1 << 28
"""Bytes of a line above which it is skipped, so that memory stays bounded."""


def field_texts(pieces: Iterable[bytes], field: str, name: str, records: Counter[str]) -> Iterator[bytes]:
    r"""Yield the text of one field of every object; line ends within it end lines.

    Parameters
    ----------
    pieces : iterable of bytes
        The file, cut anywhere. Lines end with ``\n``; blank ones do not count.
    field : str
        Name of the field.
    name : str
        The file, for messages.
    records : Counter
        What is counted: "records", and of these "records without text" (no such field, or null) and
        "malformed records" (no JSON object, another type of field, a line of more than 256 MiB).

    Raises
    ------
    DataError
        No record of the file has a text.
    """
    first = ""
    texts = number = 0
    for number, line in enumerate(_lines(pieces), 1):
        if not line.strip():
            continue
        records["records"] += 1
        try:
            if len(line) > LONGEST_RECORD:
                raise ValueError(f"it has more than {LONGEST_RECORD:,} bytes")
            record = json.loads(line.decode("utf-8", "replace"))
            if not isinstance(record, dict):
                raise ValueError(f"it is a {type(record).__name__}, not an object")
            text = record.get(field)
            if text is None:
                records["records without text"] += 1
                first = first or f"line {number} has the fields {', '.join(map(repr, list(record)[:10]))}"
                continue
            if not isinstance(text, str):
                raise ValueError(f"its {field!r} is a {type(text).__name__}, not a string")
        except (ValueError, RecursionError) as error:
            records["malformed records"] += 1
            first = first or f"line {number} cannot be used: {error}"
            continue
        texts += 1
        # Half a surrogate pair is repaired and counted by the reader of the text, as invalid UTF-8.
        yield text.encode("utf-8", "surrogatepass") + b"\n"
    if first and not texts:
        raise DataError(
            f"{name}: no line is a JSON object with a text in the field {field!r}; {first[:300]}. "
            "Give the name of the field (--field), or no --field for plain text"
        )


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
