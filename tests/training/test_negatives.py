"""Negatives are drawn in proportion to count^.75 over a run, however many words there are."""

from typing import Any

import numpy as np
import pytest
from small_runs import Killed, killed_after, same

from wordvec_ca import EmbeddingModel, TrainConfig, Vocab, resume, train
from wordvec_ca.kernels import noise_mass
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training import negatives
from wordvec_ca.training.negatives import Negatives
from wordvec_ca.training.trainer import Trainer

N_WORDS = 3_000


@pytest.fixture(autouse=True)
def small_pools(monkeypatch):
    """Make pools so small that 3,000 words are for them what ten million are for a pool of real size."""
    monkeypatch.setattr(negatives, "POOL_DRAWS", 2_000)
    monkeypatch.setattr(negatives, "SMALLEST_POOL", 2_000)


def text(n_tokens: int) -> np.ndarray:
    """Return tokens of which the i-th word is 1 / i as frequent as the first, in lines of 20."""
    share = 1 / np.arange(1, N_WORDS + 1)
    tokens = np.random.default_rng(3).choice(N_WORDS, n_tokens, p=share / share.sum()).astype(np.int32)
    tokens[:N_WORDS] = np.arange(N_WORDS)
    tokens[19::20] = -1
    return tokens


def trainer_of(tokens: np.ndarray, **options: Any) -> Trainer:
    counts = np.maximum(1, np.bincount(tokens[tokens >= 0], minlength=N_WORDS))
    config = ResolvedConfig.of(TrainConfig(vector_size=8, window=3, workers=1, min_count=1, **options))
    model = EmbeddingModel(config, Vocab([f"w{i}" for i in range(N_WORDS)], counts))
    model.initialise()
    return Trainer(model, tokens)


def draws_of(trainer: Trainer) -> np.ndarray:
    """Train, and return how often each word was a negative."""
    replica = trainer.replica
    drawn = np.zeros(N_WORDS, np.int64)
    train_chunk = replica.kernel

    def counting(*arguments: Any) -> None:
        pool, rng = arguments[3], arguments[5]
        begin = int(rng[1])
        train_chunk(*arguments)
        tuples = (begin + np.arange((int(rng[1]) - begin) % len(pool))) % len(pool)
        drawn[:] += np.bincount(pool[tuples].ravel(), minlength=N_WORDS)

    replica.kernel = counting
    trainer.run()
    return drawn


@pytest.mark.parametrize(
    "options",
    [
        {"model": "cbow", "shared_by": 4, "epochs": 8},
        {"model": "skipgram", "epochs": 3},
        {"model": "cbow", "ns_exponent": 0.5, "epochs": 8},
    ],
    ids=["shared", "pairs", "other exponent"],
)
def test_every_word_is_drawn_as_often_as_it_should(options):
    trainer = trainer_of(text(60_000), **options)
    drawn = draws_of(trainer)
    mass = trainer.model.vocab.counts.astype(float) ** trainer.config.ns_exponent
    expected = drawn.sum() * mass / mass.sum()
    for band in np.array_split(np.argsort(-mass, kind="stable"), 10):
        assert drawn[band].sum() == pytest.approx(expected[band].sum(), rel=0.05)
    assert drawn[expected >= 20].min() > 0
    # with a single pool half of the words would be missing, and others would occur twice too often
    often = expected >= 100
    assert often.mean() > 0.2
    assert np.abs(drawn[often] / expected[often] - 1).max() < 0.6


def test_a_pool_serves_for_as_long_as_it_should():
    trainer = trainer_of(text(60_000), model="cbow", shared_by=2, epochs=1, sample=0)
    pools = trainer.replica.negatives
    passes = draws_of(trainer).sum() / 60_000 * pools.tokens_per_pool / pools.at(0).size
    assert passes == pytest.approx(negatives.PASSES, rel=0.15)


def test_one_pool_serves_a_small_vocabulary():
    config = ResolvedConfig.of(TrainConfig(epochs=1_000))
    found = Negatives(
        config,
        np.array([100, 50, 10, 0]),
        10_000,
        mass=noise_mass(np.array([100, 50, 10, 0])),
        keep=np.zeros(0, np.uint32),
        shared_by=1,
        burst=1,
        row_bytes=448,
    )
    assert found.at(0) is found.at(9_999_999)


@pytest.mark.filterwarnings("ignore:the run is kept")
def test_a_resumed_run_reads_the_same_pools(tmp_path):
    lines = [line[line >= 0] for line in np.split(text(30_000), 1_500)]
    file = tmp_path / "text.txt"
    file.write_text("".join(" ".join(f"w{i}" for i in line) + "\n" for line in lines))
    config = TrainConfig(vector_size=8, min_count=1, epochs=6, workers=1, model="skipgram")

    whole = train(file, config)
    with pytest.raises(Killed):
        train(file, config, output=tmp_path / "m", callbacks=[killed_after(0.5)], checkpoint_every="1k")
    assert same(resume(tmp_path / "m"), whole)
