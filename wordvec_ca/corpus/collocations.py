"""Finds collocations: words that follow each other more often than by chance."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.corpus.phrases import Phrases
from wordvec_ca.corpus.reading import Reading, ReadingProgress
from wordvec_ca.corpus.source import Corpus, Source
from wordvec_ca.corpus.vocab import Vocab
from wordvec_ca.errors import DataError, did_you_mean
from wordvec_ca.files import atomic_file, compress_by_suffix

SCORINGS = ("word2phrase", "npmi")
THRESHOLDS = {"word2phrase": 100.0, "npmi": 0.5}

# Number of pairs that are sorted in memory at a time.
_PAIRS_AT_ONCE = 1 << 23


class Collocation(NamedTuple):
    """A phrase: its words, its score and its count."""

    words: tuple[str, ...]
    score: float
    times: int


def find_phrases(
    corpus: Corpus,
    options: TextOptions | None = None,
    *,
    scoring: str = "word2phrase",
    threshold: float | None = None,
    progress: ReadingProgress | None = None,
) -> list[Collocation]:
    """Find pairs of neighbouring words that occur together more often than by chance."""
    # The text is read twice: words are counted, then pairs, which are sorted on disk. Tokens without a
    # letter or digit are not part of a phrase, and no phrase crosses a line.
    if scoring not in SCORINGS:
        hint = did_you_mean(scoring, SCORINGS)
        raise ValueError(f"scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.{hint}")
    options = options or TextOptions()
    options = replace(options, max_final_vocab=None, phrases=options.loaded_phrases())
    min_count, phrases = options.min_count, options.loaded_phrases()
    if min_count < 1:
        raise ValueError(f"min_count must be 1 or more; got {min_count}")
    least = THRESHOLDS[scoring] if threshold is None else threshold
    if math.isnan(least):
        raise ValueError("threshold is nan; it must be a number, which the score of a phrase must reach")
    Source.check_repeatable(corpus, "phrases are found by reading the text twice")

    def reading(vocab: Vocab | None) -> Reading:
        source = Source(corpus, options)
        return Reading(source, options, vocab, progress, whole_lines=True)

    vocab = (counting := reading(None)).count()
    n = counting.stats.raw_tokens
    wordlike = np.fromiter((any(map(str.isalnum, word)) for word in vocab.words), bool, len(vocab))
    parts = {} if phrases is None else phrases.parts()
    found = []
    with ExitStack() as stack:
        runs = PairRuns(stack.enter_context(tempfile.TemporaryFile()))
        for ids in reading(vocab).provisional():
            a, b = ids[:-1], ids[1:]
            pairs = (a >= 0) & (b >= 0) & (a < len(vocab)) & (b < len(vocab))
            a, b = a[pairs], b[pairs]
            pairs = wordlike[a] & wordlike[b]
            runs.add(a[pairs].astype(np.uint64) << np.uint64(32) | b[pairs].astype(np.uint64))
        for keys, counts in runs.totals():
            often = counts >= min_count
            keys, together = keys[often], counts[often].astype(float)
            a, b = (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
            alone = vocab.counts[a].astype(float) * vocab.counts[b]
            if scoring == "word2phrase":
                scores = (together - min_count) / alone * n
            else:
                with np.errstate(divide="ignore", invalid="ignore"):
                    scores = np.log(together * n / alone) / -np.log(together / n)
            for i in np.flatnonzero(scores >= least).tolist():
                words = [vocab.words[int(a[i])], vocab.words[int(b[i])]]
                whole = tuple(part for word in words for part in parts.get(word, (word,)))
                if not any(set(word) & {" ", "\t", "\n", "\r"} for word in whole):
                    found.append(Collocation(whole, float(scores[i]), int(together[i])))
    return sorted(found, key=lambda phrase: (-phrase.score, phrase.words))


def save_phrases(
    path: str | os.PathLike[str], found: Sequence[Collocation], before: Phrases | None = None
) -> None:
    """Write a phrase file of lines ``words TAB score TAB count``; phrases of ``before`` have only their
    words.
    """
    lines = [f"{' '.join(words)}\t{score:.6g}\t{times}\n" for words, score, times in found]
    new = {phrase.words for phrase in found}
    lines += [f"{' '.join(words)}\n" for words in (before.sequences if before else []) if words not in new]
    with atomic_file(path) as plain, compress_by_suffix(plain, path) as file:
        file.write("".join(lines).encode("utf-8"))


class PairRuns:
    """Counts 64-bit keys on disk: sorted runs of keys in one file, which are merged at the end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._waiting: list[NDArray[np.uint64]] = []
        self._n = 0
        self._lengths: list[int] = []

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Count some keys."""
        self._waiting.append(keys)
        self._n += len(keys)
        if self._n >= _PAIRS_AT_ONCE:
            self._write()

    def _write(self) -> None:
        keys, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        try:
            self._file.write(np.stack([keys, counts.astype(np.uint64)]).data)
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"cannot store pairs of words in {tempfile.gettempdir()!r}: {error.strerror or error}; set "
                "TMPDIR to a folder with more room"
            ) from error
        self._lengths.append(len(keys))
        self._waiting, self._n = [], 0

    def totals(self) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
        """Yield arrays of ascending keys, and of the number of times each key was added."""
        if self._n:
            self._write()
        total = sum(self._lengths)
        if not total:
            return
        self._file.flush()
        data = np.memmap(self._file, dtype=np.uint64, mode="r")
        runs = []
        at = 0
        for length in self._lengths:
            runs.append((data[at : at + length], data[at + length : at + 2 * length]))
            at += 2 * length
        step = max(1, total // 100_000)
        sample = np.sort(np.concatenate([keys[::step] for keys, _ in runs]))
        pieces = math.ceil(total / _PAIRS_AT_ONCE)
        bounds = sample[np.arange(1, pieces) * len(sample) // pieces]
        begins = [0] * len(runs)
        for bound in [*bounds.tolist(), None]:
            ends = [
                len(keys) if bound is None else int(np.searchsorted(keys, np.uint64(bound)))
                for keys, _ in runs
            ]
            slices = list(zip(runs, begins, ends, strict=True))
            begins = ends
            keys = np.concatenate([run[0][a:b] for run, a, b in slices])
            counts = np.concatenate([run[1][a:b] for run, a, b in slices])
            if not len(keys):
                continue
            order = np.argsort(keys, kind="stable")
            keys, counts = keys[order], counts[order]
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            yield keys[starts], np.add.reduceat(counts, starts)
