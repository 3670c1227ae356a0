"""``cawv export``: converts vectors from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import Choice, typed_options, vectors_option
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import OUTPUT, ExistingPath, check_not_read
from wordvec_ca.specs.formats import READABLE, WRITABLE, format_named, table_of_formats
from wordvec_ca.specs.model_files import ModelFile

# A copy of `wordvec_ca.models.PREFIX`, whose module takes time to import.
PREFIX = "*dt_"

_ERRORS = ["strict", "surrogateescape", "replace", "ignore"]


HELP = f"""Write the vectors of MODEL, a model directory or a file in any of these formats, to OUT.

\b
{table_of_formats()}

A further suffix .gz, .bz2, .xz or .zst compresses text and word2vec-binary. Numbers in text are the
shortest decimals that give the same float32 back. A model directory that was made without gensim gets
its index vectors.kv with --format gensim and without -o.

The tokenizer of the last four folders splits text as that of the model does. cawv compare MODEL OUT
says what --dtype and --max-words cost.
"""


@click.command(name="export", short_help="Write vectors in another format.", help=HELP)
@click.argument("model", type=ExistingPath())
@click.option("-o", "--output", type=OUTPUT, metavar="OUT", help="File or folder to write.")
@click.option("-f", "--format", "to", type=Choice(WRITABLE), metavar="FORMAT", help="Default: as "
              "the suffix of OUT says.")  # fmt: skip
@click.option(
    "--from",
    "source",
    type=Choice(["auto", *READABLE]),
    metavar="FORMAT",
    default="auto",
    show_default=True,
    help=f"Format of MODEL: {', '.join(READABLE)}.",
)
@click.option(
    "--errors",
    type=Choice(_ERRORS),
    default="strict",
    show_default=True,
    help="Words that are not UTF-8: refuse, keep their bytes, or spoil them.",
)
@click.option("--keep-first", is_flag=True, help="If a word repeats in MODEL, keep its first vector.")
@click.option("--skip-unwritable", is_flag=True, help="Leave out words that the format cannot hold.")
@click.option(
    "--dtype",
    type=Choice(["float32", "float16", "int8"]),
    default="float32",
    show_default=True,
    help="Type of the numbers; smaller ones only in safetensors, huggingface, model2vec and (not int8) "
    "sentence-transformers.",
)
@click.option(
    "--max-words",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write only the first N words, the most frequent.  [default: all]",
)
@click.option(
    "--table",
    type=Choice(["words", "documents", "both"]),
    help=f"For a model of documents: which vectors; in both, a document is its tag after {PREFIX}, as gensim "
    "has it.  [default: words; documents if only these were trained]",
)
@vectors_option
@click.option(
    "--fold-attention/--no-fold-attention",
    default=None,
    help="Multiply each vector of an attention model by the attention its word gets, for programs that "
    "average vectors; cosines between words stay.  [default: only for sentence-transformers and model2vec]",
)
@click.option(
    "--evaluation",
    type=ExistingPath(dir_okay=False, path_type=Path),
    metavar="JSON",
    help="For the model card: file that cawv eval --json wrote.",
)
@click.option(
    "--resample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write the N-th model of cawv train --resamples, in the space of their mean.  [default: the mean]",
)
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
def command(
    model: str,
    output: str | None,
    to: str | None,
    source: str,
    errors: str,
    keep_first: bool,
    skip_unwritable: bool,
    dtype: str,
    max_words: int | None,
    table: str | None,
    form: str | None,
    fold_attention: bool | None,
    evaluation: Path | None,
    resample: int | None,
    overwrite: bool,
) -> None:
    """Read the vectors of MODEL and write them to OUT."""
    from wordvec_ca.formats import format_of_suffix, precision_loss

    if output is None:
        if to != "gensim":
            raise click.UsageError("Missing option '-o': where should the vectors be written?")
        if more := sorted(typed_options() - {"model", "to", "overwrite"}):
            raise click.UsageError(
                f"--format gensim without -o only adds the index to {model!r}: --{more[0].replace('_', '-')} "
                "goes with -o OUT"
            )
        from wordvec_ca.formats import add_gensim_index

        say(f"Wrote {add_gensim_index(model, overwrite=overwrite)}")
        return
    check_not_read(f"{output}.vectors.npy", model)  # the second file that --format gensim writes
    try:
        to = to or format_of_suffix(output)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    reading: dict[str, Any] = {
        "format": source,
        "errors": errors,
        "duplicates": "first" if keep_first else "refuse",
    }
    writing: dict[str, Any] = {
        "format": to,
        "errors": errors,
        "unwritable": "skip" if skip_unwritable else "refuse",
        "dtype": dtype,
        "max_words": max_words,
        "overwrite": overwrite,
    }
    if table is None:
        table = "words" if _learns_words(model) else "documents"
    if table != "words":
        if format_named(to).averages or to == "spacy":
            raise click.UsageError(
                f"{to} makes an encoder of texts, which looks words up: tags of documents are none. Choose "
                "another --format"
            )
        others = {
            "--vectors": form,
            "--resample": resample,
            "--fold-attention": fold_attention,
        }
        if given := [name for name, value in others.items() if value is not None]:
            raise click.UsageError(f"{given[0]} is for vectors of words: leave it out with --table {table}")
        n_written = _with_documents(model, table).save(output, **writing)
        say(f"Wrote {n_written:,} vectors to {output} ({to}): {table}")
        return
    vectors = load_vectors(model, vectors=form, **reading)
    ngrams = vectors.ngrams
    if form is None and to in ("fasttext", "floret") and ngrams is not None and not ngrams.are_published:
        vectors = load_vectors(model, vectors="input", **reading)
        say(f"Note: n-grams make input rows, so {to} gets these and not the vectors that are published")
    if resample is not None:
        n_models = len(vectors.resamples or ())
        if resample > n_models:
            known = f"they are numbered 1 to {n_models}" if n_models else "it was trained without --resamples"
            raise click.BadParameter(f"{model} has no model {resample}: {known}", param_hint="--resample")
        vectors = vectors.resampled(resample - 1)
    if fold_attention is None:
        fold_attention = vectors.folds_attention(to)
        if vectors.attends and not fold_attention:
            say("Note: to average these vectors, export them with --fold-attention")
    if fold_attention:
        say("Each vector is multiplied by the attention that its word gets (--fold-attention)")
    elif format_named(to).averages and (vectors.metadata.get("config") or {}).get("vectors") == "both":
        say("Note: readers of this format average vectors; --vectors output is better for that")
    reports = None
    if evaluation is not None:
        from wordvec_ca.eval import reports_in

        reports = [report.to_dict() for report in reports_in(evaluation)]
    n_written = vectors.save(output, evaluation=reports, fold_attention=fold_attention, **writing)
    say(f"Wrote {n_written:,} vectors of size {vectors.vector_size} to {output} ({to})")
    if vectors.ngrams is not None and to not in ("fasttext", "floret"):
        say("Note: n-grams are not written: unknown words have no vector there; --format fasttext keeps them")
    if dtype != "float32":
        loss = precision_loss(vectors.vectors[:n_written], dtype)
        say(
            f"{dtype}: cosine with the original vector {loss.mean:.6f} in the mean, {loss.lowest:.6f} at the "
            f"lowest; for tasks: cawv compare {model} {output}"
        )
    if n_written < len(vectors) and vectors.counts is not None and vectors.counts.any():
        share = vectors.counts[:n_written].sum() / vectors.counts.sum()
        say(f"These {n_written:,} of {len(vectors):,} words make {share:.1%} of the known words of the text")


def _learns_words(model: str) -> bool:
    """Return whether a model directory has trained vectors of words; any other file has."""
    from wordvec_ca.formats import read_metadata
    from wordvec_ca.tables import words_are_trained

    folder = Path(model)
    is_ours = (folder / ModelFile.CONFIG).is_file() and (folder / ModelFile.VOCAB).is_file()
    return not is_ours or words_are_trained(read_metadata(folder))


def _with_documents(model: str, table: str) -> Any:
    """Return the vectors of a model's documents, or of both its words and its documents."""
    from wordvec_ca.models import document_vectors, table_of_both

    documents, _ = document_vectors(model)
    return (
        documents if table == "documents" else table_of_both(load_vectors(model, vectors="input"), documents)
    )
