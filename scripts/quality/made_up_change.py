"""Is made-up change found? In the second of two texts, words of similar frequency are exchanged.

A share of the occurrences of 100 pairs of words is exchanged. Writes a section of
docs/measurements/changed-words.md; with 2 × 1 million words it takes half a minute of one core for each seed.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from scipy.stats import rankdata
from study import Runs, Setting, data_files, lines_of, parser, table, values, write_section

from wordvec_ca import KeyedVectors, TrainConfig
from wordvec_ca.change.texts import PERMUTATIONS, Slices
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.text import tokenize
from wordvec_ca.vectors import directions, robust_fit

LINES_PER_MILLION = 15_608
SHARES = (0.1, 0.25, 0.5, 1.0)
PAIRS = 100
COMMON = 20
"""Words that are exchanged occur at least this often in each text."""

METHODS = ("cawv change", "plain Procrustes", "overlap alone")


class Watched(Slices):
    """Texts for which plain Procrustes distances are measured too: without centring, with all words."""

    plain: np.ndarray

    def _models(
        self, repeats: int, tell: Callable[[str], None]
    ) -> tuple[KeyedVectors, list[list[KeyedVectors]]]:
        together, models = super()._models(repeats, tell)
        words = [self.vocab.words[row] for row in self.rows]
        first, second = (
            directions(model.vectors[[model.key_to_index[word] for word in words]], centred=False)
            for model in models[0]
        )
        self.plain = 1 - robust_fit(first, second, left_out=0).cosines
        return together, models


def main() -> None:
    """Exchange, compare and write the page."""
    options = parser(__doc__, "changed-words", data=True, log="made-up-change.jsonl")
    options.add_argument("--million", type=float, default=1, help="million words of each text")
    options.add_argument("--seeds", default="1,2,3")
    options.add_argument("--permutations", type=int, default=PERMUTATIONS)
    options.add_argument("--epochs", type=int, default=5)
    given = options.parse_args()
    (corpus,) = data_files(given.data, "corpora/wiki.30M.txt.xz")
    runs = Runs(given.log, given.minutes)
    setting = {name: getattr(given, name) for name in ("million", "permutations", "epochs")}
    judge = functools.partial(judged, corpus=corpus)
    found = [runs.outcome({"seed": seed, **setting}, judge) for seed in values(given.seeds, int)]
    done = [one for one in found if one is not None]

    def spread(*names: str) -> str:
        figures = [functools.reduce(lambda part, name: part[name], names, one) for one in done]
        deviation = f" ± {np.std(figures, ddof=1):.3f}" if len(figures) > 1 else ""
        return f"{np.mean(figures):.3f}{deviation}"

    rows = []
    for share in map(str, SHARES):
        for method in METHODS:
            ours = spread("recall", share) if method == METHODS[0] else "no p"
            rows.append([f"{float(share):.0%}", method, spread("auc", method, share),
                         spread("best", method, share), ours])  # fmt: skip
    false = ", ".join(f"{one['false']:.1%} of {one['called']}" for one in done)
    body = (
        f"Two texts of {given.million:g} M words of Wikipedia; in the second {PAIRS} pairs of words of like "
        f"frequency have exchanged a share of their occurrences, a quarter of the pairs each share; "
        f"{given.permutations} permutations, {given.epochs} epochs, otherwise defaults; mean of {len(done)} "
        "seeds ± standard deviation. AUC: changed words against all others. Recall with a limit that only "
        "who knows the answer can set: the best that has at most 5 % false discoveries among all four shares "
        "together. Recall at fdr .05: by default, of `cawv change`; false discoveries among what it "
        f"reports: {false}.\n\n"
    )
    columns = ("exchanged", "method", "AUC", "recall, limit known", "recall at fdr .05")
    seconds = sum(record["seconds"] for record in done)
    title = "Are the p-values of `cawv change` right?"
    write_section(given.page, title, "made-up", body + table(columns, rows), seconds)


def judged(setting: Setting, corpus: Path) -> dict[str, Any]:
    """Return AUC and recall of each method, by share."""
    size = int(setting["million"] * LINES_PER_MILLION)
    first, second = (
        [tokenize(line) for line in lines_of(corpus, size, number * size)] for number in range(2)
    )
    exchanged = pairs_of(first, second, np.random.default_rng(setting["seed"]))
    later = exchange(second, exchanged, np.random.default_rng(setting["seed"] + 1000))
    config = TrainConfig(
        vectors="input",
        model="skipgram",
        window=10,
        epochs=setting["epochs"],
        workers=1,
        seed=setting["seed"],
    )
    slices = Watched([first, later], ResolvedConfig.of(config), 10)
    changed = slices.compared(setting["permutations"], 1, lambda line: None)
    plain = {slices.vocab.words[row]: value for row, value in zip(slices.rows, slices.plain, strict=True)}
    share = np.array([exchanged[one.word][1] if one.word in exchanged else 0.0 for one in changed.words])
    scores = {
        "cawv change": -np.arange(len(changed.words), dtype=float),
        "plain Procrustes": np.array([plain[one.word] for one in changed.words]),
        "overlap alone": np.array([one.turnover for one in changed.words]),
    }
    called = np.array([one.fdr for one in changed.words]) <= 0.05
    best = {name: score >= limit(score, share > 0) for name, score in scores.items()}
    return {
        "judged": len(share),
        "called": int(called.sum()),
        "false": float((share[called] == 0).mean()) if called.any() else 0.0,
        "recall": {str(one): float(called[share == one].mean()) for one in SHARES},
        "auc": {
            name: {str(one): auc(score, share == one, share == 0) for one in SHARES}
            for name, score in scores.items()
        },
        "best": {
            name: {str(one): float(those[share == one].mean()) for one in SHARES}
            for name, those in best.items()
        },
    }


def pairs_of(
    first: list[list[str]], second: list[list[str]], rng: np.random.Generator
) -> dict[str, tuple[str, float]]:
    """Return for each exchanged word its partner and the share of occurrences."""
    counts = [Counter(word for line in text for word in line) for text in (first, second)]
    common = [word for word in counts[0] if min(count[word] for count in counts) >= COMMON]
    common.sort(key=lambda word: (-sum(count[word] for count in counts), word))
    starts = rng.permutation(len(common) // 2)[:PAIRS]
    found: dict[str, tuple[str, float]] = {}
    for number, start in enumerate(starts.tolist()):
        one, other = common[2 * start], common[2 * start + 1]
        share = SHARES[number % len(SHARES)]
        found[one], found[other] = (other, share), (one, share)
    return found


def exchange(
    text: list[list[str]], pairs: dict[str, tuple[str, float]], rng: np.random.Generator
) -> list[list[str]]:
    """Return a text in which the words of pairs are exchanged."""

    def after(word: str) -> str:
        other, share = pairs.get(word, (word, 0.0))
        return other if share and rng.random() < share else word

    return [list(map(after, line)) for line in text]


def auc(scores: np.ndarray, changed: np.ndarray, same: np.ndarray) -> float:
    """Return how often a changed word has a higher score than an unchanged one."""
    ranks = rankdata(np.concatenate([scores[changed], scores[same]]))[: changed.sum()]
    return float((ranks.sum() - changed.sum() * (changed.sum() + 1) / 2) / (changed.sum() * same.sum()))


def limit(scores: np.ndarray, changed: np.ndarray) -> float:
    """Return the lowest score such that at most 5 % of the words with this score or more are unchanged."""
    order = np.argsort(-scores, kind="stable")
    false = np.cumsum(~changed[order]) / np.arange(1, len(order) + 1)
    last = np.r_[np.diff(scores[order]) != 0, True]  # words with the same score count together
    fine = np.flatnonzero((false <= 0.05) & last)
    return float(scores[order[fine[-1]]]) if len(fine) else np.inf


if __name__ == "__main__":
    main()
