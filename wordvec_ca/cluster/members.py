"""The members of a run: one actor on each node, with their starts, deaths, calls and answers.

Ray itself restarts or repeats nothing: a call made twice would train twice. The driver decides what to
repeat; this module reports each death to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.cluster.fitness import (
    Requirements,
    UnfitNode,
    UnreadableText,
    fault_of_disk,
    unfit_reason,
)
from wordvec_ca.cluster.node import Node
from wordvec_ca.errors import DataError
from wordvec_ca.models import ResolvedConfig

PATIENCE = 60.0
"""Seconds without any answer after which a member counts as dead."""

PATIENCE_AT_START = 300.0
"""Seconds without any answer while a member's process starts, which loads all libraries."""

TIDYING = 10.0
"""Seconds within which members must clear their disks; they do so at the same time."""

TRIES = 4
"""If this many members in succession die on a node before they have trained, the node is not used again."""

EXAMINE_EVERY = 10.0
"""Seconds until a node that could not reach the storage is asked again."""

LOOK_EVERY = 1.0
"""Seconds between two requests for the progress of members."""

Notice = Callable[[str], None]


@dataclass(eq=False)
class Member:
    """An actor on a node.

    Attributes
    ----------
    number : int
        Number of the member, from 1; never used again.
    node : str
        Ray's name of the node.
    name : str
        Name of the member for people.
    actor : object
        Ray's handle of the actor.
    threads : int
        Threads with which it trains.
    version : int
        Version of its parameters, as far as the driver knows; -1 if it has none yet.
    alive, fit : bool
        Whether the node is fit for the run, and not known to be dead.
    status : dict
        Last report of the member.
    quiet : float
        Seconds since which it has not answered a question about its progress.
    words, seconds, processor : float
        What it has trained: words of text, wall-clock seconds and seconds of its processors.
    speed : float
        Speed relative to others, if it was slow.
    """

    number: int
    node: str
    name: str
    actor: Any
    threads: int
    version: int = -1
    alive: bool = True
    fit: bool = False
    status: dict[str, Any] = field(default_factory=dict)
    quiet: float = 0.0
    words: float = 0.0
    seconds: float = 0.0
    processor: float = 0.0
    speed: float = 1.0


def actor_class(ray: Any) -> Any:
    """Return `Node` as an actor that answers while it works, and encodes and writes while it trains.

    Ray sends the code of this class, not its name: so a node that has another version of the package, or
    none, can report that.
    """

    class NodeActor:
        """A node of the cluster."""

        def __init__(self, version: str, config: Mapping[str, Any], *others: Any) -> None:
            self.node: Any = None
            try:
                from wordvec_ca._version import __version__ as here
            except ImportError:
                self.version = None
                return
            self.version = here
            if here == version:
                from wordvec_ca.cluster.node import Node
                from wordvec_ca.models import ResolvedConfig

                self.node = Node(ResolvedConfig.from_dict(config), *others)

        def examine(self, *args: Any) -> dict[str, Any]:
            """Return the facts by which `unfit_reason` judges the node."""
            found = {} if self.node is None else self.node.examine(*args)
            return {"version": self.version, **found}

    for name in (name for name in vars(Node) if not name.startswith("_") and name != "examine"):

        def same(self: Any, *args: Any, _name: str = name) -> Any:
            return getattr(self.node, _name)(*args)

        group = GROUPS.get(name)
        setattr(NodeActor, name, same if group is None else ray.method(concurrency_group=group)(same))
    return ray.remote(concurrency_groups={"watch": 2, "prepare": 1})(NodeActor)


GROUPS = {
    "status": "watch",
    "stop": "watch",
    "tidy": "watch",
    "take_vocab": "prepare",
    "encode": "prepare",
    "encode_valid": "prepare",
    "write_checkpoint": "prepare",
}
"""Groups of methods that run concurrently: each group has its own threads."""


class Members:
    """The nodes at work."""

    def __init__(
        self,
        ray: Any,
        config: ResolvedConfig,
        wanted: int,
        *,
        directory: str | None,
        notice: Notice,
        patience: float = PATIENCE,
        required: Requirements | None = None,
        storage_patience: float | None = None,
    ) -> None:
        self.ray, self.config, self.wanted = ray, config, wanted
        self.directory, self.notice, self.patience = directory, notice, patience
        self.all: list[Member] = []
        self.deaths: list[str] = []
        self.required, self.storage_patience = required or Requirements(), storage_patience
        self.left_out: dict[str, str] = {}  # by Ray's name of the node
        self._examined: dict[Member, tuple[Any, float]] = {}
        self._unreadable: dict[str, Member] = {}
        self._isa: set[str] = set()
        self._actor = actor_class(ray)
        self._asked: dict[Member, tuple[Any, float]] = {}
        self._next_look = 0.0
        self._slowest_start = 0.0
        self._here: str | None = None  # Ray's name of the driver's own node
        self.on_status: Callable[[], None] = lambda: None
        self.on_beat: Callable[[], None] = lambda: None
        self.on_death: Callable[[str], None] = lambda why: None

    @property
    def present(self) -> list[Member]:
        """The members that are not known to be dead, in the order of their numbers."""
        return [member for member in self.all if member.alive]

    @property
    def living(self) -> list[Member]:
        """The members that are alive and fit for the run."""
        return [member for member in self.present if member.fit]

    def assemble(self) -> None:
        """Wait until the wanted number of nodes has joined; if that takes too long, begin with those that
        have.
        """
        limit = time.monotonic() + self.patience
        self._here = self.ray.get_runtime_context().get_node_id()
        while True:
            self.look()
            late = time.monotonic() > limit
            if len(self.living) >= self.wanted or (late and (self.living or not self.present)):
                break
            self.ask()
            time.sleep(0.1)
        if not self.living:
            reasons = "; ".join([*self.deaths, *self.left_out.values()])
            reasons = reasons or "there is none with a processor free, see ray status"
            raise DataError(f"no node of the cluster can be used: {reasons}")
        if len(self.living) < self.wanted:
            self.notice(f"{len(self.living)} of {self.wanted} nodes have joined; others may join later")

    def look(self) -> None:
        """Mark members dead whose node is gone, start one on each new node, and admit those that fit."""
        self.on_beat()
        self._check_own_node()
        nodes = {
            node["NodeID"]: node
            for node in self.ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        }
        for member in self.present:
            if member.node not in nodes:
                self.mark_dead(member, "its node is gone")
        self._examine()
        taken = {member.node for member in self.present} | set(self.left_out)
        # by address: the same nodes get the same numbers in each run
        for name, node in sorted(nodes.items(), key=lambda item: (item[1]["NodeManagerAddress"], item[0])):
            if len(self.present) >= self.wanted:
                break
            if name not in taken and self._died_early(name) < TRIES:
                self._start_actor(node)

    def _check_own_node(self) -> None:
        """Raise a DataError if Ray has died on the driver's machine: then no call would return."""
        if self._here is not None and any(
            node["NodeID"] == self._here and not node["Alive"] for node in self.ray.nodes()
        ):
            why = "Ray has died on this machine (its raylet has ended), so that no node can be reached"
            self.on_death(why)
            raise DataError(why)

    def _patience_at_start(self) -> float:
        """Return the time limit for the start of a process: shorter once some have started, since the usual
        time is then known.
        """
        known = 4 * self._slowest_start
        return max(self.patience, known or PATIENCE_AT_START)

    def _examine(self) -> None:
        """Admit the members that have answered that they fit, and leave out those that do not fit."""
        for member in [member for member in self.present if not member.fit]:
            if member not in self._examined:
                asked = member.actor.examine.remote(self.required.files, self.required.place)
                self._examined[member] = asked, time.time()
                continue
            ref, since = self._examined[member]
            if ref is None:  # it could not reach the storage: it is asked again
                if time.time() - since > EXAMINE_EVERY:
                    self._examined.pop(member)
                continue
            if not self.ray.wait([ref], timeout=0)[0]:
                if time.time() - since > self._patience_at_start():
                    self.mark_dead(member, "it has not answered since it was started")
                continue
            answer = self._answer(member, ref)
            if answer is None:  # it is asked again, or is lost
                self._examined.pop(member, None)
            elif (away := answer[0].get("away")) is not None:
                self._wait_for_storage(member, away)
            elif (why := unfit_reason(answer[0], self.required, since, time.time())) is not None:
                self.leave_out(member, why)
            else:
                member.fit = True
                self._slowest_start = max(self._slowest_start, time.time() - since)
                self._compare(member, answer[0].get("isa"))

    def _wait_for_storage(self, member: Member, away: str) -> None:
        """Ask a node again later if it could not reach the text or the storage."""
        self._examined[member] = None, time.time()
        if not member.status:
            self.notice(f"{member.name} does not take part yet: {away}; it is asked again")
            member.status = {"activity": "without storage"}

    def _compare(self, member: Member, isa: str | None) -> None:
        """Report a node with another instruction set: it may join, but the bits of the result change."""
        new = str(isa) not in self._isa
        self._isa.add(str(isa))
        if new and len(self._isa) > 1:
            self.notice(
                f"{member.name} trains with {isa}, and others with {', '.join(self._isa - {str(isa)})}: the "
                "model is as good, but the run cannot be repeated bit for bit"
            )

    def leave_out(self, member: Member, why: str) -> None:
        """Continue without a node that does not fit; no other member is started there."""
        self.left_out[member.node] = f"{member.name}: {why}"
        self._end(member)
        if not self.present and not self._spare():
            raise DataError(why if len(self.all) == 1 else self.left_out[member.node])
        self.notice(f"{member.name} is left out: {why}")

    def _spare(self) -> bool:
        """Return whether the cluster has a node on which a member could be started."""
        return any(
            node["Alive"]
            and node["Resources"].get("CPU", 0) >= 1
            and node["NodeID"] not in self.left_out
            and self._died_early(node["NodeID"]) < TRIES
            for node in self.ray.nodes()
        )

    def _died_early(self, node: str) -> int:
        """Return how many members in succession have died on a node before they had trained."""
        deaths = 0
        for member in reversed([member for member in self.all if member.node == node]):
            if member.alive or member.words:
                break
            deaths += 1
        return deaths

    def _start_actor(self, node: Mapping[str, Any]) -> Member:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        number = len(self.all) + 1
        cpus = int(node["Resources"]["CPU"])
        threads = self.config.workers or cpus
        actor = self._actor.options(
            num_cpus=min(cpus, threads),
            max_restarts=0,  # a restarted actor has no parameters: Members starts a new one and sends them
            max_task_retries=0,  # a repeated call would train or merge the same text twice
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote(
            __version__,
            replace(self.config, workers=threads).as_dict(),
            self.directory,
            self.storage_patience,
        )
        name = f"node {number} ({node['NodeManagerAddress']})"
        member = Member(number, node["NodeID"], name, actor, threads)
        self.all.append(member)
        return member

    def mark_dead(self, member: Member, why: str) -> None:
        """Count a member as dead, and kill it."""
        if not member.alive:
            return
        self._end(member)
        self.deaths.append(f"{member.name}: {why}")
        self.notice(f"{member.name} is lost: {why}")
        if self._died_early(member.node) == TRIES:
            self.notice(f"{TRIES} workers in a row died on the machine of {member.name}; starting no more")

    def _end(self, member: Member) -> None:
        member.alive = False
        self._asked.pop(member, None)
        self._examined.pop(member, None)
        try:
            self.ray.kill(member.actor, no_restart=True)
        except Exception:  # it is gone already, or out of reach
            pass

    def results(
        self, calls: Mapping[Member, Any], watch: Callable[[dict[Member, Any]], None] | None = None
    ) -> dict[Member, Any]:
        """Wait for the answers of members; return those that arrived."""
        waiting, answers = dict(calls), {}
        try:
            while waiting:
                refs = list(waiting.values())  # all that are ready at a time: with many nodes each look costs
                # short: between two looks the driver asks all members, so that one that hangs is noticed
                ready, _ = self.ray.wait(refs, num_returns=len(refs), timeout=0.2)
                arrived = set(ready)
                for member in [m for m, ref in waiting.items() if ref in arrived]:
                    found = self._answer(member, waiting.pop(member))
                    if found is not None:
                        answers[member] = found[0]
                self.ask()
                waiting = {member: ref for member, ref in waiting.items() if member.alive}
                if watch is not None and waiting:
                    watch(waiting)
        except DataError:
            for member in waiting:
                member.actor.stop.remote(member.version)
            raise
        return {member: answers[member] for member in calls if member in answers}

    def have_done(self, calls: Mapping[Member, Any]) -> bool:
        """Wait until the calls of members have ended; return whether all members are alive.

        Call this before passing the results of members to others: Ray gives an actor its calls one by one, so
        an actor that waits for the result of a hanging node does not answer any other call.
        """
        waiting = list(calls.values())
        while waiting and all(member.alive for member in calls):
            waiting = self.ray.wait(waiting, num_returns=len(waiting), timeout=0.2, fetch_local=False)[1]
            self.ask()
        return all(member.alive for member in calls)

    def _answer(self, member: Member, ref: Any) -> tuple[Any] | None:
        """Return the answer of a call in a tuple, or None if it failed; mark a member dead if it is."""
        errors = self.ray.exceptions
        try:
            return (self.ray.get(ref, timeout=self.patience),)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, errors.RayError):  # what it was to work on was on a node that is gone
                return None
            if isinstance(cause, UnfitNode):
                self._refuse(member, cause)
                return None
            if isinstance(cause, DataError):
                where = "" if len(self.all) == 1 else f"{member.name}: "
                raise type(cause)(f"{where}{cause}") from None
            if isinstance(cause, OSError):  # of its disk: Ray's text would be a trace of the node's calls
                self._refuse(member, UnfitNode(fault_of_disk(cause)))
                return None
            raise
        except errors.RayActorError as error:
            if isinstance(error, getattr(errors, "ActorUnavailableError", ())):
                return None  # perhaps only the network; if the actor is gone, the next call says so
            started = "creation task" not in str(error)
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            why = "its process or its node has died" if started else f"it cannot start: {lines[-1]}"
            self.mark_dead(member, why)
        except errors.RayError:
            pass
        return None

    def _refuse(self, member: Member, fault: UnfitNode) -> None:
        """Leave out a node that cannot continue; raise a DataError if another has reported the same fault."""
        # if a second node cannot read it either, the fault is in the text, not in the nodes
        other = self._unreadable.setdefault(str(fault), member)
        if isinstance(fault, UnreadableText) and other is not member:
            raise DataError(f"{member.name}, as {other.name}: {fault}")
        if member.alive:
            self.leave_out(member, str(fault))

    def ask(self, *, now: bool = False) -> None:
        """Ask living members for their progress once a second; those that have not answered for too long
        count as dead.
        """
        self.on_beat()
        asked = [ref for ref, _ in self._asked.values()]
        answered = set(self.ray.wait(asked, num_returns=len(asked), timeout=0)[0]) if asked else set()
        for member, (ref, since) in list(self._asked.items()):
            if ref in answered:
                del self._asked[member]
                found = self._answer(member, ref)
                if found is not None:
                    member.status, member.quiet = found[0], 0.0
                continue
            member.quiet = time.monotonic() - since
            if member.quiet > self.patience:
                self.mark_dead(member, f"it has not answered for {self.patience:.0f} s")
        if now or time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_EVERY
            self._check_own_node()
            for member in self.living:
                if member not in self._asked:
                    self._asked[member] = member.actor.status.remote(), time.monotonic()
            self.on_status()

    def versions(self) -> dict[Member, int]:
        """Ask each living member which version of the parameters it has."""
        calls = {member: member.actor.status.remote() for member in self.living}
        return {member: int(status["version"]) for member, status in self.results(calls).items()}

    def dismiss(self, run: str) -> None:
        """Let living members clear their disks, and end them."""
        living = self.present
        refs = [member.actor.tidy.remote(run) for member in self.living]
        if refs:
            self.ray.wait(refs, num_returns=len(refs), timeout=TIDYING)
        for member in living:
            self._end(member)
