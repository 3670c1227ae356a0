"""``cawv eval``: say how good word vectors are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.evaluation_options import evaluation_options, files_of


@click.command("eval")
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@evaluation_options
@click.option(
    "--controls", is_flag=True, help="Judge permuted and random vectors too: the floor of each task."
)
@click.option(
    "--counts",
    type=click.Path(exists=True),
    metavar="VOCAB",
    help="Word counts (cawv vocab) for vectors that carry none: SIF and its like weigh words by them.",
)
@click.option(
    "--items", is_flag=True, help="With --json: write the outcome of every item, for `cawv compare`."
)
def command(
    model: Path,
    tasks: list[str] | None,
    folder: Path | None,
    seed: int,
    workers: int,
    as_json: bool,
    quiet: bool,
    controls: bool,
    counts: str | None,
    items: bool,
    **files: Any,
) -> None:
    """Say how good the vectors in MODEL are, for syntax and for semantics.

    MODEL is a model directory, or vectors in word2vec, GloVe, gensim or safetensors format. Every figure
    comes with a 95 % interval, the number of items and the share of them that the vocabulary covers.

    Without data the sets that come inside gensim are used; for every task that cannot run the output names
    the file it needs and where to get it.
    """
    import json

    from wordvec_ca.errors import DataError
    from wordvec_ca.eval.controls import CONTROLS, control
    from wordvec_ca.eval.report import table
    from wordvec_ca.eval.suite import plan, run
    from wordvec_ca.keyedvectors import KeyedVectors
    from wordvec_ca.reembedding import WordCounts
    from wordvec_ca.vocab import Vocab

    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    jobs, missing = plan(tasks, folder=folder, files=files_of(files))
    if not jobs:
        raise click.UsageError("nothing to run\n" + "\n".join(f"* {entry}" for entry in missing))
    vectors = KeyedVectors.load(model)
    if counts is not None:
        table_of_counts = Vocab.load(counts)
        pairs = zip(table_of_counts.words, table_of_counts.counts.tolist(), strict=True)
        vectors.counts = WordCounts.from_mapping(dict(pairs), vectors.key_to_index).counts
    options: dict[str, Any] = {"seed": seed, "workers": workers, "progress": say}
    reports = list(run(vectors, jobs, name=str(model), skipped=missing.append, **options))
    if not reports:
        raise DataError("\n".join(["nothing could be judged", *(f"* {entry}" for entry in missing)]))
    for name in CONTROLS if controls else ():
        say(f"control: {name} vectors")
        other = control(name, vectors, seed=seed)
        # The control has the same words: what could not be run for them is known already.
        reports += run(other, jobs, name=f"{model} ({name})", skipped=lambda _: None, **options)
    left_out = ["", "Not run:", *(f"* {entry}" for entry in missing)] if missing else []
    if as_json:
        click.echo(json.dumps([report.to_dict(items=items) for report in reports], ensure_ascii=False))
        if left_out:
            say("\n".join(left_out[1:]))
    else:
        click.echo("\n".join([table(reports), *left_out]))
