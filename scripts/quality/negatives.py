"""Whether negatives are drawn in proportion in a run with millions of words, and what the pools cost.

    python scripts/quality/negatives.py --words 1,3,10 --tokens 1000

The vocabulary is made up: the i-th word occurs 1 / i times as often as the first, and at least 5 times.
Chunks read the pools as in training, from a random place on, but nothing is trained, so a run of a billion
words takes a minute. All draws of the run are compared with the expectation.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, say, table, values, write_section

from wordvec_ca.kernels import POOL_DRAWS, NoisePools, noise_mass, noise_pool
from wordvec_ca.models import ResolvedConfig, TrainConfig
from wordvec_ca.training.chunks import CHUNK_TOKENS
from wordvec_ca.training.negatives import PASSES, Negatives, pool_draws

KEPT = 0.5
"""Share of the tokens that sub-sampling keeps."""

MODELS = "cbow", "skipgram"

NS_PER_DRAW = 300.0
"""Nanoseconds of processor time that training takes for each draw; the cost of pools is compared with it.

It is about right for both models at 100 dimensions with 300,000 words, on Zen 4; more words take longer.
"""

ENOUGH = 20
"""A word whose expected number of draws in the run is at least this must not be missing."""


def made_up(n_words: int, n_tokens: int) -> np.ndarray:
    """Return counts by Zipf's law, the rarest 5."""
    counts = 1 / np.arange(1, n_words + 1)
    return np.maximum(5, counts / counts.sum() * n_tokens).astype(np.int64)


def run(counts: np.ndarray, n_tokens: int, model: str) -> dict[str, float]:
    """Read the pools of a run; return how the draws compare with their expectation, and the time."""
    config = ResolvedConfig.of(TrainConfig(model=model, epochs=1))
    shared_by = config.sharing()
    keep = np.full(len(counts), KEPT * 2**32, np.uint32)
    mass = noise_mass(counts, config.ns_exponent)
    pools = Negatives(
        config,
        counts,
        n_tokens,
        mass=mass,
        keep=keep,
        shared_by=shared_by,
        burst=1 if shared_by > 1 else 2,
        row_bytes=448,
    )
    size = pools.at(0).shape[0]
    per_token = KEPT / shared_by * (config.contexts() if config.spec.pairwise else 1)
    drawn, rng, n_pools = np.zeros(len(counts)), np.random.default_rng(1), 0
    for begin in range(0, n_tokens, pools.tokens_per_pool):
        n_chunks = -(-min(pools.tokens_per_pool, n_tokens - begin) // CHUNK_TOKENS)
        pool = pools.at(begin)
        starts = rng.integers(0, size, n_chunks)
        reads = np.zeros(2 * size + 1, np.int64)  # how often each tuple is read
        np.add.at(reads, starts, 1)
        np.add.at(reads, starts + min(size, int(per_token * CHUNK_TOKENS)), -1)
        reads = np.cumsum(reads[:-1])
        reads = reads[:size] + reads[size:]
        drawn += np.bincount(pool.ravel(), np.repeat(reads, pool.shape[1]), len(counts))
        n_pools += 1
    first, later = seconds_of_pools(counts, pool_draws(len(counts), n_tokens))
    expected = drawn.sum() * mass / mass.sum()
    bands = np.array_split(np.arange(len(counts)), 10)
    enough = expected >= ENOUGH
    one = np.bincount(noise_pool(mass, 5).ravel(), minlength=len(counts))
    return {
        "pools": n_pools,
        "draws": pool.size,
        "drawn": drawn.sum(),
        "band": max(abs(drawn[band].sum() / expected[band].sum() - 1) for band in bands),
        "missing": int((drawn[enough] == 0).sum()),
        "enough": int(enough.sum()),
        "far": float(np.percentile(np.abs(drawn[expected >= 100] / expected[expected >= 100] - 1), 99)),
        "missing before": float((one == 0).mean()),
        "first": first,
        "cost": 1e9 * (n_pools - 1) * later / drawn.sum() / NS_PER_DRAW,
    }


def seconds_of_pools(counts: np.ndarray, draws: int) -> tuple[float, float]:
    """Return the processor time that the first pool takes, and a later one."""
    began = time.process_time()
    pools = NoisePools(noise_mass(counts), 5, draws=draws)
    pools.pool(0)
    first = time.process_time() - began
    pools.pool(1)
    return first, time.process_time() - began - first


def main() -> None:
    """Run all sizes and models, and write the section."""
    options = parser(__doc__, "negatives")
    options.add_argument("--words", default="1,3,10", help="millions of words of the vocabularies")
    options.add_argument("--tokens", type=float, default=1_000, help="millions of tokens of the text")
    parsed = options.parse_args()
    n_tokens, began, rows = int(parsed.tokens * 1e6), time.monotonic(), []
    for n_words in values(parsed.words, float):
        counts = made_up(int(n_words * 1e6), n_tokens)
        for model in MODELS:
            found = run(counts, int(counts.sum()), model)
            say(f"{n_words:g} M words, {model}: {found}")
            rows.append(
                (
                    f"{n_words:g}",
                    model,
                    f"{found['drawn'] / 1e6:,.0f}",
                    f"{found['draws'] / 1e6:.0f}",
                    f"{found['pools']:,.0f}",
                    f"{found['band']:.2%}",
                    f"{found['missing']:,} of {found['enough']:,}",
                    f"{found['far']:.0%}",
                    f"{found['missing before']:.0%}",
                    f"{found['first']:.1f}",
                    f"{found['cost']:.1%}",
                )
            )
    columns = (
        "M words", "model", "drawn in the run, M", "a pool, M", "pools", "worst of ten bands",
        f"never drawn, of words that should be {ENOUGH} times", "99 % of the words within",
        f"missing in one pool of {POOL_DRAWS // 10**6} M", "first pool, s", "later pools, of training",
    )  # fmt: skip
    note = (
        f"Text of {parsed.tokens:,.0f} M tokens, one epoch, of which sub-sampling keeps half; made-up counts "
        f"by Zipf's law. A pool is read {PASSES} times. *Worst of ten bands*: tenths of the vocabulary by "
        "frequency, draws against their expectation. *Within*: of the words that should be drawn 100 times "
        "or more, how far 99 % are from that at most; chance alone, in draws that do not know of each other, "
        f"gives 26 % for 100. *Of training*: processor time, at {NS_PER_DRAW:.0f} ns of training a draw."
    )
    write_section(
        parsed.page, "Negatives in large vocabularies", "proportion", note + "\n\n" + table(columns, rows),
        time.monotonic() - began,
    )  # fmt: skip


if __name__ == "__main__":
    main()
