"""Documents of several lines: they are read in each way and permuted as a whole; lines alone mislead."""

import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import DataError, TrainConfig, changes
from wordvec_ca.change import Documents
from wordvec_ca.change.evidence import examples
from wordvec_ca.change.texts import Slices
from wordvec_ca.corpus import likeness_of_neighbours
from wordvec_ca.models import ResolvedConfig

QUICK = TrainConfig(model="cbow", vector_size=12, window=4, epochs=2, min_count=1, workers=1)


def test_documents_are_read_in_each_way(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("one\ntwo\n\n\nthree\n \nfour\n")
    assert list(Documents(str(text), "blank-lines")) == [["one", "two"], ["three"], ["four"]]
    assert list(Documents(str(text), "lines:3")) == [["one", "two"], ["three"], ["four"]]
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbffive\r\nsix\r\n"))
    both = [["one", "two", "three", "four"], ["five", "six"]]
    assert list(Documents([str(text), str(tmp_path / "b.txt.gz")], "files")) == both
    records = [
        {"book": "x", "text": "one"},
        {"book": "y", "text": "two\nthree"},
        {"book": "x", "text": "four"},
    ]
    lines = tmp_path / "a.jsonl"
    lines.write_text("\n".join(json.dumps(record) for record in records))
    assert list(Documents(str(lines), "book", field="text")) == [["one", "four"], ["two", "three"]]
    table = tmp_path / "a.tsv"
    table.write_text("text\tbook\none\tx\ntwo\ty\nfour\tx\n")
    assert list(Documents(str(table), "book", field="text")) == [["one", "four"], ["two"]]
    given = [["a b", "c"], [["d", "e"]]]
    assert list(Documents(given)) == given


def test_what_makes_no_documents_is_refused(tmp_path):
    table = tmp_path / "a.tsv"
    table.write_text("text\tbook\none\tx\n")
    with pytest.raises(DataError, match=r"no column\(s\) 'author'; its header has 'text', 'book'"):
        list(Documents(str(table), "author", field="text"))
    with pytest.raises(ValueError, match="the field with the text is needed"):
        Documents(str(table), "book")
    with pytest.raises(ValueError, match="after lines: a number of 1 or more"):
        Documents(str(table), "lines:x")
    with pytest.raises(ValueError, match="need group_by"):
        Documents(str(table))
    with pytest.raises(DataError, match="list of lines"):
        list(Documents([["a"], "two"]))


def books(rng, n, of_each=40, n_words=60):
    """Return documents that prefer words of their own: which word follows another depends on the book."""
    found = []
    for _ in range(n):
        share = rng.dirichlet(np.full(n_words, 0.3))
        found.append([" ".join(f"w{i}" for i in rng.choice(n_words, 8, p=share)) for _ in range(of_each)])
    return found


def test_documents_stay_whole_and_lines_keep_their_windows():
    rng = np.random.default_rng(0)
    texts = [Documents(books(rng, 6)), Documents(books(rng, 5))]
    slices = Slices(texts, ResolvedConfig.of(QUICK), 1)
    assert slices.grouped
    assert len(slices.labels) == 11 * 40
    assert np.bincount(slices.groups).tolist() == [40] * 11
    assert slices.label_permutations.labels.tolist() == [0] * 6 + [1] * 5
    assert "cawvdocumentboundary" not in slices.vocab.words
    plain = Slices([[line.split() for d in t for line in d] for t in texts], ResolvedConfig.of(QUICK), 1)
    np.testing.assert_array_equal(slices.tokens, plain.tokens)
    np.testing.assert_array_equal(slices.counts, plain.counts)


def test_books_assigned_at_random_have_not_changed_but_their_lines_seem_to():
    rng = np.random.default_rng(1)
    texts = [books(rng, 8), books(rng, 8)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = changes(*map(Documents, texts), config=QUICK, permutations=60, repeats=1, least=5)
    lines = [[line.split() for document in text for line in document] for text in texts]
    with pytest.warns(UserWarning, match="independent"):
        cut = changes(*lines, config=QUICK, permutations=60, repeats=1, least=5)
    assert np.mean([one.p < 0.05 for one in whole.words]) <= 0.15
    assert np.mean([one.p < 0.05 for one in cut.words]) > 0.25


def test_lines_in_random_order_are_not_called_dependent():
    rng = np.random.default_rng(2)
    directions = rng.normal(size=(60, 12))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lines = [[int(word[1:]) for word in line.split()] for book in books(rng, 20) for line in book]

    def likeness(order):
        tokens = np.concatenate([[*lines[i], -1] for i in order]).astype(np.int32)
        n = len(lines)
        return likeness_of_neighbours(tokens, np.arange(n), np.zeros(n, int), directions, np.full(60, 100), 1)

    assert likeness(range(len(lines))).dependent
    assert not likeness(rng.permutation(len(lines))).dependent


def test_parts_of_books_are_not_taken_for_independent_documents():
    """In groups of lines, as in lines, words seem to change between books assigned at random."""
    rng = np.random.default_rng(1)
    texts = [books(rng, 8), books(rng, 8)]
    parts = [Documents([book[i : i + 4] for book in text for i in range(0, 40, 4)]) for text in texts]
    with pytest.warns(UserWarning, match=r"documents are not independent.*--group-by files"):
        changes(*parts, config=QUICK, permutations=20, repeats=1, least=5)


def test_what_differs_no_more_than_other_words_is_not_called_changed():
    """All words have partly other contexts in the second text; only two have quite different ones."""
    rng = np.random.default_rng(3)

    def text(second):
        found = []
        for _ in range(900):
            topic = rng.integers(6)
            words = [f"t{topic}w{i}" for i in rng.integers(12, size=9)]
            words.append(("style1" if second else "style0") if rng.random() < 0.7 else "both")
            line = " ".join(words) + " "
            if second:
                line = line.replace("t0w1 ", "x ").replace("t1w1 ", "t0w1 ").replace("x ", "t1w1 ")
            found.append(line.split())
        return found

    config = TrainConfig(model="skipgram", vector_size=12, window=5, epochs=4, min_count=1, workers=1)
    found = changes(text(False), text(True), config=config, permutations=60, repeats=1, least=5)
    changed = {one.word for one in found.words if one.changed}
    assert {"t0w1", "t1w1"} <= changed
    for one in found.words:
        # some others are slightly above what is typical, but only these two clearly
        assert (one.excess > 0.5) if one.word in ("t0w1", "t1w1") else (one.excess < 0.05), one
        assert one.changed == (one.fdr <= 0.05 and one.change > one.typical and one.distance_rank > 0.5), one
    assert len(changed) < sum(one.fdr <= 0.05 for one in found.words), "to differ is not enough"
    for one in found.words:
        assert 0 <= one.low <= one.high <= 1
        assert 0 <= one.change <= 1
        assert one.p >= one.smallest_p * 0.999


def test_examples_of_documents_name_file_and_line(tmp_path):
    text, records = str(tmp_path / "text"), str(tmp_path / "records.jsonl")
    Path(text).write_text("a b\n\nc a\n")
    Path(records).write_text('{"book": "x", "text": "a b"}\n{"book": "y", "text": "c a"}\n')
    of_files, of_records = Documents(text, "blank-lines"), Documents(records, "book", field="text")
    options = ResolvedConfig.of(TrainConfig()).text_options()
    vectors = {"b": np.array([1.0, 0.0]), "c": np.array([0.0, 1.0])}
    texts = [of_files, of_records, Documents([["a b"], ["c a"]])]
    found = examples(texts, ["a"], vectors, options, 5)["a"]
    assert {(one.text, one.source, one.line) for one in found} == {
        (0, text, 1), (0, text, 3), (1, records, 1), (1, records, 2),
        (2, "document 1", 1), (2, "document 2", 1),
    }  # fmt: skip


def test_examples_are_sentences_of_each_text_with_their_place(tmp_path):
    """Old lines have "cell" near prisons, new ones near phones; typical lines of each text are shown."""
    rng = np.random.default_rng(4)
    of_text = {"old": ["prison", "guard", "lock"], "new": ["phone", "call", "screen"]}
    for name, own in of_text.items():
        lines = [
            f"The {rng.choice(own)} and the {rng.choice(own)}, a Cell: {rng.choice(own)}." for _ in range(120)
        ]
        lines += [
            f"{rng.choice(own)} {' '.join(f'w{i}' for i in rng.integers(60, size=8))}" for _ in range(300)
        ]
        lines[5] = "nothing at all, cell"
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    paths = [str(tmp_path / name) for name in of_text]
    config = TrainConfig(model="cbow", vector_size=12, window=5, epochs=3, min_count=1, workers=1)
    found = changes(*paths, config=config, permutations=40, repeats=1, least=5, n_examples=1000)
    (cell,) = (one for one in found.words if one.word == "cell")
    assert [(one.text, one.kind) for one in cell.examples] == [
        (0, "typical"), (0, "different"), (1, "typical"), (1, "different"),
    ]  # fmt: skip
    for one in cell.examples:
        assert one.source == paths[one.text]
        line = (tmp_path / ("old", "new")[one.text]).read_text().splitlines()[one.line - 1]
        assert (
            one.left.split()
            == line.lower().replace(",", " ,").replace(":", " :").split()[: len(one.left.split())]
        )
        assert one.kind == "different" or set(of_text[("old", "new")[one.text]]) & set(one.left.split())
    row = next(line for line in found.table().splitlines() if line.startswith("cell\t"))
    assert f"{paths[0]}:{cell.examples[0].line}: " in row
    assert " | " in row
    assert cell.to_dict()["examples"][0]["word"] == "cell"


def test_the_advice_for_one_file_in_another_encoding_holds_for_the_whole_folder(tmp_path):
    text = "“He said that the café was old” and it’s the house’s only door.\n" * 300
    (tmp_path / "a.txt").write_bytes(text.encode("cp1252"))
    (tmp_path / "b.txt").write_bytes(text.encode())
    with pytest.raises(DataError) as raised:
        list(Documents(tmp_path, "files"))
    assert "if all files are cp1252" in str(raised.value)
    with (
        pytest.warns(UserWarning, match=r"b\.txt' is UTF-8.*iconv -f CP1252"),
        pytest.raises(DataError, match="cp1252") as raised,
    ):
        list(Documents(tmp_path, "files", encoding="cp1252"))
    assert "most likely" not in str(raised.value)
