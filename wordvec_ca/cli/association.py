"""Lists of words in ``cawv axis``: are two groups of words associated with two others?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from wordvec_ca.cli.output import say, show, show_json

if TYPE_CHECKING:
    from wordvec_ca.associations import Association


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
"""The options of ``cawv axis`` that are about lists of words in place of pairs of poles."""


def list_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as keyword arguments for `show_association`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


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
        show(_table(found))


def _table(found: Association) -> str:
    """Return the measures, the verdict and the association of each target word as text."""
    lines = [f"{'measure':<12} {'value':>8} {'90 %':>18} {'p':>8} {'95 % of random lists':>22}"]
    for one in found.measures:
        p = "" if one.p != one.p else f"{'≤ ' if one.p <= found.smallest_p else ''}{one.p:.3f}"
        lines.append(
            f"{one.measure:<12} {one.value:8.3f} {_range(one.low, one.high):>18} {p:>8} "
            f"{_range(one.random_low, one.random_high):>22}"
        )
    verdict = f"{found.measures[0].measure}: " + (
        "cannot be decided, as too few random lists are as coherent and as near to each other."
        if not found.decided
        else "more than random lists give (p < .05)."
        if found.told_apart
        else "no different from random lists as coherent and as near to each other."
    )
    over = "words and models" if found.n_models else "words; cawv train --resamples adds models"
    lines += [
        "",
        verdict,
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
