"""``cawv analogy``: A is to B as C is to what?"""

from __future__ import annotations

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import Choice, json_option, restrict_vocab_option, vectors_option
from wordvec_ca.cli.output import show_json, write
from wordvec_ca.cli.paths import ExistingPath


@click.command(name="analogy", short_help="A is to B as C is to what?")
@click.argument("model", type=ExistingPath())
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
@restrict_vocab_option
@vectors_option
@json_option("A JSON object")
def command(
    model: str,
    a: str,
    b: str,
    c: str,
    topn: int,
    method: str,
    restrict_vocab: int | None,
    form: str | None,
    as_json: bool,
) -> None:
    """Print the words that are to C as B is to A.

    For example: cawv analogy MODEL man king woman. MODEL is a model directory or a file of vectors in any
    format that export writes. A word without a vector is looked up in lower case too.

    If MODEL was trained with --resamples K, "interval" is the 90 % range of the score in one run on other
    text of the same size, and "agreement" is the number of the K models in which the word is
    the first answer.
    """
    from wordvec_ca.cli.neighbour_table import look_up, neighbour_records, neighbour_table, unknown_word
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import analogies

    vectors = load_vectors(model, vectors=form)
    known = {word: look_up(vectors, word) for word in dict.fromkeys((a, b, c))}
    unknown = [unknown_word(vectors, word) for word, form in known.items() if form is None]
    if unknown:
        raise DataError("\n".join(unknown))
    a, b, c = (known[word] or word for word in (a, b, c))
    found = vectors.analogy(a, b, c, topn=topn, method=method, restrict_vocab=restrict_vocab)
    answers = analogies(vectors, a, b, c, found, method=method, restrict_vocab=restrict_vocab)
    has_counts = vectors.counts is not None
    counts = {one.word: vectors.get_vecattr(one.word, "count") for one in answers} if has_counts else {}
    records = [{**one, "count": counts.get(one["word"])} for one in neighbour_records(answers)]
    if as_json:
        show_json({"a": a, "b": b, "c": c, "method": method, "answers": records})
    else:
        write(neighbour_table(vectors, f"{a} : {b} = {c} : ?", answers))
