"""What a model directory publishes, and other vectors from the same parameters."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, EmbeddingModel, KeyedVectors, TrainConfig, train
from wordvec_ca.errors import OptionError, OptionWarning
from wordvec_ca.files import changed_files
from wordvec_ca.models import publish
from wordvec_ca.runs import continued_config
from wordvec_ca.specs.models import VECTOR_FORMS
from wordvec_ca.tables import fitted_ngrams

KINDS: list[dict[str, Any]] = [
    {"model": "cbow-attn"},
    {"model": "ssg"},
    {"model": "cwindow"},
    {"model": "cbow"},
    {"model": "skipgram", "subwords": True, "min_n": 2, "max_n": 3},
]


def sentences() -> list[list[str]]:
    """Return text in which words go in pairs."""
    rng = random.Random(1)
    pairs = [(f"cat{i}", f"paw{i}") for i in range(30)]
    return [[word for _ in range(6) for word in rng.choice(pairs)] for _ in range(200)]


def trained(output: Path, **options: Any) -> EmbeddingModel:
    """Return a small model."""
    small: dict[str, Any] = {"vector_size": 8, "window": 2, "epochs": 1, "min_count": 1, "workers": 1}
    return train(sentences(), TrainConfig(**{**small, **options}), output=output)


@pytest.mark.parametrize("kind", KINDS, ids=[" ".join(map(str, kind.values())) for kind in KINDS])
def test_every_form_of_every_model_is_the_same_from_memory_and_disk(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(fitted_ngrams, "LEAST_EXPLAINED", -9.0)  # of sixty words, n-grams tell nothing
    model = trained(tmp_path / "m", vectors="both", **kind)
    loaded = EmbeddingModel.load(tmp_path / "m")
    for name, array in model.learnt.items():
        assert np.array_equal(array, loaded.learnt[name]), "parameters stay as they were trained"
    assert np.array_equal(loaded.vectors.vectors, model.vectors.vectors)
    assert isinstance(loaded.vectors.vectors, np.memmap), "the stored ones, not made anew"
    theirs = pytest.importorskip("gensim.models").KeyedVectors.load(str(tmp_path / "m" / "vectors.kv"))
    assert np.array_equal(theirs.vectors, model.vectors.vectors)
    for form in VECTOR_FORMS:
        if form == "fitted" and kind.get("subwords"):
            continue
        read = KeyedVectors.load(tmp_path / "m", vectors=form)
        made = loaded.publish(form)
        assert np.array_equal(read.vectors, made.vectors)
        assert read.metadata["config"]["vectors"] == form
        publish(tmp_path / "m", form, output=tmp_path / form)
        published = KeyedVectors.load(tmp_path / form)
        assert np.array_equal(published.vectors, made.vectors)
        assert not changed_files(tmp_path / form)
        assert EmbeddingModel.load(tmp_path / form).form == form
        if form == "fitted":
            for vectors in (made, published, EmbeddingModel.load(tmp_path / form).vectors):
                assert np.array_equal(vectors["cat31"], read["cat31"])
        if kind.get("subwords"):
            for vectors in (read, made, published):
                assert vectors.similarity("cat31", "cat3") > vectors.similarity("cat31", "paw3")
                np.testing.assert_allclose(vectors["cat31"], made["cat31"], atol=1e-5)
    again = KeyedVectors.load(tmp_path / "input", vectors="both")
    assert np.array_equal(again.vectors, model.vectors.vectors)


def test_a_directory_is_published_in_place_and_back(tmp_path):
    model = trained(tmp_path / "m", vectors="input")
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    publish(tmp_path / "m", "both")
    assert not changed_files(tmp_path / "m")
    assert np.array_equal(KeyedVectors.load(tmp_path / "m").vectors, model.publish("both").vectors)
    assert 'vectors = "both"' in (tmp_path / "m" / "run.toml").read_text()
    assert continued_config(tmp_path / "m", {}).vectors == "both"
    publish(tmp_path / "m", "input")
    after = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    assert after.keys() == before.keys()
    assert after["vectors.kv.vectors.npy"] == before["vectors.kv.vectors.npy"]
    (tmp_path / "m" / "vocab.tsv").write_bytes(before["vocab.tsv"] + b" ")
    publish(tmp_path / "m", "output")
    assert changed_files(tmp_path / "m") == {"vocab.tsv": "changed"}, "publishing does not hide a damage"
    (tmp_path / "m" / "vocab.tsv").write_bytes(before["vocab.tsv"])
    (tmp_path / "m" / "outputs.npy").write_bytes(before["outputs.npy"][:-4] + b"\0\0\0\1")
    with pytest.raises(DataError, match=r"outputs\.npy' is not as it was saved"):
        publish(tmp_path / "m", "both")


@pytest.mark.parametrize("form", ["input", "output"])
def test_published_vectors_are_not_taken_for_missing_input_rows(tmp_path, form):
    trained(tmp_path / "m", vectors="both")
    (tmp_path / "m" / "inputs.npy").unlink()
    with pytest.raises(DataError, match=r"inputs\.npy' is missing"):
        KeyedVectors.load(tmp_path / "m", vectors=form)
    with pytest.raises(DataError, match=r"has no input rows \(inputs\.npy\)"):
        publish(tmp_path / "m", form)
    (tmp_path / "m" / "SHA256SUMS").unlink()
    with pytest.raises(DataError, match=r"has no input rows \(inputs\.npy\)"):
        KeyedVectors.load(tmp_path / "m", vectors=form)


def test_only_missing_files_that_can_be_made_again_are_made(tmp_path):
    trained(tmp_path / "m", vectors="both")
    (tmp_path / "m" / "vectors.kv.vectors.npy").unlink()
    publish(tmp_path / "m", "both")
    assert not changed_files(tmp_path / "m")
    KeyedVectors.load(tmp_path / "m")
    (tmp_path / "m" / "vocab.tsv").unlink()
    with pytest.raises(DataError, match=r"has no vocab\.tsv"):
        publish(tmp_path / "m", "output")


def test_a_model_whose_record_lacks_the_form_is_refused(tmp_path):
    trained(tmp_path / "m", vectors="input")
    config = tmp_path / "m" / "config.json"
    record = json.loads(config.read_text())
    del record["config"]["vectors"]
    config.write_text(json.dumps(record))
    (tmp_path / "m" / "SHA256SUMS").unlink()
    with pytest.raises(DataError, match="vectors"):
        EmbeddingModel.load(tmp_path / "m")


def test_models_with_ngrams_publish_input_rows_unless_asked(tmp_path):
    assert trained(tmp_path / "n", subwords=True).form == "input"
    assert trained(tmp_path / "b", subwords=True, vectors="both").form == "both"


def test_ngrams_are_fitted_to_a_model_that_has_none_and_whose_spelling_tells_something(tmp_path, monkeypatch):
    with pytest.warns(OptionWarning, match="spelling"):  # what was trained is published as both
        assert trained(tmp_path / "m", vectors="fitted").form == "both"
    with pytest.raises(DataError, match="spelling"):
        publish(tmp_path / "m", "fitted")
    assert not changed_files(tmp_path / "m")
    monkeypatch.setattr(fitted_ngrams, "LEAST_EXPLAINED", -9.0)
    publish(tmp_path / "m", "fitted")
    assert "cat31" in KeyedVectors.load(tmp_path / "m")
    publish(tmp_path / "m", "both")
    assert not (tmp_path / "m" / "ngrams.npy").exists()
    trained(tmp_path / "n", subwords=True)
    with pytest.raises(DataError, match="n-grams already"):
        KeyedVectors.load(tmp_path / "n", vectors="fitted")
    for options in ({"subwords": True}, {"resamples": 2}):
        with pytest.raises(OptionError, match="fitted"):
            TrainConfig(vectors="fitted", **options)


def test_what_cannot_be_published_is_refused(tmp_path):
    model = trained(tmp_path / "hs", hs=True, negative=0)
    assert model.form == "input"
    with pytest.raises(OptionError, match="vectors is 'both'; with negative=0 there are no output rows"):
        publish(tmp_path / "hs", "both")
    with pytest.raises(DataError, match="no output rows"):
        KeyedVectors.load(tmp_path / "hs", vectors="both")
    trained(tmp_path / "several", resamples=2)
    with pytest.raises(DataError, match="resampled models"):
        publish(tmp_path / "several", "output")
    model.vectors.save(tmp_path / "v.txt")
    with pytest.raises(DataError, match="only a model directory"):
        KeyedVectors.load(tmp_path / "v.txt", vectors="both")
    with pytest.raises(ValueError, match="vectors is 'half'"):
        KeyedVectors.load(tmp_path / "several", vectors="half")


def test_a_link_out_of_the_model_is_not_followed(tmp_path):
    trained(tmp_path / "m")
    (tmp_path / "m" / "vocab.tsv").rename(tmp_path / "words")
    (tmp_path / "m" / "vocab.tsv").symlink_to(tmp_path / "words")
    with pytest.raises(DataError, match=r"vocab\.tsv.*words.*cp -rL"):
        publish(tmp_path / "m", "both", output=tmp_path / "n")
    assert not (tmp_path / "n").exists()
