"""The explorer: the map and the page without a browser."""

import base64
import json
import re

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, explore
from wordvec_ca.report import read_classes
from wordvec_ca.report.explorer.contents import STEPS, whole_numbers
from wordvec_ca.report.explorer.coordinates import word_map
from wordvec_ca.report.explorer.neighbour_graph import (
    NeighbourGraph,
    change,
    distance_of_neighbourhoods,
    neighbour_graph,
)
from wordvec_ca.tables import EightBit, Resamples


def directions(n_words: int, seed: int = 1, size: int = 20) -> np.ndarray:
    """Return clusters of unit vectors."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(8, size))[rng.integers(8, size=n_words)] + 0.4 * rng.normal(size=(n_words, size))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def vectors(n_words: int = 400, seed: int = 1) -> KeyedVectors:
    """Return vectors with counts."""
    return KeyedVectors(
        [f"w{i}" for i in range(n_words)], directions(n_words, seed), range(n_words + 1, 1, -1)
    )


def array(page: str, name: str, dtype: str) -> np.ndarray:
    """Return an array of a page."""
    found = re.search(f'id="array-{name}">([^<]*)<', page)
    assert found
    return np.frombuffer(base64.b64decode(found[1]), dtype=dtype)


def test_neighbours_are_those_of_an_exact_search():
    words = vectors()
    graph = neighbour_graph(words.vectors, topn=7)
    for row in range(0, 400, 40):
        expected = words.most_similar(row, topn=7)
        assert [words.index_to_key[other] for other in graph.rows[row]] == [word for word, _ in expected]
        assert graph.cosines[row] == pytest.approx([cosine for _, cosine in expected], abs=1e-6)


def test_change_is_the_share_of_neighbours_not_in_common():
    scores = np.zeros((2, 4), np.float32)
    one = NeighbourGraph(np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), scores)
    other = NeighbourGraph(np.array([[4, 3, 2, 1], [8, 9, 10, 11]]), scores)
    assert change(one, other).tolist() == [0, 0.75]


def test_the_distance_of_neighbourhoods_is_that_of_the_cosines_with_them():
    words = [directions(60, seed) for seed in (1, 2)]
    one, other = (neighbour_graph(given, topn=5) for given in words)
    found = distance_of_neighbourhoods(one, other, *words)
    near = [*one.rows[7], *other.rows[7]]
    a, b = (given[near] @ given[7] for given in words)
    assert found[7] == pytest.approx(1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-6)
    assert distance_of_neighbourhoods(one, one, words[0], words[0]) == pytest.approx(0, abs=1e-6)


def test_numbers_of_the_page_give_the_vectors_back():
    given = np.concatenate([directions(50, size=7) * 3, np.zeros((1, 7), np.float32)])
    upper, lower, scales = whole_numbers(given)
    rest = np.stack([lower >> shift & 3 for shift in (0, 2, 4, 6)], axis=1).ravel()[: given.size]
    back = (4 * upper.astype(int) + rest.reshape(given.shape)) * scales[:, None]
    assert np.abs(back - given).max() <= np.abs(given).max() / STEPS / 2 * 1.001


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_the_same_seed_gives_the_same_map_and_it_is_faithful(method, tmp_path, monkeypatch):
    if method == "tsne":
        pytest.importorskip("openTSNE", reason="needs the extra map")
        # a fifth of the iterations, which preserve more than half of the neighbours of so few points
        monkeypatch.setattr("wordvec_ca.report.explorer.coordinates.EARLY", 25)
        monkeypatch.setattr("wordvec_ca.report.explorer.coordinates.LATE", 50)
    given = directions(300)
    one = word_map(given, method=method, seed=3, cache=tmp_path / "maps")
    two = word_map(given, method=method, seed=3)
    again = word_map(given, method=method, seed=3, cache=tmp_path / "maps")
    assert np.array_equal(one.places, two.places)
    assert np.array_equal(one.places, again.places)
    near = np.argsort(np.linalg.norm(one.places[:, None] - one.places, axis=2), axis=1, kind="stable")[:, :21]
    kept = [len(set(near[i]) - {i} & set(one.graph.rows[i])) / 20 for i in range(300)]
    assert one.kept == pytest.approx(np.mean(kept), abs=1e-3)
    assert one.kept > (0.1 if method == "pca" else 0.3)
    (stored,) = (tmp_path / "maps").iterdir()
    stored.write_bytes(b"PK damaged")
    assert np.array_equal(word_map(given, method=method, seed=3, cache=tmp_path / "maps").places, one.places)


def test_a_page_holds_the_most_frequent_words_that_fit():
    words = vectors()
    page = explore(words, method="pca", words=100)
    assert page.n_words == 100
    assert array(page.html, "counts", "<f4").tolist() == list(range(401, 301, -1))
    assert array(page.html, "places0", "<u2").shape == (200,)
    whole = explore(words, method="pca")
    least = len(explore(words, method="pca", words=2).html)
    small = explore(words, method="pca", max_megabytes=10_000 / 1e6)
    assert 100 < small.n_words < 400
    assert len(small.html) - least < 12_000 < len(whole.html) - least
    with pytest.raises(DataError, match="holds no words"):
        explore(words, method="pca", max_megabytes=1e-5)


def test_words_without_direction_are_left_out_and_two_models_share_words():
    one = KeyedVectors(["a", "b", "c", "d", "e"], np.array([[1, 0], [0, 0], [0, 1], [1, 1], [2, 1]], "f4"))
    other = KeyedVectors(["e", "d", "x", "b", "a"], np.array([[1, 0], [1, 2], [3, 1], [1, 1], [0, 1]], "f4"))
    page = explore(one, other, method="pca").html
    assert json.loads(re.search('id="words">([^<]*)<', page)[1]) == ["a", "d", "e"]  # type: ignore[index]
    assert array(page, "change", "u1").tolist() == [0, 0, 0]
    with pytest.raises(DataError, match="fewer than two words"):
        explore(KeyedVectors(["a", "b"], np.array([[1, 0], [0, 0]], "f4")))


def test_without_tsne_the_command_says_how_to_install_it(command, monkeypatch):
    vectors().save("v.kv", format="gensim")
    monkeypatch.setattr("wordvec_ca.report.explorer.coordinates.find_spec", lambda name: None)
    for method, code in (("tsne", 1), ("auto", 0)):
        command("explore", "v.kv", "-o", "p.html", "--method", method).says(
            code, "pip install 'wordvec-ca[map]'"
        )
    command("explore", "v.kv", "-o", "p.html").says(2, "exists")
    command("explore", "v.kv").says(2, "-o FILE")


def test_neighbours_are_as_sure_as_cawv_nn_says():
    words = vectors(80)
    noise = np.random.default_rng(1).normal(size=(4, 80, 20)).astype(np.float32)
    models = EightBit.empty(4, 80, 20)
    for number in range(4):
        models.put(number, 0, words.vectors + 0.2 * noise[number])
    words.resamples = Resamples(models)
    page = explore(words, method="pca").html
    rows, low, high, again = (
        array(page, f"{name}0", dtype).reshape(80, 20)
        for name, dtype in (("rows", "<i4"), ("low", "i1"), ("high", "i1"), ("again", "u1"))
    )
    for row in (0, 33, 79):
        expected = words.neighbours(row, 20)
        assert [words.index_to_key[other] for other in rows[row]] == [one.word for one in expected]
        assert again[row].tolist() == [one.agreement for one in expected]
        assert low[row] / 100 == pytest.approx([one.low for one in expected], abs=0.0051)
        assert high[row] / 100 == pytest.approx([one.high for one in expected], abs=0.0051)


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing():
    shown = explore(vectors(30), method="pca")._repr_html_()
    assert shown.startswith("<iframe")
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert "<script" not in shown


def test_classes_of_words(tmp_path):
    (tmp_path / "c.tsv").write_text("w1\tnoun\nw2\tverb\n\n", encoding="utf-8")
    classes = read_classes(tmp_path / "c.tsv")
    assert array(explore(vectors(30), method="pca", classes=classes).html, "classes", "<i2").tolist()[:4] == [
        -1,
        0,
        1,
        -1,
    ]
    (tmp_path / "c.tsv").write_text("w1 noun\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1: .*expected a word, a tab"):
        read_classes(tmp_path / "c.tsv")


def test_the_verdicts_of_a_comparison_are_shown():
    page = explore(vectors(30), vectors(30, seed=2), method="pca", changed={"w3": True, "w4": False}).html
    assert np.flatnonzero(array(page, "changed", "u1")).tolist() == [3]


def test_a_table_for_embedding_atlas(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    one, other = vectors(60), vectors(60, seed=2)
    one.index_to_key[1] = "\ud800<b>"  # UTF-8 has no such character
    classes = {"w2": "noun"}
    explore(one, method="pca", classes=classes).save(tmp_path / "one.parquet")
    table = parquet.read_table(tmp_path / "one.parquet").to_pydict()
    assert table["word"][:3] == ["w0", "\\ud800<b>", "w2"]
    assert table["count"][:2] == [61, 60]
    assert table["class"][:4] == [None, None, "noun", None]
    assert all(0 <= x <= 1 for x in table["x"] + table["y"])
    expected = one.most_similar("w5", topn=20)
    near = table["neighbors"][5]
    assert [one.index_to_key[row] for row in near["ids"]] == [word for word, _ in expected]
    assert near["distances"] == pytest.approx([1 - cosine for _, cosine in expected], abs=1e-6)
    explore(vectors(60), other, method="pca").save(tmp_path / "two.parquet")
    both = parquet.read_table(tmp_path / "two.parquet").to_pydict()
    same = len(set(both["neighbors"][0]["ids"]) & set(both["neighbors_other"][0]["ids"]))
    assert both["change"][0] == pytest.approx(1 - same / 20, abs=1 / 255)
    assert {"x_other", "y_other", "region_other"} <= both.keys()
