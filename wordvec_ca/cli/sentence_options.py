"""The options for a SentenceVectorizer, which ``cawv embed`` and ``cawv search`` share."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import click

from wordvec_ca.cli.options import Choice, FirstPage, tokenizer_of_model_option
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import ExistingPath
from wordvec_ca.errors import Option
from wordvec_ca.specs.options import spelled_as_flag

OPTIONS = [
    click.option(
        "--method",
        type=Choice(["attention", "ca-sem-sif", "ca-sem", "mean", "idf", "sif", "usif", "infer"]),
        help="How words make a sentence; ca-sem is the algorithm of Zeng 2019, ca-sem-sif multiplies its "
        "weights by SIF's; infer is for models of documents.  [default: infer for models of documents, usif "
        "for attention models, else ca-sem-sif]",
    ),
    click.option(
        "--attention/--no-attention",
        default=None,
        help="Weight words by the attention they get.  [default: if MODEL has attention, unless mean]",
    ),
    click.option(
        "--readout",
        type=Choice(["sensitive", "full", "full-no-oov"]),
        help="ca-sem, ca-sem-sif: the part of the word vectors to use.  [default: sensitive]",
    ),
    click.option(
        "--frequency",
        type=Choice(["none", "idf", "sif", "usif"]),
        help="ca-sem, ca-sem-sif: frequency factor.  [default: none; sif]",
    ),
    click.option(
        "--scale", type=float, help="ca-sem, ca-sem-sif: length of v0; 0 lets it grow.  [default: 0; 2]"
    ),
    click.option(
        "--max-iter", type=click.IntRange(min=0), help="ca-sem, ca-sem-sif: iterations.  [default: 100; 20]"
    ),
    click.option("--a", type=float, help="sif: constant.  [default: 0.001]"),
    click.option(
        "--n-components",
        type=click.IntRange(min=0),
        help="Common directions to remove.  [default: 1; usif 5; ca-sem, mean and idf 0]",
    ),
    click.option(
        "--counts",
        type=ExistingPath(),
        metavar="VOCAB",
        help="Word counts (cawv vocab) for frequencies.  [default: those of MODEL, else of the sentences]",
    ),
    click.option(
        "--phrases", metavar="CHAR", help="Join words to phrases of MODEL, which CHAR holds together."
    ),
    tokenizer_of_model_option,
    click.option("--lowercase/--no-lowercase", default=None, help="[default: as MODEL, or lower-case]"),
]


TAG_FIELD = click.option(
    "--tag-field",
    metavar="NAME",
    help="The field with the tag of each record.  [default: as MODEL, if it was trained on such records]",
)


# Options that only ca-sem and ca-sem-sif have; without --method, any of them selects ca-sem-sif.
OF_CA_SEM = {"readout", "frequency", "scale", "max_iter"}

# Options for sentence vectors that are made of word vectors; any of them excludes inference.
OF_WORDS = OF_CA_SEM | {"a", "attention", "counts", "n_components", "phrases"}


class SentenceCommand(FirstPage):
    """A command with these options, which are on the second page of its help."""

    later = OF_WORDS | {"method", "tokenizer", "lowercase"}


def vectorizer_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as keyword arguments for `make_vectorizer`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def infers(vectors: Any, model: str | os.PathLike[str], **given: Any) -> bool:
    """Return whether sentence vectors are inferred. With a model of documents they are, unless an option
    selects another method.
    """
    from wordvec_ca.specs.models import SPECS

    named = (vectors.metadata.get("config") or {}).get("model")
    has_documents = named in {spec.name for spec in SPECS if spec.documents} and os.path.isdir(model)
    of_words = sorted(name for name in OF_WORDS if given.get(name) is not None)
    if given.get("method") != "infer":
        return has_documents and given.get("method") is None and not of_words
    if not has_documents:
        raise click.UsageError("--method infer is for models of documents: cawv train --model pv-dbow, …")
    if of_words:
        raise click.UsageError(
            f"--{of_words[0].replace('_', '-')} does nothing with --method infer: leave it out"
        )
    return True


def make_vectorizer(
    vectors: Any,
    model: str,
    *,
    counts: str | None,
    tokenizer: str | None,
    lowercase: bool | None,
    **given: Any,
) -> Any:
    """Return a SentenceVectorizer that is not fitted, or a DocumentVectorizer. Options that were not given
    have their defaults.
    """
    from wordvec_ca.sentences import SentenceVectorizer

    if infers(vectors, model, counts=counts, **given):
        from wordvec_ca.documents import DocumentVectorizer

        return DocumentVectorizer(model, tokenizer=tokenizer, lowercase=lowercase)
    params = {name: value for name, value in given.items() if value is not None}
    if OF_CA_SEM & set(params):
        params.setdefault("method", "ca-sem-sif")
    method = params.get("method")
    unused = OF_CA_SEM if method not in (None, "ca-sem", "ca-sem-sif") else set()
    unused = unused | ({"a"} if method in ("attention", "mean", "idf", "usif") else set())
    for name in sorted(unused & set(params)):
        raise click.UsageError(
            f"--{name.replace('_', '-')} does nothing with --method {method}: leave it out"
        )
    if params.get("frequency") == "none":
        params["frequency"] = None
    if params.get("scale") == 0:
        params["scale"] = None
    if counts is not None:
        from wordvec_ca.corpus import Vocab

        table = Vocab.load(counts)
        params["counts"] = dict(zip(table.words, table.counts.tolist(), strict=True))
    return SentenceVectorizer(vectors, **params, **text_options(vectors, tokenizer, lowercase))


def text_options(vectors: Any, tokenizer: str | None, lowercase: bool | None) -> dict[str, Any]:
    """Return the tokenizer options: those given, or those of the model's training, or lower-case words."""
    from wordvec_ca.text import trusted_tokenizer

    trained = vectors.metadata.get("config", {})
    return {
        "tokenizer": trusted_tokenizer(trained.get("tokenizer", "words"), tokenizer, "the model"),
        "lowercase": lowercase if lowercase is not None else bool(trained.get("lowercase", True)),
    }


def text_fields(
    vectors: Any, files: list[str], field: Any, tag_field: str | None, quiet: bool
) -> tuple[Any, str | None]:
    """Return the field of the text and of the tag: those given, or those of the model's training."""
    from wordvec_ca.corpus import fields_of_training

    if field is not None:
        return field, tag_field
    if tag_field is not None:
        raise click.UsageError("--tag-field needs --field, the field of the text")
    found = fields_of_training(vectors.metadata.get("config") or {}, files)
    if not quiet:
        tell_fields(found)
    return found.get("field"), found.get("tag_field")


def tell_fields(found: dict[str, Any]) -> None:
    """Say with which fields records are read, if they are those of a model's training."""
    flags = [
        f"{spelled_as_flag(Option(name))} {shlex.quote(one)}"
        for name, value in found.items()
        for one in ([value] if isinstance(value, str) else value)
    ]
    if flags:
        say(f"read as MODEL's text was: {' '.join(flags)}")
