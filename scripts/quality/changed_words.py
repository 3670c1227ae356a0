"""Are the p-values of ``cawv change`` right? Documents dealt at random into two texts, where nothing changed.

Writes docs/measurements/changed-words.md. About ten seconds a pair of texts.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import FOLDER, lines_of, table, write_section

from wordvec_ca import TrainConfig, changes

BANDS = ("rare", "medium", "frequent")


def main() -> None:
    """Deal, compare and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+", help="texts whose lines are dealt, a document each")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--permutations", type=int, default=8)
    parser.add_argument("--page", type=Path, default=FOLDER / "changed-words.md")
    options = parser.parse_args()
    lines = [line.split() for corpus in options.corpora for line in lines_of(corpus)]
    began, rows, discoveries = time.time(), [], 0
    for pair in range(1, options.pairs + 1):
        order = np.random.default_rng(pair).permutation(len(lines))
        texts = [[lines[i] for i in half] for half in np.array_split(order, 2)]
        config = TrainConfig(model="skipgram", vector_size=50, epochs=3, workers=1, seed=pair)
        found = changes(*texts, config=config, permutations=options.permutations)
        words = sorted(found.words, key=lambda one: min(one.counts))
        p = np.array([one.p for one in words])
        flagged = sum(one.fdr < 0.05 for one in words)
        discoveries += flagged
        rows.append(
            [pair, len(p), *(f"{(part < 0.05).mean():.1%}" for part in np.array_split(p, 3)), flagged]
        )
    body = (
        f"{len(lines):,} documents are dealt into two texts, {options.pairs} times, and compared "
        f"({options.permutations} permutations, skip-gram of 50 dimensions, 3 epochs): nothing changed. "
        "Words flagged at p < .05, by thirds of frequency, and at a rate of false discoveries of 5 %, "
        f"{discoveries} in all:\n\n"
    )
    columns = ["pair", "words", *(f"{band}: p < .05" for band in BANDS), "fdr < .05"]
    title = "Are the p-values of `cawv change` right?"
    write_section(options.page, title, "dealt", body + table(columns, rows), time.time() - began)


if __name__ == "__main__":
    main()
