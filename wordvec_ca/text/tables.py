"""Columnar tables: Parquet, and Arrow as Hugging Face ``datasets`` saves it; some columns are the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import IO, Any

from wordvec_ca.errors import DataError, Option

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1\0\0"
ARROW_STREAM = b"\xff\xff\xff\xff"

_BATCH_BYTES = 4 << 20
_MOST_ROWS = 1 << 14
_BUFFER = 1 << 20


def is_table(head: bytes) -> bool:
    """Return whether a file that begins so is a Parquet table or Arrow data."""
    return head.startswith((PARQUET, ARROW_FILE, ARROW_STREAM))


def column_texts(
    stream: IO[bytes],
    head: bytes,
    fields: Sequence[str] | None,
    name: str,
    records: Counter[str],
    done: Callable[[float], None],
) -> Generator[bytes]:
    r"""Yield the text of some columns of every row, each a line; line ends within it end lines.

    Parameters
    ----------
    stream : binary stream
        The file, from its beginning; for Parquet and Arrow files (not streams) it must be seekable.
    head : bytes
        The first bytes, for which `is_table` is true.
    fields : sequence of str, optional
        Names of the columns: strings, or binary that holds UTF-8. None: the only column of strings.
    name : str
        The file, for messages.
    records : Counter
        What is counted: "records", and of these "records without text" (null in all columns).
    done : callable
        Called with the share of the file that is read, from 0 to 1.

    Raises
    ------
    DataError
        pyarrow is not installed, a column is missing or holds no text, or the table is damaged.
    """
    try:
        import pyarrow
    except ImportError as error:
        raise DataError(
            f"{name} is a Parquet table or Arrow data, and pyarrow is not installed: "
            "pip install 'wordvec-ca[parquet]'"
        ) from error
    if not head.startswith(ARROW_STREAM) and not stream.seekable():
        raise DataError(
            f"{name} is a Parquet table or an Arrow file, whose index is at its end, and cannot be read as a "
            "stream; give its path, or write one text per line"
        )
    opened = _parquet if head.startswith(PARQUET) else _arrow
    try:
        for rows, batch, share in opened(stream, head, fields, name):
            records["records"] += rows
            nulls, text = _lines(batch)
            if nulls:
                records["records without text"] += nulls
            yield text
            done(share)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error.__cause__ or error.__context__, DataError):
            raise (error.__cause__ or error.__context__) from None  # type: ignore[misc]
        raise DataError(f"{name} is damaged or cut off: {error}") from error


Batches = Iterator[tuple[int, list[Any], float]]


def _parquet(stream: IO[bytes], head: bytes, fields: Sequence[str] | None, name: str) -> Batches:
    """Yield (rows, columns, share of the file that is read)."""
    from pyarrow import parquet

    table = parquet.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
    names = _columns(table.schema_arrow, fields, name)
    metadata = table.metadata
    read = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not group.num_rows:
            continue
        chunks = [group.column(i) for i in range(group.num_columns)]
        size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in names)
        rows = max(1, min(_MOST_ROWS, group.num_rows, _BATCH_BYTES * group.num_rows // max(size, 1)))
        for batch in table.iter_batches(rows, row_groups=[number], columns=names, use_threads=False):
            read += batch.num_rows
            yield batch.num_rows, [batch.column(field) for field in names], read / metadata.num_rows


def _arrow(stream: IO[bytes], head: bytes, fields: Sequence[str] | None, name: str) -> Batches:
    """Yield (rows, columns, share of the file that is read)."""
    import pyarrow

    size = 0
    if stream.seekable():
        size = stream.seek(0, 2)
        stream.seek(0)
    if head.startswith(ARROW_FILE):
        file = pyarrow.ipc.open_file(stream)
        names = _columns(file.schema, fields, name)
        for number in range(file.num_record_batches):
            yield from _slices(file.get_batch(number), names, (number + 1) / file.num_record_batches)
        return
    with pyarrow.ipc.open_stream(stream) as batches:
        names = _columns(batches.schema, fields, name)
        for batch in batches:
            yield from _slices(batch, names, stream.tell() / size if size else 0.0)


def _slices(batch: Any, names: Sequence[str], share: float) -> Batches:
    for begin in range(0, batch.num_rows, _MOST_ROWS):
        part = batch.slice(begin, _MOST_ROWS)
        yield part.num_rows, [part.column(field) for field in names], share


def _columns(schema: Any, fields: Sequence[str] | None, name: str) -> list[str]:
    """Return the names of the columns to read, all of which hold text."""
    from pyarrow import types

    def holds_text(kind: Any) -> bool:
        if types.is_dictionary(kind):
            kind = kind.value_type
        return (
            types.is_string(kind)
            or types.is_large_string(kind)
            or types.is_string_view(kind)
            or types.is_binary(kind)
            or types.is_large_binary(kind)
        )

    texts = [field.name for field in schema if holds_text(field.type)]
    strings = ", ".join(map(repr, texts[:20])) or "none"
    if fields is None:
        if len(texts) == 1:
            return texts
        raise DataError(
            f"{name} is a table; its columns of text are {strings}; give the names of one or more, ",
            Option("field"),
        )
    for field in fields:
        places = schema.get_all_field_indices(field)
        if len(places) != 1:
            raise DataError(
                f"{name} has {len(places) or 'no'} column(s) {field!r}; its columns of text are {strings}"
            )
        if not holds_text(schema.field(field).type):
            raise DataError(
                f"{name}: the column {field!r} holds {schema.field(field).type}, not text; the columns "
                f"of text are {strings}"
            )
    return list(fields)


def _lines(columns: Sequence[Any]) -> tuple[int, bytes]:
    """Return the number of rows without text, and the text of all rows, each cell with a line end."""
    import pyarrow
    from pyarrow import compute

    cells = [column.cast(pyarrow.large_binary()) for column in map(_plain, columns)]
    missing = cells[0].is_null()
    for cell in cells[1:]:
        missing = compute.and_(missing, cell.is_null())
    empty, end = pyarrow.scalar(b"", pyarrow.large_binary()), pyarrow.scalar(b"\n", pyarrow.large_binary())
    joined = compute.binary_join_element_wise(*cells, empty, end, null_handling="skip")
    text = b"".join(joined.to_pylist())
    return missing.true_count, text


def _plain(column: Any) -> Any:
    """Return a column whose values are not numbers of a dictionary."""
    import pyarrow

    return column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column
