"""Are the p-values and intervals of ``cawv change`` right?

P-values: documents are assigned at random to two texts, so that nothing changed between them, and each pair
of texts is judged. Intervals: both texts are cut into halves at random, and the change in one half is
compared with that in the other. Writes two sections of docs/measurements/changed-words.md; takes about two
seconds of one core for each pair of texts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, say, table, write_section

from wordvec_ca import TrainConfig, changes
from wordvec_ca.change import DECIDABLE, false_discovery_rate, harmonic_mean_count, p_values
from wordvec_ca.change.permutations import LabelPermutations
from wordvec_ca.change.texts import LEAST_PERMUTATIONS, PERMUTATIONS, Slices
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.tables import one_blas_thread

BANDS = ((10, 20), (20, 50), (50, 200), (200, 1 << 40))
NAMES = [f"{low} to {high - 1}" if high < 1 << 40 else f"{low} or more" for low, high in BANDS]
TEXTS = ("change/english/ccoha1.txt", "change/english/ccoha2.txt")
LEVELS = (0.05, 0.001)
TITLE = "Are the p-values of `cawv change` right?"


@one_blas_thread
def main() -> None:
    """Permute, judge and write the page."""
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--halves", type=int, default=10, help="how often the texts are cut in halves")
    options.add_argument("--permutations", type=int, default=PERMUTATIONS)
    options.add_argument("--vector-size", type=int, default=50)
    options.add_argument("--epochs", type=int, default=3)
    given = options.parse_args()
    parts = [[line.split() for line in lines_of(path)] for path in data_files(given.data, *TEXTS)]
    lines = [line for part in parts for line in part]
    config = TrainConfig(
        vectors="input",
        model="skipgram",
        window=10,
        vector_size=given.vector_size,
        epochs=given.epochs,
        workers=1,
    )
    order = np.random.default_rng(0).permutation(len(lines))
    texts = [[lines[i] for i in half] for half in np.array_split(order, 2)]
    slices = Slices(texts, ResolvedConfig.of(config), DECIDABLE)
    contexts, began = slices.contexts(slices.model_of_all()), time.time()
    words, flagged, discoveries = [], [], []
    for number in range(given.pairs):
        labels = np.random.default_rng([1, number]).permutation(slices.labels)
        counts = slices.counts_by(labels)
        rows = np.flatnonzero((counts >= DECIDABLE).all(axis=0))
        gaps = contexts.differences(
            LabelPermutations(labels, slices.label_permutations.lines), rows, given.permutations, number
        ).gap
        p = p_values(gaps, harmonic_mean_count(counts[:, rows]), number)
        rarer = counts[:, rows].min(axis=0)
        inside = [np.isfinite(p) & (rarer >= low) & (rarer < high) for low, high in BANDS]
        words.append([band.sum() for band in inside])
        flagged.append([[(p[band] < level).sum() for level in LEVELS] for band in inside])
        discoveries.append((false_discovery_rate(p) <= 0.05).sum())
        say(f"permuted texts: {number + 1} of {given.pairs}")
    total, found = np.array(words), np.array(flagged)
    rows_of_table = [[name, *band_row(total[:, i], found[:, i])] for i, name in enumerate(NAMES)]
    rows_of_table.append(["all", *band_row(total.sum(axis=1), found.sum(axis=1))])
    body = (
        f"{len(lines):,} documents with {sum(map(len, lines)):,} words are assigned at random to two texts, "
        f"{given.pairs} times: nothing changed. Each pair is judged as two given texts are, with "
        f"{given.permutations} permutations (skip-gram with a window of 10, {given.vector_size} dimensions, "
        f"{given.epochs} epochs). At a rate of false discoveries of 5 % there are {sum(discoveries)} "
        f"discoveries in all, in {np.count_nonzero(discoveries)} of the {given.pairs} runs. Words "
        "flagged:\n\n"
    )
    columns = ["count in the rarer text", "words of a run", *(f"p < {level:g}, all runs" for level in LEVELS),
               f"p < {LEVELS[0]:g}, 95 of 100 runs at most"]  # fmt: skip
    write_section(given.page, TITLE, "permuted", body + table(columns, rows_of_table), time.time() - began)
    began = time.time()
    body = (
        f"Both texts are cut in halves at random, {given.halves} times. Two changes of a word, each with an "
        "interval of 90 %, should differ by no more than the root of the summed squares of the half "
        "intervals, 90 % of the time:\n\n"
    )
    columns = ["least count in the four texts", "words, all runs", "differ by no more"]
    rows_of_table = halved(parts, config, given.halves)
    write_section(given.page, TITLE, "intervals", body + table(columns, rows_of_table), time.time() - began)


def halved(parts: list[list[list[str]]], config: TrainConfig, times: int) -> list[list[str]]:
    """Return how often the changes in two halves of the texts agree within their intervals."""
    found = []
    for number in range(times):
        orders = [np.random.default_rng([2, number]).permutation(len(part)) for part in parts]
        first, second = (
            changes(*([part[i] for i in order[half::2]] for part, order in zip(parts, orders, strict=True)),
                    config=config, permutations=LEAST_PERMUTATIONS)
            for half in range(2)
        )  # fmt: skip
        others = {one.word: one for one in second.words}
        for one in first.words:
            if one.word in others:
                other = others[one.word]
                width = np.hypot(one.high - one.change, other.high - other.change)
                found.append((min(*one.counts, *other.counts), abs(one.change - other.change) <= width))
        say(f"halves: {number + 1} of {times}")
    counts, agree = np.array(found).T
    inside = [(counts >= low) & (counts < high) for low, high in BANDS]
    return [
        [name, f"{band.sum()}", f"{agree[band].mean():.1%}"] for name, band in zip(NAMES, inside, strict=True)
    ]


def band_row(words: np.ndarray, flagged: np.ndarray) -> list[str]:
    """Return the mean number of words in a run, the shares flagged, and the 95 % quantile of the first."""
    worst = np.quantile(flagged[:, 0] / np.maximum(words, 1), 0.95)
    shares = flagged.sum(axis=0) / words.sum()
    return [f"{words.mean():.0f}", *(f"{share:.2%}" for share in shares), f"{worst:.1%}"]


if __name__ == "__main__":
    main()
