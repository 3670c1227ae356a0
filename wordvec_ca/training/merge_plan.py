"""Decides how often, at which learning rate and by which rule replicas merge.

N replicas start from the same parameters B and train on different text. Replica i then contains B + d_i, and
all continue from B + f * (d_1 + ... + d_N), with one factor f for each row::

    f = (1 - exp(-N x)) / (N (1 - exp(-x)))        x = curvature * learning rate * touches

A row that is seldom touched (x small) has not moved far on any replica: f is 1, and the steps are summed, as
if one replica had made them all. A row that is touched often has converged to about the same value on every
replica: f is 1 / N, and the replicas are averaged. In between, f follows from a row that covers the same
share of the remaining distance with each touch. The attention logits of places are touched by every
prediction and always averaged. The number of touches is estimated from the counts of the words, so replicas
need no communication for it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.machine import machine_memory
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, memory_bytes
from wordvec_ca.training.chunks import multiplications
from wordvec_ca.training.schedule import kept_counts

# Approximate number of merges in a run: a hundred suffice, eleven do not (docs/evidence, replicas).
MERGES = 200


@dataclass(frozen=True)
class MergePlan:
    """When and how the replicas of a run merge."""

    replicas: int  # N, the number of copies of the parameters that are trained at the same time
    # Number of merges in an epoch, at equal distances, the last one at its end; 0 with one replica
    merges_per_epoch: int
    rate: float = 1.0  # Factor by which the learning rate of replicas is multiplied
    rule: str = "saturating"  # {"saturating", "mean", "sum"}: See ``merge_rule``
    curvature: float = 0.7  # The c in x = c * learning rate * touches

    @classmethod
    def of(
        cls, config: ResolvedConfig, n_tokens: int, replicas: int, given: Mapping[str, Any] | None = None
    ) -> MergePlan:
        """Return the plan of a run."""
        if replicas == 1:
            return cls(1, 0)
        values: dict[str, Any] = {
            "merges_per_epoch": -(-(config.merges or usual_merges(config, replicas)) // config.epochs),
            "rate": config.merge_rate,
            "rule": config.merge_rule,
            **(given or {}),
        }
        if values["rate"] is None:
            values["rate"] = usual_rate(config, replicas, n_tokens / values["merges_per_epoch"] / replicas)
        return cls(replicas, **values)

    def next_merge(self, position: int, n_tokens: int) -> int:
        """Return the next token after ``position``, counted through all epochs, at which a merge is due."""
        epoch, start = divmod(position, max(1, n_tokens))
        done = start * self.merges_per_epoch // max(1, n_tokens)
        here = -(-(done + 1) * n_tokens // self.merges_per_epoch)
        return epoch * n_tokens + here

    def factors(
        self, touches: Touches, name: str, tokens: float, alpha: float, rows: slice = slice(None)
    ) -> NDArray[np.float32]:
        """Return the factors of the summed deltas of some rows."""
        x = self.curvature * alpha * tokens * touches[name][rows]
        return merge_factors(x, self.replicas, self.rule)

    def as_record(self) -> dict[str, Any]:
        """Return the plan as ``config.json`` records it."""
        return asdict(self)


# Largest number of tokens between merges with which a replica can use twice the learning rate.
SHORT = 5_000


def usual_rate(config: ResolvedConfig, replicas: int, tokens: float) -> float:
    """Return the factor of the learning rate of replicas, as measured (docs/evidence, replicas)."""
    # A mean of several replicas converges as if the rate were lower, so replicas can use a higher rate.
    # With long intervals between merges the factor must be smaller: with twice the rate a replica does not
    # converge between two merges, and with a tree not even with one and a half times the rate. cbow with
    # subwords, whose rate is high, cannot use a higher one.
    if config.subwords and config.spec.averages:
        return 1.0
    if tokens <= SHORT or (replicas > 8 and not (config.spec.attends or config.hs)):
        return 2.0
    return 1.0 if config.hs else 1.5


def usual_merges(config: ResolvedConfig, replicas: int) -> int:
    """Return how often replicas merge in a run. More than two replicas of an attention model need more
    merges.
    """
    return 3 * MERGES if config.spec.attends and replicas > 2 else MERGES


def merges_of_nodes(config: ResolvedConfig, n_words: int, n_tokens: int, nodes: int, threads: int) -> int:
    """Return how often the nodes of a cluster merge in a run: less often on a short text."""
    # The time of a merge does not depend on how much was trained since the last one, and nodes take longer
    # than the replicas of a process. On a long text nodes merge as often as replicas, since a node that
    # dies loses what it has trained since the last merge.
    usual = config.merges or usual_merges(config, nodes)
    training = config.epochs * n_tokens * multiplications(config) * MULTIPLICATION / (nodes * threads)
    affordable = MERGING * training * SENT_BYTES / memory_bytes(config, n_words)
    seldom = 4 if config.spec.pairwise else 2
    least = usual * LEAST_MERGES * nodes // MERGES if nodes <= seldom else usual
    return usual if config.merges else min(usual, max(least, int(affordable)))


# Number of threads -> seconds per token that the threads wait for each other's cache lines, with private
# rows and 100 dimensions (docs/evidence, core-traffic).
WAITING = {1: 0.0, 2: 30e-9, 4: 65e-9, 8: 140e-9}

# Seconds that the training loop takes for one multiplication.
MULTIPLICATION = 2.2e-11

# Bytes of parameters that the nodes of a cluster merge in a second, measured with 16 bits a number
# (docs/evidence, cluster).
SENT_BYTES = 0.5e9

# Largest share of the training time that nodes spend on merges, unless this allows too few merges.
MERGING = 0.15

# Smallest number of merges in a run for each node; fewer reduce quality (docs/evidence, replicas). With
# more than four nodes, or more than two of a model that takes a mean of rows, even these are too few, and
# nodes merge as often as replicas in a process.
LEAST_MERGES = 12

# Number of bytes that a thread merges in a second; more than 16 threads together are not faster.
MERGED_BYTES = 7e9

# Largest number of threads of a replica: private rows support no more.
THREADS = 8

# A run uses several replicas only if they take less than this share of the time that one replica takes.
GAIN = 0.85

# Default share of the memory that replicas may take.
MOST_MEMORY = 0.5


def most_replicas(config: ResolvedConfig) -> int:
    """Return the largest number of replicas that was measured to keep the quality of one: the loss on
    held-out text was at most .01 higher (docs/evidence, replicas).
    """
    if config.spec.averages and config.subwords:
        return 1  # two replicas lose .02, and sixteen diverge
    if config.spec.attends or (config.spec.averages and config.vector_size >= WIDE):
        return 4
    return 8 if config.spec.knows_places else 16


# Number of dimensions from which eight replicas of a model that takes a mean of rows lost .016.
WIDE = 300


def quality_warning(config: ResolvedConfig, replicas: int) -> str | None:
    """Return a warning if this number of replicas may reduce quality, else None."""
    most = most_replicas(config)
    if replicas <= most:
        return None
    return (
        f"{replicas} replicas of {config.model}: more than {most} may learn less than one; take {most} or "
        "fewer, with more threads each, or compare the loss on held-out text yourself (--valid)"
    )


def usual_replicas(config: ResolvedConfig, n_words: int, n_tokens: int) -> int:
    """Return the number of replicas of a run in one process: the number with the shortest predicted time."""
    # More replicas with fewer threads wait less for each other's cache lines, but merge for longer. More
    # than 8 workers always form several replicas if the memory suffices. There are never more than
    # `most_replicas`, unless the configuration asks for more; then a warning is given.
    workers = config.threads
    if config.replicas is not None:
        replicas = min(config.replicas, workers)
        if (warning := quality_warning(config, replicas)) is not None:
            warnings.warn(warning, stacklevel=4)
        return replicas
    if config.subwords:
        # Rows of n-grams are met in every range of the text, and merging them costs: after 3 epochs of 3 M
        # words the held-out loss of CBOW is 2.083 with one replica of 1 thread, 2.084 with one of 16, and
        # 2.097 and 2.124 with 2 and 4 replicas of one thread.
        return 1

    def fits(replicas: int) -> bool:
        return replicas > 1 and memory_bytes(config, n_words, replicas) <= MOST_MEMORY * machine_memory()

    best, least = 1, GAIN * run_seconds(config, n_words, n_tokens, 1) if workers <= THREADS else math.inf
    candidates = {min(-(-workers // threads), most_replicas(config)) for threads in WAITING}
    # fewer replicas than the usual candidates may still fit into memory
    if workers > THREADS and not any(map(fits, candidates)):
        candidates = {2, 4}
    for replicas in filter(fits, candidates):
        if (seconds := run_seconds(config, n_words, n_tokens, replicas)) < least:
            best, least = replicas, seconds
    return best


def run_seconds(config: ResolvedConfig, n_words: int, n_tokens: int, replicas: int) -> float:
    """Estimate the time of a run on as many cores as workers, to compare numbers of replicas."""
    workers = config.threads
    threads = -(-workers // replicas)
    known = [number for number in WAITING if number <= threads]
    waiting = WAITING[known[-1]] * (threads / known[-1]) * config.vector_size / 100
    token = multiplications(config) * MULTIPLICATION + waiting
    seconds = config.epochs * n_tokens * token / workers
    if replicas > 1:
        merged = (config.merges or usual_merges(config, replicas)) * memory_bytes(config, n_words, replicas)
        seconds += merged / (MERGED_BYTES * min(workers, 16))
    return seconds


# Weight of a touch of a node of the tree. The words below a node pull it in both directions, and the root
# is part of every step, so each touch covers a smaller share of the distance (docs/evidence, replicas).
NODE_TOUCH = 0.1

# Weight of a word's touch for the rows of its n-grams, in addition to their shares. These rows move
# together, and all of them move the word, so each converges when the word does.
NGRAM_TOUCH = 2.5

Touches = dict[str, NDArray[np.float64]]


def expected_touches(model: EmbeddingModel, keep: NDArray[np.uint32]) -> Touches:
    """Return how often a row is touched for each token of the text, on average."""
    config, counts = model.config, model.vocab.counts
    kept = kept_counts(counts, keep) / max(1, int(counts.sum()))
    contexts = float(config.contexts())
    noise = model.noise_mass()
    noise *= config.negative * kept.sum() / noise.sum()
    if config.spec.pairwise:
        inputs, outputs = contexts * kept, contexts * (kept + noise)
    else:
        inputs = contexts * kept
        if config.spec.averages and (config.cbow_update == "exact") == config.cbow_mean:
            inputs = kept.copy()  # each of n words in a window moves by 1 / n of the step
        outputs = kept + noise
    if config.spec.pairwise:
        outputs = outputs / config.spec.bands(config.reach)
    if model.subwords is not None:
        subwords = model.subwords
        moved = np.repeat(inputs, np.diff(subwords.offsets)) * subwords.weights
        touched = np.bincount(subwords.columns, moved, minlength=len(subwords.rows))
        inputs = np.asarray(NGRAM_TOUCH * touched, np.float64)
    touches = {
        "inputs": inputs,
        "outputs": outputs,
        "word_logits": kept / contexts,  # each of n logits moves by 1 / n of 1 / n of the step
        "slot_logits": np.full(1, np.inf),
    }
    if model.paths is not None:  # a node is touched with each word below it
        predictions = (contexts if config.spec.pairwise else 1.0) * kept
        of_paths = np.repeat(NODE_TOUCH * predictions, np.diff(model.paths.ends))
        touches["nodes"] = np.bincount(model.paths.nodes, weights=of_paths, minlength=len(counts))
    n_rows = {name: len(array) for name, array in model.learnt.items()}
    return {name: np.resize(values, n_rows[name]) for name, values in touches.items()}


def merge_factors(x: NDArray[np.float64], n: int, rule: str = "saturating") -> NDArray[np.float32]:
    """Return the factor of the sum of n deltas, for each row."""
    if rule == "saturating":
        with np.errstate(invalid="ignore", divide="ignore"):
            factors = -np.expm1(-n * x) / (-n * np.expm1(-x))  # 1 - exp(-x) loses digits for small x
        factors = np.where(x < 1e-12, 1.0, factors)  # the limit for x = 0, where the quotient is 0 / 0
    else:
        factors = np.full(x.shape, 1.0 / n if rule == "mean" else 1.0)
    return np.where(np.isinf(x), 1.0 / n, factors).astype(np.float32)
