"""Rounds: every node trains some of its text, what all have learnt is merged, and the ledger enters it.

A merge is committed once any living node has the new version. Until then a death costs only what the dead
node has trained in this round, which others train again; from then on it costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.cluster.custody import Custody
from wordvec_ca.training.cluster.ledger import Ledger, Segment
from wordvec_ca.training.cluster.members import Member, Members
from wordvec_ca.training.cluster.node import Trained
from wordvec_ca.training.merge_plan import MergePlan, merges_of_nodes
from wordvec_ca.training.schedule import Schedule

SLOW = 2.0
"""A node that takes so many times as long as half of the others is called slow, and not waited for."""

SLOW_SECONDS = 10.0
"""But not if it is less than that behind."""

COPY_BYTES = 64 << 20
"""Bytes of parameters that a node copies from another at a time."""


@dataclass
class Totals:
    """What a run has counted and taken so far.

    Attributes
    ----------
    tallies : dict of str to float
        As the training loop counts.
    before_epoch : dict of str to float
        The same when this epoch began.
    merges : int
        Committed.
    bytes_moved : int
        Parameters that went from one node to another.
    seconds : dict of str to float
        Wall-clock time of each phase.
    waiting : float
        Seconds that nodes were idle while others still trained, on average.
    """

    tallies: dict[str, float] = field(default_factory=dict)
    before_epoch: dict[str, float] = field(default_factory=dict)
    merges: int = 0
    bytes_moved: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    waiting: float = 0.0

    def add(self, trained: Mapping[str, float]) -> None:
        """Add tallies."""
        for name, value in trained.items():
            self.tallies[name] = self.tallies.get(name, 0.0) + value

    def took(self, phase: str, since: float) -> None:
        """Add the time since a moment to a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - since

    def mean(self, total: str, number: str, before: Mapping[str, float] | None = None) -> float:
        """Return one tally divided by another, of what came after ``before``; nan for nothing."""
        before = before or {}
        n = self.tallies.get(number, 0.0) - before.get(number, 0.0)
        return (self.tallies.get(total, 0.0) - before.get(total, 0.0)) / n if n else math.nan


def plan_of_nodes(
    config: ResolvedConfig,
    n_words: int,
    n_tokens: int,
    nodes: int,
    threads: int,
    given: Mapping[str, Any] | None = None,
) -> MergePlan:
    """Return how so many nodes merge; parameters as of ``merges_of_nodes`` and ``MergePlan.of``."""
    if nodes == 1:
        return MergePlan.of(config, n_tokens, nodes)
    merges = merges_of_nodes(config, n_words, n_tokens, nodes, threads)
    return MergePlan.of(
        config, n_tokens, nodes, {"merges_per_epoch": -(-merges // config.epochs), **(given or {})}
    )


def ask_to_merge(
    group: Sequence[Member], plan: MergePlan, tokens: float, alpha: float, version: int
) -> dict[Member, Any]:
    """Ask several nodes for what they have learnt, each to reduce a slice of it, and all to apply that.

    Parameters
    ----------
    group : sequence of Member
    plan : MergePlan
        Of so many.
    tokens : float
        Trained by each since the last merge, on average.
    alpha : float
        The learning rate meanwhile.
    version : int
        What the parameters are to become.
    """
    n = len(group)
    slices = [member.actor.slices.options(num_returns=n).remote(n) for member in group]
    merged = [
        member.actor.reduce.remote(i, plan, tokens, alpha, *[of_one[i] for of_one in slices])
        for i, member in enumerate(group)
    ]
    return {member: member.actor.apply.remote(version, *merged) for member in group}


class Rounds:
    """Trains the epochs of a run, whoever dies or comes.

    Parameters
    ----------
    members : Members
        The nodes.
    custody : Custody
        Which of them has which text.
    ledger : Ledger
        What is done.
    config : ResolvedConfig
        Of the run.
    given : mapping
        What of the plan of merges is set by hand.
    totals : Totals
        What was counted so far.
    n_words : int
        Vocabulary.
    """

    def __init__(
        self,
        members: Members,
        custody: Custody,
        ledger: Ledger,
        config: ResolvedConfig,
        given: Mapping[str, Any],
        totals: Totals,
        n_words: int,
    ) -> None:
        self.members, self.custody, self.ledger = members, custody, ledger
        self.config, self.given, self.totals, self.n_words = config, given, totals, n_words
        self.schedule = Schedule(config, ledger.total)
        self.version = 0
        self.loop: dict[str, Any] = {}
        self.storage: Storage | None = None
        self.restore: Callable[[], tuple[str, int, Ledger, Totals] | None] = lambda: None
        self.reject: Callable[[str, str], None] = lambda name, why: None
        self.before_merge: Callable[[], None] = lambda: None
        self._begun: dict[Member, Any] = {}
        self._shapes: dict[str, tuple[int, int]] = {}
        self.entered: list[tuple[int, Segment]] = []  # (epoch, segment) of all merges of this session

    def plan(self, nodes: int) -> MergePlan:
        """Return how so many nodes merge."""
        return plan_of_nodes(
            self.config,
            self.n_words,
            self.ledger.total,
            nodes,
            max((member.workers for member in self.members.all), default=1),
            self.given,
        )

    def ready(self) -> list[Member]:
        """Return the nodes that can train now, having admitted those that came since the last merge."""
        while True:
            self.members.look()
            self.custody.repair(lambda shard: self._to_do(shard))
            self.custody.collect()
            self._admit()
            ready = [member for member in self.members.living if member.version == self.version]
            if ready and (self.ledger.epoch_ended or self.ledger.left(self._held(ready))):
                return ready
            if not self.members.present:
                self._wait_for_nodes()
            self.members.ask()
            time.sleep(0.05)

    def _wait_for_nodes(self) -> None:
        limit = time.monotonic() + self.members.patience
        self.members.notice("all nodes are lost; waiting for others")
        while not self.members.present:
            self.members.look()
            if time.monotonic() > limit:
                raise DataError(
                    "all nodes are lost, and no other has come; what the last checkpoint holds is kept: "
                    "--resume goes on from there"
                )
            time.sleep(0.2)

    def _to_do(self, shard: int) -> int:
        tokens = self.ledger.tokens[shard]
        return tokens * (self.ledger.epochs - self.ledger.epoch + 1) - self.ledger.done[shard]

    def _held(self, members: list[Member]) -> list[int]:
        return [shard for member in members for shard in self.custody.of(member)]

    def _admit(self) -> None:
        """Let nodes begin, and take the parameters of a peer, or of a checkpoint if there is none."""
        living = self.members.living
        for member in living:
            if member not in self._begun:
                self._begun[member] = member.actor.begin.remote(self.ledger.total, self.custody.tell(member))
        fresh = [m for m in living if m.version < 0]
        if fresh:
            ready, _ = self.members.ray.wait(
                [self._begun[m] for m in fresh],
                num_returns=len(fresh),
                timeout=self.members.patience if self.version == 0 and len(fresh) == len(living) else 0,
            )
            arrived = {m: self._begun[m] for m in fresh if self._begun[m] in ready}
            for member, loop in self.members.results(arrived).items():
                member.version, self.loop = 0, loop
        stale = [m for m in self.members.living if 0 <= m.version != self.version]
        if not stale:
            return
        peer = next((m for m in self.members.living if m.version == self.version), None)
        if peer is None:
            peer = self._recover(stale[0])
            stale = stale[1:]
        for member in stale:
            if peer is not None and member.version != self.version and not self._copy(peer, member):
                return

    def _recover(self, member: Member) -> Member | None:
        """Go back to the last checkpoint, or the beginning: every node that had the parameters is gone."""
        found = self.restore()
        if found is None:
            self.version = 0
            self.ledger.epoch, self.ledger.segments = 1, 0
            self.ledger.done = [0] * len(self.ledger.tokens)
            self.totals.tallies, self.totals.before_epoch = {}, {}
            member.version = -1
            self.entered.clear()
            self._begun.pop(member)
            self.members.notice("no node has the parameters any more, and there is no checkpoint: begun anew")
            return None
        name, version, ledger, totals = found
        try:
            read = self.members.results(
                {member: member.actor.read_checkpoint.remote(self.storage, name, version)}
            )
        except DataError as error:  # its parameters are damaged, which only who reads them sees
            self.reject(name, str(error))
            return None
        if read:
            self.version = member.version = version
            self.ledger.__dict__.update(ledger.__dict__)
            self.totals.__dict__.update(totals.__dict__)
            self.entered = [
                (epoch, segment)
                for epoch, segment in self.entered
                if (epoch, segment.end) <= (ledger.epoch, ledger.done[segment.shard])
            ]
            self.members.notice(f"begun again from the checkpoint at {self.fraction:.1%}")
            return member
        return None

    def _copy(self, peer: Member, member: Member) -> bool:
        """Give a node the parameters of a peer; return whether it has them."""
        if not self._shapes:
            self._shapes = self.members.results({peer: peer.actor.shapes.remote()}).get(peer, {})
        for name, (n_rows, width) in self._shapes.items():
            step = max(1, COPY_BYTES // (4 * width))
            for begin in range(0, n_rows, step):
                rows = peer.actor.base_rows.remote(name, begin, min(begin + step, n_rows))
                taken = self.members.results({member: member.actor.take_rows.remote(name, begin, rows)})
                if member not in taken:
                    return False
                self.totals.bytes_moved += 4 * width * (min(begin + step, n_rows) - begin)
        if not self._shapes or not self.members.results({member: member.actor.taken.remote(self.version)}):
            return False
        member.version = self.version
        return True

    @property
    def fraction(self) -> float:
        """Share of the run that is done."""
        return self.ledger.position / max(1, self.ledger.total * self.ledger.epochs)

    # ---- one round -----------------------------------------------------------------------------------------

    def round(self, ready: list[Member], stopping: Callable[[], bool] = lambda: False) -> None:
        """Train on all nodes, merge, and enter what was merged.

        Parameters
        ----------
        ready : list of Member
            See `ready`.
        stopping : callable
            If true, the nodes end their training soon.
        """
        plan = self.plan(len(ready))
        every = plan.merges_per_epoch or self.plan(2).merges_per_epoch
        left = self.ledger.left(self._held(ready))
        rounds = max(1, round(left * every / max(1, self.ledger.total)))
        began = time.monotonic()
        calls = {}
        for member in ready:
            mine = self.custody.of(member)
            segments = self.ledger.plan(mine, -(-self.ledger.left(mine) // rounds))
            calls[member] = member.actor.train.remote(
                self.version, segments, self.ledger.position, self.ledger.epoch, plan.rate
            )
        stopped: set[Member] = set()

        def watch(waiting: dict[Member, Any]) -> None:
            for member in waiting:
                if member not in stopped and (
                    stopping() or self._is_slow(member, calls, waiting, began, ended)
                ):
                    stopped.add(member)
                    member.actor.stop.remote(self.version)
            for member in calls:
                if member not in waiting:
                    ended.setdefault(member, time.monotonic())

        ended: dict[Member, float] = {}
        trained: dict[Member, Trained] = self.members.results(calls, watch)
        self.totals.took("training", began)
        seconds = [found.seconds for found in trained.values()]
        self.totals.waiting += max(seconds, default=0.0) - sum(seconds) / max(1, len(seconds))
        self._judge(trained)
        self.before_merge()
        began = time.monotonic()
        self._merge(trained)
        self.totals.took("merging", began)

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
            f"{member.name} is slow: {now:.0f} s for what others did in {usual:.0f} s; they go on without "
            "the rest"
        )
        member.speed = max(0.05, usual / now)
        return True

    def _judge(self, trained: Mapping[Member, Trained]) -> None:
        """Take up how fast each node was."""
        for member, found in trained.items():
            member.words += found.tallies.get("words", 0.0)
            member.seconds += found.seconds
            member.processor += found.processor

    def _merge(self, trained: dict[Member, Trained]) -> None:
        """Merge until a version is committed, or nobody is left who has trained."""
        while True:
            group = [member for member in sorted(trained, key=lambda m: m.number) if member.alive]
            if not group:
                return
            tokens = sum(end - begin for m in group for _, begin, end in trained[m].segments)
            if not tokens and len(group) > 1:
                return
            done = self._attempt(group, tokens)
            if done:
                break
            self.members.notice("a merge failed and is made again by those who are left")
            time.sleep(0.2)
        for member in group:
            self.ledger.commit(trained[member].segments)
            self.totals.add(trained[member].tallies)
            self.entered += [(self.ledger.epoch, segment) for segment in trained[member].segments]
        self.version += 1
        self.totals.merges += len(group) > 1

    def _attempt(self, group: list[Member], tokens: int) -> bool:
        """Let a group merge; return whether any living node has the new version."""
        version, n = self.version + 1, len(group)
        if n == 1:
            calls = {group[0]: group[0].actor.apply.remote(version)}
        else:
            plan = self.plan(n)
            alpha = plan.rate * self.schedule.alpha(self.ledger.position)
            calls = ask_to_merge(group, plan, tokens / n, alpha, version)
        answers = self.members.results(calls)
        if len(answers) < n:
            versions = self.members.versions()
            answers = {m: v for m, v in versions.items() if v == version}
        for member in answers:
            member.version = version
        if answers and n > 1:
            self.totals.bytes_moved += self._bytes_of_merge(n)
        return bool(answers)

    def _bytes_of_merge(self, n: int) -> int:
        if not self._shapes:
            member = next((m for m in self.members.living), None)
            if member is not None:
                self._shapes = self.members.results({member: member.actor.shapes.remote()}).get(member, {})
        whole = sum(2 * rows * width for rows, width in self._shapes.values())
        return 2 * (n - 1) * whole  # each sends all slices but its own, and its merged one to all others
