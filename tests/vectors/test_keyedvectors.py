"""KeyedVectors against a slow, obvious implementation in float64."""

import io
import json
import math
import warnings

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.tables import table as vector_table
from wordvec_ca.vectors import lookup
from wordvec_ca.vectors.lookup import UnknownWordError


def random_vectors(n_words=200, vector_size=7, seed=0):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n_words, vector_size)).astype(np.float32)
    return KeyedVectors([f"w{i}" for i in range(n_words)], vectors, np.arange(n_words, 0, -1))


def write_model(folder, kv, config=None):
    """Write the files of a model directory as the reader documents them, independently of any writer."""
    folder.mkdir()
    np.save(folder / "vectors.kv.vectors.npy", kv.vectors)
    lines = [f"{word}\t{count}\n" for word, count in zip(kv.index_to_key, kv.counts, strict=True)]
    (folder / "vocab.tsv").write_bytes("".join(lines).encode())
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def naive_neighbours(kv, positive, negative, n_searched=None):
    """Return every word but the given ones by cosine with the mean of unit vectors, all in float64."""
    unit = [row / np.linalg.norm(row) for row in kv.vectors.astype(np.float64)]
    query = sum(unit[kv.index_to_key.index(word)] for word in positive)
    query = query - sum(unit[kv.index_to_key.index(word)] for word in negative)
    query = query / np.linalg.norm(query)
    scores = [
        (word, float(unit[row] @ query))
        for row, word in enumerate(kv.index_to_key[:n_searched])
        if word not in positive + negative
    ]
    return sorted(scores, key=lambda pair: -pair[1])


def same(found, expected):
    assert [word for word, _ in found] == [word for word, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-5)


@pytest.mark.parametrize("block_bytes", [100, 4 << 20], ids=["many blocks", "one block"])
@pytest.mark.parametrize("negative", [[], ["w7"], ["w8", "w9"]])
def test_most_similar_is_cosine_with_the_mean_direction(monkeypatch, block_bytes, negative):
    monkeypatch.setattr(vector_table, "BLOCK_BYTES", block_bytes)
    kv = random_vectors()
    for _ in range(2):  # the first call also computes norms, the second uses them
        same(
            kv.most_similar(["w1", "w2"], negative, topn=25),
            naive_neighbours(kv, ["w1", "w2"], negative)[:25],
        )
    same(
        kv.most_similar(["w1", "w2"], negative, topn=500, restrict_vocab=20),
        naive_neighbours(kv, ["w1", "w2"], negative, 20),
    )
    every = kv.most_similar(["w1", "w2"], negative, topn=None)
    best = dict(naive_neighbours(kv, ["w1", "w2"], negative))
    assert every.shape == (200,)
    assert every[100] == pytest.approx(best["w100"], abs=1e-5)


def test_weights_vectors_rows_and_words_are_interchangeable_in_queries():
    kv = random_vectors()
    expected = kv.most_similar("w3", "w5")
    assert kv.most_similar([3], [5]) == expected
    assert kv.most_similar([("w3", 1.0), ("w5", -1.0)]) == expected
    by_vector = kv.most_similar([kv.get_vector("w3", norm=True)], [kv.get_vector("w5", norm=True)], topn=12)
    same([pair for pair in by_vector if pair[0] not in ("w3", "w5")][:10], expected)
    assert kv.similar_by_word("w3") == kv.similar_by_key("w3") == kv.most_similar("w3")
    assert kv.similar_by_vector(kv["w3"], topn=1)[0][0] == "w3"
    assert kv.most_similar("w3", topn=0) == []


def test_pairs_and_groups():
    kv = KeyedVectors(
        ["north", "south", "east", "northeast", "up"],
        [[0, 2, 0], [0, -3, 0], [5, 0, 0], [1, 1, 0], [0, 0, 1]],
    )
    assert kv.similarity("north", "south") == pytest.approx(-1)
    assert kv.similarity("north", "northeast") == pytest.approx(math.sqrt(0.5))
    assert kv.n_similarity(["north"], ["north", "south"]) == pytest.approx(-1)  # mean of unscaled vectors
    assert kv.doesnt_match(["north", "northeast", "east", "up"]) == "up"
    assert kv.get_vector("north", norm=True).tolist() == [0, 1, 0]
    assert kv.get_normed_vectors()[2].tolist() == [1, 0, 0]
    with pytest.warns(UserWarning, match="'down'"):
        assert kv.doesnt_match(["north", "northeast", "down", "south"]) == "south"


@pytest.mark.parametrize("method", ["add", "mul"])
def test_analogy_on_a_lattice(method):
    """With one axis for gender and one for rank the fourth corner must win."""
    words = ["man", "woman", "king", "queen", "apple", "duke"]
    kv = KeyedVectors(words, [[1, 0, 1], [-1, 0, 1], [1, 1, 1], [-1, 1, 1], [0, -3, 1], [1, 0.5, 1]])
    assert kv.analogy("man", "king", "woman", method=method)[0][0] == "queen"
    assert not {"man", "king", "woman"} & {
        word for word, _ in kv.analogy("man", "king", "woman", method=method)
    }
    with pytest.raises(ValueError, match=r"'add'.*'mul'"):
        kv.analogy("man", "king", "woman", method="multiply")


def test_cosmul_is_the_ratio_of_products():
    kv = random_vectors()
    unit = kv.vectors / np.linalg.norm(kv.vectors.astype(np.float64), axis=1, keepdims=True)
    near = (1 + unit @ unit.T) / 2
    expected = near[1] * near[2] / (near[3] + 1e-6)
    assert kv.most_similar_cosmul(["w1", "w2"], ["w3"], topn=None) == pytest.approx(expected, rel=1e-5)


def test_vectors_without_direction_are_never_neighbours_and_cause_no_arithmetic_warning():
    kv = random_vectors(20)
    vectors = kv.vectors.copy()
    vectors[3] = 0
    vectors[4, 2] = np.nan
    vectors[5, 1] = np.inf
    spoilt = KeyedVectors(kv.index_to_key, vectors)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = spoilt.most_similar("w1", topn=100)
        cosines = spoilt.most_similar("w1", topn=None)
        assert spoilt.similarity("w1", "w3") == 0
        assert math.isnan(spoilt.similarity("w1", "w4"))
        normed = spoilt.get_normed_vectors()
    assert [str(warning.message)[:36] for warning in caught] == ["2 of 20 vectors hold NaN or infinity"]
    assert "'w4'" in str(caught[0].message)
    same(found, [pair for pair in naive_neighbours(kv, ["w1"], []) if pair[0] not in ("w3", "w4", "w5")])
    assert cosines[3] == 0
    assert np.isnan(cosines[[4, 5]]).all()
    assert not normed[3].any()
    for word in ("w3", "w4", "w5"):
        with pytest.raises(DataError, match=f"'{word}'.*no neighbours"):
            spoilt.most_similar(word)
    with pytest.raises(DataError, match="cancel"):
        kv.most_similar("w1", "w1")


def test_lengths_whose_squares_leave_float32():
    """1e25 squared is more than float32 holds, 1e-25 squared is less; the directions are the same."""
    kv = random_vectors(30)
    scaled = kv.vectors * np.where(np.arange(30) % 2, np.float32(1e25), np.float32(1e-25))[:, np.newaxis]
    same(KeyedVectors(kv.index_to_key, scaled).most_similar("w2", topn=29), kv.most_similar("w2", topn=29))


def test_equally_similar_words_come_in_the_order_of_rows():
    kv = KeyedVectors(list("abcdef"), np.tile([1.0, 2.0], (6, 1)))
    assert [word for word, _ in kv.most_similar("c", topn=3)] == ["a", "b", "d"]


def test_lookup_and_unknown_words():
    kv = random_vectors()
    assert len(kv) == 200
    assert "w5" in kv
    assert "W5" not in kv
    assert 199 in kv
    assert 200 not in kv
    assert kv.get_index("w5") == 5
    assert kv.get_index("?", -7) == -7
    assert kv.get_vecattr("w5", "count") == 195
    assert np.array_equal(kv[["w5", "w2"]], kv.vectors[[5, 2]])
    assert np.array_equal(kv["w5"], kv[5])
    with pytest.raises(ValueError, match="read-only"):
        kv["w5"][0] = 1
    for wrong in ("?", 200, -1):
        with pytest.raises(UnknownWordError) as error:
            kv[wrong]
        assert isinstance(error.value, KeyError)
        assert isinstance(error.value, DataError)
        assert "200" in str(error.value) or "199" in str(error.value)
    with pytest.raises(UnknownWordError):
        kv.most_similar(["w1", "?"])
    with pytest.raises(TypeError, match="None is neither"):
        kv[None]
    with pytest.raises(KeyError, match="without counts"):
        KeyedVectors(["a"], [[1.0]]).get_vecattr("a", "count")


def test_old_names_say_the_new_ones():
    kv = random_vectors()
    for old, new in [("vocab", "key_to_index"), ("index2word", "index_to_key"), ("size", "vector_size")]:
        with pytest.raises(AttributeError, match=new):
            getattr(kv, old)
    assert not hasattr(kv, "no_such_thing")


def test_shapes_that_do_not_fit_and_repeated_words_are_refused():
    with pytest.raises(DataError, match="one row for each of the 2 words"):
        KeyedVectors(["a", "b"], np.zeros((3, 4)))
    with pytest.raises(DataError, match="counts"):
        KeyedVectors(["a", "b"], np.zeros((2, 4)), counts=[1])
    with pytest.raises(DataError, match="'a' occurs twice"):
        assert "a" in KeyedVectors(["a", "b", "a"], np.zeros((3, 4)))


def test_the_first_lookups_make_no_dictionary_of_all_words(monkeypatch):
    monkeypatch.setattr(lookup, "MANY_WORDS", 100)
    kv, usual = random_vectors(), random_vectors()
    assert usual.key_to_index["w7"] == 7
    assert kv.most_similar("w7") == usual.most_similar("w7")
    assert [kv.get_vecattr(word, "count") for word, _ in kv.most_similar("w7")] == [
        usual.get_vecattr(word, "count") for word, _ in usual.most_similar("w7")
    ]
    assert "absent" not in kv
    assert kv.known_form("W9") == "w9"
    assert "key_to_index" not in vars(kv)
    for row in range(0, 200, 5):
        assert kv.get_index(f"w{row}") == row
    assert "key_to_index" in vars(kv)
    twice = KeyedVectors([*kv.index_to_key[1:], "w7"], kv.vectors)
    with pytest.raises(DataError, match="'w7' occurs twice"):
        assert "w7" in twice


def test_model_directory_is_memory_mapped(tmp_path):
    kv = random_vectors()
    folder = write_model(tmp_path / "m", kv, {"format": 1, "config": {"model": "cbow"}})
    loaded = KeyedVectors.load(folder)
    assert isinstance(loaded.vectors, np.memmap)
    assert not loaded.vectors.flags.writeable
    assert loaded.most_similar("w1") == kv.most_similar("w1")
    assert loaded.get_vecattr("w0", "count") == 200
    assert loaded.metadata["config"] == {"model": "cbow"}


def test_vocabulary_escapes(tmp_path):
    words = ["a b", "tab\there", "new\nline", "back\\slash", "\\t", "\r", "", "\u00a0", "é\u0301", "\u2028"]
    kv = KeyedVectors(words, np.eye(len(words)), range(len(words), 0, -1))
    folder = write_model(tmp_path / "m", kv)
    table = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
    lines = [f"{word.translate(table)}\t{9}\n" for word in words]
    (folder / "vocab.tsv").write_bytes("".join(lines).encode())
    assert KeyedVectors.load(folder).index_to_key == words


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.tsv", b"a\t1\nb\t2\n", "2 words but .* 3 rows"),
        ("vocab.tsv", b"a\t1\nb c 2\nd\t1\t2\n", "line 2"),
        ("vocab.tsv", b"a\t1\nb\tmany\nc\t1\n", "line 2"),
        ("vocab.tsv", b"a\t1\nb\t\nc\t1\n", "line 2"),
        ("vocab.tsv", b"a\t1\nb\t3\nc\\q\t1\n", "line 3"),
        ("vocab.tsv", b"a\t1\n\xff\t3\nc\t1\n", "line 2: invalid UTF-8"),
        ("vocab.tsv", b"a\t1\nb\t9999999999999999999999\nc\t1\n", "line 2"),
        ("vocab.tsv", None, "no vocab.tsv"),
        ("vectors.kv.vectors.npy", None, "no vectors.kv.vectors.npy"),
        ("vectors.kv.vectors.npy", b"", "not a readable .npy"),
        ("vectors.kv.vectors.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'", "not a readable .npy"),
        ("config.json", b"{", "not JSON"),
        ("config.json", b"[]", "JSON object"),
        ("config.json", b'{"format": 99}', "format 99"),
    ],
)
def test_damaged_model_directory(tmp_path, name, content, message):
    folder = write_model(tmp_path / "m", random_vectors(3), {"format": 1})
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        KeyedVectors.load(folder)


def test_cut_off_and_foreign_arrays_in_a_model_directory(tmp_path):
    folder = write_model(tmp_path / "m", random_vectors(100))
    array = folder / "vectors.kv.vectors.npy"
    array.write_bytes(array.read_bytes()[:-1])
    with pytest.raises(DataError, match="cut off"):
        KeyedVectors.load(folder)
    for wrong in (np.zeros(100, np.float32), np.zeros((100, 2), np.int32), np.zeros((100, 2), complex)):
        np.save(array, wrong)
        with pytest.raises(DataError, match="matrix of floats"):
            KeyedVectors.load(folder)
    np.save(array, np.ones((100, 2), np.float16))
    assert KeyedVectors.load(folder).vectors.dtype == np.float32


@pytest.fixture
def model(tmp_path):
    words = ["king", "queen", "man", "woman", "東京", "tab\there"]
    vectors = [[1, 1, 1], [-1, 1, 1], [1, 0, 1], [-1, 0, 1], [0, -3, 1], [0, -3.1, 1]]
    kv = KeyedVectors(words, np.array(vectors, np.float32), [60000, 500, 40, 3, 2, 1])
    path = tmp_path / "m.safetensors"
    kv.save(path)
    return path


def test_nn_command(model, command):
    shown = command("nn", model, "king", "-n", 2).says(0).out
    assert [line.split() for line in shown.splitlines()[1:]] == [
        ["word", "score", "count"], ["-" * 26], ["1", "man", "0.8165", "40"], ["2", "queen", "0.3333", "500"],
    ]  # fmt: skip
    assert command("nn", model, "東京", "-n", 1, "--json").json == {
        "word": "東京",
        "neighbours": [{"word": "tab\there", "score": pytest.approx(0.99995, abs=1e-4)}],
    }
    assert "tab\\there" in command("nn", model, "東京", "-n", 1).out


def test_nn_answers_known_words_and_reports_the_others(model, command, monkeypatch):
    class Input:
        buffer = io.BytesIO(b"man\n\nQueen\r\n\xff\n")

    monkeypatch.setattr("sys.stdin", Input)
    done = command("nn", model, "quean", "-", "-n", 1, "--json").says(1)
    assert [record["word"] for record in done.records] == ["man", "queen"]
    assert done.records[1]["given"] == "Queen"
    first, second, third = done.err.splitlines()
    assert "did you mean queen?" in first
    assert second == "'Queen' has no vector; answering for 'queen'"
    assert "spelled like it" in third


def test_analogy_command(model, command):
    lines = command("analogy", model, "man", "king", "woman", "-n", 1).says(0).out.splitlines()
    assert lines[0] == "man : king = woman : ?"
    assert lines[3].split()[:2] == ["1", "queen"]
    mul = command("analogy", model, "man", "king", "woman", "--method", "mul", "--json")
    assert mul.json["answers"][0]["word"] == "queen"
    command("analogy", model, "mann", "king", "wuman").says(1, "did you mean man", "did you mean woman")
    assert command("analogy", model, "man", "king").code == 2


def test_errors_that_say_what_is_wrong():
    import pickle

    words = KeyedVectors([1, 2, 3], np.eye(3))  # nodes of a graph
    with pytest.raises(KeyError) as error:
        words["3"]
    assert "has no vector" in str(error.value)
    attends = KeyedVectors(["a", "b"], np.eye(2), attention=lambda part=None: np.ones(2, np.float32))
    with pytest.raises(TypeError, match=r"an array .*attention_weights\(model, sentence\)"):
        attends.attention("a b")
    assert pickle.loads(pickle.dumps(attends.attention)).tolist() == [1, 1]
    with pytest.raises(DataError, match=r"have no attention: .* --model cbow-attn"):
        words.attention("a b")
    assert getattr(words, "attention", None) is None
    with pytest.raises(TypeError, match="b'cat' is neither a word nor a row"):
        words[b"cat"]  # not rows 99, 97 and 116
