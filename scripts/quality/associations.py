"""Is the p-value of ``cawv axis --targets`` right, where WEAT's own is not? Random lists, and WEAT on GloVe.

First, random targets such as people bring, a word and the seven words nearest to it, and unrelated words,
with the attributes of published tests and with made-up ones, on a model and on GloVe. Nobody chose these
targets for the attributes, so p should be below .05 for 5 % of them. Then the ten tests of Caliskan et al.
2017 on GloVe. Writes two sections of docs/evidence/data/; takes about fifteen minutes of one core. The tests
with names of people need WEFE's lists: pip install wefe.
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

WORDS, FREQUENT = 8, 20_000
"""Number of words in a list, and number of the most frequent words of which one begins it."""

CAREER = "executive management professional corporation salary office business career"
FAMILY = "home parents children family cousins marriage wedding relatives"
ATTRIBUTES = {
    "career, family": (CAREER.split(), FAMILY.split()),
    "pleasant, unpleasant": PUBLISHED["flowers-insects"][4:6],
    "male, female": PUBLISHED["math-arts"][4:6],
    "lists like the targets": None,
}
"""Attributes of tests 6, 1 and 7 of Caliskan et al. 2017, and made-up ones."""

RANDOM, LEVEL = 200, 0.05
"""Number of pairs of random lists to compare with, and the level: with 200, nine or fewer more extreme pairs
give a p below it."""

MEASURES = ("effect-size", "weat")

WITH_NAMES = {
    3: ("european_american_names_5", "african_american_names_5", "pleasant_5", "unpleasant_5b"),
    4: ("european_american_names_7", "african_american_names_7", "pleasant_5", "unpleasant_5b"),
    5: ("european_american_names_7", "african_american_names_7", "pleasant_9", "unpleasant_9"),
    6: ("male_names", "female_names", "career", "family"),
    10: ("young_people_names", "old_people_names", "pleasant_9", "unpleasant_9"),
}
"""The tests whose targets are names of people, by WEFE's names of lists; `PUBLISHED` does not have them."""

PAPER = {1: 1.50, 2: 1.53, 3: 1.41, 4: 1.50, 5: 1.28, 6: 1.81, 7: 1.06, 8: 1.24, 9: 1.38, 10: 1.21}
"""Effect sizes of table 1 of the paper (GloVe), as WEFE's notebook WEAT_experiments.ipynb gives them, and
caliskan_paper_es.csv of the repository mllewis/IATLANG."""


def list_of(unit: np.ndarray, alike: bool, rng: np.random.Generator) -> list[int]:
    """Return the rows of a random list: unrelated words, or a word and those nearest to it in all vectors."""
    if not alike:
        return [int(row) for row in rng.choice(FREQUENT, WORDS, replace=False)]
    near = np.argpartition(-(unit @ unit[rng.integers(FREQUENT)]), WORDS)[:WORDS]
    return [int(row) for row in near]


def calibrated(setting: Setting, vectors: KeyedVectors) -> dict[str, float]:
    """Return the shares of random targets with p below .05, for each p, and the share that is undecided."""
    given = ATTRIBUTES[setting["attributes"]]
    unit = vectors.get_normed_vectors()
    rng = np.random.default_rng(list(setting["attributes"].encode()))
    found: list[list[float]] = []
    while len(found) < setting["pairs"]:
        lists = [[vectors.index_to_key[i] for i in list_of(unit, setting["alike"], rng)] for _ in range(4)]
        a, b, x, y = lists if given is None else (*lists[:2], *map(list, given))
        if len({*a, *b, *x, *y}) < len(a) + len(b) + len(x) + len(y):
            continue
        one = association(vectors, (a, b), (x, y), measures=MEASURES, n_random=RANDOM, seed=len(found))
        found.append([*(measure.p for measure in one.measures), one.p_permutation])
    p = np.array(found)
    shares = dict(zip((*MEASURES, "own"), (p < LEVEL).mean(axis=0).tolist(), strict=True))
    return {**shares, "undecided": float(np.isnan(p[:, 0]).mean())}


def calibration(sets: dict[str, KeyedVectors], pairs: int, runs: Runs) -> str:
    """Return the section on random targets."""
    rows = []
    for name, vectors in sets.items():
        for alike, attributes in [(True, one) for one in ATTRIBUTES] + [(False, "lists like the targets")]:
            setting = {"vectors": name, "alike": alike, "attributes": attributes, "pairs": pairs}
            found = runs.outcome(setting, functools.partial(calibrated, vectors=vectors))
            if found is not None:
                shares = (f"{found[one]:.1%}".replace("%", " %") for one in (*MEASURES, "undecided", "own"))
                kind = "a word and its nearest" if alike else "unrelated words"
                rows.append([name, kind, attributes, *shares])
    low, high = (np.array(binom.interval(0.95, pairs, LEVEL)) / pairs).tolist()
    return (
        f"{pairs} pairs of random targets in each line, {WORDS} words a list: one of the {FREQUENT:,} most "
        f"frequent words and the words nearest to it in all vectors, or unrelated words. {RANDOM} pairs of "
        f"random lists to compare with. Shares with p below .05, which should be 5 %; {100 * low:.1f} to "
        f"{100 * high:.1f} % is chance with so many pairs. Undecided ones count as not below .05.\n\n"
        + table(
            (
                "vectors",
                "targets",
                "attributes",
                "p, effect size",
                "p, WEAT's sum",
                "undecided",
                "WEAT's own p",
            ),
            rows,
        )
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
    options.add_argument("--pairs", type=int, default=100)
    given = options.parse_args()
    (path,) = data_files(given.data, "vectors/glove.6B.100d.100k.txt.xz")
    glove = KeyedVectors.load(str(path))
    runs = Runs(given.log, given.minutes)
    body = calibration({"a model": KeyedVectors.load(given.vectors), "GloVe": glove}, given.pairs, runs)
    seconds = sum(record["seconds"] for record in runs.done.values())
    write_section(given.page, TITLE, "calibration", body, seconds)
    started = time.monotonic()
    body = caliskan(glove)
    write_section(given.page, TITLE, "caliskan", body, time.monotonic() - started)


if __name__ == "__main__":
    main()
