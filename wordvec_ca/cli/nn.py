"""``cawv nn``: the nearest neighbours of words."""

from __future__ import annotations

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import (
    exact_option,
    json_option,
    restrict_vocab_option,
    vectors_option,
)
from wordvec_ca.cli.output import reason, say, show_json, write
from wordvec_ca.cli.paths import INPUT, ExistingPath


@click.command(name="nn", short_help="Nearest neighbours of words.")
@click.argument("model", type=ExistingPath())
@click.argument("words", nargs=-1, metavar="WORD...")
@click.option(
    "--document",
    "documents",
    multiple=True,
    metavar="TAG",
    help="Tag of a document: show the documents nearest to it. May be given several times.",
)
@click.option("-n", "--topn", type=click.IntRange(min=1), default=10, show_default=True, help="How many.")
@restrict_vocab_option
@vectors_option
@exact_option
@click.option(
    "--index", type=INPUT, metavar="DIR", help="Use this index, which cawv index -o has made elsewhere."
)
@json_option("A JSON object a word")
def command(
    model: str,
    words: tuple[str, ...],
    documents: tuple[str, ...],
    topn: int,
    restrict_vocab: int | None,
    form: str | None,
    exact: bool,
    index: str | None,
    as_json: bool,
) -> None:
    """Print the words whose vectors have the highest cosine with that of each WORD.

    A WORD can also be a sum, as one argument: cawv nn MODEL "king - man + woman", or king-man+woman. A word
    of the vocabulary that contains - or + is never split, and hyphens alone do not make a sum.

    MODEL is a model directory or a file of vectors in any format that export writes. The WORD - means
    the words on standard input, one a line. A word without a vector is looked up in lower case too; if that
    has none either, standard error reports that, and the exit code is 1.

    With --document, for a model of documents (cawv train --model pv-dbow, pv-dm, ...), print the documents
    nearest to the document with this tag: its number, from 0, or the value of --tag-field.

    If MODEL was trained with --resamples K, "interval" is the 90 % range of the score in one run on other
    text of the same size, and "agreement" is the number of the K models in which the word is among the
    nearest. A mean of K models has less noise than one run, so its scores are mostly higher.
    """
    from wordvec_ca.cli.models import faster_index, opened
    from wordvec_ca.cli.neighbour_table import (
        each_word,
        look_up_sum,
        neighbour_records,
        neighbour_table,
    )
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import Neighbour, Neighbours, shown_sum

    if documents:
        if words or exact or index is not None or restrict_vocab is not None:
            raise click.UsageError("--document goes with --topn and --json alone, not with words")
        near_documents(model, documents, topn, as_json)
        return
    if not words:
        raise click.UsageError("Missing argument 'WORD...': give words, or --document TAG")
    if {"+", "-"} & set(words[1:-1]):
        raise click.UsageError("a sum of words is one argument: put it in quotes, as 'king - man + woman'")
    if index is not None and (exact or restrict_vocab is not None):
        raise click.UsageError("--index excludes --exact and --restrict-vocab")
    vectors = load_vectors(model, vectors=form)
    indexer = None
    if index is not None:
        indexer = opened(model, vectors.vectors, vectors.index_to_key, index)
    elif not exact and all(given is None for given in (restrict_vocab, form, vectors.resamples)):
        # Vectors in another form are not those of the index, and intervals need an exact search.
        indexer = faster_index(model, vectors.vectors, vectors.index_to_key)
    failed = False
    separator = ""
    for word in each_word(words):
        try:
            terms = look_up_sum(vectors, word)
            known = shown_sum(terms)
            is_sum = len(terms) > 1 or terms[0].sign < 0
            if indexer is None and not is_sum:
                neighbours = vectors.neighbours(known, topn, restrict_vocab=restrict_vocab)
            else:
                found = vectors.most_similar(
                    [(term.word, term.sign) for term in terms],
                    topn=topn,
                    restrict_vocab=restrict_vocab,
                    indexer=indexer,
                )
                neighbours = Neighbours([Neighbour(*pair) for pair in found], 0)
        except DataError as error:  # the next word may have an answer
            say(f"Error: {reason(error)}")
            failed = True
            continue
        given = {} if known == word else {"given": word}
        summed = {"sum": [{"word": one, "sign": sign} for one, sign in terms]} if is_sum else {}
        if as_json:
            show_json({"word": known, **given, **summed, "neighbours": neighbour_records(neighbours)})
        else:
            write(separator + neighbour_table(vectors, known, neighbours))
            separator = "\n"
    if failed:
        raise click.exceptions.Exit(1)


def near_documents(model: str, tags: tuple[str, ...], topn: int, as_json: bool) -> None:
    """Print the documents nearest to some documents of a model."""
    from wordvec_ca.cli.neighbour_table import neighbour_records, neighbour_table
    from wordvec_ca.models import document_vectors

    table, row_of = document_vectors(model)
    separator = ""
    for tag in tags:
        name = table.index_to_key[row_of(tag)]
        neighbours = table.neighbours(name, topn)
        if as_json:
            show_json({"document": name, "neighbours": neighbour_records(neighbours)})
        else:
            write(separator + neighbour_table(table, name, neighbours))
            separator = "\n"
