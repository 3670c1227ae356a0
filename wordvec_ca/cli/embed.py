"""``cawv embed``: makes sentence vectors of any amount of text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import Choice, option, vectors_option
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import INPUT, OUTPUT_FILE, OUTPUT_FOLDER, ExistingPath, Inputs
from wordvec_ca.cli.sentence_options import (
    TAG_FIELD,
    SentenceCommand,
    infers,
    make_vectorizer,
    text_fields,
    vectorizer_options,
)
from wordvec_ca.cli.table_file import FORMATS, check_suffix, write_table

ARRAY = ".npy"


@click.command(name="embed", cls=SentenceCommand, short_help="Sentence vectors of any amount of text.")
@click.argument("model", type=ExistingPath())
@click.argument("sentences", nargs=-1, required=True, metavar="SENTENCES...", type=INPUT)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    required=True,
    help=f"File to write: an array, {ARRAY}, or tags and vectors, {', '.join(FORMATS)}.",
)
@click.option(
    "--fit", multiple=True, type=INPUT, metavar="TEXT", help="Learn from these files instead of SENTENCES."
)
@click.option(
    "--load-fit", type=ExistingPath(), help="Use the fit that --save-fit wrote, instead of fitting."
)
@click.option("--save-fit", type=OUTPUT_FOLDER, help="Directory to save the fit to.")
@click.option("--dtype", type=Choice(["float32", "float16"]), default="float32", show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
@option("field")
@TAG_FIELD
@option("encoding")
@vectors_option
@vectorizer_options
def command(
    model: str,
    sentences: tuple[str, ...],
    output: str,
    fit: tuple[str, ...],
    load_fit: str | None,
    save_fit: str | None,
    dtype: str,
    overwrite: bool,
    quiet: bool,
    field: str | tuple[str, ...] | None,
    tag_field: str | None,
    encoding: str | None,
    form: str | None,
    **options: Any,
) -> None:
    """Write a row for each line of SENTENCES: files (plain or compressed), directories, patterns, or -.

    For a model of documents (cawv train --model pv-dbow, pv-dm, ...) each line is a document, and its row is
    inferred: the same text always has the same row. Each row is written to OUTPUT at once, so the text may be
    of any size. Fitting takes four bytes of memory per token. A line without a known word becomes a row of
    zeros. If some files cannot be read, the others are written, the faulty ones are named at the end, and the
    exit code is 1. The tag of a line without --tag-field is its number, from 0. The tags of the rows of an
    array go to OUTPUT.tags.json.
    """
    import numpy as np

    from wordvec_ca.files import check_output, is_read_once, save_json, write_npy_stream
    from wordvec_ca.kernels import write_rows
    from wordvec_ca.sentences import FIT_FILES, Coverage, SentenceVectorizer, TextLines

    check_suffix(output, ARRAY)
    is_array = Path(output).suffix == ARRAY
    if dtype != "float32" and not is_array:
        raise click.UsageError(f"--dtype {dtype} goes with {ARRAY}: leave it out")
    vectors = load_vectors(model, vectors=form)
    learns = not (fit or load_fit or infers(vectors, model, **options))
    if any(map(is_read_once, sentences)) and learns:
        raise click.UsageError(
            "standard input and pipes can be read only once: give --fit or --load-fit with them"
        )
    if fit and load_fit:
        raise click.UsageError("--fit and --load-fit exclude each other")
    if save_fit:
        check_output(save_fit, overwrite=True, files=FIT_FILES)
    inputs = Inputs()
    field, tag_field = text_fields(vectors, list(sentences), field, tag_field, quiet)
    text: dict[str, Any] = {"field": field, "encoding": encoding}
    files = inputs.texts(sentences, **text)
    inputs.check_some(files)
    lines = TextLines(files, **text, tag_field=tag_field)
    if load_fit:
        vectorizer = SentenceVectorizer.load(load_fit, vectors)
    else:
        if (fit or save_fit) and infers(vectors, model, **options):
            raise click.UsageError(
                "a model of documents infers without learning: leave out --fit, --save-fit"
            )
        vectorizer = make_vectorizer(vectors, model, **options).fit(TextLines(fit, **text) if fit else lines)
    if save_fit:
        vectorizer.save(save_fit)
    covered = Coverage()

    def blocks() -> Any:
        nonlocal covered
        for block, coverage in vectorizer.stream(lines):
            covered += coverage
            yield block

    def rows() -> Iterator[list[Any]]:
        number = 0
        for block in blocks():
            # the shortest decimals of a float32; those of Python's numbers would be twice as long
            for line in write_rows(np.ascontiguousarray(block), None, ",").splitlines():
                yield [", ".join(lines.tags_of(number)), json.loads(b"[%b]" % line)]
                number += 1

    if not is_array:
        size = vectors.vector_size
        write_table(rows(), ["tag", "vector"], output, overwrite=overwrite, vector_size=size)
    else:
        write_npy_stream(output, blocks(), vectors.vector_size, dtype)
        if lines.tags is not None:
            save_json(Path(output).with_suffix(".tags.json"), lines.tags)
    if not quiet:
        say(f"{output}: {covered}")
        if lines.repaired:
            say(f"{lines.repaired:,} lines were not UTF-8; bad bytes were read as U+FFFD")
    inputs.finish()
