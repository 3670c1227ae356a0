"""The members of a run: one actor on each node, its births and deaths, calls and what becomes of them.

Nothing is restarted or tried again by Ray itself: a call that was made twice would train twice. The driver
looks after that; it sees each death here.
"""

from __future__ import annotations

import errno
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.models import TrainConfig
from wordvec_ca.training.cluster.node import Node

PATIENCE = 60.0
"""Seconds after which a member that answers nothing at all is given up."""

PATIENCE_AT_BIRTH = 300.0
"""The same while its process starts, which loads all libraries."""

TIDYING = 10.0
"""Seconds that members have to clear their disks, all at the same time."""

TRIES = 4
"""Members that may die on a node in turn, without having trained anything, before it is not used again."""

LOOK_EVERY = 1.0
"""Seconds between two questions of how far members are."""

Notice = Callable[[str], None]


@dataclass(eq=False)
class Member:
    """An actor on a node.

    Attributes
    ----------
    number : int
        From 1; never given twice.
    node : str
        Ray's name of the node.
    name : str
        For people.
    actor : object
        Its handle.
    workers : int
        Its threads.
    version : int
        Of its parameters, as far as the driver knows; -1 if it has none yet.
    status : dict
        What it last said.
    words, seconds, processor : float
        Trained, in words of text, wall-clock seconds and seconds of its processors.
    speed : float
        Relative to others, if it was slow.
    """

    number: int
    node: str
    name: str
    actor: Any
    workers: int
    version: int = -1
    alive: bool = True
    status: dict[str, Any] = field(default_factory=dict)
    words: float = 0.0
    seconds: float = 0.0
    processor: float = 0.0
    speed: float = 1.0


def actor_class(ray: Any) -> Any:
    """Return `Node` as an actor that answers while it works, and encodes and writes beside its training."""

    class NodeActor(Node):
        """A node of the cluster."""

    for name, group in {
        "status": "watch",
        "stop": "watch",
        "tidy": "watch",
        "take_vocab": "prepare",
        "encode": "prepare",
        "encode_valid": "prepare",
        "write_checkpoint": "prepare",
    }.items():
        method = getattr(Node, name)

        def same(self: Any, *args: Any, _method: Any = method) -> Any:
            return _method(self, *args)

        setattr(NodeActor, name, ray.method(concurrency_group=group)(same))
    return ray.remote(concurrency_groups={"watch": 2, "prepare": 1})(NodeActor)


def _fault(error: OSError) -> str:
    """Return what is wrong with a node's disk, and what to do."""
    name = f"{error.filename!r}: " if error.filename is not None else ""
    hint = ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "; make room there, or let --cache-dir name a folder with more, and start again"
    return f"{name}{error.strerror or error}{hint}"


class Members:
    """The nodes at work.

    Parameters
    ----------
    ray : module
        Connected.
    config : TrainConfig
        Of the run.
    wanted : int
        Nodes, at most.
    workers : int or None
        Threads of each; by default its processors.
    directory : str or None
        See `Node`.
    notice : callable
        Is told of births and deaths.
    patience : float
        See ``PATIENCE``.
    """

    def __init__(
        self,
        ray: Any,
        config: TrainConfig,
        wanted: int,
        *,
        workers: int | None,
        directory: str | None,
        notice: Notice,
        patience: float = PATIENCE,
    ) -> None:
        self.ray, self.config, self.wanted = ray, config, wanted
        self.workers, self.directory, self.notice, self.patience = workers, directory, notice, patience
        self.all: list[Member] = []
        self.deaths: list[str] = []
        self._actor = actor_class(ray)
        self._asked: dict[Member, tuple[Any, float]] = {}
        self._next_look = 0.0
        self.on_status: Callable[[], None] = lambda: None

    @property
    def living(self) -> list[Member]:
        """Those who are not known to be dead, in the order of their numbers."""
        return [member for member in self.all if member.alive]

    def assemble(self) -> None:
        """Wait until all nodes that are wanted are there; begin with those that are if that takes too long.

        Raises
        ------
        DataError
            There is none.
        """
        limit = time.monotonic() + self.patience
        while True:
            self.look()
            if len(self.living) >= self.wanted or time.monotonic() > limit:
                break
            time.sleep(0.2)
        born = self.results({member: member.actor.machine.remote() for member in self.living})
        if not born:
            reasons = "; ".join(self.deaths) or "there is none with a processor free, see ray status"
            raise DataError(f"no node of the cluster can be used: {reasons}")
        for member, machine in born.items():
            if machine["version"] != __version__:
                raise DataError(
                    f"{member.name} has version {machine['version']} of wordvec-ca, and this machine "
                    f"{__version__}: install the same one everywhere"
                )
        if len(born) < self.wanted:
            self.notice(f"{len(born)} of {self.wanted} nodes are there; the others may come later")

    def look(self) -> list[Member]:
        """Bury members whose node is gone, and start one on each node that is new; return the new ones."""
        nodes = {
            node["NodeID"]: node
            for node in self.ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        }
        for member in self.living:
            if member.node not in nodes:
                self.bury(member, "its node is gone")
        taken = {member.node for member in self.living}
        born = []
        for name, node in sorted(nodes.items(), key=lambda item: (item[1]["NodeManagerAddress"], item[0])):
            if len(self.living) >= self.wanted:
                break
            if name not in taken and self._died_early(name) < TRIES:
                born.append(self._bear(node))
        return born

    def _died_early(self, node: str) -> int:
        """Return how many members on a node have died, one after the other, and not trained anything."""
        deaths = 0
        for member in reversed([member for member in self.all if member.node == node]):
            if member.alive or member.words:
                break
            deaths += 1
        return deaths

    def _bear(self, node: Mapping[str, Any]) -> Member:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        number = len(self.all) + 1
        cpus = int(node["Resources"]["CPU"])
        workers = cpus if self.workers is None else self.workers
        actor = self._actor.options(
            num_cpus=min(cpus, workers),
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote(replace(self.config, workers=workers), secrets.token_hex(4), self.directory)
        name = f"node {number} ({node['NodeManagerAddress']})"
        member = Member(number, node["NodeID"], name, actor, workers)
        self.all.append(member)
        return member

    def bury(self, member: Member, why: str) -> None:
        """Take a member for dead, and see to it that it is."""
        if not member.alive:
            return
        member.alive = False
        self._asked.pop(member, None)
        try:
            self.ray.kill(member.actor, no_restart=True)
        except Exception:  # it is gone already, or out of reach
            pass
        self.deaths.append(f"{member.name}: {why}")
        self.notice(f"{member.name} is lost: {why}")
        if self._died_early(member.node) == TRIES:
            self.notice(
                f"{member.name} is the {TRIES}th in turn that died there at once: no other is started"
            )

    def results(
        self, calls: Mapping[Member, Any], watch: Callable[[dict[Member, Any]], None] | None = None
    ) -> dict[Member, Any]:
        """Wait for what members were asked; return the answers of those that gave one.

        Parameters
        ----------
        calls : mapping of Member to reference
            What was asked.
        watch : callable, optional
            Called now and then with what is still awaited.

        Raises
        ------
        DataError
            A member reports that the run cannot go on, as on one machine.
        """
        waiting, answers = dict(calls), {}
        try:
            while waiting:
                ready, _ = self.ray.wait(list(waiting.values()), num_returns=1, timeout=0.2)
                for member in [m for m, ref in waiting.items() if ref in ready]:
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

    def _answer(self, member: Member, ref: Any) -> tuple[Any] | None:
        """Return the answer of a call in a tuple, or None if it failed; bury a member that is dead."""
        errors = self.ray.exceptions
        try:
            return (self.ray.get(ref, timeout=self.patience),)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, errors.RayError):  # what it was to work on was on a node that is gone
                return None
            if isinstance(cause, DataError):
                where = "" if len(self.all) == 1 else f"{member.name}: "
                raise type(cause)(f"{where}{cause}") from None
            if isinstance(cause, OSError):  # of its disk: Ray's text would be a trace of the node's calls
                raise DataError(f"{member.name}: {_fault(cause)}") from None
            raise
        except errors.RayActorError as error:
            if isinstance(error, getattr(errors, "ActorUnavailableError", ())):
                return None
            born = "creation task" not in str(error)
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            self.bury(member, "its process or its node has died" if born else f"it cannot start: {lines[-1]}")
        except errors.RayError:
            pass
        return None

    def ask(self, *, now: bool = False) -> None:
        """Ask the living how far they are, once a second, and bury those who have not answered for long."""
        for member, (ref, since) in list(self._asked.items()):
            ready, _ = self.ray.wait([ref], timeout=0)
            if ready:
                del self._asked[member]
                found = self._answer(member, ref)
                if found is not None:
                    member.status = found[0]
                continue
            patience = self.patience if member.status else max(self.patience, PATIENCE_AT_BIRTH)
            if time.monotonic() - since > patience:
                self.bury(member, f"it has not answered for {patience:.0f} s")
        if now or time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_EVERY
            for member in self.living:
                if member not in self._asked:
                    self._asked[member] = member.actor.status.remote(), time.monotonic()
            self.on_status()

    def versions(self) -> dict[Member, int]:
        """Return which version of the parameters each living member has, as they say now."""
        calls = {member: member.actor.status.remote() for member in self.living}
        return {member: int(status["version"]) for member, status in self.results(calls).items()}

    def dismiss(self, run: str) -> None:
        """Let the living clear their disks, and end them."""
        living = self.living
        refs = [member.actor.tidy.remote(run) for member in living]
        if refs:
            self.ray.wait(refs, num_returns=len(refs), timeout=TIDYING)
        for member in living:
            member.alive = False
            self.ray.kill(member.actor, no_restart=True)
