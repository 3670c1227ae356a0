"""Reads and writes vectors as Parquet, with a column of words and one of lists, for DuckDB, pandas and
others.

Tables of other programs can be read too, if they have a column of strings, and either a column of lists of
numbers or one column of numbers per dimension. A column ``count`` contains counts.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError, install_extra
from wordvec_ca.files import atomic_file
from wordvec_ca.formats.zip_archive import MOST_TIMES, SMALL
from wordvec_ca.tables import VectorTable, check_unicode, row_blocks

# Key in the table's metadata under which the record of the training run is stored.
RECORD = b"wordvec_ca"


# Columns of numbers that are not components: counts, and the index that pandas stores.
NOT_DIMENSIONS = ("count", "__index_level_0__")


def read_parquet(path: str | Path) -> VectorTable:
    """Read vectors."""
    arrow, parquet = _pyarrow(path)
    try:
        _check_size(path, parquet.read_metadata(path))
        table = parquet.read_table(path, memory_map=True)
        plain = [
            field.with_type(field.type.value_type) if arrow.types.is_dictionary(field.type) else field
            for field in table.schema  # a category of pandas is a dictionary
        ]
        table = table.cast(arrow.schema(plain, table.schema.metadata))
        kinds = {field.name: field.type for field in table.schema}
        words = [n for n, t in kinds.items() if arrow.types.is_string(t) or arrow.types.is_large_string(t)]
        lists = [n for n, t in kinds.items() if _is_list(arrow, t) and _is_number(arrow, t.value_type)]
        numbers = [n for n, t in kinds.items() if n not in NOT_DIMENSIONS and _is_number(arrow, t)]
        if len(words) != 1 or len(lists) > 1 or not (lists or numbers):
            raise DataError(
                f"{path} has the columns {', '.join(kinds)[:300]}; vectors need one of strings, and "
                "one of lists of numbers or one of numbers for each dimension"
            )
        columns = [words[0], *(lists or numbers), *(["count"] if "count" in kinds else [])]
        if any(table[name].null_count for name in columns):
            raise DataError(f"{path}: one of the columns {', '.join(columns)[:300]} has empty cells")
        if not len(table):
            raise DataError(f"{path} has no rows; expected a word and its vector in each")
        if lists:
            column = table[lists[0]].combine_chunks()
            flat = column.flatten()
            lengths = {len(flat) // max(1, len(column))}
            if not arrow.types.is_fixed_size_list(column.type):
                lengths = set(column.value_lengths().unique().to_pylist())
            if len(lengths) > 1 or flat.null_count:
                raise DataError(f"{path}: the lists of the column {lists[0]} differ in length or have gaps")
            vectors = flat.to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
            vectors = vectors.reshape(len(column), *lengths)
        else:
            vectors = np.stack([table[name].to_numpy().astype(np.float32) for name in numbers], axis=1)
        counts = table["count"].cast(arrow.int64()).to_numpy() if "count" in kinds else None
        if not vectors.shape[1]:
            raise DataError(f"{path}: the lists of the column {lists[0]} are empty")
        record = json.loads((table.schema.metadata or {}).get(RECORD, b"{}"))
        return VectorTable(
            table[words[0]].to_pylist(), vectors, counts, record if isinstance(record, dict) else {}
        )
    except (arrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is damaged or cut off: {error}") from error


def _check_size(path: str | Path, metadata: Any) -> None:
    """Raise a DataError for a file whose values would take far more memory than the file takes."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    n_values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    on_disk = os.path.getsize(path)
    if 4 * n_values > max(SMALL, MOST_TIMES * on_disk):
        raise DataError(
            f"{path}: {n_values:,} values would take {4 * n_values:,} bytes, from {on_disk:,} in the file: "
            f"vectors do not shrink {MOST_TIMES} times, so this is refused"
        )


def write_parquet(table: VectorTable, path: str | Path, *, overwrite: bool = True) -> None:
    """Write columns ``word``, ``vector`` and, if counts are known, ``count``, completely or not at all."""
    arrow, parquet = _pyarrow(path)
    check_unicode(table.words, "Parquet")
    size = table.vectors.shape[1]
    columns: dict[str, Any] = {"word": arrow.string(), "count": arrow.int64()}
    columns["vector"] = arrow.list_(arrow.float32(), size)
    if table.counts is None:
        del columns["count"]
    schema = arrow.schema(columns, metadata={RECORD: json.dumps(table.metadata)})
    with atomic_file(path, overwrite=overwrite) as stream, parquet.ParquetWriter(stream, schema) as writer:
        for rows in row_blocks(table.vectors):
            flat = np.ascontiguousarray(table.vectors[rows], np.float32).ravel()
            cells = {
                "word": arrow.array(table.words[rows], arrow.string()),
                "vector": arrow.FixedSizeListArray.from_arrays(arrow.array(flat), size),
            }
            if table.counts is not None:
                cells["count"] = arrow.array(np.asarray(table.counts[rows], np.int64))
            writer.write_table(arrow.table([cells[name] for name in columns], schema=schema))


def _is_list(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_number(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_floating(kind) or arrow.types.is_integer(kind))


def _pyarrow(path: str | Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f"{path}: Parquet needs pyarrow: {install_extra('parquet')}") from error
    return pyarrow, pyarrow.parquet
