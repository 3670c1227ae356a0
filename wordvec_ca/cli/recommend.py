"""``cawv recommend``: items for a basket, or beside each item."""

from __future__ import annotations

import json
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import json_option, vectors_option
from wordvec_ca.cli.output import reason, say, show_json, styled, write
from wordvec_ca.cli.paths import INPUT, OUTPUT_FILE, ExistingPath
from wordvec_ca.cli.table_file import FORMATS, NAMES, allowed_items, catalogue, check_suffix, write_table


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
    "--allow",
    type=INPUT,
    metavar="FILE",
    help="Recommend only these items, those in stock: one a line, or first in a row of .csv or .tsv.",
)
@NAMES
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
    if output is not None:
        check_suffix(output)
    vectors = load_vectors(model, vectors=form)
    allowed = None if allow is None else allowed_items(allow, vectors)
    named = {} if names is None else catalogue(names, vectors)
    if output is not None:
        header = ["item", "rank", "recommended", "score", *(["name"] if named else [])]
        rows = (
            [item, rank, other, round(score, 6), *([named.get(other, "")] if named else [])]
            for item, others in recommend_each(vectors, topn, allowed=allowed)
            for rank, (other, score) in enumerate(others, 1)
        )
        n = write_table(rows, header, output, overwrite=overwrite)
        say(f"{n:,} recommendations for {len(vectors):,} items: {output}")
        return
    failed = False
    for number, given in enumerate(baskets):
        basket = [given] if given in vectors.key_to_index else _items(given)  # names may have commas
        unknown = [item for item in basket if item not in vectors]
        for item in unknown:
            close = vectors.close_spellings(item)
            # of several codes that are equally near, none is meant more than another
            say(f"{item!r} has no vector" + (f"; did you mean {close[0]}?" if len(close) == 1 else ""))
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
            lines = [
                [str(i), item, f"{score:.4f}", *([named.get(item, "")] if named else [])]
                for i, (item, score) in enumerate(found, 1)
            ]
            write("\n" * bool(number) + styled(", ".join(basket), "query"))
            write(table(columns, lines) if lines else "   (none)")
        if found and found[-1][1] <= 0:
            say("items with a score of 0 or less are no nearer to the basket than unrelated ones")
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
