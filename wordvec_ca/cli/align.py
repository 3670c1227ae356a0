"""``cawv align``: one model in the space of another."""

from __future__ import annotations

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import vectors_option
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import OUTPUT, ExistingPath


@click.command("align", short_help="Put one model into the space of another.")
@click.argument("model", type=ExistingPath())
@click.argument("target", type=ExistingPath())
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="OUT",
    required=True,
    help="File to write; its suffix chooses the format, as for cawv export.",
)
@click.option(
    "--left-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the common words, those that move most, that the fit leaves out.",
)
@vectors_option
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
def command(model: str, target: str, output: str, left_out: float, form: str | None, overwrite: bool) -> None:
    """Turn the vectors of MODEL so that those of the same words in TARGET are near, and write them to OUT.

    Cosines between words of MODEL stay as they are; cosines between words of OUT and words of TARGET become
    meaningful. Standard error shows how well they fit.
    """
    from wordvec_ca.formats import format_of_suffix
    from wordvec_ca.vectors import align

    try:
        to = format_of_suffix(output)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    vectors = load_vectors(model, vectors=form)
    aligned, fit = align(vectors, load_vectors(target, vectors=form), left_out=left_out)
    aligned.save(output, format=to, overwrite=overwrite)
    say(f"Wrote {len(aligned):,} vectors to {output} ({to}): {fit}")
    if vectors.ngrams is not None:
        say("Note: n-grams are not written, so unknown words have no vector there")
