"""``cawv explore``: shows words on a map, in one page for any browser."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import Choice, vectors_option
from wordvec_ca.cli.output import say, show
from wordvec_ca.cli.paths import ExistingPath, OutputPath
from wordvec_ca.cli.table_file import NAMES, catalogue
from wordvec_ca.cli.terminal import status
from wordvec_ca.errors import Option, install_extra
from wordvec_ca.specs.model_files import ModelFile

# Default size limit of a page, which most mail programs can send.
MEGABYTES = 25.0


@click.command(name="explore", short_help="Words on a map, in one page for any browser.")
@click.argument("model", type=ExistingPath())
@click.argument("other", required=False, type=ExistingPath())
@click.option(
    "-o",
    "--output",
    type=OutputPath("file", inside=(ModelFile.WORDS_PAGE,)),
    metavar="FILE",
    help="Page to write, or a table: FILE.parquet.  [default for a model directory: MODEL/words.html]",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists; MODEL/words.html always is.")
@click.option(
    "--words",
    type=click.IntRange(min=2),
    metavar="N",
    help="The N most frequent words.  [default: 100,000, or as many as --max-size allows]",
)
@click.option(
    "--documents",
    type=click.IntRange(min=0),
    metavar="N",
    help="For a model of documents: show N; beside words, *dt_ is before their tags.  [default: 2,000]",
)
@click.option(
    "--max-size",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MB",
    help=f"Take fewer words if the page would be larger.  [default: {MEGABYTES:g}; none with --words]",
)
@click.option(
    "--method",
    type=Choice(["auto", "tsne", "pca"]),
    default="auto",
    show_default=True,
    help="How words get their places; auto is tsne if openTSNE is installed, else pca.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the map.")
@click.option(
    "--colour-by",
    metavar="FILE.tsv|FIELD",
    help="Colour by classes of words, lines of word TAB class; or by a field of the records of documents.",
)
@NAMES
@vectors_option
@click.option("--no-cache", is_flag=True, help="Do not keep the map in MODEL.cawv-maps for the next time.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def command(
    model: str,
    other: str | None,
    output: str | None,
    overwrite: bool,
    words: int | None,
    documents: int | None,
    max_size: float | None,
    method: str,
    seed: int,
    colour_by: str | None,
    names: str | None,
    form: str | None,
    no_cache: bool,
    quiet: bool,
) -> None:
    """Write a page with a map of the words of MODEL, and print the name of the file.

    The page is one file that any browser opens and that loads nothing else. It has search, nearest words,
    sums of words, a lasso, and for attention models their weights in a sentence that you type. With OTHER it
    shows how the two models differ, on the words of both.

    MODEL and OTHER are model directories or files of vectors in any format that export writes. A .parquet has
    a row for each word: word, count, x, y, region and neighbors (ids and distances), for embedding-atlas.
    """
    from wordvec_ca.change import saved_verdicts
    from wordvec_ca.formats import detect_format
    from wordvec_ca.report import explore

    if output is None and (other is not None or detect_format(model) != "model"):
        raise click.UsageError("give -o FILE: only the page of a single model directory has a default name")
    place = Path(model) / ModelFile.WORDS_PAGE if output is None else Path(output)
    page = place.suffix != ".parquet"
    limit = MEGABYTES if page and max_size is None and words is None else max_size
    with status(quiet) as tell:
        texts, classes = _told(model, documents, colour_by) if other is None else (None, None)
        made = explore(
            model,
            other,
            words=words or 100_000,
            documents=documents,
            max_megabytes=limit,
            method=method,  # type: ignore[arg-type]  # one of the choices
            seed=seed,
            classes=classes,
            texts=texts,
            names=None if names is None else catalogue(names, load_vectors(model, vectors=form)),
            changed=None if other is None else saved_verdicts(model, other),
            cache=not no_cache,
            vectors=form,
            tell=tell,
        )
    if not quiet:  # before the page is made, since making it may fail
        say(f"{made.n_words:,} words; the map, by {made.shown_method}, {made.shown_kept}")
        if made.method == "pca" and method == "auto":
            say(f"a map by t-SNE keeps more of them: {install_extra('map')}")
    ours = output is None  # whoever made MODEL may have put a link there
    made.save(place, overwrite=overwrite or ours, follow_links=not ours)
    if page and not quiet:
        say(f"the page has {len(made.html) / 1e6:.1f} MB")
    show(place)


def _told(model: str, documents: int | None, colour_by: str | None) -> tuple[Any, dict[str, str] | None]:
    """Return a function that reads texts of documents, and classes to colour by, of a file or a field."""
    from wordvec_ca.documents import texts_of_training
    from wordvec_ca.errors import DataError
    from wordvec_ca.models import (
        PREFIX,
        SHOWN_DOCUMENTS,
        document_vectors,
        read_record,
        shown_documents,
    )
    from wordvec_ca.report import read_classes

    texts = None
    classes = None
    if colour_by is not None and Path(colour_by).is_file():
        classes, colour_by = read_classes(colour_by), None
    if Path(model, ModelFile.DOCUMENTS).is_file() and documents != 0:
        record = read_record(Path(model))
        table, _ = document_vectors(model)
        limit = SHOWN_DOCUMENTS if documents is None else documents
        tags = {table.index_to_key[row] for row in shown_documents(len(table), limit)}
        texts = partial(texts_of_training, record)
        if colour_by is not None:
            try:
                values = texts_of_training(record, tags, colour_by)
            except DataError as error:  # the reader of the text names the option with which it was trained
                there, here = Option("field"), Option("colour_by")
                raise DataError(*(here if piece == there else piece for piece in error.args)) from error
            classes, colour_by = {PREFIX + tag: value.strip() for tag, value in values.items()}, None
    if colour_by is not None:
        raise DataError(f"there is no file {colour_by!r}, and {model!r} has no documents with such a field")
    return texts, classes
