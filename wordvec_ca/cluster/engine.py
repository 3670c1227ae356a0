"""Ray as this package uses it: which nodes there are, tasks on them, and a limit for every call.

If the GCS or a raylet hangs, a call of Ray waits in compiled code, where neither a time limit nor Ctrl-C
reaches it. Then the interpreter's own watchdog (``faulthandler``) ends the process, and ``watcher`` reports
it.
"""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from wordvec_ca._version import __version__
from wordvec_ca.cluster import tasks
from wordvec_ca.errors import DataError
from wordvec_ca.models import ResolvedConfig

T = TypeVar("T")

ANSWER = 50.0
"""Seconds within which every call of Ray returns; after that the process ends. All calls that wait for work
have a limit of their own, of a second."""

FETCH = 30.0
"""Seconds within which Ray brings a small result that is ready to the driver."""

PATIENCE = 60.0
"""Seconds to wait for nodes."""

EXAMINED = 300.0
"""Seconds within which a node must answer whether it can take part; its first process loads all libraries."""


@dataclass(eq=False)
class Node:
    """A node that takes part in a run, and what it has trained.

    Attributes
    ----------
    name : str
        For people: its number in the run and its address.
    key : str
        Ray's name.
    cpus : int
    words, seconds, training, processor : float
        Words trained, seconds by the clock of training, seconds of processors in training and in all.
    """

    name: str
    key: str
    cpus: int
    words: float = 0.0
    seconds: float = 0.0
    training: float = 0.0
    processor: float = 0.0


@dataclass(frozen=True)
class Requirements:
    """What a node must reach: the folder for checkpoints, if any are written, and some files of the text."""

    files: tuple[str, ...] = ()
    storage: str | None = None
    directory: str | None = None

    @classmethod
    def of(cls, files: Sequence[str], storage: str | None, directory: str | None) -> Requirements:
        """Require at most four files, from the first to the last."""
        return cls(tuple(files[:: -(-len(files) // 4) or 1]), storage, directory)


class Engine:
    """The nodes of a cluster, and tasks on them."""

    def __init__(
        self,
        ray: Any,
        config: ResolvedConfig,
        required: Requirements,
        notice: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        self._nowhere = open(os.devnull, "w")  # noqa: SIM115 (the watchdog needs it open until the end)
        self.ray, self.config, self.required, self.notice = ray, config, required, notice
        self.patience = patience
        self.all: list[Node] = []
        self.left_out: dict[str, str] = {}
        self.lost: list[str] = []
        self._alive: set[str] = set()
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
        self._alive = set(found)
        for node in [node for node in self.all if node.key not in found]:
            if node.key not in self.left_out:
                self.left_out[node.key] = f"{node.name}: it is gone"
                self.lost.append(self.left_out[node.key])
                self.notice(f"{node.name} is lost; others take over its part")
        known = {node.key for node in self.all} | set(self.left_out)
        # by address: the same nodes get the same numbers in each run
        for key, node in sorted(found.items(), key=lambda item: (item[1]["NodeManagerAddress"], item[0])):
            if key not in known and node["Resources"].get("CPU", 0) >= 1:
                self._examine(key, node)
        return [node for node in self.all if node.key in found and node.key not in self.left_out]

    def _examine(self, key: str, node: Mapping[str, Any]) -> None:
        if key not in self._examined:
            self._examined[key] = (
                self.call(
                    tasks.examine,
                    __version__,
                    self.config,
                    self.required.files,
                    self.required.storage,
                    self.required.directory,
                    node=key,
                    cpus=0,
                ),
                time.monotonic(),
            )
        ref, since = self._examined[key]
        name = f"node {len(self.all) + 1} ({node['NodeManagerAddress']})"
        if self.wait([ref], 0):
            try:
                why, isa = self.get(ref)
            except DataError as error:
                self.notice(f"{name} does not take part yet: {error}; it is asked again")
                del self._examined[key]
                return
            except self.ray.exceptions.RayError:  # its process has died: it is asked again
                del self._examined[key]
                return
            except Exception as error:  # another version may not even have this task
                why, isa = f"it cannot run this version: {str(error).strip().splitlines()[-1]}", None
        elif time.monotonic() - since > EXAMINED:
            why, isa = "it has not answered since its process was started", None
        else:
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

    def some(self, stopping: Callable[[], bool] = lambda: False) -> list[Node]:
        """Return the nodes that can be used; if there is none, wait for one."""
        limit = time.monotonic() + self.patience
        while not (nodes := self.nodes()):
            if time.monotonic() > limit or stopping():
                raise DataError("all nodes are lost, and no other has joined")
            time.sleep(0.2)
        return nodes

    def leave_out(self, node: Node, why: str) -> None:
        """Use a node no more."""
        if node.key not in self.left_out:
            self.left_out[node.key] = f"{node.name}: {why}"
            self.lost.append(self.left_out[node.key])
            self.notice(f"{node.name} is lost: {why}")

    # ---- tasks ----------------------------------------------------------------------------------------

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        node: Node | str,
        returns: int | str = 1,
        cpus: int | None = None,
        retries: int = 0,
    ) -> Any:
        """Start a task at a node, or elsewhere if it is gone; return the references of its results.

        Without ``retries`` Ray neither repeats the task nor makes its results again, which would go back
        through all versions: the driver begins from the version that another node has.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        name = function.__name__
        if name not in self._remote:
            self._remote[name] = self.ray.remote(function)
        key, most = (node.key, node.cpus) if isinstance(node, Node) else (node, 1)
        options = {
            "num_returns": returns,
            "num_cpus": min(self.config.threads, most) if cpus is None else cpus,
            "max_retries": retries,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(key, soft=True),
        }
        if returns == "streaming":  # what is not fetched yet takes memory
            options["_generator_backpressure_num_objects"] = 4
        return self._within(self._remote[name].options(**options).remote, *args)

    def wait(self, refs: Sequence[Any], seconds: float = 1.0, *, fetch: bool = False) -> set[Any]:
        """Return those results that are there, or have failed, within some seconds."""
        refs = list(refs)
        return set(
            self._within(self.ray.wait, refs, num_returns=len(refs), timeout=seconds, fetch_local=fetch)[0]
        )

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
            try:
                self._within(self.ray.cancel, ref, force=True)
            except (self.ray.exceptions.RayError, ValueError, TypeError):
                pass

    def results(self, refs: Sequence[Any], watch: Callable[[], None] = lambda: None) -> list[Any]:
        """Wait for tasks that Ray repeats by itself; return their first results."""
        waiting = set(refs)
        while waiting:
            waiting -= self.wait(list(waiting))
            self.some()
            watch()
        return [self.get(ref) for ref in refs]
