"""Suggestions for input: sums of words with a clear answer in the model, two poles, and a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordvec_ca.report.explorer.neighbour_graph import NeighbourGraph
from wordvec_ca.report.explorer.regions import Region

# Sums are searched among this number of most frequent words.
FREQUENT = 3_000

# Each word forms pairs with this number of its nearest words.
PARTNERS = 4

# Number of couples of pairs to try, the most parallel first.
TRIED = 400

# Smallest cosine between the differences of two pairs; below it, sums are right only by chance.
PARALLEL = 0.46

# The difference of a sum's words is also applied to this number of parallel pairs of other words.
OTHERS = 10

# Number of these pairs that must give a clear answer; with little text some pairs are parallel by chance.
SUPPORT = 4

# A clear answer has a cosine higher than that of the second best word by at least this margin.
MARGIN = 0.1

# Largest number of suggested sums.
SUMS = 3

# Candidates; the page shows the one with the most frequent words among those whose words are all known.
SENTENCES = (
    "return the number of items in the list",
    "the king of france and the queen of england went to war in the first year of the century",
    "the city lies on the river in the north of the country",
    "die stadt liegt an einem fluss im norden des landes",
    "la ville est située au bord de la mer dans le sud du pays",
    "la ciudad está situada en el norte del país y es la capital de la provincia",
    "la città si trova nel nord del paese ed è la capitale della regione",
    "de stad ligt in het noorden van het land aan de grens met de zee",
    "a cidade está localizada no norte do país e é a capital da província",
    "staden ligger i norra delen av landet och är en av de största",
)


def suggestions(
    directions: np.ndarray, graph: NeighbourGraph, words: list[str], regions: list[Region]
) -> dict[str, Any]:
    """Return suggestions for the input fields of the page, which work in these vectors."""
    # sums: Rows a, b, c and d: nearest to a - b + c is d, by a margin, and d is not the nearest to c.
    # poles: Rows of two words that are far from each other, each typical of its region.
    return {
        "sums": _sums(directions, graph, words),
        "poles": _poles(directions, regions),
        "sentence": _sentence(words, regions),
    }


def _sums(directions: np.ndarray, graph: NeighbourGraph, words: list[str]) -> list[tuple[int, int, int, int]]:
    """Return sums with a clear answer, from pairs of similar words with nearly the same difference."""
    written = np.array([word.isalpha() and len(word) > 2 for word in words])
    first = np.repeat(np.flatnonzero(written[:FREQUENT]), min(PARTNERS, graph.rows.shape[1]))
    second = graph.rows[np.flatnonzero(written[:FREQUENT]), :PARTNERS].ravel()
    usable = written[second] & (second < FREQUENT) & (first != second)
    first, second = first[usable], second[usable]
    if len(first) < 2:
        return []
    steps = directions[second] - directions[first]
    lengths = np.linalg.norm(steps, axis=1)
    long = lengths > 1e-3
    first, second, steps = first[long], second[long], steps[long] / lengths[long, None]
    parallel = np.triu(steps @ steps.T, 1)
    best = np.argpartition(parallel.ravel(), -min(8 * TRIED, parallel.size))[-min(8 * TRIED, parallel.size) :]
    best = best[np.argsort(-parallel.ravel()[best], kind="stable")]
    found: list[tuple[int, int, int, int]] = []
    used: set[int] = set()
    tried = 0
    for one, other in zip(*np.unravel_index(best, parallel.shape), strict=True):
        b, a, c, d = (int(row) for row in (first[one], second[one], first[other], second[other]))
        if len({a, b, c, d}) < 4 or used & {a, b, c, d}:
            continue
        tried += 1
        if parallel[one, other] < PARALLEL:
            break
        if graph.rows[c, 0] == d or not _is_clear(directions, a, b, c, d):
            continue
        shared = np.minimum(steps @ steps[one], steps @ steps[other])
        shared[np.isin(first, (a, b, c, d)) | np.isin(second, (a, b, c, d))] = -1.0
        others = np.argsort(-shared)[:OTHERS]
        works = [
            graph.rows[first[pair], 0] != second[pair]
            and _is_clear(directions, a, b, int(first[pair]), int(second[pair]))
            for pair in others
        ]
        if sum(works) >= SUPPORT:
            found.append((a, b, c, d))
            used |= {a, b, c, d}
        if len(found) == SUMS or tried == TRIED:
            break
    return found


def _is_clear(directions: np.ndarray, a: int, b: int, c: int, d: int) -> bool:
    """Return whether the word nearest to a - b + c is d, by `MARGIN`."""
    goal = directions[a] - directions[b] + directions[c]
    cosines = directions @ goal / (np.linalg.norm(goal) or 1.0)
    cosines[[a, b, c]] = -1.0
    second_best, answer = np.argpartition(cosines, -2)[-2:]
    if cosines[second_best] > cosines[answer]:
        second_best, answer = answer, second_best
    return bool(answer == d and cosines[d] - cosines[second_best] >= MARGIN)


def _poles(directions: np.ndarray, regions: list[Region]) -> tuple[int, int] | None:
    """Return the first names of two large regions whose vectors are farthest apart."""
    large = sorted((region for region in regions if region.level == 0 and region.rows), key=lambda r: -r.size)
    names = list(dict.fromkeys(region.rows[0] for region in large[:6]))
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    if not pairs:
        return None
    return min(pairs, key=lambda pair: float(directions[pair[0]] @ directions[pair[1]]))


def _sentence(words: list[str], regions: list[Region]) -> str:
    """Return a sentence whose words are all known, or else the names of the largest regions."""
    rank = {word: row for row, word in enumerate(words)}
    known = [sentence for sentence in SENTENCES if rank.keys() >= set(sentence.split())]
    if known:
        return min(known, key=lambda sentence: np.mean([rank[word] for word in sentence.split()]))
    large = sorted((region for region in regions if region.level == 0), key=lambda region: -region.size)
    return " ".join(words[row] for region in large[:3] for row in region.rows)
