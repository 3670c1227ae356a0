"""The text classifiers: scikit-learn's conventions, learning, and clear messages."""

from typing import ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'wordvec-ca[torch]'")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402

from wordvec_ca.errors import DataError  # noqa: E402
from wordvec_ca.nn.classifiers import CABagClassifier, ContextualizerClassifier  # noqa: E402

CLASSIFIERS = {
    "average": CABagClassifier(context_aware=False, max_epochs=8, min_count=1),
    "bag": CABagClassifier(max_epochs=12, em_steps=5, min_count=1),
    "contextualizer": ContextualizerClassifier(word_dim=24, position_dim=4, rank=8, max_epochs=12, lr=0.01),
}
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


def corpus(size=300, seed=0):
    """Return sentences of three classes: noise words, and one or two words that tell the class."""
    generator = np.random.default_rng(seed)
    labels = generator.choice(["neg", "neutral", "pos"], size)
    noise = [f"w{i}" for i in range(20)]
    telling = {"neg": ["bad", "awful"], "neutral": ["plain", "usual"], "pos": ["good", "great"]}
    texts = []
    for label in labels:
        words = [*generator.choice(noise, generator.integers(1, 6)), *generator.choice(telling[label], 2)]
        texts.append(" ".join(generator.permutation(words)))
    return texts, labels


@every_classifier
def test_learns_is_seeded_and_leaves_torchs_generator_alone(name):
    texts, labels = corpus()
    test_texts, test_labels = corpus(seed=1)
    state = torch.get_rng_state()
    model = clone(CLASSIFIERS[name]).fit(texts, labels)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.score(test_texts, test_labels) > 0.9
    probabilities = model.predict_proba(test_texts)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert (model.classes_[probabilities.argmax(1)] == model.predict(test_texts)).all()
    again = clone(CLASSIFIERS[name]).fit(texts, labels)
    assert (again.predict_proba(test_texts) == probabilities).all()
    # the result depends neither on the other documents of a call nor on the form of the document
    np.testing.assert_allclose(model.predict_proba(test_texts[:3]), probabilities[:3], atol=1e-6)
    words = [text.split() for text in test_texts[:3]]
    np.testing.assert_allclose(model.predict_proba(words), probabilities[:3], atol=1e-6)
    # an empty document, an unknown word, no document
    odd = model.predict_proba(["", "zebra"])
    np.testing.assert_allclose(odd[0], odd[1])
    assert np.isfinite(odd).all()
    assert model.predict([]).shape == (0,)


def test_works_in_cross_validation():
    assert cross_val_score(CLASSIFIERS["average"], *map(np.array, corpus()), cv=3).mean() > 0.9


def test_keeps_the_epoch_that_is_best_on_dev_and_stops_early():
    texts, labels = corpus(120)
    dev = corpus(60, seed=2)
    model = CABagClassifier(max_epochs=60, patience=2, em_steps=0, random_state=3).fit(texts, labels, dev=dev)
    scores = [record["dev_accuracy"] for record in model.history_]
    assert len(scores) == model.best_epoch_ + 2 < 60
    assert scores[model.best_epoch_ - 1] == max(scores) == model.score(*dev)


def test_starts_from_given_vectors():
    class Keyed:
        key_to_index: ClassVar = {"good": 0, "bad": 1}
        vectors: ClassVar = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)

    texts, labels = corpus(60)
    model = ContextualizerClassifier(vectors=Keyed(), max_epochs=1, min_count=1, position_dim=2).fit(
        texts, labels
    )
    table = model.module_.embedding.weight
    assert table[model.vocabulary_["good"]].tolist() == [1.0, 2.0]
    assert table[model.vocabulary_["great"]].abs().max() <= 1
    bag = CABagClassifier(vectors=Keyed(), max_epochs=1, lr=1e-9).fit(texts, labels)
    np.testing.assert_allclose(bag.module_[0].weight[bag.vocabulary_["bad"]].detach(), [3.0, 4.0], atol=1e-6)


@pytest.mark.parametrize(
    ("texts", "labels", "options", "message"),
    [
        ("one text", [1], {}, "one string"),
        (["a", None], [0, 1], {}, "Document 1 is None"),
        (["a", ["b", 3]], [0, 1], {}, "Document 1"),
        (["a", "b"], [0], {}, "2 documents but labels of shape"),
        (["a", "b"], [0, float("nan")], {}, "Document 1 has no label"),
        (["a", "b"], [1, 1], {}, "one class"),
        (["a", "b", "c"], [0, 1, 1], {}, "dev_fraction=0"),
        (["a", "b"], [0, 1], {"dev_fraction": 0, "min_count": 2}, "lower min_count"),
        (["", " "], [0, 1], {"dev_fraction": 0}, "min_count"),
        (["a", "b"] * 9, [0, 1] * 9, {"dev_fraction": 0, "lr": float("inf")}, "diverged"),
    ],
)
def test_bad_data_is_named(texts, labels, options, message):
    with pytest.raises(DataError, match=message):
        CABagClassifier(**options).fit(texts, labels)


def test_progress_goes_to_standard_error(capsys):
    texts, labels = corpus(40)
    CABagClassifier(max_epochs=2, verbose=True).fit(texts, labels)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch 2/2" in captured.err
