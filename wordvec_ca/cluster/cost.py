"""What a run will cost on 1, 2, 4, ... nodes, before it starts: time, memory, disk, bytes to move."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.connection import connected
from wordvec_ca.cluster.engine import Engine, Node
from wordvec_ca.cluster.preparation import count_words
from wordvec_ca.cluster.request import ClusterOptions, parse_patience
from wordvec_ca.cluster.rounds import plan_of_replicas, slices_of
from wordvec_ca.cluster.shards import Words, shards_of, text_of
from wordvec_ca.cluster.tasks import Common
from wordvec_ca.corpus import CorpusStats, Vocab
from wordvec_ca.files import absolute_name
from wordvec_ca.models import ResolvedConfig, TrainConfig, memory_bytes, parameter_shapes
from wordvec_ca.showable import duration, size
from wordvec_ca.text import find_files
from wordvec_ca.training import most_replicas, quality_warning

WORTH = 0.5
"""Efficiency below which more nodes are not advised: half of the paid time would be idle."""

SHORT = 3600.0
"""Seconds on one node below which a cluster is not advised."""

OVERHEAD = 500_000_000
"""Bytes that Ray's processes, the libraries and the pool of negatives take, as measured (docs/evidence,
cluster-rounds)."""

COPIES, WORD_BYTES = 3.1, 200
"""Copies of the parameters in memory, and bytes for each word, as measured. The copies are those that a task
trains, the version in Ray's object store, in 8 bits a number what is sent, received and merged, and parts of
the next version."""

SENT = 64 << 20
"""Bytes that nodes send each other to measure the network."""


@dataclass(frozen=True)
class Cost:
    """What a run costs on a given number of nodes."""

    nodes: int
    # starting, reading, training, merging: Seconds: the text is read twice, to count its words and to encode
    # it.
    starting: float
    reading: float
    training: float
    merging: float
    # Bytes that each node sends in the run; it receives as many.
    sent: int
    # memory, disk: Bytes on each node.
    memory: int
    disk: int
    # The time of one node, divided by that of these nodes together.
    efficiency: float

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        return self.starting + self.reading + self.training + self.merging


@dataclass(frozen=True)
class Speed:
    """What was measured on the nodes, with the words of the run."""

    # training, reading: Words per second of one node while it trains, and while it reads the text.
    training: float
    reading: float
    # Bytes per second from one node to another in a merge; None with one node.
    network: float | None
    # Seconds of a node's own work in a merge.
    merging: float
    # Seconds until the nodes were ready.
    starting: float = 0.0
    # Threads of each node.
    threads: int = 1


@dataclass(frozen=True)
class ClusterPlan:
    """What a run will need, and on how many nodes it is best done."""

    config: ResolvedConfig
    # The text, counted exactly.
    stats: CorpusStats
    n_words: int
    speed: Speed
    costs: list[Cost]
    # Number of nodes that is advised.
    advised: int
    why: str


def sent_in_merge(config: ResolvedConfig, n_words: int, nodes: int) -> float:
    """Return how many bytes each node sends in a merge, at most: in 8 bits instead of 32, and with a scale of
    two bytes for each row, first the slices of what it has learnt, without its own, then to each other node
    the slice that it has merged.

    Rows that have not changed are left out, and are counted here.
    """
    scales = 2 * sum(rows for rows, _ in parameter_shapes(config, n_words).values())
    message = memory_bytes(config, n_words, threads=1) / 4 + scales
    return 2 * (nodes - 1) / nodes * message


def costs(
    config: ResolvedConfig, speed: Speed, stats: CorpusStats, n_words: int, numbers: Sequence[int]
) -> list[Cost]:
    """Work out what a run costs on these numbers of nodes.

    A merge moves `sent_in_merge` out of each node and as much into it. That does not depend on the length of
    the text, so long runs scale better than short ones.
    """
    parameters = memory_bytes(config, n_words, threads=1)
    tokens = stats.kept_tokens + stats.lines
    found: list[Cost] = []
    for n in numbers:
        merges = plan_of_replicas(config, n_words, tokens, n, speed.threads).merges_per_epoch * config.epochs
        sent = int(merges * sent_in_merge(config, n_words, n))
        cost = Cost(
            nodes=n,
            starting=speed.starting,
            reading=2 * stats.raw_tokens / (n * speed.reading),
            training=stats.kept_tokens * config.epochs / (n * speed.training),
            merging=(sent / speed.network if speed.network else 0.0) + merges * speed.merging,
            sent=sent,
            memory=int((COPIES if n > 1 else 2.0) * parameters) + WORD_BYTES * n_words + OVERHEAD,
            disk=8 * tokens // n,
            efficiency=1.0,
        )
        first = found[0] if found else cost
        found.append(replace(cost, efficiency=first.seconds * first.nodes / (n * cost.seconds)))
    return found


def advice(found: Sequence[Cost]) -> tuple[int, str]:
    """Return how many nodes to use, and why."""
    if found[0].seconds < SHORT:
        return (
            1,
            f"one node needs {duration(found[0].seconds)}: a cluster is not worth its trouble below an hour",
        )
    worth = [cost for cost in found if cost.efficiency >= WORTH]
    best = min(worth, key=lambda cost: cost.seconds)
    if best.nodes == 1:
        return 1, "with more nodes over half the paid time would go to network traffic"
    if best.nodes == found[-1].nodes:
        return best.nodes, f"each of them does {best.efficiency:.0%} of the work that it would do alone"
    return best.nodes, f"with more nodes less than {WORTH:.0%} of the paid time would be training"


def plan_on_cluster(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    config: TrainConfig | None = None,
    options: ClusterOptions | None = None,
    *,
    vocab: Vocab | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    notice: Callable[[str], None] = lambda text: None,
) -> ClusterPlan:
    """Count the corpus on the nodes, measure them and the network, and work out what a run costs.

    Nothing is written. Parameters and errors as in ``train_on_cluster``.
    """
    config = ResolvedConfig.of(config or TrainConfig(), on_cluster=True)
    options = options or ClusterOptions()
    nodes = options.nodes
    if (warning := quality_warning(config, nodes)) is not None:
        notice(warning)
    given = [corpus] if isinstance(corpus, str | os.PathLike) else list(corpus)
    files = [absolute_name(name) for name in find_files(given)]
    directory, started = None if cache_dir is None else os.fspath(cache_dir), time.monotonic()
    patience = parse_patience(options.storage_patience)
    with connected(options.cluster, nodes, config.workers) as ray:
        engine = Engine(ray, config, (files, None, directory), notice, options.patience)
        there = engine.assemble(nodes)[:nodes]
        threads = config.workers or min(node.cpus for node in there)
        engine.config = one = replace(config, workers=threads)
        common = Common(f"plan-{secrets.token_hex(4)}", one, Words(0, 0, 0), 1, directory, patience)
        began = time.monotonic()
        counted, text, stats = count_words(engine, common, shards_of(files, len(there), config.seed))
        reading = stats.raw_tokens / max(1e-3, time.monotonic() - began) / len(there)
        words = counted.read(engine.get(text))
        kept = words.total_count
        if vocab is not None:
            kept = sum(n for w, n in zip(words.words, words.counts.tolist(), strict=True) if w in vocab)
            words, text = vocab, engine.put(text_of(vocab))
        stats = replace(stats, raw_types=words.raw_types, kept_tokens=kept)
        common = replace(common, words=Words.of(words), slices=slices_of(one, len(words), len(there)))

        def on_all(function: Callable[..., Any], *args: Any) -> list[Any]:
            """Return what a task finds on each node; the last argument may have a value for each."""

            def start(i: int, _: Sequence[Node]) -> tuple[Node, list[Any]]:
                own = [arg[i] if isinstance(arg, list) else arg for arg in args]
                return there[i], engine.call(function, *own, node=there[i], retries=2)

            done = engine.run(range(len(there)), start)
            return [done[i] for i in range(len(there))]

        measured = [found for *_, found in on_all(tasks.measure, common, text, kept + stats.lines)]
        network = math.inf
        for _ in range(3 if len(there) > 1 else 0):  # the fastest of three
            data = [refs[0] for _, refs, _ in on_all(tasks.payload, SENT)]
            began_sending = time.monotonic()
            on_all(tasks.fetched, data[-1:] + data[:-1])
            network = min(network, time.monotonic() - began_sending)
    speed = Speed(
        training=min(words_per_second for words_per_second, _ in measured),
        reading=reading,
        network=None if math.isinf(network) else SENT / network,
        merging=max(seconds for _, seconds in measured),
        starting=began - started,
        threads=threads,
    )
    found = costs(
        config, speed, stats, len(words), sorted({nodes, *(2**i for i in range(12) if 2**i <= nodes)})
    )
    advised, why = advice([cost for cost in found if cost.nodes <= most_replicas(config)])
    return ClusterPlan(config, stats, len(words), speed, found, advised, why)


def describe_cluster_plan(plan: ClusterPlan) -> str:
    """Return the plan as text for people."""
    config, stats, speed = plan.config, plan.stats, plan.speed
    network = "-" if speed.network is None else f"{speed.network * 8 / 1e9:.2f} Gbit/s from node to node"
    lines = [
        f"model       {config.model}, {config.vector_size} dimensions, window {config.window}, "
        f"{config.epochs} epochs",
        f"text        {stats.raw_tokens:,} tokens, {stats.raw_types:,} types, {stats.files:,} files",
        f"vocabulary  {plan.n_words:,} words",
        f"a node      {speed.threads} threads: trains {speed.training / 1e6:.2f} M words/s, reads "
        f"{speed.reading / 1e6:.2f} M words/s, {speed.merging * 1000:.0f} ms of work in a merge, as just "
        "measured",
        f"network     {network} in a merge, as just measured",
        "",
        "nodes  time        starting  reading  training  merging   efficiency  sent by each  memory    disk",
    ]
    for cost in plan.costs:
        lines.append(
            f"{cost.nodes:5}  {duration(cost.seconds):<10}  {duration(cost.starting):<8}  "
            f"{duration(cost.reading):<7}  "
            f"{duration(cost.training):<8}  {duration(cost.merging):<8}  {cost.efficiency:10.0%}  "
            f"{size(cost.sent):<12}  {size(cost.memory):<8}  {size(cost.disk)}"
        )
    if (warning := quality_warning(config, plan.costs[-1].nodes)) is not None:
        lines += ["", f"quality     {warning}"]
    lines += ["", f"advice      {plan.advised} node{'s' if plan.advised > 1 else ''}: {plan.why}"]
    return "\n".join(lines)
