"""``window="all"``: lines are baskets, in which each pair counts once, whatever its distance."""

import itertools
from collections import Counter

import numpy as np
import pytest

from wordvec_ca import TrainConfig, train
from wordvec_ca.errors import OptionError
from wordvec_ca.specs.options import MET_EACH_SIDE
from wordvec_ca.training.chunks import in_random_order


def lines_of(tokens: np.ndarray) -> list[list[int]]:
    """Return the lines of an encoded text."""
    found = [list(map(int, line)) for line in np.split(tokens, np.flatnonzero(tokens < 0) + 1)]
    return [[token for token in line if token >= 0] for line in found[: np.count_nonzero(tokens < 0)]]


def test_each_line_keeps_its_different_items_and_its_place():
    tokens = np.array([4, 4, 1, -1, -1, 7, -1, 2, 0, 2, 3, -1], np.int32)
    mixed = in_random_order(tokens, [1, 2, 3])
    assert mixed.dtype == np.int32
    assert [sorted(line) for line in lines_of(mixed)] == [[1, 4], [], [7], [0, 2, 3]]
    assert np.array_equal(mixed, in_random_order(tokens, [1, 2, 3]))
    assert in_random_order(tokens[:0], [1]).tolist() == []
    assert sorted(in_random_order(np.array([5, 6], np.int32), [1]).tolist()) == [5, 6]  # without a line end


def test_pairs_of_a_long_basket_are_met_equally_often():
    basket = np.array([*range(20), -1], np.int32)
    met: Counter[tuple[int, int]] = Counter()
    for number in range(2_000):
        [line] = lines_of(in_random_order(basket, [number]))
        met.update(
            (min(a, b), max(a, b)) for i, a in enumerate(line) for b in line[i + 1 : i + 1 + MET_EACH_SIDE]
        )
    pairs = list(itertools.combinations(range(20), 2))
    expected = 2_000 * sum(min(MET_EACH_SIDE, 19 - i) for i in range(20)) / len(pairs)
    deviations = [(met[pair] - expected) / np.sqrt(expected) for pair in pairs]
    assert np.max(np.abs(deviations)) < 4.5  # Bonferroni: 1 in 700 other seeds would fail


@pytest.mark.parametrize("backend", ["cython", "numba"])
def test_every_pair_of_a_short_basket_is_one_prediction_in_each_direction(backend):
    baskets = [[f"item{i}" for i in range(n)] for n in (1, 2, 6, 4)] * 5
    config = TrainConfig(
        model="skipgram", window="all", sample=0, min_count=1, epochs=3, workers=1, backend=backend
    )
    model = train(baskets, config)
    assert model.record["predictions"] == 3 * 5 * sum(n * (n - 1) for n in (1, 2, 6, 4))
    assert model.config.window == "all"


def test_models_of_places_and_wrong_words_are_refused():
    for options in ({"model": "ssg"}, {"model": "cbow-attn"}, {"model": "pv-dm"}):
        with pytest.raises(OptionError, match="window is 'all'"):
            TrainConfig(window="all", **options)
    with pytest.raises(OptionError, match=r"1 to 10,000, or all"):
        TrainConfig(window="some")  # type: ignore[arg-type]
