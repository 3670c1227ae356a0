"""``cawv publish``: other vectors of a trained model, or n-grams for vectors of any origin."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.evaluation_options import EvaluationCommand, files_of
from wordvec_ca.cli.options import Choice
from wordvec_ca.cli.output import say, show, write
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
them, in seconds. This usually improves similarity and analogies, and gives unknown words a vector where the
format of OUTPUT has n-grams: fastText's .bin, with two million rows of them. That n-grams explain 7% of the
variance of held-out words means that a vector guessed from the spelling alone has a squared error 7% below
that of the mean of all words. Names of items, whose spelling tells nothing, are refused. Figures before and
after are of the sets that come with gensim, or of yours: --similarity FILE, --tagging FILE ...
"""

# Tasks whose sets come with gensim, so that what was gained can be shown anywhere.
SETS = ("similarity", "analogy")


@click.command(
    "publish", cls=EvaluationCommand, short_help="Other vectors of a model, without training.", help=HELP
)
@click.argument("model", type=ExistingPath())
@click.option("--vectors", "form", type=Choice(VECTOR_FORMS), help="Form of a model directory's vectors.")
@click.option(
    "-o", "--output", type=OUTPUT, help="Write there.  [default: change a model directory in place]"
)
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="Do not judge vectors with n-grams, and say nothing.")
def command(
    model: str, form: str | None, output: str | None, overwrite: bool, quiet: bool, **sets: Any
) -> None:
    """Write the vectors, and print their place."""
    from wordvec_ca.models import publish
    from wordvec_ca.vectors import KeyedVectors

    if form is None:
        if output is None:
            raise click.UsageError("give --vectors FORM for a model directory, or -o FILE to add n-grams")
        _add_ngrams(model, output, overwrite, quiet, files_of(sets))
        return
    if any(sets.values()):
        raise click.UsageError("files of tasks judge fitted n-grams: leave out --vectors, or use cawv eval")
    if not Path(model).is_dir():
        raise click.UsageError(f"{model!r} is no model directory, so it has one form: leave out --vectors")
    publish(model, form, output=output, overwrite=overwrite)
    place = output or model
    vectors = KeyedVectors.load(place)
    say(f"{len(vectors):,} vectors of size {vectors.vector_size}: {VECTOR_FORMS[form]}")
    show(place)


def _add_ngrams(source: str, output: str, overwrite: bool, quiet: bool, files: dict[str, list[Path]]) -> None:
    """Write vectors with fitted n-grams, then show what was gained."""
    from wordvec_ca.cli.models import load_vectors
    from wordvec_ca.eval import plan
    from wordvec_ca.formats import WRITTEN_BUCKETS

    jobs, not_judged = plan(None if any(files.values()) else SETS, files=files)  # before the work
    if Path(output).exists() and not overwrite:
        raise click.BadParameter(f"{output!r} exists; give --overwrite to replace it", param_hint="--output")
    with_ngrams = Path(output).suffix == ".bin"
    before = load_vectors(source)
    after = before.with_fitted_ngrams()
    if with_ngrams and not quiet:  # before the work: much more than the vectors that were read
        megabytes = 4 * before.vector_size * (2 * len(before) + WRITTEN_BUCKETS) / 1e6
        say(
            f"Writing {megabytes:,.0f} MB: fastText's .bin has {WRITTEN_BUCKETS:,} rows of n-grams. "
            "Without them, and without vectors of unknown words: give -o a name that ends in .kv"
        )
    after.save(output, format="fasttext" if with_ngrams else None, overwrite=overwrite)
    explained = after.metadata["fitted_ngrams"]["explained"]
    if not quiet:
        say(
            f"{len(after):,} vectors; their n-grams explain {explained:.0%} of the variance of held-out words"
            + ("" if with_ngrams else ". For vectors of unknown words, write fastText's .bin")
        )
    show(output)
    if not quiet:
        _show_gain(before, after, jobs, not_judged)


def _show_gain(before: Any, after: Any, jobs: list[Any], not_judged: list[Any]) -> None:
    """Print the figures of each set before and after."""
    from wordvec_ca.cli.terminal import Column, table
    from wordvec_ca.errors import DataError
    from wordvec_ca.eval import run
    from wordvec_ca.vectors import KeyedVectors

    # without n-grams: pairs with unknown words, which only the new vectors have, would be judged in one alone
    after = KeyedVectors(after.index_to_key, after.vectors, after.counts)
    rows = []
    try:
        # both know the same words, so what one skips the other does, too
        judged = (run(before, jobs, skipped=not_judged.append), run(after, jobs, skipped=lambda _: None))
        for old, new in zip(*judged, strict=False):
            rows.append([old.task, old.dataset, f"{old.value:.3f}", f"{new.value:.3f}", f"{old.n:,}"])
    except DataError as error:  # the vectors are written: a set in another language takes nothing away
        say(f"Not judged: {error}")
    for one in not_judged:
        say(f"Not judged: {one}")
    if rows:
        heads = [("task", False), ("dataset", False), ("before", True), ("after", True), ("n", True)]
        write(table([Column(head, right=right) for head, right in heads], rows))
