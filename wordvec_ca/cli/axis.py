"""``cawv axis``: where are words between two poles? Are lists of words associated with two others?"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from wordvec_ca.cli.options import Choice, json_option
from wordvec_ca.cli.output import say, show, show_json, write_outputs
from wordvec_ca.cli.paths import OUTPUT_FILE, check_svg
from wordvec_ca.showable import showable_name

if TYPE_CHECKING:
    from wordvec_ca.associations import Association, Projections


def _two_lists(
    context: click.Context, option: click.Parameter, lists: tuple[str, str] | None
) -> tuple[str, str] | None:
    """Check that the second list is not an option: if the user forgot a list, click takes the next option
    for it.
    """
    for name in lists or ():
        if name.startswith("--"):
            raise click.BadParameter(f"{name} follows where a list is expected: two lists are needed")
    return lists


# The options of ``cawv axis`` that are about lists of words in place of pairs of poles.
OPTIONS = (
    click.option(
        "--targets", nargs=2, metavar="A B", callback=_two_lists,
        help="Instead of pairs and words: two lists, files or words with commas between them. Are they "
        "associated with --attributes?",
    ),
    click.option("--attributes", nargs=2, metavar="X Y", callback=_two_lists, help="Two lists."),
    click.option("--published", metavar="NAME", help="Lists of Caliskan et al. 2017: flowers-insects, "
                 "instruments-weapons, math-arts, science-arts or mental-physical-disease."),
    click.option("--measures", default="effect-size,weat,rnd,ect,mac", show_default=True,
                 help="Of lists: comma-separated; rnsb is another."),
    click.option("--normalize", is_flag=True, help="Of lists: scale all vectors to length 1 first."),
    click.option("--random-lists", "n_random", type=click.IntRange(min=39), default=1000, show_default=True,
                 help="Of lists: pairs of random lists to compare with."),
    click.option("--seed", default=1, show_default=True, help="Seed of the random lists."),
)  # fmt: skip


def list_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as keyword arguments for `show_association`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


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


def show_association(
    model: str,
    *,
    targets: tuple[str, str] | None,
    attributes: tuple[str, str] | None,
    published: str | None,
    measures: str,
    normalize: bool,
    n_random: int,
    seed: int,
    as_json: bool,
) -> None:
    """Print how the targets are associated with the attributes."""
    from wordvec_ca.associations import association, published_test, read_words
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import KeyedVectors

    if (published is None) == (targets is None) or (targets is None) != (attributes is None):
        raise click.UsageError("give --targets A B and --attributes X Y, or --published NAME")
    if published is not None:
        try:
            test = published_test(published)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        a, b, x, y = (list(words) for words in (test.a, test.b, test.x, test.y))
    else:
        assert targets is not None
        assert attributes is not None
        a, b, x, y = (read_words(source) for source in (*targets, *attributes))
    try:
        found = association(
            KeyedVectors.load(model),
            (a, b),
            (x, y),
            measures=[name.strip() for name in measures.split(",")],
            normalize=normalize,
            n_random=n_random,
            seed=seed,
        )
    except DataError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    for warning in found.warnings():
        say(f"Warning: {warning}")
    if as_json:
        show_json(found.to_dict())
    else:
        show(_table_of_lists(found, (*targets, *attributes) if targets and attributes else "ABXY"))


def _table_of_lists(found: Association, names: Sequence[str] = "ABXY") -> str:
    """Return the measures, the verdict and the association of each target word as text."""
    lines = [f"{'measure':<12} {'value':>8} {'90 %':>18} {'p':>8} {'95 % of random lists':>22}"]
    for one in found.measures:
        p = "" if one.p != one.p else f"{'≤ ' if one.p <= found.smallest_p else ''}{one.p:.3f}"
        lines.append(
            f"{one.measure:<12} {one.value:8.3f} {_range(one.low, one.high):>18} {p:>8} "
            f"{_range(one.random_low, one.random_high):>22}"
        )
    verdict = f"Verdict, by {found.measures[0].measure}: " + (
        "cannot be decided, as too few random lists are as coherent and as near to each other."
        if not found.decided
        else "more than random lists give (p < .05)."
        if found.told_apart
        else "no different from random lists as coherent and as near to each other."
    )
    a, b, x, y = (showable_name(os.path.basename(name)) for name in names)
    over = "words and models" if found.n_models else "words; cawv train --resamples adds models"
    lines += [
        "",
        verdict,
        f"A positive leaning is to {x}, a negative one to {y}; a positive effect-size: {a} leans more to {x} "
        f"than {b} does.",
        f"WEAT's own p, which takes words for independent: {found.p_permutation:.2g}. "
        f"{found.n_random:,} pairs of random lists; intervals over {over}.",
        "",
        f"{'word':<20} {'list':<4} {'leaning':>8} {'90 %':>18} {'of like words':>14}",
    ]
    lines += [
        f"{one.word:<20} {one.target:<4} {one.leaning:+8.3f} {f'{one.low:+.3f} to {one.high:+.3f}':>18} "
        + f"{one.percentile:>13.0%}".replace("%", " %")
        for one in found.words
    ]
    return "\n".join(lines)


def _range(low: float, high: float) -> str:
    """Return "low to high", or a dash if the range is unknown, as for a correlation over two words."""
    return "-" if low != low else f"{low:.3f} to {high:.3f}"
