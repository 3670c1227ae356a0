"""What a run will cost on 1, 2, 4, ... nodes, before it starts: time, memory, disk, bytes to move."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.connection import connected
from wordvec_ca.cluster.engine import Engine, Requirements
from wordvec_ca.cluster.options import ClusterOptions
from wordvec_ca.cluster.preparation import count_words
from wordvec_ca.cluster.request import parse_patience
from wordvec_ca.cluster.rounds import plan_of_replicas, slices_of
from wordvec_ca.cluster.shards import shards_of
from wordvec_ca.cluster.tasks import Common
from wordvec_ca.cluster.words import Words, text_of
from wordvec_ca.corpus import CorpusStats, Vocab
from wordvec_ca.files import absolute_name
from wordvec_ca.models import ResolvedConfig, TrainConfig, memory_bytes, parameter_shapes
from wordvec_ca.specs.quantities import duration, size
from wordvec_ca.text import find_files
from wordvec_ca.training import most_replicas, quality_warning

WORTH = 0.5
"""Efficiency below which more nodes are not advised: half of the paid time would be idle."""

SHORT = 3600.0
"""Seconds on one node below which a cluster is not advised."""

OVERHEAD = 300_000_000
"""Bytes that the interpreter, Ray's worker, the libraries and the pool of negatives take."""

COPIES = 2.5
"""Copies of the parameters in memory, at most: those that a task trains, the version in Ray's object store,
and in 8 bits a number what is sent, received and merged; then a part of the next version."""

SENT = 64 << 20
"""Bytes that nodes send each other to measure the network."""


@dataclass(frozen=True)
class Cost:
    """What a run costs on a given number of nodes.

    Attributes
    ----------
    nodes : int
    starting, reading, training, merging : float
        Seconds: the text is read twice, to count its words and to encode it.
    sent : int
        Bytes that each node sends in the run; it receives as many.
    memory, disk : int
        Bytes on each node.
    efficiency : float
        The time of one node, divided by that of these nodes together.
    """

    nodes: int
    starting: float
    reading: float
    training: float
    merging: float
    sent: int
    memory: int
    disk: int
    efficiency: float

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        return self.starting + self.reading + self.training + self.merging


@dataclass(frozen=True)
class ClusterPlan:
    """What a run will need, and on how many nodes it is best done.

    Attributes
    ----------
    config : ResolvedConfig
    stats : CorpusStats
        The text, counted exactly.
    n_words : int
    words_per_second : float
        Words per second of one node, measured there with these words.
    reading_words_per_second : float
        Words per second of one node while it reads the text.
    network : float or None
        Bytes per second from one node to another in a merge, measured; None with one node.
    merge_seconds : float
        Seconds of a node's own work in a merge, measured.
    starting_seconds : float
        Seconds until the nodes were ready, measured.
    threads : int
        Threads of each node.
    costs : list of Cost
    advised : int
        Number of nodes that is advised.
    why : str
    """

    config: ResolvedConfig
    stats: CorpusStats
    n_words: int
    words_per_second: float
    reading_words_per_second: float
    network: float | None
    merge_seconds: float
    starting_seconds: float
    threads: int
    costs: list[Cost]
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
    config: ResolvedConfig,
    *,
    n_words: int,
    raw_words: int,
    words: int,
    lines: int,
    words_per_second: float,
    reading_words_per_second: float,
    network: float | None,
    merge_seconds: float,
    numbers: Sequence[int],
    starting_seconds: float = 0.0,
    threads: int = 1,
) -> list[Cost]:
    """Work out what a run costs on this number of nodes.

    A merge moves `sent_in_merge` out of each node and as much into it. That does not depend on the length of
    the text, so long runs scale better than short ones.
    """
    parameters = memory_bytes(config, n_words, threads=1)
    found: list[Cost] = []
    for n in numbers:
        plan = plan_of_replicas(config, n_words, words + lines, n, threads)
        merges = plan.merges_per_epoch * config.epochs
        sent = int(merges * sent_in_merge(config, n_words, n))
        moving = sent / network if network and n > 1 else 0.0
        reading = 2 * raw_words / (n * reading_words_per_second)
        training = words * config.epochs / (n * words_per_second)
        merging = moving + merges * merge_seconds * (n > 1)
        seconds = starting_seconds + reading + training + merging
        first = found[0] if found else None
        efficiency = 1.0 if first is None else first.seconds * first.nodes / (n * seconds)
        found.append(
            Cost(
                nodes=n,
                starting=starting_seconds,
                reading=reading,
                training=training,
                merging=merging,
                sent=sent,
                memory=int((COPIES if n > 1 else 2.0) * parameters) + OVERHEAD,
                disk=8 * (words + lines) // n,
                efficiency=efficiency,
            )
        )
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
    with ExitStack() as stack:
        ray = stack.enter_context(connected(options.cluster, nodes, config.workers))
        engine = Engine(ray, config, Requirements.of(files, None, directory), notice, options.patience)
        found_nodes = engine.assemble(nodes)[:nodes]
        at_work = len(found_nodes)
        threads = config.workers or min(node.cpus for node in found_nodes)
        engine.config = one = replace(config, workers=threads)
        common = Common(
            f"plan-{secrets.token_hex(4)}",
            one,
            Words(0, 0, 0),
            1,
            directory,
            parse_patience(options.storage_patience),
        )
        began = time.monotonic()
        starting = began - started
        counted, stats = count_words(engine, common, shards_of(files, at_work, config.seed), lambda: None)
        reading = stats.raw_tokens / max(1e-3, time.monotonic() - began) / at_work
        words = counted.words.read(engine.get(counted.text))
        kept = words.total_count
        if vocab is not None:
            kept = sum(n for w, n in zip(words.words, words.counts.tolist(), strict=True) if w in vocab)
            words = vocab
        common = replace(common, words=Words.of(words), slices=slices_of(one, len(words), at_work))
        text, n_tokens = engine.put(text_of(words)), kept + stats.lines
        measured = engine.results(
            [engine.call(tasks.measure, common, text, n_tokens, node=node, retries=2) for node in found_nodes]
        )
        speed, merge_seconds = min(each[0] for each in measured), max(each[1] for each in measured)
        network = _network(engine)
    numbers = sorted({1, nodes, *(2**i for i in range(12) if 2**i <= nodes)})
    found = costs(
        config,
        n_words=len(words),
        raw_words=stats.raw_tokens,
        words=kept,
        lines=stats.lines,
        words_per_second=speed,
        reading_words_per_second=reading,
        network=network,
        merge_seconds=merge_seconds,
        numbers=numbers,
        starting_seconds=starting,
        threads=threads,
    )
    advised, why = advice([cost for cost in found if cost.nodes <= most_replicas(config)])
    return ClusterPlan(
        config=config,
        stats=replace(stats, raw_types=words.raw_types, kept_tokens=kept),
        n_words=len(words),
        words_per_second=speed,
        reading_words_per_second=reading,
        network=network,
        merge_seconds=merge_seconds,
        starting_seconds=starting,
        threads=threads,
        costs=found,
        advised=advised,
        why=why,
    )


def _network(engine: Engine) -> float | None:
    """Return the bytes per second out of each node and into it, the fastest of three; None for one node."""
    nodes = engine.some()
    if len(nodes) < 2:
        return None
    fastest = math.inf
    for _ in range(3):
        data = [engine.call(tasks.payload, SENT, node=node, retries=2) for node in nodes]
        engine.wait(data, 60.0)
        began = time.monotonic()
        engine.results(
            [engine.call(tasks.fetched, data[i - 1], node=node, retries=2) for i, node in enumerate(nodes)]
        )
        fastest = min(fastest, time.monotonic() - began)
    return SENT / fastest


def describe_cluster_plan(plan: ClusterPlan) -> str:
    """Return the plan as text for people."""
    config, stats = plan.config, plan.stats
    network = "-" if plan.network is None else f"{plan.network * 8 / 1e9:.2f} Gbit/s from node to node"
    rows = [
        (
            "model",
            f"{config.model}, {config.vector_size} dimensions, window {config.window}, "
            f"{config.epochs} epochs",
        ),
        ("text", f"{stats.raw_tokens:,} tokens, {stats.raw_types:,} types, {stats.files:,} files"),
        ("vocabulary", f"{plan.n_words:,} words"),
        (
            "a node",
            f"{plan.threads} threads: trains {plan.words_per_second / 1e6:.2f} M words/s, reads "
            f"{plan.reading_words_per_second / 1e6:.2f} M words/s, {plan.merge_seconds * 1000:.0f} ms of "
            "work in a merge, as just measured",
        ),
        ("network", f"{network} in a merge, as just measured"),
    ]
    lines = [f"{name:<11} {value}" for name, value in rows]
    lines += [
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
