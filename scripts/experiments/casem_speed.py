"""Measures how fast re-embedding, sentence vectors and search are on real text.

    python scripts/experiments/casem_speed.py VECTORS --data $CAWV_DATA

Prints a table and writes it to docs/measurements/casem-speed.md: 100 iterations on the sentences of the
STS benchmark's training pairs; counting the words of the wiki text in one pass, and as shards in parallel
processes (which give the same v0), and 20 iterations; sentences embedded per second; and search over a
million sentences (paragraphs split at full stops): time to index, latency, memory and disk.
"""

from __future__ import annotations

import itertools
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from xopen import xopen

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, table, write_section

from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.sentences import SearchIndex, SentenceVectorizer, TextLines, WordCounts, reembed
from wordvec_ca.text import tokenize
from wordvec_ca.vectors import KeyedVectors

T = TypeVar("T")
QUERIES = [
    "the history of the railway in england",
    "penguins live in antarctica",
    "who won the football championship",
    "stars and galaxies far away",
    "the queen opened the new bridge",
] * 4


def timed(action: Callable[[], T]) -> tuple[T, float, float]:
    """Return the result, wall-clock seconds and CPU seconds of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, time.perf_counter() - wall, time.process_time() - cpu


ROWS: list[tuple[str, str]] = []


def row(what: str, value: str) -> None:
    """Add a line to the table, and print it."""
    ROWS.append((what, value))
    print(f"| {what} | {value} |", flush=True)


def count_text(path: Any, key_to_index: dict[str, int], workers: int | None = None) -> WordCounts:
    vocab, stats = count_corpus(path, TextOptions(min_count=1, workers=workers))
    counts = dict(zip(vocab.words, vocab.counts.tolist(), strict=True))
    return replace(WordCounts.from_mapping(counts, key_to_index), n_sentences=stats.lines)


def count_shard(job: tuple[str, dict[str, int]]) -> WordCounts:
    path, key_to_index = job
    return count_text(path, key_to_index, workers=1)


def sentences_of(wiki: Path, n: int) -> Iterator[str]:
    with xopen(wiki, "rt", encoding="utf-8") as file:
        pieces = (piece for line in file for piece in re.split(r"(?<=[.!?])\s+(?=[A-Z\"])", line.strip()))
        yield from itertools.islice(pieces, n)


def iterations(vectors: KeyedVectors, data: Path) -> None:
    text = [
        tokenize(side)
        for year in (2012, 2013, 2014)
        for line in (data / f"sentences/stsb_by_year/{year}.train.tsv").read_text("utf-8").splitlines()
        for side in line.split("\t")[1:3]
    ]
    runs = [timed(lambda: reembed(vectors, text, max_iter=100)) for _ in range(5)]
    wall, cpu = (float(np.median([run[i] for run in runs])) for i in (1, 2))
    row(f"counting and 100 iterations, {len(text):,} STS sentences", f"{wall:.2f} s ({cpu:.2f} s CPU)")


def scale(vectors: KeyedVectors, wiki: Path, folder: Path, n_shards: int) -> None:
    counts, wall, cpu = timed(lambda: count_text(wiki, vectors.key_to_index))
    row(
        f"counting {counts.n_tokens:,} tokens, {counts.n_sentences:,} paragraphs (xz)",
        f"{wall:.1f} s ({cpu:.1f} s CPU)",
    )
    result, wall, cpu = timed(lambda: reembed(vectors, counts, max_iter=20))
    row("20 iterations on them", f"{wall:.1f} s ({cpu:.1f} s CPU)")
    shards = [folder / f"shard{i}.txt" for i in range(n_shards)]
    with ExitStack() as stack:
        files = [stack.enter_context(open(shard, "wb")) for shard in shards]
        for number, line in enumerate(stack.enter_context(xopen(wiki, "rb"))):
            files[number % n_shards].write(line)
    jobs = [(str(shard), vectors.key_to_index) for shard in shards]
    with ProcessPoolExecutor(2) as pool:
        merged, wall, _ = timed(lambda: reduce(add, pool.map(count_shard, jobs)))
    same = np.array_equal(reembed(vectors, merged, max_iter=20).v0, result.v0)
    row(f"counting as {n_shards} shards (plain) in 2 processes", f"{wall:.1f} s; v0 the same bits: {same}")


def embedding(vectors: KeyedVectors, sample: list[str]) -> None:
    tokens = [tokenize(line) for line in sample]
    n_mean = sum(map(len, tokens)) / len(tokens)
    for method in ("mean", "ca-sem-sif"):
        made = SentenceVectorizer(vectors, method=method).fit(tokens)
        for kind, text in (("token lists", tokens), ("strings", sample)):
            cpu = min(timed(lambda text=text, made=made: made.transform(text))[2] for _ in range(3))
            row(
                f"{method}, {kind} of {n_mean:.0f} tokens", f"{len(text) / cpu:,.0f} sentences per CPU second"
            )


def searching(vectors: KeyedVectors, wiki: Path, folder: Path, n: int) -> None:
    path = folder / "sentences.txt"
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{sentence}\n" for sentence in sentences_of(wiki, n))
    lines = TextLines([path])
    vectorizer, wall, cpu = timed(lambda: SentenceVectorizer(vectors).fit(lines))
    row(
        f"fitting ca-sem on {vectorizer.coverage_.n_sentences:,} sentences", f"{wall:.1f} s ({cpu:.1f} s CPU)"
    )
    for dtype in ("float32", "float16"):
        place = folder / dtype
        index, wall, cpu = timed(lambda d=dtype, p=place: SearchIndex.build(lines, vectorizer, p, dtype=d))
        disk = sum(file.stat().st_size for file in place.iterdir()) / 1e6
        row(f"indexing them, {dtype}", f"{wall:.1f} s ({cpu:.1f} s CPU), {disk:,.0f} MB on disk")
        index.search(QUERIES[0])
        runs = [timed(lambda q=q, i=index: i.search(q)) for q in QUERIES]
        wall, slowest, cpu = (
            1000 * float(value)
            for value in (
                np.median([r[1] for r in runs]),
                max(r[1] for r in runs),
                np.median([r[2] for r in runs]),
            )
        )
        row(f"query, {dtype}", f"median {wall:.0f} ms, slowest {slowest:.0f} ms ({cpu:.0f} ms CPU)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    row("memory of all this at its peak, maps included", f"{peak:,.0f} MB")


def main() -> None:
    asked = parser(__doc__, "casem-speed")
    asked.add_argument("vectors", type=Path)
    asked.add_argument("--data", type=Path, required=True, help="folder with corpora/ and sentences/")
    asked.add_argument("--shards", type=int, default=8)
    asked.add_argument("--sentences", type=int, default=1_000_000)
    options: Any = asked.parse_args()
    wiki = options.data / "corpora/wiki.30M.txt.xz"
    vectors = KeyedVectors.load(options.vectors)
    len(vectors.key_to_index)
    print("| | |\n|---|---|")
    iterations(vectors, options.data)
    embedding(vectors, list(sentences_of(wiki, 100_000)))
    with tempfile.TemporaryDirectory() as folder:
        scale(vectors, wiki, Path(folder), options.shards)
        searching(vectors, wiki, Path(folder), options.sentences)
    title = "Sentence vectors and search: speed and memory"
    write_section(options.page, title, "casem-speed", table(("what", "result"), ROWS))


if __name__ == "__main__":
    main()
