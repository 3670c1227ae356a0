"""Synthetic languages whose answers are known: what each model must be able to learn, and what it cannot.

The languages have letters. A: a word is determined by the word three places before it. B: the order of two
words decides. C, the control: a keyword is anywhere in the line. D: every other word is a function of its
left neighbour. Predictions and attention are computed here from the learned parameters alone.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, TrainConfig, Vocab, train
from wordvec_ca.models.attention import weights_by_place
from wordvec_ca.specs.models import SPECS, models_with
from wordvec_ca.training.collapse import dead_places

SHARED_BY = {spec.name: spec.shared_by for spec in SPECS if spec.shared_by}
AVERAGING = models_with("averages")
WINDOW = 5
OFFSETS = np.array([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5])
BEFORE, AFTER = 4, 5  # places of the neighbours


class Language(NamedTuple):
    """A text in lines of equal length, more of the same to be tested on, and the place to predict."""

    lines: np.ndarray
    test: np.ndarray
    at: int


def language_a(n: int, n_test: int = 10_000, seed: int = 1) -> Language:
    """x_t is a permutation of x_{t-3} in nine of ten cases, else any of 1,000 words."""
    rng = np.random.default_rng([seed, 0])
    permutation = rng.permutation(1_000)

    def text(n: int, length: int) -> np.ndarray:
        lines = rng.integers(0, 1_000, (n, length))
        for t in range(3, length):
            lines[:, t] = np.where(rng.random(n) < 0.9, permutation[lines[:, t - 3]], lines[:, t])
        return lines

    return Language(text(n, 20), text(n_test, 13), 6)


def language_b(n: int, n_test: int = 20_000, seed: int = 1) -> Language:
    """The middle of eleven words is A_a after u_a and before any u, but B_a before v_a and after any v.

    There are 60 pairs of A_a and B_a.
    """
    rng = np.random.default_rng([seed, 1])
    u, v, a, b, filler = 0, 60, 120, 180, 240

    def text(n: int) -> np.ndarray:
        lines = rng.integers(filler, filler + 200, (n, 11))
        decides, other = rng.integers(0, 60, (2, n))
        left = rng.random(n) < 0.5
        lines[:, 4] = np.where(left, u + decides, v + other)
        lines[:, 6] = np.where(left, u + other, v + decides)
        lines[:, 5] = np.where(left, a + decides, b + decides)
        return lines

    return Language(text(n), text(n_test), 5)


def language_c(n: int, n_test: int = 5_000, seed: int = 1) -> Language:
    """The middle of eleven words is determined by a keyword at any of the other places."""
    rng = np.random.default_rng([seed, 2])

    def text(n: int) -> np.ndarray:
        lines = rng.integers(120, 320, (n, 11))
        keyword = rng.integers(0, 60, n)
        lines[np.arange(n), 5 + rng.choice(OFFSETS, n)] = keyword
        lines[:, 5] = 60 + keyword
        return lines

    return Language(text(n), text(n_test), 5)


def language_d(n: int, n_test: int = 5_000, seed: int = 1) -> Language:
    """Even tokens are any of 190 words; an odd token is one of 10, its left neighbour modulo 10."""
    rng = np.random.default_rng([seed, 3])

    def text(n: int) -> np.ndarray:
        lines = rng.integers(0, 190, (n, 20))
        lines[:, 1::2] = 190 + lines[:, ::2] % 10
        return lines

    return Language(text(n), text(n_test), 9)


def learn(language: Language, **options: Any) -> EmbeddingModel:
    """Train one worker on the text as token lists; nothing is left out."""
    exact = options["model"] in AVERAGING and options.get("cbow_update") != "word2vec"
    usual = {"vector_size": 24, "alpha": 0.2 if exact else 0.1, "negative": 10, "epochs": 4}
    options = {**usual, **options, "workers": 1}
    if options.get("negatives") == "shared":  # as on a long text
        options["shared_by"] = SHARED_BY[options["model"]]
    text = {"window": WINDOW, "shrink_windows": False, "sample": 0, "min_count": 1, "tokenizer": "whitespace"}
    sentences = [[f"{word:04d}" for word in line] for line in language.lines.tolist()]
    return train(sentences, TrainConfig(**text, **options))


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def predict(model: EmbeddingModel, language: Language) -> tuple[float, np.ndarray]:
    """Return the share of test lines whose middle is predicted, out of all words, and the mean attention."""
    config, d = model.config, model.config.vector_size
    # the vocabulary is sorted by count: rows of word 0, 1, 2 .. of the language
    n_words = int(language.lines.max()) + 1
    rows = np.array([model.vocab.index[f"{word:04d}"] for word in range(n_words)])
    vectors = model.inputs[rows, :d].astype(np.float64)
    outputs = model.outputs.reshape(len(model.vocab), -1, model.inputs.shape[1])[rows, :, :d].astype(
        np.float64
    )
    context = language.test[:, language.at + OFFSETS]
    weights = np.full(context.shape, 1 / len(OFFSETS))
    if config.model == "cbow-attn":
        logits = np.zeros(context.shape)
        if config.attention in ("full", "position"):
            logits += model.slot_logits[0, : len(OFFSETS)]
        if config.attention == "full":
            logits += model.word_logits[rows][context, np.arange(len(OFFSETS))]
        if config.attention == "word":
            logits += model.word_logits[rows][context, 0]
        weights = softmax(logits)
    if config.model in ("ssg", "cwindow"):  # an output row for each place
        scores = sum(vectors[context[:, i]] @ outputs[:, i].T for i in range(len(OFFSETS)))
    else:
        scores = np.einsum("bi,bid->bd", weights, vectors[context]) @ outputs[:, 0].T
    found = np.argmax(scores, axis=1) == language.test[:, language.at]
    return float(found.mean()), weights.mean(axis=0)


def sharing(*models: str) -> list[tuple[str, str]]:
    """Return the models with each way to draw negatives that they have."""
    return [
        (m, negatives)
        for m in models
        for negatives in ("exact", "shared")
        if negatives == "exact" or m in SHARED_BY
    ]


# ---- orientation and warm-up ----------------------------------------------------------------


@pytest.mark.parametrize("update", ["exact", "word2vec"])
@pytest.mark.parametrize("negatives", ["exact", "shared"])
def test_attention_finds_the_left_neighbour(negatives, update):
    language = language_d(10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no false alarm
        options = {"negatives": negatives, "cbow_update": update, "alpha": 0.1, "attention_warmup": 0.1}
        model = learn(language, model="cbow-attn", **options)
    found, attention = predict(model, language)
    assert found >= 0.99
    assert attention.argmax() == BEFORE
    assert attention[BEFORE] >= 0.6


@pytest.mark.parametrize("negatives", ["exact", "shared"])
def test_without_warm_up_attention_collapses_and_says_so(negatives):
    language = language_d(10_000)
    options = {"negatives": negatives, "cbow_update": "exact", "alpha": 0.1, "attention_warmup": 0.0}
    with pytest.warns(UserWarning, match="attention has collapsed"):
        model = learn(language, model="cbow-attn", **options)
    found, attention = predict(model, language)
    assert found <= 0.15  # chance is .10
    assert attention[BEFORE] <= 0.01


# ---- word and place -------------------------------------------------------------------------

ORDER_BLIND = 1 / 2 + 1 / (2 * 60)
"""Share of right answers without knowing the order of the two words, or which of them counts."""


def above(bound: float, n: int) -> float:
    return bound + 3 * (bound * (1 - bound) / n) ** 0.5


@pytest.mark.parametrize("update", ["exact", "word2vec"])
@pytest.mark.parametrize("negatives", ["exact", "shared"])
def test_attention_that_knows_word_and_place_solves_b(negatives, update):
    language = language_b(20_000)
    found, _ = predict(learn(language, model="cbow-attn", negatives=negatives, cbow_update=update), language)
    assert found >= 0.99


def test_cwindow_solves_b():
    language = language_b(20_000)
    found, _ = predict(learn(language, model="cwindow"), language)
    assert found >= 0.99


@pytest.mark.parametrize("negatives", ["exact", "shared"])
@pytest.mark.parametrize(
    ("model", "kind"), [("cbow", "full"), ("cbow-attn", "position"), ("cbow-attn", "word")]
)
def test_models_that_do_not_cannot(model, kind, negatives):
    language = language_b(20_000)
    found, _ = predict(learn(language, model=model, attention=kind, negatives=negatives), language)
    assert 0.45 <= found <= above(ORDER_BLIND, len(language.test))


# ---- distance -------------------------------------------------------------------------------


@pytest.mark.parametrize(("update", "each"), [("word2vec", 0.45), ("exact", 0.5)])
@pytest.mark.parametrize("negatives", ["exact", "shared"])
def test_attention_finds_distances_of_three(negatives, update, each):
    language = language_a(20_000)
    options = {"alpha": 0.1, "vector_size": 16, "negative": 15, "epochs": 3}
    model = learn(language, model="cbow-attn", negatives=negatives, cbow_update=update, **options)
    found, attention = predict(model, language)
    assert found == pytest.approx(0.85, abs=0.03)
    assert attention[OFFSETS == -3] == pytest.approx(
        each, abs=0.05
    )  # the exact step leaves no weight to other places
    assert attention[OFFSETS == 3] == pytest.approx(each, abs=0.05)


# ---- control --------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "negatives"), sharing("cbow", "skipgram", "ssg", "cwindow", "cbow-attn"))
def test_a_keyword_anywhere_is_found_by_all(model, negatives):
    language = language_c(20_000)
    pairwise = model in ("skipgram", "ssg")
    trained = learn(language, model=model, negatives=negatives, alpha=0.05 if pairwise else 0.1)
    found, attention = predict(trained, language)
    assert found >= 0.999
    if model == "cbow-attn":
        np.testing.assert_allclose(attention, 0.1, atol=0.02)


# ---- the collapse ---------------------------------------------------------------------------


def test_a_place_that_has_died_is_seen():
    falling = np.array([0.2, 0.4, 0.9, 3.0, 3.1, 0.8, 0.5, 0.2])  # the window is 4
    assert dead_places(falling) == []
    assert dead_places(0.5 ** np.arange(12.0)) == []  # far places fade gradually: none of them stands out
    assert dead_places(np.full(8, np.nan)) == []
    for place in range(8):
        by_place = falling.copy()
        by_place[place] = 1e-4
        assert dead_places(by_place) == [place]


def test_weights_by_place_are_means_over_targets():
    rng = np.random.default_rng(2)
    lines = [rng.integers(0, 30, n) for n in (9, 1, 0, 2, 14, 5)]
    tokens = np.concatenate([np.append(line, -1) for line in lines]).astype(np.int32)
    for kind in ("full", "position", "word"):
        vocab = Vocab([f"w{i}" for i in range(30)], np.arange(30, 0, -1))
        model = EmbeddingModel(TrainConfig(model="cbow-attn", window=3, attention=kind), vocab)
        model.word_logits[:] = rng.normal(0, 2, model.word_logits.shape)
        if kind != "word":
            model.slot_logits[:] = rng.normal(0, 2, model.slot_logits.shape)
        found: dict[int, list[float]] = {offset: [] for offset in (-3, -2, -1, 1, 2, 3)}
        for line in lines:
            for i in range(len(line)):
                weights = {}
                for slot, offset in enumerate(found):
                    if 0 <= i + offset < len(line):
                        column = {"full": slot, "word": 0}.get(kind)
                        logit = 0.0 if column is None else model.word_logits[line[i + offset], column]
                        logit += model.slot_logits[0, slot] if kind != "word" else 0.0
                        weights[offset] = np.exp(np.clip(logit, -10, 10))
                for offset, weight in weights.items():
                    found[offset].append(weight / sum(weights.values()) * len(weights))
        expected = [np.mean(weights) for weights in found.values()]
        by_place = weights_by_place(model, tokens)
        np.testing.assert_allclose(by_place, expected, rtol=1e-6)


def test_lines_of_two_words_are_no_collapse():
    language = language_b(2_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(language._replace(lines=language.lines[:, 4:6]), model="cbow-attn")
