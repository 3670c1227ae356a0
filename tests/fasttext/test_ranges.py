"""Options that no file can hold are refused before training, and impossible files when they are read."""

import copy
import inspect
import pickle
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, fasttext
from wordvec_ca.fasttext import settings
from wordvec_ca.formats import FastTextModel, FastTextOptions, write_fasttext_model
from wordvec_ca.gensim.models import FastText
from wordvec_ca.gensim.models.fasttext import FastTextKeyedVectors

LINES = "__label__a one two three\n__label__b four five six\n__label__c seven eight\n" * 5


@pytest.mark.parametrize("train", [fasttext.train_supervised, fasttext.train_unsupervised])
@pytest.mark.parametrize("name", ["lr", "t", *settings._WHOLE])
def test_ranges_are_checked_before_the_text_is_read(train, name):
    known = settings.SUPERVISED if train is fasttext.train_supervised else settings.UNSUPERVISED
    if name not in known:
        pytest.skip("not an option of this")
    bad: list[object] = [2**31, 2**32, 2**63, -(2**40), "5", None, [1], 1.5]
    if name in ("lr", "t"):
        bad = [-0.1, float("nan"), float("inf"), 10**400, "5", None, [1], True]
    for value in bad:
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; it must be"):
            train("there is no such file", **{name: value})


def test_whatever_is_trained_can_be_saved_and_read(tmp_path):
    (tmp_path / "text").write_text(LINES)
    usual = {"epoch": 1, "dim": 4, "thread": 1, "verbose": 0}
    for name, most in (
        *(("ws", 2**31 - 1), ("lrUpdateRate", 2**31 - 1), ("minCountLabel", 1), ("neg", 2**31 - 1)),
        *(("bucket", 2**31 - 1), ("maxn", 1000), ("t", 1e300), ("wordNgrams", np.int64(3))),
        *(("lrUpdateRate", 0), ("ws", 0), ("dim", np.int32(3))),
    ):
        options = {**usual, **({"bucket": 1000} if name in ("maxn", "wordNgrams") else {}), name: most}
        fasttext.train_supervised(str(tmp_path / "text"), **options).save_model(tmp_path / "m.bin")
        assert fasttext.load_model(tmp_path / "m.bin").predict("one two")[0]


@pytest.mark.parametrize("bucket", [2**31, 2**32, 2**40, -1])
def test_the_drop_in_refuses_buckets_that_cannot_be(bucket):
    with pytest.raises(ValueError, match=rf"bucket is {bucket}; it must be from 0 to 2147483647"):
        FastText([["a", "b"]], bucket=bucket, min_count=1)


HOSTILE_COUNTS = {
    "higher than any node": [10**15, 10**15, 10**15],
    "one that no node exceeds": [10**18, 3, 2],
    "in all higher": [4 * 10**14, 4 * 10**14, 4 * 10**14],
    "negative": [5, 3, -(2**62)],
}


@pytest.mark.parametrize("counts", HOSTILE_COUNTS.values(), ids=HOSTILE_COUNTS)
@pytest.mark.parametrize("rising", [False, True])
def test_a_tree_that_cannot_be_walked_is_refused_when_it_is_read(counts, rising, tmp_path):
    words = [b"</s>", b"u", b"__label__a", b"__label__b", b"__label__c"]
    order = counts[::-1] if rising else counts
    types, rows = np.array([0, 0, 1, 1, 1], np.int8), np.ones((3, 4), np.float32)
    model = FastTextModel(
        FastTextOptions(4, loss=1, model=3), words, np.array([9, 9, *order]), types, 9, rows[:2], rows
    )
    write_fasttext_model(model, tmp_path / "m.bin")
    with pytest.raises(DataError, match=r"m\.bin: counts of labels go from 0 to .*damaged"):
        fasttext.load_model(tmp_path / "m.bin")


def test_trees_that_can_be_walked_are_read(tmp_path):
    (tmp_path / "text").write_text(LINES)
    made = fasttext.train_supervised(str(tmp_path / "text"), loss="hs", epoch=1, dim=4, verbose=0)
    made.save_model(tmp_path / "m.bin")
    whole = (tmp_path / "m.bin").read_bytes()
    at = whole.index(b"__label__a\0") + len(b"__label__a\0")
    for counts in ([5, 5, 5], [0, 0, 0], [1, 0, 7]):  # unordered and zero counts: fastText accepts them too
        data = bytearray(whole)
        for number, count in enumerate(counts):
            data[at + number * 20 : at + number * 20 + 8] = struct.pack("<q", count)
        (tmp_path / "m.bin").write_bytes(data)
        assert len(fasttext.load_model(tmp_path / "m.bin").predict("one", k=3)[0]) == 3


def old_vectors(bucket: int, n_rows: int, size: int) -> dict[str, Any]:
    """Return vectors as gensim 3 stored them: only rows of buckets in use, and the numbers of these."""
    return {
        "vectors_vocab": np.zeros((2, size), np.float32),
        "vectors_ngrams": np.ones((n_rows, size), np.float32),
        "hash2index": {3 * i: i for i in range(n_rows)},
        "bucket": bucket,
        "min_n": 3,
        "max_n": 6,
        "index2word": ["a", "b"],
        "compatible_hash": True,
    }


@pytest.mark.parametrize(
    ("bucket", "size"), [(60_000_000, 50), (2**40, 1), (2**31 - 1, 300), (-5, 3), (3_000_000, 400)]
)
def test_a_bucket_count_that_does_not_fit_the_file_is_refused(bucket, size):
    with pytest.raises(DataError, match="bucket"):
        FastTextKeyedVectors.completed(old_vectors(bucket, 1, size))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_a_small_file_with_the_usual_buckets_takes_little_memory():
    program = f"""
import numpy as np
{inspect.getsource(old_vectors).replace("dict[str, Any]", "dict")}
from wordvec_ca.gensim.models.fasttext import FastTextKeyedVectors
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
before = peak()
found = FastTextKeyedVectors.completed(old_vectors(2_000_000, 5, 300))
assert found["vectors_ngrams"].shape == (2_000_000, 300) and (found["vectors_ngrams"][12] == 1).all()
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100_000


# ---- other processes ----------------------------------------------------------------------------------


def answers(model: Any) -> list[Any]:
    found = [model.get_word_vector("one").tolist(), model.get_words(), "one" in model, model.get_dimension()]
    if model.labels != model.words:
        found += [model.predict(["one two", "six"], k=2), model.labels]
    return [repr(one) for one in found]


def test_models_go_to_another_process(tmp_path):
    (tmp_path / "text").write_text(LINES)
    usual = {"epoch": 1, "dim": 4, "verbose": 0, "thread": 1, "bucket": 100}
    text = str(tmp_path / "text")
    models = [
        fasttext.train_supervised(text, **usual),
        fasttext.train_supervised(text, loss="hs", wordNgrams=2, **usual),
        fasttext.train_unsupervised(text, minCount=1, **usual),
    ]
    models[0].save_model(tmp_path / "m.bin")
    models.append(fasttext.load_model(tmp_path / "m.bin"))
    small = fasttext.train_supervised(text, **{**usual, "dim": 4})
    small.quantize()
    models.append(small)
    for model in models:
        expected = answers(model)
        for made in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
            assert answers(made) == expected
            made.save_model(tmp_path / "again.bin")
            assert answers(fasttext.load_model(tmp_path / "again.bin")) == expected
    (tmp_path / "m.bin").unlink()
    assert answers(pickle.loads(pickle.dumps(models[3]))) == answers(models[0])
