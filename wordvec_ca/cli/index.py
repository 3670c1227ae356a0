"""``cawv index``: makes an approximate index, with which ``nn`` and ``search`` need not compare every
vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.options import json_option, threads_option, vectors_option
from wordvec_ca.cli.output import is_terminal, say, show, show_json
from wordvec_ca.cli.paths import OUTPUT, ExistingPath


@click.command(name="index", short_help="An index for fast, approximate neighbours.")
@click.argument("model", type=ExistingPath())
@click.option("-o", "--output", type=OUTPUT, metavar="DIR", help="[default: MODEL.cawv-neighbours]")
@click.option(
    "--probes",
    type=click.IntRange(1, 100_000),
    default=64,
    show_default=True,
    help="Lists that a search reads: more give better recall, but take longer.",
)
@click.option(
    "--queries",
    type=click.IntRange(1, 10_000),
    default=200,
    show_default=True,
    help="Number of queries to measure the recall with.",
)
@threads_option
@vectors_option
@json_option("A JSON object")
def command(
    model: str,
    output: str | None,
    probes: int,
    queries: int,
    workers: int | None,
    form: str | None,
    as_json: bool,
) -> None:
    """Index the vectors of MODEL, and print how many of the exact neighbours the index finds.

    MODEL is a model directory, a file of vectors, or the index that cawv search has made. From 100,000
    vectors on, where it is faster, cawv nn and cawv search use the index; what they find is ranked by exact
    cosines.
    """
    import sys
    import time

    from wordvec_ca.cli.models import index_of, rows_of
    from wordvec_ca.cli.terminal import status
    from wordvec_ca.showable import duration
    from wordvec_ca.vectors import FASTER_FROM, ApproximateNeighbours, NoWordVectorsError

    place = Path(output) if output else index_of(model)
    try:
        vectors = rows_of(model, form)
    except NoWordVectorsError as error:
        raise NoWordVectorsError(
            f"{error}. To index texts, let cawv search read them: cawv search {model} TEXT QUERY, then cawv "
            "index TEXT.cawv-index"
        ) from error
    began = time.perf_counter()
    with status(quiet=not is_terminal(sys.stderr)) as tell:

        def progress(done: int, total: int) -> None:
            left = (time.perf_counter() - began) * (total - done) / max(1, done)
            tell(f"{done / total:.0%} of {len(vectors):,} vectors, about {duration(left)} left")

        index = ApproximateNeighbours.build(
            vectors,
            place,
            probes=probes,
            workers=workers,
            progress=progress,
        )
    seconds = time.perf_counter() - began
    say(f"Indexed {len(index):,} vectors in {seconds:.1f} s: {place}")
    if index.compared_rows < len(vectors):
        say(
            f"Whether the vectors are still the same is judged by {index.compared_rows:,} of their rows: if "
            "you change single vectors, make the index again"
        )
    recall = index.recall(queries=queries)
    if as_json:
        record: dict[str, Any] = recall._asdict()
        show_json({"index": str(place), "vectors": len(index), "seconds": round(seconds, 3), **record})
    else:
        show(
            f"recall of the {recall.topn} nearest: {recall.share:.1%} over {recall.queries:,} queries\n"
            f"a query: {1000 * recall.approximate_seconds:.2f} ms, exact {1000 * recall.exact_seconds:.2f} ms"
        )
        if len(index) < FASTER_FROM:
            say(
                f"below {FASTER_FROM:,} vectors exact search is about as fast and misses nothing: nn and "
                "search go on with it"
            )
