"""Makes the pools of negatives of a run, which are larger for a larger vocabulary and replaced during the
run.

In a pool a word occurs a whole number of times. In a large vocabulary the expected count of most words in one
pool is below one, so only several pools together can give each word its frequency. The position of a chunk in
the run determines its pool, so a resumed run reads the same pools.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from wordvec_ca.kernels import POOL_DRAWS, NoisePools, noise_pool
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.schedule import kept_counts

# Number of draws in the pool of a short text.
SMALLEST_POOL = 50_000

# Smallest number of draws in a pool for each word; with fewer, most words of a large vocabulary would be
# missing.
DRAWS_PER_WORD = 2

# Mean number of times that a pool is read before the next is drawn.
#
# A word that should be drawn 20 times in a run is then in three or four pools. Reading a pool more often
# would save time, but drawing takes only about 1 % of training.
PASSES = 6

# If a word has fewer expected draws in a pool than this, rounding is too coarse for one pool to serve a
# run.
ROUNDED = 2.0


class Negatives:
    """The pools of a run; `at` returns the pool that a chunk reads.

    Attributes
    ----------
    tokens_per_pool : int
        Number of tokens for which one pool is used; for a small vocabulary, the whole run.
    plan : list of int
        Number of draws in a pool, and number of tokens for which it is used. Runs in which these differ draw
        other negatives. Empty if the model has no negatives.
    """

    def __init__(
        self,
        config: ResolvedConfig,
        counts: np.ndarray,
        n_tokens: int,
        *,
        mass: np.ndarray,
        keep: np.ndarray,
        shared_by: int,
        burst: int,
        row_bytes: int,
    ) -> None:
        drawn, draws = config.negative, pool_draws(len(counts), n_tokens)
        options: dict[str, Any] = {
            "burst": burst,
            "row_bytes": row_bytes,
            "draws": draws,
            "seed": config.seed,
        }
        total = n_tokens * config.epochs
        self.tokens_per_pool = max(1, total)
        if drawn and _least_share(mass) * draws < ROUNDED:
            per_token = drawn * kept_counts(counts, keep).sum() / max(1, counts.sum()) / shared_by
            per_token *= config.contexts() if config.spec.pairwise else 1
            # making a pool also takes time for each word, so with a short text a pool is read more often
            read = PASSES * max(draws, DRAWS_PER_WORD * len(counts))
            self.tokens_per_pool = max(1, int(read / max(per_token, 1e-9)))
        self.plan = [draws, min(self.tokens_per_pool, max(1, total))] if drawn else []
        self._pools: NoisePools | None = None
        if self.tokens_per_pool >= total:
            self._only = noise_pool(mass, drawn, **options)
        else:
            self._pools = NoisePools(mass, drawn, **options)
            self._last = (total - 1) // self.tokens_per_pool
            self._lock = threading.Lock()
            self._drawing = ThreadPoolExecutor(1)
            self._drawn: dict[int, Future[np.ndarray]] = {}

    def at(self, position: int) -> np.ndarray:
        """Return the pool for a chunk, shape (n_tuples, drawn), int32; the next one is drawn in the
        background.
        """
        if self._pools is None:
            return self._only
        number = min(position // self.tokens_per_pool, self._last)
        with self._lock:
            for n in (number, min(number + 1, self._last)):
                if n not in self._drawn:
                    self._drawn[n] = self._drawing.submit(self._pools.pool, n)
            # a slower thread may still begin a chunk of the previous pool
            for n in [n for n in self._drawn if not number - 1 <= n <= number + 1]:
                del self._drawn[n]
            pool = self._drawn[number]
        return pool.result()


def pool_draws(n_words: int, n_tokens: int) -> int:
    """Return the approximate number of draws in a pool."""
    return max(SMALLEST_POOL, min(max(POOL_DRAWS, DRAWS_PER_WORD * n_words), n_tokens))


def pool_bytes(n_words: int, n_tokens: int) -> int:
    """Return how many more bytes the pools of a large vocabulary take than one small pool."""
    if n_words < POOL_DRAWS / 4:
        return 0
    held = 5  # the order, draws by word while a pool is made, and the previous, current and next pool
    return 4 * held * pool_draws(n_words, n_tokens) + 24 * n_words


def _least_share(mass: np.ndarray) -> float:
    """Return the smallest share of draws of a word, among the words that are drawn at all."""
    drawn = mass[mass > 0]
    return float(drawn.min() / drawn.sum()) if len(drawn) else 1.0
