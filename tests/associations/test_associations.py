"""Measures as in WEFE, intervals and p-values that are right, and axes with a known answer."""

import importlib.util
import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, association, axis
from wordvec_ca.associations import MEASURES, PUBLISHED, published_test, read_pairs, read_words
from wordvec_ca.associations.list_association import permutation_p
from wordvec_ca.associations.measures import crossed_interval, jackknife_variance
from wordvec_ca.associations.random_lists import LEAST_PAIRS, RandomPairs, coherence
from wordvec_ca.cli.axis import _table_of_lists


def themes(n_themes=60, of_each=40, dim=20, seed=0):
    """Return vectors of words about many subjects, in random order; word "t3w7" is about subject 3."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(n_themes, dim))
    names = [(t, f"t{t}w{i}") for t in range(n_themes) for i in range(of_each)]
    order = rng.permutation(len(names))
    rows = np.stack([middles[names[i][0]] + rng.normal(size=dim) for i in order])
    return KeyedVectors([names[i][1] for i in order], rows.astype(np.float32))


def listed(theme, n, first=0):
    return [f"t{theme}w{i}" for i in range(first, first + n)]


@pytest.fixture(scope="module")
def vectors():
    return themes()


def test_measures_are_those_of_wefe(vectors, monkeypatch):
    pytest.importorskip("wefe", reason="needs wefe: pip install wefe")
    if not hasattr(np, "float_"):  # WEFE 0.4 was written for numpy 1
        monkeypatch.setattr(np, "float_", np.float64, raising=False)
    from wefe.metrics import ECT, MAC, RND, RNSB, WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    pytest.importorskip("gensim", reason="needs gensim: WEFE reads its vectors")
    a, b, x, y = listed(0, 7), listed(1, 9), listed(2, 8), listed(3, 6)
    model = WordEmbeddingModel(vectors.to_gensim(), "x")
    both, one = Query([a, b], [x, y]), Query([a, b], [x])
    found = association(vectors, (a, b), (x, y), measures=tuple(MEASURES), n_random=39)
    expected = {
        "weat": WEAT().run_query(both, model)["weat"],
        "effect-size": WEAT().run_query(both, model)["effect_size"],
        "rnd": RND().run_query(one, model)["rnd"],
        "mac": MAC().run_query(both, model)["mac"],
        "ect": ECT().run_query(one, model)["ect"],
        "rnsb": RNSB().run_query(both, model, holdout=False, random_state=0)["rnsb"],
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-6), name


def test_weat_of_a_hand_made_case():
    rows = [[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8], [1, 0], [1, 0], [0, 1], [0, 1]]
    words = ["a1", "a2", "b1", "b2", "x1", "x2", "y1", "y2"]
    more = [f"w{i}" for i in range(60)]
    rows += np.random.default_rng(0).normal(size=(60, 2)).tolist()
    kv = KeyedVectors(words + more, np.array(rows, np.float32))
    found = association(kv, (["a1", "a2"], ["b1", "b2"]), (["x1", "x2"], ["y1", "y2"]), n_random=39)
    leanings = np.array([1, 0.2, -1, -0.2])  # cosine with x minus cosine with y
    assert found["weat"].value == pytest.approx(2.4)
    assert found["effect-size"].value == pytest.approx(1.2 / leanings.std())
    assert found.p_permutation == pytest.approx(2 / 6)  # two of the six partitions are as far apart
    assert [one.word for one in found.words] == ["a1", "a2", "b2", "b1"]
    assert found.words[0].leaning == pytest.approx(1.0)


def test_the_permutation_test_is_exact_on_few_words_and_close_on_many():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(3)
    a, b = rng.normal(0.8, 1, 6), rng.normal(0, 1, 6)
    both = np.concatenate([a, b])
    differences = []
    for chosen in combinations(range(12), 6):
        others = [i for i in range(12) if i not in chosen]
        differences.append(abs(both[list(chosen)].mean() - both[others].mean()))
    expected = np.mean(np.array(differences) >= abs(a.mean() - b.mean()) - 1e-12)
    assert permutation_p(a, b, rng) == pytest.approx(expected)
    a, b = rng.normal(0.4, 1, 30), rng.normal(0, 1, 30)
    assert permutation_p(a, b, rng) == pytest.approx(ttest_ind(a, b).pvalue, abs=0.02)


@pytest.mark.parametrize("similar", [False, True], ids=["unrelated words", "words of one subject"])
def test_random_lists_are_as_coherent_and_as_near_to_each_other(vectors, similar):
    directions = vectors.get_normed_vectors()
    rng = np.random.default_rng(1)
    words = listed(5, 16) if similar else rng.choice(vectors.index_to_key, 16, replace=False).tolist()
    a, b = np.array([vectors.key_to_index[word] for word in words]).reshape(2, 8)  # near: of one subject
    pairs = RandomPairs(directions, a, b, np.concatenate([a, b]))
    of_a, of_b = pairs.draw(200, rng)
    assert len(of_a) == len(of_b) >= LEAST_PAIRS  # few pairs of lists are of one subject
    assert all(len(set(words)) == 16 for words in np.concatenate([of_a, of_b], axis=1).tolist())
    assert not np.isin([of_a, of_b], [a, b]).any()
    for given, drawn in ((a, of_a), (b, of_b)):
        np.testing.assert_allclose(coherence(directions, drawn), coherence(directions, given), atol=0.031)
    near = (directions[of_a].mean(axis=1) * directions[of_b].mean(axis=1)).sum(axis=1)
    np.testing.assert_allclose(near, directions[a].mean(axis=0) @ directions[b].mean(axis=0), atol=0.031)


@pytest.mark.slow
@pytest.mark.parametrize("similar", [False, True], ids=["unrelated words", "words of one subject"])
def test_random_lists_are_not_called_associated(vectors, similar):
    """The calibrated p is below .05 for one pair in twenty; WEAT's own p is more often if words are alike."""
    rng = np.random.default_rng(2)
    p, own = [], []
    for trial in range(40):
        if similar:
            four = rng.choice(60, 4, replace=False)
            a, b, x, y = (listed(theme, 8, int(rng.integers(0, 32))) for theme in four)
        else:
            words = rng.choice(vectors.index_to_key, 32, replace=False).tolist()
            a, b, x, y = words[:8], words[8:16], words[16:24], words[24:]
        found = association(vectors, (a, b), (x, y), measures=("effect-size",), n_random=79, seed=trial)
        p.append(found["effect-size"].p)
        own.append(found.p_permutation)
    assert np.mean(np.array(p) < 0.05) <= 0.15  # 2 of 40 are expected
    assert np.isnan(p).sum() <= 4  # undecided: of the tightest lists there are no random ones
    assert 0.35 < np.nanmean(p) < 0.65
    assert not similar or np.mean(np.array(own) < 0.05) > 0.4


def test_made_up_association_is_found():
    kv = themes(dim=60, seed=4)
    rows = np.array(kv.vectors)
    towards = rows[[kv.key_to_index[word] for word in listed(1, 10, 20)]].mean(axis=0)
    for word in listed(0, 10):  # words of the first subject move towards the second
        rows[kv.key_to_index[word]] += 1.5 * towards
    for theme in range(30, 60):  # other subjects are as coherent as the first is now
        those = [kv.key_to_index[word] for word in listed(theme, 40)]
        rows[those] = rows[those].mean(axis=0) + 0.4 * (rows[those] - rows[those].mean(axis=0))
    moved = KeyedVectors(kv.index_to_key, rows)
    found = association(moved, (listed(0, 10), listed(4, 10)), (listed(1, 10), listed(2, 10)), n_random=200)
    effect = found["effect-size"]
    assert effect.value > 1
    assert effect.p < 0.05
    assert found.told_apart
    assert effect.low < effect.value <= effect.high <= 2


def test_lists_are_checked_and_what_is_missing_is_counted(vectors):
    a, b, x, y = listed(0, 4), listed(1, 4), listed(2, 4), listed(3, 4)
    found = association(vectors, ([*a, "zz"], b), (x, y), n_random=39)
    assert found.missing == (("zz",), (), (), ())
    assert list(found.warnings()) == ["A: 1 of 5 words have no vector: zz"]
    assert json.loads(json.dumps(found.to_dict()))["lists"][0] == a
    with pytest.raises(DataError, match=r"list B has 1 word\(s\) with a vector of 2; .*without a vector: qq"):
        association(vectors, (a, ["t1w1", "qq"]), (x, y))
    with pytest.raises(DataError, match="both lists of attributes have 't2w0'"):
        association(vectors, (a, b), (x, [*y, "t2w0"]))
    with pytest.raises(ValueError, match=r"unknown measure 'other'"):
        association(vectors, (a, b), (x, y), measures=("other",))


def test_the_jackknife_is_the_standard_error_of_a_mean():
    from scipy.stats import t

    values = np.random.default_rng(5).normal(size=12)
    without = np.array([np.delete(values, i).mean() for i in range(12)])
    variance = values.var(ddof=1) / 12
    assert jackknife_variance(without) == pytest.approx(variance)
    low, high = crossed_interval(0.0, variance, 11, [])
    assert high == -low == pytest.approx(t.ppf(0.95, 11) * math.sqrt(variance))
    assert crossed_interval(0.0, variance, 11, [-0.5, 0.1, 0.4])[1] > high


@pytest.mark.parametrize("method", ["differences", "means", "pca"])
def test_an_axis_with_a_known_answer(method):
    """A word moves along the axis in proportion to the share of the second pole's vector in its own."""
    rng = np.random.default_rng(6)
    dim, n_pairs = 50, 8
    gender = np.eye(dim)[0]

    def other():
        vector = rng.normal(size=dim) * (1 - gender)
        return vector / np.linalg.norm(vector)

    words, rows = [], []
    for i in range(n_pairs):
        both = other()
        words += [f"he{i}", f"she{i}"]
        rows += [both - gender, both + gender]
    shares = np.linspace(-1, 1, 9)
    words += [f"w{j}" for j in range(9)]
    rows += [np.sqrt(1 - share**2) * other() + share * gender for share in shares]
    kv = KeyedVectors(words, np.array(rows, np.float32))
    made = axis(kv, [(f"he{i}", f"she{i}") for i in range(n_pairs)], method=method)
    found = made.project(words[-9:])
    assert made.accuracy == 1
    assert [one.word for one in found] == words[-9:]
    np.testing.assert_allclose([one.value for one in found], shares, atol=0.05)
    assert all(one.low - 1e-6 <= one.value <= one.high + 1e-6 for one in found)


def test_an_axis_says_what_makes_it_doubtful():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(9, 20)).astype(np.float32)
    rows[1:8:2] = rows[0:8:2] + np.eye(20)[0] * 3
    rows[[6, 7]] = rows[[7, 6]]  # the fourth pair is in the wrong order
    names = ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "word"]
    kv = KeyedVectors(names, rows, np.array([900, 800, 700, 600, 500, 400, 300, 20, 10]))
    made = axis(kv, [("a1", "a2"), ("b1", "b2"), ("c1", "c2"), ("d1", "d2"), ("e1", "e2")])
    assert made.accuracy == 0.75
    assert list(made.warnings()) == [
        "1 pair(s) left out, a word has no vector: e1:e2",
        "'d2' occurs 20 times; its vector is mostly noise",
        "pairs that do not fit the others: d1:d2; their words do not differ as theirs do: leave them out, or "
        "turn them",
    ]
    one = axis(kv, [("a1", "a2")])
    assert math.isnan(one.accuracy)
    assert "one pair makes the axis" in next(iter(one.warnings()))
    found = one.project(["word", "unknown"])
    assert found.missing == ["unknown"]
    assert math.isnan(found[0].low)
    # with one pair it is the difference of the cosines, in lengths of the axis
    unit = kv.get_normed_vectors()
    difference = kv.similarity("word", "a2") - kv.similarity("word", "a1")
    assert found[0].value == pytest.approx(difference / np.linalg.norm(unit[1] - unit[0]), abs=1e-6)
    with pytest.raises(DataError, match="both words"):
        axis(kv, [("x", "y")])
    with pytest.raises(DataError, match="none of the 1 words has a vector: 'x'"):
        one.project(["x"])


def test_lists_are_read_from_files_and_from_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(b"\xef\xbb\xbf# flowers\nrose, iris\ntulip\nrose\n\n")
    assert read_words(path) == read_words(str(path)) == ["rose", "iris", "tulip"]
    assert read_words("rose,iris") == read_words(["rose", "iris"]) == ["rose", "iris"]
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("# poles\nhe:she\nman\twoman\n")
    assert read_pairs(pairs) == read_pairs(["he:she", "man woman"]) == [("he", "she"), ("man", "woman")]
    pairs.write_text("he:she\nking\n")
    with pytest.raises(DataError, match=r"pairs.txt, line 2: 'king' is not a pair of two different words"):
        read_pairs(pairs)
    with pytest.raises(DataError, match="no such file"):
        read_words("folder/none.txt")
    path.write_bytes(b"r\xe9sum\xe9\n")
    with pytest.raises(DataError, match=r"byte 2 .*not UTF-8.*iconv"):
        read_words(path)


def test_lists_of_a_hundred_of_the_most_frequent_words_have_random_ones(vectors):
    a, b = vectors.index_to_key[:100], vectors.index_to_key[100:200]
    found = association(vectors, (a, b), (listed(2, 4), listed(3, 4)), measures=("weat",), n_random=39)
    assert math.isfinite(found["weat"].p)


def test_lists_more_alike_than_others_can_be_are_not_decided():
    kv = themes(seed=5)
    rows = np.array(kv.vectors)
    same = [kv.key_to_index[word] for word in listed(0, 6)]
    rows[same] = rows[same[0]] + 0.1 * rows[same]
    tight = KeyedVectors(kv.index_to_key, rows)
    found = association(tight, (listed(0, 6), listed(1, 6)), (listed(2, 4), listed(3, 4)), n_random=39)
    (warning,) = found.warnings()
    assert "as coherent as A (mean cosine 0.9" in warning
    assert not found.decided
    assert not found.told_apart
    assert found.to_dict()["decided"] is False
    assert all(one["p"] is None for one in found.to_dict()["measures"])
    assert all(one["low"] is not None for one in found.to_dict()["measures"])
    assert "cannot be decided" in _table_of_lists(found)


def test_too_few_other_words_for_random_lists_is_an_error():
    small = themes(4, 8)
    lists = [listed(theme, 6) for theme in range(4)]
    with pytest.raises(DataError, match="5 words"):
        association(small, (lists[0] + listed(0, 2, 6), lists[1] + listed(1, 1, 6)), (lists[2], lists[3]))


def test_published_lists_are_as_published():
    assert [(len(t.a), len(t.b), len(t.x), len(t.y)) for t in PUBLISHED.values()] == [
        (25, 25, 25, 25),
        (25, 25, 25, 25),
        (8, 8, 8, 8),
        (8, 8, 8, 8),
        (6, 6, 7, 7),
    ]
    for test in PUBLISHED.values():
        for words in (test.a, test.b, test.x, test.y):
            assert len(set(words)) == len(words)
    assert published_test("math-arts").number == 7
    with pytest.raises(ValueError, match="no published test 'x'; there are flowers-insects"):
        published_test("x")


def test_published_lists_are_those_of_wefe():
    spec = importlib.util.find_spec("wefe")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("needs wefe: pip install wefe")
    path = Path(spec.submodule_search_locations[0], "datasets", "data", "WEAT.json")
    words = {tuple(word.lower() for word in some) for some in json.loads(path.read_text()).values()}
    for test in PUBLISHED.values():
        for some in (test.a, test.b, test.x, test.y):  # WEFE has "short" for the paper's "short-term"
            assert tuple(word.replace("short-term", "short") for word in some) in words, (test.name, some)


def test_caliskans_tests_on_glove(glove):
    """Signs as published, on other vectors of the same kind (6 billion words, 100 dimensions)."""
    for name in ("flowers-insects", "math-arts"):
        test = published_test(name)
        found = association(glove, (test.a, test.b), (test.x, test.y), measures=("effect-size",), n_random=39)
        assert 0.5 < found["effect-size"].value < 1.9, test.name
