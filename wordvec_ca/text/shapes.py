"""What a text is, by its first lines: plain text, or records and annotations that must not become words.

One table says how each shape is recognised, which reader takes it, and what a user is told who gives it as
plain text: a new format of text is a module with its reader and an entry here. The kinds of files that their
first bytes show are in ``wordvec_ca/files/kinds.py``.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.text.annotated import (
    CUE_TIMES,
    NUMBER_OF_WORD,
    TEXT,
    cells_of,
    cue_texts,
    page_texts,
    sentence_texts,
)
from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.json_records import (
    LOOKED_AT,
    array_texts,
    begins_json_array,
    decoded_value,
    field_texts,
    first_record,
    is_sample,
    list_lines,
    refused,
)
from wordvec_ca.text.mediawiki import article_texts, is_dump
from wordvec_ca.text.records import RecordTexts, fields_of, fields_with_text, value_of
from wordvec_ca.text.word_lists import looks_written, written_list

Message = tuple[str | Option, ...]
Reader = Callable[[Iterable[bytes], RecordTexts], Generator[bytes]]

_FIRST_TAG = re.compile(r"<(?:[?!]|[A-Za-z][\w:.-]*(?=[\s/>]))[^<>]*>")
_END_TAG = re.compile(r"</[A-Za-z][\w:.-]*\s*>")
_TAG = re.compile(
    r"[^a-z\d\s][^\s]{0,15}"
)  # of a word: NN, B-NP, VER:pres, $. and $, but no word in lower case
_MAYBE_TAGGED = re.compile(r"\S+[_/|]([a-z][a-z0-9$:*+-]{0,9}|[.,:;!?()'`\"-]+)")
_TAGGED = re.compile(r"\S+[_/|](?:[A-Z$.,:()'`-]{1,6}[\w:-]{0,10})")
_TREE = re.compile(r"\(\s*(?:\(\s*)?[A-Z][A-Z$-]*[\w=-]*\s+\(")
_FEWEST_LINES = 5  # of columns: fewer lines may have as many words, and some in capitals, by chance
_FEWEST_NUMBERS = 4  # of a vector: a table of measurements may have fewer
_MOST_TAGS = 200
_DECIMAL = re.compile(r"-?\d*\.\d+(e[+-]?\d+)?|-?\d+", re.IGNORECASE)
_JOINED = "write the words of a sentence in a line, with a space between two"


@dataclass(frozen=True)
class Shape:
    """A shape of text."""

    # Its name in messages, with an article where it needs one.
    name: str
    # Returns whether a text that begins with these bytes has this shape.
    test: Callable[[bytes], object]
    # The beginning of such a text.
    sample: bytes
    # Returns what is said of the beginning of such a text if no field is named; of a shape that is read
    # without a field, nothing.
    advice: Callable[[bytes], Message] | None = None
    # Yields the texts of such a file, or those of some fields.
    read: Reader | None = None
    # Returns whether ``read`` takes these fields.
    fields: Callable[[Sequence[str]], bool] = lambda fields: False
    # Whether such a text is refused if no field is named; otherwise there is a warning.
    refused: bool = False


@lru_cache(maxsize=1)  # several tests look at the same lines
def first_lines(head: bytes) -> tuple[str, ...]:
    """Return the non-blank lines at the beginning of a file, without the last one, which may be cut off."""
    lines = head[:LOOKED_AT].splitlines()
    if is_sample(head) and len(lines) > 1:
        lines.pop()
    if len(lines) == 1:  # one long line
        lines = head.splitlines()[:1]
    return tuple(from_utf8(line) for line in lines if line.strip())


def _holds_lists(head: bytes) -> bool:
    """Return whether the lines of a file are written-out lists (JSON or Python), some of them of words."""
    lines = list(first_lines(head))
    if len(lines) == 1 and is_sample(head) and lines[0].startswith("["):  # a list longer than the sample
        lines[0] = lines[0][: lines[0].rfind(",")] + "]" if not lines[0].endswith("]") else lines[0]
    words = [written_list(line) is not None for line in lines]
    # the reader of the lines reports a list of something else: one such line must not change the file's kind
    return any(words) and all(found or _is_json(line, list) for found, line in zip(words, lines, strict=True))


def _is_json(line: str, kind: type) -> bool:
    """Return whether a line is a JSON value of this Python type."""
    try:
        return isinstance(json.loads(line), kind)
    except (ValueError, RecursionError):
        return False


def _is_long_object(head: bytes) -> bool:
    text = from_utf8(head).lstrip()
    if not re.match(r'\{\s*"[^"\n]*"\s*:', text):
        return False
    return decoded_value(text, 0, cut_off=is_sample(head))[0] is not None


def _is_markup(head: bytes) -> bool:
    text = from_utf8(head).lstrip()
    return bool(_FIRST_TAG.match(text) and _END_TAG.search(text))


def _rows(head: bytes) -> list[list[str]]:
    """Return the cells of the lines at the beginning of a file; none if the first differ in number."""
    lines = [
        line
        for line in first_lines(head)
        if not line.startswith(("# ", "-DOCSTART-", "<")) or line.count("\t") > 1
    ]
    widths = {len(cells_of(line)) for line in lines[:_FEWEST_LINES]}
    return [cells_of(line) for line in lines] if len(widths) == 1 else []  # else it would be slow for nothing


def _is_numbered(head: bytes) -> bool:
    """Return whether the lines are CoNLL-U: a word's number, the word, and at least two more columns."""
    rows = _rows(head)
    return (
        len(rows) > 1
        and len(rows[0]) >= 4
        and all("\t" in line for line in first_lines(head) if line[0].isdigit())
        and all(len(row) == len(rows[0]) and NUMBER_OF_WORD.fullmatch(row[0]) for row in rows)
        and not any(" " in row[1] for row in rows)
    )


def _is_tagged_columns(head: bytes) -> bool:
    """Return whether each line is a word and tags, as in CoNLL-2003 and in TreeTagger's output."""
    rows = _rows(head)
    if len(rows) < _FEWEST_LINES or len(rows[0]) < 2:
        return False
    if any(len(row) != len(rows[0]) or any(" " in cell for cell in row) for row in rows):
        return False
    words, *others = zip(*rows, strict=True)
    n_words = len(set(words))
    if not any(word[:1].islower() or not word.isascii() for word in words):
        return False
    if sum(any(map(str.isdigit, word)) for word in words) > 0.2 * len(words):  # names of users or items
        return False
    # Of a word's columns, one has few tags; the columns of a log have numbers, or words in lower case.
    return any(
        len(set(column)) <= min(_MOST_TAGS, n_words)
        and sum(map(bool, map(_TAG.fullmatch, column))) >= 0.95 * len(column)
        and sum(tag[0].isupper() for tag in column if tag) >= 0.5 * len(column)
        for column in others
    )


def _has_tagged_words(head: bytes) -> bool:
    """Return whether nearly all words carry a tag, as in the_DT or the/dt."""
    words = [word for line in first_lines(head)[:20] for word in line.split()][:1_000]
    if len(words) > 1 and sum(map(bool, map(_TAGGED.fullmatch, words))) >= 0.9 * len(words):
        return True
    # Tags in lower case look like words, but there are few of them.
    tags = [found[1] for found in map(_MAYBE_TAGGED.fullmatch, words) if found]
    return len(tags) >= max(20, 0.9 * len(words)) and len(set(tags)) <= min(_MOST_TAGS, len(tags) / 10)


def _is_vectors(head: bytes) -> bool:
    """Return whether each line is a word and equally many numbers; a header and a licence may be above."""
    rows = [line.split() for line in first_lines(head) if not line.startswith("# ")]
    if rows and all(map(str.isdigit, rows[0])):  # word2vec's header, or DL4J's
        rows = rows[1:]
    return (
        len(rows) >= _FEWEST_LINES
        and len(rows[0]) > _FEWEST_NUMBERS
        and all(len(row) == len(rows[0]) and all(map(_DECIMAL.fullmatch, row[1:])) for row in rows)
        and sum("." in cell for row in rows for cell in row[1:]) > len(rows) * len(rows[0]) / 2
    )


def _has_trees(head: bytes) -> bool:
    """Return whether the text is made of trees in brackets, as (S (NP (DT the) (NN cat)) ...)."""
    text = from_utf8(head).lstrip()
    return _TREE.match(text) is not None and text.count("(") * 12 >= len(text)


def _is_archive(head: bytes) -> bool:
    return re.match(rb"WARC/\d\.\d\r?\n", head) is not None


def _is_subtitles(head: bytes) -> bool:
    """Return whether the text is of SRT (a number, then times) or VTT."""
    lines = first_lines(head)[:2]
    return head.startswith(b"WEBVTT") or (
        len(lines) == 2 and lines[0].strip().isdigit() and CUE_TIMES.match(lines[1].strip()) is not None
    )


def _plain(what: str, *more: str | Option) -> Message:
    return (f"looks like {what} and is read as plain text, with ", *more)


def _records(what: str, field: str) -> Message:
    return _plain(what, "names and brackets; ", Option("field", field), " reads one field")


def _of_json_lines(head: bytes) -> Message:
    record = first_record(head) or {}
    lengths = fields_with_text(record)
    return _records("JSON lines", max(lengths, key=lengths.__getitem__))


def _of_objects(head: bytes) -> Message:
    whole, _ = decoded_value(from_utf8(head).lstrip(), 0, cut_off=is_sample(head))
    fields = f", with the fields {fields_of(whole)}" if isinstance(whole, dict) else ""
    return (
        f"holds JSON objects{fields}, the first over many lines or very long; write one object a line "
        "(jq -c . FILE), and name the field with the text, ",
        Option("field"),
    )


def _has_text(head: bytes) -> bool:
    record = first_record(head) or {}
    return any(isinstance(value_of(record, field), str) for field in fields_with_text(record))


def any_fields(fields: Sequence[str]) -> bool:
    """Return True: the fields of JSON have any names."""
    return True


def _is_text_field(fields: Sequence[str]) -> bool:
    return tuple(fields) == (TEXT,)


def _are_numbers(fields: Sequence[str]) -> bool:
    return all(field.isdecimal() for field in fields)


def _columns(column: str) -> Message:
    return (
        "has a word and its annotations in each line, and is read as plain text with all columns; ",
        Option("field", column),
        " reads one column, and the sentences of it",
    )


# The shapes of text other than plain; the first that fits counts.
SHAPES = (
    Shape("a dump of a wiki", is_dump, b"<mediawiki ", read=article_texts),
    Shape("lists of words", _holds_lists, b'["the", "cat"]\n', read=list_lines),
    Shape("a JSON array", begins_json_array, b'[{"text": "the cat"},\n', None, array_texts, any_fields),
    Shape(
        "JSON lines without text",
        lambda head: first_record(head) is not None and not _has_text(head),
        b'{"id": 1}\n',
        lambda head: (
            refused("looks like JSON lines, whose objects hold no text", first_record(head) or {}).args
        ),
        field_texts,
        any_fields,
        refused=True,
    ),
    Shape("JSON lines", first_record, b'{"text": "the cat"}\n', _of_json_lines, field_texts, any_fields),
    Shape(
        "JSON objects",
        _is_long_object,
        b'{"text":\n "the cat"}\n',
        _of_objects,
        field_texts,
        any_fields,
        refused=True,
    ),
    Shape(
        "lists that are written out",
        lambda head: bool(lines := first_lines(head)) and all(map(looks_written, lines)),
        b"[('the', 'DT')]\n",
        lambda head: (
            "holds lists or dicts that were written out, which are not lists of words: "
            f"{first_lines(head)[0][:60]!r}; {_JOINED}, or as a JSON list of strings",
        ),
        refused=True,
    ),
    Shape(
        "JSON strings",
        lambda head: len(lines := first_lines(head)) > 1 and all(_is_json(line, str) for line in lines),
        b'"the cat"\n"sat"\n',
        lambda _: (
            "has a JSON string in each line, which is read as plain text, with its quotes; jq -r . FILE "
            "writes the texts without them",
        ),
    ),
    Shape(
        "an archive of the web",
        _is_archive,
        b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 8\r\n\r\nthe cat\n\r\n\r\n",
        lambda _: _plain(
            "an archive of the web",
            "its headers; ",
            Option("field", TEXT),
            " reads the texts of its pages (WET)",
        ),
        page_texts,
        _is_text_field,
    ),
    Shape(
        "subtitles",
        _is_subtitles,
        b"1\n00:00:01,000 --> 00:00:01,900\nthe cat\n",
        lambda _: _plain(
            "subtitles", "numbers and times; ", Option("field", TEXT), " reads the text of each cue"
        ),
        cue_texts,
        _is_text_field,
    ),
    Shape(
        "CoNLL-U",
        _is_numbered,
        b"1\tthe\tthe\tDET\n2\tcat\tcat\tNOUN\n",
        lambda _: _columns("1"),
        sentence_texts,
        _are_numbers,
    ),
    Shape(
        "columns of tags",
        _is_tagged_columns,
        b"the DT O\ncat NN O\nsat VBD O\non IN O\nmats NNS O\n",
        lambda _: _columns("0"),
        sentence_texts,
        _are_numbers,
    ),
    Shape(  # after the columns, whose sentences may stand between tags
        "XML or HTML",
        _is_markup,
        b"<p>the cat</p>\n",
        lambda _: ("begins as XML or HTML and is read as plain text, with its tags; extract the text first",),
    ),
    Shape(
        "tagged words",
        _has_tagged_words,
        b"the_DT cat_NN sat_VBD\n",
        lambda _: _plain(
            "words with their tags", r"the tags; remove them: sed -E 's/[_\/|][^_\/| ]+( |$)/\1/g' OLD > NEW"
        ),
    ),
    Shape(
        "vectors of words",
        _is_vectors,
        b"the .1 .2 .3 .4 .5\n" * _FEWEST_LINES,
        lambda _: (
            "holds vectors, a word and numbers in each line, not text; cawv nn, eval and publish read it",
        ),
        refused=True,
    ),
    Shape(
        "trees in brackets",
        _has_trees,
        b"(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n",
        lambda _: _plain("trees in brackets", f"brackets and tags; {_JOINED}"),
    ),
)


def shape_of(head: bytes) -> Shape | None:
    """Return the shape of a text that begins with these bytes; None for plain text, and for CSV and TSV."""
    return next((one for one in SHAPES if one.test(head)), None)


def tell(shape: Shape, head: bytes, name: str) -> None:
    """Refuse a text of this shape for which no field was named, or warn."""
    if shape.advice is None:
        return
    first, *more = shape.advice(head)
    if shape.refused:
        raise DataError(f"{name} {first}", *more)
    warnings.warn(OptionWarning(f"{name} {first}", *more), stacklevel=3)
