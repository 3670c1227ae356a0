"""Kill and stop processes and nodes of a cluster in each phase, and check that nothing was lost.

    python tests/stress/kill_nodes.py --runs 40 --kills 3 --page docs/measurements/cluster-deaths.md

starts four nodes on this machine, of one processor each, and trains on made-up text: once undisturbed, then
``--runs`` times, where each run loses ``--kills`` nodes, each in another phase and in one of three ways: a
node dies with all its processes, the process that works there dies, or it hangs (it is stopped, does not
answer, and is given up). A node that dies is replaced by another. After each run all words must have been
merged once in each epoch, every segment must follow the one before, the replicas must be equal, and no
process may be left. It needs ``pip install 'wordvec-ca[cluster]' psutil``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

import ray
from node_processes import actors
from ray.cluster_utils import Cluster
from study import logged_rows, table, write_section

from wordvec_ca.cluster import ClusterOptions, round_checkpoints, rounds, train_on_cluster
from wordvec_ca.cluster import run as cluster_run
from wordvec_ca.cluster.driver import Driver
from wordvec_ca.models import TrainConfig

LINES = 16_000
CONFIG = TrainConfig(vector_size=32, epochs=3, min_count=1, alpha=0.1, workers=1)
NICENESS = "RAY_worker_niceness"

PHASES = {
    "counting": 2.0,
    "encoding": 1.0,
    "training": 4.0,
    "merging": 0.1,
    "checkpoint": 0.1,
    "saving": 0.3,
}
"""Phase -> seconds from its beginning within which something is killed."""

WAYS = ("node", "process", "hang")
"""What may happen: a node dies, its process dies, its process is stopped and does not answer."""

FIRST_MERGES = 5
"""Number of merges without an interruption before something is killed in a merge or a checkpoint."""

PATIENCE = 20.0
"""Seconds after which a node that does not answer is given up."""


class Machines:
    """The nodes of the cluster."""

    def __init__(self, n: int) -> None:
        os.environ[NICENESS] = "0"  # Ray's default lets every other process go first
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
        """Start a node if one is missing. Only the main thread may do this."""
        if len(self.nodes) < n:
            self.add()


class Lines:
    """Writes the lines about nodes, and knows the longest time without one."""

    def __init__(self) -> None:
        self.longest, self._last = 0.0, time.monotonic()

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        self.longest, self._last = max(self.longest, now - self._last), now
        print(f"    {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Count the time since the last line."""
        self.longest = max(self.longest, time.monotonic() - self._last)


class Watched(Driver):
    """A driver that reports when a phase begins, and compares the replicas when the model is saved."""

    latest: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        Watched.latest = self
        self.digests: set[str] = set()
        super().__init__(*args, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "phase":
            self.entered(value)

    def entered(self, phase: str) -> None:
        """Called at the beginning of a phase; merges and checkpoints after the first ones are phases too."""

    def _fetch(self, *args: Any) -> bool:
        living = [m for m in self.members.living if m.version == self.state.version]
        calls = {member: member.actor.digest.remote() for member in living}
        self.digests = set(self.members.results(calls).values())
        return super()._fetch(*args)


def watch_merges() -> None:
    """Make merges and checkpoints phases of the latest driver."""
    attempt, write = rounds.Rounds._attempt, round_checkpoints.Checkpointing._write

    def attempted(these: rounds.Rounds, *args: Any) -> bool:
        if these.state.version >= FIRST_MERGES:
            Watched.latest.entered("merging")
        return attempt(these, *args)

    def written(these: round_checkpoints.Checkpointing, *args: Any) -> None:
        write(these, *args)
        Watched.latest.entered("checkpoint")

    rounds.Rounds._attempt = attempted  # type: ignore[method-assign]
    round_checkpoints.Checkpointing._write = written  # type: ignore[method-assign]


class Attacked(Watched):
    """A driver that loses nodes while it runs."""

    machines: Machines
    rng: random.Random
    plan: tuple[tuple[str, str], ...] = ()
    """What is to happen: a phase and a way."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.done: list[str] = []
        self.over = False
        self.timers: list[threading.Timer] = []
        self.stopped: list[int] = []
        self.left = [(*strike, self.rng.randrange(12)) for strike in self.plan]
        super().__init__(*args, **options)

    def entered(self, phase: str) -> None:
        """Set a timer for each planned loss in this phase; of merges and checkpoints not always the first."""
        for i, (when, way, wait) in enumerate(self.left):
            if when != phase:
                continue
            if phase == "merging" and wait:
                self.left[i] = (when, way, wait - 1)
                continue
            self.left[i] = ("", way, 0)
            after, which = self.rng.uniform(0, PHASES[phase]), self.rng.random()
            self.timers.append(threading.Timer(after, self._strike, (phase, way, which)))
            self.timers[-1].start()

    def _strike(self, phase: str, way: str, which: float) -> None:
        if self.over:
            return
        if phase not in ("merging", "checkpoint"):  # for the driver these belong to training
            phase = self.phase
        found = [process for process in actors() if process not in self.stopped]
        if way == "node":
            self.done.append(f"node while {phase}")
            self.machines.kill(which)
        elif found:
            self.done.append(f"{way} while {phase}")
            process = found[int(which * len(found))]
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP if way == "hang" else signal.SIGKILL)
                self.stopped += [process] if way == "hang" else []

    def _save(self, *args: Any) -> Any:
        found = super()._save(*args)
        self.over = True
        return found

    def end(self) -> None:
        """Cancel what is still planned, and end processes that were stopped but not given up by the run."""
        self.over = True
        for timer in self.timers:
            timer.cancel()
            if timer.is_alive():
                timer.join()
        for process in set(self.stopped) & set(actors()):
            os.kill(process, signal.SIGKILL)


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
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--log", type=Path, help="rows of runs; those that are in it are not made again")
    given = parser.parse_args()
    rows = logged_rows(given.log)
    if len(rows) <= given.runs:
        measure(given, rows)
    if given.page:
        section = "kills" if given.ways == ",".join(WAYS) else f"kills, {given.ways}"
        write_page(given.page, section, rows, given.nodes)
    print(verdict(rows, given.nodes))
    sys.exit(any(row[-1] != "nothing" for row in rows))


def measure(given: argparse.Namespace, rows: list[tuple[str, ...]]) -> None:
    """Do the runs that are missing, and add their rows."""
    watch_merges()
    cluster_run.Driver = Attacked  # type: ignore[misc]
    Attacked.machines = Machines(given.nodes)
    ray.init(address=Attacked.machines.cluster.address, log_to_driver=False, logging_level="ERROR")
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.mkdir()
        words = write_text(text)
        for number in range(len(rows), given.runs + 1):
            Attacked.rng = rng = random.Random(1000 * given.seed + number)
            phases = [list(PHASES)[(given.kills * number + i) % len(PHASES)] for i in range(given.kills)]
            Attacked.plan = tuple((phase, rng.choice(given.ways.split(","))) for phase in phases if number)
            while len(Attacked.machines.nodes) < given.nodes:
                Attacked.machines.add()
            row = (
                str(number or "undisturbed"),
                *one_run(text, Path(folder) / f"model-{number}", words, given.nodes),
            )
            rows.append(row)
            print(*row, sep=" | ", flush=True)
            if given.log:
                with given.log.open("a", encoding="utf-8") as log:
                    log.write(" | ".join(row) + "\n")
    ray.shutdown()
    Attacked.machines.cluster.shutdown()


def one_run(text: Path, output: Path, words: int, nodes: int) -> tuple[str, ...]:
    """Train once; return what was killed, and how the run ended."""
    lines, began = Lines(), time.monotonic()
    loss, share = float("nan"), "-"
    try:
        finished = train_on_cluster(
            text,
            CONFIG,
            ClusterOptions(cluster="auto", nodes=nodes, merging={"merges_per_epoch": 25}, patience=PATIENCE),
            output=output,
            checkpoint_every="50k",
            notice=lines,
            callbacks=[lambda record: Attacked.machines.replenish(nodes)],
        )
        lines.end()
        driver = Watched.latest
        driver.end()
        found = faults(driver, words)
        loss, share = finished.record["loss_by_epoch"][-1], f"{same_topic(finished.load()):.1%}"
    except Exception as error:
        lines.end()
        driver, found = Watched.latest, [f"{type(error).__name__}: {error}"]
        driver.end()
    return (
        ", ".join(driver.done) or "none",
        str(len(driver.members.deaths)),
        f"{time.monotonic() - began:.0f}",
        f"{lines.longest:.0f}",
        str(driver.state.totals.merges),
        f"{loss:.4f}",
        share,
        "; ".join(found) or "nothing",
    )


def verdict(rows: list[tuple[str, ...]], nodes: int) -> str:
    """Return the outcome of all runs, in a sentence."""
    kills = sum(map(len, map(strikes, rows)))
    wrong, longest = sum(row[-1] != "nothing" for row in rows), max(int(row[4]) for row in rows)
    return (
        f"{len(rows) - 1} runs of {nodes} nodes, {kills} deaths: {wrong} with a fault; never quiet for "
        f"more than {longest} s."
    )


def strikes(row: tuple[str, ...]) -> list[str]:
    """Return what happened in a run, in words."""
    return [] if row[1] == "none" else row[1].split(", ")


def write_page(page: Path, section: str, rows: list[tuple[str, ...]], nodes: int) -> None:
    """Write the page: how many deaths there were in each phase, and all runs."""
    happened = Counter(strike for row in rows for strike in strikes(row))
    counts = [
        (phase, *(happened[f"{way} while {phase}"] for way in WAYS))
        for phase in PHASES
        if any(happened[f"{way} while {phase}"] for way in WAYS)
    ]
    columns = ("run", "lost", "nodes lost", "seconds", "longest silence, s", "merges", "loss", "same topic",
               "fault")  # fmt: skip
    body = f"**{verdict(rows, nodes)}**\n\n" + table(("while", "a node", "its process", "it hangs"), counts)
    write_section(page, "Deaths in a cluster", section, body + "\n\n" + table(columns, rows))


if __name__ == "__main__":
    main()
