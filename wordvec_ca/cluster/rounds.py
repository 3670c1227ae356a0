"""Rounds: from one version of the parameters to the next, whichever nodes die meanwhile.

In a round each replica trains its part of the text and yields what every slice has changed, one task for
each slice merges these deltas, and every node applies the result to its copy of the version. All are
functions of the version and the place, so that the result does not depend on which nodes made it, or how
often. `RunState` is that place, and what the run has found so far; a checkpoint stores it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.engine import TRIES, Engine, Lost, Node
from wordvec_ca.cluster.preparation import ReplicaText
from wordvec_ca.cluster.tasks import Common, Part
from wordvec_ca.errors import DataError
from wordvec_ca.models import History, Point, ResolvedConfig, memory_bytes
from wordvec_ca.training import Clock, MergePlan, Schedule, merges_of_nodes


@dataclass
class RunState:
    """The place of a run, and what it has found so far."""

    run: str
    # Threads of a training task: the bits do not depend on the nodes of a later session.
    threads: int = 1
    # epoch, round: Number of the epoch, from 1, and of the next round in it, from 0. A round is what lies
    # between two merges; what a replica trains in it depends on these two numbers alone.
    epoch: int = 1
    round: int = 0
    # version, merges: Rounds that are done, and how many of them were merges of several replicas.
    version: int = 0
    merges: int = 0
    # tallies, before_epoch: Tallies of the training loop, now and when the epoch began.
    tallies: dict[str, float] = field(default_factory=dict)
    before_epoch: dict[str, float] = field(default_factory=dict)
    # Bytes of parameters that went from one node to another.
    bytes_moved: int = 0
    # Wall-clock seconds of each phase.
    took: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    valid_losses: list[float] = field(default_factory=list)
    history: History = field(default_factory=History)
    # Training time of the sessions before.
    seconds_before: float = 0.0
    sessions: int = 1
    # Those of the encoded shards: a resumed run checks that the text is the same.
    fingerprints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start_clock()

    def start_clock(self) -> None:
        """Continue the training time from its value at the end of the last session."""
        self._clock = Clock(self.seconds_before)

    @property
    def seconds(self) -> float:
        """Training time over all sessions."""
        return self._clock.seconds

    def add(self, tallies: Mapping[str, float]) -> None:
        """Add the tallies of a part."""
        for name, value in tallies.items():
            self.tallies[name] = self.tallies.get(name, 0.0) + value

    def phase_took(self, phase: str, since: float) -> None:
        """Add the time since a moment to a phase."""
        self.took[phase] = self.took.get(phase, 0.0) + time.monotonic() - since

    def mean(self, total: str, number: str, before: Mapping[str, float]) -> float:
        """Return one tally divided by another, counted since ``before``; nan if the divisor is 0."""
        n = self.tallies.get(number, 0.0) - before.get(number, 0.0)
        return (self.tallies.get(total, 0.0) - before.get(total, 0.0)) / n if n else math.nan

    def as_record(self) -> dict[str, Any]:
        """Return the state as values for JSON."""
        record = asdict(self)
        record["history"] = [list(point) for point in self.history.points]
        return {**record, "seconds_before": self.seconds}

    def begin_again(self) -> RunState:
        """Return the state of the same session before its training."""
        return RunState(
            self.run, self.threads, took=self.took, sessions=self.sessions, fingerprints=self.fingerprints
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any], run: str) -> RunState:
        """Return the state in a checkpoint."""
        if record.get("run") != run:
            raise DataError("the checkpoints are of another run")
        try:
            points = [Point.of([math.nan if v is None else v for v in p]) for p in record["history"]]
            state = cls(**{**record, "history": History(points)})
            if min(state.epoch, state.threads) < 1 or min(state.round, state.version) < 0:
                raise ValueError("its place is not in the text")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the state in the checkpoint cannot be used: {error}") from error
        return state


LARGE = 64 << 20
"""Bytes of parameters from which on a version has many slices, which a node replaces one after the other: so
it never has two whole versions in memory."""

SLICES = 8
"""Slices of large parameters, at least."""


def plan_of_replicas(
    config: ResolvedConfig, n_words: int, n_tokens: int, replicas: int, threads: int
) -> MergePlan:
    """Return how replicas on nodes merge; parameters as of ``merges_of_nodes``."""
    if replicas == 1:
        return MergePlan.of(config, n_tokens, 1)
    merges = merges_of_nodes(config, n_words, n_tokens, replicas, threads)
    return MergePlan.of(config, n_tokens, replicas, {"merges_per_epoch": -(-merges // config.epochs)})


def slices_of(config: ResolvedConfig, n_words: int, replicas: int) -> int:
    """Return into how many slices a version is cut; the bits do not depend on it."""
    large = memory_bytes(config, n_words, threads=1) > LARGE
    return replicas * (-(-SLICES // replicas) if large else 1)


class Rounds:
    """Trains the rounds of a run."""

    def __init__(
        self,
        engine: Engine,
        common: Common,
        text: Any,
        texts: list[ReplicaText],
        state: RunState,
        plan: MergePlan,
        every: int,
    ) -> None:
        self.engine, self.common, self.text, self.texts = engine, common, text, texts
        self.state, self.plan, self.every = state, plan, every
        self.total = sum(each.tokens for each in texts)
        self.schedule = Schedule(common.config, self.total)
        self.copies: dict[str, list[Any]] = {}  # Ray's name of a node: the slices of the version there
        self.stopping: Callable[[], bool] = lambda: False
        self.before_merge: Callable[[], None] = lambda: None
        self._bytes = memory_bytes(common.config, common.words.n_words, threads=1)
        # Ray makes them again if their node dies
        _, refs, self.loop = self.alone(tasks.touches, self.total, begun=True, retries=TRIES)
        self.touches = refs[1:]

    def alone(
        self, function: Callable[..., Any], *args: Any, begun: bool = False, **options: Any
    ) -> tuple[Node, list[Any], Any]:
        """Run a task for the version of now, or to begin one; return node, references and first result."""
        common = self.common

        def start(_: int, nodes: Sequence[Node]) -> tuple[Node, list[Any]]:
            given = {"node": nodes[0], "returns": 1 + common.slices if begun else 1, **options}
            copy = () if begun else self.copy_for(nodes[0])
            return nodes[0], self.engine.call(function, common, self.text, *args, *copy, **given)

        doing = function.__name__.replace("_", " ")
        return self.engine.run([0], start, None if begun else self.nodes, doing=doing)[0]

    def begin(self, function: Callable[..., Any], *args: Any) -> Any:
        """Let a node make the slices of a version; return what else it found."""
        node, refs, found = self.alone(function, *args, begun=True)
        self.copies = {node.key: refs[1:]}
        return found

    # ---- where the run is --------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return self.state.epoch > self.common.config.epochs

    @property
    def epoch_ended(self) -> bool:
        """Whether the text of this epoch is trained."""
        return self.state.round >= self.every

    @property
    def position(self) -> int:
        """Tokens trained in all epochs."""
        done = sum(each.tokens * self.state.round // self.every for each in self.texts)
        return (self.state.epoch - 1) * self.total + done

    @property
    def fraction(self) -> float:
        """Share of the run that is done."""
        return min(1.0, self.position / max(1, self.total * self.common.config.epochs))

    def nodes(self) -> list[Node]:
        """Return the nodes for the next tasks, at most one for each replica; raise `Lost` without a copy."""
        nodes = self.engine.some()
        alive = {node.key for node in nodes}
        self.copies = {key: refs for key, refs in self.copies.items() if key in alive}
        if not self.copies:
            raise Lost
        # those that have a copy first: another would have to fetch one
        nodes.sort(key=lambda node: node.key not in self.copies)
        return nodes[: len(self.texts)]

    def copy_for(self, node: Node) -> list[Any]:
        """Return the slices of the version at a node, or at another from which Ray brings them."""
        return self.copies.get(node.key) or next(iter(self.copies.values()))

    # ---- one round ---------------------------------------------------------------------------------------

    def round(self) -> None:
        """Go to the next version; raise `Lost` if every copy of this one is lost."""
        began = time.monotonic()
        found = self._train({})
        self.state.phase_took("training", began)
        began, merged = time.monotonic(), list[Any]()
        while len(self.texts) > 1 and not (merged := self._merge(found)):
            alive = {node.key for node in self.engine.nodes()}
            # Ray may not know yet which node is gone
            there = {i: each for i, each in found.items() if each[0].key in alive}
            found = self._train(there if len(there) < len(found) else {})
        self.before_merge()
        if merged:
            self._apply(merged)
        else:
            node, refs, _ = found[0]
            self.copies = {node.key: refs[1:]}
        self.state.phase_took("merging", began)
        for node, _, tallies in found.values():
            self.state.add(tallies)
            node.words += tallies.get("words", 0.0)
        self.state.round += 1
        self.state.version += 1
        self.state.merges += bool(merged)

    def _train(self, known: dict[int, Any]) -> dict[int, Any]:
        """Train the parts of all replicas but those that are known."""
        state, replicas = self.state, len(self.texts)

        def start(replica: int, nodes: Sequence[Node]) -> tuple[Node, list[Any]]:
            node, text = nodes[replica % len(nodes)], self.texts[replica]
            begin, end = (text.tokens * n // self.every for n in (state.round, state.round + 1))
            ranges, blocks = text.ranges(begin, end)
            part = Part(replica, state.epoch, self.position, self.plan.rate, ranges)
            state.bytes_moved += 0 if node.key in self.copies else self._bytes
            given = self.common, self.text, self.total, part, replicas == 1, *self.copy_for(node), *blocks
            return node, self.engine.call(tasks.train, *given, node=node, returns=1 + self.common.slices)

        missing = [replica for replica in range(replicas) if replica not in known]
        found = self.engine.run(missing, start, self.nodes, doing="parts trained", stopping=self.stopping)
        return {**known, **found}

    def _merge(self, found: dict[int, Any]) -> list[Any]:
        """Merge all slices; the result is empty if a delta was lost with its node."""
        alpha = self.plan.rate * self.schedule.alpha(self.position)
        tokens = self.total / self.every / len(self.texts)
        of_all = [found[replica][1][1:] for replica in range(len(self.texts))]

        def start(j: int, nodes: Sequence[Node]) -> tuple[Node, list[Any]]:
            node, deltas = nodes[j % len(nodes)], [of_one[j] for of_one in of_all]
            given = self.common, self.plan, tokens, alpha, self.touches[j], *deltas
            return node, self.engine.call(tasks.reduce, *given, node=node, returns=2)

        slices, others = range(self.common.slices), len(self.nodes()) - 1
        merged = self.engine.run(slices, start, self.nodes, doing="slices merged", again=False)
        if len(merged) < len(slices):
            return []
        for node, _, sizes in merged.values():
            fetched = sum(sizes[i] for i, each in found.items() if each[0] is not node)
            self.state.bytes_moved += fetched + others * sizes[-1]
        return [merged[j][1][1] for j in slices]

    def _apply(self, merged: list[Any]) -> None:
        """Let every node apply the merged slices to its copy."""
        nodes, slices = self.nodes(), self.common.slices
        groups = min(slices, SLICES) if slices > len(self.texts) else 1
        old = {node: list(self.copy_for(node)) for node in nodes}
        self.copies = {}

        def start(job: tuple[Node, int], _: Sequence[Node]) -> tuple[Node, list[Any]]:
            node, group = job
            begin, end = group * slices // groups, (group + 1) * slices // groups
            given = self.common, *merged[begin:end], *old[node][begin:end]
            # the task holds them until it ends: with each group a part of the old version goes
            old[node][begin:end] = [None] * (end - begin)
            return node, self.engine.call(tasks.apply, *given, node=node, returns=1 + end - begin)

        jobs = [(node, group) for group in range(groups) for node in nodes]
        done = self.engine.run(jobs, start, doing="slices applied", again=False)
        for node in nodes:
            parts = [done[node, group] for group in range(groups) if (node, group) in done]
            if len(parts) == groups:
                self.copies[node.key] = [ref for _, refs, _ in parts for ref in refs[1:]]
        if not self.copies:
            raise Lost
