"""``cawv analogy``: A is to B as C is to what?"""

from __future__ import annotations

import click

from wordvec_ca.cli.options import Choice, part_option
from wordvec_ca.cli.output import show, show_json


@click.command(name="analogy", short_help="A is to B as C is to what?")
@click.argument("model", type=click.Path(exists=True))
@click.argument("a")
@click.argument("b")
@click.argument("c")
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--method",
    type=Choice(["add", "mul"]),
    default="add",
    show_default=True,
    help="3CosAdd or 3CosMul (Levy & Goldberg 2014).",
)
@click.option(
    "--restrict-vocab",
    type=click.IntRange(min=1),
    metavar="N",
    help="Look only at the N most frequent words.",
)
@part_option
@click.option("--json", "as_json", is_flag=True, help="A JSON object instead of a table.")
def command(
    model: str,
    a: str,
    b: str,
    c: str,
    topn: int,
    method: str,
    restrict_vocab: int | None,
    part: str | None,
    as_json: bool,
) -> None:
    """Print the words that are to C as B is to A.

    For example: cawv analogy MODEL man king woman. MODEL is a model directory or a file of vectors in any
    format that export writes. A word without a vector is looked up in lower case too.
    """
    from wordvec_ca.cli.neighbour_table import look_up, neighbour_table, unknown_word
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import KeyedVectors

    vectors = KeyedVectors.load(model)
    if part is not None:
        vectors = vectors.part(part)
    known = {word: look_up(vectors, word) for word in dict.fromkeys((a, b, c))}
    unknown = [unknown_word(vectors, word) for word, form in known.items() if form is None]
    if unknown:
        raise DataError("\n".join(unknown))
    a, b, c = (known[word] or word for word in (a, b, c))
    answers = vectors.analogy(a, b, c, topn=topn, method=method, restrict_vocab=restrict_vocab)
    if as_json:
        has_counts = vectors.counts is not None
        counts = {word: vectors.get_vecattr(word, "count") for word, _ in answers} if has_counts else {}
        found = [
            {"word": word, "score": round(score, 6), "count": counts.get(word)} for word, score in answers
        ]
        show_json({"a": a, "b": b, "c": c, "method": method, "answers": found})
    else:
        show(neighbour_table(vectors, f"{a} : {b} = {c} : ?", answers))
