"""Reads vectors from CSV: a column of words, and a column of lists or one column of numbers per dimension.

The first line names the columns. A column ``count`` contains counts. pandas, DuckDB and databases write such
tables, with commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import open_by_content
from wordvec_ca.tables import VectorTable


def is_csv_table(head: bytes) -> bool:
    """Return whether a file begins with a line of names, then a line with a word and numbers or a list."""
    text = head.decode("utf-8-sig", "ignore")
    try:
        rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=_delimiter(text)), 2))
    except csv.Error:
        return False
    if len(rows) < 2 or not 2 <= len(rows[0]) == len(rows[1]):
        return False
    numbered = [name for name in rows[0] if _is_number(name)]
    # pandas numbers columns without names; other numbers in the first line are those of a vector
    names = numbered in ([], list(map(str, range(len(numbered))))) and len(numbered) < len(rows[0])
    return names and any(_is_number(cell) or cell.startswith("[") for cell in rows[1])


def _delimiter(text: str) -> str:
    """Return what separates the cells of the first line; commas within cells may be decimal."""
    first = text.partition("\n")[0]
    return next((mark for mark in "\t;," if mark in first), ",")


def read_csv(path: str | Path) -> VectorTable:
    """Read vectors, plain or compressed."""
    with open_by_content(path) as stream:
        lines = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        rows = csv.reader([])  # for the number of the line, if the first one cannot be decoded
        numbers: list[int] = []
        words: list[str] = []
        vectors: list[np.ndarray] = []
        counts: list[int] = []
        try:
            first_line = lines.readline()
            rows = csv.reader(itertools.chain([first_line], lines), delimiter=_delimiter(first_line))
            names, first = next(rows), next(rows)
            numbers = [i for i, cell in enumerate(first) if names[i] != "count" and _is_number(cell)]
            lists = [i for i, cell in enumerate(first) if cell.startswith("[")]
            named = [i for i, name in enumerate(names) if name in ("word", "token", "item", "key")]
            rest = [i for i in range(len(names)) if i not in (*numbers, *lists) and names[i] != "count"]
            word = (named or rest or [0])[0]
            numbers = [i for i in numbers if i != word and names[i]]  # pandas writes its index without a name
            empty = [names[i] for i, cell in enumerate(first) if not cell and i != word]
            if empty:  # perhaps the name of a column of numbers
                raise ValueError(f"the cell of the column {empty[0]!r} is empty")
            for row in itertools.chain([first], rows):
                words.append(row[word])
                cells = json.loads(row[lists[0]]) if lists else [row[i].replace(",", ".") for i in numbers]
                with np.errstate(
                    over="ignore"
                ):  # a number beyond float32 becomes infinity, which is reported
                    vectors.append(np.array(cells, np.float32))
                if vectors[-1].shape != vectors[0].shape or vectors[0].ndim != 1 or len(row) != len(names):
                    raise ValueError(f"{len(cells)} numbers in {len(row)} cells")
                if "count" in names:
                    counts.append(int(row[names.index("count")]))
            table = VectorTable(words, np.stack(vectors), np.array(counts, np.int64) if counts else None, {})
        except (
            StopIteration,
            ValueError,
            IndexError,
            TypeError,
            OverflowError,
            RecursionError,
            csv.Error,
        ) as error:
            raise DataError(
                f"{path}, line {rows.line_num}: expected a word and its numbers, as in the lines before "
                f"({error})"
            ) from error
    if not vectors[0].size:
        raise DataError(f"{path} has no column of numbers, or of lists such as [0.1, 0.2]")
    return table


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
