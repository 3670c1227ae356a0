"""The next item of a sequence: figures of a case that can be computed by hand, and the report for a user."""

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.eval.comparison import compare
from wordvec_ca.eval.data.sequences import Sequences, read_sequences
from wordvec_ca.eval.tasks import next_item

ITEMS = [f"i{n}" for n in range(40)]
ANGLES = np.arange(40) * 0.05
WHEEL = KeyedVectors(ITEMS, np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1).astype(np.float32))
"""Items on a quarter of a circle: the nearest of i0 are i1, i2, ... in this order."""


def test_ranks_and_figures_by_hand():
    steps = [["i0", "i1"], ["i0", "i0", "i4"], ["i0", "i30"], ["i0", "unknown"], ["i7"]]
    report = next_item.evaluate(WHEEL, Sequences("shop", steps))
    figures = {name: metric.value for name, metric in report.metrics.items()}
    assert report.n == 3
    assert report.coverage == pytest.approx(3 / 4)
    assert figures["hit-rate@10"] == pytest.approx(2 / 3)
    assert figures["mrr@10"] == pytest.approx((1 + 1 / 4) / 3)
    assert figures["ndcg@10"] == pytest.approx((1 + 1 / np.log2(5)) / 3)
    assert figures["hit-rate@10-all"] == pytest.approx(2 / 4)
    assert figures["items-proposed@10"] == pytest.approx(10 / 40)
    assert report.metrics["hit-rate@10"].low <= 2 / 3 <= report.metrics["hit-rate@10"].high


def test_steps_that_share_an_item_depend_on_each_other():
    """A model that misses one step gives little evidence, in however many sequences this step occurs."""
    held_out = Sequences("shop", [["i0", "i1"]] * 60 + [[f"i{n}", f"i{n + 2}"] for n in range(10, 30)] * 7)
    report = next_item.evaluate(WHEEL, held_out)
    assert report.value == 1
    other = next_item.evaluate(WHEEL, held_out)
    assert other.units is not None
    steps, times = np.unique(other.units, axis=0, return_counts=True)
    missed = (other.units == steps[times.argmax()]).all(axis=1)
    assert missed.sum() == 60
    other.items["hit-rate@10"][missed] = 0.0
    (found,) = compare([report], [[other]])
    assert found.difference == pytest.approx(-0.3)
    assert 0.05 < found.p < 0.5


def test_baselines_know_what_the_training_sequences_say():
    train = [["i0", "i30"]] * 3 + [[f"i{n}", "i39", "i38"] for n in range(10, 30)] + [["i35", "i1", "i0"]]
    held_out = Sequences("shop", [["i0", "i30"], ["i1", "i35"], ["i2", "i39"]], lambda: iter(train))
    items = next_item.evaluate(WHEEL, held_out).items
    assert items["hit-rate@10"].tolist() == [0, 0, 0]
    # i2 is not in the training text, so the most popular items are proposed
    assert items["followers"].tolist() == [1, 0, 1]
    assert items["co-occurrence"].tolist() == [1, 1, 1]  # i35 came before i1
    # i39, i38, i0, i30, then the first items that occur once
    assert items["popularity"].tolist() == [1, 0, 1]


@pytest.mark.parametrize(("words", "covered"), [(["i0", "i1", "I2"], 1), (["i0", "i1", "i2"], 2)])
def test_items_that_differ_in_capitals_are_two_unless_the_model_has_none(words, covered):
    model = KeyedVectors(words, WHEEL.vectors[:3])
    sessions = [["i0", "I1"], ["i0", "I2"]]
    report = next_item.evaluate(model, Sequences("shop", sessions, lambda: iter(sessions)))
    assert report.n == covered
    assert np.nansum(report.items["followers"]) == covered


def test_sequences_come_as_tokens_or_lists_and_other_lists_are_refused(tmp_path):
    path = tmp_path / "s.txt"
    path.write_text('a b  c\n["d e", 7]\n[x y\n\n')
    assert list(read_sequences(path)) == [["a", "b", "c"], ["d e", "7"], ["[x", "y"], []]
    path.write_text("[" * 100_000 + "\n")
    assert list(read_sequences(path)) == [["[" * 100_000]]
    path.write_text("[[1, 2]]\n")
    with pytest.raises(DataError, match="line 1"):
        list(read_sequences(path))
