"""Reads data frames, Arrow tables and single columns in memory as corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from wordvec_ca.errors import DataError, Option
from wordvec_ca.text.records import fields_to_read, object_texts
from wordvec_ca.text.tables import TableRows, text_columns

_AT_ONCE = 1 << 12


def is_frame(corpus: object) -> bool:
    """Return whether an object has named columns: a data frame (pandas, polars) or an Arrow table."""
    return not isinstance(corpus, type) and (_is_arrow_table(corpus) or _is_data_frame(corpus))


def frame_texts(frame: Any, fields: Sequence[str] | None, records: Counter[str]) -> Iterator[bytes]:
    """Return the text of some columns of a data frame or an Arrow table, each cell with a line end.

    Parameters
    ----------
    frame : DataFrame, pyarrow.Table, RecordBatch or RecordBatchReader
    fields : sequence of str or None
        Names of columns with text or lists of words.
    records : Counter
        As in `RecordTexts`.

    Raises
    ------
    DataError
        The user named no columns, or a column does not exist or does not contain text.
    """
    name = f"the {type(frame).__name__}"
    if _is_arrow_table(frame):
        return _arrow_texts(frame, text_columns(frame.schema, fields, name, records), name, records)
    known = [str(column) for column in frame.columns]
    shown = f"its columns are {', '.join(map(repr, known[:20]))}"
    if fields is None:
        raise DataError(
            f"the corpus is a {type(frame).__name__}; {shown}; name those to read, ", Option("field")
        )
    needed = fields_to_read(fields, records)
    for field in needed:
        if known.count(field) != 1:
            raise DataError(f"{name} has {known.count(field) or 'no'} column(s) {field!r}; {shown}")
    return object_texts(_rows(frame, needed), fields, records)


def column_values(corpus: Any) -> Iterator[Any] | None:
    """Return the values of an Arrow array as Python objects; None for other objects."""
    if type(corpus).__module__.split(".")[0] != "pyarrow" or not hasattr(corpus, "to_pylist"):
        return None
    return _values(corpus)


def _values(column: Any) -> Iterator[Any]:
    for begin in range(0, len(column), _AT_ONCE):
        yield from column.slice(begin, _AT_ONCE).to_pylist()


def _rows(frame: Any, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    if hasattr(frame, "iter_rows"):  # polars
        yield from frame.select(list(fields)).iter_rows(named=True)
        return
    for row in zip(*(frame[field] for field in fields), strict=True):
        yield dict(zip(fields, row, strict=True))


def _arrow_texts(table: Any, fields: list[str], name: str, records: Counter[str]) -> Iterator[bytes]:
    n_tag_fields = len(fields_to_read([], records))
    rows = TableRows(fields[: len(fields) - n_tag_fields], name, records)
    for batch in (
        table.to_batches(max_chunksize=_AT_ONCE) if hasattr(table, "to_batches") else _batches(table)
    ):
        yield from rows.of({field: batch.column(batch.schema.get_field_index(field)) for field in fields})
    rows.end()


def _batches(given: Any) -> Iterator[Any]:
    """Yield the batches of a ``RecordBatchReader``; anything else is yielded as one batch."""
    if hasattr(given, "read_next_batch"):
        yield from given
    else:
        yield given


def _is_arrow_table(corpus: Any) -> bool:
    return type(corpus).__module__.split(".")[0] == "pyarrow" and hasattr(corpus, "schema")


def _is_data_frame(corpus: Any) -> bool:
    return hasattr(corpus, "columns") and (hasattr(corpus, "itertuples") or hasattr(corpus, "iter_rows"))
