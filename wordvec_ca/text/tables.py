"""Reads text from columns of tables: Parquet, Arrow data as Hugging Face ``datasets`` saves it, and data
frames in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import IO, Any

from wordvec_ca.errors import DataError, Option, install_extra
from wordvec_ca.text.encodings import from_utf8
from wordvec_ca.text.records import Records, RecordTexts, fields_to_read, object_texts, option_of
from wordvec_ca.text.word_lists import looks_written, written_list

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1\0\0"
ARROW_STREAM = b"\xff\xff\xff\xff"

_BATCH_BYTES = 4 << 20
# Largest number of rows of a batch; the sizes that a file declares are not relied on, since they may be
# wrong.
_MOST_ROWS = 1 << 10

# Largest number of bytes in one cell, and of cells on average; a table with more is an error (bounded
# memory).
LONGEST_CELL = 1 << 26

# Bytes that a Python object takes for a word in a list, in addition to the word's characters.
_BYTES_OF_A_WORD = 64
_BUFFER = 1 << 20


def column_texts(
    stream: IO[bytes],
    head: bytes,
    fields: Sequence[str] | None,
    name: str,
    records: Counter[str],
    done: Callable[[float], None],
) -> Generator[bytes]:
    r"""Yield the text of some columns of every row, each a line; line ends within it end lines."""
    try:
        import pyarrow
    except ImportError as error:
        raise DataError(
            f"{name} is a Parquet table or Arrow data, and pyarrow is not installed: "
            f"{install_extra('parquet')}"
        ) from error
    if not head.startswith(ARROW_STREAM) and not stream.seekable():
        raise DataError(
            f"{name} is a Parquet table or an Arrow file, whose index is at its end, and cannot be read as a "
            "stream; give its path, or write one text per line"
        )
    opened = _parquet if head.startswith(PARQUET) else _arrow
    rows = TableRows(fields, name, records)
    try:
        for batch, share in opened(stream, head, fields, name, records):
            for part in parts_of(batch):
                yield from rows.of(part)
            done(share)
        rows.end()
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error.__cause__ or error.__context__, DataError):  # of our stream, wrapped by pyarrow
            raise (error.__cause__ or error.__context__) from None  # type: ignore[misc]
        raise DataError(f"{name} is damaged or cut off: {error}") from error
    except (UnicodeDecodeError, KeyError) as error:  # pyarrow's, of names in damaged metadata
        raise DataError(f"{name} is damaged: the names of its columns cannot be read: {error}") from error
    except MemoryError as error:
        raise DataError(f"{name} is damaged, or has a batch that is larger than memory") from error


Batches = Iterator[tuple[dict[str, Any], float]]


class TableRows:
    """The text of some columns of a table, batch by batch."""

    def __init__(self, fields: Sequence[str] | None, name: str, records: Counter[str]) -> None:
        self._n_fields = None if fields is None else len(fields)
        self._fields, self._name, self._records = fields, name, records
        self._texts: RecordTexts | None = None
        self._first: dict[str, Any] = {}

    def of(self, columns: dict[str, Any]) -> Iterator[bytes]:
        """Yield the text of columns of some rows, each cell with a line end."""
        columns = {field: _plain(column) for field, column in columns.items()}
        by_record = isinstance(self._records, Records) and self._records.by_record
        if self._texts is None and (by_record or any(map(self._holds_lists, columns, columns.values()))):
            self._texts = RecordTexts(tuple(columns)[: self._n_fields], self._name, self._records)
        if self._texts is None:
            n_rows, nulls, text = _lines(list(columns.values()))
            self._records["records"] += n_rows
            if nulls:
                self._records["records without text"] += nulls
            yield text
            return
        cells = [map(_value, column) for column in columns.values()]
        for row in zip(*cells, strict=True):
            number = self._texts.read + 1
            yield from self._texts.of(dict(zip(columns, row, strict=True)), f"row {number}")

    def _holds_lists(self, field: str, column: Any) -> bool:
        """Return whether a column contains lists of words, as a type or written as text (``['a', 'b']``)."""
        if _is_list(column.type):
            return True
        if field not in self._first:
            first = next((_value(cell) for cell in column if cell.is_valid), None)
            if first is not None:
                self._first[field] = first
        first = self._first.get(field)
        return isinstance(first, str) and (written_list(first) is not None or looks_written(first))

    def end(self) -> None:
        """Check, after the last row, that there were texts (see `RecordTexts.end`)."""
        if self._texts is not None:
            self._texts.end("no row has a text")


def _parquet(
    stream: IO[bytes], head: bytes, fields: Sequence[str] | None, name: str, records: Counter[str]
) -> Batches:
    """Yield (columns, share of the file that has been read)."""
    from pyarrow import parquet

    table = parquet.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)  # it would hold whole groups
    names = text_columns(table.schema_arrow, fields, name, records)
    if written_once := _written_once(table.metadata, names):
        # a value that many rows share is stored once, in the file and in memory
        stream.seek(0)
        table = parquet.ParquetFile(
            stream, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=sorted(written_once)
        )
    metadata = table.metadata
    read = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not group.num_rows:  # its chunks say nothing of the sizes of cells
            continue
        chunks = [group.column(i) for i in range(group.num_columns)]
        size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in names)
        if size > LONGEST_CELL * group.num_rows:
            raise too_long(name, size // group.num_rows)
        rows = max(1, min(_MOST_ROWS, group.num_rows, _BATCH_BYTES * group.num_rows // max(size, 1)))
        for batch in table.iter_batches(rows, row_groups=[number], columns=names, use_threads=False):
            read += batch.num_rows
            yield {field: batch.column(field) for field in names}, read / metadata.num_rows


def _written_once(metadata: Any, names: Sequence[str]) -> set[str]:
    """Return the names of byte columns with a dictionary; for a nested column, the name of the outermost."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    return {
        chunk.path_in_schema
        for chunk in chunks
        if chunk.path_in_schema.split(".")[0] in names
        and chunk.physical_type == "BYTE_ARRAY"
        and chunk.has_dictionary_page
    }


def parts_of(columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield slices of the rows, so small that they fit into memory even if rows do not share values."""
    import numpy as np

    sizes = sum(_bytes_of_rows(column) for column in columns.values())
    ends, begin = np.cumsum(sizes), 0
    if len(ends) and int(sizes.max()) > LONGEST_CELL:
        row = int(sizes.argmax())
        raise too_long(f"row {row + 1} of a batch", int(sizes[row]))
    while begin < len(ends):  # at least one row each: those that are too large were refused above
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _BATCH_BYTES, side="right")))
        yield {field: column.slice(begin, end - begin) for field, column in columns.items()}
        begin = end


def too_long(what: str, n_bytes: int) -> DataError:
    """Return the error for cells that are too large for memory."""
    return DataError(
        f"{what} has cells of {n_bytes:,} bytes; those of tables can have {LONGEST_CELL:,}: divide the texts"
    )


def _bytes_of_rows(column: Any) -> Any:
    """Return the bytes that each row of a column takes if it shares no values, shape (n_rows,), int64."""
    import numpy as np
    import pyarrow
    from pyarrow import compute

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        each = np.append(_bytes_of_rows(column.dictionary), 0)  # the last element is for rows without a value
        rows = compute.fill_null(column.indices.cast(pyarrow.int64()), len(each) - 1).to_numpy()
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(each):  # pyarrow does not check it
            raise pyarrow.ArrowInvalid("a cell names an entry that its dictionary does not have")
        return each[rows]
    if _is_list(kind):
        lengths = compute.fill_null(compute.list_value_length(column).cast(pyarrow.int64()), 0).to_numpy()
        ends = np.cumsum(lengths)
        before = np.append(0, np.cumsum(_BYTES_OF_A_WORD + _bytes_of_rows(compute.list_flatten(column))))
        return before[ends] - before[ends - lengths]
    if not _is_text(kind):
        return np.full(len(column), 8)  # numbers and times
    binary = column.cast(pyarrow.large_binary()) if pyarrow.types.is_string_view(kind) else column
    return compute.fill_null(compute.binary_length(binary).cast(pyarrow.int64()), 0).to_numpy()


def _arrow(
    stream: IO[bytes], head: bytes, fields: Sequence[str] | None, name: str, records: Counter[str]
) -> Batches:
    """Yield (columns, share of the file that has been read)."""
    import pyarrow

    size = 0
    if stream.seekable():
        size = stream.seek(0, 2)
        stream.seek(0)
    if head.startswith(ARROW_FILE):
        file = pyarrow.ipc.open_file(stream)
        names = text_columns(file.schema, fields, name, records)
        for number in range(file.num_record_batches):
            yield from _slices(file.get_batch(number), names, (number + 1) / file.num_record_batches)
        return
    with pyarrow.ipc.open_stream(stream) as batches:
        names = text_columns(batches.schema, fields, name, records)
        for batch in batches:
            yield from _slices(batch, names, stream.tell() / size if size else 0.0)


def _slices(batch: Any, names: Sequence[str], share: float) -> Batches:
    for field in names:
        _check_places(batch.column(field))
    for begin in range(0, batch.num_rows, _MOST_ROWS):
        part = batch.slice(begin, _MOST_ROWS)
        yield {field: part.column(field) for field in names}, share


def _check_places(column: Any) -> None:
    """Raise an ArrowException if a column points outside its data, where pyarrow would read other memory."""
    import pyarrow

    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        # Text that is not UTF-8 is read with U+FFFD in it. But in a dictionary pyarrow reports such text
        # first, and that would hide an index out of range.
        if "UTF8" not in str(error) or pyarrow.types.is_dictionary(column.type):
            raise


def text_columns(schema: Any, fields: Sequence[str] | None, name: str, records: Counter[str]) -> list[str]:
    """Return the names of the columns to read: of text or lists of words, of tags, and of groups."""
    texts = [field.name for field in schema if _is_text(field.type)]
    others = fields_to_read([], records)
    for other in others:
        if other not in schema.names:
            raise DataError(
                f"{name} has no column {other!r}; its columns are {schema.names}; give the name of one, ",
                option_of(other, (), records),
            )
    if fields is None:
        texts = [text for text in texts if text not in others]
    lists = [field.name for field in schema if _is_list(field.type)]
    known = f"its columns of text are {', '.join(map(repr, texts[:20])) or 'none'}"
    if lists:
        known += f", and those of lists of words {', '.join(map(repr, lists[:20]))}"
    if fields is None:
        if len(texts or lists) == 1:
            return fields_to_read(texts or lists, records)
        raise DataError(f"{name} is a table; {known}; give the names of one or more, ", Option("field"))
    for field in fields:
        places = schema.get_all_field_indices(field)
        if len(places) != 1:
            raise DataError(f"{name} has {len(places) or 'no'} column(s) {field!r}; {known}")
        kind = schema.field(field).type
        as_event = isinstance(records, Records) and records.take_event is not None
        if not (as_event or _is_text(kind) or _is_list(kind)):
            raise DataError(f"{name}: the column {field!r} holds {kind}, not text; {known}")
    return fields_to_read(fields, records)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _is_list(kind: Any) -> bool:
    """Return whether a type is a list of strings or of integers."""
    from pyarrow import types

    views = (getattr(types, "is_list_view", None), getattr(types, "is_large_list_view", None))
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, *filter(None, views))
    if not any(test(kind) for test in tests):
        return False
    values = kind.value_type
    return _is_text(values) or types.is_integer(values)


def _lines(columns: Sequence[Any]) -> tuple[int, int, bytes]:
    """Return the number of rows, the number without text, and all text, each cell with a line end."""
    import pyarrow
    from pyarrow import compute

    cells = [column.cast(pyarrow.large_binary()) for column in columns]
    missing = cells[0].is_null()
    for cell in cells[1:]:
        missing = compute.and_(missing, cell.is_null())
    empty, end = pyarrow.scalar(b"", pyarrow.large_binary()), pyarrow.scalar(b"\n", pyarrow.large_binary())
    joined = compute.binary_join_element_wise(*cells, empty, end, null_handling="skip")
    text = b"".join(joined.to_pylist())
    return len(missing), missing.true_count, text


def _value(cell: Any) -> Any:
    """Return a cell as a text, a number or a list of these. Bytes that are not UTF-8 become U+FFFD."""
    import pyarrow

    try:
        value = cell.as_py()
    except UnicodeDecodeError:
        if _is_list(cell.type):
            return list(map(_value, cell.values))
        if pyarrow.types.is_dictionary(cell.type):
            return _value(cell.value)
        value = cell.as_buffer().to_pybytes()
    return from_utf8(value) if isinstance(value, bytes) else value


def _plain(column: Any) -> Any:
    """Return a column with its dictionary indices replaced by the values."""
    import pyarrow

    return column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column


_AT_ONCE = 1 << 12


def is_frame(corpus: object) -> bool:
    """Return whether an object has named columns: a data frame (pandas, polars) or an Arrow table."""
    return not isinstance(corpus, type) and (_is_arrow_table(corpus) or _is_data_frame(corpus))


def frame_texts(frame: Any, fields: Sequence[str] | None, records: Counter[str]) -> Iterator[bytes]:
    """Return the text of some columns, of texts or lists of words, of a data frame or an Arrow table, each
    cell with a line end.
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
