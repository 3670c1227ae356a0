"""``cawv demo``: trains a model on text that every installation has, and shows the result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wordvec_ca.cli.output import next_commands, reason, say, show, write_outputs
from wordvec_ca.cli.paths import OUTPUT
from wordvec_ca.cli.terminal import status
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.models import ModelName

if TYPE_CHECKING:
    from wordvec_ca.vectors import KeyedVectors

# The command in the record of a model, by which the demo recognises its own models.
COMMAND = "cawv demo"

# Everyday words and words of programming; the demo shows those whose neighbours have the highest cosines.
WORDS = (
    *(
        "array",
        "file",
        "function",
        "minutes",
        "string",
        "vector",
        "random",
        "maximum",
        "directory",
        "integer",
    ),
    *("france", "music", "philosophy", "king", "moon", "acid", "war", "language", "river", "october", "god"),
    *("economy", "ocean", "university", "theory"),
)

SHOWN = 7

SENTENCE, TARGET = "return the number of items in the list", "items"


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
@click.option("--epochs", type=click.IntRange(1), default=20, show_default=True, help="Passes over the text.")
@click.option("--max-words", type=click.IntRange(1_000), help="Read no more text than this.  [default: all]")
@click.option("--overwrite", is_flag=True, help="Replace DIR, although the demo did not make it.")
def command(output: str, model: ModelName, epochs: int, max_words: int | None, overwrite: bool) -> None:
    """Train vectors on text that every installation has, and look at them.

    The text is the documentation of Python and the installed packages, and 106 articles of Wikipedia that
    come with gensim. At the end the demo writes a page with a map of the words, which any browser
    opens.
    """
    from wordvec_ca.files import check_output
    from wordvec_ca.formats import MODEL_FILES
    from wordvec_ca.models import ResolvedConfig, TrainConfig
    from wordvec_ca.runs import RunRequest, progress_display, run_request
    from wordvec_ca.text import articles, docstrings

    config = TrainConfig(model=model, window=10, sample=1e-4, min_count=8, epochs=epochs)
    overwrite = overwrite or _is_of_demo(Path(output))
    check_output(output, overwrite=overwrite, files=MODEL_FILES)
    say("Reading the documentation of Python and the installed packages, and some of Wikipedia ...")
    share = None if max_words is None else max_words // 2
    text = [*docstrings(max_words=share), *articles(max_words=share)]
    say(f"{len(text):,} paragraphs, {sum(map(len, text)) / 1e6:.1f} MB of text")
    with progress_display("bar" if sys.stderr.isatty() else "lines") as (callbacks, _):
        request = RunRequest(
            config=ResolvedConfig.of(config),
            corpus=iter(text),
            output=output,
            overwrite=overwrite,
            command=COMMAND,
        )
        trained = run_request(request, callbacks=callbacks, progress=False)
    vectors = trained.vectors
    show(f"\nnearest neighbours among {len(vectors):,} words")
    for word, neighbours in _surest(vectors):
        show(f"  {word:<10} {', '.join(neighbours)}")
    attends = _attention(output, vectors)
    if attends:
        show(f"\n{attends}")
    show(f"\nmodel directory: {Path(output)}")
    show(next_commands(output, next((word for word, _ in _surest(vectors)), "WORD")))
    if trained.record["interrupted"]:
        raise click.exceptions.Exit(130)
    show(f"\n{_map(output)}")


def _surest(vectors: KeyedVectors) -> list[tuple[str, list[str]]]:
    """Return the words whose five nearest neighbours have the highest cosines, in the order of the list."""
    near = {word: vectors.most_similar(word, topn=5) for word in WORDS if word in vectors}
    mean = {word: sum(cosine for _, cosine in found) for word, found in near.items()}
    chosen = sorted(near, key=lambda word: -mean[word])[:SHOWN]
    return [(word, [neighbour for neighbour, _ in near[word]]) for word in near if word in chosen]


def _attention(model: str, vectors: KeyedVectors) -> str:
    """Return a table of attention weights in a sentence; '' without attention or with too few known words."""
    from wordvec_ca.cli.attention import table_of_weights
    from wordvec_ca.models import attention_weights, read_config

    tokens = SENTENCE.split()
    if not read_config(Path(model)).spec.attends or not all(word in vectors for word in tokens):
        return ""
    shown = table_of_weights(attention_weights(model, tokens, tokens.index(TARGET)), TARGET)
    return f'"{SENTENCE}"\n{shown}'


def _map(model: str) -> str:
    """Write the page with the map; return a line on where it is, or why there is none."""
    from wordvec_ca.report import UnfaithfulMapError, explore

    page = str(Path(model) / ModelFile.WORDS_PAGE)
    try:
        with status() as tell:
            made = explore(model, max_megabytes=25, cache=False, tell=tell)
    except UnfaithfulMapError as error:
        return f"no map of words: {reason(error)}"
    write_outputs({page: lambda: made.html}, overwrite=True, follow_links=False)
    return (
        f"a map of the {made.n_words:,} words, for any browser; it {made.shown_kept}\n"
        f"  {Path(page).absolute().as_uri()}"
    )


def _is_of_demo(model: Path) -> bool:
    """Return whether a folder is a model that the demo made."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.formats import read_metadata

    try:
        return read_metadata(model).get("command") == COMMAND
    except (DataError, OSError):
        return False
