"""The costs of the driver of a run on a cluster, with 1, 8, 64 and 256 simulated nodes.

    python scripts/cluster_simulation.py --nodes 1,8,64,256 --words 10

The driver, its ledger and its checkpoints are the real ones. Ray is replaced by a cluster in this process,
whose nodes answer at once, with answers as large as those of real nodes: a vocabulary of ten million words,
counts in 128 parts, the shards of 100 billion words. So only the driver is measured. ``--ray`` measures what
Ray adds: the processor time of the driver for the calls of one merge, with as many references as in a run on
this number of nodes.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))
from study import parser, table, write_section

from wordvec_ca._version import __version__
from wordvec_ca.cluster import driver as driver_module
from wordvec_ca.cluster.driver import Driver
from wordvec_ca.cluster.node import Trained
from wordvec_ca.cluster.request import ClusterRequest
from wordvec_ca.cluster.shards import SHARDS_PER_NODE, Encoded, Shard
from wordvec_ca.corpus import CorpusStats
from wordvec_ca.models import ResolvedConfig, TrainConfig, memory_bytes

MERGES = 20
"""Merges of a simulated run; a real one has about 200."""

TOKENS = 100_000_000_000
"""Tokens of the simulated text."""

PARTS = 128
"""Parts into which a hash divides the counts."""

DISTINCT = 3_000  # different counts in each part

PART_BYTES = 32 << 20
"""Bytes of one part of the counts of a shard; a batch has at least three such parts."""


class _Ref:
    """A reference to an answer that already exists."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Node:
    """A node that answers at once; its answers lack the arrays that the driver never reads."""

    def __init__(self, tally: Counter[str], n_words: int, width: int) -> None:
        self.tally, self.n_words, self.width, self.version, self.nodes = tally, n_words, width, -1, 1

    def examine(self, *args: Any) -> dict[str, Any]:
        content = None if args[1] is None else Path(args[1]).read_bytes()
        found = {"clock": time.time(), "isa": "avx512", "disk": None, "text": None, "storage": content}
        return {"version": __version__, **found}

    def status(self) -> dict[str, Any]:
        return {"birth": "b", "pid": 1, "version": self.version, "activity": "training", "trained": 0,
                "bytes_read": 0, "processor": 0.0}  # fmt: skip

    def count(self, shard: Shard) -> Any:
        return [PART_BYTES * (i + 1) for i in range(PARTS)], CorpusStats(raw_tokens=shard.size, lines=1)

    def parts_of(self, shards: Any, begin: int, end: int) -> Any:
        return [b""] * (end - begin)

    def reduce_parts(self, *of_nodes: Any) -> Any:
        counts = np.arange(1, DISTINCT + 1, dtype=np.int64)
        return [(counts, counts[::-1].copy()) for _ in of_nodes[0].value], []

    def frequent(self, least: int, parts: Any) -> Any:
        return []

    def gather(self, *parts: Any) -> Any:
        return self.n_words, np.full(15 * self.n_words, 65, np.uint8)

    def encode(self, shard: Shard) -> Any:
        stats = CorpusStats(raw_tokens=shard.size, kept_tokens=shard.size, lines=1)
        return Encoded(shard.size, stats, "0123456789abcdef0123456789abcdef")

    def begin(self, *args: Any) -> Any:
        self.version = 0
        return {"isa": "avx512", "drawn": 5, "shared_by": 4, "n_private": 64, "merge_every": 1}

    def train(self, version: int, segments: Any, *args: Any) -> Any:
        words = sum(end - begin for _, begin, end in segments)
        return Trained(list(segments), {"words": words, "loss": 2.0 * words, "examples": words}, 1.0, 16.0)

    def slices(self, begin: int, end: int, parts: int) -> Any:
        self.nodes = end - begin
        return [None] * (end - begin)

    def reduce(self, *args: Any) -> Any:
        return None

    def apply(self, version: int, *merged: Any) -> Any:
        self.version = version
        message = 2 * self.n_words * (self.width + 2)  # of all rows: a byte for each number, and a scale
        return 2 * (self.nodes - 1) * message // self.nodes

    def shapes(self) -> Any:
        return {"inputs": (self.n_words, self.width), "outputs": (self.n_words, self.width)}

    def write_checkpoint(self, storage: Any, name: str, state: dict[str, Any]) -> Any:
        began = time.process_time()
        self.tally["bytes of state"] = len(json.dumps(state))
        self.tally["ms of state"] = round(1000 * (time.process_time() - began))
        return 0

    def save(self, *args: Any) -> Any:
        return [("config.json", 2)]

    def read_saved(self, *args: Any) -> Any:
        return b"{}"

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


class _Call:
    """A method of a simulated node, called like the method of an actor."""

    def __init__(self, ray: _Ray, node: _Node, name: str, returns: int = 1) -> None:
        self.ray, self.node, self.name, self.returns = ray, node, name, returns

    def options(self, *, num_returns: int) -> _Call:
        return _Call(self.ray, self.node, self.name, num_returns)

    def remote(self, *args: Any) -> Any:
        self.ray.tally["calls"] += 1
        self.ray.tally["references"] += sum(isinstance(arg, _Ref) for arg in args) + self.returns
        answer = getattr(self.node, self.name)(*args)
        return _Ref(answer) if self.returns == 1 else [_Ref(one) for one in answer]


class _Actor:
    """A handle of a simulated node."""

    def __init__(self, ray: _Ray, node: _Node) -> None:
        self._ray, self._node = ray, node

    def __getattr__(self, name: str) -> _Call:
        return _Call(self._ray, self._node, name)


class _Ray:
    """The part of the module ``ray`` that the driver uses."""

    def __init__(self, nodes: int, n_words: int, width: int) -> None:
        self.tally: Counter[str] = Counter()
        self.n_words, self.width = n_words, width
        nothing = type("Nothing", (Exception,), {})
        self.exceptions = SimpleNamespace(RayTaskError=nothing, RayActorError=nothing, RayError=nothing)
        self._nodes = [
            {"NodeID": f"{i:056x}", "NodeManagerAddress": f"10.0.{i // 256}.{i % 256}", "Alive": True,
             "Resources": {"CPU": 16.0}}
            for i in range(nodes)
        ]  # fmt: skip

    def nodes(self) -> list[dict[str, Any]]:
        self.tally["looks"] += 1
        return [dict(node) for node in self._nodes]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: self._nodes[0]["NodeID"])

    def method(self, **options: Any) -> Any:
        return lambda function: function

    def remote(self, **options: Any) -> Any:
        def make(*args: Any) -> _Actor:
            return _Actor(self, _Node(self.tally, self.n_words, self.width))

        def with_options(**options: Any) -> Any:
            return SimpleNamespace(remote=make)

        return lambda actor: SimpleNamespace(options=with_options)

    def put(self, value: Any) -> _Ref:
        return _Ref(value)

    def wait(self, refs: list[_Ref], *, num_returns: int = 1, **options: Any) -> Any:
        self.tally["waits"] += 1
        return refs[:num_returns], refs[num_returns:]

    def get(self, ref: _Ref, *, timeout: float | None = None) -> Any:
        self.tally["gets"] += 1
        value = ref.value
        self.tally["bytes fetched"] += (
            value.nbytes if isinstance(value, np.ndarray) else len(pickle.dumps(value))
        )
        return value

    def kill(self, *args: Any, **options: Any) -> None:
        pass


class Observed(Driver):
    """A driver that records the processor time and the tallies at the end of each phase."""

    tally: Counter[str]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "phase":
            now = time.process_time(), Counter(self.tally)
            if (before := self.__dict__.get("phase")) is not None:
                self.__dict__.setdefault("spent", {})[before] = (
                    now[0] - self.__dict__["since"][0],
                    now[1] - self.__dict__["since"][1],
                )
            self.__dict__["since"] = now
        super().__setattr__(name, value)


def resident() -> float:
    """Return the peak memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def simulate(nodes: int, n_words: int) -> dict[str, Any]:
    """Run the driver with a number of simulated nodes; return the time, memory and calls that it took."""
    config = ResolvedConfig.of(TrainConfig(model="skipgram", vector_size=300, epochs=1, workers=16))
    ray = _Ray(nodes, n_words, 304)
    Observed.tally = ray.tally

    @contextlib.contextmanager
    def connected(*args: Any) -> Iterator[Any]:
        yield ray

    driver_module.connected = connected  # type: ignore[assignment]
    n_shards = SHARDS_PER_NODE * nodes
    with tempfile.TemporaryDirectory() as folder:
        request = ClusterRequest(
            config=config, files=tuple(f"s3://text/{i:06}" for i in range(n_shards)), valid=(),
            shards=tuple(Shard(i, (f"s3://text/{i:06}",), TOKENS // n_shards) for i in range(n_shards)),
            output=f"{folder}/model", storage=f"{folder}/run", cluster="auto", nodes=nodes,
            overwrite=False, cache_dir=None, checkpoint_every="10G",
            merging={"merges_per_epoch": MERGES}, patience=60.0,
        )  # fmt: skip
        lease: Any = SimpleNamespace(check=lambda **options: None)
        before = resident()
        driver = Observed(request, [], lease, lambda text: None)
        driver.run(None)
        driver.phase = "ended"
    training, tallies = driver.spent["training"]
    return {
        "nodes": nodes,
        "memory": resident() - before,
        "counting": driver.spent["counting"][0],
        "fetched while counting": driver.spent["counting"][1]["bytes fetched"],
        "encoding": driver.spent["encoding"][0],
        "merge": training / MERGES,
        "calls": tallies["calls"] / MERGES,
        "references": tallies["references"] / MERGES,
        "waits": (tallies["waits"] + tallies["gets"]) / MERGES,
        "fetched": tallies["bytes fetched"] / MERGES,
        "state": ray.tally["bytes of state"],
        "ms": ray.tally["ms of state"],
        "sent": driver.state.totals.bytes_moved / MERGES / nodes,
    }


def with_ray(nodes: int) -> dict[str, Any]:
    """Make with Ray the calls of a merge of ``nodes`` nodes, all on one actor; return the driver's time."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    class Nothing:
        def slices(self, parts: int) -> Any:
            return [None] * parts if parts > 1 else None

        def reduce(self, *slices: Any) -> None:
            pass

    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    actor = ray.remote(Nothing).remote()
    ray.get(actor.reduce.remote())
    began, clock = time.process_time(), time.monotonic()
    merged = []
    for _ in range(2):  # portions of the rows, as of every large model
        slices = [actor.slices.options(num_returns=nodes).remote(nodes) for _ in range(nodes)]
        slices = [one if isinstance(one, list) else [one] for one in slices]
        merged += [actor.reduce.remote(*[one[i] for one in slices]) for i in range(nodes)]
    applied = [actor.reduce.remote(*merged) for _ in range(nodes)]
    ray.wait(applied, num_returns=nodes)
    found = {"nodes": nodes, "cpu": time.process_time() - began, "seconds": time.monotonic() - clock}
    found["memory"] = resident()
    ray.shutdown()
    return found


def main() -> None:
    """Run the simulations, each in a process of its own, and write the section."""
    asked = parser(__doc__, "cluster-plan")
    asked.add_argument(
        "--nodes", type=lambda text: [int(n) for n in text.split(",")], default=[1, 8, 64, 256]
    )
    asked.add_argument("--words", type=float, default=10.0, help="millions of words of the vocabulary")
    asked.add_argument("--ray", action="store_true", help="measure what Ray adds")
    asked.add_argument("--one", type=int, help="simulate so many nodes in this process, and print a record")
    options = asked.parse_args()
    if options.one is not None:
        made = with_ray(options.one) if options.ray else simulate(options.one, int(options.words * 1e6))
        print("RECORD", json.dumps(made))
        return
    started, found = time.monotonic(), []
    for nodes in options.nodes:
        command = [sys.executable, __file__, "--one", str(nodes), "--words", str(options.words)]
        done = subprocess.run(
            command + ["--ray"] * options.ray, capture_output=True, text=True, check=True
        ).stdout
        found.append(json.loads(done.rpartition("RECORD")[2]))
        print(found[-1], flush=True)
    seconds = time.monotonic() - started
    title = "Plan: a thousand cores, 100 billion words"
    if options.ray:
        rows = [
            (f["nodes"], f"{4 * f['nodes'] ** 2 + 2 * f['nodes']:,}", f"{f['cpu']:.2f}",
             f"{f['seconds']:.2f}", f"{f['memory']:.0f}")
            for f in found
        ]  # fmt: skip
        columns = ("nodes", "references", "processor, s", "clock, s", "driver's memory, MB")
        write_section(options.page, title, "ray", table(columns, rows), seconds)
        return
    config = ResolvedConfig.of(TrainConfig(model="skipgram", vector_size=300, workers=1))
    whole = memory_bytes(config, int(options.words * 1e6))
    rows = [
        (
            f["nodes"],
            f"{f['memory']:.0f}",
            f"{f['counting']:.2f}",
            f"{f['fetched while counting'] / 1e6:.0f}",
            f"{f['encoding']:.2f}",
            f"{1000 * f['merge']:.0f}",
            f"{f['calls']:.0f}",
            f"{f['references']:,.0f}",
            f"{f['waits']:.0f}",
            f"{f['fetched'] / 1e3:.0f}",
            f"{f['sent'] / 1e9:.1f}",
            f"{f['state'] / 1e3:.0f}",
            f["ms"],
        )
        for f in found
    ]
    columns = (
        "nodes", "memory, MB", "counting, s", "fetched, MB", "encoding, s", "a merge, ms", "calls",
        "references", "questions", "fetched, kB", "sent by a node, GB", "state, kB", "state, ms",
    )  # fmt: skip
    note = (
        f"The driver alone, {options.words:g} M words, 300 dimensions ({whole / 1e9:.1f} GB of parameters), "
        f"{SHARDS_PER_NODE} shards for each node. Seconds are of the processor. The columns from *a merge* "
        "to *sent by a node* are of one merge; *state* is what a checkpoint holds besides parameters."
    )
    write_section(options.page, title, "simulation", note + "\n\n" + table(columns, rows), seconds)


if __name__ == "__main__":
    main()
