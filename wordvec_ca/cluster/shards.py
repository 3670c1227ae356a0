"""Shards, the pieces of a corpus, each of which one node reads, counts, encodes and trains on; and the words
of a run as the driver passes them to nodes.

Ten million words take 150 MB as text and ten times as much as Python's strings. So only nodes parse them; the
driver passes their text on, and writes it next to the checkpoints so that the run can be resumed.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import CorpusStats, TextOptions, Vocab
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
    """Some files, or a part of one."""

    # From 0.
    number: int
    # Names or URLs, as all nodes know them.
    files: tuple[str, ...]
    # Approximate bytes of the shard, used to divide the work.
    size: int
    # part, parts: The shard consists of every ``parts``-th stripe of the files, starting with stripe
    # ``part``.
    part: int = 0
    parts: int = 1

    def text(self, options: TextOptions) -> tuple[list[str] | ReadText, TextOptions]:
        """Return the text as a corpus, and the options for reading it."""
        if self.parts == 1:
            return list(self.files), options
        files = TextFiles(
            self.files, options.field, options.threads, options.encoding, normalize=options.normalize
        )
        # stripes and not halves: each part has all subjects and times of the file, and a compressed file,
        # which has to be read from its beginning, is divided in the same way
        ours = stripes(files.pieces(), self.part, self.parts)
        # `TextFiles` has taken the field, decoded and normalised: what reads on must not do so again
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
    """An encoded shard: its statistics, fingerprint, and the number of tokens in each of its blocks."""

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
                yield type(piece)(piece[start:end])  # `TokenLines` are not split again, only if they stay so
            left -= end - start
            # a piece of a long line may end within it: then the stripe goes on in the next piece
            if left <= 0 and piece[end - 1 : end] == b"\n":
                number, left = number + 1, size
            start = end


def shards_of(files: Sequence[str], nodes: int, seed: int) -> list[Shard]:
    """Divide files into shards; with many files, each shard is a sample of the whole text."""
    known = [TextFiles([file]).bytes_total for file in files]
    # of a URL whose server does not tell, or a pipe: as large as the others, so that work is divided at all
    usual = max(1, int(np.mean([size for size in known if size] or [1])))
    sizes = [usual if size is None else size for size in known]
    if nodes == 1 or len(files) < SHARDS_PER_NODE * nodes:
        uneven = max(sizes) > EVEN * sum(sizes) / len(sizes)
        # equal files need to be cut only until their number is a multiple of that of the nodes
        parts = nodes if uneven else nodes // math.gcd(len(files), nodes)
        return [
            Shard(i * parts + part, (file,), sizes[i] // parts, part, parts)
            for i, file in enumerate(files)
            for part in range(parts)
        ]
    groups: list[list[int]] = [[] for _ in range(SHARDS_PER_NODE * nodes)]
    filled = [0] * len(groups)
    # names follow dates or subjects: in their order a node would get one subject, and learn it last
    shuffled = np.random.default_rng([seed, len(files)]).permutation(len(files)).tolist()
    for i in sorted(shuffled, key=lambda i: -sizes[i]):  # stable: files of one size stay shuffled
        least = min(range(len(groups)), key=filled.__getitem__)
        groups[least].append(i)
        filled[least] += sizes[i]
    return [
        Shard(number, tuple(files[i] for i in sorted(group)), filled[number])
        for number, group in enumerate(groups)
    ]


def assigned(shards: Sequence[Shard], replicas: int) -> list[int]:
    """Assign each shard to a replica: in order of falling size, to the one with the least text."""
    loads, owners = [0] * replicas, [0] * len(shards)
    for i in sorted(range(len(shards)), key=lambda i: -shards[i].size):
        owners[i] = min(range(replicas), key=loads.__getitem__)
        loads[owners[i]] += max(1, shards[i].size)  # of size 0 each counts, too: not all for one replica
    return owners


Text = NDArray[np.uint8]
"""Lines of ``word TAB count`` as in ``vocab.tsv``, in an array that the nodes of one machine share."""


@dataclass(frozen=True)
class Words:
    """What the driver keeps of a vocabulary: its size and counts, but not the words."""

    n_words: int
    # raw_tokens, raw_types: Tokens and types of the text before rare words were dropped.
    raw_tokens: int
    raw_types: int

    @classmethod
    def of(cls, vocab: Vocab) -> Words:
        """Return what the driver keeps of a vocabulary."""
        return cls(len(vocab), vocab.raw_tokens, vocab.raw_types)

    def read(self, text: Text) -> Vocab:
        """Parse the text of a vocabulary."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vocab.tsv"
            path.write_bytes(text.data)
            vocab = Vocab.load(path)
        vocab.raw_tokens, vocab.raw_types = self.raw_tokens, self.raw_types
        return vocab


def text_of(vocab: Vocab) -> Text:
    """Return a vocabulary as text."""
    return np.frombuffer(b"".join(vocab.lines()), np.uint8)
