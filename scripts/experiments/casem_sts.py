"""CA-SEM against mean, SIF and uSIF on semantic textual similarity, with intervals (Zeng 2019, tables 3, 4).

    python scripts/experiments/casem_sts.py VECTORS --corpus wiki.30M.txt.xz --name "GloVe 6B 100 d"

Two protocols. A, Zeng's: a method learns from the training sentences of a year of the STS benchmark, or of
SICK, and is judged on that year's test pairs, and on SICK's trial and test pairs. B, of Arora et al. 2017:
it learns from the evaluated sentences, one data set at a time, and the figure of a year is the mean over its
sets (2013 here without SMT). Figures are Pearson's r x 100; intervals are of 95 %, from
resampled pairs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, draws, parser, table, write_section

from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.eval import Report
from wordvec_ca.eval.data.sentence_sets import read_sentence_pairs
from wordvec_ca.eval.tasks.sts import SimilaritySets, evaluate
from wordvec_ca.sentences import reembed
from wordvec_ca.vectors import KeyedVectors

SETS = {  # of each year; those that --data lacks are left out
    "2012": ["MSRpar", "MSRvid", "OnWN", "SMTeuroparl", "SMTnews"],
    "2013": ["FNWN", "OnWN", "headlines"],
    "2014": ["OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"],
    "2015": ["answers-forums", "answers-students", "belief", "headlines", "images"],
    "2016": ["answer-answer", "headlines", "plagiarism", "postediting", "question-question"],
}

PAPER = {"frequency": None, "n_components": 0, "scale": None, "max_iter": 100}
METHODS: dict[str, dict[str, Any]] = {
    "SIF, a = 1e-3": {"method": "sif"},
    "mean": {"method": "mean"},
    "idf": {"method": "idf"},
    "mean, 1 direction removed": {"method": "mean", "n_components": 1},
    "uSIF": {"method": "usif"},
    "CA-SEM full (eq. 18), 100 iterations": PAPER | {"readout": "full"},
    "CA-SEM full without OOV, 100 iterations": PAPER | {"readout": "full-no-oov"},
    "CA-SEM sensitive, start only": PAPER | {"max_iter": 0},
    **{f"CA-SEM sensitive, {n} iterations": PAPER | {"max_iter": n} for n in (1, 2, 5, 10, 20, 50)},
    "ca-sem: CA-SEM sensitive, 100 iterations": PAPER,
    "CA-SEM sensitive, scale 1": PAPER | {"scale": 1.0},
    "ca-sem-sif, the default": {},
}
"""The first is what the others are compared with."""

ITERATIONS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def protocols(folder: Path) -> Iterator[tuple[str, dict[str, SimilaritySets]]]:
    """Yield each protocol, with the pairs of each of its columns."""

    def read(name: str) -> Any:
        return read_sentence_pairs(folder / f"{name}.tsv")

    yield (
        "A: STS benchmark by year, SICK",
        {
            **{
                y: SimilaritySets(y, [read(f"stsb_by_year/{y}.test")], [read(f"stsb_by_year/{y}.train")])
                for y in SETS
                if (folder / f"stsb_by_year/{y}.test.tsv").exists()
            },
            **{
                name: SimilaritySets(name, [read(f"sick/{part}")], [read("sick/train")])
                for name, part in {"SICK": "trial", "SICK's test": "test"}.items()
                if (folder / f"sick/{part}.tsv").exists()
            },
        },
    )
    yield (
        "B: SemEval years",
        {
            year: SimilaritySets(year, [read(f"sts{year}/{name}") for name in names])
            for year, names in SETS.items()
            if (folder / f"sts{year}").exists()
        },
    )


def cells(report: Report) -> Iterator[str]:
    """Yield r of each method with its interval, and its difference to the first: bold if above 0."""
    first, *_ = METHODS
    sample = {name: 100 * draws(report, name, 2000) for name in METHODS}
    for name in METHODS:
        value, gap = 100 * report.metrics[name].value, sample[name] - sample[first]
        low, high, below, above = (
            *np.percentile(sample[name], [2.5, 97.5]),
            *np.percentile(gap, [2.5, 97.5]),
        )
        less, star = value - 100 * report.metrics[first].value, "**" if below > 0 else ""
        told = f"; {star}{less:+.1f}{star} ({below:+.1f} to {above:+.1f})" if name != first else ""
        yield f"{value:.1f} ({low:.1f} to {high:.1f}){told}"


def losses(vectors: KeyedVectors, folder: Path) -> str:
    """Return the energy of eq. 17 for each training sentence, by the number of iterations (fig. 7a, 8a)."""
    files = {
        **{
            year: f"stsb_by_year/{year}.train"
            for year in SETS
            if (folder / f"stsb_by_year/{year}.train.tsv").exists()
        },
        "SICK": "sick/train",
    }
    columns = []
    for name in files.values():
        pairs = read_sentence_pairs(folder / f"{name}.tsv")
        sentences = [*pairs.first, *pairs.second]
        energies = reembed(vectors, sentences, max_iter=max(ITERATIONS), scale=None).energies
        columns.append([energies[n] / len(sentences) for n in ITERATIONS])
    rows = [
        [n, *(f"{loss:.3g}" for loss in row)]
        for n, row in zip(ITERATIONS, zip(*columns, strict=True), strict=True)
    ]
    return "\n\n".join(
        (
            "Energy of eq. 17 for each training sentence, by the number of iterations (figures 7a and 8a).",
            table(("iterations", *files), rows),
        )
    )


def hierarchical(vectors: KeyedVectors, data: SimilaritySets, n_groups: int) -> float:
    """Return r x 100 of CA-SEM twice (Zeng 2019, footnote 3): the training sentences, re-embedded, are
    grouped, and each group is re-embedded again; a test sentence belongs to the nearest group.
    """
    (train,), (test,) = data.background, data.sets
    texts = [*train.first, *train.second]
    matrix = reembed(vectors, texts, scale=None, max_iter=100).transform(vectors.vectors)
    row = vectors.key_to_index

    def mean(text: list[str], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        found = [row[word] for word in text if word in row]
        return rows[found].mean(axis=0) if found else np.zeros(rows.shape[1], np.float32)

    groups = KMeans(n_groups, n_init=4, random_state=1).fit(np.stack([mean(text, matrix) for text in texts]))
    of_group = []
    for group in range(n_groups):
        own = [text for text, label in zip(texts, groups.labels_, strict=True) if label == group]
        again = KeyedVectors(vectors.index_to_key, matrix)
        of_group.append(reembed(again, own, scale=None, max_iter=100).transform(matrix))

    def embedded(texts: list[list[str]]) -> NDArray[np.float64]:
        nearest = groups.predict(np.stack([mean(text, matrix) for text in texts]))
        found = [mean(text, of_group[group]) for text, group in zip(texts, nearest, strict=True)]
        rows = np.array(found, np.float64)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)

    cosines = (embedded(test.first) * embedded(test.second)).sum(axis=1)
    return 100 * float(np.corrcoef(cosines, test.scores)[0, 1])


def main() -> None:
    asked = parser(__doc__, "casem-sts", data=True)
    asked.add_argument("vectors", type=Path)
    asked.add_argument("--corpus", type=Path, help="text for word frequencies; default: those of the vectors")
    asked.add_argument("--name", help="what to call the vectors")
    options = asked.parse_args()
    began = time.perf_counter()
    vectors = KeyedVectors.load(options.vectors)
    if options.corpus:
        vocab, _ = count_corpus(options.corpus, TextOptions(min_count=1))
        counts = dict(zip(vocab.words, vocab.counts.tolist(), strict=True))
        counted = np.array([counts.get(word, 0) for word in vectors.index_to_key], np.int64)
        vectors = KeyedVectors(vectors.index_to_key, vectors.vectors, counted)
    parts = []
    for title, years in protocols(data_files(options.data, "sentences")[0]):
        columns = [cells(evaluate(vectors, sets, readouts=METHODS)) for sets in years.values()]
        rows = [[name, *row] for name, row in zip(METHODS, zip(*columns, strict=True), strict=True)]
        parts += [f"### {title}", table(("", *years), rows)]
        if title.startswith("A"):
            again = [
                [f"{n} groups", *(f"{hierarchical(vectors, sets, n):.1f}" for sets in years.values())]
                for n in (1, 2, 4, 8)
            ]
            parts += ["### A, hierarchical: each group re-embedded again", table(("", *years), again)]
    parts.append("After the semicolon: less SIF. Bold: the interval is above 0.")
    body = "\n\n".join(parts)
    print(body)
    name = options.name or options.vectors.name
    write_section(options.page, "Sentence similarity", name, body, time.perf_counter() - began)
    loss = losses(vectors, data_files(options.data, "sentences")[0])
    write_section(options.page, "Sentence similarity", f"losses: {name}", loss)


if __name__ == "__main__":
    main()
