"""Sentence vectors against loops over words, scikit-learn's contract, and unusual input."""

import copy
import os
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from wordvec_ca import DataError, SentenceVectorizer
from wordvec_ca.sentences.ca_sem import reembed_counts
from wordvec_ca.sentences.counts import count_sentences
from wordvec_ca.sentences.vectorizer import principal_directions
from wordvec_ca.sentences.word_factors import METHODS, usif_constant

WORDS = ["the", "a", "cat", "dog", "mat", "sat", "ran", "new_york", "new", "york"]
TEXT = [
    ["the", "cat", "sat", "the", "mat"],
    ["a", "dog", "ran"],
    ["the", "dog", "oov", "sat"],
    [],
    ["oov", "oov2"],
    ["the", "new", "york", "cat"],
    ["the", "the", "a"],
]


def vectors(words=WORDS, size=4, seed=0):
    rng = np.random.default_rng(seed)
    return SimpleNamespace(
        vectors=(rng.normal(size=(len(words), size)) + 0.7).astype(np.float32),
        index_to_key=list(words),
        key_to_index={word: i for i, word in enumerate(words)},
    )


def split(text):
    return text.split()


def test_saving_follows_no_link_and_leaves_no_mixture(tmp_path, monkeypatch):
    kv, precious = vectors(), tmp_path / "precious"
    precious.write_text("mine")
    place = tmp_path / "fit"
    place.mkdir()
    for name in ("sentences.json", "sentences.npz", "v0.npy", "counts.npz", "reembedding.json"):
        (place / name).symlink_to(precious)
    fitted = SentenceVectorizer(kv, method="ca-sem-sif", attention=False).fit(TEXT)
    fitted.save(place)
    assert precious.read_text() == "mine"
    assert not any(path.is_symlink() for path in place.iterdir())
    np.testing.assert_array_equal(SentenceVectorizer.load(place, kv).transform(TEXT), fitted.transform(TEXT))
    other = SentenceVectorizer(kv, method="sif", attention=False).fit(TEXT[:3])
    monkeypatch.setattr(np, "savez", lambda *args, **arrays: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        other.save(place)
    np.testing.assert_array_equal(SentenceVectorizer.load(place, kv).transform(TEXT), fitted.transform(TEXT))
    monkeypatch.undo()
    replace, n = os.replace, len(list(place.iterdir()))

    def killed(source, target):
        if Path(target) == place / "sentences.npz":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        other.save(place)
    with pytest.raises(DataError):
        SentenceVectorizer.load(place, kv)
    monkeypatch.undo()
    other.save(place)
    np.testing.assert_array_equal(SentenceVectorizer.load(place, kv).transform(TEXT), other.transform(TEXT))
    assert len(list(place.iterdir())) == n


# ------------------------------------------------------------------ what each method computes


def naive(kv, text, method, *, readout="sensitive", frequency=None, a=1e-3, pooling="mean"):
    """Word by word, in float64; common directions are tested apart."""
    tokens = [t for s in text for t in s]
    counts = {w: tokens.count(w) for w in kv.index_to_key}
    p = {w: counts[w] / len(tokens) for w in counts}
    df = {w: sum(w in s for s in text) for w in counts}
    kind = frequency if method == "ca-sem-sif" else method
    unknown = 1 - sum(p.values())  # tokens that are not words of the vocabulary count as one word
    u_a = usif_constant(np.array([x for x in [*p.values(), unknown] if x > 1e-9]), len(tokens) / len(text))
    factor = {
        "idf": lambda w: np.log((1 + len(text)) / (1 + df[w])) + 1,
        "sif": lambda w: a / (a + p[w]),
        "usif": lambda w: u_a / (u_a / 2 + p[w]),
    }.get(kind, lambda w: 1.0)
    vector = {w: kv.vectors[i].astype(float) for w, i in kv.key_to_index.items()}
    size = kv.vectors.shape[1]
    v0 = reembed_counts(kv.vectors, count_sentences(text, kv.key_to_index)).v0
    rows = []
    for sentence in text:
        total, taking_part = np.zeros(size), 0
        known = [t for t in sentence if t in vector]
        length = np.sqrt(sum((vector[t] ** 2 for t in known), np.zeros(size)))
        for token in sentence:
            if token not in vector:
                if method == "ca-sem-sif" and readout == "full":
                    total, taking_part = total + v0, taking_part + 1
                continue
            taking_part += 1
            w = vector[token]
            if method == "usif":
                w = w / length
            if method == "ca-sem-sif":
                w_prime = w - (w @ v0) / (v0 @ v0) * v0
                chi = np.clip(w @ v0 / (v0 @ v0 + w_prime @ w_prime), 0, 1)
                w = (1 - chi) * w_prime + (0 if readout == "sensitive" else chi * v0)
            total = total + factor(token) * w
        rows.append(total / (max(taking_part, 1) if pooling == "mean" else 1))
    return np.array(rows)


PAPER = {"frequency": None, "scale": None, "max_iter": 100, "n_components": 0}
CASES = [{"method": m} for m in ("mean", "idf", "sif", "usif")] + [
    {"method": "ca-sem-sif", "readout": r, "frequency": f}
    for r in ("full", "full-no-oov", "sensitive")
    for f in (None, "sif")
]


def test_ca_sem_is_the_papers_and_ca_sem_sif_the_default():
    kv = vectors()

    def made(**options):
        return SentenceVectorizer(kv, **options).fit_transform(TEXT)

    np.testing.assert_array_equal(made(method="ca-sem"), made(method="ca-sem-sif", **PAPER))
    chosen = {"frequency": "sif", "scale": 2.0, "max_iter": 20, "n_components": 1}
    np.testing.assert_array_equal(made(), made(method="ca-sem", **chosen))
    assert not np.allclose(made(), made(method="ca-sem"))


@given(
    st.lists(st.lists(st.sampled_from([*WORDS, "oov"]), max_size=6), min_size=1, max_size=8),
    st.sampled_from(CASES),
    st.sampled_from(["mean", "sum"]),
)
@settings(max_examples=100, deadline=None)
def test_equals_the_loop_on_any_text(text, case, pooling):
    kv = vectors()
    if not any(t in kv.key_to_index for s in text for t in s):
        return
    made = SentenceVectorizer(kv, pooling=pooling, **PAPER | case).fit_transform(text)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, naive(kv, text, pooling=pooling, **case), rtol=1e-4, atol=1e-5)


def test_principal_directions_are_those_of_the_svd():
    rows = np.random.default_rng(1).normal(size=(30, 6)).astype(np.float32) + 1
    found, shares = principal_directions([rows[:11], rows[11:]], 3)
    _, sigma, right = np.linalg.svd(rows.astype(float), full_matrices=False)
    np.testing.assert_allclose(np.abs((found * right[:3]).sum(1)), 1, atol=1e-5)
    np.testing.assert_allclose(shares, sigma[:3] ** 2 / (sigma[:3] ** 2).sum(), rtol=1e-4)


def test_sif_removes_the_first_direction_and_usif_a_part_of_five():
    kv = vectors(size=8)
    plain = SentenceVectorizer(kv, method="sif", n_components=0).fit_transform(TEXT)
    u = np.linalg.svd(plain.astype(float), full_matrices=False)[2][0]
    made = SentenceVectorizer(kv, method="sif").fit_transform(TEXT)
    np.testing.assert_allclose(made, plain - np.outer(plain @ u, u), atol=1e-5)
    plain = SentenceVectorizer(kv, method="usif", n_components=0).fit_transform(TEXT)
    _, sigma, right = np.linalg.svd(plain.astype(float), full_matrices=False)
    expected = plain.astype(float)
    for i in range(5):
        share = sigma[i] ** 2 / (sigma[:5] ** 2).sum()
        expected = expected - share * np.outer(expected @ right[i], right[i])
    made = SentenceVectorizer(kv, method="usif").fit_transform(TEXT)
    np.testing.assert_allclose(made, expected, atol=1e-5)


def test_usif_constant_on_a_known_case():
    """|V| = 4, length 2: threshold 1 - (3/4)^2 = 0.4375, one word above it: a = (3/4) / (1/4 * 2)."""
    assert usif_constant(np.array([0.7, 0.1, 0.1, 0.1]), 2) == pytest.approx(1.5)
    assert np.isfinite(usif_constant(np.array([1.0]), 5))
    assert 0 < usif_constant(np.full(10, 0.1), 1000) < np.inf


def test_counts_from_a_table_an_array_the_vectors_or_the_text():
    kv = vectors()
    table = {word: 10 * i for i, word in enumerate(WORDS)} | {"elsewhere": 50}
    array = np.array([10 * i for i in range(len(WORDS))])
    by_table = SentenceVectorizer(kv, method="sif", counts=table).fit(TEXT)
    p = array / (array.sum() + 50)
    np.testing.assert_allclose(by_table.token_weights_, 1e-3 / (1e-3 + p), rtol=1e-6)
    assert by_table.n_uncounted_ == 1  # "the" has count 0: factor 1
    assert by_table.token_weights_[0] == 1
    by_array = SentenceVectorizer(kv, method="sif", counts=array).fit(TEXT)
    np.testing.assert_allclose(by_array.token_weights_, 1e-3 / (1e-3 + array / array.sum()), rtol=1e-6)
    own = copy.copy(kv)
    own.counts = array
    auto = SentenceVectorizer(own, method="sif").fit(TEXT)
    np.testing.assert_array_equal(auto.token_weights_, by_array.token_weights_)
    fitted = SentenceVectorizer(own, method="sif", counts="fit").fit(TEXT)
    bare = SentenceVectorizer(kv, method="sif").fit(TEXT)
    np.testing.assert_array_equal(fitted.token_weights_, bare.token_weights_)


def test_gensims_vectors_serve_too():
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    kv = vectors()
    other = keyedvectors.KeyedVectors(4)
    other.add_vectors(kv.index_to_key, kv.vectors)
    for method in METHODS:
        ours, theirs = (SentenceVectorizer(v, method=method).fit_transform(TEXT) for v in (kv, other))
        np.testing.assert_array_equal(theirs, ours)


def test_phrases_are_segmented():
    kv = vectors()
    made = SentenceVectorizer(kv, method="mean", phrases="_").fit(TEXT)
    np.testing.assert_allclose(made.transform([["new", "york"]])[0], kv.vectors[7], rtol=1e-6)
    plain = SentenceVectorizer(kv, method="mean").fit(TEXT)
    np.testing.assert_allclose(plain.transform([["new", "york"]])[0], kv.vectors[8:].mean(0), rtol=1e-5)


LINES = [
    "The cat sat, on the mat.",
    "",
    "a dog\nran\r\n",
    "  ",
    "0 zero",
    "Ünknown",
    "new_york",
    "\x00\u2028",
    "\ud800 cat",
]


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_strings_are_read_as_training_reads_them(tokenizer, lowercase):
    from wordvec_ca.text.tokenizer import tokenize

    made = SentenceVectorizer(vectors(), method="mean", tokenizer=tokenizer, lowercase=lowercase).fit(TEXT)
    lists = [tokenize(s.encode("utf-8", "replace").decode(), tokenizer, lowercase) for s in LINES]
    np.testing.assert_array_equal(made.transform(LINES), made.transform(lists))
    assert made.coverage(LINES) == made.coverage(lists)


def test_batches_change_nothing(monkeypatch):
    whole = SentenceVectorizer(vectors(), method="sif").fit(TEXT)
    rows = whole.transform(TEXT)
    monkeypatch.setattr("wordvec_ca.sentences.tokens.BATCH", 2)
    parts = SentenceVectorizer(vectors(), method="sif").fit(TEXT)
    np.testing.assert_allclose(parts.transform(TEXT), rows, atol=1e-6)
    streamed = list(parts.stream(iter(TEXT)))
    np.testing.assert_array_equal(np.concatenate([v for v, _ in streamed]), parts.transform(TEXT))
    assert sum((c.n_tokens for _, c in streamed)) == parts.coverage_.n_tokens == parts.coverage(TEXT).n_tokens


def test_coverage_is_counted():
    found = SentenceVectorizer(vectors()).fit(TEXT).coverage_
    counts = found.n_sentences, found.n_empty, found.n_all_oov, found.n_tokens, found.n_oov
    assert counts == (7, 1, 1, 21, 3)
    assert found.oov_rate == pytest.approx(3 / 21)
    assert "(1 empty, 1 without a known word), 21 tokens, 14.29 %" in str(found)


# ------------------------------------------------------------------ scikit-learn's contract

ANY_INPUT_CHECKS = [
    *("estimator_cloneable", "estimator_tags_renamed", "valid_tag_types", "estimator_repr", "mixin_order"),
    *("no_attributes_set_in_init", "do_not_raise_errors_in_init_or_set_params", "set_params"),
    *("parameters_default_constructible", "get_params_invariance"),
]


@pytest.mark.parametrize("name", ANY_INPUT_CHECKS)
def test_scikit_learns_checks_that_need_no_matrix(name):
    """The other checks feed matrices of numbers, which are not input here; their subjects follow below."""
    check = getattr(estimator_checks, f"check_{name}", None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("SentenceVectorizer", SentenceVectorizer())


def test_tags_say_text():
    tags = SentenceVectorizer().__sklearn_tags__().input_tags
    assert tags.string
    assert not tags.two_d_array


@pytest.mark.parametrize("method", METHODS)
def test_fitting_is_as_scikit_learn_checks_it_with_matrices(method):
    """The subjects of check_estimator's remaining transformer checks, with sentences."""
    made = SentenceVectorizer(vectors(), method=method)
    with pytest.raises(NotFittedError):
        made.transform(TEXT)
    before = dict(made.get_params())
    assert made.fit(TEXT[:3]) is made
    assert all(made.get_params()[k] is v for k, v in before.items())
    once = made.fit_transform(TEXT)  # what was fitted before is forgotten
    np.testing.assert_array_equal(once, made.transform(TEXT))
    again = SentenceVectorizer(vectors(), method=method).fit(TEXT)
    np.testing.assert_array_equal(once, again.transform(TEXT))
    assert np.isfinite(made.fit_transform([["cat", "sat"]])).all()


@pytest.mark.parametrize("method", METHODS)
def test_transforming_is_as_scikit_learn_checks_it_with_matrices(method):
    kv = vectors()
    made = SentenceVectorizer(kv, method=method).fit(TEXT)
    rows, state = made.transform(TEXT), pickle.dumps(made)
    np.testing.assert_allclose(made.transform(TEXT[::-1])[::-1], rows, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([made.transform([s]) for s in TEXT]), rows, atol=1e-6)
    made.transform([*TEXT[:2], "the cat"])
    assert pickle.dumps(made) == state
    copied = clone(made)
    assert copied.vectors is kv
    assert not hasattr(copied, "token_weights_")
    np.testing.assert_array_equal(copied.fit_transform(TEXT), rows)
    assert made.transform([]).shape == (0, 4)


def test_in_a_pipeline_and_a_grid():
    texts = ["the cat sat", "a dog ran", "cat mat", "dog ran ran"] * 5
    labels = [0, 1, 0, 1] * 5
    model = make_pipeline(SentenceVectorizer(vectors(), tokenizer=split), LogisticRegression())
    search = GridSearchCV(model, {"sentencevectorizer__method": METHODS}, cv=2).fit(texts, labels)
    assert search.best_score_ == 1.0
    names = search.best_estimator_[0].get_feature_names_out()
    assert names[0] == "sentencevectorizer0"
    assert len(names) == 4


# ------------------------------------------------------------------ input that is not as it should be


@pytest.mark.parametrize("method", METHODS)
def test_empty_and_all_unknown_sentences_are_zero(method):
    rows = SentenceVectorizer(vectors(), method=method).fit(TEXT).transform([[], ["oov"], ["oov", "oov2"]])
    np.testing.assert_array_equal(rows, 0)


@pytest.mark.parametrize("method", METHODS)
def test_zero_vectors_are_harmless(method):
    kv = vectors()
    kv.vectors[2] = 0
    rows = SentenceVectorizer(kv, method=method, n_components=0).fit_transform([*TEXT, ["cat"]])
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[-1], 0, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_nan_in_the_vectors_is_refused(method):
    kv = vectors()
    kv.vectors[3, 1] = np.nan
    with pytest.raises(DataError, match="vector of 'dog' holds NaN"):
        SentenceVectorizer(kv, method=method).fit_transform(TEXT)
    if method not in ("ca-sem", "ca-sem-sif"):  # these split every word, needed or not
        assert np.isfinite(SentenceVectorizer(kv, method=method).fit_transform([["cat"], ["sat"]])).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([], "no sentences"),
        ([[], []], "none of the 0 tokens in 2 sentences"),
        ([["oov"]], "none of the 1 tokens in 1 sentences"),
        ("one string", "sentences is a str"),
        (None, "sentences is a NoneType"),
        (3, "sentences is a int"),
        ([["the"], None], "sentence 1 is a NoneType"),
        ([["the"], 3.5], "sentence 1 is a float"),
        (np.ones((2, 3)), "sentence 0 is a ndarray"),
        ([["the", 3]], "a token is a int"),
        ([["the", ["cat"]]], "a token is not a string"),
        ([b"the cat"], "sentence 0 is a bytes"),
    ],
)
def test_sentences_that_cannot_be_used(text, message):
    with pytest.raises(DataError, match=message):
        SentenceVectorizer(vectors()).fit(text)


WRONG = {
    **{"method": "max", "readout": "all", "frequency": "tf", "pooling": "min", "a": 0, "n_components": -1},
    **{"counts": "file", "max_iter": -1, "tokenizer": "nltk", "vectors": None},
}


@pytest.mark.parametrize("name", WRONG)
def test_parameters_that_cannot_be_used(name):
    with pytest.raises(ValueError, match=r"must be|give word vectors"):
        SentenceVectorizer(**{"vectors": vectors(), name: WRONG[name]}).fit(TEXT)


def test_as_many_directions_as_dimensions_leave_nothing():
    size = SentenceVectorizer(vectors()).fit_transform(TEXT).shape[1]
    SentenceVectorizer(vectors(), n_components=size - 1).fit(TEXT)
    with pytest.raises(DataError, match=f"give at most {size - 1}"):
        SentenceVectorizer(vectors(), n_components=size).fit(TEXT)


@pytest.mark.parametrize("counts", [np.ones(3, int), -np.ones(len(WORDS), int), {"the": 0}])
def test_counts_that_cannot_be_used(counts):
    with pytest.raises(DataError):
        SentenceVectorizer(vectors(), method="sif", counts=counts).fit(TEXT)


# ------------------------------------------------------------------ storing


@pytest.mark.parametrize("method", METHODS)
def test_save_and_load(tmp_path, method):
    kv = vectors()
    made = SentenceVectorizer(kv, method=method, phrases="_").fit(TEXT)
    made.save(tmp_path / "fitted")
    again = SentenceVectorizer.load(tmp_path / "fitted", kv)
    np.testing.assert_array_equal(again.transform(TEXT), made.transform(TEXT))
    assert again.coverage_ == made.coverage_
    assert not [p for p in tmp_path.rglob("*") if p.suffix in (".pkl", ".pickle", ".joblib")]


def test_load_refuses_other_vectors_and_other_files(tmp_path):
    made = SentenceVectorizer(vectors(), tokenizer=split).fit(TEXT)
    made.save(tmp_path)
    with pytest.raises(DataError, match="other word vectors"):
        SentenceVectorizer.load(tmp_path, vectors([*WORDS[1:], "more"]), tokenizer=split)
    with pytest.raises(DataError, match="tokenizer function"):
        SentenceVectorizer.load(tmp_path, vectors())
    with pytest.raises(DataError, match="does not hold"):
        SentenceVectorizer.load(tmp_path / "nowhere", vectors())
