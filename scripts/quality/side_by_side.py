"""Are resampled models trained faster in parallel, with one thread each, or one by one with all threads?

Measures both ways in alternation and writes a section of docs/measurements/resamples.md.
"""

from __future__ import annotations

import functools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, parser, say, table, tokens_of, write_section

from wordvec_ca import TrainConfig, train
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.resampling import models as resamples


def main() -> None:
    """Train both ways in turn and write the page."""
    options = parser(__doc__, "resamples", data=True)
    options.add_argument("--million", type=float, default=0.5, help="million words of text")
    options.add_argument("--models", type=int, default=4, help="resampled models")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5, help="trainings of each kind")
    options.add_argument("--model", default="skipgram", help="which model")
    given = options.parse_args()
    (corpus,) = data_files(given.data, "corpora/wiki.30M.txt.xz")
    text = list(tokens_of(corpus, given.million * 1e6))
    usual = resamples.side_by_side
    config = TrainConfig(model=given.model, resamples=given.models, workers=given.workers, epochs=2)
    began = time.time()
    found: dict[int, list[tuple[float, float]]] = {1: [], given.workers: []}
    with tempfile.TemporaryDirectory() as place:
        for _ in range(given.rounds):
            for at_once, times in found.items():
                way = (at_once, given.workers // at_once)
                resamples.side_by_side = functools.partial(_forced, way)
                start, cpu = time.perf_counter(), time.process_time()
                model = train(text, config, output=Path(place, "m"), overwrite=True, progress=False)
                times.append((time.perf_counter() - start, time.process_time() - cpu))
                say(f"{at_once} at a time: {times[-1][0]:.1f} s, {times[-1][1]:.1f} CPU seconds")
    rows = []
    for at_once, times in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
        rows.append([at_once, given.workers // at_once, f"{wall:.1f} s", f"{cpu:.1f} s"])
    ratio = statistics.median(
        one / other for (one, _), (other, _) in zip(found[1], found[given.workers], strict=True)
    )
    chosen, threads = usual(ResolvedConfig.of(config), len(model.vocab))
    body = (
        f"{given.models} models ({given.model}) of {given.million:g} M words, {given.workers} workers, 2 "
        f"epochs, median of {given.rounds} in alternation. One after the other takes {ratio:.2f} times "
        "as long as side by side (median of ratios); other programs used the cores, load "
        f"{os.getloadavg()[2]:.0f}. "
        f"`--resamples` itself takes {chosen} at a time here, with {threads} threads each.\n\n"
        + table(("models at a time", "threads of each", "time", "CPU time"), rows)
    )
    write_section(given.page, "How sure is a neighbour?", "side-by-side", body, time.time() - began)


def _forced(way: tuple[int, int], config: ResolvedConfig, n_words: int) -> tuple[int, int]:
    return way


if __name__ == "__main__":
    main()
