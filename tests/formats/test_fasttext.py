"""fastText's .bin files: fastText's own, ours as fastText and gensim read them, and damaged files."""

import gzip
import json
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.formats.fasttext import read_model, write_model
from wordvec_ca.tables.ngrams import keys_of, ngrams_of

HERE = Path(__file__).parent / "fasttext"
MODEL = HERE / "model.bin"
"""Written by fastText 0.9.3 (random numbers): skip-gram, dim 4, 97 buckets, n-grams of 2 to 4 characters."""

VECTORS = json.loads((HERE / "vectors.json").read_text("utf-8"))
"""fastText's vectors for the words of the model and for some that it has not seen."""


def vector(kv, word):
    return kv[word]


def test_vectors_are_fasttexts_for_known_and_unknown_words():
    kv = KeyedVectors.load(MODEL)
    unknown = [word for word in VECTORS if word not in kv.key_to_index]
    assert len(unknown) >= 3
    for word, expected in VECTORS.items():
        np.testing.assert_allclose(vector(kv, word), expected, rtol=0, atol=1e-6, err_msg=word)
    assert kv.get_vecattr("</s>", "count") == 70


@pytest.mark.parametrize("name", ["out.bin", "out.bin.gz"])
def test_a_model_is_written_back_byte_for_byte(tmp_path, name):
    opened = gzip.open if name.endswith("gz") else open
    write_model(read_model(MODEL), tmp_path / name)
    with opened(tmp_path / name, "rb") as stream:
        assert stream.read() == MODEL.read_bytes()
    KeyedVectors.load(tmp_path / name).save(tmp_path / "again", format="fasttext")
    assert (tmp_path / "again").read_bytes() == MODEL.read_bytes()


def test_own_rows_are_found_anew_for_vectors_without_their_file(tmp_path):
    kv = KeyedVectors.load(MODEL)
    kv.ngrams.source = None
    kv.save(tmp_path / "v", format="fasttext")
    again = KeyedVectors.load(tmp_path / "v")
    for word, expected in VECTORS.items():
        np.testing.assert_allclose(vector(again, word), expected, rtol=0, atol=1e-6, err_msg=word)


def test_fasttext_reads_what_is_written(tmp_path):
    fasttext = pytest.importorskip("fasttext")
    if not hasattr(fasttext, "train_supervised"):
        pytest.skip("the package fasttext-predict, which has no vectors, is installed instead of fasttext")
    kv = KeyedVectors.load(MODEL)
    kv.ngrams.source = None
    kv.save(tmp_path / "v", format="fasttext")
    KeyedVectors(["a", "b"], [[1.0, 2.0], [3.0, 4.0]]).save(tmp_path / "plain", format="fasttext")
    read = fasttext.load_model(str(tmp_path / "v"))
    for word, expected in VECTORS.items():
        np.testing.assert_allclose(read.get_word_vector(word), expected, rtol=0, atol=1e-6, err_msg=word)
    assert fasttext.load_model(str(tmp_path / "plain")).get_word_vector("b").tolist() == [3.0, 4.0]


def test_ngrams_are_those_of_the_paper():
    words = ["where", "日本", "</s>", ""]
    offsets, keys, places, lengths = ngrams_of(words, 3, 6, 0)
    text = "<where><日本><>".encode()
    found = [text[p : p + n].decode() for p, n in zip(places, lengths, strict=True)]
    where = "<wh <whe <wher <where whe wher where where> her here here> ere ere> re>"
    expected = [where.split(), "<日本 <日本> 日本>".split(), [], []]  # noqa: SIM905
    assert [found[a:b] for a, b in pairwise(offsets)] == expected
    assert (keys == keys_of([gram.encode() for gram in found], 0)).all()
    assert len(ngrams_of(["a"], 1, 1, 0)[1]) == 1  # the marks alone are none


def hash_of_fasttext(data):
    """Return FNV-1a as in Dictionary::hash, where bytes are taken as signed."""
    h = 2166136261
    for byte in data:
        h = ((h ^ (byte - 256 if byte > 127 else byte) & 0xFFFFFFFF) * 16777619) & 0xFFFFFFFF
    return h


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=12))
def test_buckets_are_those_of_fasttexts_hash(data):
    assert keys_of([data], 2_000_000)[0] == hash_of_fasttext(data) % 2_000_000


HEADER = struct.Struct("<2i12id3i2q")


def changed(**fields):
    names = "magic version dim ws epoch minCount neg grams loss model bucket minn maxn lr t n words labels"
    data = MODEL.read_bytes()
    values = dict(zip([*names.split(), "tokens", "pruned"], HEADER.unpack_from(data), strict=True))
    return HEADER.pack(*(values | fields).values()) + data[HEADER.size :]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dim": 2**31 - 1}, "header is damaged"),
        ({"dim": 0}, "header is damaged"),
        ({"bucket": 2**31 - 1}, "the header says"),
        ({"bucket": -1}, "header is damaged"),
        ({"n": 2**31 - 1, "words": 2**31 - 1}, "cannot fit into"),
        ({"labels": 1}, "header is damaged"),
        ({"pruned": 5}, "list of its buckets is damaged"),
        ({"version": 13}, "version 11 or 12"),
        ({"maxn": 2**31 - 1}, "header is damaged"),
        ({"model": 7}, "header is damaged"),
    ],
)
def test_headers_that_lie_are_refused(tmp_path, fields, message):
    (tmp_path / "v").write_bytes(changed(**fields))
    with pytest.raises(DataError, match=message):
        KeyedVectors.load(tmp_path / "v")


def test_quantised_models_are_not_trained_further(tmp_path):
    data = bytearray(MODEL.read_bytes())
    model = read_model(MODEL)
    begin = data.index(struct.pack("<?2q", False, *model.inputs.shape), HEADER.size)
    data[begin] = 1
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(DataError, match=r"quantised.*give the \.bin"):
        read_model(tmp_path / "v")  # to train further
    with pytest.raises(DataError, match="damaged"):  # its rows are not codes
        KeyedVectors.load(tmp_path / "v")


@pytest.mark.parametrize("compressed", [False, True])
def test_every_cut_is_noticed(tmp_path, compressed):
    whole = MODEL.read_bytes()
    for length in [4, 10, 60, 90, 120, 200, 400, 1000, len(whole) - 1]:
        data = whole[:length]
        (tmp_path / "v").write_bytes(gzip.compress(data) if compressed else data)
        with pytest.raises(DataError):
            KeyedVectors.load(tmp_path / "v")
    (tmp_path / "v").write_bytes(gzip.compress(whole + b"x") if compressed else whole + b"x")
    with pytest.raises(DataError, match="data follow"):
        KeyedVectors.load(tmp_path / "v")


def test_words_that_are_not_utf8(tmp_path):
    data = MODEL.read_bytes().replace(b"which\0", b"\xff\xfeber\0")
    assert b"\xff\xfeber" in data
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(DataError, match="UTF-8"):
        KeyedVectors.load(tmp_path / "v")
    kv = KeyedVectors.load(tmp_path / "v", errors="surrogateescape")
    kv.save(tmp_path / "again", format="fasttext", errors="surrogateescape")
    assert (tmp_path / "again").read_bytes() == data


@pytest.mark.parametrize(("negative", "loss"), [(0, 1), (5, 2)])
def test_the_loss_is_that_of_the_training(tmp_path, negative, loss):
    config = {"model": "cbow", "hs": True, "negative": negative}
    vectors = KeyedVectors(["a", "b"], np.eye(2, dtype=np.float32), np.array([2, 1]), {"config": config})
    vectors.save(tmp_path / "v.bin", format="fasttext")
    assert read_model(tmp_path / "v.bin").options.loss == loss
