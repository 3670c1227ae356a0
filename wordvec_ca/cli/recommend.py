"""``cawv recommend``: items for a basket, or beside each item."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import json_option, vectors_option
from wordvec_ca.cli.output import reason, say, show_json, show_styled, styled
from wordvec_ca.cli.paths import INPUT, OUTPUT_FILE, ExistingPath

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")


@click.command(name="recommend", short_help="Items for a basket, or beside each item.")
@click.argument("model", type=ExistingPath())
@click.option(
    "--basket",
    "baskets",
    multiple=True,
    metavar="ITEM,ITEM...",
    help='Items seen or bought; a JSON list if names have commas: ["a,b", "c"]. May be given several times.',
)
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--allow", type=INPUT, metavar="FILE", help="Recommend only these items, one a line: those in stock."
)
@click.option(
    "--names",
    type=INPUT,
    metavar="FILE",
    help="Catalogue: item and name, the first two columns of .csv or .tsv.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    help=f"Write what is recommended beside each item of the model: {', '.join(FORMATS)}.",
)
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it exists.")
@vectors_option
@json_option("A JSON object a basket")
def command(
    model: str,
    baskets: tuple[str, ...],
    topn: int,
    allow: str | None,
    names: str | None,
    output: str | None,
    overwrite: bool,
    form: str | None,
    as_json: bool,
) -> None:
    """Recommend the items whose vectors are nearest to the mean of a basket.

    \b
    cawv recommend shop.model --basket tea3,tea7 --allow stock.txt
    cawv recommend shop.model -o beside.csv       the ten beside each item

    MODEL was trained with cawv train --for items. Items of the basket are never recommended.
    """  # noqa: D301 - click needs the backspace
    from wordvec_ca.cli.terminal import Column, table
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import recommend, recommend_each

    if bool(baskets) == (output is not None):
        raise click.UsageError("give --basket, or -o FILE for all items")
    if output is not None and Path(output).suffix not in FORMATS:
        raise click.BadParameter(
            f"{output!r}: its suffix chooses the format, one of {', '.join(FORMATS)}", param_hint="--output"
        )
    vectors = load_vectors(model, vectors=form)
    allowed = None if allow is None else set(filter(None, _lines(allow)))
    named = {} if names is None else dict(_catalogue(names))
    if output is not None:
        n = _write(recommend_each(vectors, topn, allowed=allowed), named, output, overwrite)
        say(f"{n:,} recommendations for {len(vectors):,} items: {output}")
        return
    failed = False
    for number, given in enumerate(baskets):
        basket = _items(given)
        unknown = [item for item in basket if item not in vectors]
        for item in unknown:
            close = vectors.close_spellings(item)
            say(f"{item!r} has no vector" + (f"; did you mean {', '.join(close)}?" if close else ""))
        try:
            found = recommend(vectors, basket, topn, allowed=allowed)
        except DataError as error:  # the next basket may have an answer
            say(f"Error: {reason(error)}")
            failed = True
            continue
        items: list[dict[str, Any]] = [{"item": item, "score": round(score, 6)} for item, score in found]
        for one in items:
            if one["item"] in named:
                one["name"] = named[one["item"]]
        if as_json:
            show_json({"basket": basket, "unknown": unknown, "items": items})
        else:
            columns = [
                Column("", 4, right=True, style="aside"),
                Column("item"),
                Column("score", right=True),
            ]
            columns += [Column("name")] if named else []
            rows = [
                [str(i), item, f"{score:.4f}", *([named.get(item, "")] if named else [])]
                for i, (item, score) in enumerate(found, 1)
            ]
            show_styled("\n" * bool(number) + styled(", ".join(basket), "query"))
            show_styled(table(columns, rows) if rows else "   (none)")
    if failed:
        raise click.exceptions.Exit(1)


def _items(given: str) -> list[str]:
    """Return the items of a basket as typed: between commas, or a JSON list."""
    if given.lstrip().startswith("["):
        try:
            items = json.loads(given)
        except ValueError as error:
            raise click.BadParameter(
                f"{given!r} is not a JSON list: {error}", param_hint="--basket"
            ) from None
        return [str(item) for item in items]
    return [item.strip() for item in given.split(",") if item.strip()]


def _lines(path: str) -> Iterator[str]:
    from wordvec_ca.errors import DataError
    from wordvec_ca.files import open_by_content, whole_lines

    with open_by_content(path) as stream:
        lines = whole_lines(iter(lambda: stream.read(1 << 16), b""))
        for number, line in enumerate(lines, 1):
            try:
                yield line.decode("utf-8-sig").strip()
            except UnicodeDecodeError:  # an item with U+FFFD in it would be none of the model's
                raise DataError(
                    f"{path}, line {number}: not UTF-8; convert the file, for example with: "
                    "iconv -f latin1 -t utf-8"
                ) from None


def _catalogue(path: str) -> Iterator[tuple[str, str]]:
    """Yield the first two cells of each row; a header is an item that nobody recommends."""
    delimiter = "\t" if Path(path).suffix == ".tsv" else ","
    for row in csv.reader(_lines(path), delimiter=delimiter):
        if len(row) > 1:
            yield row[0], row[1]


def _write(
    found: Iterable[tuple[str, list[tuple[str, float]]]], named: dict[str, str], output: str, overwrite: bool
) -> int:
    """Write a row for each pair of items; return their number."""
    from wordvec_ca.files import atomic_file

    header = ["item", "rank", "recommended", "score", *(["name"] if named else [])]
    rows = (
        [item, rank, other, round(score, 6), *([named.get(other, "")] if named else [])]
        for item, others in found
        for rank, (other, score) in enumerate(others, 1)
    )
    number = 0
    suffix = Path(output).suffix
    with atomic_file(output, overwrite=overwrite) as file:
        if suffix == ".parquet":
            return _write_parquet(rows, header, file)
        text = io.TextIOWrapper(file, "utf-8", newline="")
        table = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",")
        if suffix != ".jsonl":
            table.writerow(header)
        for row in rows:
            number += 1
            if suffix == ".jsonl":
                text.write(json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n")
            else:
                table.writerow(row)
        text.detach()  # which flushes; atomic_file closes the file
    return number


def _write_parquet(rows: Iterable[list[Any]], header: list[str], file: Any) -> int:
    from itertools import islice

    from wordvec_ca.errors import DataError, install_extra

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"Parquet needs pyarrow: {install_extra('parquet')}") from error
    kinds = {"rank": pyarrow.int32(), "score": pyarrow.float32()}
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in header])
    number, rows = 0, iter(rows)
    with parquet.ParquetWriter(file, schema) as writer:
        while part := list(islice(rows, 1 << 17)):
            columns = [list(column) for column in zip(*part, strict=True)]
            writer.write_table(pyarrow.table(columns, schema=schema))
            number += len(part)
    return number
