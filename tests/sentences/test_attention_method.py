"""Sentences of an attention model: every method with weights equals itself on vectors multiplied by them."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, SearchIndex, SentenceVectorizer

WORDS = ["the", "a", "cat", "dog", "mat", "sat", "ran", "big"]


def attended(seed: int = 0) -> KeyedVectors:
    rng = np.random.default_rng(seed)
    matrix = (rng.normal(size=(len(WORDS), 6)) + 0.5).astype(np.float32)
    weights = rng.uniform(0.05, 3, len(WORDS)).astype(np.float32)
    counts = np.arange(80, 0, -10)
    return KeyedVectors(WORDS, matrix, counts, attention=weights.copy)


TEXT = [
    list(np.random.default_rng(number).choice([*WORDS, "unknown"], 1 + number % 7)) for number in range(40)
] + [[], ["unknown"]]

METHODS = [
    {"method": "attention", "n_components": 0},
    {"method": "attention"},
    {"method": "idf"},
    {"method": "sif"},
    {"method": "usif"},
    {"method": "usif", "pooling": "sum"},
    *({"method": "ca-sem-sif", "readout": readout} for readout in ("sensitive", "full", "full-no-oov")),
    {"method": "ca-sem-sif", "frequency": None, "n_components": 0, "scale": None, "max_iter": 100},
]


@pytest.mark.parametrize("setting", METHODS, ids=str)
def test_weights_are_as_if_the_vectors_were_multiplied(setting):
    vectors = attended()
    made = SentenceVectorizer(vectors, **setting)
    plain = {"mean": "mean"} | setting
    if setting["method"] == "attention":
        plain = {"method": "mean", "n_components": setting.get("n_components", 1)}
    plain.pop("mean", None)
    folded = SentenceVectorizer(vectors.with_attention_folded(), **plain)
    expected = folded.fit_transform(TEXT)
    np.testing.assert_allclose(made.fit_transform(TEXT), expected, atol=2e-5)
    without = SentenceVectorizer(vectors, **(plain | {"attention": False})).fit_transform(TEXT)
    assert np.abs(without - expected).max() > 1e-3


def test_default_is_usif_on_attention_and_ca_sem_without():
    vectors = attended()
    made = SentenceVectorizer(vectors).fit(TEXT)
    assert made.method_ == "usif"
    np.testing.assert_allclose(made.attention_weights_, vectors.attention)
    for bare in (
        SentenceVectorizer(vectors, attention=False),
        SentenceVectorizer(vectors.with_attention_folded()),
    ):
        assert bare.fit(TEXT).method_ == "ca-sem-sif"
        assert bare.attention_weights_.shape == (0,)


def test_plain_mean_of_an_attention_model_warns_unless_it_is_wanted():
    vectors = attended()
    with pytest.warns(UserWarning, match="method='attention'") as caught:
        fitted = SentenceVectorizer(vectors, method="mean").fit(TEXT)
    plain = fitted.transform(TEXT)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = SentenceVectorizer(vectors, method="mean", attention=False).fit_transform(TEXT)
        SentenceVectorizer(vectors.with_attention_folded(), method="mean").fit(TEXT)
        SentenceVectorizer(vectors, method="attention").fit(TEXT)
    np.testing.assert_array_equal(plain, wanted)
    np.testing.assert_allclose(
        plain[3], np.mean([vectors[w] for w in TEXT[3] if w in vectors], axis=0), rtol=1e-5
    )


def test_vectors_without_weights_are_refused():
    vectors = attended()
    bare = SimpleNamespace(
        vectors=vectors.vectors,
        index_to_key=WORDS,
        key_to_index={word: row for row, word in enumerate(WORDS)},
    )
    for setting in ({"method": "attention"}, {"method": "sif", "attention": True}):
        with pytest.raises(DataError, match="no attention weights"):
            SentenceVectorizer(bare, **setting).fit(TEXT)
    with pytest.raises(ValueError, match="attention=False"):
        SentenceVectorizer(vectors, method="attention", attention=False).fit(TEXT)
    with pytest.raises(ValueError, match="attention='yes'"):
        SentenceVectorizer(vectors, attention="yes").fit(TEXT)


@pytest.mark.parametrize("method", ["auto", "attention", "ca-sem-sif"])
def test_saved_fits_keep_the_weights(tmp_path, method):
    vectors = attended()
    made = SentenceVectorizer(vectors, method=method).fit(TEXT)
    made.save(tmp_path)
    bare = KeyedVectors(WORDS, vectors.vectors)  # the same words, from a format that keeps no attention
    for again in (SentenceVectorizer.load(tmp_path, bare), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(again.transform(TEXT), made.transform(TEXT))


def test_search_uses_the_weights(tmp_path):
    vectors = attended()
    lines = [" ".join(sentence) for sentence in TEXT if sentence]
    vectorizer = SentenceVectorizer(vectors, method="attention").fit(lines)
    index = SearchIndex.build(lines, vectorizer, tmp_path / "index")
    rows = vectorizer.transform([*lines, "the big cat"])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    hit = index.search("the big cat", 1)[0]
    assert hit.score == pytest.approx((rows[:-1] @ rows[-1]).max(), abs=1e-5)
