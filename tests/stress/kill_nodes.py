"""Kill processes and nodes of a cluster at random moments, and look whether anything was lost.

    python tests/stress/kill_nodes.py --runs 20 --kills 2 --page docs/measurements/cluster-deaths.md

starts four nodes on this machine, of one processor each, and trains on made-up text: once undisturbed, then
so many times while each run loses so many processes or whole nodes, at random moments from the counting to
the saving; a node that is killed is replaced by another. After each run all words must have been merged once
in each epoch, every segment must follow the one before, the replicas must be equal, and no process may be
left. It needs ``pip install 'wordvec-ca[cluster]' psutil``.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

import ray
from node_processes import actors
from ray.cluster_utils import Cluster
from study import table, write_section

from wordvec_ca.models import TrainConfig
from wordvec_ca.training.cluster import run as cluster_run
from wordvec_ca.training.cluster import train_on_cluster
from wordvec_ca.training.cluster.driver import Driver

LINES = 16_000
CONFIG = TrainConfig(vector_size=32, epochs=3, min_count=1, alpha=0.1, workers=1)
NICENESS = "RAY_worker_niceness"

SPAN = 8.0
"""Seconds within which the kills of a run fall."""


class Machines:
    """The nodes of the cluster."""

    def __init__(self, n: int) -> None:
        os.environ[NICENESS] = "0"  # else all else on this machine comes first
        quick = {"health_check_period_ms": 1000, "health_check_failure_threshold": 3}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
        self.cluster = Cluster(initialize_head=True, head_node_args={**head, "object_store_memory": 80 << 20})
        self.nodes: list[Any] = []
        self.lock = threading.Lock()
        for _ in range(n):
            self.add()

    def add(self) -> None:
        """Start a node."""
        with self.lock:
            self.nodes.append(self.cluster.add_node(num_cpus=1, object_store_memory=80 << 20))

    def kill(self, which: float) -> None:
        """Kill a node as if its power were cut."""
        with self.lock:
            node = self.nodes.pop(int(which * len(self.nodes)))
            self.cluster.remove_node(node, allow_graceful=False)

    def replenish(self, n: int) -> None:
        """Start a node if one is missing; in the main thread, which alone may."""
        if len(self.nodes) < n:
            self.add()


class Watched(Driver):
    """A driver that is attacked while it runs, and looked at before the model is saved."""

    machines: Machines
    rng: random.Random
    kills = 0
    latest: Watched

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        type(self).latest = self
        self.digests: set[str] = set()
        self.done: list[str] = []
        self.over = False
        self.timers = [
            threading.Timer(self.rng.uniform(0, SPAN), self._strike, (self.rng.random(), self.rng.random()))
            for _ in range(self.kills)
        ]

    def _words(self, *args: Any) -> Any:
        for timer in self.timers:
            timer.start()
        return super()._words(*args)

    def _strike(self, kind: float, which: float) -> None:
        if self.over:
            return
        phase = self.phase
        if kind < 0.5:
            self.done.append(f"node while {phase}")
            self.machines.kill(which)
        elif found := actors():
            self.done.append(f"process while {phase}")
            try:
                os.kill(found[int(which * len(found))], signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _save(self, *args: Any) -> Any:
        living = [m for m in self.members.living if m.version == self.state.version]
        calls = {member: member.actor.digest.remote() for member in living}
        self.digests = set(self.members.results(calls).values())
        found = super()._save(*args)
        self.over = True
        return found


def write_text(folder: Path) -> int:
    """Write sixteen files of lines about topics; return their words."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 301)
    weights /= weights.sum()
    for i in range(16):
        topics = rng.integers(0, 10, LINES // 16)
        drawn = rng.choice(300, size=(len(topics), 15), p=weights)
        with open(folder / f"part-{i:02}.txt", "w") as file:
            for topic, line in zip(topics, drawn, strict=True):
                file.write(" ".join(f"t{topic}w{word}" for word in line) + "\n")
    return LINES // 16 * 16 * 15


def same_topic(model: Any) -> float:
    """Return the share of the 200 most frequent words whose nearest word is of the same topic."""
    rows = model.vectors.vectors / np.linalg.norm(model.vectors.vectors, axis=1, keepdims=True)
    topics = np.array([word.partition("w")[0] for word in model.vocab.words])
    nearest = (rows[:200] @ rows.T).argsort(axis=1)[:, -2]
    return float((topics[nearest] == topics[:200]).mean())


def faults(driver: Watched, words: int) -> list[str]:
    """Return what is wrong with a run that has ended."""
    wrong = []
    if driver.state.totals.tallies["words"] != CONFIG.epochs * words:
        wrong.append(f"{driver.state.totals.tallies['words']:,.0f} words were merged")
    merged = defaultdict(list)
    for epoch, (shard, begin, end) in driver.rounds.entered:
        merged[epoch, shard].append((begin, end))
    for (epoch, shard), stretches in merged.items():
        ends = [0, *(end for _, end in stretches)]
        if [begin for begin, _ in stretches] != ends[:-1] or ends[-1] != driver.state.ledger.tokens[shard]:
            wrong.append(f"the ledger of shard {shard}, epoch {epoch}")
    if len(merged) != CONFIG.epochs * len(driver.state.ledger.tokens):
        wrong.append("shards are missing in the ledger")
    if len(driver.digests) != 1:
        wrong.append("the replicas differ")
    time.sleep(1)
    if actors():
        wrong.append("a process is left")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--log", type=Path, help="rows of runs; those that are in it are not made again")
    given = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    if given.log and given.log.exists():
        rows = [tuple(line.split(" | ")) for line in given.log.read_text("utf-8").splitlines()]
    if len(rows) <= given.runs:
        measure(given, rows)
    if given.page:
        write_page(given.page, rows, given.nodes)
    print(verdict(rows, given.nodes))
    sys.exit(any(row[-1] != "nothing" for row in rows))


def measure(given: argparse.Namespace, rows: list[tuple[str, ...]]) -> None:
    """Make the runs that are missing, and add their rows."""
    cluster_run.Driver = Watched  # type: ignore[misc]
    Watched.machines = Machines(given.nodes)
    ray.init(address=Watched.machines.cluster.address, log_to_driver=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.mkdir()
        words = write_text(text)
        for number in range(len(rows), given.runs + 1):
            Watched.rng = random.Random(1000 * given.seed + number)
            Watched.kills = given.kills if number else 0
            while len(Watched.machines.nodes) < given.nodes:
                Watched.machines.add()
            began = time.monotonic()
            try:
                finished = train_on_cluster(
                    text,
                    CONFIG,
                    output=Path(folder) / f"model-{number}",
                    cluster="auto",
                    nodes=given.nodes,
                    checkpoint_every="50k",
                    merging={"merges_per_epoch": 25},
                    notice=lambda text: None,
                    callbacks=[lambda record: Watched.machines.replenish(given.nodes)],
                )
                driver = Watched.latest
                found = faults(driver, words)
                loss, share = finished.record["loss_by_epoch"][-1], f"{same_topic(finished.load()):.1%}"
            except Exception as error:
                driver, found, loss, share = (
                    Watched.latest,
                    [f"{type(error).__name__}: {error}"],
                    float("nan"),
                    "-",
                )
            for timer in driver.timers:
                timer.cancel()
                if timer.is_alive():
                    timer.join()
            seconds = time.monotonic() - began
            row = (
                str(number or "undisturbed"),
                ", ".join(driver.done) or "none",
                str(len(driver.members.deaths)),
                f"{seconds:.0f}",
                str(driver.state.totals.merges),
                f"{loss:.4f}",
                share,
                "; ".join(found) or "nothing",
            )
            rows.append(row)
            print(*row, sep=" | ", flush=True)
            if given.log:
                with given.log.open("a", encoding="utf-8") as log:
                    log.write(" | ".join(row) + "\n")
    ray.shutdown()
    Watched.machines.cluster.shutdown()


def verdict(rows: list[tuple[str, ...]], nodes: int) -> str:
    """Return what came out, in a sentence."""
    kills = sum(0 if row[1] == "none" else row[1].count(",") + 1 for row in rows)
    wrong = sum(row[-1] != "nothing" for row in rows)
    return f"{len(rows) - 1} runs of {nodes} nodes, {kills} kills: {wrong} runs with a fault."


def write_page(page: Path, rows: list[tuple[str, ...]], nodes: int) -> None:
    """Write the page."""
    columns = ("run", "killed", "nodes lost", "seconds", "merges", "loss", "same topic", "fault")
    body = f"**{verdict(rows, nodes)}**\n\n" + table(columns, rows)
    write_section(page, "Deaths in a cluster", "kills", body)


if __name__ == "__main__":
    main()
