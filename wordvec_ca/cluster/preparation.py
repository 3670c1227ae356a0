"""What a run does before it trains: count the words of all shards, and encode the shards as blocks of tokens.

Both are tasks that Ray repeats on another node if one dies. Encoded blocks are objects of Ray, which writes
them to the node's disk when its memory is short, and has a block that was lost encoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.engine import Engine, Node
from wordvec_ca.cluster.shards import Encoded, Shard, Words, assigned
from wordvec_ca.cluster.tasks import GROUPS, Common
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


def _run(
    engine: Engine,
    common: Common,
    doing: str,
    calls: Sequence[tuple[Any, ...]],
    returns: Callable[[int], int],
    sizes: Sequence[float] = (),
    owners: Sequence[int] = (),
) -> list[tuple[list[Any], Any]]:
    """Run tasks on the nodes by turns, or by owners; return the references and the first result of each."""

    def start(i: int, nodes: Sequence[Node]) -> tuple[Node, list[Any]]:
        node = nodes[(owners[i] if owners else i) % len(nodes)]
        return node, engine.call(*calls[i], node=node, returns=returns(i), retries=AGAIN)

    # A task waits for storage that is away, and then so does the driver, on whichever nodes it is away.
    jobs = range(len(calls))
    done = engine.run(jobs, start, doing=doing, sizes=sizes, patience=common.patience)
    return [done[i][1:] for i in jobs]


def count_words(engine: Engine, common: Common, shards: Sequence[Shard]) -> tuple[Words, Any, CorpusStats]:
    """Return the words of all shards, the reference to their text, and what was found in the text."""
    counts = [(tasks.count, common, shard) for shard in shards]
    sizes = [max(1, shard.size) for shard in shards]
    counted = _run(engine, common, "shards counted", counts, lambda i: 1 + GROUPS, sizes)
    found = CorpusStats.total(stats for _, stats in counted)
    if not found.raw_tokens:
        raise DataError("there is no word in the corpus")
    sums = [(tasks.total, *[refs[1 + group] for refs, _ in counted]) for group in range(GROUPS)]
    totals = _run(engine, common, "counts added up", sums, lambda i: 2)
    least, raw_tokens, raw_types = least_count(
        (each for _, histogram in totals for each in histogram), common.config.text_options()
    )
    gathered = tasks.gather, least, *[refs[1] for refs, _ in totals]
    ((_, text),) = _run(engine, common, "words gathered", [gathered], lambda i: 1)
    # kept by the driver, it outlives the node that has gathered it
    return Words(bytes(text).count(b"\n"), raw_tokens, raw_types), engine.put(text), found


def encode_text(
    engine: Engine, common: Common, text: Any, shards: Sequence[Shard], replicas: int
) -> tuple[list[ReplicaText], list[Encoded]]:
    """Encode all shards; return the text of each replica, and what was found in each shard."""
    owners = assigned(shards, replicas)
    blocks = [1 + shard.size // BLOCK_BYTES for shard in shards]
    calls = [(tasks.encode, common, text, *each) for each in zip(shards, blocks, strict=True)]
    sizes = [max(1, shard.size) for shard in shards]
    done = _run(engine, common, "shards encoded", calls, lambda i: 1 + blocks[i], sizes, owners)
    texts = []
    for replica in range(replicas):
        mine = [done[i] for i, owner in enumerate(owners) if owner == replica]
        texts.append(
            ReplicaText(
                [ref for refs, _ in mine for ref in refs[1:]], [n for _, e in mine for n in e.lengths]
            )
        )
    return texts, [found for _, found in done]
