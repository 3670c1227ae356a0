"""Which words have changed: made-up changes are found, and permuted texts have none."""

import csv
import dataclasses
import io
from xml.etree import ElementTree

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, TrainConfig, changes, changes_of_models
from wordvec_ca.change import false_discovery_rate, save_changes, saved_verdicts
from wordvec_ca.report import trajectories

CONFIG = TrainConfig(model="skipgram", vector_size=20, window=4, epochs=6, workers=1)
TOPICS, WORDS = 8, 15


def text(seed: int, lines: int = 1200) -> list[list[str]]:
    """Return lines of ten words, each line of words of one topic."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(TOPICS, size=lines)
    return [[f"t{topic}w{i}" for i in rng.integers(WORDS, size=10)] for topic in topics]


def test_words_that_change_places_are_found_and_others_are_not():
    swap = {f"t{a}w0": f"t{a ^ 1}w0" for a in range(4)}
    later = [[swap.get(word, word) for word in line] for line in text(2)]
    rare = [["seldom", "t0w1", "t0w2"]] * 5
    found = changes([*text(1), *rare], [*later, *rare, ['"'] * 12], config=CONFIG, permutations=50)
    farthest = sorted(found.words, key=lambda one: -one.change)
    assert {one.word for one in farthest[:4]} == set(swap)
    assert all(one.fdr < 0.05 and one.low > 0.5 and one.distance_rank > 0.9 for one in farthest[:4])
    assert all(one.change < 0.1 for one in farthest[4:])
    assert sum(one.fdr < 0.05 for one in farthest[4:]) <= 1
    assert ("seldom", (5, 5)) in found.undecided
    assert found.only == [[], [('"', 12)]]
    rows = list(csv.reader(io.StringIO(found.table()), delimiter="\t"))  # as pandas and R read it
    assert len(rows) == 1 + len(found.words) + len(found.undecided) + 1
    assert rows[-1][:2] == ['"', "only in text 2"]


def test_names_are_left_out(tmp_path):
    """A name has a capital inside sentences; a word that begins them does not become one."""
    rng = np.random.default_rng(7)

    def told(seed):
        lines = []
        for line in text(seed, 600):
            words = line[: int(rng.integers(5, 10))]
            words[0] = words[0].title()  # t1w2 begins a sentence as T1W2
            lines.append(" ".join([*words[:3], "Smith", *words[3:], "."]))
        path = tmp_path / f"{seed}.txt"
        path.write_text("\n".join(lines))
        return path

    early, late = told(1), told(2)
    all_words = {one.word for one in changes(early, late, config=CONFIG, permutations=20).words}
    found = changes(early, late, config=CONFIG, permutations=20, leave_out_names=True)
    assert all_words - {one.word for one in found.words} == {"smith"}


def test_saved_models_have_the_verdicts_beside_them(tmp_path):
    swap = {"t0w0": "t1w0", "t1w0": "t0w0"}
    later = [[swap.get(word, word) for word in line] for line in text(2)]
    found = changes(text(1), later, config=CONFIG, permutations=50, repeats=1)
    old, new = save_changes(found, ["a/1900.txt", "a/2000.txt.gz"], tmp_path / "saved")
    assert (old.name, new.name) == ("1900.kv", "2000.kv")
    assert set(swap) <= set(KeyedVectors.load(new).index_to_key)
    verdicts = saved_verdicts(old, new)
    assert verdicts == {one.word: one.changed for one in found.words}
    assert {word for word, changed in verdicts.items() if changed} >= set(swap)
    KeyedVectors.load(old).save(tmp_path / "other.kv")
    assert saved_verdicts(old, tmp_path / "other.kv") is None
    (tmp_path / "saved/2000.kv.cawv-maps").mkdir()  # of cawv explore, the next step
    assert save_changes(found, ["1900.txt", "2000.txt"], tmp_path / "saved", overwrite=True) == [old, new]
    (tmp_path / "saved/2000.kv.notes").write_text("mine")
    with pytest.raises(DataError, match=r"2000\.kv\.notes"):
        save_changes(found, ["1900.txt", "2000.txt"], tmp_path / "saved", overwrite=True)


def test_few_documents_are_named():
    few = changes(text(1, 90), text(2, 95), config=CONFIG, permutations=20, repeats=1, least=2)
    assert (few.documents, few.are_few) == ([90, 95], True)


def test_p_is_uniform_where_nothing_changed():
    found = changes(text(3), text(4), text(5), config=CONFIG, permutations=50)
    p = np.array([one.p for one in found.words])
    assert np.mean(p < 0.05) < 0.12
    assert 0.35 < p.mean() < 0.65
    assert all(len(one.trajectory) == len(one.band) == 2 for one in found.words)


def test_p_is_uniform_for_a_text_and_itself_with_any_number_of_workers():
    config = dataclasses.replace(CONFIG, epochs=2)
    with pytest.warns(UserWarning, match="same lines"):
        found = changes(text(8, 400), text(8, 400), config=config, permutations=20)
    p = np.array([one.p for one in found.words])
    assert 0.35 < p.mean() < 0.65
    assert np.mean(p < 0.05) < 0.12
    config = dataclasses.replace(config, workers=3)
    with pytest.warns(UserWarning, match="same lines"):
        several = changes(text(8, 400), text(8, 400), config=config, permutations=20)
    assert several.table() == found.table()


def test_texts_of_which_nothing_can_be_permuted_show_no_change():
    """One text is part of the other, or has every line twice: no permutation differs from the texts."""
    part = text(12, 400)
    for other, of_lines in (([*part, *text(13, 400)], "only 0%"), (text(14, 400) * 2, "only 0%")):
        with pytest.warns(UserWarning, match=of_lines):
            found = changes(part, other, config=dataclasses.replace(CONFIG, epochs=2), permutations=20)
        p = np.array([one.p for one in found.words])
        assert 0.35 < p.mean() < 0.65


def test_words_of_some_texts_and_not_of_all_are_undecided():
    early, late = text(9, 300), text(10, 300)
    zebra = [["zebra", "t0w1", "t0w2"]] * 12
    found = changes([*early, *zebra], [*late, *zebra], text(11, 300), config=CONFIG, permutations=20)
    assert ("zebra", (12, 12, 0)) in found.undecided


def test_texts_that_cannot_be_compared_are_refused():
    other = [[word.upper() for word in line] for line in text(6, 300)]
    with pytest.raises(DataError, match="only 0 words occur often enough"):
        changes(text(7, 300), other, config=CONFIG)
    with pytest.raises(DataError, match="iterator"):
        changes(iter(text(7, 300)), other, config=CONFIG)
    with pytest.raises(ValueError, match="two texts"):
        changes(other, config=CONFIG)
    with pytest.raises(ValueError, match="from 20 to"):
        changes(other, other, config=CONFIG, permutations=10)


def test_rate_of_false_discoveries():
    rate = false_discovery_rate(np.array([0.01, np.nan, 0.04, 0.03, 0.9]))
    np.testing.assert_allclose(rate, [0.04, np.nan, 0.16 / 3, 0.16 / 3, 0.9])


def test_models_are_compared_without_p():
    """A word with another vector in one model moved farthest; words that were only rotated did not move."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(80)]
    vectors = rng.standard_normal((80, 20)).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    other = vectors @ turn
    other[7] = rng.standard_normal(20)
    counts = np.full(80, 20)
    first = KeyedVectors([*words, "old"], np.vstack([vectors, vectors[:1]]), [*counts, 20])
    second = KeyedVectors([*words, "new"], np.vstack([other, other[1:2]]), [*counts, 20])
    found = changes_of_models(first, second)
    assert found.words[0].word == "w7"
    assert found.words[1].distance < 0.05 < found.words[0].distance
    assert found.permutations == 0
    assert found.only == [[("old", 20)], [("new", 20)]]
    assert "only in text 2" in found.table()
    third = changes_of_models(first, second, KeyedVectors([*words, "new"], second.vectors, second.counts))
    assert third.undecided == [("new", (0, 20, 20))]
    drawn = trajectories([("a<b", [0.2, 0.4], [0.3, 0.3])], ["1800", "1900", "2000"])
    picture = ElementTree.fromstring(drawn)
    assert picture.tag.endswith("svg")
    labels = [one.text for one in picture.iter() if one.get("class") == "middle"]
    assert labels == ["1", "2", "3"]
    with pytest.raises(DataError, match="in common"):
        changes_of_models(first, KeyedVectors(["x", "y"], np.ones((2, 20))))
