"""``cawv nn``: the nearest neighbours of words."""

from __future__ import annotations

import json

import click


@click.command(name="nn", short_help="Nearest neighbours of words.")
@click.argument("model", type=click.Path(exists=True))
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@click.option(
    "--restrict-vocab",
    type=click.IntRange(min=1),
    metavar="N",
    help="Look only at the N most frequent words.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line and word, instead of tables.")
def command(model: str, words: tuple[str, ...], topn: int, restrict_vocab: int | None, as_json: bool) -> None:
    """Print the words whose vectors have the highest cosine with that of each WORD.

    MODEL is a model directory or a file of vectors in any format that export writes. The WORD - stands for
    the words on standard input, one a line. Words without a vector are reported on standard error, and the
    exit code is then 1.
    """
    from wordvec_ca.cli.neighbour_table import each_word, neighbour_table, unknown_word
    from wordvec_ca.errors import DataError
    from wordvec_ca.keyedvectors import KeyedVectors, UnknownWordError

    vectors = KeyedVectors.load(model)
    failed = False
    separator = ""
    for word in each_word(words):
        try:
            neighbours = vectors.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)
        except DataError as error:
            message = unknown_word(vectors, word) if isinstance(error, UnknownWordError) else str(error)
            click.echo(f"Error: {message}", err=True)
            failed = True
            continue
        if as_json:
            answers = [{"word": other, "similarity": round(score, 6)} for other, score in neighbours]
            click.echo(json.dumps({"word": word, "neighbours": answers}, ensure_ascii=False))
        else:
            click.echo(separator + neighbour_table(vectors, word, list(neighbours)))
            separator = "\n"
    if failed:
        raise click.exceptions.Exit(1)
