"""Computes sub-sampling, the learning rates and the time of a run."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import Vocab
from wordvec_ca.models import ResolvedConfig, keep_probabilities

# Seconds between two progress records.
RECORD_EVERY = 1.0


def keep_thresholds(vocab: Vocab, sample: float) -> np.ndarray:
    """Return, for each word, the largest 32-bit random number with which sub-sampling keeps a token."""
    if sample <= 0:
        return np.zeros(0, np.uint32)
    keep = keep_probabilities(vocab.counts, sample, vocab.total_count)
    return np.minimum(np.floor(keep * 2.0**32), 2.0**32 - 1).astype(np.uint32)


def kept_counts(counts: NDArray[np.int64], keep: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return how often each word is trained in a pass over the text, on average: its count times the
    probability that sub-sampling keeps a token.
    """
    kept: NDArray[np.float64] = counts.astype(np.float64)
    if len(keep):
        kept *= (keep.astype(np.float64) + 1) / 2.0**32  # the loop keeps a token if its draw is <= keep
    return kept


class Schedule:
    """Learning rates as a function of the position in the run, so they do not depend on the timing of
    threads.
    """

    def __init__(self, config: ResolvedConfig, n_tokens: int) -> None:
        # the default of min_alpha may be above a very low alpha, but the rate must not rise
        self._alpha, self._min_alpha = config.alpha, min(config.min_alpha, config.alpha)
        self._total = n_tokens * config.epochs
        self._warmup = config.attention_warmup
        self._ratio = config.attention_alpha / config.alpha if config.alpha else 0.0

    def fraction(self, position: int) -> float:
        """Return the share of the run that is done at a token, which is counted through all epochs."""
        # If an epoch is longer than expected, the result stays at the share for the end of the epoch.
        return min(1.0, position / self._total) if self._total else 1.0

    def alpha(self, position: int) -> float:
        """Return the learning rate at a token; it falls linearly."""
        return self._alpha - (self._alpha - self._min_alpha) * self.fraction(position)

    def change_rates(self, alpha: float, min_alpha: float) -> None:
        """Set the learning rates at the start and the end of the run; they apply from now on."""
        self._alpha, self._min_alpha = alpha, min(min_alpha, alpha)

    def attention_rate(self, position: int) -> float:
        """Return the rate of the attention logits relative to alpha: 0 during the warm-up."""
        return 0.0 if self.fraction(position) < self._warmup else self._ratio


class Clock:
    """Training time over all sessions of a run, and when the next record is due."""

    def __init__(self, before: float) -> None:
        self._started = time.monotonic() - before  # monotonic: the system's clock may be set
        self._recorded = time.monotonic()

    @property
    def seconds(self) -> float:
        """Training time so far."""
        return time.monotonic() - self._started

    def until_record(self) -> float:
        """Return the seconds until the next record is due."""
        return self._recorded + RECORD_EVERY - time.monotonic()

    def record(self) -> None:
        """Restart the wait for the next record."""
        self._recorded = time.monotonic()
