"""What a run does before it trains: count the words of all shards, and encode the shards as blocks of tokens.

Both are tasks that Ray repeats on another node if one dies. Encoded blocks are objects of Ray, which writes
them to the node's disk when its memory is short, and has a block that was lost encoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.engine import Engine
from wordvec_ca.cluster.shards import Encoded, Shard, assigned
from wordvec_ca.cluster.tasks import GROUPS, Common
from wordvec_ca.cluster.words import SharedWords, Words
from wordvec_ca.corpus import CorpusStats, least_count
from wordvec_ca.errors import DataError

AGAIN = 20
"""How often Ray repeats a task that counts or encodes."""

BLOCK_BYTES = 64 << 20
"""Bytes of text whose tokens are about one block, which a task needs in memory as a whole."""


@dataclass(frozen=True)
class ReplicaText:
    """The text of a replica: the references and lengths of its blocks."""

    blocks: list[Any]
    lengths: list[int]

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return sum(self.lengths)

    def ranges(self, begin: int, end: int) -> tuple[tuple[tuple[int, int, int], ...], list[Any]]:
        """Return the ranges of some tokens as in `Part`, and the blocks that they are in."""
        found, refs, before = [], [], 0
        for number, length in enumerate(self.lengths):
            first, last = max(begin - before, 0), min(end - before, length)
            if first < last:
                found.append((number, first, last))
                refs.append(self.blocks[number])
            before += length
        return tuple(found), refs


def count_words(
    engine: Engine, common: Common, shards: Sequence[Shard], watch: Callable[[], None]
) -> tuple[SharedWords, CorpusStats]:
    """Return the words of all shards, and what was found in the text."""
    nodes = engine.some()

    def call(i: int, *args: Any, returns: int) -> Any:
        return engine.call(*args, node=nodes[i % len(nodes)], returns=returns, retries=AGAIN)

    counted = [call(i, tasks.count, common, shard, returns=1 + GROUPS) for i, shard in enumerate(shards)]
    totals = [
        call(g, tasks.total, *[of_shard[1 + g] for of_shard in counted], returns=2) for g in range(GROUPS)
    ]
    stats = engine.results([of_shard[0] for of_shard in counted], watch)
    if not any(found.raw_tokens for found in stats):
        raise DataError("there is no word in the corpus")
    histograms = engine.results([histogram for histogram, _ in totals], watch)
    least, raw_tokens, raw_types = least_count(
        (each for found in histograms for each in found), common.config.text_options()
    )
    gathered = call(0, tasks.gather, least, *[merged for _, merged in totals], returns=1)
    text = engine.results([gathered], watch)[0]
    words = Words(bytes(text).count(b"\n"), raw_tokens, raw_types)
    # kept by the driver, it outlives the node that has gathered it
    return SharedWords(words, engine.put(text)), CorpusStats.total(stats)


def encode_text(
    engine: Engine,
    common: Common,
    text: Any,
    shards: Sequence[Shard],
    replicas: int,
    watch: Callable[[], None],
) -> tuple[list[ReplicaText], list[Encoded]]:
    """Encode all shards; return the text of each replica, and what was found in each shard."""
    nodes = engine.some()
    owners = assigned(shards, [0] * replicas, [1] * replicas)
    refs = []
    for shard, owner in zip(shards, owners, strict=True):
        blocks = 1 + shard.size // BLOCK_BYTES
        node = nodes[owner % len(nodes)]
        refs.append(
            engine.call(
                tasks.encode, common, text, shard, blocks, node=node, returns=1 + blocks, retries=AGAIN
            )
        )
    found = engine.results([of_shard[0] for of_shard in refs], watch)
    texts = []
    for replica in range(replicas):
        mine = [i for i, owner in enumerate(owners) if owner == replica]
        texts.append(
            ReplicaText(
                [ref for i in mine for ref in refs[i][1:]], [n for i in mine for n in found[i].lengths]
            )
        )
    return texts, found
