"""Statistics of change: p is uniform by chance, a change is found, ranks are by frequency."""

import numpy as np
import pytest

from wordvec_ca.change import false_discovery_rate, harmonic_mean_count, p_values
from wordvec_ca.change.statistics import ranks

N = 40_000


@pytest.mark.parametrize("n_permutations", [20, 200])
def test_p_is_uniform_where_texts_are_permuted_too(n_permutations):
    """It is also in the tail, where few permutations hardly determine the spread; words differ in spread."""
    rng = np.random.default_rng(n_permutations)
    values = rng.gumbel(size=(N, 1 + n_permutations)) * rng.uniform(0.1, 3, size=(N, 1)) + rng.normal(
        size=(N, 1)
    )
    p = p_values(values, rng.integers(10, 1000, size=N), 0)
    for level in (0.05, 0.01, 0.001):
        assert np.mean(p < level) < level + 4 * np.sqrt(level / N)
    assert np.mean(p < 0.05) > 0.03
    assert (false_discovery_rate(p) < 0.05).sum() <= 1


def test_a_word_beyond_all_permutations_is_found_though_others_changed():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2000, 21))
    changed = np.arange(2000) % 4 == 0
    values[changed, 0] += 12
    rate = false_discovery_rate(p_values(values, np.arange(2000) + 10, 0))
    assert (rate[changed] < 0.05).mean() > 0.95
    assert (rate[~changed] < 0.05).sum() < 0.1 * changed.sum()


def test_ties_are_broken_evenly_and_nan_is_passed_over():
    values = np.full((3000, 21), 0.7)
    values[5] = np.nan
    p = p_values(values, np.full(3000, 20.0), 0)
    assert np.flatnonzero(np.isnan(p)).tolist() == [5]
    assert np.nanmean(p) == pytest.approx(0.5, abs=0.05)
    assert np.nanmean(p < 0.1) < 0.15


def test_ranks_are_among_words_of_like_frequency():
    counts = np.repeat([10, 1000], 300)
    values = np.concatenate([np.arange(300) + 1000, np.arange(300)]).astype(float)
    values[7] = np.nan
    found = ranks(values, counts)
    assert np.isnan(found[7])
    assert found[6] < found[299] == 1.0
    assert found[599] == 1.0
    assert found[300] == 0.0


def test_the_rarer_text_decides_how_often_a_word_stands():
    np.testing.assert_allclose(harmonic_mean_count(np.array([[10, 30], [10, 60]])), [10, 40])
