"""Tables that commands write for other programs, and a catalogue that they read; suffixes tell formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.paths import INPUT

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")

NAMES = click.option(
    "--names",
    type=INPUT,
    metavar="FILE",
    help="Catalogue: item and name, the first two columns of .csv or .tsv.",
)


def check_suffix(output: str, *others: str) -> None:
    """Raise a usage error if no format has the suffix of a file, before anything is computed."""
    if Path(output).suffix not in (*others, *FORMATS):
        raise click.BadParameter(
            f"{output!r}: its suffix chooses the format, one of {', '.join((*others, *FORMATS))}",
            param_hint="--output",
        )


def write_table(
    rows: Iterable[list[Any]], header: list[str], output: str, *, overwrite: bool, vector_size: int = -1
) -> int:
    """Write rows, completely or not at all; return their number. A column ``vector`` has lists of numbers."""
    from wordvec_ca.files import atomic_file

    number = 0
    suffix = Path(output).suffix
    with atomic_file(output, overwrite=overwrite) as file:
        if suffix == ".parquet":
            return _write_parquet(rows, header, file, vector_size)
        text = io.TextIOWrapper(file, "utf-8", newline="")
        table = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",")
        if suffix != ".jsonl":
            table.writerow(header)
        for row in rows:
            number += 1
            if suffix == ".jsonl":
                text.write(json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n")
            else:  # a list is one cell, [0.1,0.2], which pgvector and others read as it is
                table.writerow([json.dumps(cell) if isinstance(cell, list) else cell for cell in row])
        text.detach()  # which flushes; atomic_file closes the file
    return number


def _write_parquet(rows: Iterable[list[Any]], header: list[str], file: Any, vector_size: int) -> int:
    from itertools import islice

    from wordvec_ca.errors import DataError, install_extra

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"Parquet needs pyarrow: {install_extra('parquet')}") from error
    kinds = {"rank": pyarrow.int32(), "score": pyarrow.float32()}
    kinds["vector"] = pyarrow.list_(pyarrow.float32(), vector_size)
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in header])
    # fewer rows at once where each has a long vector
    number, rows, at_once = 0, iter(rows), (1 << 17) // max(1, vector_size)
    with parquet.ParquetWriter(file, schema) as writer:
        while part := list(islice(rows, max(1, at_once))):
            columns = [list(column) for column in zip(*part, strict=True)]
            writer.write_table(pyarrow.table(columns, schema=schema))
            number += len(part)
    return number


# ---- the catalogue of a shop: what its items are called --------------------------------------------------


def lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a file, without white space at their ends."""
    from wordvec_ca.files import Lines

    return map(str.strip, Lines(path))


def _rows(path: str) -> Iterator[list[str]]:
    """Yield the cells of each row; a header is an item that no model has."""
    return csv.reader(lines_of(path), delimiter="\t" if Path(path).suffix == ".tsv" else ",")


def catalogue(path: str, vectors: Any) -> dict[str, str]:
    """Return the names of items, the first two cells of each row; a DataError if no item has a vector."""
    rows = [row for row in _rows(path) if len(row) > 1]
    _check_items(path, [row[0] for row in rows], vectors)
    return {row[0]: row[1] for row in rows}


def allowed_items(path: str, vectors: Any) -> set[str]:
    """Return the items of a file, one a line or the first of a row; a DataError if none has a vector."""
    # names of items may have commas, so only the suffix tells a table
    is_table = Path(path).suffix in (".csv", ".tsv")
    items = [row[0] for row in _rows(path) if row] if is_table else list(filter(None, lines_of(path)))
    _check_items(path, items, vectors)
    return set(items)


def _check_items(path: str, items: list[str], vectors: Any) -> None:
    from wordvec_ca.errors import DataError

    if not any(item in vectors for item in items):
        begin = f", which begins with {items[0]!r:.80}" if items else ""
        raise DataError(
            f"none of the {len(vectors):,} items of the model is in {path}{begin}: give an item a line, or "
            "tables (.csv, .tsv) whose first column has the items"
        )
