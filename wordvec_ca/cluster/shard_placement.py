"""Placement of shards: which node has encoded which shard on its disk, and which is encoding it.

Ray places actors and tasks, and moves objects; encoded text is neither: it is a file on a node's disk that
the training loop maps, and it disappears with the process. Ray's placement groups fix where actors run, not
which actor has which file, and Ray Data would hold the text in memory and divide it into its own blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.cluster.shards import Encoded, Shard, assigned
from wordvec_ca.cluster.words import SharedWords
from wordvec_ca.errors import DataError

EVEN = 1.25
"""A node with a higher load, relative to the mean, gives a shard to another."""


class ShardPlacement:
    """Keeps every shard encoded on a living node when nodes die or join."""

    def __init__(
        self,
        members: Members,
        shards: Sequence[Shard],
        words: SharedWords,
        known: dict[int, Encoded],
    ) -> None:
        self._members, self._shards, self._words = members, list(shards), words
        self.known = known
        self.owners: dict[int, Member] = {}
        self._moving: dict[int, tuple[Member, Any]] = {}
        self._told: dict[Member, Any] = {}

    def of(self, member: Member) -> list[int]:
        """Return the shards that a member has."""
        return sorted(shard for shard, owner in self.owners.items() if owner is member)

    @property
    def complete(self) -> bool:
        """Whether every shard is on a living node."""
        return all(shard.number in self.owners and self.owners[shard.number].alive for shard in self._shards)

    def repair(self, left: Callable[[int], int] | None = None) -> None:
        """Have the shards of dead nodes encoded elsewhere, and move some shards to new nodes."""
        living = self._members.living
        if not living:
            return
        weight = left or (lambda number: self._shards[number].size)
        self.owners = {number: owner for number, owner in self.owners.items() if owner.alive}
        self._moving = {number: move for number, move in self._moving.items() if move[0].alive}
        held = {member: sum(map(weight, self._claims(member))) for member in living}
        missing = [s for s in self._shards if s.number not in self.owners and s.number not in self._moving]
        powers = [member.threads * member.speed for member in living]
        for shard, place in zip(
            missing, assigned(missing, [held[member] for member in living], powers), strict=True
        ):
            self._move(shard, living[place])
        if not missing and len(living) > 1 and not self._moving:
            self._even_out(living, weight)

    def _claims(self, member: Member) -> list[int]:
        """Return the shards that a member has encoded or is encoding."""
        moving = [number for number, (to, _) in self._moving.items() if to is member]
        kept = [number for number in self.of(member) if number not in self._moving]
        return kept + moving

    def _even_out(self, living: list[Member], weight: Callable[[int], int]) -> None:
        """Move a shard from the node with the most to do to the one with the least, if that helps."""
        loads = {m: sum(map(weight, self._claims(m))) / (m.threads * m.speed) for m in living}
        most, least = max(living, key=loads.__getitem__), min(living, key=loads.__getitem__)
        if loads[most] <= EVEN * sum(loads.values()) / len(loads):
            return
        for number in sorted(self.of(most), key=weight, reverse=True):
            moved = weight(number)
            if moved and loads[least] + moved / (least.threads * least.speed) < loads[most]:
                self._move(self._shards[number], least)
                return

    def _move(self, shard: Shard, to: Member) -> None:
        self.tell(to)
        self._moving[shard.number] = to, to.actor.encode.remote(shard)

    def tell(self, member: Member) -> Any:
        """Give a node the words, once; return the reference to the result of the call."""
        if member not in self._told:
            self._told[member] = member.actor.take_vocab.remote(self._words.words, self._words.text)
        return self._told[member]

    def collect(self, *, wait: bool = False) -> None:
        """Register the shards that have been encoded; with ``wait``, wait half a second first."""
        ray = self._members.ray
        refs = [ref for _, ref in self._moving.values()]
        self._members.ask()
        if not refs:
            time.sleep(0.1 if wait else 0.0)  # a new node is still starting
            return
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0.5 if wait else 0)
        arrived = set(ready)
        for number, (member, ref) in list(self._moving.items()):
            if ref not in arrived:
                continue
            del self._moving[number]
            found = self._members.results({member: ref}).get(member)
            if found is None:
                continue
            known = self.known.setdefault(number, found)
            if (known.tokens, known.fingerprint) != (found.tokens, found.fingerprint):
                raise DataError(
                    f"the text of {', '.join(self._shards[number].files[:2])} has changed since the run "
                    "began; put the old one back, or start a new run"
                )
            before = self.owners.get(number)
            if before is not None and before.alive and before is not member:
                before.actor.drop.remote(number)
            self.owners[number] = member

    def wait_for_all(self) -> None:
        """Wait until every shard is encoded."""
        while not self.complete:
            self._members.look()
            self.repair()
            if not self._members.present:
                raise DataError("all nodes are lost, and the cluster has no other")
            self.collect(wait=True)
