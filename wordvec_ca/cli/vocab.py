"""``cawv vocab``: counts the words of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wordvec_ca.cli.options import json_option, option, reading_options
from wordvec_ca.cli.output import say, show_json
from wordvec_ca.cli.paths import COMPRESSED_FILE, INPUT
from wordvec_ca.showable import counted

if TYPE_CHECKING:
    from wordvec_ca.corpus import CorpusStats


@click.command(name="vocab")
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...", type=INPUT)
@click.option("-o", "--output", type=COMPRESSED_FILE, required=True, help="File to write: word TAB count.")
@option("min_count")
@option("max_final_vocab")
@reading_options
@click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary.")
@json_option("What was found as a JSON object")
def command(
    corpus: tuple[str, ...], output: str, overwrite: bool, quiet: bool, as_json: bool, **reading: Any
) -> None:
    """Count the words of CORPUS and write them, most frequent first.

    CORPUS is one or more files (plain or .gz, .bz2, .xz, .zst, recognised by content), directories or
    patterns, or - for standard input. `cawv train --read-vocab` takes the result.
    """
    from wordvec_ca.cli.terminal import reading_bar
    from wordvec_ca.corpus import TextOptions, write_vocabulary

    with reading_bar(quiet) as progress:
        n_words, stats = write_vocabulary(list(corpus), output, TextOptions(**reading), progress=progress)
    if as_json:
        show_json({**stats.as_dict(), "words": n_words})
    if not quiet:
        _summary(n_words, stats, output)


def _summary(n_words: int, stats: CorpusStats, output: str) -> None:
    speed = stats.text_bytes / 1e6 / max(stats.seconds_reading, 1e-9)  # a clock may not tick for a short text
    say(f"{stats.raw_tokens:,} tokens of {stats.raw_types:,} types, {stats.lines:,} lines; {speed:,.0f} MB/s")
    share = stats.kept_tokens / max(stats.raw_tokens, 1)
    say(f"{output}: {n_words:,} words that cover {share:.1%} of the tokens")
    if stats.records:
        say(", ".join(counted(n, what) for what, n in stats.records.items()))
    if stats.repaired_utf8:
        say(
            f"{stats.repaired_utf8:,} invalid UTF-8 sequences read as U+FFFD, first in {stats.first_repaired}"
        )
    if stats.cut_tokens:
        say(f"{stats.cut_tokens:,} cuts in tokens of more than 1,000 bytes")
