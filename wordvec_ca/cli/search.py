"""``cawv search``: sentences of a text nearest to a query."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.json_output import JsonCommand, json_option, record_writer
from wordvec_ca.cli.options import Choice
from wordvec_ca.cli.output import say, show
from wordvec_ca.cli.paths import OUTPUT, ExistingPath
from wordvec_ca.cli.sentence_options import make_vectorizer, vectorizer_options


@click.command(name="search", cls=JsonCommand, short_help="Sentences of a text nearest to a query.")
@click.argument("model", type=ExistingPath())
@click.argument("corpus", type=ExistingPath())
@click.argument("query", nargs=-1)
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option("--index", type=OUTPUT, metavar="DIR", help="[default: CORPUS.cawv-index]")
@click.option(
    "--dtype",
    type=Choice(["float32", "float16"]),
    default="float32",
    show_default=True,
    help="Of the index; float16 takes half the space.",
)
@click.option("--rebuild", is_flag=True, help="Index again even if nothing has changed.")
@click.option("--approximate", is_flag=True, help="Use the index that cawv index CORPUS.cawv-index has made.")
@json_option("A JSON object a query.")
@click.option("-q", "--quiet", is_flag=True, help="Only the result.")
@vectorizer_options
def command(
    model: str,
    corpus: str,
    query: tuple[str, ...],
    topn: int,
    index: str | None,
    dtype: Any,
    rebuild: bool,
    approximate: bool,
    json_to: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Print the lines of CORPUS nearest to each QUERY, with their cosines and line numbers.

    The first call indexes CORPUS (one sentence a line); later ones only search, until CORPUS, MODEL or the
    options change. Without QUERY, queries are read from standard input, one a line.
    """
    from wordvec_ca.cli.neighbour_index import offer, opened
    from wordvec_ca.errors import DataError
    from wordvec_ca.files import terminal_text
    from wordvec_ca.sentences import SearchIndex, TextLines, read_index_record
    from wordvec_ca.vectors import KeyedVectors

    place = Path(index or f"{os.path.normpath(corpus)}.cawv-index")
    source = {
        "corpus": _state(corpus),
        "model": _state(model),
        "dtype": dtype,
        "options": {name: value for name, value in options.items() if value is not None},
    }
    vectors = KeyedVectors.load(model)
    found = None
    if place.exists() and not rebuild:
        if read_index_record(place).get("source") == source:
            found = SearchIndex.load(place, vectors)
        elif not quiet:
            say(f"{place} is of another text, model or choice of options: indexing again")
    if found is None:
        began = time.perf_counter()
        lines = TextLines([corpus])
        vectorizer = make_vectorizer(vectors, **options).fit(lines)
        found = SearchIndex.build(lines, vectorizer, place, dtype=dtype, source=source)
        if not quiet:
            say(f"{vectorizer.coverage_}")
            say(f"indexed in {time.perf_counter() - began:.1f} s: {place}")
    indexer = opened(place, found.vectors) if approximate else None
    if indexer is None:
        offer(place, len(found))
    failed = False
    with record_writer(json_to, "query") as write:
        for given in query or filter(None, map(str.strip, sys.stdin)):
            began = time.perf_counter()
            text = _known_words(found.vectorizer, vectors, given)
            try:
                hits = found.search(text, topn, indexer=indexer)
            except DataError as error:  # the next one may be answered
                say(f"Error: {error}")
                failed = True
                continue
            seconds = time.perf_counter() - began
            rows = [{"score": hit.score, "line": hit.row + 1, "text": hit.text} for hit in hits]
            write({"query": text, "hits": rows})
            if json_to != "-":
                if len(query) != 1:
                    show(terminal_text(given))
                for hit in hits:
                    show(f"{hit.score:.4f}\t{hit.row + 1}\t{terminal_text(hit.text)}")
            if not quiet:
                say(f"{len(found):,} sentences in {1000 * seconds:.0f} ms")
            if not hits:
                say(f"no sentence of {corpus} has a vector: nothing is near {text!r}")
    if failed:
        raise click.exceptions.Exit(1)


def _known_words(vectorizer: Any, vectors: Any, query: str) -> str:
    """Return the query with words in lower case that have a vector only so, and say which."""
    if vectorizer.lowercase or not isinstance(vectorizer.tokenizer, str):
        return query
    from wordvec_ca.cli.neighbour_table import look_up
    from wordvec_ca.text import tokenize

    words = tokenize(query.encode("utf-8", "replace").decode(), vectorizer.tokenizer, lowercase=False)
    known = {word: look_up(vectors, word) or word for word in dict.fromkeys(words)}
    return " ".join(known[word] for word in words) if any(a != b for a, b in known.items()) else query


def _state(path: str) -> list[Any]:
    """Return what tells whether a file or directory has changed: name, size and time of each file."""
    here = Path(path)
    files = sorted(file for file in here.rglob("*") if file.is_file()) if here.is_dir() else [here]
    return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
