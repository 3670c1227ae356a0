"""``cawv search``: sentences of a text nearest to a query."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.sentence_options import make_vectorizer, vectorizer_options


@click.command(name="search", short_help="Sentences of a text nearest to a query.")
@click.argument("model", type=click.Path(exists=True))
@click.argument("corpus", type=click.Path(exists=True))
@click.argument("query", nargs=-1)
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option("--index", type=click.Path(path_type=Path), help="[default: CORPUS.cawv-index]")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "float16"]),
    default="float32",
    show_default=True,
    help="Of the index; float16 takes half the space.",
)
@click.option("--rebuild", is_flag=True, help="Index again even if nothing has changed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a query.")
@click.option("-q", "--quiet", is_flag=True, help="Only the result.")
@vectorizer_options
def command(
    model: str,
    corpus: str,
    query: tuple[str, ...],
    topn: int,
    index: Path | None,
    dtype: Any,
    rebuild: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Print the lines of CORPUS nearest to each QUERY, with their cosines and line numbers.

    The first call indexes CORPUS (one sentence a line); later ones only search, until CORPUS, MODEL or the
    options change. Without QUERY, queries are read from standard input, one a line.
    """
    from wordvec_ca.errors import DataError
    from wordvec_ca.keyedvectors import KeyedVectors
    from wordvec_ca.search import SearchIndex, read_record
    from wordvec_ca.sentences import TextLines

    place = index or Path(f"{os.path.normpath(corpus)}.cawv-index")
    source = {
        "corpus": _state(corpus),
        "model": _state(model),
        "dtype": dtype,
        "options": {name: value for name, value in options.items() if value is not None},
    }
    vectors = KeyedVectors.load(model)
    found = None
    if place.exists() and not rebuild:
        if read_record(place).get("source") == source:
            found = SearchIndex.load(place, vectors)
        elif not quiet:
            click.echo(f"{place} is of another text, model or choice of options: indexing again", err=True)
    if found is None:
        began = time.perf_counter()
        lines = TextLines([corpus])
        vectorizer = make_vectorizer(vectors, **options).fit(lines)
        found = SearchIndex.build(lines, vectorizer, place, dtype=dtype, source=source)
        if not quiet:
            click.echo(f"{vectorizer.coverage_}", err=True)
            click.echo(f"indexed in {time.perf_counter() - began:.1f} s: {place}", err=True)
    failed = False
    for text in query or filter(None, map(str.strip, sys.stdin)):
        began = time.perf_counter()
        try:
            hits = found.search(text, topn)
        except DataError as error:  # the next one may be answered
            click.echo(f"Error: {error}", err=True)
            failed = True
            continue
        seconds = time.perf_counter() - began
        if as_json:
            rows = [{"score": hit.score, "line": hit.row + 1, "text": hit.text} for hit in hits]
            click.echo(json.dumps({"query": text, "hits": rows}, ensure_ascii=False))
        else:
            for hit in hits:
                click.echo(f"{hit.score:.4f}\t{hit.row + 1}\t{hit.text}")
        if not quiet:
            click.echo(f"{len(found):,} sentences in {1000 * seconds:.0f} ms", err=True)
        if not hits:
            click.echo(f"no sentence of {corpus} has a vector: nothing is near {text!r}", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def _state(path: str) -> list[Any]:
    """Return what tells whether a file or directory has changed: name, size and time of each file."""
    here = Path(path)
    files = sorted(file for file in here.rglob("*") if file.is_file()) if here.is_dir() else [here]
    return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
