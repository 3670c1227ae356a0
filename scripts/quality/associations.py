"""Is the p of ``cawv association`` right, where WEAT's own is not? Random lists of words; and WEAT on GloVe.

1,000 pairs of random lists in each of three bands of frequency: lists of unrelated words, and lists of words
about one subject (a random word and others among the words nearest to it). Nothing is associated, so p should
be below .05 for 5 % of them. Then the tests of Caliskan et al. 2017 on GloVe. Writes
docs/measurements/associations.md. About ten minutes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import binom

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, write_section

from wordvec_ca import KeyedVectors
from wordvec_ca.associations import PUBLISHED, association

TITLE = "Is the p of `cawv association` right?"

BANDS = ((100, 1_000), (1_000, 5_000), (5_000, 20_000))
"""Ranks of frequency."""

WORDS, RANDOM, LEVEL = 8, 199, 0.05

MEASURES = ("effect-size", "weat")


def list_of(vectors: KeyedVectors, band: tuple[int, int], alike: bool, rng: np.random.Generator) -> list[str]:
    """Return a random list of a band: any words, or a word and some of the 40 words nearest to it."""
    rows = np.arange(*band)
    if not alike:
        return [vectors.index_to_key[row] for row in rng.choice(rows, WORDS, replace=False)]
    seed = rng.choice(rows)
    unit = vectors.get_normed_vectors()
    near = rows[np.argsort(-(unit[rows] @ unit[seed]))[:40]]
    return [vectors.index_to_key[row] for row in rng.choice(near, WORDS, replace=False)]


def calibrated(vectors: KeyedVectors, pairs: int) -> list[str]:
    """Return rows of the table: how often p is below .05."""
    lines = []
    for band in BANDS:
        if band[1] > len(vectors):
            continue
        for alike in (False, True):
            rng = np.random.default_rng([band[0], alike])
            p, own = [], []
            while len(p) < pairs:
                a, b, x, y = (list_of(vectors, band, alike, rng) for _ in range(4))
                if set(a) & set(b) or set(x) & set(y):
                    continue
                found = association(vectors, (a, b), (x, y), measures=MEASURES, n_random=RANDOM, seed=len(p))
                p.append([one.p for one in found.measures])
                own.append(found.p_permutation)
            shares = (np.array(p) < LEVEL).mean(axis=0)
            kind = "words of one subject" if alike else "unrelated words"
            lines.append(
                f"| {band[0]:,} to {band[1]:,} | {kind} | {shares[0]:.1%} | {shares[1]:.1%} | "
                f"{np.mean(np.array(own) < LEVEL):.1%} |".replace("%", " %")
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    options = parser(__doc__, "associations", data=True)
    options.add_argument("vectors", help="model or file of vectors of English")
    options.add_argument("--pairs", type=int, default=1000)
    options.add_argument("--glove", type=Path, help="GloVe's vectors, for the published tests")
    given = options.parse_args()
    started = time.monotonic()
    loaded = KeyedVectors.load(given.vectors)  # rarer words than those of the bands are not needed
    kept = loaded.index_to_key[: BANDS[-1][1] * 5 // 4]
    vectors = KeyedVectors(kept, np.asarray(loaded.vectors)[: len(kept)])
    low, high = (np.array(binom.interval(0.95, given.pairs, LEVEL)) / given.pairs).tolist()
    lines = [
        f"{given.pairs:,} pairs of random lists of {WORDS} words in each line; attributes are random lists "
        f"of the same kind; {RANDOM} random lists to compare with. Shares with p below .05, which should be "
        f"5 %; {100 * low:.1f} to {100 * high:.1f} % is chance with so many pairs. {len(vectors):,} words.",
        "",
        "| ranks | lists | p, effect size | p, WEAT | WEAT's own p |",
        "|---|---|---:|---:|---:|",
        *calibrated(vectors, given.pairs),
    ]
    write_section(given.page, TITLE, "calibration", "\n".join(lines) + "\n", time.monotonic() - started)
    if given.glove is None:
        return
    started, glove = time.monotonic(), KeyedVectors.load(str(given.glove))
    lines = [
        f"GloVe of {len(glove):,} words, {glove.vector_size} dimensions; the paper's figures are of GloVe of "
        "840 billion words in 300 dimensions.",
        "",
        "| test | effect size | 90 % | p | WEAT's own p | the paper's effect size | words without a vector |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for test in PUBLISHED.values():
        found = association(glove, (test.a, test.b), (test.x, test.y), measures=("effect-size",))
        one = found.measures[0]
        lines.append(
            f"| {test.number}: {test.name} | {one.value:.2f} | {one.low:.2f} to {one.high:.2f} | {one.p:.3f} "
            f"| {found.p_permutation:.1g} | {test.effect_size:.2f} | {sum(map(len, found.missing))} |"
        )
    write_section(given.page, TITLE, "caliskan", "\n".join(lines) + "\n", time.monotonic() - started)


if __name__ == "__main__":
    main()
