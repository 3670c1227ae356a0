"""What the drop-ins refuse leaves nothing half done: tables that grow, files that no reader could read."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, fasttext, vectors
from wordvec_ca.gensim.models import Doc2Vec, FastText, KeyedVectors, Phrases
from wordvec_ca.gensim.models.doc2vec import TaggedDocument

LINES = [["a", "b", "c"], ["b", "c", "d"]] * 5


def plain() -> KeyedVectors:
    vectors = KeyedVectors(5, count=3)  # a row is left for add_vector
    for key in "ab":
        vectors.add_vector(key, np.ones(5))
    vectors.set_vecattr("a", "count", 7)
    return vectors


def with_ngrams() -> Any:
    return FastText(LINES, vector_size=5, bucket=50, min_count=1, workers=1, epochs=1).wv


def content(vectors: Any) -> dict[str, Any]:
    found = {name: getattr(vectors, name) for name in vars(vectors) if not name.startswith("_")}
    arrays = {name: value.tobytes() for name, value in found.items() if isinstance(value, np.ndarray)}
    expandos = {name: value.tolist() for name, value in vectors.expandos.items()}
    return {
        **arrays,
        **expandos,
        "keys": list(vectors.index_to_key),
        "rows": dict(vectors.key_to_index),
        "next": vectors.next_index,
    }


REFUSED: dict[str, Callable[[Any], Any]] = {
    "narrow": lambda kv: kv.add_vectors(["x"], np.ones((1, 4), np.float32)),
    "fewer": lambda kv: kv.add_vectors(["x", "y"], np.ones((1, 5), np.float32)),
    "text": lambda kv: kv.add_vectors(["x"], [["?"] * 5]),
    "unhashable": lambda kv: kv.add_vectors(["x", []], np.ones((2, 5))),
    "fewer extras": lambda kv: kv.add_vectors(["x", "y"], np.ones((2, 5)), {"new": np.ones(1)}),
    "other extras": lambda kv: kv.add_vectors(
        ["x"], np.ones((1, 5)), {"new": np.ones(1), "count": np.array(["?"])}
    ),
    "set": lambda kv: kv.__setitem__("x", np.ones(4)),
    "set several": lambda kv: kv.__setitem__(["a", "x"], np.ones((2, 4))),
    "one": lambda kv: kv.add_vector("x", np.ones(4)),
    "one of one number": lambda kv: kv.add_vector("x", np.ones(1)),
    "one unhashable": lambda kv: kv.add_vector([], np.ones(5)),
    "attribute of no key": lambda kv: kv.set_vecattr("nobody", "new", 1),
    "attribute too large": lambda kv: kv.set_vecattr("a", "new", 2**70),
    "attributes": lambda kv: kv.allocate_vecattrs(["new", "count"], [int, str]),
}


@pytest.mark.parametrize("make", [plain, with_ngrams])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(name, make, tmp_path):
    vectors = make()
    before = content(vectors)
    with pytest.raises((KeyError, OverflowError, TypeError, ValueError)):
        REFUSED[name](vectors)
    assert content(vectors) == before
    if make is with_ngrams:
        vectors.save(tmp_path / "kv")
        assert type(vectors).load(tmp_path / "kv").index_to_key == vectors.index_to_key


def test_a_key_given_twice_has_one_row():
    vectors = KeyedVectors(2)
    vectors.add_vectors(["x", "x"], np.array([[1, 0], [0, 1]], np.float32), {"count": np.array([3, 4])})
    assert vectors.index_to_key == ["x"]
    assert vectors["x"].tolist() == [1, 0]
    vectors["y"] = [5, 5]
    assert vectors.get_vecattr("x", "count") == 3
    assert len(vectors.expandos["count"]) == 2


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("key", ["new york", "two\nlines", "a\tb", ""])
def test_words_that_would_be_cut_are_not_written(key, binary, tmp_path):
    vectors = KeyedVectors(4)
    vectors.add_vectors(["fine", key], np.eye(2, 4))
    with pytest.raises(DataError, match=r"white space|empty"):
        vectors.save_word2vec_format(tmp_path / "v", binary=binary)
    documents = Doc2Vec([TaggedDocument(["a"], ["t", key])], vector_size=4, min_count=1, epochs=1)
    with pytest.raises(DataError, match="white space"):
        documents.save_word2vec_format(tmp_path / "v", doctag_vec=True, prefix="" if key else " ")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_is_named_with_the_file_and_a_remedy(tmp_path):
    text = tmp_path / "text"
    text.write_text("\n".join(" ".join(line) for line in LINES))
    model = fasttext.train_unsupervised(str(text), minCount=1, dim=4, bucket=10, epoch=1, thread=1)
    phrases = Phrases(LINES, min_count=1, threshold=0.1)
    for write in (
        model.save_model,
        phrases.save,
        phrases.freeze().save,
        with_ngrams().save_word2vec_format,
        with_ngrams().save,
    ):
        with pytest.raises(DataError, match=r"/dev/full.*make room"):
            write("/dev/full")


@pytest.mark.filterwarnings("error:overflow")
@pytest.mark.parametrize("kind", ["drop-in", "csv"])
def test_numbers_that_float32_cannot_hold_are_reported(kind, tmp_path):
    path = tmp_path / "v.txt"
    load: Any = KeyedVectors.load_word2vec_format
    path.write_text("2 2\na 1e300 1\nb 1 2\n")
    if kind == "csv":
        load = vectors.KeyedVectors.load
        path.write_text("word,x,y\na,1e300,1\nb,1,2\n")
    with pytest.warns(UserWarning, match=r"v\.txt: 1 of 2 vectors hold NaN or infinity .*'a'"):
        load(path)


def test_damaged_tags_name_the_file(tmp_path):
    model = Doc2Vec([TaggedDocument(["a", "b"], ["first"])] * 3, min_count=1, vector_size=4, workers=1)
    model.save(str(tmp_path / "d.model"))
    data = (tmp_path / "d.model").read_bytes()
    (tmp_path / "d.model").write_bytes(data.replace(b'["first"]', b'["first" '))
    with pytest.raises(DataError, match=r"d\.model: the tags"):
        Doc2Vec.load(str(tmp_path / "d.model"))
