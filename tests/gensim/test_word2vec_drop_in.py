"""What gensim's own tests do not ask of the drop-in: files for gensim and from it, copies, no gensim."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca.errors import DataError
from wordvec_ca.gensim.models import Phrases, Word2Vec
from wordvec_ca.gensim.models.phrases import ENGLISH_CONNECTOR_WORDS, Phraser

SMALL: dict[str, Any] = {"vector_size": 12, "min_count": 1, "workers": 1, "epochs": 1, "sample": 0}
BOTH = {"hs": 1, "negative": 3}


def sentences() -> list[list[str]]:
    rng = random.Random(1)
    return [[f"w{min(rng.randrange(40), rng.randrange(40))}" for _ in range(12)] for _ in range(120)]


@pytest.mark.parametrize("losses", [BOTH, {"hs": 1, "negative": 0}, {"negative": 5}])
def test_gensim_loads_and_trains_a_model_of_ours(tmp_path: Path, losses: dict[str, int]) -> None:
    theirs = pytest.importorskip("gensim.models").Word2Vec
    ours = Word2Vec(sentences(), **SMALL, **losses)
    ours.save_for_gensim(tmp_path / "m.model")
    loaded = theirs.load(str(tmp_path / "m.model"))
    assert loaded.wv.index_to_key == ours.wv.index_to_key
    for name in ("syn1", "syn1neg"):
        assert hasattr(loaded, name) == hasattr(ours, name)
        if hasattr(ours, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(ours, name))
    if ours.hs and not ours.negative:  # the same tree: each gives the sentences the same probabilities
        np.testing.assert_allclose(loaded.score(sentences()[:9]), ours.score(sentences()[:9]), rtol=0.05)
    before = loaded.wv.vectors.copy()
    loaded.train(sentences(), total_examples=120, epochs=1)
    assert np.abs(loaded.wv.vectors - before).max() > 1e-4


@pytest.mark.parametrize("losses", [BOTH, {"hs": 1, "negative": 0}, {"negative": 5}])
def test_we_load_and_train_a_model_of_gensim(tmp_path: Path, losses: dict[str, int]) -> None:
    theirs = pytest.importorskip("gensim.models").Word2Vec(sentences(), **SMALL, **losses)
    theirs.save(str(tmp_path / "m.model"))
    ours = Word2Vec.load(tmp_path / "m.model")
    np.testing.assert_array_equal(ours.wv.vectors, theirs.wv.vectors)
    if ours.hs and not ours.negative:
        np.testing.assert_allclose(ours.score(sentences()[:9]), theirs.score(sentences()[:9]), rtol=0.05)
    before = ours.wv.vectors.copy()
    ours.train(sentences(), total_examples=120, epochs=1)
    assert np.abs(ours.wv.vectors - before).max() > 1e-4


def test_copies_are_trained_alone() -> None:
    model = Word2Vec(sentences(), **SMALL, **BOTH)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        before, nodes = model.wv.vectors.copy(), model.syn1.copy()
        twin.train(sentences(), total_examples=120, epochs=1)
        assert np.abs(twin.syn1 - model.syn1).max() > 1e-4
        np.testing.assert_array_equal(model.wv.vectors, before)
        np.testing.assert_array_equal(model.syn1, nodes)


def test_a_python_without_gensim(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["gensim"] = None  # an import of it fails
from wordvec_ca.gensim.models import KeyedVectors, Phrases, Word2Vec
text = [["a", "b", "c", "d"]] * 50
model = Word2Vec(text, min_count=1, vector_size=8, hs=1, workers=1, epochs=2)
model.save("m")
again = Word2Vec.load("m")
again.train(text, total_examples=50, epochs=1)
model.wv.save("v")
print(len(KeyedVectors.load("v")), Phrases(text, min_count=1, threshold=0.1)[text[0]])
try:
    model.save_for_gensim("g")
except ImportError as error:
    print("needs gensim" if "gensim" in str(error) else error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["4 ['a_b', 'c_d']", "needs gensim"]


def test_phrases_are_gensims(tmp_path: Path) -> None:
    theirs = pytest.importorskip("gensim.models.phrases")
    assert ENGLISH_CONNECTOR_WORDS == theirs.ENGLISH_CONNECTOR_WORDS
    rng = random.Random(2)
    words = ["bank", "of", "america", "new", "york", "the", "city"]
    text = [rng.choices(words, k=9) for _ in range(60)]
    for options in ({"threshold": 0.2}, {"threshold": 0.01, "scoring": "npmi"}):
        settings = {"min_count": 2, "connector_words": ENGLISH_CONNECTOR_WORDS, **options}
        ours, expected = Phrases(text, **settings), theirs.Phrases(text, **settings)
        assert ours.vocab == expected.vocab
        found, known = ours.export_phrases(), expected.export_phrases()
        assert found.keys() == known.keys()
        assert all(found[phrase] == pytest.approx(known[phrase]) for phrase in known)
        assert [ours[line] for line in text] == [expected[line] for line in text]
        ours.save(tmp_path / "p")
        assert list(Phrases.load(tmp_path / "p")[text]) == list(Phraser(ours)[text])
    ours.scoring = len  # type: ignore[assignment]
    with pytest.raises(DataError, match="use pickle"):
        ours.save(tmp_path / "p")
