"""What programs see of a trained model: arrays as gensim's are, and the same after it was saved."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca.gensim.models import Doc2Vec, FastText, KeyedVectors, Word2Vec
from wordvec_ca.gensim.models.doc2vec import TaggedDocument

SENTENCES = [[f"w{(n * k) % 37}" for k in range(1, 9)] for n in range(60)]
DOCUMENTS = [TaggedDocument(words, [number, f"tag{number % 7}"]) for number, words in enumerate(SENTENCES)]
COMMON: dict[str, Any] = {"vector_size": 20, "min_count": 1, "workers": 1, "epochs": 2, "seed": 3}
MODELS = {
    "cbow": lambda: Word2Vec(SENTENCES, **COMMON),
    "skip-gram with a tree": lambda: Word2Vec(SENTENCES, sg=1, hs=1, **COMMON),
    "whole vectors": lambda: Word2Vec(SENTENCES, **{**COMMON, "vector_size": 32}),
    "fastText": lambda: FastText(SENTENCES, bucket=500, **COMMON),
    "pv-dm": lambda: Doc2Vec(DOCUMENTS, **COMMON),
    "pv-dbow": lambda: Doc2Vec(DOCUMENTS, dm=0, dbow_words=1, **COMMON),
    "pv-dm concatenated": lambda: Doc2Vec(DOCUMENTS, dm_concat=1, dm_tag_count=2, window=2, **COMMON),
}
OF_ONE_OBJECT = {"lifecycle_events", "random", "callbacks", "mapfile_path", "total_train_time"}


def attributes(thing: Any) -> dict[str, Any]:
    """Return the public attributes of a model or of vectors, those of its vectors included."""
    found: dict[str, Any] = {}
    for name in dir(thing):
        if name.startswith("_") or name in OF_ONE_OBJECT or callable(getattr(thing, name, print)):
            continue
        value = getattr(thing, name)
        if isinstance(value, KeyedVectors):
            found |= {f"{name}.{inner}": one for inner, one in attributes(value).items()}
        else:
            found[name] = value
    return found


def again(model: Any, way: str, folder: Path) -> Any:
    if way == "pickled":
        return pickle.loads(pickle.dumps(model))
    model.save(str(folder / "model"))
    return type(model).load(str(folder / "model"))


def check_arrays(model: Any) -> None:
    for name, value in attributes(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert value.flags.c_contiguous, name
            assert value.dtype == np.float32, name
            assert value.flags.writeable, name


@pytest.mark.parametrize("way", ["saved", "pickled"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_live_model_equals_itself_after_it_was_saved(make: Any, way: str, tmp_path: Path) -> None:
    model = make()
    check_arrays(model)
    other = again(model, way, tmp_path)
    check_arrays(other)
    live, stored = attributes(model), attributes(other)
    assert live.keys() == stored.keys()
    for name, value in live.items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, stored[name]), name
        elif isinstance(value, dict | list | str | int | float | tuple) or value is None:
            assert repr(value) == repr(stored[name]), name
    for one in (model, other):
        corpus = DOCUMENTS if isinstance(model, Doc2Vec) else SENTENCES
        one.train(corpus, total_examples=60, epochs=1)
        check_arrays(one)
    assert np.array_equal(model.wv.vectors, other.wv.vectors)


def test_training_goes_on_in_the_same_array() -> None:
    """Programs hold ``wv.vectors``, write into it, and see what training makes of it, in callbacks too."""
    model = MODELS["cbow"]()
    held = model.wv.vectors
    held[0] = 7.0
    seen: list[np.ndarray] = []

    class Callback:
        def on_train_begin(self, model: Any) -> None: ...
        def on_train_end(self, model: Any) -> None: ...
        def on_epoch_begin(self, model: Any) -> None: ...
        def on_epoch_end(self, model: Any) -> None:
            seen.append(model.wv.vectors.copy())
            model.wv.vectors[1] = 9.0

    model.train(SENTENCES, total_examples=60, epochs=2, callbacks=[Callback()])
    assert model.wv.vectors is held
    assert abs(seen[0][0].mean() - 7.0) < 1.0
    assert abs(seen[1][1].mean() - 9.0) < 1.0
    assert (seen[1] != seen[0]).any()


def test_inference_uses_what_the_model_is_now() -> None:
    """What makes inference quick is kept between calls, but not beyond a change of the model."""
    model = MODELS["pv-dm"]()
    text = SENTENCES[5]
    first = model.infer_vector(text)
    assert np.array_equal(first, model.infer_vector(text))
    assert not np.array_equal(first, model.infer_vector(text, epochs=9))
    model.wv.vectors[:] *= -2.0
    changed = model.infer_vector(text)
    assert not np.array_equal(first, changed)
    assert np.array_equal(changed, pickle.loads(pickle.dumps(model)).infer_vector(text))
    model.train(DOCUMENTS, total_examples=60, epochs=3)
    trained = model.infer_vector(text)
    assert np.array_equal(trained, pickle.loads(pickle.dumps(model)).infer_vector(text))
