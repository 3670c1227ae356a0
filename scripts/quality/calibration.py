"""Are the verdicts of ``cawv compare`` right? Pairs of simulated models whose true difference is known.

For each metric there are 1,000 pairs of equally good models (how many are called different at a nominal 5 %,
and how many 95 % intervals leave out 0), and 1,000 pairs of unequal ones (how many intervals cover the true
difference, which is the mean of the observed ones). Outcomes of the two models on an item depend on each
other, as those of real models do. Writes docs/evidence/data/; takes about two minutes with two
processes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
import study
from study import parser, write_section

from wordvec_ca.eval import Metric, Report, compare

TITLE = "Are the verdicts of `cawv compare` right?"

Columns = dict[str, np.ndarray]
Pair = tuple[Columns, Columns, "np.ndarray | None"]


@dataclass(frozen=True)
class Design:
    """One metric on data of one size.

    Attributes
    ----------
    name, size : str
        For the table.
    statistic : str
    columns : tuple of str
    pair : callable
        (generator, skill of the first model, skill of the second) -> columns of both, and the units.
    skills : tuple of float
        The skill of equal models, and those of unequal ones.
    cautious : bool
        Whether the method is known to call fewer than 5 % different and to cover in more than 95 % of the
        intervals; then only the harmful side is tested.
    """

    name: str
    size: str
    statistic: str
    columns: tuple[str, ...]
    pair: Callable[[np.random.Generator, float, float], Pair]
    skills: tuple[float, float, float]
    cautious: bool = False


class Outcome(NamedTuple):
    """Of pairs of equal models, the shares called different and whose interval leaves out 0; of unequal ones,
    their true difference and the share of intervals that cover it.
    """

    called_different: float
    zero_left_out: float
    difference: float
    covered: float


def shared_noise(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return noise of variance 1 for each of two models, with a correlation of .5."""
    shared, first, second = rng.normal(size=(3, n))
    return (shared + first) / np.sqrt(2), (shared + second) / np.sqrt(2)


def right(rng: np.random.Generator, a: float, b: float, n: int) -> Pair:
    """Return outcomes on independent items."""
    first, second = shared_noise(rng, n)
    return {"right": (first < a) * 1.0}, {"right": (second < b) * 1.0}, None


def right_in_sentences(rng: np.random.Generator, a: float, b: float, n: int) -> Pair:
    """Return outcomes on the tokens of n sentences of 3 to 40; sentences are easy or hard."""
    lengths = rng.integers(3, 41, n)
    units = np.repeat(np.arange(n), lengths)
    first, second = shared_noise(rng, len(units))
    ease, other = (each[units] for each in shared_noise(rng, n))
    return {"right": (first + ease < a) * 1.0}, {"right": (second + other < b) * 1.0}, units


def right_on_pairs(rng: np.random.Generator, a: float, b: float, sections: tuple[int, ...]) -> Pair:
    """Return outcomes on all ordered couples of the pairs of each section; pairs are easy or hard."""
    units = []
    for start, size in zip(np.cumsum((0, *sections[:-1])), sections, strict=True):
        one, two = np.divmod(np.arange(size * size), size)
        units.append(start + np.stack([one, two], axis=1)[one != two])
    of_item = np.concatenate(units)
    first, second = shared_noise(rng, len(of_item))
    for noise, ease in zip((first, second), shared_noise(rng, sum(sections)), strict=True):
        noise += ease[of_item].sum(axis=1)
    return {"right": (first < a) * 1.0}, {"right": (second < b) * 1.0}, of_item


def scores(rng: np.random.Generator, a: float, b: float, n: int) -> Pair:
    """Return people's scores, to one decimal, and the scores of two models, which are these with noise."""
    gold = rng.normal(size=n).round(1)
    first, second = shared_noise(rng, n)
    return {"gold": gold, "score": gold + a * first}, {"gold": gold, "score": gold + b * second}, None


def scores_in_sets(rng: np.random.Generator, a: float, b: float, n: int, sets: int) -> Pair:
    """Return the same for several sets."""
    first, second, _ = scores(rng, a, b, n * sets)
    part = np.repeat(np.arange(sets), n)
    return first | {"set": part}, second | {"set": part}, None


def clusters(rng: np.random.Generator, a: float, b: float, n: int, classes: int) -> Pair:
    """Return classes of equal size, and clusters that are the class with some probability, else random."""
    gold = np.arange(n) % classes
    made = [np.where(rng.random(n) < skill, gold, rng.integers(0, classes, n)) for skill in (a, b)]
    return {"gold": gold, "cluster": made[0]}, {"gold": gold, "cluster": made[1]}, None


def searches(rng: np.random.Generator, a: float, b: float, n: int, classes: int, n_searches: int) -> Pair:
    """Return the clusters of several searches, some luckier than others: standard deviation .05."""
    gold = np.arange(n) % classes
    made = []
    for skill in (a, b):
        of_search = np.clip(skill + 0.05 * rng.normal(size=n_searches), 0, 1)
        chance = rng.integers(0, classes, (n, 1))
        made.append(np.where(rng.random((n, n_searches)) < of_search, gold[:, None], chance))
    return {"gold": gold, "cluster": made[0]}, {"gold": gold, "cluster": made[1]}, None


def states(rng: np.random.Generator, a: float, b: float, n: int, classes: int) -> Pair:
    """Return tags and states of the tokens of n sentences of 3 to 40, with tags of unequal frequency."""
    units = np.repeat(np.arange(n), rng.integers(3, 41, n))
    share = 1 / np.arange(1, classes + 1)
    gold = rng.choice(classes, len(units), p=share / share.sum())
    made = []
    for skill in (a, b):
        of_sentence = np.clip(skill + 0.1 * rng.normal(size=n), 0, 1)[units]
        made.append(
            np.where(rng.random(len(units)) < of_sentence, gold, rng.integers(0, classes, len(units)))
        )
    return {"gold": gold, "cluster": made[0]}, {"gold": gold, "cluster": made[1]}, units


RIGHT, SCORES, CLUSTERS = ("right",), ("gold", "score"), ("gold", "cluster")
ANALOGIES = (23, 16, 30, 40, 10, 32, 29, 37, 34, 33, 20, 25)
"""Pairs of words in each section."""

# fmt: off
DESIGNS = (
    Design("accuracy", "872 texts", "mean", RIGHT, partial(right, n=872), (0.8, 0.6, 0.9)),
    Design("accuracy of tokens", "150 sentences", "mean", RIGHT, partial(right_in_sentences, n=150),
        (1.5, 1.2, 1.8)),
    Design("accuracy of analogies", "12 sections of 10 to 40 pairs", "mean", RIGHT,
        partial(right_on_pairs, sections=ANALOGIES), (0.0, -0.2, 0.3)),
    Design("Pearson", "353 pairs", "pearson", SCORES, partial(scores, n=353), (1.0, 1.5, 0.7)),
    Design("Spearman", "353 pairs", "spearman", SCORES, partial(scores, n=353), (1.0, 1.5, 0.7)),
    Design("Spearman", "65 pairs", "spearman", SCORES, partial(scores, n=65), (1.0, 1.5, 0.7)),
    Design("mean Pearson", "3 sets of 250", "mean-pearson", (*SCORES, "set"),
        partial(scores_in_sets, n=250, sets=3), (1.0, 1.3, 0.8)),
    *(
        Design(name, f"{n} words, {classes} classes", name.lower(), CLUSTERS,
            partial(clusters, n=n, classes=classes), skills)
        for name, n, classes, skills in (
            ("purity", 402, 21, (0.5, 0.4, 0.6)),
            ("V-measure", 402, 21, (0.5, 0.4, 0.6)),
            ("purity", 45, 9, (0.6, 0.4, 0.7)),
            ("V-measure", 45, 9, (0.6, 0.1, 0.8)),
        )
    ),
    Design("purity, mean of 5 searches", "402 words, 21 classes", "purity", CLUSTERS,
        partial(searches, n=402, classes=21, n_searches=5), (0.5, 0.4, 0.6), cautious=True),
    *(
        Design(name, "100 sentences, 12 tags", name.lower(), CLUSTERS, partial(states, n=100, classes=12),
            (0.6, 0.5, 0.6))
        for name in ("many-to-one", "V-measure")
    ),
    *(
        Design(name, f"{n} words, {classes} classes, hardly better than chance", name.lower(), CLUSTERS,
            partial(clusters, n=n, classes=classes), (0.1, 0.1, 0.3), cautious=True)
        for name in ("purity", "V-measure")
        for n, classes in ((45, 9), (402, 21))
    ),
)
# fmt: on


def report(design: Design, items: Columns, units: np.ndarray | None, model: str) -> Report:
    """Return a report whose headline is the design's metric."""
    metric = Metric(float("nan"), statistic=design.statistic, columns=design.columns)
    n = len(items[design.columns[0]])
    # Simulated answers have no noise of training: of one training, `compare` adds none.
    return Report(
        *("simulated", design.name, {design.name: metric}, n, 1.0, "items", 1, "", items, units),
        model=model,
        trained="simulated",
    )


def calibrate(number: int, pairs: int, resamples: int) -> Outcome:
    """Compare simulated models of one design, whose number is also the seed."""
    design = DESIGNS[number]
    rng = np.random.default_rng([number, 0xCA1])
    same, worse, better = design.skills
    found = []
    for a, b in ((same, same), (worse, better)):
        for _ in range(pairs):
            first, second, units = design.pair(rng, a, b)
            judged = [report(design, first, units, "first")], [[report(design, second, units, "second")]]
            (one,) = compare(*judged, resamples=resamples)
            found.append((one.p, one.low, one.high, one.difference))
    p, low, high, difference = np.array(found).T
    true = difference[pairs:].mean()
    covered = (low[pairs:] <= true) & (true <= high[pairs:])
    left_out = (low[:pairs] > 0) | (high[:pairs] < 0)
    return Outcome(*map(float, (np.mean(p[:pairs] < 0.05), left_out.mean(), true, covered.mean())))


def main() -> None:
    asked = parser(__doc__, "calibration")
    asked.add_argument("--pairs", type=int, default=1000)
    asked.add_argument("--resamples", type=int, default=300)
    asked.add_argument("--workers", type=int, default=2)
    options = asked.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    started = time.monotonic()
    n = len(DESIGNS)
    with ProcessPoolExecutor(options.workers) as pool:
        outcomes = []
        for found in pool.map(calibrate, range(n), [options.pairs] * n, [options.resamples] * n):
            outcomes.append(found)
            print(DESIGNS[len(outcomes) - 1].name, found, flush=True)
    seconds = time.monotonic() - started
    body = page(outcomes, options)
    print(body)
    write_section(options.page, TITLE, "calibration", body, seconds)


def page(outcomes: list[Outcome], options: argparse.Namespace) -> str:
    """Return what the page shows below its head."""
    notes = [
        f"{options.workers} processes; {options.pairs:,} pairs of equal models, {options.pairs:,} of unequal "
        f"ones per line, {options.resamples:,} subsamples.",
        "Equal models: how many are called different at 5 %, and how many 95 % intervals leave out 0. Both "
        "should be 5 %; with 1,000 pairs 3.7 to 6.4 % is chance. Unequal models: how many 95 % "
        "intervals cover the true difference, the mean of what was observed. How each metric is "
        "compared, and why: `eval/statistics/paired.py`, `subsamples.py` and `crossed.py`.",
        "Where clusters agree with classes hardly more than by chance, subsamples overrate the spread of "
        "purity and V-measure 1.2 to 1.6 times: verdicts are then too cautious, never too bold. "
        "So are those of the mean of several searches.",
    ]
    heads = ("metric", "data", "called different", "0 left out", "true difference", "covered")
    rows = [
        (design.name, design.size, f"{called:.1%}", f"{zero:.1%}", f"{true:.3f}", f"{covered:.1%}")
        for design, (called, zero, true, covered) in zip(DESIGNS, outcomes, strict=True)
    ]
    return "\n\n".join([*notes, study.table(heads, rows)])


if __name__ == "__main__":
    main()
