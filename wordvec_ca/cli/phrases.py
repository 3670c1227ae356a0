"""``cawv phrases``: find collocations."""

from __future__ import annotations

import click

from wordvec_ca.cli.options import Choice, option, threads_option
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import INPUT, OUTPUT_FILE


@click.command(name="phrases")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...", type=INPUT)
@click.option("-o", "--output", type=OUTPUT_FILE, required=True, help="File to write, for cawv train.")
@click.option(
    "--scoring", type=Choice(["word2phrase", "npmi"]), default="word2phrase", show_default=True,
    help="How much more often than by chance; or normalised pointwise mutual information.",
)  # fmt: skip
@click.option("--threshold", type=float, help="Least score.  [default: 100; 0.5 for npmi]")
@click.option(
    "--min-count", type=click.IntRange(min=1), default=5, show_default=True,
    help="Rarer words and pairs are no phrases.",
)  # fmt: skip
@click.option(
    "--phrases",
    type=INPUT,
    metavar="FILE",
    help="Join these first, to find longer ones; they are written too.",
)
@option("tokenizer")
@option("lowercase")
@option("field")
@option("encoding")
@option("count_memory")
@threads_option
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary.")
def command(
    corpus: tuple[str, ...],
    output: str,
    scoring: str,
    threshold: float | None,
    min_count: int,
    phrases: str | None,
    tokenizer: str,
    lowercase: bool,
    field: str | tuple[str, ...] | None,
    encoding: str | None,
    count_memory: int | None,
    workers: int | None,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Find pairs of words in CORPUS that belong together, such as "new york", best first.

    Run it again with --phrases to find longer ones. `cawv train --phrases` joins them: new_york.
    """
    from wordvec_ca.cli.reading_bar import reading_bar
    from wordvec_ca.corpus import Phrases, TextOptions, find_phrases, save_phrases
    from wordvec_ca.errors import DataError
    from wordvec_ca.machine import usable_cpus

    before = None if phrases is None else Phrases.load(phrases)
    with reading_bar(quiet) as progress:
        found = find_phrases(
            list(corpus),
            TextOptions(
                min_count=min_count,
                phrases=before,
                tokenizer=tokenizer,
                lowercase=lowercase,
                field=field,
                encoding=encoding,
                count_memory=count_memory,
                workers=workers or usable_cpus(),
            ),
            scoring=scoring,
            threshold=threshold,
            progress=progress,
        )
    if not found and before is None:
        raise DataError(
            "no two words are a phrase by these options: lower --threshold or --min-count, or give more text"
        )
    save_phrases(output, found, before)
    if not quiet:
        from wordvec_ca.cli.terminal import cell

        best = ", ".join(cell(" ".join(phrase.words)) for phrase in found[:5])
        say(f"{output}: {len(found):,} phrases{f', such as {best}' if best else ''}")
