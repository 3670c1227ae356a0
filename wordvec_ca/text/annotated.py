"""Text in files that hold more than text: columns of tags, subtitles, and archives of the web.

Each sentence, cue or page is a record: the field of a column is its number, counted from 0 as pandas does,
and that of subtitles and archives is ``text``.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Generator, Iterable, Iterator
from itertools import chain

from wordvec_ca.errors import DataError
from wordvec_ca.files import PieceStream, whole_lines
from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.json_records import LONGEST_RECORD
from wordvec_ca.text.records import RecordTexts

# Field of subtitles and of archives of the web.
TEXT = "text"

# Beginning of the line before the text of a cue, in SRT and VTT.
CUE_TIMES = re.compile(r"(?:\d+:)?\d\d:\d\d[,.]\d{3} --> ")

# First column of CoNLL-U: the number of a word, of words written as one, or of a word that is not there.
NUMBER_OF_WORD = re.compile(r"(\d+)(?:-(\d+)|\.\d+)?")

_BETWEEN = re.compile(r"\s*$|</?[A-Za-z][^<>\t]*>\s*$|-DOCSTART-")
_ENDS = frozenset(".!?…。؟।")
_LONGEST_SENTENCE = 10_000  # words, as of plain text; without any end the sentence would be the whole file
_CUE_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of columns, which tabs separate or, without any, blanks."""
    return line.split("\t") if "\t" in line else line.split()


def sentence_texts(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    """Yield some columns of a text with a word and its annotations in each line, each sentence a line."""
    for number, rows in enumerate(_sentences(pieces), 1):
        width = min(map(len, rows))
        yield from texts.of(
            {str(k): " ".join(row[k] for row in rows) for k in range(width)}, f"sentence {number}"
        )
    texts.end("no sentence has a column")


def _sentences(pieces: Iterable[bytes]) -> Iterator[list[list[str]]]:
    """Yield the rows of each sentence: up to a line between two or, without such lines, to a full stop."""
    pieces = iter(pieces)
    first = next(pieces, b"")
    by_stops = re.search(rb"\n[ \t]*\r?\n|\n</s>", first) is None
    rows: list[list[str]] = []
    until, numbered = 0, None
    for line in whole_lines(chain([first], pieces), LONGEST_RECORD):
        text = from_utf8(line)
        if text.startswith("# "):
            continue
        if _BETWEEN.match(text):
            if rows:
                yield rows
            rows, until = [], 0
            continue
        row = cells_of(text)
        number = NUMBER_OF_WORD.fullmatch(row[0])
        numbered = number is not None if numbered is None else numbered
        if numbered and number:  # of du = de + le, only the word that is written counts
            if (not number[2] and number[0] != number[1]) or int(number[1]) <= until:
                continue
            until = int(number[2] or 0)
        rows.append(row)
        if len(rows) >= _LONGEST_SENTENCE or (by_stops and row[0] in _ENDS):
            yield rows
            rows = []
    if rows:
        yield rows


def cue_texts(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    """Yield the text of each cue of subtitles as a line, without its times and markup."""
    cue: list[str] | None = None
    for number, line in enumerate(chain(whole_lines(pieces, LONGEST_RECORD), [b""]), 1):
        text = from_utf8(line).strip()
        if CUE_TIMES.match(text):
            cue = []
        elif text and cue is not None:
            cue.append(html.unescape(_CUE_MARKUP.sub("", text)))
        elif cue is not None:
            yield from texts.of({TEXT: " ".join(cue)}, f"the cue before line {number}")
            cue = None  # numbers, notes and styles are outside of cues
    texts.end("no cue has a text")


def page_texts(pieces: Iterable[bytes], texts: RecordTexts) -> Generator[bytes]:
    """Yield the texts of the pages in an archive of extracted text (WET, as Common Crawl distributes it)."""
    stream = io.BufferedReader(PieceStream(pieces), 1 << 20)
    number = 0
    while line := stream.readline(1 << 16):
        if not line.strip():
            continue
        head: dict[bytes, bytes] = {}
        while (header := stream.readline(1 << 16)).strip():
            key, _, value = header.partition(b":")
            head[key.lower()] = value.strip()
        number += 1
        length = head.get(b"content-length", b"")
        if not line.startswith(b"WARC/") or not length.isdigit():
            raise DataError(
                f"{texts.name}: record {number} of the archive is damaged: it begins with {line[:60]!r}"
            )
        body = stream.read(min(int(length), LONGEST_RECORD))
        left = int(length) - len(body)
        while left > 0 and (skipped := stream.read(min(left, LONGEST_RECORD))):
            left -= len(skipped)
        if head.get(b"warc-type") == b"conversion":
            yield from texts.of({TEXT: from_utf8(body)}, f"record {number}")
        else:
            texts.records["records of an archive without text"] += 1
    if not texts.read:
        raise DataError(
            f"{texts.name}: none of the {number} records of the archive is text; pages as they were sent "
            "are in WARC files, their text in WET files: take those"
        )
    texts.end("no page has a text")
