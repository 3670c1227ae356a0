"""Extracts the text in one or more fields of records, and counts records without text."""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.text.blocks import TokenLines
from wordvec_ca.text.encodings import in_utf8
from wordvec_ca.text.word_lists import NotWords, is_list, looks_written, token_line, written_list


class Records(Counter[str]):
    """Counts of kinds of records, and the other values that are kept of each record besides its text."""

    # documents: Whether each record is a document: then its text is one line, which is empty if it has none.
    # tag_field: The field that contains the tag of the document, or a list of tags.
    # group_field: The field whose value is stored with the record's number; without it a record is malformed.
    # order_field: The field with the time of an event.
    # take_event: For a log: stores the event of a record instead of its text, given the record and the
    # field of the item; returns whether the record has one.
    # tags: The tags of each record with a text.
    # origins: For each text that a reader has yielded: the number of its record, counted from 1 in each
    # file, and the record's value of ``group_field``. The consumer of the texts removes them.

    def __init__(
        self,
        *,
        documents: bool = False,
        tag_field: str | None = None,
        origins: bool = False,
        group_field: str | None = None,
    ) -> None:
        super().__init__()
        self.documents, self.tag_field, self.group_field = documents, tag_field, group_field
        self.order_field: str | None = None
        self.take_event: Callable[[Mapping[str, Any], str], bool] | None = None
        self.tags: list[list[str | int]] = []
        self.origins: deque[tuple[int, Any]] | None = deque() if origins else None

    @property
    def by_record(self) -> bool:
        """Whether values besides the text are stored. If so, a reader must not join the texts of several
        records.
        """
        return self.documents or self.origins is not None or self.take_event is not None

    def take_tags(self, value: Any) -> bool:
        """Store the tag or tags of a record; return whether the field contains valid tags."""
        tags = value if isinstance(value, list | tuple) else [value]
        if not tags or not all(type(tag) in (str, int) for tag in tags):
            return False
        self.tags.append(list(tags))
        return True


def fields_to_read(fields: Sequence[str], records: Counter[str]) -> list[str]:
    """Return the fields to read from each record: the fields of its text, its tags and its group."""
    others: tuple[str | None, ...] = ()
    if isinstance(records, Records):
        others = (records.tag_field, records.group_field, records.order_field)
    return list(dict.fromkeys([*fields, *filter(None, others)]))


def option_of(field: str, fields: Sequence[str], records: Counter[str]) -> Option:
    """Return the option that named a field, for the message that a file has no such field."""
    named = (
        {}
        if not isinstance(records, Records)
        else {
            records.tag_field: "tag_field",
            records.group_field: "group_by",
            records.order_field: "order_by",
        }
    )
    return Option("field" if field in fields else named[field])


def field_names(field: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of one or several fields; None for none, an OptionError for one that is no name."""
    if field is None:
        return None
    names = (field,) if isinstance(field, str) else tuple(field)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(Option("field"), f" must be a name or a list of names; got {field!r}")
    if len(set(names)) < len(names):
        raise OptionError(Option("field"), f" names the same field twice: {', '.join(map(repr, names))}")
    return names


def value_of(record: Mapping[str, Any], field: str) -> Any:
    """Return a field of a record. Without a field ``a.b``, that name means the field b of the object a."""
    if field in record or "." not in field:
        return record.get(field)
    value: Any = record
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


class RecordTexts:
    r"""The texts of records: each field is a line, and line ends within it end lines.

    The words in a field with a list are used unchanged (`TokenLines`). The same holds for lists written out
    as text, if the first text of the field is such a list. ``read`` is the number of records so far,
    ``helpers`` the number of processes that a reader may use.
    """

    def __init__(self, fields: Sequence[str], name: str, records: Counter[str], helpers: int = 1) -> None:
        self.fields, self.name, self.records, self.helpers = fields, name, records, helpers
        self._found: Counter[str] = Counter()
        self.read = self._n_texts = 0
        self._n_malformed = 0
        self._first = self._first_malformed = ""
        self._written: dict[str, bool] = {}

    def of(self, record: Any, where: str) -> list[bytes]:
        """Return the texts of a record, with line ends; none if it has none."""
        self.read += 1
        self.records["records"] += 1
        if not isinstance(record, Mapping):
            self._malformed(f"{where} cannot be used: it is a {type(record).__name__}, not an object")
            return []
        if isinstance(self.records, Records) and self.records.take_event is not None:
            return self._event(record, where, self.records.take_event)
        texts: list[bytes] = []
        for field in self.fields:
            value = value_of(record, field)
            if _is_missing(value):
                continue
            try:
                texts.append(self._text(value, field))
            except NotWords as error:
                self._malformed(f"{where} cannot be used: its {field!r} {error}")
                return []
            self._found[field] += 1
        if not texts:
            self.records["records without text"] += 1
            self._first = self._first or f"{where} has {_named(record)}"
            if not (isinstance(self.records, Records) and self.records.documents):
                return []
            texts = [b"\n"]
        if isinstance(self.records, Records):
            try:
                texts = self._kept(texts, record, self.records)
            except NotWords as error:
                self._malformed(f"{where} {error}")
                return []
        self._n_texts += 1
        return texts

    def _event(
        self, record: Mapping[str, Any], where: str, take: Callable[[Mapping[str, Any], str], bool]
    ) -> list[bytes]:
        """Store the event of a record; the empty line that is returned only tells the reader to go on."""
        try:
            taken = take(record, self.fields[0])
        except NotWords as error:
            self._malformed(f"{where} {error}")
            return []
        if not taken:
            self.records["records without text"] += 1
            self._first = self._first or f"{where} lacks an item or a session; it has {_named(record)}"
            return []
        self._found[self.fields[0]] += 1
        self._n_texts += 1
        return [b"\n"]

    def _kept(self, texts: list[bytes], record: Mapping[str, Any], records: Records) -> list[bytes]:
        """Store the fields needed besides the text; raise NotWords if the record lacks one."""
        if records.documents:
            field = records.tag_field
            if field is not None and not records.take_tags(value_of(record, field)):
                raise NotWords(f"cannot be used: its {field!r} is not a tag: a string or a whole number")
            kind = TokenLines if all(isinstance(text, TokenLines) for text in texts) else bytes
            return [kind(b" ".join(filter(None, b"".join(texts).splitlines())) + b"\n")]
        if records.origins is not None:
            field = records.group_field
            group = None if field is None else value_of(record, field)
            if group is None and field is not None and field not in record:
                raise NotWords(f"has no field {field!r}; it has {_named(record)}")
            records.origins.extend([(self.read, group)] * len(texts))
        return texts

    def _text(self, value: Any, field: str) -> bytes:
        """Return a value as text with a line end; NotWords if it is neither a text nor a list of words."""
        if is_list(value):
            return token_line(value)
        if not isinstance(value, str):
            raise NotWords(f"is a {type(value).__name__}, not a string or a list of words")
        if field not in self._written:
            self._written[field] = written_list(value) is not None
            if not self._written[field] and looks_written(value):
                raise DataError(
                    f"{self.name}: its {field!r} holds lists that were written out as text, which are not "
                    f"lists of words: {value[:60]!r}; write the words with a space between two, or as "
                    "JSON lists"
                )
        if self._written[field]:
            words = written_list(value)
            if words is None:
                raise NotWords(f"is {value[:60]!r}, not a list of words as the first one")
            return token_line(words)
        return in_utf8(value) + b"\n"

    def count(self) -> None:
        """Count a record whose text has been extracted already."""
        self.read += 1
        self._n_texts += 1
        self.records["records"] += 1

    def malformed(self, why: str) -> None:
        """Count a record that could not be parsed."""
        self.read += 1
        self.records["records"] += 1
        self._malformed(why)

    def _malformed(self, why: str) -> None:
        self.records["malformed records"] += 1
        self._n_malformed += 1
        self._first_malformed = self._first_malformed or why
        self._first = self._first or why

    def end(self, what: str = "no line is a JSON object with a text") -> None:
        """Check, after the last record, that there were texts; warn of a field that no record has."""
        if not self.read:
            return
        missing = [repr(field) for field in self.fields if not self._found[field]]
        if not self.fields and not self._n_texts:
            raise DataError(f"{self.name}: {what}; {self._first[:300]}")
        if self.fields and len(missing) == len(self.fields):
            raise DataError(
                f"{self.name}: {what} in the field {' or '.join(missing)}; {self._first[:300]}. Give the "
                "name of the field (",
                Option("field"),
                "), or none for plain text",
            )
        if self._n_malformed and not self._n_texts:
            raise DataError(
                f"{self.name}: no record can be used; the first that is malformed: "
                f"{self._first_malformed[:300]}"
            )
        if self._n_malformed:
            warnings.warn(
                f"{self.name}: {self._n_malformed:,} of {self.read:,} records left out as malformed; the "
                f"first: {self._first_malformed[:300]}",
                stacklevel=2,
            )
        if missing:
            warnings.warn(f"{self.name}: no record has a text in the field {missing[0]}", stacklevel=2)


def _named(record: Mapping[str, Any]) -> str:
    """Return the names of some fields of a record, for a message."""
    return f"the fields {', '.join(map(repr, list(record)[:10]))}"


def _is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, or nan as in pandas."""
    return value is None or (isinstance(value, float) and value != value)


def fields_of(record: Mapping[Any, Any]) -> str:
    """Return the names of a record's fields and the kinds of their values, for a message."""
    return ", ".join(f"{name!r} ({type(value).__name__})" for name, value in list(record.items())[:10])


def fields_with_text(record: Mapping[str, Any], within: str = "") -> dict[str, int]:
    """Return a dict from the names of fields, as ``field`` accepts them, to the lengths of their texts or
    lists.
    """
    lengths: dict[str, int] = {}
    for name, value in record.items():
        whole = f"{within}{name}"
        if isinstance(value, str):
            lengths[whole] = len(value)
        elif is_list(value):
            with suppress(NotWords):
                lengths[whole] = len(token_line(value))
        elif isinstance(value, Mapping) and within.count(".") < 3:
            lengths |= fields_with_text(value, f"{whole}.")
    return lengths


def object_texts(objects: Iterable[Any], fields: Sequence[str], records: Counter[str]) -> Iterator[bytes]:
    """Yield the texts of Python objects with named fields, such as the rows of a ``datasets.Dataset``;
    values of other types are skipped and counted.
    """
    texts = RecordTexts(fields, "the corpus", records)
    for number, record in enumerate(objects, 1):
        yield from texts.of(record, f"record {number}")
    texts.end("no record has a text")
