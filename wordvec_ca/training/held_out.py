"""Computes the loss on held-out text with the training loop at learning rate 0."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from wordvec_ca.corpus import LiveTokens, TokenStream
from wordvec_ca.kernels import STATS, noise_pool
from wordvec_ca.training.chunks import CHUNK_TOKENS, chunks_of
from wordvec_ca.training.replica import Replica
from wordvec_ca.training.unordered_lines import in_random_order


def held_out_loss(
    replica: Replica,
    text: np.ndarray | TokenStream | LiveTokens,
    stopping: Callable[[], bool] = lambda: False,
) -> float:
    """Return the mean loss per prediction on a text, in nats; nan if there is none.

    Words are not sub-sampled, and each prediction has its own negatives, which are the same in every call. So
    losses can be compared between all settings of a model.
    """
    model, config = replica.model, replica.config
    hyper, shared = model.hyper(), model.shared
    pool = noise_pool(model.noise_mass(), config.negative, draws=500_000)
    rng, stats = np.array([1, 0], np.uint64), np.zeros(len(STATS))
    everything = np.zeros(0, np.uint32)
    chunks = chunks_of(text, CHUNK_TOKENS)
    try:
        while not stopping() and (chunk := chunks.next()) is not None:
            tokens = chunk.tokens
            if config.window == "all":
                tokens = in_random_order(tokens, [chunk.index])
            replica.kernel(hyper, tokens, everything, pool, shared, rng, stats, model.paths)
    finally:
        chunks.close()
    return mean(stats, "loss", "examples")


def mean(tallies: np.ndarray, total: str, number: str) -> float:
    """Return one tally divided by another; nan if the divisor is 0."""
    n = tallies[STATS.index(number)]
    return float(tallies[STATS.index(total)] / n) if n else math.nan
