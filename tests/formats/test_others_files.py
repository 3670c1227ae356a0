"""Vectors as other programs write them: zip archives, tables of CSV and Parquet, from real libraries."""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors

WORDS = ["the", "1", "a,b", "nan", "é"]
VECTORS = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
COUNTS = [9, 5, 3, 2, 1]


def same(path: Path | str, words: list[str] = WORDS, counts: list[int] | None = None) -> None:
    loaded = KeyedVectors.load(path)
    assert loaded.index_to_key == words
    np.testing.assert_array_equal(loaded.vectors, VECTORS)
    assert (None if loaded.counts is None else loaded.counts.tolist()) == counts


@pytest.fixture
def pandas():
    pytest.importorskip("pyarrow")
    return pytest.importorskip("pandas")


def test_the_one_member_of_a_zip_archive_and_a_named_one(tmp_path):
    kv = KeyedVectors(WORDS, VECTORS)
    for name in ("a.txt", "b.bin", "c.safetensors"):
        kv.save(tmp_path / name)
        with zipfile.ZipFile(tmp_path / "one.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(tmp_path / name, f"folder/{name}")
        same(tmp_path / "one.zip")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("a.txt", "b.bin"):
            archive.write(tmp_path / name, name)
        archive.writestr("bad.txt", "2 3\nx 1 2 3\ny 1 oops 3\n")
    same(f"{tmp_path}/all.zip:b.bin")
    with pytest.raises(DataError, match=r"has 3 files: name one of a.txt, b.bin, bad.txt"):
        KeyedVectors.load(tmp_path / "all.zip")
    with pytest.raises(DataError, match=r"has no member 'c'"):
        KeyedVectors.load(f"{tmp_path}/all.zip:c")
    with pytest.raises(DataError, match=r"all.zip:bad.txt, line 3"):
        KeyedVectors.load(f"{tmp_path}/all.zip:bad.txt")
    whole = (tmp_path / "all.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="damaged"):
        KeyedVectors.load(tmp_path / "cut.zip")


def test_tables_of_pandas(tmp_path, pandas):
    columns = pandas.DataFrame(VECTORS, columns=["d0", "d1", "d2"])
    columns.insert(0, "word", WORDS)
    lists = pandas.DataFrame({"count": COUNTS, "token": WORDS, "vector": VECTORS.tolist()})
    for frame, counts in ((columns, None), (lists, COUNTS)):
        frame.to_csv(tmp_path / "v.csv.gz", index=False)
        same(tmp_path / "v.csv.gz", counts=counts)
        frame.to_parquet(tmp_path / "v.parquet")
        same(tmp_path / "v.parquet", counts=counts)


def test_parquet_is_read_by_others_and_read_back(tmp_path, pandas):
    KeyedVectors(WORDS, VECTORS, COUNTS).save(tmp_path / "v.parquet")
    frame = pandas.read_parquet(tmp_path / "v.parquet")
    assert list(frame.columns) == ["word", "count", "vector"]
    assert frame["word"].tolist() == WORDS
    np.testing.assert_array_equal(np.stack(frame["vector"]), VECTORS)
    same(tmp_path / "v.parquet", counts=COUNTS)


@pytest.mark.parametrize(
    "text", ["word,a,b\nx,1,2\ny,1\n", "word,a,b\nx,1,2\ny,1,oops\n", 'word,vector\nx,"[1, 2]"\ny,"[1]"\n']
)
def test_lines_that_differ_are_named(tmp_path, text):
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(DataError, match=r"v.csv, line 3"):
        KeyedVectors.load(tmp_path / "v.csv")


def test_tables_without_vectors_are_refused(tmp_path, pandas):
    pandas.DataFrame({"word": ["x"], "text": ["y"]}).to_parquet(tmp_path / "v")
    with pytest.raises(DataError, match="has the columns word, text"):
        KeyedVectors.load(tmp_path / "v")


@pytest.mark.parametrize(
    "text",
    [
        'word,vector\na,"[1, 2]"\nb,' + "[" * 100_000,
        'word,vector\na,"[1, 2]"\nb,"[1, ' + "9" * 400 + ']"\n',
        "word,count,x,y\na,1,1,2\nb," + "9" * 20 + ",1,2\n",
        "word,x,y\na,,2\nb,1,2\n",
    ],
    ids=["brackets", "large number", "large count", "empty cell"],
)
def test_cells_that_are_not_numbers_are_refused(tmp_path, text):
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(DataError, match=r"v\.csv, line"):
        KeyedVectors.load(tmp_path / "v.csv")


def test_the_index_of_pandas_is_not_a_component(tmp_path, pandas):
    frame = pandas.DataFrame({"word": ["the", "a", "b"], "x": [9.0, 1, 2], "y": [9.0, 3, 4]})[1:]
    frame.to_csv(tmp_path / "v.csv")
    frame.to_parquet(tmp_path / "v.parquet")
    for name in ("v.csv", "v.parquet"):
        assert KeyedVectors.load(tmp_path / name).vectors.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("rows", [0, 2])
def test_parquet_without_rows_or_with_empty_lists_is_refused(tmp_path, rows):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lists = arrow.array([[]] * rows, arrow.list_(arrow.float32()))
    words = arrow.array(["a", "b"][:rows], arrow.string())
    parquet.write_table(arrow.table({"word": words, "vector": lists}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match=r"v\.parquet.*(no rows|are empty)"):
        KeyedVectors.load(tmp_path / "v.parquet")


def test_counts_in_parquet_that_are_not_whole_are_refused(tmp_path, pandas):
    frame = pandas.DataFrame({"word": ["a", "b"], "count": [1.0, 2.5], "x": [1.0, 2], "y": [3.0, 4]})
    frame.to_parquet(tmp_path / "v.parquet")
    with pytest.raises(DataError, match=r"v\.parquet"):
        KeyedVectors.load(tmp_path / "v.parquet")


def test_a_damaged_lzma_archive_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("v.txt", "a 1 2\nb 2 3\n" * 500)
    damaged = bytearray((tmp_path / "v.zip").read_bytes())
    damaged[50:-90] = bytes(byte ^ 0x5A for byte in damaged[50:-90])
    (tmp_path / "v.zip").write_bytes(damaged)
    with pytest.raises(DataError, match=r"v\.zip: the zip archive is damaged"):
        KeyedVectors.load(tmp_path / "v.zip")


def test_vectors_of_spacys_folders(tmp_path):
    pytest.importorskip("spacy")
    words = ["the", "1", "a,b", "nan", "é"]
    KeyedVectors(words, VECTORS).save(tmp_path / "pipeline", format="spacy")
    for folder in ("pipeline", "pipeline/vocab"):
        same(tmp_path / folder)
    (tmp_path / "pipeline" / "vocab" / "key2row").write_bytes(b"")
    with pytest.raises(DataError, match="not a complete folder"):
        KeyedVectors.load(tmp_path / "pipeline")


def test_gensims_fasttext_with_words_never_seen(tmp_path):
    models = pytest.importorskip("gensim.models")
    text = [[f"word{i % 17}", f"thing{i % 13}", "é"] for i in range(300)]
    model = models.FastText(text, vector_size=8, min_count=1, epochs=1, bucket=500, workers=1)
    model.save(str(tmp_path / "m"))
    model.wv.save(str(tmp_path / "kv"))
    for name in ("m", "kv"):
        loaded = KeyedVectors.load(tmp_path / name)
        assert loaded.index_to_key == model.wv.index_to_key
        assert loaded.counts is not None
        for word in ("word3", "é", "word33x", "unheard"):
            np.testing.assert_allclose(loaded[word], model.wv[word], atol=1e-6, err_msg=word)


def test_floret_is_named_as_such(tmp_path):
    (tmp_path / "v").write_text("2 3 2 3 1 2166136261 < >\n0 1 2 3\n1 2 3 4\n")
    with pytest.raises(DataError, match=r"table of floret.*no list of words"):
        KeyedVectors.load(tmp_path / "v")
    header = struct.pack(
        "<16i", 793712314, 12, 10, 5, 1, 5, 5, 1, 2, 1, 2000, 3, 5, 2, 2, 100
    )  # floret 0.10.5
    (tmp_path / "v.bin").write_bytes(header + struct.pack("<d3iq", 1e-4, 9, 9, 0, 99))
    with pytest.raises(DataError, match=r"v.bin is a .bin of floret.*save_vectors"):
        KeyedVectors.load(tmp_path / "v.bin")


@pytest.mark.parametrize("library", ["faiss", "hnswlib"])
def test_recipes_of_the_page_give_the_nearest_words(tmp_path, library, monkeypatch):
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "other-programs.md"
    recipe = page.read_text("utf-8").split(f"```py\nimport {library}\n")[1].split("```")[0]
    vectors = np.random.default_rng(1).standard_normal((200, 8)).astype(np.float32)
    kv = KeyedVectors([f"wörd{i}" for i in range(200)], vectors)
    kv.save("vectors.npy")
    found: dict[str, list[str]] = {}
    exec(f"import {library}\n{recipe}", found)
    assert found["neighbours"] == [word for word, _ in kv.most_similar("wörd0", topn=10)]


def test_an_array_has_its_words_beside_it(tmp_path):
    kv = KeyedVectors(WORDS, VECTORS)
    kv.save(tmp_path / "v.npy")
    assert np.array_equal(np.load(tmp_path / "v.npy"), VECTORS)
    assert (tmp_path / "v.words.txt").read_text("utf-8").split("\n") == [*WORDS, ""]
    same(tmp_path / "v.npy")
    with pytest.raises(DataError, match=r"v.words.txt exists|v.npy exists"):
        kv.save(tmp_path / "v.npy", overwrite=False)
    with pytest.raises(DataError, match="cannot hold"):
        KeyedVectors(["a b"], [[1.0]]).save(tmp_path / "v.npy")
    assert np.array_equal(np.load(tmp_path / "v.npy"), VECTORS)


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        (VECTORS, None, r"without words: put them beside it in v\.words\.txt"),
        (VECTORS, b"a\nb\n", r"v\.words\.txt has 2 lines, but .*v\.npy has 5 rows"),
        (VECTORS, b"a\nb\nc\nd\nb\n", "'b' occurs twice, at lines 2 and 5"),
        (VECTORS, b"a\nb\nc\nd\n\xff\n", r"v\.words\.txt is not UTF-8"),
        (VECTORS[0], b"a\nb\nc\n", r"shape \(3,\); expected floats"),
        (np.array([["x"], ["y"]]), b"a\nb\n", "expected floats"),
        (np.array([[None], [{}]], object), b"a\nb\n", "not a readable .npy array"),
        (
            b"\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (9999999, 3)}\n",
            b"a\n",
            "bytes",
        ),
    ],
    ids=["no words", "few words", "twice", "bytes", "row", "strings", "objects", "cut off"],
)
def test_arrays_that_do_not_fit_their_words_are_refused(tmp_path, array, words, message):
    place = tmp_path / "v.npy"
    if isinstance(array, bytes):
        header = array[10:].rjust(118)[:-1] + b"\n"
        place.write_bytes(array[:10] + header + bytes(24))
    else:
        np.save(place, array, allow_pickle=True)
    if words is not None:
        (tmp_path / "v.words.txt").write_bytes(words)
    with pytest.raises(DataError, match=message):
        KeyedVectors.load(place)


def test_words_of_a_category_in_parquet(tmp_path, pandas):
    frame = pandas.DataFrame({"word": pandas.Categorical(WORDS), "vector": VECTORS.tolist()})
    frame.to_parquet(tmp_path / "v.parquet")
    same(tmp_path / "v.parquet")
    frame.loc[2, "word"] = None
    frame.to_parquet(tmp_path / "v.parquet")
    with pytest.raises(DataError, match="empty cells"):
        KeyedVectors.load(tmp_path / "v.parquet")


def test_a_zip_archive_that_grows_too_much_is_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", b"a " + b"0 " * (40 << 20))
    with pytest.raises(
        DataError, match=r"v\.zip: v\.txt would take 83,886,082 bytes unpacked, from .*refused"
    ):
        KeyedVectors.load(tmp_path / "v.zip")
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr("wordvec_ca.formats.zip_archive.shutil.disk_usage", lambda _: usage)
    KeyedVectors(WORDS, VECTORS).save(tmp_path / "v.txt")
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "v.txt", "v.txt")
    with pytest.raises(DataError, match=r"bytes unpacked, and 100 are free.*TMPDIR"):
        KeyedVectors.load(tmp_path / "v.zip")


def test_a_table_whose_vectors_take_far_more_memory_than_the_file_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.zeros(17 << 20, np.float32)), 1 << 14)
    words = pyarrow.array(map(str, range(len(vectors))))
    parquet.write_table(pyarrow.table({"word": words, "vector": vectors}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match=r"would take 71,307,\d+ bytes, from .*refused"):
        KeyedVectors.load(tmp_path / "v.parquet")


def test_damaged_arrow_data_and_text_that_is_no_utf_8_are_no_crash(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from wordvec_ca.text import TextFiles

    texts = pyarrow.array([b"the caf\xc3 sat", None]).view(pyarrow.string())
    lists = pyarrow.array([[b"caf\xc3"], []]).cast(pyarrow.list_(pyarrow.binary()))
    lists = pyarrow.ListArray.from_arrays(lists.offsets, lists.values.view(pyarrow.string()))
    parquet.write_table(pyarrow.table({"text": texts, "tokens": lists}), tmp_path / "t")
    read = [b"".join(TextFiles([str(tmp_path / "t")], field).pieces()) for field in ("text", "tokens")]
    words = [text.decode("utf-8", "replace").rstrip("\ufffd\n").split() for text in read]
    assert words == [["the", "caf\ufffd", "sat"], ["caf"]]
    places = pyarrow.array([0, 7], pyarrow.int32())
    outside = pyarrow.DictionaryArray.from_arrays(places, ["the cat", "sat"], safe=False)
    with pyarrow.ipc.new_file(tmp_path / "a", pyarrow.schema([("text", outside.type)])) as file:
        file.write_table(pyarrow.table({"text": outside}))
    with pytest.raises(DataError, match="damaged or cut off"):
        list(TextFiles([str(tmp_path / "a")], "text").pieces())


def test_a_zip_archive_that_announces_less_than_it_holds_is_damaged(tmp_path):
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", b"a 0 1\n" * 100_000)
    content = (tmp_path / "v.zip").read_bytes()
    (tmp_path / "v.zip").write_bytes(
        content.replace((600_000).to_bytes(4, "little"), (60).to_bytes(4, "little"))
    )
    with pytest.raises(DataError, match=r"v\.zip: the zip archive is damaged"):
        KeyedVectors.load(tmp_path / "v.zip")
