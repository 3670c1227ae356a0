"""``cawv publish``: gives a trained model another form of published vectors."""

from __future__ import annotations

import click

from wordvec_ca.cli.options import Choice
from wordvec_ca.cli.output import say, show
from wordvec_ca.cli.paths import OUTPUT, ExistingPath
from wordvec_ca.specs.models import VECTOR_FORMS

_FORMS = "\n".join(f"{name:<7} {text}" for name, text in VECTOR_FORMS.items())

HELP = f"""Change which vectors MODEL, a model directory, publishes, without training.

\b
{_FORMS}

The parameters stay as they are, and so does what continues from them. Pages of cawv report and explore
show the former vectors and are removed; an index of cawv index must be made again.
"""


@click.command(name="publish", short_help="Change which vectors a model publishes.", help=HELP)
@click.argument("model", type=ExistingPath(file_okay=False))
@click.option("--vectors", "form", type=Choice(VECTOR_FORMS), required=True, help="Form of the vectors.")
@click.option(
    "-o", "--output", type=OUTPUT, metavar="DIR", help="Write a copy of MODEL there.  [default: change MODEL]"
)
@click.option("--overwrite", is_flag=True, help="Replace DIR if it exists.")
def command(model: str, form: str, output: str | None, overwrite: bool) -> None:
    """Write the vectors, and print the model directory."""
    from wordvec_ca.models import publish
    from wordvec_ca.vectors import KeyedVectors

    publish(model, form, output=output, overwrite=overwrite)
    place = output or model
    vectors = KeyedVectors.load(place)
    say(f"{len(vectors):,} vectors of size {vectors.vector_size}: {VECTOR_FORMS[form]}")
    show(place)
