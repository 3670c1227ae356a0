"""``cawv report``: a page about a model."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(name="report", short_help="A page about a model.")
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="HTML file to write, or - for standard output.  [default: MODEL/report.html]",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists; MODEL/report.html always is.")
def command(model: Path, output: str | None, overwrite: bool) -> None:
    """Write an HTML page that explains the model directory MODEL, and print its name.

    Loss, learning rate and speed over the run, the vocabulary, what attention looks at, neighbours of some
    words, the command that made it and its whole configuration: one file that asks for nothing elsewhere.
    """
    from wordvec_ca.atomic_file import atomic_file
    from wordvec_ca.run_report import render

    page = render(model).encode("utf-8", "replace")
    if output == "-":
        sys.stdout.buffer.write(page)
        return
    place = model / "report.html" if output is None else Path(output)
    with atomic_file(place, overwrite=overwrite or output is None) as file:
        file.write(page)
    click.echo(place)
