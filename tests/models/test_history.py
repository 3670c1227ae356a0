"""The recorded progress of a run: it has bounded size, and its measurements are not changed."""

import math

import numpy as np
import pytest

from wordvec_ca import DataError, EmbeddingModel, Progress, TrainConfig
from wordvec_ca.models.config import ResolvedConfig
from wordvec_ca.models.history import MOST_POINTS, History
from wordvec_ca.runs import RunRequest, run_request


def record(
    words: int, total: int, loss: float, *, ended: bool = False, valid: float | None = None
) -> Progress:
    fraction = words / total
    return Progress(
        1, 2, ended, fraction, words, 1e6, words / 1e6, 0.0, 0.05 * (1 - fraction), loss, loss, valid
    )


def test_a_long_run_is_thinned_out_and_its_mean_loss_stays():
    rng, history, n = np.random.default_rng(0), History(), 20_000
    words = np.cumsum(rng.integers(1, 1000, n))
    losses = rng.uniform(1, 5, n)
    for i in range(n):
        history.add(record(int(words[i]), int(words[-1]), losses[i], ended=i % 1000 == 999))
    assert MOST_POINTS / 2 < len(history) <= MOST_POINTS
    spans = np.diff([0, *(point.words for point in history.points)])
    assert (spans > 0).all()
    kept = sum(span * point.loss for span, point in zip(spans, history.points, strict=True))
    assert kept == pytest.approx(float((np.diff(words, prepend=0) * losses).sum()))


def test_the_remainder_of_an_epoch_is_no_point_of_its_own():
    history = History()
    history.add(record(100, 1000, 2.0))
    history.add(record(200, 1000, 2.0))
    history.add(record(210, 1000, 24.0, ended=True, valid=3.0))
    assert [point.words for point in history.points] == [100, 210]
    assert history.points[1].loss == pytest.approx((100 * 2.0 + 10 * 24.0) / 110)
    assert history.points[1].valid_loss == 3.0


def test_a_model_keeps_its_history_and_the_command(tmp_path):
    rng = np.random.default_rng(1)
    text = [[f"w{i}" for i in rng.zipf(1.5, 12) if i < 50] for _ in range(500)]
    config = TrainConfig(model="cbow-attn", vector_size=8, min_count=1, workers=1, epochs=3)
    resolved = ResolvedConfig.of(config)
    made = run_request(
        RunRequest(config=resolved, corpus=text, output=tmp_path / "m", command="cawv train it")
    )
    assert [point.epoch for point in made.history.points] == [1, 2, 3]
    loaded = EmbeddingModel.load(tmp_path / "m")
    assert loaded.record["command"] == "cawv train it"
    for kept, was in zip(loaded.history.points, made.history.points, strict=True):
        assert kept == pytest.approx(was, rel=1e-6, nan_ok=True)
    assert [point.loss for point in loaded.history.points] == pytest.approx(made.record["loss_by_epoch"])
    assert all(math.isnan(point.valid_loss) for point in loaded.history.points)
    loaded.save(tmp_path / "again")
    again = (tmp_path / "again" / "history.tsv").read_bytes()
    assert again == (tmp_path / "m" / "history.tsv").read_bytes()


@pytest.mark.parametrize("line", ["1\t2", "a\tb", "inf\t0.1\t1\t5\t0.1\t2\t\t", "\xff"])
def test_a_damaged_history_is_refused_by_line(tmp_path, line):
    history = History()
    history.add(record(1, 2, 3.0))
    history.save(tmp_path / "h")
    with open(tmp_path / "h", "a", encoding="latin-1") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match=r"line 3|cannot be read"):
        History.load(tmp_path / "h")
