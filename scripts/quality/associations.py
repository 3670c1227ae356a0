"""Is the p-value of ``cawv axis --targets`` right, where WEAT's own is not? Random lists, and WEAT on GloVe.

First, 1,000 pairs of random lists in each of three bands of frequency: lists of unrelated words, and lists of
words about one subject (a random word and others among the words nearest to it). Nothing is associated, so p
should be below .05 for 5 % of them. Then the ten tests of Caliskan et al. 2017 on GloVe. Writes two sections
of docs/evidence/data/; takes about fifteen minutes of one core. The tests with names of people
need WEFE's lists: pip install wefe.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import binom

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, data_files, parser, table, write_section

from wordvec_ca import KeyedVectors
from wordvec_ca.associations import PUBLISHED, Association, association

TITLE = "Is the p of associations right?"

BANDS = ((100, 1_000), (1_000, 5_000), (5_000, 20_000))
"""Bands of words, by rank of frequency."""

WORDS, NEAREST = 8, 40
"""Number of words in a list, and number of nearest words of a word from which a list about one subject is
drawn."""

RANDOM, LEVEL = 200, 0.05
"""Number of pairs of random lists to compare with, and the level: with 200, nine or fewer more extreme pairs
give a p below it."""

MEASURES = ("effect-size", "weat")

WITH_NAMES = {
    3: ("european_american_names_5", "african_american_names_5", "pleasant_5", "unpleasant_5"),
    4: ("european_american_names_7", "african_american_names_7", "pleasant_5", "unpleasant_5"),
    5: ("european_american_names_7", "african_american_names_7", "pleasant_9", "unpleasant_9"),
    6: ("male_names", "female_names", "career", "family"),
    10: ("young_people_names", "old_people_names", "pleasant_9", "unpleasant_9"),
}
"""The tests whose targets are names of people, by WEFE's names of lists; `PUBLISHED` does not have them."""

PAPER = {1: 1.50, 2: 1.53, 3: 1.41, 4: 1.50, 5: 1.28, 6: 1.81, 7: 1.06, 8: 1.24, 9: 1.38, 10: 1.21}
"""Effect sizes of table 1 of the paper (GloVe), as WEFE's notebook WEAT_experiments.ipynb gives them, and
caliskan_paper_es.csv of the repository mllewis/IATLANG."""


def list_of(unit: np.ndarray, band: tuple[int, int], alike: bool, rng: np.random.Generator) -> list[int]:
    """Return the rows of a random list from a band: any words, or a word and some of those nearest to it."""
    rows = np.arange(*band)
    if alike:
        seed = rng.choice(rows)
        rows = rows[np.argsort(-(unit[rows] @ unit[seed]))[:NEAREST]]
    return [int(row) for row in rng.choice(rows, WORDS, replace=False)]


def calibrated(setting: Setting, vectors: KeyedVectors, unit: np.ndarray) -> dict[str, float]:
    """Return the shares of pairs of random lists with p below .05, for each measure and for WEAT's own p."""
    band, alike = setting["band"], setting["alike"]
    rng = np.random.default_rng([band[0], alike])
    p: list[list[float]] = []
    while len(p) < setting["pairs"]:
        lists = [list_of(unit, band, alike, rng) for _ in range(4)]
        a, b, x, y = ([vectors.index_to_key[row] for row in rows] for rows in lists)
        if set(a) & set(b) or set(x) & set(y):
            continue
        found = association(vectors, (a, b), (x, y), measures=MEASURES, n_random=RANDOM, seed=len(p))
        p.append([*(one.p for one in found.measures), found.p_permutation])
    shares = (np.array(p) < LEVEL).mean(axis=0)
    return dict(zip((*MEASURES, "own"), shares.tolist(), strict=True))


def calibration(vectors: KeyedVectors, pairs: int, runs: Runs) -> str:
    """Return the section on random lists."""
    run = functools.partial(calibrated, vectors=vectors, unit=vectors.get_normed_vectors())
    rows = []
    for band in BANDS:
        for alike in (False, True):
            found = runs.outcome({"band": band, "alike": alike, "pairs": pairs}, run)
            if found is not None:
                shares = (f"{found[name]:.1%}".replace("%", " %") for name in (*MEASURES, "own"))
                kind = "words of one subject" if alike else "unrelated words"
                rows.append([f"{band[0]:,} to {band[1]:,}", kind, *shares])
    low, high = (np.array(binom.interval(0.95, pairs, LEVEL)) / pairs).tolist()
    return (
        f"{pairs:,} pairs of random lists of {WORDS} words in each line; the attributes are random lists of "
        f"the same kind. A list about one subject is drawn among the {NEAREST} words of the band that are "
        f"nearest to a random word of the band. {RANDOM} random lists to compare with. Shares with p below "
        f".05, which should be 5 %; {100 * low:.1f} to {100 * high:.1f} % is chance with so many pairs. "
        f"{len(vectors):,} words in {vectors.vector_size} dimensions.\n\n"
        + table(("ranks", "lists", "p, effect size", "p, WEAT's sum", "WEAT's own p"), rows)
    )


def lists_of_wefe() -> dict[str, list[str]]:
    """Return WEFE's lists. They are read from its files, because importing WEFE needs an old setuptools."""
    spec = importlib.util.find_spec("wefe")
    if spec is None or spec.submodule_search_locations is None:
        sys.exit("The tests with names of people need WEFE's lists: pip install wefe")
    path = Path(spec.submodule_search_locations[0]) / "datasets" / "data" / "WEAT.json"
    found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def caliskan(glove: KeyedVectors) -> str:
    """Return the section on the published tests."""
    measured: dict[int, tuple[str, Association]] = {}
    for test in PUBLISHED.values():
        found = association(glove, (test.a, test.b), (test.x, test.y), measures=("effect-size",))
        measured[test.number] = test.name, found
    words = lists_of_wefe()
    for number, names in WITH_NAMES.items():
        a, b, x, y = (words[name] for name in names)
        found = association(glove, (a, b), (x, y), measures=("effect-size",))
        measured[number] = ", ".join(names[:2]).replace("_", " "), found
    rows = []
    for number, (name, found) in sorted(measured.items()):
        one = found.measures[0]
        least = "≤ " if one.p <= found.smallest_p else ""
        missing = [word for some in found.missing for word in some]
        total = len(missing) + sum(map(len, found.lists))
        rows.append(
            [
                f"{number}: {name}",
                f"{PAPER[number]:.2f}",
                f"{one.value:.2f}",
                f"{one.low:.2f} to {one.high:.2f}",
                f"{least}{one.p:.3f}",
                f"{found.p_permutation:.1g}",
                f"{len(missing)} of {total}",
            ]
        )
    columns = ("test", "paper", "ours", "90 %", "p", "WEAT's own p", "words without a vector")
    return (
        f"Effect sizes. GloVe of {len(glove):,} words in {glove.vector_size} dimensions; the paper's figures "
        "are of GloVe of 840 billion words, with capitals, in 300 dimensions. The lists of tests 3 to 6 and "
        "10, names of people, are those of WEFE (in test 10 it has Bill for the paper's Billy); they are not "
        "part of cawv. WEAT's own p is from all partitions of the words, or from 20,000 random ones where "
        "lists have more than eight words.\n\n" + table(columns, rows)
    )


def main() -> None:
    options = parser(__doc__, "associations", data=True, log="associations.jsonl")
    options.add_argument("vectors", help="model or file of vectors of English")
    options.add_argument("--pairs", type=int, default=1000)
    given = options.parse_args()
    loaded = KeyedVectors.load(given.vectors)  # words that are rarer than the bands' are not needed
    kept = loaded.index_to_key[: BANDS[-1][1] * 5 // 4]
    if len(kept) < BANDS[-1][1]:
        sys.exit(f"{given.vectors} has {len(kept):,} words; the bands need {BANDS[-1][1]:,}.")
    vectors = KeyedVectors(kept, np.asarray(loaded.vectors)[: len(kept)])
    runs = Runs(given.log, given.minutes)
    body = calibration(vectors, given.pairs, runs)
    seconds = sum(record["seconds"] for record in runs.done.values())
    write_section(given.page, TITLE, "calibration", body, seconds)
    started = time.monotonic()
    (glove,) = data_files(given.data, "vectors/glove.6B.100d.100k.txt.xz")
    body = caliskan(KeyedVectors.load(str(glove)))
    write_section(given.page, TITLE, "caliskan", body, time.monotonic() - started)


if __name__ == "__main__":
    main()
