"""gensim reads what we write, we read what gensim writes, both answer alike, and neither needs the other."""

import os
import pickle
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors

gensim = pytest.importorskip("gensim", reason="gensim is not installed")
from gensim.models import FastText, Word2Vec  # noqa: E402
from gensim.models import KeyedVectors as GensimVectors  # noqa: E402

from wordvec_ca.formats.gensim_index import write_gensim_index  # noqa: E402


def sample(n_words=300, vector_size=20):
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((n_words, vector_size)).astype(np.float32)
    words = [f"wörd{i}" for i in range(n_words)]
    return KeyedVectors(words, vectors, np.arange(n_words, 0, -1))


def gensim_sample():
    ours = sample()
    theirs = GensimVectors(ours.vector_size)
    theirs.add_vectors(ours.index_to_key, ours.vectors)
    for word in theirs.index_to_key:
        theirs.set_vecattr(word, "count", 1000 - theirs.get_index(word))
    return theirs


# ---------------------------------------------------------------------- the same answers


def alike(ours, theirs):
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=2e-6)


def test_answers_agree_with_gensim():
    ours, theirs = sample(), gensim_sample()
    a, b, c, d = ours.index_to_key[:4]
    for arguments in (
        {"positive": a},
        {"positive": [a, b], "negative": [c]},
        {"positive": [(a, 0.3), b], "negative": [(c, -2.0)]},
        {"positive": [5, ours.vectors[9]], "topn": 40},
        {"positive": [a], "restrict_vocab": 50, "topn": 7},
        {"negative": [a], "topn": 1000},
    ):
        alike(ours.most_similar(**arguments), theirs.most_similar(**arguments))
    assert ours.most_similar(a, topn=None) == pytest.approx(theirs.most_similar(a, topn=None), abs=2e-6)
    alike(ours.most_similar_cosmul([a, b], [c]), theirs.most_similar_cosmul([a, b], [c]))
    alike(ours.similar_by_vector(ours.vectors[3]), theirs.similar_by_vector(ours.vectors[3]))
    assert ours.similarity(a, b) == pytest.approx(theirs.similarity(a, b), abs=1e-6)
    assert ours.n_similarity([a, b], [c, d]) == pytest.approx(theirs.n_similarity([a, b], [c, d]), abs=1e-6)
    for start in range(0, 300, 6):
        words = ours.index_to_key[start : start + 6]
        assert ours.doesnt_match(words) == theirs.doesnt_match(words)
    for options in ({}, {"pre_normalize": False}, {"post_normalize": True}, {"weights": [1, -2, 0.5]}):
        mean = theirs.get_mean_vector([a, b, c], **options)
        assert ours.get_mean_vector([a, b, c], **options) == pytest.approx(mean, abs=1e-6)
    assert ours.get_normed_vectors() == pytest.approx(theirs.get_normed_vectors(), abs=1e-6)


# ---------------------------------------------------------------------- the index beside an existing array


@pytest.mark.parametrize("n_words", [1, 5, 3000])
def test_index_maps_the_array_that_is_there(tmp_path, n_words):
    kv = sample(n_words)
    array = tmp_path / "vectors.kv.vectors.npy"
    np.save(array, kv.vectors)
    bytes_of, stamp = array.read_bytes(), array.stat()
    index = write_gensim_index(tmp_path, kv.index_to_key, kv.counts)
    assert index == tmp_path / "vectors.kv"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["vectors.kv", "vectors.kv.vectors.npy"]
    now = array.stat()  # reading its head has changed its access time
    assert (*now[:7], now.st_mtime_ns, now.st_ctime_ns) == (*stamp[:7], stamp.st_mtime_ns, stamp.st_ctime_ns)
    assert array.read_bytes() == bytes_of
    assert index.stat().st_size < 1000 + 50 * n_words
    loaded = GensimVectors.load(str(index), mmap="r")
    assert isinstance(loaded.vectors, np.memmap)
    assert Path(loaded.vectors.filename) == array
    assert np.array_equal(loaded.vectors, kv.vectors)
    assert loaded.index_to_key == kv.index_to_key
    assert loaded.vector_size == kv.vector_size
    assert len(loaded) == n_words
    assert [loaded.get_vecattr(word, "count") for word in kv.index_to_key] == kv.counts.tolist()
    assert loaded.similarity("wörd0", "wörd0") == pytest.approx(1)
    content = index.read_bytes()
    write_gensim_index(tmp_path, kv.index_to_key, kv.counts)
    assert index.read_bytes() == content
    assert str(tmp_path).encode() not in content


def test_a_full_disk_does_not_part_index_and_array(tmp_path):
    """The array fits below the limit, the index does not: both old files must stay."""
    sample(3).save(tmp_path / "v.kv")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            sample(5000, 1).save(tmp_path / "v.kv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_index_must_fit_the_array(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        write_gensim_index(tmp_path, ["a"], None)
    np.save(tmp_path / "vectors.kv.vectors.npy", np.zeros((2, 3), np.float32))
    with pytest.raises(DataError, match=r"2 rows.*1 words"):
        write_gensim_index(tmp_path, ["a"], None)
    assert [file.name for file in tmp_path.iterdir()] == ["vectors.kv.vectors.npy"]


def test_export_adds_the_index_to_a_model_made_without_gensim(tmp_path, command):
    kv = sample(4)
    np.save(tmp_path / "vectors.kv.vectors.npy", kv.vectors)
    (tmp_path / "vocab.tsv").write_text("".join(f"wörd{i}\t{4 - i}\n" for i in range(4)), encoding="utf-8")
    command("export", tmp_path, "--format", "gensim").says(0)
    command("export", tmp_path, "--format", "gensim").says(2, "--overwrite")
    loaded = GensimVectors.load(str(tmp_path / "vectors.kv"), mmap="r")
    assert loaded.get_vecattr("wörd0", "count") == 4


def test_to_gensim_shares_the_vectors():
    kv = sample()
    theirs = kv.to_gensim()
    assert isinstance(theirs, GensimVectors)
    assert np.shares_memory(theirs.vectors, kv.vectors)
    assert theirs.get_vecattr("wörd0", "count") == 300
    alike(kv.most_similar("wörd1"), theirs.most_similar("wörd1"))
    assert "count" not in KeyedVectors(["a"], [[1.0]]).to_gensim().expandos


# ---------------------------------------------------------------------- files in both directions


@pytest.mark.parametrize("binary", [False, True])
def test_word2vec_files_in_both_directions(tmp_path, binary):
    kv = sample()
    kv.index_to_key[3:6] = ["a\u00a0b", "\u3000", "\ufeff"]
    kv.save_word2vec_format(tmp_path / "ours", binary=binary)
    loaded = GensimVectors.load_word2vec_format(str(tmp_path / "ours"), binary=binary)
    assert loaded.index_to_key == kv.index_to_key
    assert np.array_equal(loaded.vectors, kv.vectors)
    loaded.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
    again = KeyedVectors.load(tmp_path / "theirs")
    assert again.index_to_key == kv.index_to_key
    assert np.array_equal(again.vectors, kv.vectors)


def test_glove_text_in_both_directions(tmp_path):
    kv = sample()
    kv.save(tmp_path / "ours", format="glove")
    loaded = GensimVectors.load_word2vec_format(str(tmp_path / "ours"), no_header=True)
    assert np.array_equal(loaded.vectors, kv.vectors)
    loaded.save_word2vec_format(str(tmp_path / "theirs"), write_header=False)
    assert np.array_equal(KeyedVectors.load(tmp_path / "theirs").vectors, kv.vectors)


@pytest.mark.parametrize("separately", [None, ["vectors"]], ids=["inline", "separate"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_gensim_files_are_read_without_gensim_classes(tmp_path, separately, protocol):
    theirs = gensim_sample()
    path = tmp_path / "v.kv"
    theirs.save(str(path), separately=separately, pickle_protocol=protocol)
    ours = KeyedVectors.load(path)
    assert ours.index_to_key == theirs.index_to_key
    assert np.array_equal(ours.vectors, theirs.vectors)
    assert isinstance(ours.vectors, np.memmap) == (separately is not None)
    assert ours.get_vecattr("wörd7", "count") == 993
    if separately:
        (tmp_path / "v.kv.vectors.npy").unlink()
        with pytest.raises(DataError, match=r"v\.kv\.vectors\.npy is missing"):
            KeyedVectors.load(path)


@pytest.mark.parametrize("protocol", [2, 4])
def test_whole_models_of_gensim(tmp_path, protocol):
    sentences = [["a", "b", "c", "d"], ["b", "c", "e"]] * 20
    model = Word2Vec(sentences, vector_size=8, min_count=1, epochs=1, workers=1)
    for sep_limit in (1, 10**6):  # small: every array in a file of its own
        model.wv.save(str(tmp_path / "m.kv"), pickle_protocol=protocol, sep_limit=sep_limit)
        model.save(str(tmp_path / "m.model"), pickle_protocol=protocol, sep_limit=sep_limit)
        for path in (tmp_path / "m.model", tmp_path / "m.kv"):
            ours = KeyedVectors.load(path)
            assert ours.index_to_key == model.wv.index_to_key
            assert np.array_equal(ours.vectors, model.wv.vectors)
            assert ours.get_vecattr("b", "count") == 40
    vectors = FastText(sentences, vector_size=8, min_count=1, epochs=1, workers=1).wv
    vectors.save(str(tmp_path / "f.kv"), pickle_protocol=protocol)  # n-grams in a file of their own
    np.testing.assert_allclose(KeyedVectors.load(tmp_path / "f.kv")["abcde"], vectors["abcde"], atol=1e-7)


# ---------------------------------------------------------------------- hostile pickles


class Evil:
    """Runs a command when unpickled by a careless reader."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("place", ["alone", "vectors", "word", "count"])
def test_pickles_that_run_programs_are_refused(tmp_path, protocol, place):
    marker = tmp_path / "marker"
    for evil in (
        Evil(os.system, f"touch {marker}"),
        Evil(eval, f"open({str(marker)!r}, 'w')"),
        Evil(open, marker, "w"),
    ):
        theirs = gensim_sample()
        if place == "vectors":
            theirs.vectors = evil
        elif place == "word":
            theirs.index_to_key[3] = evil
        elif place == "count":
            theirs.expandos["count"] = evil
        path = tmp_path / "v.kv"
        path.write_bytes(pickle.dumps(evil if place == "alone" else theirs, protocol=protocol))
        with pytest.raises(DataError, match="refused, because this pickle uses the name"):
            KeyedVectors.load(path, format="gensim")
        assert not marker.exists()


def test_an_object_array_beside_the_index_is_refused(tmp_path):
    kv = sample(3)
    kv.save(tmp_path / "vectors.kv")
    (tmp_path / "vocab.tsv").write_text("a\t1\nb\t1\nc\t1\n")
    marker = tmp_path / "marker"
    array = np.empty((3, 1), dtype=object)
    array[:] = [[Evil(os.system, f"touch {marker}")]] * 3
    np.save(tmp_path / "vectors.kv.vectors.npy", array, allow_pickle=True)
    for path in (tmp_path, tmp_path / "vectors.kv"):
        with pytest.raises(DataError, match=r"not a readable \.npy"):
            KeyedVectors.load(path)
    with pytest.raises(DataError, match=r"not a readable \.npy"):
        write_gensim_index(tmp_path, ["a", "b", "c"], None)
    assert not marker.exists()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"index_to_key": ["a"]}),
        pickle.dumps(gensim.utils.SaveLoad()),
        pickle.dumps(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])),
        pickle.dumps(np.zeros(3, dtype="M8[s]")),
        pickle.dumps(gensim_sample())[:-100],
        b"\x80\x04\x8c\x04evil\x94\x93.",  # too few operands
        b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b"x",  # bytes longer than the file
    ],
)
def test_other_pickles_are_refused_or_damaged(tmp_path, content):
    (tmp_path / "v.kv").write_bytes(content)
    with pytest.raises(DataError, match=r"refused|no word vectors|not a readable"):
        KeyedVectors.load(tmp_path / "v.kv")


def test_spoiling_the_stand_ins_lasts_no_longer_than_the_file(tmp_path):
    """A pickle may set attributes of the class it names; this must not affect the next file."""
    name = b"cgensim.models.keyedvectors\nKeyedVectors\n"
    (tmp_path / "evil.kv").write_bytes(b"\x80\x04" + name + b"N}\x8c\x0c__setstate__Ns\x86b.")
    with pytest.raises(DataError, match="no word vectors"):
        KeyedVectors.load(tmp_path / "evil.kv")
    gensim_sample().save(str(tmp_path / "good.kv"))
    assert len(KeyedVectors.load(tmp_path / "good.kv")) == 300


@pytest.mark.parametrize("n_words", [0, 1, 300, 70_000])
def test_index_is_what_gensim_itself_writes(tmp_path, n_words):
    ours = sample(n_words, 3)
    ours.save(tmp_path / "ours.kv")
    theirs = ours.to_gensim()
    theirs.lifecycle_events = None
    theirs.save(str(tmp_path / "theirs.kv"), separately=["vectors"])
    found, expected = (
        vars(pickle.loads((tmp_path / name).read_bytes())) for name in ("ours.kv", "theirs.kv")
    )
    assert np.array_equal(found.pop("expandos")["count"], expected.pop("expandos")["count"])
    assert found == expected
    assert list(found) == list(expected)


# ---------------------------------------------------------------------- without gensim


def test_loading_and_searching_do_not_import_gensim(tmp_path):
    sample().save(tmp_path / "v.kv")
    code = (
        "import sys; from wordvec_ca.vectors import KeyedVectors as K; "
        "K.load(sys.argv[1]).most_similar('wörd1'); "
        "heavy = {'gensim', 'scipy', 'numba', 'sklearn', 'torch'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "v.kv")], check=True, timeout=100)
