"""Do the intervals of neighbours contain the values of another run, and is a mean of models better than one?

There are two texts of the same size from one source: resampled models are trained on the first, single models
on both. Writes docs/measurements/resamples.md; with 3 million words and CBOW it takes about 15 minutes of one
core.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, peak_memory, say, table, values, write_section

from wordvec_ca import KeyedVectors
from wordvec_ca.eval import evaluate, read_word_pairs

LINES_PER_MILLION = 15_608
BANDS = ((5, 10), (10, 30), (30, 100), (100, 1_000), (1_000, 1 << 40))
WORDS_PER_BAND = 100
NEAREST = 10


def main() -> None:
    """Train, compare and write the page."""
    options = parser(__doc__, "resamples", data=True)
    options.add_argument("--model", default="cbow", help="which model")
    options.add_argument("--million", type=float, default=3, help="million words of each text")
    options.add_argument("--models", type=int, default=10, help="resampled models")
    options.add_argument("--seeds", default="1", help="seeds, each of a repetition")
    given = options.parse_args()
    corpus, wordsim = data_files(given.data, "corpora/wiki.30M.txt.xz", "wordsim")
    began = time.time()
    size = int(given.million * LINES_PER_MILLION)
    rows: list[list[Any]] = []
    repeated: list[list[float]] = []
    found: list[tuple[int, float, float, float, int, bool]] = []
    with tempfile.TemporaryDirectory() as place:
        texts = [Path(place, name) for name in ("first.txt", "second.txt")]
        for number, text in enumerate(texts):
            text.write_text("".join(lines_of(corpus, size, number * size)), encoding="utf-8")
        for seed in values(given.seeds, int):
            usual = [f"--model={given.model}", "--workers=1", f"--seed={seed}", "-q", "--overwrite", "-o"]
            single, *cost_of_one = trained(texts[0], [*usual, f"{place}/one"])
            other, *_ = trained(texts[1], [*usual, f"{place}/other"])
            drawn = [f"--resamples={given.models}", *usual, f"{place}/mean"]
            mean, *cost = trained(texts[0], drawn)
            found += judged(mean, other)
            scores = [similarity(vectors, wordsim) for vectors in (single, mean)]
            ratios = [several / one for several, one in zip(cost, cost_of_one, strict=True)]
            repeated.append([*scores, *ratios])
            rows.append([seed, *(f"{x:.3f}" for x in scores), *(f"{x:.2f}" for x in ratios)])
            say(f"seed {seed}: {rows[-1]}")
    if len(repeated) > 1:
        middle = np.mean(repeated, axis=0)
        rows.append(["mean", *(f"{score:.3f}" for score in middle[:2]), *(f"{x:.2f}" for x in middle[2:])])
    body = (
        f"{given.model}, {given.million:g} M words, {given.models} models. Of the {NEAREST} nearest "
        f"neighbours of up to {WORDS_PER_BAND} random words in each band of frequency, how many have an "
        "interval that holds their cosine in one run on other text:\n\n"
        + table(("count of the word", "neighbours", "in the interval", "below", "above"), coverage(found))
        + "\n\nAgreement: of neighbours that so many models have, how many are among the nearest in one run "
        "on other text:\n\n"
        + table(("models", "neighbours", "found again"), agreement(found, given.models))
        + "\n\nMean of the similarity sets, of one run on all lines and of the mean of the models; what "
        "they take, in what one run takes (one worker):\n\n"
        + table(("seed", "one run", "mean of models", "CPU time", "memory"), rows)
    )
    name = f"{given.model}-{given.million:g}"
    write_section(given.page, "How sure is a neighbour?", name, body, time.time() - began)


def trained(text: Path, options: list[str]) -> tuple[KeyedVectors, float, float]:
    """Train in a process of its own; return the vectors, its CPU seconds and its memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = subprocess.Popen([sys.executable, "-m", "wordvec_ca", "train", str(text), *options])
    memory = peak_memory(process)
    if process.returncode:
        sys.exit(f"{options[-1]}: training ended with {process.returncode}")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    say(f"{options[-1]}: {seconds:.0f} CPU seconds, {memory / 1e6:.0f} MB")
    return KeyedVectors.load(options[-1]), seconds, memory


def similarity(vectors: KeyedVectors, folder: Path) -> float:
    """Return the mean of Spearman's rho over all sets of the folder."""
    sets = [read_word_pairs(path) for path in sorted(folder.glob("*.tsv"))]
    return float(np.mean([evaluate(vectors, pairs, seed=1).metrics["spearman"].value for pairs in sets]))


def judged(mean: KeyedVectors, other: KeyedVectors) -> list[tuple[int, float, float, float, int, bool]]:
    """Return band, interval, cosine in the other run, agreement, and whether the neighbour is there too."""
    assert mean.counts is not None
    rng = np.random.default_rng(0)
    known = np.array([word in other.key_to_index for word in mean.index_to_key])
    found = []
    for band, (low, high) in enumerate(BANDS):
        rows = np.flatnonzero(known & (mean.counts >= low) & (mean.counts < high))
        for row in rng.permutation(rows)[:WORDS_PER_BAND].tolist():
            word = mean.index_to_key[row]
            near = {pair[0] for pair in other.most_similar(word, topn=NEAREST)}
            for one in mean.neighbours(word, NEAREST):
                if one.word in other.key_to_index:
                    cosine = other.similarity(word, one.word)
                    found.append((band, one.low, one.high, cosine, one.agreement, one.word in near))
    return found


def coverage(found: list[tuple[int, float, float, float, int, bool]]) -> list[list[Any]]:
    """Return the rows of the table of coverage."""
    rows = []
    for band, (low, high) in enumerate(BANDS):
        these = np.array([one[1:4] for one in found if one[0] == band]).reshape(-1, 3)
        below, above = (these[:, 2] < these[:, 0]).mean(), (these[:, 2] > these[:, 1]).mean()
        name = f"{low:,} to {high - 1:,}" if high < 1 << 40 else f"{low:,} or more"
        rows.append([name, len(these), f"{1 - below - above:.0%}", f"{below:.0%}", f"{above:.0%}"])
    return rows


def agreement(found: list[tuple[int, float, float, float, int, bool]], models: int) -> list[list[Any]]:
    """Return the rows of the table of agreement."""
    rows = []
    for number in range(models + 1):
        again = [one[5] for one in found if one[4] == number]
        if again:
            rows.append([f"{number}/{models}", len(again), f"{np.mean(again):.0%}"])
    return rows


if __name__ == "__main__":
    main()
