"""``cawv publish``: other vectors of a trained model, or n-grams for vectors of any origin."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.options import Choice
from wordvec_ca.cli.output import say, show, show_styled
from wordvec_ca.cli.paths import OUTPUT, ExistingPath
from wordvec_ca.specs.models import VECTOR_FORMS

# 76 columns: the help has a margin of two, and click does not wrap these lines
_FORMS = "\n".join(
    textwrap.fill(text, 76, initial_indent=f"{name:<7} ", subsequent_indent=" " * 8)
    for name, text in VECTOR_FORMS.items()
)

HELP = f"""Change which vectors MODEL publishes, without training.

\b
cawv publish wiki.model --vectors output   another form of a model
cawv publish glove.txt -o glove.bin        add n-grams to any vectors

\b
Forms of a model directory:
{_FORMS}

The parameters stay as they are, and so does what continues from them. Pages of cawv report and explore
show the former vectors and are removed; an index of cawv index must be made again.

For any other vectors without n-grams, leave out --vectors: n-grams are fitted to the vectors and added to
them, in seconds. This improves similarity and analogies, and gives unknown words a vector where the format of
OUTPUT has n-grams (fastText's .bin). Names of items, whose spelling tells nothing, are refused.
"""

SETS = ("similarity", "analogy")
"""Tasks whose sets come with gensim, so that what was gained can be shown anywhere."""


@click.command(name="publish", short_help="Other vectors of a model, without training.", help=HELP)
@click.argument("model", type=ExistingPath())
@click.option("--vectors", "form", type=Choice(VECTOR_FORMS), help="Form of a model directory's vectors.")
@click.option(
    "-o", "--output", type=OUTPUT, help="Write there.  [default: change a model directory in place]"
)
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="Do not judge vectors with n-grams, and say nothing.")
def command(model: str, form: str | None, output: str | None, overwrite: bool, quiet: bool) -> None:
    """Write the vectors, and print their place."""
    from wordvec_ca.models import publish
    from wordvec_ca.vectors import KeyedVectors

    if form is None:
        if output is None:
            raise click.UsageError("give --vectors FORM for a model directory, or -o FILE to add n-grams")
        _add_ngrams(model, output, overwrite, quiet)
        return
    if not Path(model).is_dir():
        raise click.UsageError(f"{model!r} is no model directory, so it has one form: leave out --vectors")
    publish(model, form, output=output, overwrite=overwrite)
    place = output or model
    vectors = KeyedVectors.load(place)
    say(f"{len(vectors):,} vectors of size {vectors.vector_size}: {VECTOR_FORMS[form]}")
    show(place)


def _add_ngrams(source: str, output: str, overwrite: bool, quiet: bool) -> None:
    """Write vectors with fitted n-grams, then show what was gained."""
    from wordvec_ca.cli.models import load_vectors

    if Path(output).exists() and not overwrite:
        raise click.BadParameter(f"{output!r} exists; give --overwrite to replace it", param_hint="--output")
    with_ngrams = Path(output).suffix == ".bin"
    before = load_vectors(source)
    after = before.with_fitted_ngrams()
    after.save(output, format="fasttext" if with_ngrams else None, overwrite=overwrite)
    explained = after.metadata["fitted_ngrams"]["explained"]
    if not quiet:
        say(
            f"{len(after):,} vectors; their n-grams explain {explained:.0%} of the variance of held-out words"
            + ("" if with_ngrams else ". For vectors of unknown words, write fastText's .bin")
        )
    show(output)
    if not quiet:
        _show_gain(before, after)


def _show_gain(before: Any, after: Any) -> None:
    """Print the figures of similarity and analogies before and after, on sets that come with gensim."""
    from wordvec_ca.cli.terminal import Column, table
    from wordvec_ca.errors import DataError
    from wordvec_ca.eval import plan, run
    from wordvec_ca.vectors import KeyedVectors

    jobs, _ = plan(list(SETS), folder=None, files={})
    # without n-grams: pairs with unknown words, which only the new vectors have, would be judged in one alone
    after = KeyedVectors(after.index_to_key, after.vectors, after.counts)
    rows = []
    try:
        judged = [run(vectors, jobs, name="", skipped=lambda _: None) for vectors in (before, after)]
        for old, new in zip(*judged, strict=False):
            rows.append([old.task, old.dataset, f"{old.value:.3f}", f"{new.value:.3f}", f"{old.n:,}"])
    except DataError as error:  # the vectors are written: a set in another language takes nothing away
        say(f"Not judged: {error}")
    if rows:
        heads = [("task", False), ("dataset", False), ("before", True), ("after", True), ("n", True)]
        show_styled(table([Column(head, right=right) for head, right in heads], rows))
