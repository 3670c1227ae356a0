"""``cawv report``: a page about a model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wordvec_ca.cli.output import show
from wordvec_ca.cli.paths import ExistingPath, OutputPath
from wordvec_ca.specs.model_files import ModelFile


@click.command(name="report", short_help="A page about a model.")
@click.argument("model", type=ExistingPath(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=OutputPath("file", inside=(ModelFile.REPORT_PAGE,), stdout=True),
    metavar="FILE",
    help="HTML file to write, or - for standard output.  [default: MODEL/report.html]",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists; MODEL/report.html always is.")
def command(model: Path, output: str | None, overwrite: bool) -> None:
    """Write an HTML page that explains the model directory MODEL, and print its name.

    Loss, learning rate and speed over the run, the vocabulary, what attention looks at, neighbours of some
    words, the command that made it and its whole configuration, in one file that loads nothing else.
    """
    from wordvec_ca.errors import DataError
    from wordvec_ca.files import atomic_file
    from wordvec_ca.report import render

    if not (model / ModelFile.CONFIG).is_file() or not _is_of_a_run(model):
        raise DataError(
            f"{str(model)!r} is not the directory of a trained model, and a report shows a training; "
            "of vectors alone `cawv nn` shows neighbours, and `cawv eval` says how good they are"
        )
    place = model / ModelFile.REPORT_PAGE if output is None else Path(output)
    page = render(model, place=None if output == "-" else place).encode("utf-8", "replace")
    if output == "-":
        sys.stdout.buffer.write(page)
        return
    ours = output is None  # whoever made MODEL may have put a link there
    with atomic_file(place, overwrite=overwrite or ours, follow_links=not ours) as file:
        file.write(page)
    show(place)


def _is_of_a_run(model: Path) -> bool:
    """Return whether a model's record is that of a training run; `cawv reembed` writes another kind."""
    import json

    try:
        record = json.loads((model / ModelFile.CONFIG).read_text("utf-8"))
    except (OSError, RecursionError, ValueError):
        return True  # there is a record: the function that reads it reports what is wrong
    return isinstance(record, dict) and "config" in record
