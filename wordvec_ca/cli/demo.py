"""``cawv demo``: the main job on text that every installation has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wordvec_ca.cli.output import say, show

if TYPE_CHECKING:
    from wordvec_ca.vectors import KeyedVectors

WORDS = ("array", "file", "function", "matrix", "returns", "seconds")


@click.command(name="demo", short_help="The main job on text that is already here.")
@click.option(
    "-o",
    "--output",
    default="demo.cbow-attn",
    show_default=True,
    metavar="DIR",
    help="Model directory; replaced if it is a model.",
)
@click.option("--model", default="cbow-attn", show_default=True, help="Which model.")
@click.option("--epochs", type=click.IntRange(1), default=10, show_default=True, help="Passes over the text.")
@click.option("--max-words", type=click.IntRange(1_000), help="Read no more text than this.  [default: all]")
def command(output: str, model: str, epochs: int, max_words: int | None) -> None:
    """Train vectors on the documentation of Python and the installed packages, and look at them."""
    from wordvec_ca.files import check_output
    from wordvec_ca.models import TrainConfig
    from wordvec_ca.text import docstrings
    from wordvec_ca.training import progress_display, train
    from wordvec_ca.vectors import MODEL_FILES

    try:
        config = TrainConfig(model=model, window=10, epochs=epochs)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error
    check_output(output, overwrite=True, files=MODEL_FILES)
    say("Reading the documentation of Python and the installed packages ...")
    text = list(docstrings(max_words=max_words))
    say(f"{len(text):,} paragraphs, {sum(map(len, text)) / 1e6:.1f} MB of text")
    with progress_display("bar" if sys.stderr.isatty() else "lines") as (callbacks, _):
        trained = train(
            iter(text), config, output=output, overwrite=True, callbacks=callbacks, progress=False
        )
    vectors = trained.vectors
    show(f"\nnearest neighbours among {len(vectors):,} words")
    for word in WORDS:
        if word in vectors:
            found = ", ".join(neighbour for neighbour, _ in vectors.most_similar(word, topn=6))
            show(f"  {word:<9} {found}")
    show(f"\n{_evaluation(vectors)}")
    show(
        f"\nmodel directory: {Path(output)}\n"
        f"next: cawv nn {output} tuple    cawv eval {output}    cawv info {output}"
    )
    if trained.record["interrupted"]:
        raise click.exceptions.Exit(130)


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
