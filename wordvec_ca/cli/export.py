"""``cawv export``: vectors from one format into another."""

from __future__ import annotations

import click

_FORMATS = ["word2vec", "word2vec-binary", "glove", "gensim", "safetensors", "projector"]
_ERRORS = ["strict", "surrogateescape", "replace", "ignore"]


@click.command(name="export", short_help="Write vectors in another format.")
@click.argument("model", type=click.Path(exists=True))
@click.option("-o", "--output", type=click.Path(), metavar="OUT", help="File to write (projector: folder).")
@click.option("-f", "--format", "to", type=click.Choice(_FORMATS), help="Default: as the suffix of OUT says.")
@click.option(
    "--from",
    "source",
    type=click.Choice(["auto", "model", *_FORMATS]),
    default="auto",
    show_default=True,
    help="Format of MODEL.",
)
@click.option(
    "--errors",
    type=click.Choice(_ERRORS),
    default="strict",
    show_default=True,
    help="Words that are not UTF-8: refuse, keep their bytes, or spoil them.",
)
@click.option("--keep-first", is_flag=True, help="If a word repeats in MODEL, keep its first vector.")
@click.option("--skip-unwritable", is_flag=True, help="Leave out words that the format cannot hold.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
def command(
    model: str,
    output: str | None,
    to: str | None,
    source: str,
    errors: str,
    keep_first: bool,
    skip_unwritable: bool,
    overwrite: bool,
) -> None:
    """Write the vectors of MODEL, a model directory or a file in any of these formats, to OUT.

    \b
    format           suffix           content
    word2vec         .txt .vec .w2v   text with a header
    word2vec-binary  .bin             words and raw float32
    glove            .glove           text without header
    gensim           .kv              for gensim's KeyedVectors.load(OUT, mmap="r")
    safetensors      .safetensors     tensors vectors, words, counts
    projector        .projector       folder for projector.tensorflow.org

    A further suffix .gz, .bz2, .xz or .zst compresses text and word2vec-binary. Numbers in text are the
    shortest decimals that give the same float32 back. A model directory that was made without gensim gets
    its index vectors.kv with --format gensim and without -o.
    """  # noqa: D301 - click needs the backspace
    from wordvec_ca.formats import format_of_suffix
    from wordvec_ca.keyedvectors import KeyedVectors

    if output is None:
        if to != "gensim":
            raise click.UsageError("Missing option '-o': where should the vectors be written?")
        from wordvec_ca.gensim_index import add_gensim_index

        click.echo(f"Wrote {add_gensim_index(model, overwrite=overwrite)}", err=True)
        return
    try:
        to = to or format_of_suffix(output)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    vectors = KeyedVectors.load(
        model, format=source, errors=errors, duplicates="first" if keep_first else "refuse"
    )
    n_written = vectors.save(
        output,
        format=to,
        errors=errors,
        unwritable="skip" if skip_unwritable else "refuse",
        overwrite=overwrite,
    )
    click.echo(f"Wrote {n_written:,} vectors of size {vectors.vector_size} to {output} ({to})", err=True)
