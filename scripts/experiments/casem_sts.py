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

    def sets(name: str, judged: list[str], learnt: list[str]) -> dict[str, SimilaritySets]:
        pairs = [[read_sentence_pairs(folder / f"{one}.tsv") for one in each] for each in (judged, learnt)]
        return {name: SimilaritySets(name, *pairs)}

    a: dict[str, SimilaritySets] = {}
    for year in SETS:
        if (folder / f"stsb_by_year/{year}.test.tsv").exists():
            a |= sets(year, [f"stsb_by_year/{year}.test"], [f"stsb_by_year/{year}.train"])
    for name, part in {"SICK": "trial", "SICK's test": "test"}.items():
        if (folder / f"sick/{part}.tsv").exists():
            a |= sets(name, [f"sick/{part}"], ["sick/train"])
    yield "A: STS benchmark by year, SICK", a
    b: dict[str, SimilaritySets] = {}
    for year, names in SETS.items():
        if (folder / f"sts{year}").exists():
            b |= sets(year, [f"sts{year}/{name}" for name in names], [])
    yield "B: SemEval years", b


def cells(report: Report) -> Iterator[str]:
    """Yield r of each method with its interval, and its difference to the first: bold if above 0."""
    first, *_ = METHODS
    sample = {name: 100 * draws(report, name, 2000) for name in METHODS}
    for name in METHODS:
        value, gap = 100 * report.metrics[name].value, sample[name] - sample[first]
        low, high, below, above = (
            end for one in (sample[name], gap) for end in np.percentile(one, [2.5, 97.5])
        )
        less, star = value - 100 * report.metrics[first].value, "**" if below > 0 else ""
        told = f"; {star}{less:+.1f}{star} ({below:+.1f} to {above:+.1f})" if name != first else ""
        yield f"{value:.1f} ({low:.1f} to {high:.1f}){told}"


def losses(vectors: KeyedVectors, folder: Path) -> str:
    """Return the energy of eq. 17 for each training sentence, by the number of iterations (fig. 7a, 8a)."""
    files = {year: f"stsb_by_year/{year}.train" for year in SETS} | {"SICK": "sick/train"}
    files = {name: file for name, file in files.items() if (folder / f"{file}.tsv").exists()}
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
    parts.append("After the semicolon: less SIF. Bold: the interval is above 0.")
    body = "\n\n".join(parts)
    print(body)
    name = options.name or options.vectors.name
    write_section(options.page, "Sentence similarity", name, body, time.perf_counter() - began)
    loss = losses(vectors, data_files(options.data, "sentences")[0])
    write_section(options.page, "Sentence similarity", f"losses: {name}", loss)


if __name__ == "__main__":
    main()
