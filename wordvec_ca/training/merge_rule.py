"""Merges replicas of the parameters by a saturating sum of their deltas since the last merge.

N replicas start from the same parameters B and train on different text. Replica i then contains B + d_i, and
all continue from B + f * (d_1 + ... + d_N), with one factor f for each row::

    f = (1 - exp(-N x)) / (N (1 - exp(-x)))        x = curvature * learning rate * touches

A row that is seldom touched (x small) has not moved far on any replica: f is 1, and the steps are summed, as
if one replica had made them all. A row that is touched often has converged to about the same value on every
replica: f is 1 / N, and the replicas are averaged. In between, f follows from a row that covers the same
share of the remaining distance with each touch. The attention logits of places are touched by every
prediction and always averaged.

The number of touches is estimated from the counts of the words, so replicas need no communication for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.models import EmbeddingModel
from wordvec_ca.training.schedule import kept_counts

NODE_TOUCH = 0.1
"""Weight of a touch of a node of the tree. The words below a node pull it in both directions, and the root is
part of every step, so each touch covers a smaller share of the distance (docs/evidence, replicas)."""

NGRAM_TOUCH = 2.5
"""Weight of a word's touch for the rows of its n-grams, in addition to their shares. These rows move
together, and all of them move the word, so each converges when the word does."""

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


def merged_rows(
    base: NDArray[np.float32], deltas: list[NDArray[np.floating]], factors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return B + f * (d_1 + ... + d_N), for some rows; reference of ``kernels.merge_replicas``."""
    total = np.zeros_like(base)  # float32, in the order of the replicas: as in the kernel
    for delta in deltas:
        total += delta
    return base + factors[:, np.newaxis] * total
