"""Are the p-values of ``cawv change`` right? Documents dealt at random into two texts, where nothing changed.

Each pair of dealt texts is judged as if it were given, against 20 of the others. Writes a section of
docs/measurements/changed-words.md. About one second of one core for each pair of texts.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, say, table, write_section

from wordvec_ca import TrainConfig
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.changed_words import Measured, Slices
from wordvec_ca.vectors import DECIDABLE

BANDS = ((10, 20), (20, 50), (50, 200), (200, 1 << 40))
TEXTS = ("change/english/ccoha1.txt", "change/english/ccoha2.txt")


def main() -> None:
    """Deal, judge and write the page."""
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--permutations", type=int, default=20)
    options.add_argument("--vector-size", type=int, default=50)
    options.add_argument("--epochs", type=int, default=3)
    given = options.parse_args()
    lines = [line.split() for path in data_files(given.data, *TEXTS) for line in lines_of(path)]
    config = TrainConfig(
        model="skipgram", window=10, vector_size=given.vector_size, epochs=given.epochs, workers=1
    )
    order = np.random.default_rng(0).permutation(len(lines))
    texts = [[lines[i] for i in half] for half in np.array_split(order, 2)]
    slices = Slices(texts, ResolvedConfig.of(config), config.min_count)
    dealt, began = [], time.time()
    for number in range(given.pairs):
        labels = np.random.default_rng([1, number]).permutation(slices.labels)
        dealt.append(slices.measured(labels, 1, number + 1))
        say(f"dealt texts: {number + 1} of {given.pairs}")
    words, flagged, discoveries = [], [], []
    for number, observed in enumerate(dealt):
        others = [other for other in range(given.pairs) if other != number]
        chosen = np.random.default_rng([2, number]).permutation(others)[: given.permutations]
        p, fdr, counts = judged(slices, observed, [dealt[other] for other in chosen])
        inside = [(counts >= low) & (counts < high) for low, high in BANDS]
        words.append([band.sum() for band in inside])
        flagged.append([(p[band] < 0.05).sum() for band in inside])
        discoveries.append((fdr <= 0.05).sum())
    names = [f"{low} to {high - 1}" if high < 1 << 40 else f"{low} or more" for low, high in BANDS]
    rows = [
        [name, *band_row(np.array(words)[:, band], np.array(flagged)[:, band])]
        for band, name in enumerate(names)
    ]
    rows.append(["all", *band_row(np.array(words).sum(axis=1), np.array(flagged).sum(axis=1))])
    body = (
        f"{len(lines):,} documents with {sum(map(len, lines)):,} words are dealt into two texts, "
        f"{given.pairs} times: nothing changed. Each pair is judged as two given texts are, against "
        f"{given.permutations} others (skip-gram with a window of 10, {given.vector_size} dimensions, "
        f"{given.epochs} epochs). At a rate of false discoveries of 5 % there are {sum(discoveries)} "
        f"discoveries in all, in {np.count_nonzero(discoveries)} of the {given.pairs} runs. Words flagged at "
        "p < .05:\n\n"
    )
    columns = ["count in the rarer text", "words of a run", "flagged, all runs", "95 of 100 runs at most"]
    title = "Are the p-values of `cawv change` right?"
    write_section(given.page, title, "dealt", body + table(columns, rows), time.time() - began)


def judged(
    slices: Slices, observed: Measured, dealt: list[Measured]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p, fdr and the smaller count of the words that are frequent enough in both texts."""
    judged = np.flatnonzero((observed.counts >= DECIDABLE).all(axis=0))
    everything, slices.rows = slices.rows, slices.rows[judged]
    none: dict[str, list[str]] = defaultdict(list)

    def of(one: Measured) -> Measured:
        distance, turnover, counts = (part[:, judged] for part in (one.distance, one.turnover, one.counts))
        return Measured(distance, turnover, counts, none, none)

    found = slices.judged(of(observed), list(map(of, dealt))).words
    slices.rows = everything
    p, fdr = (np.array([getattr(one, name) for one in found]) for name in ("p", "fdr"))
    return p, fdr, np.array([min(one.counts) for one in found])


def band_row(words: np.ndarray, flagged: np.ndarray) -> list[str]:
    """Return how many words a run has, how many are flagged in all runs, and in the worst but five of 100."""
    worst = np.quantile(flagged / np.maximum(words, 1), 0.95)
    return [f"{words.mean():.0f}", f"{flagged.sum() / words.sum():.2%}", f"{worst:.1%}"]


if __name__ == "__main__":
    main()
