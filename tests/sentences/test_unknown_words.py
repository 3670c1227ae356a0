"""Sentences with words that have n-grams but no row: the same as if each had a row with a count of 0."""

import numpy as np
import pytest

from wordvec_ca import KeyedVectors, SearchIndex, SentenceVectorizer, TrainConfig, train
from wordvec_ca.sentences import tokens as tokens_module

TEXT = [["walked", "quickly", "home"], ["talked", "slowly", "here"], ["walking", "slowly", "home"]] * 20
UNKNOWN = ["walks", "quicker", "slow"]
NEW = ["Walks quicker, home!", "", "¿? walked slow slow", "walked home", "Q"]
METHODS = ["mean", "idf", "sif", "usif", "ca-sem-sif", "attention"]


@pytest.fixture(scope="module")
def vectors():
    config = TrainConfig(
        model="cbow-attn",
        vector_size=12,
        window=2,
        min_count=1,
        sample=0,
        subwords=True,
        max_n=4,
        ngram_min_count=1,
        workers=1,
    )
    made = train(TEXT, config).vectors
    assert not set(UNKNOWN) & set(made.key_to_index)
    return made


def with_rows(vectors):
    """Return the same vectors with a row for each unknown word."""
    rows = np.stack([vectors[word] for word in UNKNOWN])
    attention = np.append(vectors.attention, [np.median(vectors.attention)] * len(UNKNOWN))
    counts = np.append(vectors.counts, [0] * len(UNKNOWN))
    words = [*vectors.index_to_key, *UNKNOWN]
    return KeyedVectors(words, np.vstack([vectors.vectors, rows]), counts, attention=lambda: attention)


@pytest.mark.filterwarnings("ignore:the vectors of an attention model")
@pytest.mark.parametrize("method", METHODS)
def test_unknown_words_count_as_rows_that_occur_nowhere(vectors, method):
    made = SentenceVectorizer(vectors, method=method).fit(TEXT)
    expected = SentenceVectorizer(with_rows(vectors), method=method).fit(TEXT).transform(NEW)
    found = made.transform(NEW)
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert found[0].any()
    coverage = made.coverage(NEW)
    assert (coverage.n_from_ngrams, coverage.n_all_oov) == (4, 1)
    assert f"{100 * 4 / coverage.n_tokens:.2f} % from n-grams" in str(coverage)


def test_strings_lists_and_small_batches_give_the_same(vectors, monkeypatch):
    made = SentenceVectorizer(vectors, method="usif")
    whole = made.fit_transform([*map(" ".join, TEXT), *NEW])
    as_lists = [*TEXT, ["walks", "quicker", ",", "home", "!"], [], ["¿", "?", "walked", "slow", "slow"]]
    np.testing.assert_array_equal(made.transform(as_lists)[-3:], whole[-5:-2])
    monkeypatch.setattr(tokens_module, "BATCH", 2)
    again = SentenceVectorizer(vectors, method="usif").fit_transform([*map(" ".join, TEXT), *NEW])
    np.testing.assert_allclose(again, whole, atol=1e-6)


def test_they_can_be_refused_saved_and_searched(vectors, tmp_path):
    made = SentenceVectorizer(vectors, method="ca-sem-sif").fit(TEXT)
    made.save(tmp_path / "fitted")
    again = SentenceVectorizer.load(tmp_path / "fitted", vectors)
    np.testing.assert_array_equal(again.transform(NEW), made.transform(NEW))
    found = SearchIndex.build(NEW, made, tmp_path / "index").search("walks", 1)
    assert found[0].text == NEW[0]
    refusing = KeyedVectors(
        vectors.index_to_key, vectors.vectors, vectors.counts, {}, vectors.ngrams, oov="refuse"
    )
    assert SentenceVectorizer(refusing, method="mean").fit(TEXT).coverage(NEW).n_from_ngrams == 0
