"""Sequences of items: is the next item among those nearest to the last one, and do baselines find it?

A step from one item to the next depends on both items, as an analogy does on two pairs: after the same last
item the same ten are proposed. When sequences were taken as independent, two seeds of one recipe were called
different in 4 of 16 pairs (docs/evidence, two-seeds).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.sequences import Sequences
from wordvec_ca.eval.lookup import RULE, UncoveredError, Vectors, rows_of, unit_rows, vocabulary_digest
from wordvec_ca.eval.report import Metric, Report, digest_of

# Number of items that are proposed at each step.
K = 10

# Most steps that are judged: this gives intervals of .02. If there are more, some sequences are drawn.
MOST = 10_000

# Places within which two items of a training sequence occur together, for the baseline.
FAR = 10

# The baselines, which only count.
COUNTING = ("followers", "co-occurrence", "popularity")

# Number of last items for which the scores of all items are held at once.
BLOCK = 64

# Rows of last items -> a new array of shape (n_rows, n_items): how well each item follows.
Scores = Callable[[NDArray[np.int64]], NDArray[np.float32]]


def evaluate(vectors: Vectors, data: Sequences, *, seed: int = 1) -> Report:
    """Propose the ten items that are nearest to the last one, at each step of the held-out sequences."""
    sequence, steps = _steps(data, seed)
    n_steps = sum(a != b for items in data.held_out for a, b in itertools.pairwise(items))
    if not steps:
        raise DataError(f"{data.name}: no sequence has two different items in a row")
    items = list(dict.fromkeys(itertools.chain.from_iterable(steps)))
    number_of = {item: number for number, item in enumerate(items)}
    cased = _has_capitals(vectors)
    row_of = dict(zip(items, rows_of(vectors, items, as_written=cased).tolist(), strict=True))
    rows = np.array([(row_of[last], row_of[following]) for last, following in steps], np.int64)
    covered = (rows >= 0).all(axis=1)
    if not covered.any():
        raise UncoveredError(
            f"{data.name}: of no step both items have vectors; one is from {steps[0][0]!r} to "
            f"{steps[0][1]!r}. A log is read with the fields that a model trained on its like remembers"
        )
    last, target = rows[covered].T
    n_items = len(vectors.index_to_key)
    units = np.nan_to_num(unit_rows(vectors, np.arange(n_items)))
    report = Report.over(
        "next-item",
        data.name,
        covered,
        "steps",
        seed=seed,
        protocol=f"at each step of a held-out sequence the {K} items with the highest cosine to the last "
        f"one, without itself; steps from an item to itself are left out; "
        f"{AS_WRITTEN if cased else RULE}; baselines propose among the same items; "
        "steps that share an item, as two in a row do, depend on each other",
        units=np.array([(number_of[last], number_of[following]) for last, following in steps]),
        digest=digest_of(steps),
        candidates=n_items,
        candidates_digest=vocabulary_digest(vectors),
        details={"sequences": len(np.unique(sequence)), "steps": len(steps), "steps_in_all": n_steps},
    )

    def add(name: str, values: NDArray[np.float64]) -> None:
        report.items[name] = np.full(len(steps), np.nan)
        report.items[name][covered] = values
        report.measure(name, "mean", name)

    ranks, share = _ranks(lambda rows: units[rows] @ units.T, last, target, n_items)
    hits = ranks <= K
    add(f"hit-rate@{K}", hits.astype(np.float64))
    for name, scores in _baselines(vectors, data, n_items, cased=cased).items():
        add(name, (_ranks(scores, last, target, n_items)[0] <= K).astype(np.float64))
        report.shown += 1
    add(f"mrr@{K}", hits / ranks)
    add(f"ndcg@{K}", hits / np.log2(ranks + 1))
    report.items["hit_or_miss"] = np.nan_to_num(report.items[f"hit-rate@{K}"])
    report.measure(f"hit-rate@{K}-all", "mean", "hit_or_miss")
    report.metrics[f"items-proposed@{K}"] = Metric(share)
    if data.train is None:
        report.notes.append(
            "without training sequences there is no baseline of items that occur together: give "
            "NAME.train.txt beside NAME.test.txt"
        )
    return report


def judged(report: Report) -> str:
    """Say which steps n counts."""
    steps, n_steps = report.details["steps"], report.details["steps_in_all"]
    drawn = f", of {steps:,} drawn at random from {n_steps:,}" if steps < n_steps else f", of {steps:,}"
    return f"n: steps from an item to another of which both have vectors{drawn}"


def verdict(report: Report) -> str:
    """Say which is better on these steps, the vectors or counting, and what to do where counting is."""
    ours = report.metrics[f"hit-rate@{K}"]
    counting = [(report.metrics[name].value, name) for name in COUNTING if name in report.metrics]
    if not counting:
        return ""
    value, name = max(counting)
    # where they are level too: counts need no training, and say why an item is proposed
    advice = (
        "Propose the next item by counting; use vectors for items that never met, for whole baskets and for "
        "maps"
    )
    if value > ours.high:
        return (
            f"Counting wins: the items by {name} are right in {value:.3f} of the steps, those by vectors in "
            f"{ours.value:.3f}. {advice}"
        )
    if value < ours.low:
        return f"Vectors win: right in {ours.value:.3f} of the steps, counting ({name}) in {value:.3f}"
    return f"Vectors ({ours.value:.3f}) and counting ({name}, {value:.3f}) are level on these steps. {advice}"


def _steps(data: Sequences, seed: int) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """Return the steps from an item to another one, and the number of the sequence of each."""
    order = np.random.default_rng([seed, 0x6E657874]).permutation(len(data.held_out))
    numbers: list[int] = []
    steps: list[tuple[str, str]] = []
    for number in order.tolist():
        if len(steps) >= MOST:
            break
        found = [(a, b) for a, b in itertools.pairwise(data.held_out[number]) if a != b]
        steps += found
        numbers += [number] * len(found)
    return np.array(numbers, np.int64), steps


def _ranks(
    scores_of: Scores, last: NDArray[np.int64], target: NDArray[np.int64], n_items: int
) -> tuple[NDArray[np.int64], float]:
    """Return the rank of each next item, from 1, and the share of the items that are among the first K."""
    ranks = np.empty(len(last), np.int64)
    proposed = np.zeros(n_items, bool)
    asked, place = np.unique(last, return_inverse=True)
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        scores = scores_of(block)
        scores[np.arange(len(block)), block] = -np.inf
        first = np.argpartition(-scores, min(K, n_items) - 1, axis=1)[:, :K]
        proposed[first] = True
        for step in np.flatnonzero((place >= start) & (place < start + BLOCK)):
            own, wanted = scores[place[step] - start], target[step]
            better = np.count_nonzero(own > own[wanted]) + np.count_nonzero(own[:wanted] == own[wanted])
            ranks[step] = 1 + better
    return ranks, float(proposed.mean())


def _baselines(vectors: Vectors, data: Sequences, n_items: int, *, cased: bool) -> dict[str, Scores]:
    """Return the scores by which baselines propose items: popularity, and how often items occur together."""
    from scipy.sparse import coo_matrix

    counts = getattr(vectors, "counts", None)
    if data.train is None:
        return {} if counts is None else {"popularity": _same_for_all(np.asarray(counts, np.float32))}
    index, name = vectors.key_to_index, str if cased else str.lower
    items = itertools.chain.from_iterable([*sequence, None] for sequence in data.train())
    flat = np.fromiter((LINE_END if i is None else index.get(name(i), UNKNOWN) for i in items), np.int64)
    popularity = np.bincount(flat[flat >= 0], minlength=n_items).astype(np.float32)
    tie_break = popularity / (1 + popularity.sum())
    line = np.cumsum(flat == LINE_END)

    def pairs(distance: int) -> Any:
        a, b = flat[:-distance], flat[distance:]
        used = (a >= 0) & (b >= 0) & (line[:-distance] == line[distance:])
        places = (a[used], b[used])
        return coo_matrix((np.ones(len(places[0]), np.float32), places), (n_items, n_items)).tocsr()

    after = pairs(1)
    near = after
    for distance in range(2, FAR + 1):  # one by one: all pairs of a long log do not fit into memory
        near = near + pairs(distance)
    near = near + near.T
    return {
        "popularity": _same_for_all(popularity),
        "followers": lambda rows: after[rows].toarray() + tie_break,
        "co-occurrence": lambda rows: near[rows].toarray() + tie_break,
    }


LINE_END, UNKNOWN = -1, -2

AS_WRITTEN = "items are looked up as written"


def _has_capitals(vectors: Vectors) -> bool:
    """Return whether the model keeps capitals: then names of items that differ only in them are two items."""
    return any(item != item.lower() for item in vectors.index_to_key)


def _same_for_all(scores: NDArray[np.float32]) -> Scores:
    return lambda rows: np.tile(scores, (len(rows), 1))
