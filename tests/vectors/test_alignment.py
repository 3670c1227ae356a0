"""Models that are rotated into one space."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from wordvec_ca import DataError, KeyedVectors, align
from wordvec_ca.vectors import directions, mean_space, robust_fit
from wordvec_ca.vectors.alignment import rotation


def turned(vectors: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((vectors.shape[1],) * 2))
    return (vectors @ rotation).astype(np.float32)


@pytest.fixture
def vectors():
    return np.random.default_rng(0).standard_normal((200, 10)).astype(np.float32)


def test_a_turned_model_comes_back_and_its_words_in_another_order(vectors):
    words = [f"w{i}" for i in range(len(vectors))]
    other = KeyedVectors([*words[::-1], "new"], np.vstack([turned(vectors, 1)[::-1], np.ones((1, 10))]))
    aligned, fit = align(other, KeyedVectors(words, vectors))
    assert aligned.index_to_key == other.index_to_key
    for word in words:
        np.testing.assert_allclose(aligned[word], vectors[int(word[1:])], atol=1e-4)
    assert fit.words == 200
    assert fit.cosines.min() > 0.999


def test_a_rotation_is_that_of_scipy(vectors):
    other = turned(vectors, 4) + np.random.default_rng(5).standard_normal(vectors.shape).astype(np.float32)
    np.testing.assert_allclose(rotation(other, vectors), orthogonal_procrustes(other, vectors)[0], atol=1e-5)


def test_words_that_changed_do_not_spoil_the_fit(vectors):
    rows = directions(vectors)
    other = turned(rows, 2)
    other[:30] = other[30:60]
    fit = robust_fit(other, rows)
    assert fit.cosines[30:].min() > 0.999
    assert not fit.fitted[:30].any()
    assert robust_fit(other, rows, left_out=0).cosines[30:].min() < 0.999


def test_the_mean_of_noisy_models_is_nearer_to_the_truth(vectors):
    rng = np.random.default_rng(3)
    models = [turned(vectors + rng.standard_normal(vectors.shape) / 2, seed) for seed in range(8)]
    mean, rotations = mean_space(models)

    def fit(model):
        return float(robust_fit(directions(model), directions(vectors), left_out=0).cosines.mean())

    assert fit(mean) > max(map(fit, models)) + 0.03
    np.testing.assert_allclose(
        mean, np.mean([m @ r for m, r in zip(models, rotations, strict=True)], 0), atol=1e-3
    )


def test_models_that_cannot_be_laid_on_each_other(vectors):
    one = KeyedVectors([f"a{i}" for i in range(200)], vectors)
    with pytest.raises(DataError, match="words in common"):
        align(one, KeyedVectors([f"b{i}" for i in range(200)], vectors))
    with pytest.raises(DataError, match="dimensions"):
        align(one, KeyedVectors(one.index_to_key, vectors[:, :5]))
