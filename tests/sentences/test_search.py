"""The search index against sorting all cosines, and its files."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wordvec_ca import DataError, SearchIndex, SentenceVectorizer
from wordvec_ca.files.npy import write_npy_stream
from wordvec_ca.vectors.neighbours import row_products

WORDS = [f"w{i}" for i in range(40)]


def vectors(seed=0):
    rng = np.random.default_rng(seed)
    return SimpleNamespace(
        vectors=(rng.normal(size=(len(WORDS), 6)) + 0.5).astype(np.float32),
        index_to_key=list(WORDS),
        key_to_index={word: i for i, word in enumerate(WORDS)},
    )


def collection(n=200, seed=1):
    rng = np.random.default_rng(seed)
    lines = [" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(n)]
    lines[3], lines[7], lines[11] = "", "nothing known", lines[10]  # empty, unknown, repeated
    return lines


def built(path, lines, method="mean", dtype="float32"):
    kv = vectors()
    vectorizer = SentenceVectorizer(kv, method=method).fit(lines)
    return kv, vectorizer, SearchIndex.build(lines, vectorizer, path / "index", dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("method", ["mean", "sif", "ca-sem-sif"])
def test_equals_sorting_all_cosines(tmp_path, method, dtype):
    lines = collection()
    _, vectorizer, index = built(tmp_path, lines, method, dtype)
    rows = vectorizer.transform(lines).astype(float)
    lengths = np.linalg.norm(rows, axis=1)
    tolerance = 1e-5 if dtype == "float32" else 2e-3
    for query in lines[20:30]:
        target = vectorizer.transform([query])[0].astype(float)
        cosines = np.where(lengths > 0, rows @ target, -np.inf) / np.maximum(lengths, 1e-30)
        cosines /= np.linalg.norm(target)
        hits = index.search(query, 15)
        best = np.sort(cosines)[::-1][:15]
        np.testing.assert_allclose([hit.score for hit in hits], best, atol=tolerance)
        np.testing.assert_allclose([cosines[hit.row] for hit in hits], best, atol=tolerance)
        assert [hit.text for hit in hits] == [lines[hit.row] for hit in hits]


def test_equal_sentences_in_order_and_blank_ones_never(tmp_path):
    lines = collection()
    _, _, index = built(tmp_path, lines)
    rows = [hit.row for hit in index.search(lines[10], len(lines))]
    assert rows.index(11) == rows.index(10) + 1
    assert {3, 7}.isdisjoint(rows)
    assert len(rows) == len(lines) - 2 == index.record["n_sentences"] - index.record["n_blank"]


def test_many_queries_are_single_queries(tmp_path):
    lines = collection()
    _, _, index = built(tmp_path, lines)
    together = index.search_many(lines[20:25], 4)
    assert [[hit.row for hit in hits] for hits in together] == [
        [hit.row for hit in index.search(line, 4)] for line in lines[20:25]
    ]


def test_built_in_blocks_and_loaded_again(tmp_path, monkeypatch):
    lines = collection()
    _, _, whole = built(tmp_path / "whole", lines)
    monkeypatch.setattr("wordvec_ca.sentences.tokens.BATCH", 16)
    monkeypatch.setattr("wordvec_ca.sentences.index.BLOCK_ROWS", 7)
    kv, _, _ = built(tmp_path / "parts", lines)
    index = SearchIndex.load(tmp_path / "parts" / "index", kv)
    assert len(index) == len(lines)
    assert [index.text(i) for i in range(len(lines))] == lines
    assert index.search(lines[50]) == whole.search(lines[50])
    assert not list((tmp_path / "parts").glob(".*"))


def test_texts_of_any_kind(tmp_path):
    lines = ["w1 \u2028 \U0001f600", "w2 \ud800", "w3\ttab", "w4"]
    _, _, index = built(tmp_path, lines)
    assert [index.text(i) for i in range(4)] == ["w1 \u2028 \U0001f600", "w2 ?", "w3\ttab", "w4"]


def test_a_failed_build_leaves_the_old_index(tmp_path):
    lines = collection()
    kv, vectorizer, old = built(tmp_path, lines)

    def broken():
        yield from lines[:50]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SearchIndex.build(broken(), vectorizer, tmp_path / "index")
    assert len(SearchIndex.load(tmp_path / "index", kv)) == len(old)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert len(SearchIndex.build(lines[:50], vectorizer, tmp_path / "index")) == 50


def test_what_cannot_be_used(tmp_path):
    lines = collection()
    kv, vectorizer, index = built(tmp_path, lines)
    with pytest.raises(DataError, match="no word of the query 'xyz'"):
        index.search("xyz")
    with pytest.raises(ValueError, match="topn=0"):
        index.search("w1", 0)
    with pytest.raises(ValueError, match="dtype"):
        SearchIndex.build(lines, vectorizer, tmp_path / "i", dtype="int8")
    with pytest.raises(DataError, match="no sentences"):
        SearchIndex.build([], vectorizer, tmp_path / "empty")
    assert not (tmp_path / "empty").exists()
    other = vectors()
    other.index_to_key = WORDS[::-1]
    with pytest.raises(DataError, match="other word vectors"):
        SearchIndex.load(tmp_path / "index", other)
    with pytest.raises(DataError, match="not a search index"):
        SearchIndex.load(tmp_path, kv)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"")
    with pytest.raises(DataError, match="not overwritten"):
        SearchIndex.build(lines, vectorizer, tmp_path / "photos")
    (tmp_path / "index" / "text.bin").write_bytes(b"cut")
    with pytest.raises(DataError, match="damaged"):
        SearchIndex.load(tmp_path / "index", kv)


def test_only_unknown_sentences_can_be_indexed_but_not_found(tmp_path):
    vectorizer = SentenceVectorizer(vectors(), method="mean").fit(["w1"])
    index = SearchIndex.build(["", "unknown"], vectorizer, tmp_path / "index")
    assert index.search("w1") == []


# ------------------------------------------------------------------ the product and the file under it

halves = arrays(np.float16, (5, 7), elements=st.floats(-60000, 60000, width=16))


@given(halves)
@settings(max_examples=30, deadline=None)
def test_products_with_halves_are_exact_in_the_halves(rows):
    """Every float16, also a subnormal one, is read as exactly its value."""
    queries = np.eye(7, dtype=np.float32)
    out = row_products(rows, queries, np.empty((7, 5), np.float32))
    np.testing.assert_array_equal(out, rows.T.astype(np.float32))


def test_products_of_a_read_only_map(tmp_path):
    rng = np.random.default_rng(3)
    rows, queries = rng.normal(size=(50, 9)).astype(np.float32), rng.normal(size=(3, 9)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    out = row_products(mapped, queries, np.empty((3, 50), np.float32))
    np.testing.assert_allclose(out, queries @ rows.T, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="do not fit"):
        row_products(mapped, queries[:, :4], out)
    with pytest.raises(ValueError, match="float64"):
        row_products(rows.astype(float), queries, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("sizes", [[], [0], [3, 1, 0, 5]])
def test_streamed_npy_is_an_npy(tmp_path, dtype, sizes):
    blocks = [np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32) for n in sizes]
    n_rows = write_npy_stream(tmp_path / "m.npy", iter(blocks), 4, dtype)
    expected = np.concatenate([np.empty((0, 4), np.float32), *blocks]).astype(dtype)
    for mode in (None, "r") if n_rows else (None,):
        read = np.load(tmp_path / "m.npy", mmap_mode=mode)
        assert read.dtype == dtype
        np.testing.assert_array_equal(read, expected)
    assert n_rows == sum(sizes)


def test_streamed_npy_refuses_other_widths(tmp_path):
    with pytest.raises(ValueError, match="4 columns"):
        write_npy_stream(tmp_path / "m.npy", [np.zeros((2, 3))], 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"[]"),
        ("config.json", b"[" * 100_000),
        ("offsets.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr':\n  (\n ]  "),
        ("offsets.npy", b""),
        ("vectors.npy", b"\x93NUMPY"),
        ("blank.npy", b"text"),
    ],
)
def test_whatever_is_damaged_the_message_is_ours(tmp_path, name, content):
    kv, _, _ = built(tmp_path, collection(20))
    (tmp_path / "index" / name).write_bytes(content)
    with pytest.raises(DataError, match=r"damaged|not a search index"):
        SearchIndex.load(tmp_path / "index", kv)
