"""A Ray cluster of some nodes on this machine, and an S3 server beside it."""

import importlib.util
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faulty_s3 import FaultyS3


@pytest.fixture(scope="session")
def faulty_s3():
    """An S3 server for tests and nodes alike, with a bucket named ``bucket``."""
    pytest.importorskip("moto")
    pytest.importorskip("s3fs")
    with FaultyS3() as server:
        yield server


@pytest.fixture(scope="session")
def s3(request):
    """The URL of the bucket; None without moto and s3fs."""
    if not all(importlib.util.find_spec(name) for name in ("moto", "s3fs")):
        return None
    request.getfixturevalue("faulty_s3")
    return "s3://bucket"


@dataclass
class Machines:
    """The nodes of the cluster, of one processor each; the head has none and does no work."""

    cluster: Any
    nodes: dict[str, Any] = field(default_factory=dict)

    def add(self, path: Path | None = None) -> None:
        """Start a node; its workers find Python modules in a folder first."""
        found = None if path is None else {"PYTHONPATH": str(path)}
        node = self.cluster.add_node(num_cpus=1, object_store_memory=80 << 20, env_vars=found)
        self.nodes[node.node_id] = node

    def kill(self, node: str) -> None:
        """Let a node's processes vanish as if its power were cut."""
        self.cluster.remove_node(self.nodes.pop(node), allow_graceful=False)

    def have(self, n: int) -> None:
        """Start nodes until there are n, and wait until Ray knows that dead nodes are dead."""
        import ray

        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        for node in set(self.nodes) - alive:  # a test may have ended a process without which it cannot live
            self.kill(node)
        while len(self.nodes) > n:
            self.cluster.remove_node(self.nodes.popitem()[1], allow_graceful=True)
        while len(self.nodes) < n:
            self.add()
        for _ in range(300):
            alive = {x["NodeID"] for x in ray.nodes() if x["Alive"] and x["Resources"].get("CPU")}
            if alive == set(self.nodes):
                return
            time.sleep(0.1)
        raise AssertionError("a node that was killed is still taken for alive")


@pytest.fixture(scope="session")
def machines(s3):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'wordvec-ca[cluster]'")
    from ray.cluster_utils import Cluster

    quick = {
        "health_check_initial_delay_ms": 1000,
        "health_check_period_ms": 500,
        "health_check_timeout_ms": 2000,
        "health_check_failure_threshold": 3,
    }
    head = {
        "num_cpus": 0,
        "object_store_memory": 80 << 20,
        "include_dashboard": False,
        "_system_config": quick,
    }
    os.environ.update(RAY_worker_niceness="0")  # Ray's default lets every other process go first
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", namespace="cawv")
    try:
        yield Machines(cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """Nine files of lines, in which certain words occur together."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("text")
    weights = 1 / np.arange(1, 301)
    for i in range(9):
        topics = rng.integers(0, 10, 700)
        drawn = rng.choice(300, size=(700, 15), p=weights / weights.sum())
        lines = [
            " ".join(f"t{topic}w{word}" for word in line) for topic, line in zip(topics, drawn, strict=True)
        ]
        (folder / f"part-{i}.txt").write_text("\n".join(lines) + "\n")
    return folder
