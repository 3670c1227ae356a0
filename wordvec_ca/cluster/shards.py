"""Shards: the pieces of a corpus that nodes read, count, encode and train on, each its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from wordvec_ca.corpus import CorpusStats, TextOptions
from wordvec_ca.text import ReadText, TextFiles

SHARDS_PER_NODE = 4
"""Shards for each node where there are files enough: what a node that dies leaves is spread over several."""

STRIPE_BYTES = 1 << 16
"""Text that goes to one part of a file at a time, about; it ends with a line."""

EVEN = 1.1
"""Largest file, relative to the mean, with which files count as being of one size."""


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
        About so many bytes of the files; to divide the work.
    part, parts : int
        The stretches of lines that belong to it: every n-th, from a first one on.
    """

    number: int
    files: tuple[str, ...]
    size: int
    part: int = 0
    parts: int = 1

    def text(self, options: TextOptions) -> tuple[list[str] | ReadText, TextOptions]:
        """Return the text as a corpus, and the options with which that is to be read."""
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
        """Return what JSON can hold."""
        return {**asdict(self), "files": list(self.files)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Shard:
        """Return a shard from ``as_dict``'s result."""
        return cls(**{**record, "files": tuple(record["files"])})


@dataclass(frozen=True)
class Encoded:
    """An encoded shard: its tokens, what was found in it and its fingerprint."""

    tokens: int
    stats: CorpusStats
    fingerprint: str


def stripes(pieces: Iterator[bytes], part: int, parts: int, size: int = STRIPE_BYTES) -> Iterator[bytes]:
    """Yield every n-th stretch of whole lines of a text.

    Parameters
    ----------
    pieces : iterator of bytes
        The text, cut anywhere.
    part, parts : int
        Stretch ``part`` is the first one, and the ``parts``-th after it the next.
    size : int
        Bytes of a stretch, at least; it goes on to the end of its line. So it does not depend on the pieces.
    """
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
    """Divide files into shards, each a sample of the whole text as far as there are many files.

    Parameters
    ----------
    files : sequence of str
        Names or URLs.
    nodes : int
        For how many nodes; of few files every node reads some lines.
    seed : int
        Which files come together is random.
    """
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
    """Return for each shard which node is to have it; the largest first, to the one with the least to do.

    Parameters
    ----------
    shards : sequence of Shard
        To be assigned.
    loads : sequence of float
        Bytes that each node has already.
    powers : sequence of float
        How much each gets done in a time, relative to others.
    """
    loads = list(loads)
    owners = [0] * len(shards)
    for i in sorted(range(len(shards)), key=lambda i: -shards[i].size):
        size = max(1, shards[i].size)
        owners[i] = min(range(len(loads)), key=lambda node: (loads[node] + size) / powers[node])
        loads[owners[i]] += size
    return owners
