"""Records, of which some fields are the text: which texts they give, and how many give none."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.text.encodings import in_utf8


def field_names(field: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of one or several fields; None for none.

    Raises
    ------
    OptionError
        A name is empty, no str, or there twice.
    """
    if field is None:
        return None
    names = (field,) if isinstance(field, str) else tuple(field)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(Option("field"), f" must be a name or a list of names; got {field!r}")
    if len(set(names)) < len(names):
        raise OptionError(Option("field"), f" names the same field twice: {', '.join(map(repr, names))}")
    return names


def _value(record: Mapping[str, Any], field: str) -> Any:
    """Return a field of a record; of ``a.b``, where there is no such field, the field b of its object a."""
    if field in record or "." not in field:
        return record.get(field)
    value: Any = record
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


class RecordTexts:
    r"""What records give as text: each field a line, line ends within it end lines.

    Parameters
    ----------
    fields : sequence of str
        Their names, in the order in which they are read.
    name : str
        The file, for messages.
    records : Counter
        What is counted: "records", and of these "records without text" (no such field, or null) and
        "malformed records" (another type, damaged).
    """

    def __init__(self, fields: Sequence[str], name: str, records: Counter[str]) -> None:
        self.fields = fields
        self.name = name
        self.records = records
        self._found: Counter[str] = Counter()
        self._read = 0
        self._n_malformed = 0
        self._first = self._first_malformed = ""

    def of(self, record: Any, where: str) -> bytes | None:
        """Return the text of a record, with line ends; None if it has none.

        Parameters
        ----------
        record : mapping
            Anything else counts as malformed.
        where : str
            Its place in the file, for messages.
        """
        self._read += 1
        self.records["records"] += 1
        if not isinstance(record, Mapping):
            self._malformed(f"{where} cannot be used: it is a {type(record).__name__}, not an object")
            return None
        texts = []
        for field in self.fields:
            text = _value(record, field)
            if text is None:
                continue
            if not isinstance(text, str):
                self._malformed(
                    f"{where} cannot be used: its {field!r} is a {type(text).__name__}, not a string"
                )
                return None
            texts.append(text)
            self._found[field] += 1
        if not texts:
            self.records["records without text"] += 1
            names = ", ".join(map(repr, list(record)[:10]))
            self._first = self._first or f"{where} has the fields {names}"
            return None
        return in_utf8("\n".join(texts)) + b"\n"

    def malformed(self, why: str) -> None:
        """Count a record that could not even be read."""
        self._read += 1
        self.records["records"] += 1
        self._malformed(why)

    def _malformed(self, why: str) -> None:
        self.records["malformed records"] += 1
        self._n_malformed += 1
        self._first_malformed = self._first_malformed or why
        self._first = self._first or why

    def end(self, what: str = "no line is a JSON object with a text") -> None:
        """Check, after the last record, that there were texts; warn of a field that no record has.

        Raises
        ------
        DataError
            No record has a text.
        """
        if not self._read:
            return
        missing = [repr(field) for field in self.fields if not self._found[field]]
        if len(missing) == len(self.fields):
            raise DataError(
                f"{self.name}: {what} in the field {' or '.join(missing)}; {self._first[:300]}. Give the "
                "name of the field (",
                Option("field"),
                "), or none for plain text",
            )
        if self._n_malformed:
            warnings.warn(
                f"{self.name}: {self._n_malformed:,} of {self._read:,} records left out as malformed; the "
                f"first: {self._first_malformed[:300]}",
                stacklevel=2,
            )
        if missing:
            warnings.warn(f"{self.name}: no record has a text in the field {missing[0]}", stacklevel=2)


def object_texts(objects: Iterable[Any], fields: Sequence[str], records: Counter[str]) -> Iterator[bytes]:
    """Yield the texts of Python objects with named fields, such as the rows of a ``datasets.Dataset``.

    Parameters
    ----------
    objects : iterable of mappings
        Anything else among them is skipped and counted.
    fields : sequence of str
        Names of the fields.
    records : Counter
        As in `RecordTexts`.

    Raises
    ------
    DataError
        No object has a text.
    """
    texts = RecordTexts(fields, "the corpus", records)
    for number, record in enumerate(objects, 1):
        if text := texts.of(record, f"record {number}"):
            yield text
    texts.end("no record has a text")
