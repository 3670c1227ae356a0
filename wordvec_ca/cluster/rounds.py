"""Rounds: from one version of the parameters to the next, whichever nodes die meanwhile.

In a round each replica trains its part of the text and yields what every slice has changed, one task for
each slice merges these deltas, and every node applies the result to its copy of the version. All are
functions of the version and the place, so that the result does not depend on which nodes made it, or how
often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.engine import Engine, Node
from wordvec_ca.cluster.preparation import ReplicaText
from wordvec_ca.cluster.run_state import RunState
from wordvec_ca.cluster.tasks import Common, Part, Trained
from wordvec_ca.errors import DataError
from wordvec_ca.models import ResolvedConfig, memory_bytes
from wordvec_ca.training import MergePlan, Schedule, merges_of_nodes

LARGE = 64 << 20
"""Bytes of parameters from which on a version has many slices, which a node replaces one after the other: so
it never has two whole versions in memory."""

SLICES = 8
"""Slices of large parameters, at least."""

LATE = 4.0
"""A node is given up if it takes ``patience`` seconds longer than this many times the round before."""

TRIES = 8
"""So often a part of a round may fail in succession before the run ends."""


class Stopped(Exception):
    """The user ends the run within a round."""


def plan_of_replicas(
    config: ResolvedConfig,
    n_words: int,
    n_tokens: int,
    replicas: int,
    threads: int,
    given: Mapping[str, Any] | None = None,
) -> MergePlan:
    """Return how replicas on nodes merge; parameters as of ``merges_of_nodes`` and ``MergePlan.of``."""
    if replicas == 1:
        return MergePlan.of(config, n_tokens, 1)
    merges = merges_of_nodes(config, n_words, n_tokens, replicas, threads)
    return MergePlan.of(
        config, n_tokens, replicas, {"merges_per_epoch": -(-merges // config.epochs), **(given or {})}
    )


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
        self.watch: Callable[[str], None] = lambda doing: None
        self.stopping: Callable[[], bool] = lambda: False
        self.before_merge: Callable[[], None] = lambda: None
        node = engine.some()[0]
        self.loop, *self.touches = self._touches(node)
        self._bytes = memory_bytes(common.config, common.words.n_words, threads=1)
        self._usual: float | None = None

    def _touches(self, node: Node) -> list[Any]:
        refs = self.engine.call(
            tasks.touches,
            self.common,
            self.text,
            self.total,
            node=node,
            returns=1 + self.common.slices,
            retries=TRIES,
        )
        return [*self.engine.results(refs[:1]), *refs[1:]]

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
        """Return the nodes for the next tasks, at most one for each replica; forget copies that are gone."""
        nodes = self.engine.some(self.stopping)
        alive = {node.key for node in nodes}
        self.copies = {key: refs for key, refs in self.copies.items() if key in alive}
        # those that have a copy first: another would have to fetch one
        nodes.sort(key=lambda node: node.key not in self.copies)
        return nodes[: len(self.texts)]

    def copy_for(self, node: Node) -> list[Any]:
        """Return the slices of the version at a node, or at another from which Ray brings them."""
        return self.copies.get(node.key) or next(iter(self.copies.values()))

    # ---- one round ---------------------------------------------------------------------------------------

    def round(self) -> bool:
        """Go to the next version; return False if every copy of this one is lost."""
        began = time.monotonic()
        found = self._train()
        if found is None:
            return False
        self.state.phase_took("training", began)
        began = time.monotonic()
        while True:
            merged = self._merge(found) if len(self.texts) > 1 else None
            if len(self.texts) == 1 or merged is not None:
                break
            found = self._train(found)  # what was on nodes that died
            if found is None:
                return False
        self.before_merge()
        if merged is None:
            node, refs, _ = found[0]
            self.copies = {node.key: refs[1:]}
        elif not self._apply(merged):
            return False
        self.state.phase_took("merging", began)
        for node, _, trained in found.values():
            self.state.add(trained.tallies)
            node.words += trained.tallies.get("words", 0.0)
            node.seconds += trained.seconds
            node.training += trained.processor
            node.processor += trained.processor
        self.state.round += 1
        self.state.version += 1
        self.state.merges += merged is not None
        return True

    def _part(self, replica: int) -> tuple[Part, list[Any]]:
        state, text = self.state, self.texts[replica]
        begin, end = (text.tokens * n // self.every for n in (state.round, state.round + 1))
        ranges, blocks = text.ranges(begin, end)
        return Part(replica, state.epoch, self.position, self.plan.rate, ranges), blocks

    def _train(self, known: Mapping[int, Any] | None = None) -> dict[int, Any] | None:
        """Train the parts of all replicas but those that are known; None if the version is lost."""
        done: dict[int, tuple[Node, list[Any], Trained]] = dict(known or {})
        at_work: dict[int, tuple[Node, list[Any]]] = {}
        began, failed = time.monotonic(), 0
        while len(done) < len(self.texts):
            nodes = self.nodes()
            if not self.copies:
                return None
            for replica in range(len(self.texts)):
                if replica in done or replica in at_work:
                    continue
                node = nodes[replica % len(nodes)]
                part, blocks = self._part(replica)
                self.state.bytes_moved += 0 if node.key in self.copies else self._bytes
                at_work[replica] = (
                    node,
                    self.engine.call(
                        tasks.train,
                        self.common,
                        self.text,
                        self.total,
                        part,
                        len(self.texts) == 1,
                        *self.copy_for(node),
                        *blocks,
                        node=node,
                        returns=1 + self.common.slices,
                    ),
                )
            ready = self.engine.wait([refs[-1] for _, refs in at_work.values()])
            for replica, (node, refs) in list(at_work.items()):
                if refs[-1] not in ready:
                    continue
                del at_work[replica]
                try:
                    done[replica] = node, refs, self.engine.get(refs[0])
                except self.engine.ray.exceptions.RayError as error:
                    failed = self._again(failed, error)
            if self.stopping():
                self.engine.drop([refs[0] for _, refs in at_work.values()])
                raise Stopped
            if self._late(began, {node for node, _ in at_work.values()}):
                self.engine.drop([refs[0] for _, refs in at_work.values()])
                at_work.clear()
                began = time.monotonic()
            self.watch(f"{len(done)} of {len(self.texts)} parts trained, on {len(nodes)} nodes")
        self._usual = time.monotonic() - began
        return done

    def _again(self, failed: int, error: Exception) -> int:
        """Count a failure; a `DataError` ends the run if there were too many in succession."""
        if failed >= TRIES:
            raise DataError(f"a task failed {failed} times: {str(error).strip().splitlines()[-1]}") from error
        self.engine.notice("a task was lost with its process or node, and is repeated")
        time.sleep(0.2)  # meanwhile Ray may notice that a node is gone
        return failed + 1

    def _late(self, began: float, nodes: set[Node]) -> bool:
        """Give nodes up that take far too long, unless all do; return whether there was one."""
        limit = self.engine.patience + LATE * (self._usual or 0.0)
        if self._usual is None or time.monotonic() - began < limit or not nodes:
            return False
        if len(self.engine.nodes()) > len(nodes):
            for node in nodes:
                self.engine.leave_out(node, f"it has not answered for {limit:.0f} s")
        return True

    def _merge(self, found: dict[int, Any]) -> list[Any] | None:
        """Merge all slices; None if a delta was lost, which is then removed from ``found``."""
        engine, nodes = self.engine, self.nodes()
        alpha = self.plan.rate * self.schedule.alpha(self.position)
        tokens = self.total / self.every / len(self.texts)
        deltas = [found[replica][1][1:] for replica in range(len(self.texts))]
        at = [nodes[j % len(nodes)] for j in range(self.common.slices)]
        calls = [
            engine.call(
                tasks.reduce,
                self.common,
                self.plan,
                tokens,
                alpha,
                self.touches[j],
                *[of_one[j] for of_one in deltas],
                node=at[j],
                returns=2,
            )
            for j in range(self.common.slices)
        ]
        moved = 0
        try:
            for j, (sizes, seconds) in enumerate(self._all([refs[0] for refs in calls], set(at))):
                moved += sum(sizes[i] for i in range(len(deltas)) if found[i][0] is not at[j])
                moved += sizes[-1] * (len(nodes) - 1)
                at[j].processor += seconds
        except engine.ray.exceptions.RayError as error:
            self._again(0, error)
            alive = {node.key for node in self.engine.nodes()}
            lost = [i for i, (node, *_) in found.items() if node.key not in alive] or list(found)
            for i in lost:
                del found[i]
            return None
        self.state.bytes_moved += moved
        return [refs[1] for refs in calls]

    def _all(self, refs: list[Any], nodes: set[Node]) -> list[Any]:
        """Return the results of short tasks; raise what Ray raises if one failed."""
        began, waiting = time.monotonic(), set(refs)
        while waiting:
            waiting -= self.engine.wait(list(waiting))
            self.engine.nodes()
            if waiting and self._late(began, nodes):
                self.engine.drop(list(waiting))
                began = time.monotonic()
        return [self.engine.get(ref) for ref in refs]

    def _apply(self, merged: list[Any]) -> bool:
        """Let every node apply the merged slices to its copy; return whether one has the new version."""
        nodes, slices = self.nodes(), self.common.slices
        if not self.copies:
            return False
        groups = min(slices, SLICES) if slices > len(self.texts) else 1
        old = {node.key: list(self.copy_for(node)) for node in nodes}
        new: dict[str, tuple[Node, list[Any], list[Any]]] = {node.key: (node, [], []) for node in nodes}
        self.copies.clear()
        for group in range(groups):
            begin, end = group * slices // groups, (group + 1) * slices // groups
            for node in nodes:
                refs = self.engine.call(
                    tasks.apply,
                    self.common,
                    *merged[begin:end],
                    *old[node.key][begin:end],
                    node=node,
                    returns=1 + end - begin,
                )
                new[node.key][1].append(refs[0])
                new[node.key][2].extend(refs[1:])
                # the task holds them until it ends: with each group a part of the old version goes
                old[node.key][begin:end] = [None] * (end - begin)
        for key, (node, ends, refs) in new.items():
            try:
                node.processor += sum(self._all(ends, {node}))
                self.copies[key] = refs
            except self.engine.ray.exceptions.RayError:
                self.engine.notice(f"{node.name} has lost its copy of the parameters")
        return bool(self.copies)
