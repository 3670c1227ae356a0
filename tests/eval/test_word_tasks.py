"""Similarity, analogies and categories against slow formulas, known scores and malformed files."""

import gzip

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.eval.data.word_sets import (
    Analogies,
    WordPairs,
    read_analogies,
    read_categories,
    read_word_pairs,
)
from wordvec_ca.eval.lookup import rows_of
from wordvec_ca.eval.tasks import analogy, similarity


def planted(n=300, d=12, seed=0):
    rng = np.random.default_rng(seed)
    return KeyedVectors([f"w{i}" for i in range(n)], rng.normal(size=(n, d)).astype(np.float32))


def slow_answers(kv, a, b, c):
    """3CosAdd and 3CosMul for one question, word by word, from their formulas."""
    unit = kv.vectors / np.linalg.norm(kv.vectors, axis=1, keepdims=True)
    unit = unit.astype(np.float64)
    best = [(-np.inf, None), (-np.inf, None)]
    for x, word in enumerate(kv.index_to_key):
        if word in (a, b, c):
            continue
        to_a, to_b, to_c = (float(unit[x] @ unit[kv.key_to_index[w]]) for w in (a, b, c))
        add = to_b - to_a + to_c
        mul = (1 + to_b) / 2 * (1 + to_c) / 2 / ((1 + to_a) / 2 + 0.001)
        for i, score in enumerate((add, mul)):
            if score > best[i][0]:
                best[i] = (score, word)
    return best[0][1], best[1][1]


def test_names_of_a_set_in_lower_case_are_found_in_a_model_that_keeps_capitals():
    kv = KeyedVectors(["Paris", "polish", "Rome", "tree"], np.eye(4, dtype=np.float32))
    assert rows_of(kv, ["paris", "polish", "rome", "mars"]).tolist() == [0, 1, 2, -1]
    assert rows_of(kv, ["paris", "Polish", "Tree"]).tolist() == [-1, 1, 3], "this set writes its names"


def test_analogy_answers_are_those_of_the_formulas(monkeypatch):
    monkeypatch.setattr(analogy, "BLOCK", 64)  # several blocks, the last one shorter
    kv = planted()
    rng = np.random.default_rng(1)
    questions, expected = [], {"3cosadd": [], "3cosmul": []}
    for i in range(60):
        a, b, c = (f"w{j}" for j in rng.choice(300, 3, replace=False))
        add, mul = slow_answers(kv, a, b, c)
        d = [add, mul, "w0"][i % 3]
        questions.append((0, a, b, c, d))
        expected["3cosadd"].append(add == d)
        expected["3cosmul"].append(mul == d)
    questions.append((0, "w1", "w2", "w3", "unknown"))
    report = analogy.evaluate(kv, Analogies("random", ["s"], questions))
    for name, right in expected.items():
        np.testing.assert_array_equal(report.items[name][:-1], right)
        assert np.isnan(report.items[name][-1])
        assert report.metrics[name].value == pytest.approx(np.mean(right))
    assert report.n == 60
    assert report.coverage == pytest.approx(60 / 61)
    assert report.metrics["3cosadd-all"].value == pytest.approx(np.sum(expected["3cosadd"]) / 61)
    assert any("1 of 61" in note for note in report.notes)


def test_similarity_ranks_and_counts_unknown_words():
    words = ["a", "b", "c", "d", "e"]
    angles = np.array([0, 0.1, 0.5, 1.2, 3.0])
    kv = KeyedVectors(words, np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32) * 7)
    data = WordPairs("order", list("aaaaA"), ["b", "c", "d", "zzz", "e"], [9.0, 7.0, 5.0, 10.0, 0.0])
    report = similarity.evaluate(kv, data)
    assert report.metrics["spearman"].value == pytest.approx(1.0)
    assert report.n == 4
    assert report.coverage == pytest.approx(0.8)
    np.testing.assert_allclose(report.items["cosine"][:3], np.cos(angles[1:4]), rtol=1e-6)
    assert report.items["cosine"][4] == pytest.approx(np.cos(3.0))  # "A" is found as "a"
    # of all pairs, the unknown one is people's best; it gets the mean cosine, and so the fourth of five ranks
    assert report.metrics["spearman-all"].value == pytest.approx(1 - 6 * (9 + 1 + 1 + 1) / (5 * 24))


def test_similarity_of_random_vectors_is_none_and_the_interval_says_so():
    kv = planted(n=400, d=50)
    rng = np.random.default_rng(5)
    left, right = (rng.integers(0, 400, 300) for _ in range(2))
    data = WordPairs(
        "noise", [f"w{i}" for i in left], [f"w{i}" for i in right], rng.normal(size=300).tolist()
    )
    metric = similarity.evaluate(kv, data).metrics["spearman"]
    assert metric.low < 0 < metric.high
    assert metric.high - metric.low == pytest.approx(2 * 1.96 / np.sqrt(300), rel=0.15)


def test_a_vector_with_nan_is_named():
    kv = planted(n=5)
    kv.vectors[3, 2] = np.nan
    with pytest.raises(DataError, match=r"'w3'.*NaN"):
        similarity.evaluate(kv, WordPairs("x", ["w1", "w3"], ["w2", "w2"], [1.0, 2.0]))


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_word_pairs, "a\tb\t1\na\tb\n", r"x\.tsv, line 2: 2 column\(s\).*word TAB word TAB score"),
        (read_word_pairs, "a\tb\thigh\n", r"line 1: the score 'high' is not a number"),
        (read_word_pairs, "a\tb\tnan\n", r"line 1: the score 'nan' is not a number"),
        (read_word_pairs, "\tb\t1\n", r"line 1: an empty word"),
        (read_word_pairs, "# only a comment\na\tb\t1\n", r"1 word pair\(s\)"),
        (read_word_pairs, "", "the file is empty"),
        (read_word_pairs, b"a\tb\t1\nr\xe9sum\xe9\tcv\t2\n", r"line 2: byte 2 \(0xe9\) is not UTF-8.*iconv"),
        (read_word_pairs, b"a\tb\t1\na\0\tb\t1\n", r"line 2: there is a NUL byte"),
        (read_categories, "a\tx\nb\n", r"line 2: 'b' is not two columns"),
        (read_categories, "a\tx\nb\ty\na\ty\n", r"1 class\(es\) without the 1 word\(s\) of several classes"),
        (read_categories, "a\tx\nb\tx\n", r"1 class\(es\)"),
        (read_analogies, "a b c d\n", r"line 1: 'a b c d' comes before the first section"),
        (read_analogies, ": s\na b c\n", r"line 2: 3 word\(s\)"),
        (read_analogies, ":\na b c d\n", r"line 1: a section without a name"),
        (read_analogies, ": s\n", "no questions"),
    ],
)
def test_malformed_word_sets_are_refused_with_the_line(tmp_path, reader, text, message):
    path = tmp_path / "x.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message):
        reader(path)


def test_words_of_several_classes_are_left_out_and_counted(tmp_path):
    path = tmp_path / "battig.tsv"
    path.write_text("apple\tfruit\norange\tfruit\nred\tcolour\norange\tcolour\nred\tcolour\n")
    found = read_categories(path)
    assert (found.words, found.classes) == (["apple", "red"], ["fruit", "colour"])
    assert (found.in_several_classes, found.repeated) == (["orange"], 1)


def test_word_pairs_are_read_compressed_with_comments_and_windows_line_ends(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(
        gzip.compress(b"\xef\xbb\xbf# word\tword\tscore\r\nold\tnew\t1.58\r\n\r\ntea\tcup\t6\r\n")
    )
    data = read_word_pairs(path)
    assert (data.name, data.first, data.second, data.scores) == (
        "pairs",
        ["old", "tea"],
        ["new", "cup"],
        [1.58, 6.0],
    )
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="truncated"):
        read_word_pairs(path)
    with pytest.raises(DataError, match="No such file"):
        read_word_pairs(tmp_path / "nothing.tsv")


def test_glove_scores_as_independently_known(glove, data):
    ws353 = similarity.evaluate(glove, read_word_pairs(data / "wordsim/ws353.tsv"))
    rg65 = similarity.evaluate(glove, read_word_pairs(data / "wordsim/rg65.tsv"))
    assert ws353.value == pytest.approx(0.533, abs=0.0015)
    assert rg65.value == pytest.approx(0.69, abs=0.01)
    assert ws353.coverage == rg65.coverage == 1.0


def test_a_set_of_which_nothing_is_known_is_named_with_the_likely_cause():
    from wordvec_ca.eval.report import Report
    from wordvec_ca.eval.summary import summary_lines

    def report(dataset, coverage):
        return Report(
            "similarity", dataset, {}, n=0, coverage=coverage, coverage_of="pairs", seed=1, protocol=""
        )

    *_, last = summary_lines([report("known", 1.0), report("french", 0.0)])
    assert last.startswith(
        "No item of french has known words only: another language or spelling? Known words: 0 %"
    )
    *_, last = summary_lines([report("known", 1.0)])
    assert last.startswith("Known words: 100 %")
