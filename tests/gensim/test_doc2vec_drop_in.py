"""The drop-in for ``Doc2Vec``: documents of every kind, repeatable inference, files of ours and of gensim."""

import warnings
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError
from wordvec_ca.gensim.models import Doc2Vec, Word2Vec
from wordvec_ca.gensim.models.doc2vec import TaggedDocument, TaggedLineDocument

TOPICS = [[f"{topic}{number}" for number in range(12)] for topic in "ab"]
SMALL: dict[str, Any] = {"vector_size": 12, "min_count": 1, "workers": 1, "epochs": 30, "alpha": 0.05}
KINDS: list[dict[str, Any]] = [
    {"dm": 0},
    {"dm": 0, "dbow_words": 1},
    {"dm": 0, "hs": 1, "negative": 0, "window": 0},  # gensim does not use the window here
    {"dm": 1},
    {"dm": 1, "dm_mean": 0},
    {"dm": 1, "dm_concat": 1, "window": 2},
    {"dm": 1, "hs": 1, "negative": 0},
]


def documents(n: int = 40, seed: int = 1) -> list[TaggedDocument]:
    """Return documents of two topics in turn, which have no word in common."""
    rng = np.random.default_rng(seed)
    return [TaggedDocument(rng.choice(TOPICS[i % 2], 30).tolist(), [i]) for i in range(n)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_documents_of_a_topic_are_near_each_other(kind):
    model = Doc2Vec(documents(), **SMALL, **kind)
    same, other = (np.mean([model.dv.similarity(0, i) for i in range(first, 40, 2)]) for first in (2, 1))
    assert same > other + 0.1
    inferred = model.infer_vector(documents(2, seed=9)[1].words, epochs=30)
    nearest = [tag for tag, _ in model.dv.most_similar([inferred], topn=5)]
    assert sum(tag % 2 for tag in nearest) >= 4


@pytest.mark.parametrize("kind", KINDS[:1] + KINDS[3:6], ids=str)
def test_the_same_text_has_the_same_vector(kind, tmp_path):
    model = Doc2Vec(documents(), **SMALL, **kind)
    texts = [document.words for document in documents(9, seed=5)]
    together = model.infer_vector(texts)
    assert together.shape == (9, 12)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(model.infer_vector(text), vector)
    words, tags = model.wv.vectors.copy(), model.dv.vectors.copy()
    model.infer_vector(texts[::-1])
    assert np.array_equal(model.wv.vectors, words)
    assert np.array_equal(model.dv.vectors, tags)
    model.save(tmp_path / "m")
    loaded = Doc2Vec.load(tmp_path / "m")
    assert np.array_equal(loaded.infer_vector(texts), together)
    assert str(loaded) == str(model)
    with pytest.raises(AttributeError, match="can't be loaded"):
        Word2Vec.load(tmp_path / "m")


def test_documents_at_the_edge(caplog):
    long = "t" * 10_000
    odd = [
        TaggedDocument([], ["empty"]),
        TaggedDocument(["nowhere", "else"], ["rare"]),
        TaggedDocument(["a0", "a1"] * 5, [long, "all"]),
        TaggedDocument(["a0"], [3, "all"]),
        TaggedDocument(["a0", "a1"] * 6_000, []),
        TaggedDocument(["a0", "a1", "a0"], np.array([1])),
    ]
    model = Doc2Vec(odd, **{**SMALL, "min_count": 2})
    assert list(model.dv.key_to_index) == ["empty", "rare", long, "all"]
    assert len(model.dv) == 4 + 4  # an int tag is a row number; the numbers below it are rows too
    assert model.dv.get_vecattr("all", "doc_count") == 2
    assert model.corpus_total_words == 12_000 + 2 + 10 + 1 + 3
    assert np.isfinite(model.dv.vectors).all()
    with pytest.warns(UserWarning, match=r"1 of 2 documents"):
        found = model.infer_vector([["nothing", "known"], ["a0", "a1"]])
    assert not found[0].any()
    assert found[1].any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = Doc2Vec([TaggedDocument(["a0", "a1"] * 9, [0])], **SMALL)
    assert len(one.dv) == 1
    with pytest.raises(TypeError, match="not a single string"):
        one.infer_vector("a0 a1")
    with pytest.raises(ValueError, match="below 0"):
        Doc2Vec([TaggedDocument(["a0"], [-1])], **SMALL)
    with pytest.raises(RuntimeError):
        Doc2Vec([], **SMALL)


def test_documents_and_words_are_added(tmp_path):
    named = [TaggedDocument(document.words, [f"d{document.tags[0]}"]) for document in documents()]
    model = Doc2Vec(named, **SMALL, dm=0)
    before = model.dv["d0"].copy(), model.wv["a0"].copy()
    more = [TaggedDocument(["a0", "new"] * 9, ["x"]), TaggedDocument(["new", "b0"] * 9, ["d1", "y"])]
    model.build_vocab(more, update=True)
    assert len(model.dv) == 42
    assert len(model.wv) == 25
    assert np.array_equal(model.dv["d0"], before[0])
    assert np.array_equal(model.wv["a0"], before[1])
    model.train(more, total_examples=2, epochs=20)
    assert np.array_equal(model.dv["d0"], before[0])  # this tag is not in the new documents
    assert model.dv["x"].any()


def test_a_file_of_lines_is_the_same_corpus(tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("".join(" ".join(document.words) + "\n" for document in documents()) + "\nlast one\n")
    by_file = Doc2Vec(corpus_file=str(path), **SMALL)
    by_lines = Doc2Vec(TaggedLineDocument(path), **SMALL)
    assert np.array_equal(by_file.dv.vectors, by_lines.dv.vectors)
    assert len(by_file.dv) == 42  # an empty line has a number too
    by_file.save_word2vec_format(tmp_path / "v", doctag_vec=True)
    head, *lines = (tmp_path / "v").read_text().splitlines()
    assert head == f"{len(by_file.wv) + 42} 12"
    assert sum(line.startswith("*dt_") for line in lines) == 42


@pytest.mark.parametrize("kind", [{"dm": 0}, {"dm": 1}, {"dm": 1, "dm_concat": 1, "window": 2}], ids=str)
def test_models_of_gensim_are_read(kind, tmp_path):
    theirs_class = pytest.importorskip("gensim.models.doc2vec").Doc2Vec
    tagged = [TaggedDocument(document.words, [f"d{document.tags[0]}"]) for document in documents()]
    # without sub-sampling: at the ends of lines gensim uses the vector of a null word, and ours uses zeros
    theirs = theirs_class(tagged, **SMALL, **kind, sample=0)
    theirs.save(str(tmp_path / "theirs"))
    ours = Doc2Vec.load(tmp_path / "theirs")
    np.testing.assert_array_equal(ours.dv.vectors, theirs.dv.vectors)
    assert ours.dv.index_to_key == list(theirs.dv.index_to_key)
    words = documents(1, seed=4)[0].words
    mine, other = ours.infer_vector(words, epochs=50), theirs.infer_vector(words, epochs=50)
    assert mine @ other / np.linalg.norm(mine) / np.linalg.norm(other) > 0.8
    ours.train(tagged, total_examples=40, epochs=2)
    (tmp_path / "broken").write_bytes((tmp_path / "theirs").read_bytes()[:200])
    with pytest.raises(DataError, match="damaged"):
        Doc2Vec.load(tmp_path / "broken")


def test_nothing_predicted_and_a_str_as_tags_are_warned_of():
    from wordvec_ca.gensim.models import Doc2Vec, Word2Vec
    from wordvec_ca.gensim.models.doc2vec import TaggedDocument

    with pytest.warns(UserWarning, match="not one prediction"):
        Word2Vec([["python"], ["java"]] * 50, vector_size=4, min_count=1, workers=1)
    with pytest.warns(UserWarning, match="each of its characters"):
        Doc2Vec([TaggedDocument(["a", "b"], "name")] * 9, vector_size=4, min_count=1, workers=1)
