"""Models of documents with two threads, in replicas and with n-grams."""

from typing import Any

import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, TrainConfig, attention_weights, train
from wordvec_ca.specs.models import MODELS, spec_of
from wordvec_ca.training import Inference, inference, known_rows

TOPICS = [[f"{letter}{number}" for number in range(12)] for letter in "ab"]
OF_DOCUMENTS = [name for name in MODELS if spec_of(name).documents]


def lines(n: int = 120) -> list[str]:
    """Return documents of two topics in turn, which have no word in common."""
    rng = np.random.default_rng(5)
    return [" ".join(rng.choice(TOPICS[i % 2], 40)) for i in range(n)]


def trained(model: str, **options: Any) -> EmbeddingModel:
    """Train on these documents."""
    given = {"vector_size": 16, "window": 3, "min_count": 1, "epochs": 5, "sample": 0, "alpha": 0.1}
    return train(
        [text.split() for text in lines()], TrainConfig(model=model, **{**given, "workers": 1, **options})
    )


WAYS: list[dict[str, Any]] = [{"workers": 2}, {"workers": 2, "replicas": 2}, {"subwords": True, "min_n": 2}]


@pytest.mark.parametrize("way", WAYS, ids=["two workers", "replicas", "subwords"])
@pytest.mark.parametrize("model", OF_DOCUMENTS)
def test_every_document_learns(model, way):
    made, alone = trained(model, **way), trained(model)
    assert made.documents is not None
    rows = made.documents.rows[:, :16]
    assert np.isfinite(rows).all()
    # every row has moved, whichever thread or replica has trained it
    fresh = EmbeddingModel(made.config, made.vocab, made.documents.tags)
    fresh.initialise()
    assert fresh.documents is not None
    assert (rows != fresh.documents.rows[:, :16]).any(axis=1).all()
    losses = [one.record["loss_by_epoch"][-1] for one in (made, alone)]
    assert losses[0] == pytest.approx(losses[1], rel=0.15)
    words = known_rows(made.vocab.index, [text.split() for text in lines(3)])
    assert Inference(made).infer(words).any(axis=1).all()


def test_one_thread_each_makes_replicas_repeatable():
    found = [trained("pv-dm", workers=2, replicas=2, epochs=2) for _ in range(2)]
    rows = [model.documents.rows for model in found if model.documents is not None]
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(found[0].inputs, found[1].inputs)


def test_words_of_new_documents_are_made_of_ngrams(tmp_path):
    made = trained("pv-dm", subwords=True, min_n=2)
    made.save(tmp_path / "m")
    loaded = EmbeddingModel.load(tmp_path / "m")
    words = known_rows(made.vocab.index, [lines(1)[0].split()])
    assert np.array_equal(Inference(made).infer(words), Inference(loaded).infer(words))
    assert loaded.wv["a99"].any()  # made from its n-grams, as in other models


@pytest.mark.parametrize("kind", ["full", "position", "word"])
def test_the_document_begins_with_the_weight_of_all_words_together(tmp_path, kind):
    trained("pv-dm-attn", attention=kind, attention_warmup=1.0, epochs=1).save(tmp_path / "m")
    weights = attention_weights(tmp_path / "m", [f"a{i}" for i in range(7)], 3, document=0)
    assert weights[-1].weight == pytest.approx(0.5, abs=1e-6)


def copy_rows_of(made: EmbeddingModel) -> Any:
    """Return what copies rows of a parameter to the beginning of an array."""
    parameters = {name: getattr(made, name) for name in ("inputs", "outputs", "nodes")}

    def copy_rows(name: str, numbers: np.ndarray, room: np.ndarray) -> None:
        room[: len(numbers)] = parameters.get(name, made.documents.rows)[numbers]

    return copy_rows


def test_a_document_after_an_interrupted_one_has_its_own_vector(monkeypatch):
    made, numbered = trained("pv-dm", epochs=1), []

    def interrupted(*given):  # Ctrl-C counts when compiled code has ended, before its result is used
        numbered.append(number_rows(*given))
        if len(numbered) in (3, 5):
            raise KeyboardInterrupt
        return numbered[-1]

    number_rows = inference.number_rows
    words = known_rows(made.vocab.index, [text.split() for text in lines(4)])
    monkeypatch.setattr(inference, "number_rows", interrupted)
    found, expected = Inference(made, copy_rows_of(made)), Inference(made).rows(words)
    assert np.array_equal(found.rows(words[:1]), expected[:1])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            found.rows(words[1:2])
    assert np.array_equal(found.rows(words), expected)


@pytest.mark.parametrize("options", [{}, {"hs": True, "negative": 2}, {"hs": True, "negative": 0}])
@pytest.mark.parametrize("model", ["pv-dbow", "pv-dm", "pv-dm-concat"])  # those of the drop-in
def test_copied_rows_give_the_vectors_of_rows_in_place(model, options, monkeypatch):
    """Whatever a thread has read before, and in as many blocks as rows fit into."""
    made = trained(model, epochs=1, **options)
    words = known_rows(made.vocab.index, [text.split() for text in lines(4)])
    words += [words[0][:1], np.concatenate(words), words[1]]
    for bytes_at_once in (1 << 22, 1 << 10):
        monkeypatch.setattr(inference, "BYTES_AT_ONCE", bytes_at_once)
        found = Inference(made, copy_rows_of(made), epochs=7)
        expected = Inference(made, epochs=7).rows(words)
        assert np.array_equal(found.rows(words), expected)
        assert np.array_equal(found.rows(words[::-1], threads=2), expected[::-1])
