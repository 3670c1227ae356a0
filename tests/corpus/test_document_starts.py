"""Documents of several lines in an encoded text: each line keeps its document, however the text is read."""

import gzip
import json
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError
from wordvec_ca.corpus import encode_corpus, stream_corpus
from wordvec_ca.corpus.encode import EncodedCorpus
from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.errors import OptionError
from wordvec_ca.text import Documents


def documents(n: int = 60) -> list[list[str]]:
    """Return documents whose lines name them: w7 is in the 8th document; some have only rare words."""
    rng = np.random.default_rng(0)
    found = []
    for number in range(n):
        lines = []
        for _ in range(rng.integers(1, 8)):
            own = f"w{number} " * int(rng.integers(2, 6))
            lines.append(str(rng.choice([own, f"rare{rng.integers(10**9)}", f"{own}common " + own])))
        found.append([f"only{number} unlike{number} others{number}"] if number % 11 == 3 else lines)
    found[8] = ["w8 " * 25_000, "w8 w8"]
    return found


def check(encoded: EncodedCorpus, named: dict[int, int] | None = None) -> None:
    """Compare the document of each line with the word that names it."""
    tokens, starts = np.array(encoded.tokens), encoded.starts
    assert starts is not None
    ends = np.flatnonzero(tokens < 0) + 1
    begins = np.append(0, ends[:-1])
    names = [int(encoded.vocab.words[tokens[begin]][1:]) for begin in begins]
    same = dict(zip(starts.of(begins).tolist(), names, strict=True))
    assert len(same) == len(set(names)) == starts.n
    assert [same[number] for number in starts.of(begins).tolist()] == names
    assert set(starts.starts.tolist()) <= set(begins.tolist())


@pytest.mark.parametrize("options", [{}, {"block_bytes": 300, "workers": 3}, {"tokenizer": "whitespace"}])
def test_each_line_keeps_its_document_and_ids_are_those_of_the_plain_text(tmp_path, options):
    text = documents()
    blank = tmp_path / "blank.txt"
    blank.write_text("\n\n".join("\r\n".join(lines) for lines in text) + "\n \n")
    plain = encode_corpus(blank, TextOptions(min_count=2, **options), cache_dir=tmp_path / "p")
    assert plain.starts is None
    given: list[tuple[Any, str | None]] = [(blank, "blank-lines"), (Documents(text), None)]
    given += [(Documents([[line.split() for line in lines] for lines in text]), None)]
    for number, (corpus, group_by) in enumerate(given):
        read = TextOptions(min_count=2, group_by=group_by, **options)
        encoded = encode_corpus(corpus, read, cache_dir=tmp_path / str(number))
        np.testing.assert_array_equal(encoded.tokens, plain.tokens)
        check(encoded)
        assert encoded.fingerprint.startswith(plain.fingerprint)


def test_records_of_one_value_are_one_document_wherever_they_are(tmp_path):
    records = [
        {"meta": 1, "author": number, "text": line}
        for number, lines in enumerate(documents(20))
        for line in lines
    ]
    order = np.random.default_rng(1).permutation(len(records))
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps(records[i]) for i in order))
    options = TextOptions(min_count=2, field="text", group_by="author")
    encoded = encode_corpus(path, options, cache_dir=tmp_path / "c", keep=True)
    check(encoded)
    assert encoded.starts is not None
    assert len(encoded.starts.starts) > encoded.starts.n
    again = encode_corpus(path, options, cache_dir=tmp_path / "c", keep=True)
    assert again.reused
    assert again.fingerprint == encoded.fingerprint
    damaged = tmp_path / "c" / "documents.i64"
    content = bytearray(damaged.read_bytes())
    content[8] ^= 1
    damaged.write_bytes(content)
    mended = encode_corpus(path, options, cache_dir=tmp_path / "c", keep=True)
    assert not mended.reused
    assert mended.fingerprint == encoded.fingerprint
    other = encode_corpus(path, TextOptions(min_count=2, field="text"), cache_dir=tmp_path / "c", keep=True)
    assert "group_by was 'author'" in other.reason
    assert other.starts is None


def test_all_files_of_records_give_the_same_documents(tmp_path):
    records: list[dict[str, Any]] = [
        {"text": "a b\nc", "author": 1}, {"text": None, "author": 1}, {"text": "d", "author": 2},
        {"text": "e", "author": 1},
    ]  # fmt: skip
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "plain.jsonl").write_text(lines)
    (tmp_path / "array.json").write_text(json.dumps(records))
    (tmp_path / "wide.tsv").write_text('author\ttext\n1\t"a b\nc"\n1\t\n2\td\n1\te\n', encoding="utf-16")
    (tmp_path / "damaged.jsonl.gz").write_bytes(gzip.compress((lines + "{\n" + '{"text": "x"}\n').encode()))
    with suppress(ImportError):
        from pyarrow import Table, parquet

        parquet.write_table(Table.from_pylist(records), tmp_path / "table.parquet")
    for path in sorted(tmp_path.iterdir()):
        encoding = "utf-16" if path.name == "wide.tsv" else None
        with pytest.warns(UserWarning, match="2 of 6") if "damaged" in path.name else nullcontext():
            found = list(Documents(path, "author", field="text", encoding=encoding))
        assert found == [["a b", "c", "e"], ["d"]], path.name
        with pytest.raises(DataError, match=r"no (column|field).*'writer'"):
            list(Documents(path, "writer", field="text", encoding=encoding))


def test_files_and_ranges_of_lines_are_documents(tmp_path):
    text = [lines for number, lines in enumerate(documents(12)) if number != 3]
    for number, lines in enumerate(text):
        (tmp_path / f"{number:02}.txt").write_text("\n".join(lines))
    options = TextOptions(min_count=2, group_by="files")
    check(encode_corpus(str(tmp_path / "*.txt"), options, cache_dir=tmp_path / "c"))
    (tmp_path / "three").write_text("".join(f"w{n} w{n}\n\nw{n}\n" for n in range(40)))
    options = TextOptions(min_count=1, group_by="lines:3")
    check(encode_corpus(tmp_path / "three", options, cache_dir=tmp_path / "c"))


def test_what_cannot_be_documents_is_refused(tmp_path):
    for wrong in (
        {"group_by": "lines:0"},
        {"group_by": "files:2"},
        {"group_by": "author"},
        {"group_by": "files", "field": "text"},
    ):
        with pytest.raises(OptionError, match="group_by"):
            TextOptions(**wrong)
    with pytest.raises(OptionError, match="which is for files"):
        encode_corpus([["a"]], TextOptions(group_by="files"), cache_dir=tmp_path)
    with pytest.raises(DataError, match="encode it"):
        stream_corpus(Documents([["a b"]]))
    (tmp_path / "empty.txt").touch()
    with pytest.raises(DataError, match=r"no text in 1 file.*empty\.txt"):
        encode_corpus(tmp_path / "empty.txt", TextOptions(group_by="lines:2"), cache_dir=tmp_path)
    latin = tmp_path / "latin.txt"
    latin.write_bytes(b"caf\xe9 au lait\n" * 3 + b"plain words here\n" * 500)
    with pytest.raises(DataError, match="line 1 is not UTF-8"):
        list(Documents(latin, "files"))
    assert next(iter(Documents(latin, "files", encoding="latin1")))[0] == "café au lait"


def test_a_model_of_documents_takes_no_groups_and_cells_may_be_long(tmp_path):
    with pytest.raises(DataError, match="takes each line"):
        encode_corpus(Documents(documents()), TextOptions(documents=True), cache_dir=tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("author,text\n" + "".join(f"a{n},{'word ' * 30_000}\n" for n in range(12)))
    encoded = encode_corpus(
        table, TextOptions(min_count=1, field="text", group_by="author"), cache_dir=tmp_path
    )
    assert encoded.starts is not None
    assert encoded.starts.n == 12
