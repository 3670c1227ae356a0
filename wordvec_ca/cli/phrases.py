"""``cawv phrases``: finds collocations."""

from __future__ import annotations

from typing import Any

import click

from wordvec_ca.cli.options import Choice, reading_options
from wordvec_ca.cli.output import say
from wordvec_ca.cli.paths import COMPRESSED_FILE, INPUT


@click.command(name="phrases")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...", type=INPUT)
@click.option("-o", "--output", type=COMPRESSED_FILE, required=True, help="File to write, for cawv train.")
@click.option(
    "--scoring", type=Choice(["word2phrase", "npmi"]), default="word2phrase", show_default=True,
    help="How much more often than by chance pairs occur, or normalised pointwise mutual information.",
)  # fmt: skip
@click.option("--threshold", type=float, help="Least score.  [default: 100; 0.5 for npmi]")
@click.option(
    "--min-count", type=click.IntRange(min=1), default=5, show_default=True,
    help="Ignore rarer words and pairs.",
)  # fmt: skip
@click.option(
    "--phrases",
    type=INPUT,
    metavar="FILE",
    help="Join these phrases first, to find longer ones; they are written too.",
)
@reading_options
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary.")
def command(
    corpus: tuple[str, ...],
    output: str,
    scoring: str,
    threshold: float | None,
    phrases: str | None,
    overwrite: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Find pairs of words in CORPUS that belong together, such as "new york", best first.

    Run it again with --phrases to find longer ones. `cawv train --phrases` joins them: new_york.
    """
    from wordvec_ca.cli.terminal import reading_bar
    from wordvec_ca.corpus import Phrases, TextOptions, find_phrases, save_phrases
    from wordvec_ca.errors import DataError

    before = None if phrases is None else Phrases.load(phrases)
    with reading_bar(quiet) as progress:
        found = find_phrases(
            list(corpus),
            TextOptions(phrases=before, **reading),
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
