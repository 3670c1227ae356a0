"""The published forms: what they are made of, and that they are the same each time."""

import numpy as np
import pytest

from wordvec_ca.tables import published
from wordvec_ca.tables.published import FittedForm, Halves

SIZE, WORDS = 6, 400


@pytest.fixture
def halves():
    """Return matrices whose output rows share a large vector, as those of models do."""
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal((WORDS, SIZE), dtype=np.float32)
    outputs = inputs @ rng.standard_normal((SIZE, SIZE), dtype=np.float32) + np.float32(5)
    return Halves(inputs, outputs[:, None])


def length_one(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_forms_are_what_they_are_said_to_be(halves):
    w, o = halves.inputs.astype(float), halves.outputs[:, 0].astype(float)
    expected = {"input": w, "output": o - o.mean(axis=0)}
    for form, rows in expected.items():
        np.testing.assert_allclose(FittedForm(form, halves).matrix(halves), rows, atol=1e-5)
    with_ngrams = FittedForm("both", halves._replace(output_weight=published.output_weight(True)))
    assert not np.allclose(with_ngrams.matrix(halves), FittedForm("both", halves).matrix(halves), atol=1e-3)
    both = np.hstack([length_one(w), published.OUTPUT_WEIGHT * length_one(o)])
    both -= both.mean(axis=0)
    left, values, _ = np.linalg.svd(both, full_matrices=False)
    made = FittedForm("both", halves).matrix(halves)
    assert made.shape == (WORDS, SIZE)
    best = left[:, :SIZE] * values[:SIZE]  # of all matrices with SIZE columns the nearest to both
    np.testing.assert_allclose(made @ made.T, best @ best.T, atol=1e-4)
    np.testing.assert_allclose(np.abs(made), np.abs(best), atol=1e-4)
    with pytest.raises(ValueError, match="vectors is 'half'; known are 'input', "):
        FittedForm("half", halves)


def test_vectors_are_the_same_bits_wherever_the_rows_are(halves):
    made = FittedForm("both", halves).matrix(halves)
    padded = np.zeros((WORDS, 16), np.float32)
    padded[:, :SIZE] = halves.inputs
    views = Halves(padded[:, :SIZE], np.repeat(halves.outputs, 2, axis=2)[:, :, ::2])
    assert np.array_equal(made, FittedForm("both", views).matrix(views))


def test_output_rows_by_place_are_replaced_by_their_mean(halves):
    shift = np.arange(SIZE, dtype=np.float32)
    places = Halves(halves.inputs, np.concatenate([halves.outputs - shift, halves.outputs + shift], axis=1))
    one, two = (FittedForm("output", rows).matrix(rows) for rows in (halves, places))
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_fit_is_on_frequent_words_and_not_on_damaged_rows(halves, monkeypatch):
    monkeypatch.setattr(published, "FITTED", 100)
    first = Halves(halves.inputs[:100], halves.outputs[:100])
    expected = FittedForm("both", first).matrix(first)
    np.testing.assert_allclose(FittedForm("both", halves).matrix(halves)[:100], expected, atol=1e-5)
    damaged = halves.inputs.copy()
    damaged[7] = np.nan
    made = FittedForm("both", Halves(damaged, halves.outputs)).matrix(Halves(damaged, halves.outputs))
    assert np.isnan(made[7]).all()
    assert np.isfinite(np.delete(made, 7, axis=0)).all()


@pytest.mark.parametrize("n_words", [0, 1, 2])
@pytest.mark.parametrize("form", ["output", "both"])
def test_very_small_vocabularies_have_finite_vectors(halves, form, n_words):
    few = Halves(halves.inputs[:n_words], halves.outputs[:n_words])
    made = FittedForm(form, few).matrix(few)
    assert made.shape == (n_words, SIZE)
    assert np.isfinite(made).all()
