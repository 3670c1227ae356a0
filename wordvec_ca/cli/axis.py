"""``cawv axis``: where are words between two poles?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from wordvec_ca.cli.association import list_options, show_association
from wordvec_ca.cli.options import Choice, json_option
from wordvec_ca.cli.output import say, show, show_json, write_outputs
from wordvec_ca.cli.paths import OUTPUT_FILE, check_svg

if TYPE_CHECKING:
    from wordvec_ca.associations import Projections


@click.command("axis", short_help="Words between two poles, and associations of lists of words.")
@click.argument("models_and_pairs", nargs=-1, required=True, metavar="MODEL... POLE:POLE...")
@click.option("--pairs", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Pairs of poles, he:she, one on each line.")  # fmt: skip
@click.option("--words", metavar="FILE|w1,w2", help="The words to project.")
@click.option("--method", type=Choice(["differences", "means", "pca"]), default="differences",
              show_default=True, help="Axis: mean of the pairs' differences, difference of the poles' means, "
              "or first principal component.")  # fmt: skip
@click.option(
    "--plot",
    type=OUTPUT_FILE,
    metavar="FILE.svg",
    help="Draw the words on the axis with their intervals; of several models a curve for each word.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@list_options
@json_option("A JSON object a word and model, or one of the lists")
def command(
    models_and_pairs: tuple[str, ...],
    pairs: str | None,
    words: str | None,
    method: Any,
    plot: str | None,
    overwrite: bool,
    as_json: bool,
    **lists: Any,
) -> None:
    """Project words on an axis between two poles.

    For example: cawv axis MODEL he:she man:woman king:queen --words nurse,doctor,engineer. A word above 0
    is on the side of the second poles. "90 %" is the interval over the pairs and, if MODEL was trained with
    --resamples, over its models; "one pair less" is the least and greatest value when a pair is left out; "of
    like words" is the share of words of like frequency that are closer to the first pole.

    Several MODELs, such as those of several periods, give each word a position in each of them; --plot draws
    a curve through them, in the order given.

    With --targets and --attributes, measure instead how two lists of words are associated with two others:
    cawv axis MODEL --targets flowers.txt insects.txt --attributes good.txt bad.txt. The measures are defined
    as in WEFE. p is the share of pairs of random lists with an association as strong as that of A and B. Each
    is a frequent word and words near it, as similar to each other as those of A and B, in pairs as near as A
    and B. Where there are too few, it cannot be decided. WEAT's own p, a weaker test, is given below.
    """
    from wordvec_ca.associations import axis, read_pairs, read_words
    from wordvec_ca.report import projection_chart
    from wordvec_ca.vectors import KeyedVectors

    if any(lists[name] is not None for name in ("targets", "attributes", "published")):
        if len(models_and_pairs) > 1 or pairs or words or plot:
            raise click.UsageError(
                "lists go with one MODEL alone: leave out pairs of poles, --words and --plot"
            )
        if not os.path.exists(models_and_pairs[0]):
            raise click.UsageError(f"{models_and_pairs[0]!r} is not a model")
        show_association(models_and_pairs[0], as_json=as_json, **lists)
        return
    models = [name for name in models_and_pairs if os.path.exists(name)]
    typed = [name for name in models_and_pairs if not os.path.exists(name)]
    if not models:
        raise click.UsageError(
            f"none of {', '.join(models_and_pairs[:3])} is a model; give MODEL, then pairs"
        )
    for name in typed:
        if ":" not in name:
            raise click.UsageError(f"{name!r} is neither a model nor a pair of poles, such as he:she")
    given = read_pairs(typed) + (read_pairs(pairs) if pairs else [])
    if not given:
        raise click.UsageError("give pairs of poles, such as he:she, or --pairs FILE")
    if words is None:
        raise click.UsageError("give --words: a file, or words with commas between them")
    check_svg(plot)
    asked = read_words(words)
    found = []
    for name in models:
        made = axis(KeyedVectors.load(name), given, method=method)
        for warning in made.warnings():
            say(f"Warning: {f'{name}: ' if len(models) > 1 else ''}{warning}")
        of_model = made.project(asked)
        if of_model.missing:
            where = f" in {name}" if len(models) > 1 else ""
            say(f"Warning: without a vector{where}: {', '.join(of_model.missing)}")
        found.append(of_model)
        if not as_json:
            if len(models) > 1:
                show(name)
            sides = made.on_their_sides
            right = (
                ""
                if sides is None
                else f"; {sum(sides)} of {len(sides)} pairs fall on their sides when the others make the axis"
            )
            show(f"{made.name}{right}")
            show(_table(of_model))
        for one in of_model if as_json else ():
            show_json({"model": name, **_record(one)})
    write_outputs({plot: lambda: projection_chart(found, models)}, overwrite=overwrite)


def _record(one: Any) -> dict[str, Any]:
    values: dict[str, Any] = dict(vars(one))
    return {name: None if value != value else value for name, value in values.items()}


def _table(found: Projections) -> str:
    """Return aligned lines, one for each word."""
    lines = [f"{'word':<20} {'value':>7} {'90 %':>16} {'one pair less':>16} {'of like words':>14}"]
    for one in found:
        ranges = [
            "" if low != low else f"{low:+.3f} to {high:+.3f}"
            for low, high in ((one.low, one.high), (one.lowest, one.highest))
        ]
        like = f"{one.percentile:.0%}".replace("%", " %")
        lines.append(f"{one.word:<20} {one.value:+7.3f} {ranges[0]:>16} {ranges[1]:>16} {like:>14}")
    return "\n".join(lines)
