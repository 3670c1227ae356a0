"""``cawv demo``: the main job on text that every installation has."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from wordvec_ca.keyedvectors import KeyedVectors

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
    from wordvec_ca.config import TrainConfig
    from wordvec_ca.docstrings import docstrings
    from wordvec_ca.model import check_output
    from wordvec_ca.progress import Bar, Lines
    from wordvec_ca.training import train

    try:
        config = TrainConfig(model=model, window=10, epochs=epochs)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error
    check_output(output, overwrite=True)
    click.echo("Reading the documentation of Python and the installed packages ...", err=True)
    text = list(docstrings(max_words=max_words))
    click.echo(f"{len(text):,} paragraphs, {sum(map(len, text)) / 1e6:.1f} MB of text", err=True)
    show: Any = Bar() if sys.stderr.isatty() else Lines()
    if isinstance(show, Bar):
        with show:
            trained = train(iter(text), config, output=output, overwrite=True, callbacks=[show])
    else:
        trained = train(iter(text), config, output=output, overwrite=True, callbacks=[show])
    vectors = trained.vectors
    click.echo(f"\nnearest neighbours among {len(vectors):,} words")
    for word in WORDS:
        if word in vectors:
            found = ", ".join(neighbour for neighbour, _ in vectors.most_similar(word, topn=6))
            click.echo(f"  {word:<9} {found}")
    click.echo(f"\n{_evaluation(vectors)}")
    click.echo(
        f"\nmodel directory: {Path(output)}\n"
        f"next: cawv nn {output} tuple    cawv eval {output}    cawv info {output}"
    )
    if trained.record["interrupted"]:
        raise click.exceptions.Exit(130)


def _evaluation(vectors: KeyedVectors) -> str:
    """Return one line that says how good the vectors are, on word pairs that come with gensim."""
    from wordvec_ca.eval.suite import plan, run

    jobs, _ = plan(["similarity"])
    if not jobs:
        return "evaluation: skipped, for the word pairs come with gensim, which is not installed"
    report = max(run(vectors, jobs, seed=1), key=lambda report: report.n)
    name, metric = next(iter(report.metrics.items()))
    return (
        f"evaluation: {report.dataset}, {name} {metric.value:.3f} [{metric.low:.3f}, {metric.high:.3f}] "
        f"on the {report.n} word pairs, {report.coverage:.0%}, that it knows"
    )
