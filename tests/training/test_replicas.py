"""Replicas: a single one changes nothing, several learn what one would, and nothing is lost."""

import dataclasses

import numpy as np
import pytest
from small_runs import Killed

from wordvec_ca import EmbeddingModel, TrainConfig, Vocab, resume, train
from wordvec_ca.kernels import add_delta, aligned_zeros, delta_of, merge_replicas, sum_of_deltas
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.merge_plan import (
    MergePlan,
    expected_touches,
    merge_factors,
    usual_replicas,
)
from wordvec_ca.training.replica import Delta, Replica, TokenRange
from wordvec_ca.training.replica_set import Replicas
from wordvec_ca.training.trainer import Trainer

RNG = np.random.default_rng(3)


def text(lines: int = 400, words: int = 60) -> np.ndarray:
    """Return lines of ten words, of which each makes the next likely."""
    rng = np.random.default_rng(1)
    steps = rng.integers(0, 3, (lines, 10))
    steps[:, 0] = rng.integers(0, words, lines)
    tokens = np.full((lines, 11), -1, np.int32)
    tokens[:, :10] = np.cumsum(steps, axis=1) % words
    return tokens.reshape(-1)


def model_of(tokens: np.ndarray, **options: object) -> EmbeddingModel:
    """Return an initialised model of the words of a text."""
    counts = np.bincount(tokens[tokens >= 0])
    vocab = Vocab([f"w{i}" for i in range(len(counts))], counts)
    values = {"vector_size": 16, "window": 2, "epochs": 2, "workers": 1, "sample": 0, **options}
    model = EmbeddingModel(TrainConfig(**values), vocab)  # type: ignore[arg-type]
    model.initialise()
    return model


@pytest.mark.parametrize("name", ["cbow", "skipgram", "ssg", "cwindow", "cbow-attn"])
def test_a_replica_given_the_whole_text_in_ranges_is_a_trainer(name):
    tokens = text()
    whole, parted = model_of(tokens, model=name), model_of(tokens, model=name)
    Trainer(whole, tokens).run()
    replica = Replica(parted, len(tokens))
    for epoch in (1, 2):
        done = (epoch - 1) * len(tokens)
        # the chunks of a trainer end at such places
        for index, start in enumerate(range(0, len(tokens), 1_001)):
            part = TokenRange(start, min(start + 1_001, len(tokens)), done + start, ())
            chunk = tokens[part.start : part.stop]
            replica.train_chunk(replica.workers[0], chunk, part.position, [1, epoch, index])
    for name_, array in whole.learnt.items():
        assert np.array_equal(array, parted.learnt[name_]), name_


def test_factors_run_from_a_sum_to_a_mean():
    x = np.array([0.0, 1e-9, 0.01, 0.1, 1.0, 10.0, 1e4, np.inf])
    factors = merge_factors(x, 8)
    assert factors[0] == 1
    assert np.all(np.diff(factors) <= 0)
    assert np.allclose(factors[-2:], 1 / 8)
    # at each touch a row goes a share of the way to where it settles: touches one after another, and merged
    for way in (0.01, 0.3):
        touches, n = 20, 8
        share = 1 - (1 - way) ** touches
        merged = n * share * merge_factors(np.array([-touches * np.log1p(-way)]), n)[0]
        assert merged == pytest.approx(1 - (1 - way) ** (n * touches), rel=1e-5)


@pytest.mark.parametrize("name", ["cbow", "skipgram", "ssg", "cwindow", "cbow-attn"])
def test_touches_are_those_of_the_text(name):
    model = model_of(text(), model=name)
    touches = expected_touches(model, np.zeros(0, np.uint32))
    assert {name: len(array) for name, array in model.learnt.items()} == {
        name: len(values) for name, values in touches.items()
    }
    assert np.isinf(touches["slot_logits"]).all()
    for values in touches.values():
        assert (values > 0).all()


def test_merges_stand_at_equal_distances_and_at_the_end_of_an_epoch():
    plan = MergePlan.of(ResolvedConfig.of(TrainConfig(epochs=3)), 10_007, 4)
    position, found = 0, []
    while position < 3 * 10_007:
        position = plan.next_merge(position, 10_007)
        found.append(position)
    assert len(found) == 3 * plan.merges_per_epoch
    assert {10_007, 20_014, 30_021} <= set(found)
    assert max(np.diff(found)) - min(np.diff(found)) <= 1


def test_deltas_and_merges_of_a_replica():
    tokens = text()
    replica = Replica(model_of(tokens), len(tokens))
    base = replica.parameters["inputs"].copy()
    counted = replica.train(tokens, [TokenRange(0, 2_200, 0, (1, 0, 0))])
    assert counted["words"] == 2_000
    assert np.isfinite(counted["loss"] / counted["examples"])
    rows = slice(10, 30)
    before, now = base[rows], replica.parameters["inputs"][rows]
    delta = Delta.of(now, before)
    largest = np.abs(now - before).max(axis=1, keepdims=True)
    assert largest.max() > 0
    assert (np.abs(decoded(*delta) - (now - before)) <= largest / 250).all()
    half = Delta.total([delta], np.full(20, 0.5, np.float32), now.shape[1])
    merged = before.copy()
    half.add_to(merged)
    assert np.array_equal(merged, before + decoded(*half))
    assert (np.abs(decoded(*half) - decoded(*delta) / 2) <= largest / 500).all()
    assert Delta.of(now, now).codes.size == 0


# ---- between nodes ----------------------------------------------------------------------------------------


def encoded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The reference implementation of a message: the scale of each row, and the codes of rows with one."""
    with np.errstate(all="ignore"):
        largest = np.abs(values).max(axis=1, initial=0) / np.float32(127)
        halves = ((largest.view(np.uint32).astype(np.uint64) + 0xFFFF) >> 16).astype(np.uint16)
        halves[halves < 0x0080] = 0
        finite = np.isfinite(values).all(axis=1)
        halves[~finite] = 0x7FC0
        scales = (halves.astype(np.uint32) << 16).view(np.float32)
        steps = values * (np.float32(1) / scales)[:, np.newaxis]
    codes = np.where(finite[:, np.newaxis], np.rint(steps), 0)
    return halves, codes[halves > 0].astype(np.int8)


def decoded(halves: np.ndarray, codes: np.ndarray) -> np.ndarray:
    rows = np.zeros((len(halves), codes.shape[1]), np.float32)
    scales = (halves[halves > 0].astype(np.uint32) << 16).view(np.float32)
    rows[halves > 0] = scales[:, np.newaxis] * codes.astype(np.float32)
    return rows


def message_of(rows: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scales, codes = np.full(len(rows), 9, np.uint16), np.full(rows.shape, 9, np.int8)
    n = delta_of(rows, base, scales, codes)
    return scales, codes[:n]


def assert_near(found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> None:
    assert np.array_equal(found[0], expected[0])
    assert found[1].shape == expected[1].shape
    # a compiler may round the product and the sum of the kernel at once: then a half goes the other way
    assert np.abs(found[1].astype(int) - expected[1]).max(initial=0) <= 1


@pytest.mark.parametrize("shape", [(40, 48), (30, 1040), (20, 7), (0, 16)])
def test_messages_are_as_their_readable_twin(shape):
    base = RNG.normal(size=shape).astype(np.float32)
    replicas = [base + 1e-3 * RNG.normal(size=shape).astype(np.float32) for _ in range(3)]
    if base.size:
        replicas[0][0, :2] = np.nan, np.inf
        replicas[1][1, 3] = -np.inf
        base[2:6] = 0
        for replica, largest in zip(replicas, (1e-44, 1e-36, 1e38), strict=True):
            replica[2] = 0
            replica[3] = RNG.uniform(-largest, largest, shape[1])
            replica[4] = np.where(np.arange(shape[1]) == 5, 1, 1e-9)  # one number is far above the others
        replicas[1][5] = base[5]
        replicas[2][6:] = base[6:]
    factors = RNG.random(shape[0]).astype(np.float32)
    deltas = [message_of(replica, base) for replica in replicas]
    with np.errstate(invalid="ignore"):
        for replica, delta in zip(replicas, deltas, strict=True):
            assert_near(delta, encoded(replica - base))
        total = decoded(*deltas[0]) + decoded(*deltas[1]) + decoded(*deltas[2])
        total *= factors[:, np.newaxis]
        scales, codes = np.empty(len(base), np.uint16), np.empty(shape, np.int8)
        n = sum_of_deltas(tuple(deltas), factors, scales, codes)
        merged = scales, codes[:n]
        assert_near(merged, encoded(total))
        expected = base + decoded(*merged)
    if base.size:
        assert np.isnan(expected[:2]).all()
        assert scales[2] == 0
    add_delta(*merged, base, replicas[0])
    assert np.array_equal(base, expected, equal_nan=True)
    assert np.array_equal(replicas[0], expected, equal_nan=True)


def test_messages_that_do_not_fit_are_refused():
    rows, scales, codes = np.ones((4, 16), np.float32), np.zeros(4, np.uint16), np.zeros((4, 16), np.int8)
    ones = np.ones(4, np.float32)
    delta = message_of(rows, np.zeros_like(rows))
    for given in ((rows[:3], scales, codes), (rows, scales[:3], codes), (rows, scales, codes[:, :8].copy())):
        with pytest.raises(ValueError, match="fit"):
            delta_of(rows, *given)
    for deltas in ((delta, message_of(rows[:3], rows[:3])), (), ((delta[0], delta[1][:3]),)):
        with pytest.raises(ValueError, match="fit"):
            sum_of_deltas(deltas, ones, scales, codes)
    for message in ((delta[0], delta[1][:, :8].copy()), (delta[0], delta[1][:3]), (delta[0][:3], delta[1])):
        with pytest.raises(ValueError, match="fit"):
            add_delta(*message, rows, rows)


def test_messages_are_near_and_as_often_too_small_as_too_large():
    values = RNG.normal(size=(1000, 16)).astype(np.float32) * 1e-3
    errors = decoded(*message_of(values, np.zeros_like(values))) - values
    assert (np.abs(errors) <= np.abs(values).max(axis=1, keepdims=True) / 250).all()
    assert abs(errors.mean()) < 0.02 * np.abs(errors).mean()


def merge_by_messages(replicas: Replicas, position: int) -> None:
    """Merge the replicas of a process as the nodes of a cluster merge."""
    if position <= replicas.merged_at:
        return
    first, tokens = replicas.all[0], (position - replicas.merged_at) / len(replicas)
    alpha = replicas.plan.rate * first.schedule.alpha((position + replicas.merged_at) // 2)
    for name, base in first.base.items():
        factors = replicas.plan.factors(replicas._touches, name, tokens, alpha)
        deltas = [Delta.of(one.parameters[name], base) for one in replicas.all]
        Delta.total(deltas, factors, base.shape[1]).add_to(base)
        for other in replicas.all:
            other.parameters[name][:] = base
    replicas.merged_at = position


@pytest.mark.parametrize(
    "options",
    [{}, {"model": "cbow-attn"}, {"model": "skipgram", "subwords": True}, {"hs": True, "negative": 0}],
)
def test_messages_of_8_bits_lose_nothing(options, monkeypatch):
    tokens = text(2_000)

    def loss():
        trainer = Trainer(
            model_of(tokens, epochs=3, workers=4, replicas=4, **options), tokens, tokens[:2_200]
        )
        trainer.run()
        return trainer.valid_losses[-1]

    exact = loss()
    monkeypatch.setattr(Replicas, "merge", merge_by_messages)
    assert loss() == pytest.approx(exact, abs=0.003)  # the rule of docs/evidence/data/merge-bands.json


# ---- in one process ---------------------------------------------------------------------------------------


def test_the_kernel_merges_as_its_readable_twin():
    base = aligned_zeros((50, 32))
    base[:] = RNG.normal(size=base.shape)
    replicas = []
    for _ in range(5):
        replica = base.copy()
        touched = RNG.random(50) < 0.3
        replica[touched] += RNG.normal(size=(touched.sum(), 32)).astype(np.float32)
        replicas.append(replica)
    factors = merge_factors(RNG.exponential(size=50), 5)
    expected = base + factors[:, np.newaxis] * sum(replica - base for replica in replicas)
    merge_replicas(base, tuple(replicas), factors)
    assert np.allclose(base, expected, rtol=1e-5, atol=1e-6)
    assert all(np.array_equal(replica, base) for replica in replicas)
    with pytest.raises(ValueError, match="fit"):
        merge_replicas(base, (replicas[0][:3],), factors)


@pytest.mark.parametrize(
    "options",
    [{}, {"model": "cbow-attn"}, {"model": "skipgram", "subwords": True}, {"hs": True, "negative": 0}],
)
def test_replicas_of_one_thread_are_reproducible_and_learn_as_one_worker(options):
    tokens = text(2_000)

    def trained(**more):
        model = model_of(tokens, epochs=6, **options, **more)
        trainer = Trainer(model, tokens, tokens[:2_200])
        trainer.run()
        return model, trainer

    (first, trainer), (second, _) = (trained(workers=4, replicas=4) for _ in range(2))
    _, alone = trained()
    for name, array in first.learnt.items():
        assert np.array_equal(array, second.learnt[name]), name
        for replica in trainer.replicas.all[1:]:
            assert np.array_equal(array, replica.parameters[name]), name
    assert trainer.tally("words") == alone.tally("words") == 6 * 20_000
    assert trainer.replicas.merges == 6 * trainer.replicas.plan.merges_per_epoch
    learnt_alone = alone.valid_losses[0] - alone.valid_losses[-1]
    assert alone.valid_losses[0] - trainer.valid_losses[-1] > 0.9 * learnt_alone


@pytest.mark.parametrize(("workers", "replicas"), [(3, 3), (4, 2)])
def test_a_run_that_is_killed_goes_on_and_loses_nothing(tmp_path, monkeypatch, workers, replicas):
    corpus = tmp_path / "text"
    lines = text(1_500).reshape(-1, 11)[:, :10]
    corpus.write_text("".join(" ".join(f"w{word}" for word in line) + "\n" for line in lines.tolist()))
    config = TrainConfig(
        vector_size=16, window=2, epochs=3, sample=0, workers=workers, replicas=replicas, merges=30
    )
    whole = train(corpus, config, output=tmp_path / "whole", checkpoint_every="7k")

    train_chunk = Replica.train_chunk

    def dying(self, worker, tokens, position, seeds, *more):
        if position > 30_000:
            raise Killed
        train_chunk(self, worker, tokens, position, seeds, *more)

    monkeypatch.setattr(Replica, "train_chunk", dying)
    with pytest.raises(Killed), pytest.warns(UserWarning, match="--resume"):
        train(corpus, config, output=tmp_path / "m", checkpoint_every="7k")
    monkeypatch.undo()
    resumed = resume(tmp_path / "m")
    assert resumed.record["predictions"] == whole.record["predictions"] == 3 * 15_000
    assert resumed.record["replicas"]["replicas"] == replicas
    if workers == replicas:
        for name, array in whole.learnt.items():
            assert np.array_equal(array, resumed.learnt[name]), name


def test_how_many_replicas():
    def found(workers, n_words=10_000, n_tokens=10**6, **options):
        config = ResolvedConfig.of(TrainConfig(workers=1, **options))
        return usual_replicas(dataclasses.replace(config, workers=workers), n_words, n_tokens)

    assert [found(workers) for workers in (1, 2, 8, 9, 16, 32, 64)] == [1, 1, 1, 2, 2, 4, 8]
    assert found(8, n_tokens=10**9) == 8, "on a long text merging costs less than waiting for each other"
    assert found(64, n_tokens=10**9) == 16
    assert found(64, n_tokens=10**9, model="cbow-attn") == 4
    assert found(64, n_tokens=10**9, model="ssg") == 8
    assert found(64, n_tokens=10**9, subwords=True) == 1, "merging rows of n-grams costs quality"
    assert found(64, n_tokens=10**12) == 16, "not beyond what was measured"
    with pytest.warns(UserWarning, match="32 replicas of cbow: more than 16"):
        assert found(32, replicas=32) == 32
    with pytest.warns(UserWarning, match=r"9 replicas of cbow-attn: .*4 or fewer"):
        assert found(9, replicas=9, model="cbow-attn") == 9
    assert found(4, replicas=32) == 4
    assert found(32, n_words=10**10) == 1, "no room for two"


def test_more_replicas_than_threads_are_not_made_in_silence():
    config = TrainConfig(vector_size=4, epochs=1, workers=1, replicas=2)
    with pytest.warns(UserWarning, match="replicas is 2.*there will be 1"):
        model = train([["a", "b"]] * 50, config)
    assert model.record["replicas"]["replicas"] == 1
