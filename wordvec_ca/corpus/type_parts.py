"""Counts words on several machines: each reader sorts its counts by hash into parts, which are then added up.

All readers use the same parts, and the same part of all readers is merged by itself. The number of types with
each count determines which words are kept, and only these are gathered.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.corpus.reading import Reading
from wordvec_ca.corpus.source import Corpus, Source
from wordvec_ca.corpus.stats import CorpusStats
from wordvec_ca.corpus.vocab import Vocab, least_kept
from wordvec_ca.kernels import Lexicon


def count_in_parts(
    corpus: Corpus,
    options: TextOptions,
    out: IO[bytes],
    *,
    directory: str | os.PathLike[str] | None = None,
) -> tuple[list[int], CorpusStats]:
    """Count the words of a text, and write the types with their counts, one part after the other."""
    reading = Reading(Source(corpus, options), options, None, None, directory=directory)
    ends, end = [], 0
    for records in reading.parts():
        end += out.write(records)
        ends.append(end)
    out.flush()
    return ends, reading.stats


def merge_types(pieces: Iterable[bytes], least: int = 1) -> bytes:
    """Add up the counts of one part over several texts; return the types with at least this count."""
    merged = Lexicon()
    for piece in pieces:
        merged.absorb_records(piece)
    return bytes(merged.ranked_records(least))


def types_by_count(records: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct counts in merged records, ascending, and how many types have each of them."""
    lexicon = Lexicon()
    lexicon.absorb_records(records)
    counts, types = np.unique(lexicon.counts(), return_counts=True)
    return counts, types.astype(np.int64)


def least_count(
    parts: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]], options: TextOptions
) -> tuple[int, int, int]:
    """Return the smallest count of a kept word, and the numbers of tokens and types in all parts."""
    all_types: dict[int, int] = {}
    for counts, types in parts:
        for count, n in zip(counts.tolist(), types.tolist(), strict=True):
            all_types[count] = all_types.get(count, 0) + n
    counts = np.array(sorted(all_types), dtype=np.int64)
    types = np.array([all_types[count] for count in counts.tolist()], dtype=np.int64)
    least = least_kept(counts, options.min_count, options.max_final_vocab, types)
    return least, int((counts * types).sum()), int(types.sum())


def gathered_vocab(parts: Iterable[bytes], raw_tokens: int, raw_types: int) -> Vocab:
    """Return the vocabulary of all merged parts, from which rare words were dropped before."""
    whole = Lexicon()
    for records in parts:
        whole.absorb_records(records)
    words, counts, _ = whole.rank(1)
    return Vocab(words, counts, raw_tokens=raw_tokens, raw_types=raw_types)
