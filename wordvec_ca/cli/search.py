"""``cawv search``: finds the sentences of a text that are nearest to a query."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import Choice, exact_option, json_option, option, vectors_option
from wordvec_ca.cli.output import (
    is_terminal,
    reason,
    say,
    show,
    show_json,
    styled,
    terminal_width,
    write,
)
from wordvec_ca.cli.paths import OUTPUT, ExistingPath
from wordvec_ca.cli.sentence_options import (
    TAG_FIELD,
    SentenceCommand,
    infers,
    make_vectorizer,
    text_fields,
    vectorizer_options,
)
from wordvec_ca.cli.terminal import status, wrapped

PROMPT = "search> "
# Largest number of lines of a sentence that are shown on a terminal.
LINES = 3


@click.command(name="search", cls=SentenceCommand, short_help="Sentences of a text nearest to a query.")
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
    help="Type of the index; float16 takes half the space.",
)
@click.option("--rebuild", is_flag=True, help="Index again even if nothing has changed.")
@exact_option
@json_option("A JSON object a query")
@click.option("-q", "--quiet", is_flag=True, help="Print only the result.")
@option("field")
@TAG_FIELD
@option("encoding")
@vectors_option
@vectorizer_options
def command(
    model: str,
    corpus: str,
    query: tuple[str, ...],
    topn: int,
    index: str | None,
    dtype: Any,
    rebuild: bool,
    exact: bool,
    as_json: bool,
    quiet: bool,
    field: str | tuple[str, ...] | None,
    tag_field: str | None,
    encoding: str | None,
    form: str | None,
    **options: Any,
) -> None:
    """Print the lines of CORPUS nearest to each QUERY, with their cosines and line numbers.

    The first call indexes CORPUS (one sentence a line); later ones only search, until CORPUS, MODEL or the
    options change. A model of documents (cawv train --model pv-dbow, pv-dm, ...) infers the vectors of lines
    and queries, which may be whole texts, and reads records as in its training. With tags, a hit has its tag
    instead of its line number. Without QUERY, queries are read from standard input, one a line; a person is
    prompted.

    On a terminal each sentence has its rank, and words of the query are marked. Elsewhere a line is the
    cosine, the line number or tag, and the sentence, with tabs between them.
    """
    from wordvec_ca.cli.models import faster_index
    from wordvec_ca.errors import DataError
    from wordvec_ca.files import check_readable_again, terminal_text
    from wordvec_ca.sentences import SearchIndex, TextLines, read_index_record

    check_readable_again(corpus)
    vectors = load_vectors(model, vectors=form)
    field, tag_field = text_fields(vectors, [corpus], field, tag_field, quiet)
    place = Path(index or f"{os.path.normpath(corpus)}.cawv-index")
    source = {
        "corpus": _state(corpus),
        "model": _state(model),
        "dtype": dtype,
        "options": {name: value for name, value in options.items() if value is not None}
        | ({"field": list(field) if isinstance(field, tuple) else field} if field else {})
        | ({"tag_field": tag_field} if tag_field else {})
        | ({"encoding": encoding} if encoding else {})
        | ({"vectors": form} if form else {}),
    }
    inferring = make_vectorizer(vectors, model, **options) if infers(vectors, model, **options) else None
    found = None
    if place.exists() and not rebuild:
        if read_index_record(place).get("source") == source:
            found = SearchIndex.load(place, vectors) if inferring is None else inferring.open_index(place)
        elif not quiet:
            say(f"{place} is of another text, model or choice of options: indexing again")
    if found is None:
        began = time.perf_counter()
        lines = TextLines([corpus], field=field, encoding=encoding, tag_field=tag_field)
        with status(quiet or not is_terminal(sys.stderr)) as tell:
            learning = _Told(lines, tell, f"learning from {corpus}")
            vectorizer = inferring or make_vectorizer(vectors, model, **options).fit(learning)
            indexing = _Told(lines, tell, f"indexing {corpus}")
            found = SearchIndex.build(indexing, vectorizer, place, dtype=dtype, source=source)
        if not quiet:
            say(f"{vectorizer.coverage_}")
            say(f"indexed in {time.perf_counter() - began:.1f} s: {place}")
    indexer = None if exact else faster_index(place, found.vectors, quiet=quiet)
    failed = False
    for given in query or _typed():
        began = time.perf_counter()
        text = _known_words(found.vectorizer, vectors, given)
        try:
            hits = found.search(text, topn, indexer=indexer)
        except DataError as error:  # the next query may have an answer
            say(f"Error: {reason(error)}")
            failed = True
            continue
        seconds = time.perf_counter() - began
        rows = [
            {"score": hit.score, "line": hit.row + 1}
            | ({} if hit.tag is None else {"tag": hit.tag})
            | {"text": hit.text}
            for hit in hits
        ]
        if as_json:
            show_json({"query": text, "hits": rows})
        else:
            if len(query) != 1 and not _is_prompted(query):
                show(terminal_text(given))
            width = terminal_width()
            for rank, hit in enumerate(hits, 1):
                if width is None:
                    name = str(hit.row + 1) if hit.tag is None else terminal_text(hit.tag)
                    show(f"{hit.score:.4f}\t{name}\t{terminal_text(hit.text)}")
                else:
                    write(_shown(rank, hit, text, width))
        if not quiet:
            say(f"{len(found):,} sentences in {1000 * seconds:.0f} ms")
        if not hits:
            say(f"no sentence of {corpus} has a vector: nothing is near {text!r}")
    if failed:
        raise click.exceptions.Exit(1)


class _Told:
    """Sentences that can be read several times; reports the number of sentences read."""

    def __init__(self, sentences: Iterable[str | list[str]], tell: Any, what: str) -> None:
        self._sentences, self._tell, self._what = sentences, tell, what

    @property
    def tags(self) -> list[str] | None:
        """The tags, when all have been read."""
        return getattr(self._sentences, "tags", None)

    def __iter__(self) -> Iterator[str | list[str]]:
        for number, sentence in enumerate(self._sentences):
            if number % 10_000 == 0:
                self._tell(f"{self._what}: {number:,} sentences")
            yield sentence


def _is_prompted(query: tuple[str, ...]) -> bool:
    return not query and is_terminal(sys.stdin)


def _typed() -> Iterator[str]:
    """Yield the queries on standard input; on a terminal, a prompt supports the editing keys of a shell."""
    if not is_terminal(sys.stdin):
        yield from filter(None, map(str.strip, sys.stdin))
        return
    import contextlib

    with contextlib.suppress(ImportError):  # readline does not exist on every system
        import readline  # noqa: F401
    say("Type a query; Ctrl-D ends.")
    while True:
        try:
            given = input(PROMPT).strip()
        except EOFError:
            say("")
            return
        if given:
            yield given


def _shown(rank: int, hit: Any, query: str, columns: int) -> str:
    """Format a sentence for a terminal: rank, cosine and line number, then its text with the words of the
    query marked.
    """
    from wordvec_ca.files import terminal_text

    words = set(re.findall(r"\w+", query.casefold()))
    lines = wrapped(terminal_text(hit.text), columns - 6)
    if len(lines) > LINES:
        hits = [sum(word in words for word in re.findall(r"\w+", line.casefold())) for line in lines]
        sums = [sum(hits[i : i + LINES]) for i in range(len(lines) - LINES + 1)]
        begin = max(range(len(sums)), key=sums.__getitem__)
        end = begin + LINES
        before, after = "… " if begin else "", " …" if end < len(lines) else ""
        lines = lines[begin:end]
        lines[0], lines[-1] = before + lines[0], lines[-1] + after

    def marked(match: re.Match[str]) -> str:
        return styled(match[0], "match") if match[0].casefold() in words else match[0]

    name = f"line {hit.row + 1:,}" if hit.tag is None else terminal_text(hit.tag)
    head = f"{rank:>3}  {hit.score:.4f}  " + styled(name, "aside")
    return "\n".join([head, *("     " + re.sub(r"\w+", marked, line) for line in lines)])


def _known_words(vectorizer: Any, vectors: Any, query: str) -> str:
    """Return the query with words in lower case, and reported, if only that form has a vector."""
    if vectorizer.lowercase or not isinstance(vectorizer.tokenizer, str):
        return query
    from wordvec_ca.cli.neighbour_table import look_up
    from wordvec_ca.text import tokenize

    words = tokenize(query.encode("utf-8", "replace").decode(), vectorizer.tokenizer, lowercase=False)
    known = {word: look_up(vectors, word) or word for word in dict.fromkeys(words)}
    return " ".join(known[word] for word in words) if any(a != b for a, b in known.items()) else query


def _state(path: str) -> list[Any]:
    """Return name, size and time of each file, which show whether a file or directory has changed."""
    here = Path(path)
    files = [here]
    if (
        here.is_dir()
    ):  # pages that `report` and `explore` write into a model's directory are not a change of the model
        files = sorted(file for file in here.rglob("*") if file.is_file() and file.suffix != ".html")
    return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
