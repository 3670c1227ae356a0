"""``cawv analogy``: A is to B as C is to what?"""

from __future__ import annotations

import json

import click


@click.command(name="analogy", short_help="A is to B as C is to what?")
@click.argument("model", type=click.Path(exists=True))
@click.argument("a")
@click.argument("b")
@click.argument("c")
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--method",
    type=click.Choice(["add", "mul"]),
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
@click.option("--json", "as_json", is_flag=True, help="A JSON object instead of a table.")
def command(
    model: str, a: str, b: str, c: str, topn: int, method: str, restrict_vocab: int | None, as_json: bool
) -> None:
    """Print the words that are to C as B is to A.

    For example: cawv analogy MODEL man king woman. MODEL is a model directory or a file of vectors in any
    format that export writes.
    """
    from wordvec_ca.cli.neighbour_table import neighbour_table, unknown_word
    from wordvec_ca.errors import DataError
    from wordvec_ca.keyedvectors import KeyedVectors

    vectors = KeyedVectors.load(model)
    unknown = [unknown_word(vectors, word) for word in dict.fromkeys((a, b, c)) if word not in vectors]
    if unknown:
        raise DataError("\n".join(unknown))
    answers = vectors.analogy(a, b, c, topn=topn, method=method, restrict_vocab=restrict_vocab)
    if as_json:
        found = [{"word": word, "score": round(score, 6)} for word, score in answers]
        record = {"a": a, "b": b, "c": c, "method": method, "answers": found}
        click.echo(json.dumps(record, ensure_ascii=False))
    else:
        click.echo(neighbour_table(vectors, f"{a} : {b} = {c} : ?", answers))
