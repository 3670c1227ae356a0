"""floret's tables: the vectors that spaCy makes from them are ours."""

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, TrainConfig, train

mmh3 = pytest.importorskip("mmh3", reason="mmh3 is not installed")

TEXT = [
    [f"{stem}{form}" for form in ("", "s", "ed", "ing", "er", "ers")]
    for stem in ("walk", "talk", "jump", "läuf", "fish", "sail", "look", "play", "call", "turn", "ask")
] * 20
UNKNOWN = ["walkings", "asking", "talker", "läufst", "jumpy", "player"]


@pytest.fixture(scope="module")
def vectors():
    options = {
        "vectors": "input",
        "vector_size": 20,
        "min_count": 1,
        "ngram_min_count": 1,
        "sample": 0,
        "epochs": 3,
    }
    kept = [[word for word in line if word not in UNKNOWN] for line in TEXT]
    return train(kept, TrainConfig(model="skipgram", subwords=True, workers=1, **options)).vectors


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_the_table_gives_words_their_vectors_and_unknown_words_nearly_theirs(vectors, tmp_path):
    vectors.save(tmp_path / "v.floret")
    head, *lines = (tmp_path / "v.floret").read_text("utf-8").splitlines()
    n_rows, size, min_n, max_n, count, seed = map(int, head.split()[:6])
    assert (size, min_n, max_n, count, head.split()[6:]) == (20, 3, 6, 1, ["<", ">"])
    assert [int(line.split()[0]) for line in lines] == list(range(n_rows))
    rows = np.array([line.split()[1:] for line in lines], np.float32)

    def made(word):
        marked = f"<{word}>"
        lengths = range(min_n, max_n + 1)
        grams = [marked, *(marked[i : i + n] for n in lengths for i in range(len(marked) - n + 1))]
        hashes = [mmh3.hash64(gram.encode(), seed, signed=False)[0] & 0xFFFFFFFF for gram in grams]
        return rows[[h % n_rows for h in hashes]].mean(axis=0)

    for word in vectors.index_to_key:
        np.testing.assert_allclose(made(word), vectors[word], atol=1e-4 * np.abs(vectors.vectors).max())
    assert np.mean([cosine(made(word), vectors[word]) for word in UNKNOWN]) > 0.9


def test_spacy_makes_the_same_vectors(vectors, tmp_path):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from spacy.training.initialize import convert_vectors

    vectors.save(tmp_path / "v.floret")
    pipeline = spacy.blank("xx")
    convert_vectors(pipeline, tmp_path / "v.floret", truncate=0, prune=-1, mode="floret")
    for word in vectors.index_to_key:
        found = pipeline.vocab[word].vector
        np.testing.assert_allclose(found, vectors[word], atol=1e-4 * np.abs(vectors.vectors).max())
    assert np.mean([cosine(pipeline.vocab[word].vector, vectors[word]) for word in UNKNOWN]) > 0.9


def test_vectors_without_ngrams_have_no_table(tmp_path):
    with pytest.raises(DataError, match="no n-grams"):
        KeyedVectors(["a"], np.ones((1, 2), np.float32)).save(tmp_path / "v.floret")
    assert not (tmp_path / "v.floret").exists()
