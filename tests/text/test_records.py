"""Records with named fields: CSV, TSV, Parquet, Arrow, saved datasets, Python objects."""

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.text import TextFiles, find_files
from wordvec_ca.text.records import RecordTexts

ROWS: list[dict[str, Any]] = [
    {"title": "A title", "text": 'She said "no",\nthen left.', "id": 1},
    {"title": None, "text": "Grüße, 世界", "id": 2},
    {"title": "Alone", "text": None, "id": 3},
    {"title": None, "text": None, "id": 4},
    {"title": "Tabs\tand; marks|", "text": "", "id": 5},
]


def text_of(file: Any, field: Any = None) -> tuple[list[str], dict[str, int]]:
    files = TextFiles([str(file) if isinstance(file, Path) else file], field)
    text = b"".join(files.pieces()).decode("utf-8")
    return text.split("\n")[:-1], dict(files.records)


def write_csv(path: Path, delimiter: str = ",", opened: Callable[..., Any] = open) -> None:
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "title", "text"], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(ROWS)


@pytest.mark.parametrize(
    ("name", "mark"), [("a.csv", ","), ("a.CSV.gz", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("nameless", "|")]
)
def test_delimited(tmp_path, name, mark):
    write_csv(tmp_path / name, mark, gzip.open if name.endswith("gz") else open)
    lines, records = text_of(tmp_path / name, "text")
    assert lines == ['She said "no",', "then left.", "Grüße, 世界"]
    assert records == {"records": 5, "records without text": 3}
    lines, records = text_of(tmp_path / name, ["title", "text"])
    assert lines == [
        "A title", 'She said "no",', "then left.", "Grüße, 世界", "Alone", "Tabs\tand; marks|",
    ]  # fmt: skip
    assert records == {"records": 5, "records without text": 1}


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1)


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1), cut=st.integers(1, 9), mark=st.sampled_from(",;\t|"))
def test_cells_come_out_as_they_went_in(rows, cut, mark):
    from collections import Counter

    from wordvec_ca.text.delimited import cell_texts

    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *rows])
    data = out.getvalue().encode()
    pieces = [data[i : i + cut] for i in range(0, len(data), cut)]
    found = b"".join(cell_texts(pieces, RecordTexts(["b"], "x", Counter()), mark)).decode()
    assert found == "".join(b + "\n" for _, b in rows)


def test_rows_that_do_not_fit_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('n,text\n1,one\n2\n3,three,3\n\n4,"fo""ur"\n')
    assert text_of(path, "text") == (["one", 'fo"ur'], {"records": 4, "malformed records": 2})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("n,body\n1,x\n", "has no column 'text'; its header has 'n', 'body'"),
        ("text,text\n1,x\n", r"has 2 column\(s\) 'text'"),
        ('n,text\n1,"never closed\n' + "x" * 70_000_000, "begins in line 2: .*quotation mark"),
        ("n,text\n1,\n2,\n", "no row has a text"),
    ],
)
def test_delimited_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        text_of(path, "text")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_quotation_mark_that_is_not_closed_ends_the_run(tmp_path, name, end):
    from collections import Counter

    from wordvec_ca.text.delimited import cell_texts

    mark = "\t" if name.endswith("tsv") else ","
    closed = f'id{mark}text\n0{mark}"two\nlines"\n"1\n"{mark}"'  # the last mark is in line 5
    data = (closed + "".join(f"{i}{mark}words of row {i}\n" for i in range(20_000)) + f"end{end}").encode()
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "wb") as file:
        file.write(data)
    message = rf"{name}'?, line 5: a quotation mark opens there and is not closed .*; close it or"
    with pytest.raises(DataError, match=message):
        text_of(tmp_path / name, "text")
    with open(tmp_path / name, "rb") as stream, pytest.raises(DataError, match="line 5: a quotation mark"):
        text_of(stream, "text")
    for cut in (1, 7, 4096):
        pieces = [data[i : i + cut] for i in range(0, len(data), cut)]
        with pytest.raises(DataError, match=message):
            list(cell_texts(pieces, RecordTexts(["text"], name, Counter()), mark))
    with pytest.raises(DataError, match="x, line 1: a quotation mark"):
        list(cell_texts([b'text,"n\n', b"1,2\n"], RecordTexts(["text"], "x", Counter()), ","))
    assert list(cell_texts([closed.encode(), b'"'], RecordTexts(["text"], "x", Counter()), mark)) == [
        b"two\nlines\n"
    ]


def test_a_table_read_as_text_is_a_warning(tmp_path):
    write_csv(tmp_path / "a.csv")
    with pytest.warns(UserWarning, match="looks like CSV"):
        text_of(tmp_path / "a.csv")


def test_a_field_that_no_record_has_is_a_warning(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"text": 5}\n{"text": null}\n[]\n')
    with pytest.warns(UserWarning, match="no record has a text in the field 'body'"):
        found = text_of(tmp_path / "a.jsonl", ("text", "body"))
    assert found == (["x"], {"records": 4, "records without text": 1, "malformed records": 2})


# ---- columnar --------------------------------------------------------------------------------------------


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow")


def write_table(pa: Any, path: Path, kind: str, table: Any) -> None:
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, path, row_group_size=2)
    else:
        opened = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with opened(path, table.schema) as out:
            out.write_table(table, max_chunksize=2)


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
@pytest.mark.parametrize("type_", ["string", "large_string", "string_view", "binary", "dictionary"])
def test_columnar(pa, tmp_path, kind, type_):
    table = pa.Table.from_pylist(ROWS)
    if type_ == "dictionary":
        columns = [table["title"].dictionary_encode(), table["text"].dictionary_encode(), table["id"]]
    elif type_ == "string_view" and kind == "parquet":
        pytest.skip("Parquet has no such type")
    else:
        columns = [
            table["title"].cast(getattr(pa, type_)()),
            table["text"].cast(getattr(pa, type_)()),
            table["id"],
        ]
    path = tmp_path / "data"
    write_table(pa, path, kind, pa.table(columns, ["title", "text", "id"]))
    lines, records = text_of(path, "text")
    assert lines == ['She said "no",', "then left.", "Grüße, 世界", ""]
    assert records == {"records": 5, "records without text": 2}
    lines, records = text_of(path, ("text", "title"))
    assert lines == [
        'She said "no",', "then left.", "A title", "Grüße, 世界", "Alone", "", "Tabs\tand; marks|",
    ]  # fmt: skip
    assert records == {"records": 5, "records without text": 1}
    with open(path, "rb") as stream:
        assert text_of(stream, "title")[0] == ["A title", "Alone", "Tabs\tand; marks|"]


def test_the_only_column_of_text_needs_no_name(pa, tmp_path):
    write_table(pa, tmp_path / "one", "parquet", pa.table({"body": ["x", "y"], "n": [1, 2]}))
    assert text_of(tmp_path / "one")[0] == ["x", "y"]
    write_table(pa, tmp_path / "two", "parquet", pa.table({"body": ["x", "y"], "title": ["1", "2"]}))
    with pytest.raises(DataError, match=r"its columns of text are 'body', 'title'; .*field"):
        text_of(tmp_path / "two")


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_columnar_that_cannot_be_used(pa, tmp_path, kind):
    path = tmp_path / "data"
    table = pa.table({"text": ["a b c"] * 5_000, "n": range(5_000), "weights": [[0.5]] * 5_000})
    write_table(pa, path, kind, table)
    with pytest.raises(DataError, match=r"has no column.* 'body'; its columns of text are 'text'"):
        text_of(path, "body")
    with pytest.raises(DataError, match="the column 'n' holds int64, not text"):
        text_of(path, "n")
    with pytest.raises(DataError, match="the column 'weights' holds list<"):
        text_of(path, "weights")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"damaged|cut off"):
        text_of(path, "text")


def test_parquet_on_standard_input_is_refused(pa, tmp_path, monkeypatch):
    write_table(pa, tmp_path / "x", "parquet", pa.table({"text": ["x"]}))

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    with pytest.raises(DataError, match="give its path"):
        text_of(Pipe((tmp_path / "x").read_bytes()), "text")
    write_table(pa, tmp_path / "x", "stream", pa.table({"text": ["x", "y"]}))
    assert text_of(Pipe((tmp_path / "x").read_bytes()), "text")[0] == ["x", "y"]


def test_without_pyarrow(pa, tmp_path, monkeypatch):
    write_table(pa, tmp_path / "x", "parquet", pa.table({"text": ["x"]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match="pip install pyarrow"):
        text_of(tmp_path / "x", "text")


def save_dataset(pa: Any, folder: Path, texts: list[list[str]]) -> None:
    """Write what ``Dataset.save_to_disk`` writes."""
    folder.mkdir(parents=True)
    names = [f"data-{i:05}-of-{len(texts):05}.arrow" for i in range(len(texts))]
    for name, lines in zip(names, texts, strict=True):
        write_table(pa, folder / name, "stream", pa.table({"text": lines, "label": [0] * len(lines)}))
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "x", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text('{"description": "not a text"}')


def test_saved_datasets(pa, tmp_path):
    save_dataset(pa, tmp_path / "one", [["a b", "c"], ["d"]])
    vocab, stats = count_corpus(tmp_path / "one", TextOptions(field="text", min_count=1))
    assert sorted(vocab.words) == ["a", "b", "c", "d"]
    assert stats.records == {"records": 3}
    for split in ("train", "test"):
        save_dataset(pa, tmp_path / "dict" / split, [[split]])
    (tmp_path / "dict" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(DataError, match=r"the splits train, test; give those to read: .*dict/train"):
        find_files([tmp_path / "dict"])
    assert [Path(file).parent.name for file in find_files([tmp_path / "dict" / "train"])] == ["train"]


def test_a_real_saved_dataset(tmp_path):
    datasets = pytest.importorskip("datasets", reason="needs datasets: pip install datasets")
    made = datasets.Dataset.from_list(ROWS)
    made.save_to_disk(tmp_path / "saved")
    vocab, _ = count_corpus(tmp_path / "saved", TextOptions(field=("title", "text"), min_count=1))
    again, _ = count_corpus(made, TextOptions(field=("title", "text"), min_count=1))
    assert vocab == again


def test_python_objects(tmp_path):
    both = TextOptions(field=("title", "text"), min_count=1)
    rows = [*ROWS, {"text": 5}, "a line"]
    vocab, stats = count_corpus(rows, both)
    assert stats.records == {"records": 7, "records without text": 1, "malformed records": 2}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert count_corpus(tmp_path / "a.jsonl", both)[0] == vocab
    with encode_corpus(
        iter(ROWS), TextOptions(field="text", min_count=1), cache_dir=tmp_path / "c"
    ) as corpus:
        assert corpus.stats.sentences == 3
    with pytest.raises(DataError, match="with the texts 'title', 'text'; name those to read"):
        count_corpus(ROWS)
    with pytest.raises(DataError, match="no record has a text in the field 'body'"):
        count_corpus(ROWS, TextOptions(field="body"))
    with pytest.raises(ValueError, match="the same field twice"):
        TextOptions(field=("text", "text"))


def test_a_long_row_of_a_table_is_whole_or_refused(tmp_path):
    path = tmp_path / "a.csv"
    cell = f"{'x ' * 4_000_000}end"
    path.write_text("a,b,c\n" + ",".join([cell] * 3) + "\n")
    assert text_of(path, "b")[0] == [cell]
    path.write_text("a,b,c\n" + ",".join([cell] * 6) + "\n")
    with pytest.raises(DataError, match="line 2: it has a line of more than"):
        text_of(path, "b")
