"""How long ``cawv change`` takes on two long texts: reading them, and each pair of texts, given or dealt.

Writes a section of docs/measurements/changed-words.md. With 2 × 15 million words three minutes of one core.
"""

from __future__ import annotations

import dataclasses
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, say, table, write_section

from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.changed_words import USUAL, Slices
from wordvec_ca.vectors import one_blas_thread

LINES_PER_MILLION = 15_608
PERMUTATIONS = 20


@one_blas_thread
def main() -> None:
    """Measure and write the page."""
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--million", type=float, default=15, help="million words of each text")
    given = options.parse_args()
    (corpus,) = data_files(given.data, "corpora/wiki.30M.txt.xz")
    began, size = time.time(), int(given.million * LINES_PER_MILLION)
    config = ResolvedConfig.of(dataclasses.replace(USUAL, workers=1))
    minutes = []
    with tempfile.TemporaryDirectory() as place:
        texts = [Path(place, name) for name in ("first.txt", "second.txt")]
        for number, text in enumerate(texts):
            text.write_text("".join(lines_of(corpus, size, number * size)), encoding="utf-8")
        clock = time.process_time()
        slices = Slices(texts, config, 10)
    slices.fit_epochs()
    say(slices.description)
    minutes.append((time.process_time() - clock) / 60)
    clock = time.process_time()
    slices.measured(slices.labels, 1, 0)
    minutes.append((time.process_time() - clock) / 60)
    reading, pair = minutes
    whole = reading + (1 + PERMUTATIONS) * pair
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows = [
        ["words of each text", f"{given.million:g} M"],
        ["words judged", f"{len(slices.rows):,}"],
        ["passes over the texts", slices.config.epochs],
        ["reading and encoding", f"{reading:.1f} minutes"],
        ["models of a pair of texts, and how far the words moved", f"{pair:.1f} minutes"],
        [f"so {1 + PERMUTATIONS} pairs and the reading, one core", f"{whole:.0f} minutes"],
        ["the same, pairs side by side on two free cores", f"{reading + (whole - reading) / 2:.0f} minutes"],
        ["memory", f"{memory:.1f} GB"],
    ]
    body = (
        "CPU time of `cawv change` with its defaults, one worker; the times of all pairs are calculated "
        "from that of one:\n\n" + table(("", "CPU time"), rows)
    )
    title = "Are the p-values of `cawv change` right?"
    write_section(given.page, title, "time", body, time.time() - began)


if __name__ == "__main__":
    main()
