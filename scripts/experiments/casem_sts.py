"""CA-SEM against mean, SIF and uSIF on semantic textual similarity, with intervals.

    python scripts/experiments/casem_sts.py VECTORS --data $CAWV_DATA --corpus wiki.30M.txt.xz

Two protocols:

* A (Zeng 2019, tables 3 and 4): a method learns from the training sentences of a year of the STS benchmark
(or
  of SICK), and is judged by Pearson's r on that year's test pairs (SICK: trial).
* B (Arora et al. 2017): a method learns from the evaluated sentences themselves, one data set at a time; the
  figure of a year is the mean of the r of its data sets (2013 here without SMT).

Fixed variants are run unchanged. In each of five families (mean, SIF, uSIF, CA-SEM without and with a
frequency factor) the best member is chosen on training pairs only and then run on the test years once. The
training pairs are, for A, those of the benchmark and of SICK; for B, the training sets of STS 2012 and SICK,
since the benchmark's training pairs contain test pairs of STS 2012-2014.
Intervals: 95 %, paired bootstrap over pairs within each data set.

``--curves`` draws the paper's figures 7 and 8 instead: r of protocol A as a function of the iterations.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Page, parser, write_section

from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.sentences import SentenceVectorizer
from wordvec_ca.text import tokenize
from wordvec_ca.vectors import KeyedVectors

TITLE = "Sentence similarity: CA-SEM, SIF, uSIF"

SETS = {
    "2012": ["sts2012/" + x for x in ("MSRpar", "MSRvid", "OnWN", "SMTeuroparl", "SMTnews")],
    "2013": ["sts2013/" + x for x in ("FNWN", "OnWN", "headlines")],
    "2014": [
        "sts2014/" + x for x in ("OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news")
    ],
}
DEV_B = {
    "2012 train": ["sts2012_train/" + x for x in ("MSRpar", "MSRvid", "SMTeuroparl")],
    "SICK train": ["sick/train"],
}
YEARS_A = {year: (f"stsb_by_year/{year}.train", f"stsb_by_year/{year}.test") for year in SETS} | {
    "SICK": ("sick/train", "sick/trial")
}

PAPER = {"frequency": None, "n_components": 0, "scale": None, "max_iter": 100}
FIXED: dict[str, dict[str, Any]] = {
    "mean": {"method": "mean"},
    "idf": {"method": "idf"},
    "mean, 1 direction removed": {"method": "mean", "n_components": 1},
    "SIF, a = 1e-3": {"method": "sif"},
    "uSIF": {"method": "usif"},
    "CA-SEM full (eq. 18), 100 iterations": PAPER | {"readout": "full"},
    "CA-SEM full without OOV, 100 iterations": PAPER | {"readout": "full-no-oov"},
    "CA-SEM sensitive, start only": PAPER | {"max_iter": 0},
    "CA-SEM sensitive, 1 iteration": PAPER | {"max_iter": 1},
    "CA-SEM sensitive, 20 iterations": PAPER | {"max_iter": 20},
    "ca-sem: CA-SEM sensitive, 100 iterations": PAPER,
    "CA-SEM sensitive, scale 1": PAPER | {"scale": 1.0},
    "ca-sem-sif, the default": {},
}
ITERATIONS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Iterations at which the curves are drawn."""

REFERENCE = "SIF, a = 1e-3"


def grid(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Return every combination of the values."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


REMOVED = (0, 1, 2, 3, 5)
LENGTHS: list[dict[str, Any]] = [{"scale": None, "max_iter": n} for n in (0, 1, 20, 100)] + [
    {"scale": s, "max_iter": 20} for s in (0.5, 1.0, 2.0, 4.0)
]
CASEM = [length | other for length in LENGTHS for other in grid(count_power=(1.0, 0.5), n_components=REMOVED)]
FAMILIES: dict[str, list[dict[str, Any]]] = {
    "mean, tuned": grid(method=["mean"], n_components=REMOVED),
    "SIF, tuned": grid(method=["sif"], a=(1e-2, 1e-3, 1e-4), n_components=REMOVED),
    "uSIF, tuned": grid(method=["usif"], n_components=REMOVED),
    "CA-SEM without frequency factor, tuned": [setting | {"frequency": None} for setting in CASEM],
    "CA-SEM with frequency factor, tuned": [
        setting | {"frequency": factor} for factor in ("sif", "usif") for setting in CASEM
    ],
}

COMPARED = [
    ("CA-SEM with frequency factor, tuned", "SIF, tuned"),
    ("CA-SEM with frequency factor, tuned", "uSIF"),
    ("CA-SEM without frequency factor, tuned", "mean, tuned"),
    ("ca-sem-sif, the default", "uSIF"),
]


@dataclass(frozen=True)
class Pairs:
    """Scored pairs of one data set, tokenised."""

    gold: np.ndarray
    sentences: list[list[str]]  # all left ones, then all right ones


def read_pairs(path: Path) -> Pairs:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return Pairs(
        np.array([float(row[0]) for row in rows]),
        [tokenize(row[1]) for row in rows] + [tokenize(row[2]) for row in rows],
    )


def similarities(matrix: np.ndarray) -> np.ndarray:
    """Return the cosine of each left sentence with its right one; 0 where one of them is zero."""
    left, right = matrix[: len(matrix) // 2], matrix[len(matrix) // 2 :]
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.where(lengths > 0, (left * right).sum(axis=1) / np.maximum(lengths, 1e-30), 0.0)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    return 100.0 * float(np.corrcoef(x, y)[0, 1])


def bootstrap(gold: np.ndarray, scores: np.ndarray, n_samples: int, seed: int) -> np.ndarray:
    """Return Pearson's r of each row of ``scores`` in resamples of the pairs, shape (n_rows, n_samples)."""
    draws = np.random.default_rng(seed).multinomial(
        len(gold), np.full(len(gold), 1 / len(gold)), size=n_samples
    )
    weights = draws / len(gold)
    y = (gold - gold.mean()) / gold.std()
    x = scores - scores.mean(axis=1, keepdims=True)
    mean_y, mean_x = weights @ y, weights @ x.T
    cov = weights @ (x * y).T - mean_x * mean_y[:, None]
    spread = np.sqrt((weights @ (x * x).T - mean_x**2) * (weights @ (y * y) - mean_y**2)[:, None])
    return 100.0 * (cov / spread).T


class Trial:
    """Vectors and data, ready to score settings."""

    def __init__(self, vectors: Any, counts: np.ndarray, data: Path) -> None:
        names = {name for sets in [*SETS.values(), *DEV_B.values(), *YEARS_A.values()] for name in sets}
        self.pairs = {name: read_pairs(data / "sentences" / f"{name}.tsv") for name in sorted(names)}
        # Only the words that occur: the result is the same, since no method uses other vectors.
        used = {t for pairs in self.pairs.values() for s in pairs.sentences for t in s}
        rows = [row for row, word in enumerate(vectors.index_to_key) if word in used]
        words = [vectors.index_to_key[row] for row in rows]
        self.vectors = SimpleNamespace(
            vectors=np.ascontiguousarray(vectors.vectors[rows]),
            index_to_key=words,
            key_to_index={word: row for row, word in enumerate(words)},
        )
        # all of them, since uSIF depends on the number of words in the table
        self.counts = dict(zip(vectors.index_to_key, counts.tolist(), strict=True))

    def scores(self, setting: dict[str, Any], train: str, test: str) -> np.ndarray:
        """Return the similarities of the pairs of ``test`` after fitting on ``train``."""
        made = SentenceVectorizer(self.vectors, counts=self.counts, **setting).fit(
            self.pairs[train].sentences
        )
        return similarities(made.transform(self.pairs[test].sentences))

    def mean_r(self, setting: dict[str, Any], sets: Iterable[tuple[str, str]]) -> float:
        """Return the mean of Pearson's r over data sets."""
        return float(np.mean([pearson(self.scores(setting, a, b), self.pairs[b].gold) for a, b in sets]))

    def tuned(self, groups: list[list[tuple[str, str]]]) -> dict[str, dict[str, Any]]:
        """Return the best member of each family on training data."""
        best = {}
        for family, members in FAMILIES.items():
            marks = [np.mean([self.mean_r(member, group) for group in groups]) for member in members]
            best[family] = members[int(np.argmax(marks))]
            print(
                f"  {family}: {best[family]} of {len(members)}, {max(marks):.1f} on training data",
                file=sys.stderr,
            )
        return best

    def table(
        self, settings: dict[str, dict[str, Any]], years: dict[str, list[tuple[str, str]]], n_samples: int
    ) -> list[str]:
        """Return the rows of a Markdown table: r per year with its interval, and the difference to SIF."""
        reference = list(settings).index(REFERENCE)
        values = {}
        for year, sets in years.items():
            point, samples = [], []
            for number, (train, test) in enumerate(sets):
                gold = self.pairs[test].gold
                scores = np.stack([self.scores(s, train, test) for s in settings.values()])
                point.append([pearson(row, gold) for row in scores])
                samples.append(bootstrap(gold, scores, n_samples, seed=number))
            values[year] = np.mean(point, axis=0), np.mean(samples, axis=0)
        gaps = [
            f"| {mine} less {other} | "
            + " | ".join(
                gap(point, sample, list(settings).index(mine), list(settings).index(other))
                for point, sample in values.values()
            )
            + " |"
            for mine, other in COMPARED
        ]
        lines = [
            "| | " + " | ".join(f"{year} | less SIF" for year in years) + " |",
            "|---|" + "---|---|" * len(years),
        ]
        for i, name in enumerate(settings):
            cells = []
            for point_r, sample_r in values.values():
                low, high = np.percentile(sample_r[i], [2.5, 97.5])
                cells.append(f"{point_r[i]:.1f} ({low:.1f} to {high:.1f})")
                cells.append("" if i == reference else gap(point_r, sample_r, i, reference))
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        header = ["", "| | " + " | ".join(years) + " |", "|---|" + "---|" * len(years)]
        return lines + header + gaps


def gap(point: np.ndarray, samples: np.ndarray, mine: int, other: int) -> str:
    """Return the difference of two variants with its interval, bold if the interval is above 0."""
    low, high = np.percentile(samples[mine] - samples[other], [2.5, 97.5])
    star = "**" if low > 0 else ""
    return f"{star}{point[mine] - point[other]:+.1f}{star} ({low:+.1f} to {high:+.1f})"


def describe(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())


def word_counts(vectors: Any, corpus: Path | None) -> np.ndarray:
    """Return the counts of the words in a text, or else those stored with the vectors."""
    if corpus is None:
        if getattr(vectors, "counts", None) is None:
            raise SystemExit("These vectors carry no counts: give --corpus, a text to count words in.")
        return np.asarray(vectors.counts)
    vocab, _ = count_corpus(corpus, TextOptions(min_count=1))
    counts = dict(zip(vocab.words, vocab.counts.tolist(), strict=True))
    return np.array([counts.get(word, 0) for word in vectors.index_to_key], np.int64)


def draw_curves(trial: Trial, name: str, page: Path) -> None:
    """Write the section with Pearson's r of ca-sem by the number of iterations."""
    import matplotlib.pyplot as plt

    report = Page(page, TITLE, "curves")
    curves = {
        year: [trial.mean_r(PAPER | {"max_iter": n}, [sets]) for n in ITERATIONS]
        for year, sets in YEARS_A.items()
    }
    report.text(
        f"## By the number of iterations: {name}",
        "Pearson's r x 100 of `ca-sem` (Algorithm 1 of Zeng 2019) by the number of iterations, protocol A. "
        "Figures 7 and 8 of the paper: r no longer moves after 100 iterations on 2012 to 2016, and "
        "after 20 on SICK.",
    )
    report.table(
        ("iterations", *curves),
        [(n, *(f"{curve[i]:.1f}" for curve in curves.values())) for i, n in enumerate(ITERATIONS)],
    )
    figure, axes = plt.subplots(figsize=(6, 3))
    for year, curve in curves.items():
        axes.plot(ITERATIONS, curve, marker="o", label=year)
    axes.set_xscale("symlog")
    axes.set_xlabel("iterations")
    axes.set_ylabel("Pearson's r x 100")
    axes.legend(fontsize=7)
    report.figure(figure, "iterations", "ca-sem by the number of iterations")
    report.write()


def main() -> None:
    asked = parser(__doc__, "casem-sts")
    asked.add_argument("vectors", type=Path)
    asked.add_argument("--data", type=Path, required=True, help="folder that holds sentences/")
    asked.add_argument("--corpus", type=Path, help="text for word frequencies; default: those of the vectors")
    asked.add_argument("--name", help="what to call the vectors")
    asked.add_argument("--samples", type=int, default=10_000, help="bootstrap samples")
    asked.add_argument("--curves", action="store_true", help="draw r by the number of iterations instead")
    options = asked.parse_args()
    began = time.perf_counter()
    vectors = KeyedVectors.load(options.vectors)
    trial = Trial(vectors, word_counts(vectors, options.corpus), options.data)
    if options.curves:
        draw_curves(trial, options.name or options.vectors.name, options.page)
        return

    train_a = [[pair] for pair in ((train, train) for train, _ in YEARS_A.values())]
    train_b = [[(name, name) for name in names] for names in DEV_B.values()]
    n_tried = sum(map(len, FAMILIES.values()))
    lines = []
    protocols = {
        "A: STS benchmark by year, SICK trial (Zeng 2019)": (
            train_a,
            {year: [pair] for year, pair in YEARS_A.items()},
        ),
        "B: SemEval years (Arora et al. 2017; 2013 without SMT)": (
            train_b,
            {year: [(name, name) for name in names] for year, names in SETS.items()},
        ),
    }
    for title, (train, test) in protocols.items():
        print(title, file=sys.stderr)
        best = trial.tuned(train)
        lines += [f"### {title}", "", *trial.table(FIXED | best, test, options.samples), ""]
        lines += [
            f"Best of {len(FAMILIES[family])} on training pairs, {family}: `{describe(setting)}`."
            for family, setting in best.items()
        ]
        lines.append("")
    lines.append(
        f"Pearson's r x 100 with 95 % bootstrap intervals ({options.samples:,} samples); {len(FIXED)} fixed "
        f"variants and {n_tried} in the tuning grids of each protocol. Bold: better than SIF, interval > 0."
    )
    name = options.name or options.vectors.name
    body = "\n".join([f"## {name}", "", *lines])
    print(body)
    write_section(options.page, TITLE, name, body, time.perf_counter() - began)


if __name__ == "__main__":
    main()
