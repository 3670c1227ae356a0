"""What ``cawv embed`` and ``cawv search`` share: the options of a SentenceVectorizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

OPTIONS = [
    click.option(
        "--method",
        type=click.Choice(["ca-sem", "mean", "idf", "sif", "usif"]),
        default="ca-sem",
        show_default=True,
        help="How words make a sentence.",
    ),
    click.option(
        "--readout",
        type=click.Choice(["sensitive", "full", "full-no-oov"]),
        help="ca-sem: which part of the words.  [default: sensitive]",
    ),
    click.option(
        "--frequency",
        type=click.Choice(["none", "idf", "sif", "usif"]),
        help="ca-sem: frequency factor.  [default: sif]",
    ),
    click.option("--scale", type=float, help="ca-sem: length of v0; 0 lets it grow.  [default: 2]"),
    click.option("--max-iter", type=click.IntRange(min=0), help="ca-sem: iterations.  [default: 20]"),
    click.option("--a", type=float, help="sif: constant.  [default: 0.001]"),
    click.option(
        "--n-components",
        type=click.IntRange(min=0),
        help="Common directions to remove.  [default: 1; usif 5; mean and idf 0]",
    ),
    click.option(
        "--counts",
        type=click.Path(exists=True),
        metavar="VOCAB",
        help="Word counts (cawv vocab) for frequencies.  [default: those of MODEL, else of the sentences]",
    ),
    click.option(
        "--phrases", metavar="CHAR", help="Join words to phrases of MODEL, which CHAR holds together."
    ),
    click.option(
        "--tokenizer",
        type=click.Choice(["words", "whitespace"]),
        help="[default: that of MODEL, or words]",
    ),
    click.option("--lowercase/--no-lowercase", default=None, help="[default: as MODEL, or lower-case]"),
]


def vectorizer_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as keyword arguments for `make_vectorizer`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def make_vectorizer(
    vectors: Any, *, counts: str | None, tokenizer: str | None, lowercase: bool | None, **given: Any
) -> Any:
    """Return a SentenceVectorizer, not fitted; options that were not given keep their defaults.

    Parameters
    ----------
    vectors : KeyedVectors
        Of the model.
    counts : str or None
        File of word counts.
    tokenizer, lowercase
        As asked, or None: see `text_options`.
    **given
        The other options; None where not given.
    """
    from wordvec_ca.sentences import SentenceVectorizer

    params = {name: value for name, value in given.items() if value is not None}
    if params.get("frequency") == "none":
        params["frequency"] = None
    if params.get("scale") == 0:
        params["scale"] = None
    if counts is not None:
        from wordvec_ca.vocab import Vocab

        table = Vocab.load(counts)
        params["counts"] = dict(zip(table.words, table.counts.tolist(), strict=True))
    return SentenceVectorizer(vectors, **params, **text_options(vectors, tokenizer, lowercase))


def text_options(vectors: Any, tokenizer: str | None, lowercase: bool | None) -> dict[str, Any]:
    """Return how to tokenise: as asked, else as the vectors were trained, else lower-case words."""
    trained = vectors.metadata.get("config", {})
    return {
        "tokenizer": tokenizer or trained.get("tokenizer", "words"),
        "lowercase": lowercase if lowercase is not None else bool(trained.get("lowercase", True)),
    }
