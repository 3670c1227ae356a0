"""Rounds: every node trains some of its text, the deltas are merged, and the ledger records them.

A merge is committed once any living node has the new version. Before that, a death loses only what the dead
node has trained in this round, which other nodes train again; after that, it loses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wordvec_ca.cluster.ledger import Segment
from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.cluster.node import Trained
from wordvec_ca.cluster.round_checkpoints import BackgroundCall
from wordvec_ca.cluster.run_state import RunState
from wordvec_ca.cluster.shard_placement import ShardPlacement
from wordvec_ca.errors import DataError
from wordvec_ca.models import ResolvedConfig, memory_bytes
from wordvec_ca.training import Checkpoints, MergePlan, Schedule, merges_of_nodes

SLOW = 2.0
"""A node that takes this many times the median time is slow: merges do not wait for it."""

SLOW_SECONDS = 10.0
"""A node that is fewer seconds behind than this is not slow."""

COPY_BYTES = 64 << 20
"""Bytes of parameters that a node copies from another at a time."""

LARGE = 256 << 20
"""Bytes of parameters from which on rows are merged in portions."""


def plan_of_nodes(
    config: ResolvedConfig,
    n_words: int,
    n_tokens: int,
    nodes: int,
    threads: int,
    given: Mapping[str, Any] | None = None,
) -> MergePlan:
    """Return how this number of nodes merges; parameters as of ``merges_of_nodes`` and ``MergePlan.of``."""
    if nodes == 1:
        return MergePlan.of(config, n_tokens, nodes)
    merges = merges_of_nodes(config, n_words, n_tokens, nodes, threads)
    return MergePlan.of(
        config, n_tokens, nodes, {"merges_per_epoch": -(-merges // config.epochs), **(given or {})}
    )


def usual_portions(config: ResolvedConfig, n_words: int) -> int:
    """Return in how many portions rows are merged, one after another: large models in two.

    So less of what nodes send is in memory at the same time. More portions save little: when they are
    applied, all that was merged is there. The bits do not depend on it.
    """
    return 2 if memory_bytes(config, n_words, threads=1) > LARGE else 1


def merged_by(
    members: Members,
    group: Sequence[Member],
    plan: MergePlan,
    tokens: float,
    alpha: float,
    version: int,
    portions: int,
) -> dict[Member, Any]:
    """Merge the deltas of several nodes: of each portion of the rows each node reduces one slice; then all
    apply the result.
    """
    n, merged = len(group), list[Any]()
    parts = n * portions
    for begin in range(0, parts, n):
        slices = {
            member: member.actor.slices.options(num_returns=n).remote(begin, begin + n, parts)
            for member in group
        }
        if not members.have_done({member: refs[-1] for member, refs in slices.items()}):
            return {}
        reduced = {
            member: member.actor.reduce.remote(
                begin + i, parts, plan, tokens, alpha, *[of_one[i] for of_one in slices.values()]
            )
            for i, member in enumerate(group)
        }
        if not members.have_done(reduced):
            return {}
        merged += reduced.values()
        del slices  # before others are made: the nodes' memory is free again
    # nothing was applied until now: a merge that fails leaves all rows as they were
    return members.results({member: member.actor.apply.remote(version, *merged) for member in group})


class Rounds:
    """Trains the epochs of a run, whichever nodes die or join."""

    def __init__(
        self,
        members: Members,
        placement: ShardPlacement,
        state: RunState,
        config: ResolvedConfig,
        given: Mapping[str, Any],
        checkpoints: Checkpoints,
        n_words: int,
    ) -> None:
        self.members, self.placement, self.state = members, placement, state
        self.config, self.given, self.checkpoints, self.n_words = config, given, checkpoints, n_words
        self.schedule = Schedule(config, state.ledger.total)
        self.loop: dict[str, Any] = {}
        self.before_merge: Callable[[], None] = lambda: None
        self.before_going_back: Callable[[], None] = lambda: None
        self.stopping: Callable[[], bool] = lambda: False
        self._begun: dict[Member, Any] = {}
        self._shapes: dict[str, tuple[int, int]] = {}
        self.entered: list[tuple[int, Segment]] = []  # (epoch, segment) of all merges of this session

    def plan(self, nodes: int) -> MergePlan:
        """Return how this number of nodes merges."""
        return plan_of_nodes(
            self.config,
            self.n_words,
            self.state.ledger.total,
            nodes,
            max((member.threads for member in self.members.all), default=1),
            self.given,
        )

    def ready(self) -> list[Member]:
        """Admit the nodes that have joined since the last merge; return those that can train now."""
        while True:
            # deaths first: shards of dead nodes must be placed again before anyone is asked to train them
            self.members.look()
            self.placement.repair(lambda shard: self._to_do(shard))
            self.placement.collect()
            self._admit()
            ready = [member for member in self.members.living if member.version == self.state.version]
            if ready and (self.state.ledger.epoch_ended or self.state.ledger.left(self._held(ready))):
                return ready
            if not self.members.present:
                self._wait_for_nodes()
            if self.stopping() and not self.members.living:
                raise DataError(
                    "the run ends while all nodes are lost, so the model could not be saved; "
                    "the run can be resumed from its last checkpoint"
                )
            self.members.ask()
            time.sleep(0.05)

    def _wait_for_nodes(self) -> None:
        limit = time.monotonic() + self.members.patience
        self.members.notice("all nodes are lost; waiting for others")
        while not self.members.present:
            self.members.look()
            self.members.ask()
            if time.monotonic() > limit or self.stopping():
                raise DataError(
                    "all nodes are lost, and no other has joined; "
                    "the run can be resumed from its last checkpoint"
                )
            time.sleep(0.2)

    def _to_do(self, shard: int) -> int:
        ledger = self.state.ledger
        return ledger.tokens[shard] * (ledger.epochs - ledger.epoch + 1) - ledger.done[shard]

    def _held(self, members: list[Member]) -> list[int]:
        return [shard for member in members for shard in self.placement.of(member)]

    def _admit(self) -> None:
        """Let nodes begin: each copies the parameters of a peer, or those of a checkpoint if no peer has
        any.
        """
        living = self.members.living
        for member in living:
            if member not in self._begun:
                self._begun[member] = member.actor.begin.remote(
                    self.state.ledger.total, self.placement.tell(member)
                )
        fresh = [m for m in living if m.version < 0]
        if fresh:
            at_start = self.state.version == 0 and len(fresh) == len(living)
            for member, loop in self.members.results(self._arrived(fresh, wait=at_start)).items():
                member.version, self.loop = 0, loop
        stale = [m for m in self.members.living if 0 <= m.version != self.state.version]
        if not stale:
            return
        peer = next((m for m in self.members.living if m.version == self.state.version), None)
        if peer is None:
            peer = self._recover(stale[0])
            stale = stale[1:]
        for member in stale:
            if peer is not None and member.version != self.state.version and not self._copy(peer, member):
                return

    def _arrived(self, fresh: list[Member], *, wait: bool) -> dict[Member, Any]:
        """Return the nodes that have begun; at the start of a run, wait for all that answer."""
        refs, limit = [self._begun[m] for m in fresh], time.monotonic() + self.members.patience
        while True:
            ready = set(self.members.ray.wait(refs, num_returns=len(refs), timeout=0.2 if wait else 0)[0])
            late = [m for m in fresh if m.alive and self._begun[m] not in ready]
            if not (wait and late) or time.monotonic() > limit:
                return {m: self._begun[m] for m in fresh if self._begun[m] in ready}
            self.members.ask()

    def _recover(self, member: Member) -> Member | None:
        """Go back to the last checkpoint, or the beginning: every node that had the parameters is gone."""
        self.before_going_back()
        looking = BackgroundCall(
            lambda: self.checkpoints.newest(lambda name: (name, self.checkpoints.record(name)))
        )
        found = looking.wait(self.members.ask)
        if found is None:
            self.state.start_over()
            member.version = -1
            self.entered.clear()
            self._begun.pop(member)
            self.members.notice(
                "all nodes with the parameters are lost, and there is no checkpoint: the run starts again"
            )
            return None
        name, record = found
        try:
            call = member.actor.read_checkpoint.remote(self.checkpoints.storage, name)
            read = self.members.results({member: call})
        except DataError as error:  # its parameters are damaged, which only who reads them sees
            self.checkpoints.rejected[name] = str(error)  # the next search takes the checkpoint before it
            return None
        if not read:
            return None
        # the ledger goes back with the parameters: what was merged after this checkpoint is trained again
        self.state.go_back(record)
        member.version, ledger = self.state.version, self.state.ledger
        self.entered = [
            (epoch, segment)
            for epoch, segment in self.entered
            if (epoch, segment.end) <= (ledger.epoch, ledger.done[segment.shard])
        ]
        self.members.notice(f"training continues from the checkpoint at {self.state.fraction:.1%}")
        return member

    def _copy(self, peer: Member, member: Member) -> bool:
        """Give a node the parameters of a peer; return whether it has them."""
        if not self._shapes:
            self._shapes = self.members.results({peer: peer.actor.shapes.remote()}).get(peer, {})
        for name, (n_rows, width) in self._shapes.items():
            # in pieces: neither side can be expected to have memory for a second copy of the parameters
            step = max(1, COPY_BYTES // (4 * width))
            for begin in range(0, n_rows, step):
                rows = peer.actor.base_rows.remote(name, begin, min(begin + step, n_rows))
                if not self.members.have_done({peer: rows}):
                    return False
                taken = self.members.results({member: member.actor.take_rows.remote(name, begin, rows)})
                if member not in taken:
                    return False
                self.state.totals.bytes_moved += 4 * width * (min(begin + step, n_rows) - begin)
        version = self.state.version
        if not self._shapes or not self.members.results({member: member.actor.taken.remote(version)}):
            return False
        # only now: a node that got half of the rows keeps its old version, and so neither trains nor merges
        member.version = version
        return True

    # ---- one round -----------------------------------------------------------------------------------------

    def round(self, ready: list[Member], stopping: Callable[[], bool] = lambda: False) -> None:
        """Train on all nodes, merge, and enter what was merged; if ``stopping()``, training ends soon."""
        plan = self.plan(len(ready))
        every = plan.merges_per_epoch or self.plan(2).merges_per_epoch
        left = self.state.ledger.left(self._held(ready))
        rounds = max(1, round(left * every / max(1, self.state.ledger.total)))
        began = time.monotonic()
        calls = {}
        for member in ready:
            mine = self.placement.of(member)
            segments = self.state.ledger.plan(mine, -(-self.state.ledger.left(mine) // rounds))
            calls[member] = member.actor.train.remote(
                self.state.version, segments, self.state.ledger.position, self.state.ledger.epoch, plan.rate
            )
        stopped: set[Member] = set()

        def watch(waiting: dict[Member, Any]) -> None:
            for member in waiting:
                if member not in stopped and (
                    stopping() or self._is_slow(member, calls, waiting, began, ended)
                ):
                    stopped.add(member)
                    member.actor.stop.remote(self.state.version)
            for member in calls:
                if member not in waiting:
                    ended.setdefault(member, time.monotonic())

        ended: dict[Member, float] = {}
        trained: dict[Member, Trained] = self.members.results(calls, watch)
        self.state.totals.took("training", began)
        seconds = [found.seconds for found in trained.values()]
        self.state.totals.waiting += max(seconds, default=0.0) - sum(seconds) / max(1, len(seconds))
        self._judge(trained)
        self.before_merge()
        began = time.monotonic()
        self._merge(trained)
        self.state.totals.took("merging", began)

    def _is_slow(
        self,
        member: Member,
        calls: Mapping[Member, Any],
        waiting: Mapping[Member, Any],
        began: float,
        ended: Mapping[Member, float],
    ) -> bool:
        """Return whether a node is so late that the others go on without the rest of its text."""
        if len(calls) < 2 or 2 * len(ended) < len(calls):
            return False
        usual = sorted(ended.values())[(len(calls) - 1) // 2] - began
        now = time.monotonic() - began
        if now < max(SLOW * usual, usual + SLOW_SECONDS):
            return False
        self.members.notice(
            f"{member.name} is slow: {now:.0f} s for what others did in {usual:.0f} s; they continue without "
            "the rest"
        )
        member.speed = max(0.05, usual / now)
        return True

    def _judge(self, trained: Mapping[Member, Trained]) -> None:
        """Record the speed of each node."""
        for member, found in trained.items():
            member.words += found.tallies.get("words", 0.0)
            member.seconds += found.seconds
            member.processor += found.processor

    def _merge(self, trained: dict[Member, Trained]) -> None:
        """Merge until a version is committed, or no node is left that has trained."""
        while True:
            # by number: sums of floats depend on their order, and a run without deaths is to be repeatable
            group = [member for member in sorted(trained, key=lambda m: m.number) if member.alive]
            if not group:
                return
            tokens = sum(end - begin for m in group for _, begin, end in trained[m].segments)
            if not tokens and len(group) > 1:
                return
            done = self._attempt(group, tokens)
            if done:
                break
            self.members.notice("a merge failed; the remaining nodes repeat it")
            time.sleep(0.2)
        # only once a node has the new version: the segments of a failed merge are planned again
        for member in group:
            self.state.ledger.commit(trained[member].segments)
            self.state.totals.add(trained[member].tallies)
            self.entered += [(self.state.ledger.epoch, segment) for segment in trained[member].segments]
        self.state.version += 1
        self.state.totals.merges += len(group) > 1

    def _attempt(self, group: list[Member], tokens: int) -> bool:
        """Let a group merge; return whether any living node has the new version."""
        version, n = self.state.version + 1, len(group)
        if n == 1:
            answers = self.members.results({group[0]: group[0].actor.apply.remote(version)})
        else:
            plan, portions = self.plan(n), usual_portions(self.config, self.n_words)
            alpha = plan.rate * self.schedule.alpha(self.state.ledger.position)
            answers = merged_by(self.members, group, plan, tokens / n, alpha, version, portions)
            self.state.totals.bytes_moved += sum(answers.values())
        if len(answers) < n:
            # an answer is missing, but the merge may be committed on some nodes: the living ones know
            versions = self.members.versions()
            answers = {m: v for m, v in versions.items() if v == version}
        for member in answers:
            member.version = version
        # one node with the new version is enough: the others copy it (`_admit`)
        return bool(answers)
