"""Counts words on the nodes: each node splits its counts by hash, equal parts are added up, and the words
kept are gathered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.cluster.shards import Shard
from wordvec_ca.cluster.words import SharedWords, Words
from wordvec_ca.corpus import CorpusStats, TextOptions, least_count
from wordvec_ca.errors import DataError

BATCH_BYTES = 64 << 20
"""About how many bytes of counts a node adds up at a time."""


class Counting:
    """Counts the words of all shards, whichever nodes die."""

    def __init__(self, members: Members, shards: Sequence[Shard], options: TextOptions) -> None:
        self._members, self._shards, self._options = members, list(shards), options
        self._counted: dict[int, tuple[Member, list[int], CorpusStats]] = {}
        self._at_work: dict[Member, tuple[Shard, Any]] = {}

    def run(self) -> tuple[SharedWords, CorpusStats]:
        """Count; return the words and what was found in the text."""
        while True:
            self._count_all()
            words = self._reduce()
            if words is not None:
                break
        stats = CorpusStats.total(self._counted[shard.number][2] for shard in self._shards)
        return words, stats

    def _count_all(self) -> None:
        ray, members = self._members.ray, self._members
        while True:
            members.look()
            if not members.present:
                raise DataError("all nodes are lost, and the cluster has no other")
            self._counted = {n: found for n, found in self._counted.items() if found[0].alive}
            self._at_work = {m: work for m, work in self._at_work.items() if m.alive}
            under_way = {shard.number for shard, _ in self._at_work.values()}
            missing = [s for s in self._shards if s.number not in self._counted and s.number not in under_way]
            for member in members.living:
                if missing and member not in self._at_work:
                    shard = max(missing, key=lambda shard: shard.size)
                    missing.remove(shard)
                    self._at_work[member] = shard, member.actor.count.remote(shard)
            if not missing and not self._at_work:
                return
            members.ask()
            if not self._at_work:  # a new node is still starting
                time.sleep(0.1)
                continue
            ready, _ = ray.wait([ref for _, ref in self._at_work.values()], num_returns=1, timeout=0.5)
            for member, (shard, ref) in list(self._at_work.items()):
                if ref in ready:
                    del self._at_work[member]
                    found = members.results({member: ref}).get(member)
                    if found is not None:
                        self._counted[shard.number] = member, *found

    def _reduce(self) -> SharedWords | None:
        """Add the counts up, part by part; None if a node died and its shards must be counted again."""
        having = sorted({member for member, *_ in self._counted.values()}, key=lambda m: m.number)
        shards = {m: [n for n, found in self._counted.items() if found[0] is m] for m in having}
        batches = self._batches()
        histograms, merged = [], []
        asked = [
            {m: m.actor.parts_of.remote(shards[m], begin, end) for m in having} for begin, end in batches
        ]
        for i, pieces in enumerate(asked):
            if not self._members.have_done(pieces):
                return None
            reducer = having[i % len(having)]
            histogram, parts = reducer.actor.reduce_parts.options(num_returns=2).remote(*pieces.values())
            histograms.append((reducer, histogram))
            merged.append((reducer, parts))
        found = []
        for reducer, ref in histograms:
            answer = self._members.results({reducer: ref}).get(reducer)
            if answer is None:
                return None
            found += answer
        least, raw_tokens, raw_types = least_count(found, self._options)
        kept = [(reducer, reducer.actor.frequent.remote(least, parts)) for reducer, parts in merged]
        if not all(self._members.have_done({reducer: ref}) for reducer, ref in kept):
            return None
        gatherer = having[0]
        number, text = gatherer.actor.gather.options(num_returns=2).remote(*[ref for _, ref in kept])
        n_words = self._members.results({gatherer: number}).get(gatherer)
        if n_words is None:
            return None
        while gatherer.alive and not self._members.ray.wait([text], timeout=0.2)[0]:
            self._members.ask()
        if not gatherer.alive:
            return None
        try:  # kept here, it outlives the node that has gathered it
            text = self._members.ray.put(self._members.ray.get(text))
        except self._members.ray.exceptions.RayError:
            return None
        return SharedWords(Words(n_words, raw_tokens, raw_types), text)

    def _batches(self) -> list[tuple[int, int]]:
        """Return ranges of parts (begin, end) that hold about ``BATCH_BYTES`` over all shards."""
        totals: list[int] = []
        for _, ends, _ in self._counted.values():
            sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
            totals = [a + b for a, b in zip(totals or [0] * len(sizes), sizes or totals, strict=True)]
        if not totals:
            raise DataError("there is no word in the corpus")
        batches, begin, size = [], 0, 0
        for i, total in enumerate(totals):
            size += total
            if size >= BATCH_BYTES or i == len(totals) - 1:
                batches.append((begin, i + 1))
                begin, size = i + 1, 0
        return batches
