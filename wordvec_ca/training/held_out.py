"""Losses and probabilities of text, from the training loop at learning rate 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from wordvec_ca import kernels
from wordvec_ca.corpus import LiveTokens, TokenStream
from wordvec_ca.kernels import STATS, noise_pool
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.training.chunks import CHUNK_TOKENS, chunks_of, in_random_order
from wordvec_ca.training.replica import Replica


def held_out_loss(
    replica: Replica,
    text: np.ndarray | TokenStream | LiveTokens,
    stopping: Callable[[], bool] = lambda: False,
) -> float:
    """Return the mean loss per prediction on a text, in nats; nan if there is none."""
    # Words are not sub-sampled, and each prediction has its own negatives, which are the same in every
    # call. So losses can be compared between all settings of a model.
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


def log_likelihoods(model: EmbeddingModel, lines: Iterable[Sequence[int]]) -> np.ndarray:
    """Return the log-probability of each line under hierarchical softmax."""
    # It is the sum over all predictions in the line. Each word is predicted from the words around it or,
    # with skipgram, from each of these words. Words are not sub-sampled, and windows are not shrunk.
    if model.paths is None:
        raise ValueError("only a model with hierarchical softmax gives probabilities of lines: train with hs")
    train_chunk = kernels.load(model.config.backend)
    hyper = model.hyper()
    hyper["drawn"] = hyper["shrink_windows"] = 0
    hyper["alpha_begin"] = hyper["alpha_end"] = 0.0  # runs the training loop at a learning rate of 0
    nothing, no_pool = np.zeros(0, np.uint32), np.zeros((1, 0), np.int32)
    found = []
    for line in lines:
        tokens = np.array([*line, -1], np.int32)
        rng, stats = np.zeros(2, np.uint64), np.zeros(len(STATS))
        train_chunk(hyper, tokens, nothing, no_pool, model.shared, rng, stats, model.paths)
        found.append(-stats[STATS.index("loss")])
    return np.array(found)
