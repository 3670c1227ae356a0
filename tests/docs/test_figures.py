"""Figures on pages come from the records of the studies: a mark names the cells of the figures before it.

``.628, .587<!--=ling2015:The_tables;attention_w20:V_WSJ;ws353-->`` says that the last two figures before the
comment are those of a row of ``docs/evidence/data/ling2015.json``, in the columns "V, WSJ" and "ws353". Names
are written with ``_`` for everything but letters and digits. Cells of the row, the name of its section and
the heading above its table choose the row, separated by ``;``. ``A_*`` is any name that begins so,
``window=1`` the cell of one column. ``ws353@2`` is the second number of a cell, ``ws353%`` a hundred times
the first. ``A+B`` are the figures of A and then those of B; ``A~B`` is the difference A less B.
"""

import fnmatch
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "evidence" / "data"
MARK = re.compile(r"<!--=([^ ]+?)-->")
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]\d+)?")
PAGES = {
    page: text
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if MARK.search(text := page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_are_those_of_the_records(page):
    faults = []
    for number, line in enumerate(PAGES[page].splitlines(), start=1):
        for mark in MARK.finditer(line):
            wanted = [value for one in mark[1].split("+") for value in values(one)]
            before = re.sub(r"<!--.*?-->|\]\([^)]*\)", " ", line[: mark.start()])
            shown = NUMBER.findall(before)[-len(wanted) :]
            if len(shown) < len(wanted) or not all(map(agrees, shown, wanted)):
                faults.append(f"line {number}: {shown}, measured {wanted} ({mark[1]})")
    assert not faults, "\n".join(faults)


def values(reference: str) -> list[float]:
    """Return the figures that a part of a mark names."""
    minuend, _, subtrahend = reference.partition("~")
    if subtrahend:
        return [a - b for a, b in zip(values(minuend), values(subtrahend), strict=True)]
    study, keys, columns = reference.split(":")
    return [cell(study, set(keys.split(";")), column) for column in columns.split(";")]


def cell(study: str, keys: set[str], column: str) -> float:
    """Return the figure in a column of the row that has the keys."""
    name, _, place = column.removesuffix("%").partition("@")
    found = {
        row[name]
        for names, row in rows(study)
        if NUMBER.search(row.get(name, "")) and all(fnmatch.filter(names, key) for key in keys)
    }
    assert len(found) == 1, f"{study}: {len(found)} cells of {sorted(keys)} in {name}"
    figure = number(NUMBER.findall(found.pop())[int(place or 1) - 1])
    return figure * 100 if column.endswith("%") else figure


@functools.cache
def rows(study: str) -> tuple[tuple[set[str], dict[str, str]], ...]:
    """Return the names that choose each row of a study, and its cells by their columns."""
    return tuple(_rows(json.loads((DATA / f"{study}.json").read_text(encoding="utf-8"))))


def _rows(record: Any) -> Iterator[tuple[set[str], dict[str, str]]]:
    for section in record["sections"]:
        heading = ""
        for part in section["parts"]:
            if isinstance(part, str):
                headings = re.findall(r"^(?:#+ |\*\*(?=[^*]+\*\*))([^*\n]+)", part, re.M)
                heading = headings[-1] if headings else heading
                continue
            columns: list[str] = []
            for column in map(as_name, part["columns"]):
                again = sum(re.fullmatch(rf"{column}(\.\d+)?", one) is not None for one in columns)
                columns.append(f"{column}.{again + 1}" if again else column)
            for row in part["rows"]:
                cells = dict(zip(columns, row, strict=True))
                names = {as_name(word) for word in (section["name"], heading, *row)}
                yield names | {f"{name}={as_name(word)}" for name, word in cells.items()}, cells


def as_name(text: str) -> str:
    """Return a text with ``_`` for everything but letters and digits."""
    return re.sub(r"[\W_]+", "_", text).strip("_")


def number(text: str) -> float:
    """Return the number that a figure shows."""
    return float(text.replace("−", "-").replace(",", ""))


def agrees(shown: str, measured: float) -> bool:
    """Return whether a figure is a measured one, rounded to its decimals."""
    decimals = len(shown.partition(".")[2])
    return abs(number(shown) - measured) <= 0.5001 * 10**-decimals


@pytest.mark.parametrize(
    ("line", "right"), [(".628", True), (".63", True), (".629", False), ("+.628", True), ("−.628", False)]
)
def test_a_wrong_figure_is_found(line, right):
    assert agrees(line, 0.6283) is right


EVIDENCE = (ROOT / "docs" / "evidence" / "index.md").read_text(encoding="utf-8").split("\n\n")


@pytest.mark.parametrize("paragraph", [p for p in EVIDENCE if "(data/" in p], ids=lambda p: p.split('"')[1])
def test_figures_of_a_paragraph_are_in_its_record(paragraph):
    """A paragraph of evidence has a record: its decimals are there, perhaps as per cent or in millions."""
    records = [
        (DATA / name).read_text(encoding="utf-8") for name in re.findall(r"\(data/([^)]+)\)", paragraph)
    ]
    measured = {abs(number(found)) for record in records for found in NUMBER.findall(record)}
    shown = re.findall(r"(?<![\w.])\d*\.\d+", re.sub(r"\]\([^)]*\)|`[^`]*`", " ", paragraph))
    strange = [
        one
        for one in shown
        if not any(agrees(one, value * f) for value in measured for f in (1, 1e-2, 1e-3, 1e-6))
    ]
    assert not strange, f"{strange} are not in the record"
