"""Shards: the pieces of a corpus; each is read, counted, encoded and trained on by one node."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from wordvec_ca.corpus import CorpusStats, TextOptions
from wordvec_ca.text import ReadText, TextFiles

SHARDS_PER_NODE = 4
"""Shards for each node if there are enough files, so that the shards of a dead node are spread over several
others."""

STRIPE_BYTES = 1 << 16
"""Approximate bytes of the stripes into which a file is divided; each ends at a line end."""

EVEN = 1.1
"""Files count as equally large if the largest is at most this many times the mean."""


@dataclass(frozen=True)
class Shard:
    """Some files, or a part of one.

    Attributes
    ----------
    number : int
        From 0.
    files : tuple of str
        Names or URLs, as all nodes know them.
    size : int
        Approximate bytes of the shard, used to divide the work.
    part, parts : int
        The shard consists of every ``parts``-th stripe of the files, starting with stripe ``part``.
    """

    number: int
    files: tuple[str, ...]
    size: int
    part: int = 0
    parts: int = 1

    def text(self, options: TextOptions) -> tuple[list[str] | ReadText, TextOptions]:
        """Return the text as a corpus, and the options for reading it."""
        if self.parts == 1:
            return list(self.files), options
        files = TextFiles(
            self.files, options.field, options.threads, options.encoding, normalize=options.normalize
        )
        ours = stripes(files.pieces(), self.part, self.parts)
        return ReadText(f"part {self.part + 1} of {self.parts}", ours), replace(
            options, field=None, encoding=None, normalize="none"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the shard as values for JSON."""
        return {**asdict(self), "files": list(self.files)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Shard:
        """Return a shard from ``as_dict``'s result."""
        return cls(**{**record, "files": tuple(record["files"])})


@dataclass(frozen=True)
class Encoded:
    """An encoded shard: its tokens, statistics, fingerprint, and the tokens of each of its blocks."""

    tokens: int
    stats: CorpusStats
    fingerprint: str
    lengths: list[int]


def stripes(pieces: Iterator[bytes], part: int, parts: int, size: int = STRIPE_BYTES) -> Iterator[bytes]:
    """Yield every ``parts``-th stripe of a text; a stripe is a number of whole lines."""
    number, left = 0, size
    for piece in pieces:
        start = 0
        while start < len(piece):
            end = piece.find(b"\n", max(start, start + left - 1)) + 1 or len(piece)
            if number % parts == part:
                yield type(piece)(piece[start:end])
            left -= end - start
            if left <= 0 and piece[end - 1 : end] == b"\n":
                number, left = number + 1, size
            start = end


def shards_of(files: Sequence[str], nodes: int, seed: int) -> list[Shard]:
    """Divide files into shards; with many files, each shard is a sample of the whole text."""
    known = [TextFiles([file]).bytes_total for file in files]
    usual = max(1, int(np.mean([size for size in known if size] or [1])))
    sizes = [usual if size is None else size for size in known]
    if nodes == 1 or len(files) < SHARDS_PER_NODE * nodes:
        uneven = max(sizes) > EVEN * sum(sizes) / len(sizes)
        parts = nodes if uneven else nodes // math.gcd(len(files), nodes)
        return [
            Shard(i * parts + part, (file,), sizes[i] // parts, part, parts)
            for i, file in enumerate(files)
            for part in range(parts)
        ]
    groups: list[list[int]] = [[] for _ in range(SHARDS_PER_NODE * nodes)]
    filled = [0] * len(groups)
    shuffled = np.random.default_rng([seed, len(files)]).permutation(len(files)).tolist()
    for i in sorted(shuffled, key=lambda i: -sizes[i]):  # stable: files of one size stay shuffled
        least = min(range(len(groups)), key=filled.__getitem__)
        groups[least].append(i)
        filled[least] += sizes[i]
    return [
        Shard(number, tuple(files[i] for i in sorted(group)), filled[number])
        for number, group in enumerate(groups)
    ]


def assigned(shards: Sequence[Shard], loads: Sequence[float], powers: Sequence[float]) -> list[int]:
    """Assign each shard to a node: in order of falling size, to the node with the least work."""
    loads = list(loads)
    owners = [0] * len(shards)
    for i in sorted(range(len(shards)), key=lambda i: -shards[i].size):
        size = max(1, shards[i].size)
        owners[i] = min(range(len(loads)), key=lambda node: (loads[node] + size) / powers[node])
        loads[owners[i]] += size
    return owners
