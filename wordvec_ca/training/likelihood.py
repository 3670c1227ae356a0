"""Computes the log-probability of lines of text under a model, summed over predictions (Taddy 2015)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wordvec_ca import kernels
from wordvec_ca.kernels import STATS
from wordvec_ca.models import EmbeddingModel


def log_likelihoods(model: EmbeddingModel, lines: Iterable[Sequence[int]]) -> np.ndarray:
    """Return the log-probability of each line under hierarchical softmax.

    It is the sum over all predictions in the line. Each word is predicted from the words around it or, with
    skipgram, from each of these words. Words are not sub-sampled, and windows are not shrunk.
    """
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
