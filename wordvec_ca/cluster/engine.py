"""Ray as this package uses it: which nodes there are, jobs on them, and a limit for every call.

If the GCS or a raylet hangs, a call of Ray waits in compiled code, where neither a time limit nor Ctrl-C
reaches it. Then the interpreter's own watchdog (``faulthandler``) ends the process, and
``connection.watched`` reports it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from wordvec_ca._version import __version__
from wordvec_ca.cluster import tasks
from wordvec_ca.errors import DataError
from wordvec_ca.models import ResolvedConfig

T = TypeVar("T")
J = TypeVar("J", bound=Hashable)

ANSWER = 50.0
"""Seconds within which every call of Ray returns; after that the process ends. All calls that wait for work
have a limit of their own, of a second."""

FETCH = 30.0
"""Seconds within which Ray brings a small result that is ready to the driver."""

PATIENCE = 60.0
"""Seconds to wait for nodes."""

EXAMINED = 300.0
"""Seconds within which a node must answer whether it can take part; its first process loads all libraries."""

LATE = 4.0
"""A job is late if it takes ``patience`` seconds longer than this many times what all jobs should take,
judged by the first half of them."""

TRIES = 8
"""So often jobs may fail before the run ends."""


class Stopped(Exception):
    """The user ends the run while it waits for jobs."""


class Lost(Exception):
    """What jobs were to work on is gone with its nodes."""


@dataclass(eq=False)
class Node:
    """A node that takes part in a run, and what it has trained."""

    # For people: its number in the run and its address.
    name: str
    # Ray's name.
    key: str
    cpus: int
    # Words trained.
    words: float = 0.0


class Engine:
    """The nodes of a cluster, and tasks on them."""

    def __init__(
        self,
        ray: Any,
        config: ResolvedConfig,
        required: tuple[Any, ...],
        notice: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        """``required`` are the last arguments of ``tasks.examine``."""
        self._nowhere = open(os.devnull, "w")  # noqa: SIM115 (the watchdog needs it open until the end)
        self.ray, self.config, self.required, self.notice = ray, config, required, notice
        self.patience = patience
        self.watch: Callable[[str], None] = lambda doing: None
        self.all: list[Node] = []
        self.left_out: dict[str, str] = {}
        self._examined: dict[str, tuple[Any, float]] = {}
        self._isa: set[str | None] = set()
        self._remote: dict[str, Any] = {}
        self._home: str = self._within(ray.get_runtime_context().get_node_id)

    def _within(self, call: Callable[..., T], *args: Any, **options: Any) -> T:
        """Return the result of a call of Ray, and end the process if it takes too long."""
        faulthandler.dump_traceback_later(ANSWER, exit=True, file=self._nowhere)
        try:
            return call(*args, **options)
        finally:
            faulthandler.cancel_dump_traceback_later()

    # ---- nodes ----------------------------------------------------------------------------------------

    def nodes(self) -> list[Node]:
        """Return the nodes that can be used now, in the order in which they joined; examine new ones."""
        found = {node["NodeID"]: node for node in self._within(self.ray.nodes) if node["Alive"]}
        if self._home not in found:
            raise DataError("Ray has died on this machine (its raylet has ended)")
        for node in self.all:
            if node.key not in found:
                self.leave_out(node, "it is gone")
        known = {node.key for node in self.all} | set(self.left_out)
        # by address: the same nodes get the same numbers in each run
        for key, node in sorted(found.items(), key=lambda item: (item[1]["NodeManagerAddress"], item[0])):
            if key not in known and node["Resources"].get("CPU", 0) >= 1:
                self._examine(key, node)
        return [node for node in self.all if node.key in found and node.key not in self.left_out]

    def _examine(self, key: str, node: Mapping[str, Any]) -> None:
        if key not in self._examined:
            args = __version__, self.config, *self.required
            # no processor: the node may be busy with a run of somebody else
            self._examined[key] = self.call(tasks.examine, *args, node=key, cpus=0)[0], time.monotonic()
        ref, since = self._examined[key]
        name = f"node {len(self.all) + 1} ({node['NodeManagerAddress']})"
        why: str | None = "it has not answered since its process was started"
        isa = None
        if self.wait([ref], 0):
            try:
                why, isa = self.get(ref)
            except (DataError, self.ray.exceptions.RayError) as error:
                # its process has died, or the server of its text does not answer: it is asked again
                if isinstance(error, DataError):
                    self.notice(f"{name} does not take part yet: {error}; it is asked again")
                del self._examined[key]
                return
            except Exception as error:  # another version may not even have this task
                why = f"it cannot run this version: {str(error).strip().splitlines()[-1]}"
        elif time.monotonic() - since <= EXAMINED:
            return
        if why is not None:
            self.left_out[key] = f"{name}: {why}"
            self.notice(f"{name} is left out: {why}")
            return
        self.all.append(Node(name, key, int(node["Resources"]["CPU"])))
        self._isa.add(isa)
        if len(self._isa) > 1:
            self.notice(f"{name} has another instruction set: a repeated run may give other bits")

    def assemble(self, wanted: int) -> list[Node]:
        """Wait for so many nodes, and begin with fewer if they do not come."""
        limit = time.monotonic() + self.patience
        while len(nodes := self.nodes()) < wanted:
            waiting = set(self._examined) - {node.key for node in self.all} - set(self.left_out)
            if not waiting and (time.monotonic() > limit or (self.left_out and not nodes)):
                break
            time.sleep(0.1)
        if not nodes:
            reasons = (
                "; ".join(self.left_out.values()) or "there is none with a processor free, see ray status"
            )
            raise DataError(f"no node of the cluster can be used: {reasons}")
        if len(nodes) < wanted:
            self.notice(f"{len(nodes)} of {wanted} nodes have joined; others may join later")
        return nodes

    def some(self) -> list[Node]:
        """Return the nodes that can be used; if there is none, wait for one."""
        limit = time.monotonic() + self.patience
        while not (nodes := self.nodes()):
            if time.monotonic() > limit:
                raise DataError("all nodes are lost, and no other has joined")
            time.sleep(0.2)
        return nodes

    def leave_out(self, node: Node, why: str) -> None:
        """Use a node no more."""
        if node.key not in self.left_out:
            self.left_out[node.key] = f"{node.name}: {why}"
            self.notice(f"{node.name} is lost: {why}")

    # ---- tasks ----------------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        node: Node | str,
        returns: int = 1,
        cpus: int | None = None,
        retries: int = 0,
    ) -> list[Any]:
        """Start a task at a node, or elsewhere if it is gone; return the references of its results.

        Without ``retries`` Ray neither repeats the task nor makes its results again, which would go back
        through all versions: the driver begins from the version that another node has.
        """
        most = node.cpus if isinstance(node, Node) else 1
        cpus = min(self.config.threads, most) if cpus is None else cpus
        refs = self._start(function, args, node, num_returns=returns, num_cpus=cpus, max_retries=retries)
        return [refs] if returns == 1 else list(refs)

    def stream(self, function: Callable[..., Any], *args: Any, node: Node) -> Any:
        """Start a task that yields; return the iterator of its references."""
        # what is not fetched yet takes memory
        options = {"num_returns": "streaming", "_generator_backpressure_num_objects": 4}
        return self._start(function, args, node, **options, num_cpus=1, max_retries=0)

    def _start(
        self, function: Callable[..., Any], args: Sequence[Any], node: Node | str, **options: Any
    ) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        name, key = function.__name__, node.key if isinstance(node, Node) else node
        if name not in self._remote:  # Ray sends the function once
            self._remote[name] = self.ray.remote(function)
        at = NodeAffinitySchedulingStrategy(key, soft=True)
        return self._within(self._remote[name].options(**options, scheduling_strategy=at).remote, *args)

    def wait(self, refs: Sequence[Any], seconds: float = 1.0) -> set[Any]:
        """Return those results that are there, or have failed, within some seconds."""
        refs = list(refs)
        options = {"num_returns": len(refs), "timeout": seconds, "fetch_local": False}
        return set(self._within(self.ray.wait, refs, **options)[0])

    def get(self, ref: Any) -> Any:
        """Return a result that is there; an error that the task has raised is raised as it was."""
        try:
            return self._within(self.ray.get, ref, timeout=FETCH)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, OSError):  # of a disk
                named = "" if cause.filename is None else f"{cause.filename!r}: "
                raise DataError(f"{named}{cause.strerror or cause}") from None
            if isinstance(cause, MemoryError):
                raise DataError("the memory of a node is full") from None
            if cause is None or isinstance(cause, self.ray.exceptions.RayError):
                raise  # what it was to work on was on a node that is gone
            raise cause from None  # not a fault of Ray: to repeat the task would not help

    def put(self, value: Any) -> Any:
        """Return the reference of a value that the driver keeps."""
        return self._within(self.ray.put, value)

    def drop(self, refs: Sequence[Any]) -> None:
        """End tasks whose results nobody needs any more."""
        for ref in refs:
            with contextlib.suppress(self.ray.exceptions.RayError):  # it may have ended by itself
                self._within(self.ray.cancel, ref, force=True)

    def run(
        self,
        jobs: Sequence[J],
        start: Callable[[J, Sequence[Node]], tuple[Node, list[Any]]],
        nodes: Callable[[], Sequence[Node]] | None = None,
        *,
        doing: str = "",
        sizes: Sequence[float] = (),
        patience: float = 0.0,
        again: bool = True,
        stopping: Callable[[], bool] = lambda: False,
    ) -> dict[J, tuple[Node, list[Any], Any]]:
        """Run jobs; return the node, the references and the first result of each.

        ``start`` starts a job's task at one of the nodes. A job whose process or node dies is started again
        if ``again``, and is left out of the result otherwise. A node that is late by more than ``patience``
        and the engine's own is used no more.
        """
        done: dict[J, tuple[Node, list[Any], Any]] = {}
        at_work: dict[J, tuple[Node, list[Any]]] = {}
        size, failed = dict(zip(jobs, sizes or [1.0] * len(jobs), strict=True)), set[J]()
        began, tries, half, why = time.monotonic(), 0, math.inf, ""
        while len(done) < len(jobs) - len(failed):
            there = (nodes or self.some)()
            for job in jobs:
                if job not in done and job not in at_work and job not in failed:
                    at_work[job] = start(job, there)
            ready = self.wait([refs[-1] for _, refs in at_work.values()])
            for job in [job for job, (_, refs) in at_work.items() if refs[-1] in ready]:
                node, refs = at_work.pop(job)
                try:
                    done[job] = node, refs, self.get(refs[0])
                except self.ray.exceptions.RayError as error:
                    why = str(error).strip().splitlines()[-1]
                    failed |= set() if again else {job}
            if not ready <= {refs[-1] for _, refs, _ in done.values()}:
                if again and (tries := tries + 1) > TRIES:
                    raise DataError(f"tasks failed {tries} times: {why}")
                self.notice("a task was lost with its process or node, and is repeated")
                time.sleep(0.2)  # meanwhile Ray may notice that a node is gone
            if stopping():
                self.drop([refs[0] for _, refs in at_work.values()])
                raise Stopped
            # Files differ in size, and half of the work says how long all of it should take.
            share = sum(size[job] for job in done) / sum(size.values())
            half = min(half, (time.monotonic() - began) / share if share >= 0.5 else math.inf)
            limit = self.patience + patience + LATE * half
            if at_work and time.monotonic() - began > limit:
                late = {node for node, _ in at_work.values()}
                if len(self.nodes()) > len(late):  # if all are late, the storage may be the cause
                    for node in late:
                        self.leave_out(node, f"it has not answered for {limit:.0f} s")
                self.drop([refs[0] for _, refs in at_work.values()])
                failed |= set() if again else set(at_work)
                at_work.clear()
                began, half = time.monotonic(), math.inf
            if at_work:
                self.watch(f"{doing}: {len(done)} of {len(jobs)}, on {len(there)} nodes")
        return done
