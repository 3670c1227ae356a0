"""``cawv demo``: the main job on text that every installation has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wordvec_ca.cli.output import next_commands, say, show
from wordvec_ca.cli.paths import OUTPUT
from wordvec_ca.cli.terminal import status
from wordvec_ca.specs.models import ModelName

if TYPE_CHECKING:
    from wordvec_ca.vectors import KeyedVectors

COMMAND = "cawv demo"
"""What the record of a model says that the demo made."""

WORDS = ("array", "file", "function", "matrix", "returns", "seconds")


@click.command(name="demo", short_help="The main job on text that is already here.")
@click.option(
    "-o",
    "--output",
    default="demo.cbow-attn",
    show_default=True,
    type=OUTPUT,
    metavar="DIR",
    help="Model directory; the demo replaces one that it made itself.",
)
@click.option("--model", default="cbow-attn", show_default=True, help="Which model.")
@click.option("--epochs", type=click.IntRange(1), default=10, show_default=True, help="Passes over the text.")
@click.option("--max-words", type=click.IntRange(1_000), help="Read no more text than this.  [default: all]")
@click.option("--overwrite", is_flag=True, help="Replace DIR, although the demo did not make it.")
def command(output: str, model: ModelName, epochs: int, max_words: int | None, overwrite: bool) -> None:
    """Train vectors on the documentation of Python and the installed packages, and look at them.

    The last thing that it writes is a page with a map of the words, which any browser opens.
    """
    from wordvec_ca.files import check_output
    from wordvec_ca.models import TrainConfig
    from wordvec_ca.report import explore
    from wordvec_ca.runs import progress_display, train
    from wordvec_ca.text import docstrings
    from wordvec_ca.vectors import MODEL_FILES

    config = TrainConfig(model=model, window=10, epochs=epochs)
    overwrite = overwrite or _is_of_demo(Path(output))
    check_output(output, overwrite=overwrite, files=MODEL_FILES)
    say("Reading the documentation of Python and the installed packages ...")
    text = list(docstrings(max_words=max_words))
    say(f"{len(text):,} paragraphs, {sum(map(len, text)) / 1e6:.1f} MB of text")
    with progress_display("bar" if sys.stderr.isatty() else "lines") as (callbacks, _):
        trained = train(
            iter(text),
            config,
            output=output,
            overwrite=overwrite,
            callbacks=callbacks,
            command=COMMAND,
            progress=False,
        )
    vectors = trained.vectors
    show(f"\nnearest neighbours among {len(vectors):,} words")
    for word in WORDS:
        if word in vectors:
            found = ", ".join(neighbour for neighbour, _ in vectors.most_similar(word, topn=6))
            show(f"  {word:<9} {found}")
    show(f"\n{_evaluation(vectors)}")
    show(f"\nmodel directory: {Path(output)}")
    if trained.record["interrupted"]:
        raise click.exceptions.Exit(130)
    page = Path(output) / "words.html"
    with status() as tell:
        explore(output, max_megabytes=25, cache=False, tell=tell).save(page, follow_links=False)
    show(f"words on a map: open {page.absolute().as_uri()} in a browser")
    show(next_commands(output, "tuple"))


def _is_of_demo(model: Path) -> bool:
    """Return whether a folder is a model that the demo made."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.vectors import read_metadata

    try:
        return read_metadata(model).get("command") == COMMAND
    except (DataError, OSError):
        return False


def _evaluation(vectors: KeyedVectors) -> str:
    """Return one line that says how good the vectors are, on word pairs that come with gensim."""
    from wordvec_ca.eval import plan, run

    jobs, _ = plan(["similarity"])
    if not jobs:
        return "evaluation: skipped, for the word pairs come with gensim, which is not installed"
    report = max(run(vectors, jobs, seed=1), key=lambda report: report.n)
    name, metric = next(iter(report.metrics.items()))
    return (
        f"evaluation: {report.dataset}, {name} {metric.value:.3f} [{metric.low:.3f}, {metric.high:.3f}] "
        f"on the {report.n} word pairs, {report.coverage:.0%}, that it knows"
    )
