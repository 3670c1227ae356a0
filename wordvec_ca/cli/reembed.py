"""``cawv reembed``: removes the context-free direction from word vectors (CA-SEM)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import Choice, option, threads_option, tokenizer_of_model_option, vectors_option
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import INPUT, OUTPUT, OUTPUT_FILE, ExistingPath, Inputs


@click.command(name="reembed", short_help="Re-embed word vectors for a collection of sentences.")
@click.argument("model", type=ExistingPath())
@click.argument("sentences", nargs=-1, required=True, metavar="SENTENCES...", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Model directory to write.")
@click.option(
    "--max-iter",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Largest number of iterations.",
)
@click.option(
    "--tol",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Stop when an iteration lowers the energy by at most this share.",
)
@click.option(
    "--start",
    type=Choice(["unit", "rms"]),
    default="unit",
    show_default=True,
    help="Length of v0 at the start: 1, or the root mean square length of the words around it.",
)
@click.option("--scale", type=float, help="Keep the length of v0 at this multiple of that root mean square.")
@click.option(
    "--count-power",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Raise the counts to this power.",
)
@click.option(
    "--counts-only", is_flag=True, help="Write only the counts of SENTENCES, to the file OUTPUT (.npz)."
)
@click.option("--phrases", metavar="CHAR", help="Join words to phrases of MODEL, which CHAR holds together.")
@tokenizer_of_model_option
@click.option("--lowercase/--no-lowercase", default=None, help="[default: as MODEL, or lower-case]")
@option("field")
@option("encoding")
@vectors_option
@threads_option
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def command(
    model: str,
    sentences: tuple[str, ...],
    output: str,
    max_iter: int,
    tol: float,
    start: str,
    scale: float | None,
    count_power: float,
    counts_only: bool,
    phrases: str | None,
    tokenizer: str | None,
    lowercase: bool | None,
    field: str | tuple[str, ...] | None,
    encoding: str | None,
    form: str | None,
    workers: int | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Find what the words of MODEL have in common in SENTENCES, and remove it from their vectors.

    SENTENCES are text files (one sentence a line; plain or compressed, directories, patterns, - for standard
    input) or files of counts (.npz) made with --counts-only and MODEL. Counts add up: count the shards
    of a large text anywhere, then re-embed with all the counts; the result is that of one pass over the text.

    If MODEL has n-grams, unknown words of SENTENCES also get a row in OUTPUT, unless SENTENCES include files
    of counts; OUTPUT does not have n-grams.

    OUTPUT is a model directory like those of `cawv train`, for gensim too, with v0.npy, chi.npy and
    counts.npz beside the vectors.
    """
    from wordvec_ca.cli.sentence_options import text_options
    from wordvec_ca.corpus import TextOptions, count_corpus
    from wordvec_ca.files import check_output
    from wordvec_ca.formats import MODEL_FILES
    from wordvec_ca.sentences import (
        REEMBEDDING_FILES,
        TextLines,
        WordCounts,
        reembed,
        save_reembedded,
        segmented_counts,
        with_rows_for,
    )
    from wordvec_ca.tables import check_trained

    if scale is not None and not scale > 0:
        raise click.BadParameter("it must be > 0", param_hint="--scale")
    if counts_only:
        if not output.endswith(".npz"):  # files of counts are recognised by this ending
            raise click.BadParameter(f"{output!r} must end in .npz with --counts-only", param_hint="--output")
        OUTPUT_FILE.check(output, (), overwrite=overwrite)
    else:
        check_output(output, overwrite=overwrite, files=MODEL_FILES | REEMBEDDING_FILES)
    vectors = load_vectors(model, vectors=form)
    if not counts_only:  # before the texts are counted
        check_trained(vectors.metadata, model)
    counted = [path for path in sentences if path.endswith(".npz")]
    texts = [path for path in sentences if not path.endswith(".npz")]
    inputs = Inputs()
    parts, n_made = inputs.each(counted, lambda path: WordCounts.load(path, words=vectors.index_to_key)), 0
    if texts:
        options = text_options(vectors, tokenizer, lowercase)
        source: dict[str, Any] = {"field": field, "encoding": encoding}
        files = inputs.texts(texts, **source)
        if files:
            if phrases is not None:
                lines = TextLines(files, **source)
                segmented, n_lines = segmented_counts(lines, vectors.key_to_index, phrases, **options)
                table = dict(segmented)
            else:
                source["normalize"] = (vectors.metadata.get("config") or {}).get("normalize", "none")
                counted_text = TextOptions(min_count=1, workers=workers, **options, **source)
                vocab, stats = count_corpus(files, counted_text)
                table, n_lines = dict(zip(vocab.words, vocab.counts.tolist(), strict=True)), stats.lines
            if not (counted or counts_only):
                n_rows, vectors = len(vectors), with_rows_for(vectors, table)
                n_made = len(vectors) - n_rows
            counts = WordCounts.from_mapping(table, vectors.key_to_index)
            parts.append(replace(counts, n_sentences=n_lines))
    inputs.check_some(parts)
    counts = parts[0]
    for part in parts[1:]:
        counts = counts + part
    if not quiet:
        rate = counts.n_oov / max(counts.n_tokens, 1)
        say(f"{counts.n_tokens:,} tokens in {counts.n_sentences:,} lines, {rate:.2%} unknown")
        if n_made:
            say(f"{n_made:,} words got a vector from their n-grams")
    if counts_only:
        counts.save(output, words=vectors.index_to_key)
        inputs.finish()
        return
    result = reembed(
        vectors, counts, max_iter=max_iter, tol=tol, start=start, scale=scale, count_power=count_power
    )
    save_reembedded(output, vectors, result, overwrite=overwrite)
    if not quiet:
        n_iter = len(result.energies) - 1
        say(
            f"{n_iter} iterations, energy {result.energies[0]:.6g} -> {result.energies[result.best]:.6g}, "
            f"|v0| = {result.norms[result.best]:.4g}; wrote {output}"
        )
    inputs.finish()
