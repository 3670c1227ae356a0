"""Are the p-values of ``cawv change`` right? Documents dealt at random into two texts, where nothing changed.

Writes docs/measurements/changed-words.md. About fifteen seconds of one core for each pair of texts.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, lines_of, parser, table, write_section

from wordvec_ca import TrainConfig, changes

BANDS = ((10, 20), (20, 50), (50, 200), (200, 1 << 40))


def main() -> None:
    """Deal, compare and write the page."""
    options = parser(__doc__, "changed-words", log="changed-words.jsonl")
    options.add_argument("corpora", nargs="+", help="texts whose lines are dealt, a document each")
    options.add_argument("--pairs", type=int, default=100)
    options.add_argument("--permutations", type=int, default=20)
    options.add_argument("--vector-size", type=int, default=30)
    options.add_argument("--epochs", type=int, default=3)
    given = options.parse_args()
    lines = [line.split() for corpus in given.corpora for line in lines_of(corpus)]
    runs = Runs(given.log, given.minutes)
    setting = {name: getattr(given, name) for name in ("permutations", "vector_size", "epochs")}
    compare = functools.partial(compared, lines=lines)
    found = [runs.outcome({"pair": pair, **setting}, compare) for pair in range(1, given.pairs + 1)]
    done = [one for one in found if one is not None]
    words, flagged = (np.array([one[name] for one in done]) for name in ("words", "flagged"))
    discoveries = np.array([one["discoveries"] for one in done])
    rows = []
    for band, (low, high) in enumerate(BANDS):
        name = f"{low} to {high - 1}" if high < 1 << 40 else f"{low} or more"
        shares = flagged[:, band] / words[:, band]
        mean = flagged[:, band].sum() / words[:, band].sum()
        rows.append([name, f"{words[:, band].mean():.0f}", f"{mean:.2%}", f"{np.quantile(shares, 0.95):.1%}"])
    mean = flagged.sum() / words.sum()
    rows.append(["all", f"{words.sum(axis=1).mean():.0f}", f"{mean:.2%}",
                 f"{np.quantile(flagged.sum(axis=1) / words.sum(axis=1), 0.95):.1%}"])  # fmt: skip
    body = (
        f"{len(lines):,} documents with {sum(map(len, lines)):,} words are dealt into two texts, {len(done)} "
        f"times, and compared ({given.permutations} permutations, skip-gram with a window of 10, "
        f"{given.vector_size} dimensions, {given.epochs} epochs): nothing changed. At a rate of false "
        f"discoveries of 5 % there are {discoveries.sum()} discoveries in all, in "
        f"{(discoveries > 0).sum()} of the {len(done)} runs. Words flagged at p < .05:\n\n"
    )
    columns = [
        "count in the rarer text",
        "words of a run",
        "flagged, all runs",
        "flagged, 95 of 100 runs at most",
    ]
    title = "Are the p-values of `cawv change` right?"
    seconds = sum(record["seconds"] for record in done)
    write_section(given.page, title, "dealt", body + table(columns, rows), seconds)


def compared(setting: Setting, lines: list[list[str]]) -> dict[str, list[int] | int]:
    """Return how many words of each band are judged and flagged, where nothing changed."""
    order = np.random.default_rng(setting["pair"]).permutation(len(lines))
    texts = [[lines[i] for i in half] for half in np.array_split(order, 2)]
    config = TrainConfig(
        model="skipgram",
        window=10,
        vector_size=setting["vector_size"],
        epochs=setting["epochs"],
        workers=1,
        seed=setting["pair"],
    )
    found = changes(*texts, config=config, permutations=setting["permutations"]).words
    p, fdr, counts = (
        np.array(values) for values in zip(*((one.p, one.fdr, min(one.counts)) for one in found), strict=True)
    )
    inside = [(counts >= low) & (counts < high) for low, high in BANDS]
    return {
        "words": [int(band.sum()) for band in inside],
        "flagged": [int((p[band] < 0.05).sum()) for band in inside],
        "discoveries": int((fdr <= 0.05).sum()),
    }


if __name__ == "__main__":
    main()
