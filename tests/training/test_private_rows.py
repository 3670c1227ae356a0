"""How many private rows threads have, and that training with them learns as much as without."""

import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, TrainConfig, Vocab
from wordvec_ca.kernels import STATS
from wordvec_ca.training.private_rows import DRIFT, LEAST_SHARE, LONGEST, TOKENS_PER_ROW, private_rows
from wordvec_ca.training.replica import Replica

ALL = np.zeros(0, np.uint32)
ZIPF = (10**8 / np.arange(1, 50_001)).astype(np.int64)


@pytest.mark.parametrize("workers", [1, 3, 8, 64])
def test_only_two_workers_have_some(workers):
    assert private_rows(ZIPF, ALL, workers, 1) == (0, 0)


@pytest.mark.parametrize("predictions", [1, 21])
def test_more_predictions_merge_sooner(predictions):
    rows, interval = private_rows(ZIPF, ALL, 2, predictions)
    assert rows * TOKENS_PER_ROW <= interval <= DRIFT
    assert interval <= private_rows(ZIPF, ALL, 2, 1)[1]


@pytest.mark.parametrize("model", ["skipgram", "cbow", "cwindow"])
def test_threads_in_step_learn_what_one_learns(model):
    # Simulates threads on as many processors, however many this machine has: all start from the same private
    # rows, and none sees another's steps before the next merge. With 8 threads, 8 rows and 285 tokens it
    # diverges.
    rng = np.random.default_rng(1)
    share = 1 / np.arange(1, 1_001)
    lines = np.full((4_000, 26), -1, np.int32)
    lines[:, :25] = rng.choice(1_000, (4_000, 25), p=share / share.sum())
    one, two = _loss_in_step(model, lines, 1), _loss_in_step(model, lines, 2)
    assert two == pytest.approx(one, rel=0.05)


def _loss_in_step(model: str, lines: np.ndarray, threads: int) -> float:
    counts = np.bincount(lines[lines >= 0])
    vocab = Vocab([f"w{i}" for i in range(len(counts))], counts)
    config = TrainConfig(model=model, vector_size=32, epochs=1, workers=threads, sample=0, seed=1)
    parameters = EmbeddingModel(config, vocab)
    parameters.initialise()
    replica = Replica(parameters, lines.size, threads=threads)
    n = int(replica.hyper["n_private"][0])
    step = max(1, int(replica.hyper["merge_every"][0]) // lines.shape[1]) if n else 10
    assert (n > 0) == (threads == 2)
    for worker in replica.workers:  # so that it works on the shared rows only
        worker.hyper["n_private"] = 0
        worker.private = tuple(array[:, :0] for array in worker.private)
    arrays = [array[:n] for array in parameters.learnt.values()]
    parts = np.array_split(lines, threads)
    for at in range(0, len(parts[0]), step):
        base = [array.copy() for array in arrays]
        deltas = [np.zeros_like(array) for array in arrays]
        for i, (worker, part) in enumerate(zip(replica.workers, parts, strict=True)):
            for array, before in zip(arrays, base, strict=True):
                array[:] = before
            chunk = part[at : at + step].reshape(-1)
            replica.train_chunk(worker, chunk, at * lines.shape[1] * threads, [1, i, at])
            for delta, array, before in zip(deltas, arrays, base, strict=True):
                delta += array - before
        for array, before, delta in zip(arrays, base, deltas, strict=True):
            array[:] = before + delta
    totals = dict(zip(STATS, replica.totals(), strict=True))
    return float(totals["loss"] / totals["examples"])


def test_wide_windows_have_more_rows():
    rows, interval = private_rows(ZIPF, ALL, 2, 1)
    more, same = private_rows(ZIPF, ALL, 2, 1, contexts=21)
    assert same == interval
    assert rows < more <= 3.5 * (rows + 1)  # the rows grow in proportion to the work for a token


def test_subsampling_lets_threads_drift_longer():
    steep = (10**9 / np.arange(1, 20_001) ** 2).astype(np.int64)  # the first word is most of the text
    keep = np.minimum(2.0**32 - 1, 2.0**32 * 10**6 / np.maximum(steep, 1)).astype(np.uint32)
    assert private_rows(steep, ALL, 2, 1)[1] < private_rows(steep, keep, 2, 1)[1]


def test_only_frequent_words_have_rows():
    counts = np.array([10**6, 10**6, *[10] * 1_000])
    assert private_rows(counts, ALL, 2, 1)[0] == 2
    assert counts[2] / counts.sum() < LEAST_SHARE
    flat = np.full(100_000, 7)
    assert private_rows(flat, ALL, 2, 1) == (1, LONGEST)
