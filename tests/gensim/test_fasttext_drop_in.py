"""The drop-in's FastText: exact rows for other packages, unknown words, files, training that continues."""

import pickle
import struct

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.gensim.models import FastText, Word2Vec
from wordvec_ca.gensim.models import KeyedVectors as DropInVectors
from wordvec_ca.gensim.models.fasttext import (
    FastTextKeyedVectors,
    ft_ngram_hashes,
    load_facebook_model,
    load_facebook_vectors,
    save_facebook_model,
)
from wordvec_ca.gensim.models.fitting import NgramRows, engine_of
from wordvec_ca.gensim.models.stored import from_parts, package_of
from wordvec_ca.kernels import aligned_zeros
from wordvec_ca.tables import NgramIndex

OPTIONS = {"vector_size": 16, "min_count": 1, "workers": 1, "bucket": 500, "seed": 3, "sample": 0}
SENTENCES = [[f"{stem}{end}" for stem in ("walk", "talk", "jump") for end in ("ed", "ing", "s")]] * 30
UNKNOWN = ["walker", "jumpings", "übermorgen", "x"]


def composed(wv, word):
    """Return a word's vector, by the definition."""
    buckets = ft_ngram_hashes(word, wv.min_n, wv.max_n, wv.bucket)
    rows = [wv.vectors_ngrams[bucket] for bucket in buckets]
    if word in wv.key_to_index:
        rows.append(wv.vectors_vocab[wv.key_to_index[word]])
    return np.mean(rows, axis=0)


@pytest.mark.parametrize("sg", [0, 1])
def test_vectors_are_the_mean_of_rows_before_and_after_training(sg):
    model = FastText(sg=sg, **OPTIONS)
    model.build_vocab(SENTENCES)
    before = model.wv.vectors.copy()
    for _ in range(2):
        model.train(SENTENCES, total_examples=model.corpus_count, epochs=2)
        for word in [*model.wv.index_to_key, *UNKNOWN[:3]]:
            np.testing.assert_allclose(model.wv[word], composed(model.wv, word), atol=1e-6, err_msg=word)
    assert not np.allclose(before, model.wv.vectors, atol=1e-3)


def test_the_loop_begins_with_these_vectors_and_its_gains_come_back():
    model = FastText(SENTENCES, **OPTIONS)
    engine = engine_of(model)
    rows = NgramRows(model.wv, engine)
    size = model.vector_size
    np.testing.assert_allclose(engine.inputs[:, :size], model.wv.vectors, atol=1e-6)
    words = np.array([0, 4], np.int32)
    before = aligned_zeros((len(words), engine.inputs.shape[1]))
    engine.subwords.compose(words, engine.inputs, before)
    engine.inputs[words, :size] += np.linspace(-1, 1, size, dtype=np.float32)
    engine.subwords.scatter_gains(words, engine.inputs, before)
    rows.scatter_gains()
    engine.compose()
    np.testing.assert_allclose(engine.inputs[:, :size], model.wv.vectors, atol=1e-5)


def test_every_string_has_a_vector_if_there_are_ngrams():
    model = FastText(SENTENCES, **OPTIONS)
    assert "walker" in model.wv
    assert "walker" not in model.wv.key_to_index
    assert len(model.wv.most_similar("walker", topn=3)) == 3
    assert model.wv.similarity("walker", "walker") == pytest.approx(1)
    assert not model.wv[""].any()
    plain = FastText(SENTENCES, **{**OPTIONS, "bucket": 0})
    assert "walker" not in plain.wv
    with pytest.raises(KeyError, match="no vector"):
        plain.wv["walker"]


def test_a_bin_is_read_by_gensim_by_us_and_trained_further(tmp_path):
    model = FastText(SENTENCES, sg=1, **OPTIONS)
    save_facebook_model(model, tmp_path / "m.bin")
    again = load_facebook_model(tmp_path / "m.bin")
    light, whole = KeyedVectors.load(tmp_path / "m.bin"), load_facebook_vectors(tmp_path / "m.bin")
    for word in [*model.wv.index_to_key, *UNKNOWN]:
        for other in (again.wv, whole, light):
            np.testing.assert_allclose(other[word], model.wv[word], atol=1e-6, err_msg=word)
    save_facebook_model(again, tmp_path / "n.bin")
    assert (tmp_path / "m.bin").read_bytes() == (tmp_path / "n.bin").read_bytes()
    again.build_vocab([["walked", "newcomer"]] * 3, update=True)
    np.testing.assert_array_equal(again.syn1neg[: len(model.wv)], model.syn1neg)
    again.train([["walked", "newcomer"]] * 3, total_examples=3, epochs=1)
    assert "newcomer" in again.wv.key_to_index
    gensim = pytest.importorskip("gensim.models.fasttext", reason="gensim is not installed")
    theirs = gensim.load_facebook_model(str(tmp_path / "m.bin"))
    for word in [*model.wv.index_to_key, *UNKNOWN]:
        np.testing.assert_allclose(theirs.wv[word], model.wv[word], atol=1e-6, err_msg=word)


def test_models_are_saved_pickled_and_trained_further(tmp_path):
    model = FastText(SENTENCES, **OPTIONS)
    model.save(tmp_path / "m")
    for again in (FastText.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert isinstance(again.wv, FastTextKeyedVectors)
        np.testing.assert_array_equal(again.wv["walker"], model.wv["walker"])
        again.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)
        np.testing.assert_allclose(again.wv["walker"], composed(again.wv, "walker"), atol=1e-6)
    Word2Vec(SENTENCES, vector_size=8, min_count=1, workers=1).save(tmp_path / "w")
    with pytest.raises(TypeError, match="not stored by FastText"):
        FastText.load(tmp_path / "w")


def test_rows_that_are_locked_stay():
    model = FastText(**OPTIONS)
    model.build_vocab(SENTENCES)
    model.wv.vectors_ngrams_lockf = np.zeros(1, np.float32)
    ngrams, own = model.wv.vectors_ngrams.copy(), model.wv.vectors_vocab.copy()
    model.train(SENTENCES, total_examples=model.corpus_count, epochs=1)
    np.testing.assert_array_equal(model.wv.vectors_ngrams, ngrams)
    assert not np.allclose(model.wv.vectors_vocab, own)


def test_hashes_are_those_of_the_compiled_code():
    for word in (*UNKNOWN, "</s>", "", "日本語"):
        _, buckets = NgramIndex(1, 6, 1_000, None, 0).rows_of([word])
        assert ft_ngram_hashes(word, 1, 6, 1_000) == buckets.tolist(), word


def test_a_bin_of_2016_is_read_and_a_damaged_one_refused(tmp_path):
    rows = np.arange(12, dtype="<f4").reshape(3, 4)
    parts = [
        struct.pack("<12id", 4, 5, 5, 1, 5, 1, 2, 2, 1, 3, 6, 100, 1e-4),
        struct.pack("<3iq", 2, 2, 0, 7),
        b"one\0" + struct.pack("<qb", 4, 0) + b"two\0" + struct.pack("<qb", 3, 0),
        struct.pack("<2q", 3, 4) + rows.tobytes(),
        struct.pack("<2q", 2, 4) + rows[:2].tobytes(),
    ]
    path = tmp_path / "old.bin"
    path.write_bytes(b"".join(parts))
    model = load_facebook_model(path)
    assert model.wv.index_to_key == ["one", "two"]
    np.testing.assert_allclose(model.wv["one"], (rows[0] + 6 * rows[2]) / 7, rtol=1e-6)
    path.write_bytes(b"".join(parts)[:-4])
    with pytest.raises(DataError, match="cut off"):
        load_facebook_model(path)


def test_load_of_the_base_classes_keeps_the_ngrams(tmp_path):
    model = FastText(SENTENCES, **OPTIONS)
    model.save(tmp_path / "m")
    model.wv.save(tmp_path / "v")
    for file, of_gensim in (("m", False), ("v", False), ("theirs", True)):
        if of_gensim:
            gensim = pytest.importorskip("gensim.models", reason="gensim is not installed")
            gensim.FastText(SENTENCES, **OPTIONS).save(str(tmp_path / file))
        vectors = DropInVectors.load(tmp_path / file)
        assert isinstance(vectors, FastTextKeyedVectors)
        assert vectors["walker"].any()
        if file != "v":
            again = Word2Vec.load(tmp_path / file)
            assert isinstance(again, FastText)
            np.testing.assert_array_equal(again.wv["walker"], vectors["walker"])


def test_tokens_that_are_numbers_have_the_ngrams_of_their_digits():
    model = FastText([[101, 102, 2003]] * 30, **OPTIONS)
    by_text = FastText([["101", "102", "2003"]] * 30, **OPTIONS)
    np.testing.assert_array_equal(model.wv[2003], by_text.wv["2003"])
    assert model.wv["200312"].any()


class Codes:
    """Rows in the form of another package: half-precision numbers, and an index of which row is which."""

    def __init__(self, rows):
        self.half, self.dtype = rows.astype(np.float16), np.float32
        self.places = {2 * row: row for row in range(len(rows) // 2)}

    @property
    def shape(self):
        return self.half.shape

    def __len__(self):
        return len(self.half)

    def __getitem__(self, row):
        return self.half[self.places.get(row, -1)].astype(self.dtype)


class CodedVectors(FastTextKeyedVectors):
    """A class as in compress-fasttext: of another package, with another constructor."""

    def __init__(self, bucket, *, vector_size):
        super().__init__(vector_size, bucket=bucket)


def test_rows_of_codes_of_another_package_are_saved_and_loaded_by_its_class_alone(tmp_path):
    model = FastText(SENTENCES, **OPTIONS)
    coded = CodedVectors(500, vector_size=16)
    coded.index_to_key, coded.key_to_index = model.wv.index_to_key, model.wv.key_to_index
    coded.vectors, coded.vectors_vocab = Codes(model.wv.vectors), None
    coded.vectors_ngrams = Codes(model.wv.vectors_ngrams)
    coded.save(tmp_path / "coded")
    again = CodedVectors.load(tmp_path / "coded")
    assert type(again.vectors) is type(again.vectors_ngrams) is Codes
    assert again.index_to_key == model.wv.index_to_key
    for word in ("walked", "unseen"):
        np.testing.assert_array_equal(coded[word], again[word])
    with pytest.raises(DataError, match="is loaded by a class of its package"):
        FastTextKeyedVectors.load(tmp_path / "coded")
    absent = {"class": [f"{__name__}.absent", "Codes"], "parts": {}}
    with pytest.raises(DataError, match="absent is not imported"):
        from_parts(absent, package_of(CodedVectors), {})
    coded.vectors = [1]
    with pytest.raises(DataError, match=r"^vectors is a list: only arrays are saved; use pickle"):
        coded.save(tmp_path / "list")
