"""Structured files and objects: lists of words are read, columns need a name, everything else is refused."""

import json
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.text import TextFiles
from wordvec_ca.text.records import RecordTexts
from wordvec_ca.text.word_lists import written_list

SENTENCES = [["The", "cat", "don't", "sit"], ["3.5", "new_york", "café"]] * 30
COUNTS = {word: 30 for sentence in SENTENCES[:2] for word in sentence}


def lists(form: Any = json.dumps) -> str:
    return "".join(form(sentence) + "\n" for sentence in SENTENCES)


def objects(form: Any = list, **more: Any) -> str:
    return "".join(json.dumps({"id": i, "tokens": form(s), **more}) + "\n" for i, s in enumerate(SENTENCES))


def csv_of(form: Any) -> str:
    quoted = (form(sentence).replace('"', '""') for sentence in SENTENCES)
    return "id,tokens\n" + "".join(f'{i},"{cell}"\n' for i, cell in enumerate(quoted))


def numpy_repr(sentence: list[str]) -> str:
    return str(np.array(sentence, dtype=object))


READ = {
    "lists.jsonl": (lists(), None),
    "lists.txt": (lists(str), None),  # Python's repr
    "tuples.txt": (lists(lambda sentence: str(tuple(sentence))), None),
    "arrays.txt": (lists(numpy_repr), None),
    "mac.jsonl": (lists().replace("\n", "\r"), None),
    "array.json": (json.dumps(SENTENCES, indent=1), None),
    "line.json": (json.dumps(SENTENCES), None),
    "nested.jsonl": ("".join(json.dumps(SENTENCES[i : i + 3]) + "\n" for i in range(0, 60, 3)), None),
    "objects.jsonl": (objects(), "tokens"),
    "objects-mac.jsonl": (objects().replace("\n", "\r"), "tokens"),
    "written.jsonl": (objects(str), "tokens"),
    "deep.jsonl": (objects(lambda s: {"words": s}), "tokens.words"),
    "objects.json": (json.dumps([{"tokens": s} for s in SENTENCES], indent=2), "tokens"),
    "python.csv": (csv_of(str), "tokens"),
    "json.csv": (csv_of(json.dumps), "tokens"),
    "numpy.csv": (csv_of(numpy_repr), "tokens"),
    "python.tsv": (csv_of(str).replace(",", "\t", 1).replace(',"', '\t"'), "tokens"),
}


@pytest.mark.parametrize("name", READ)
def test_lists_of_words_are_read_as_tokens(tmp_path, name):
    content, field = READ[name]
    (tmp_path / name).write_text(content, newline="")
    vocab, stats = count_corpus(str(tmp_path / name), TextOptions(field=field, min_count=1))
    assert dict(zip(vocab.words, vocab.counts.tolist(), strict=True)) == COUNTS
    assert stats.lines == stats.records["records"] == 60 or name == "nested.jsonl"


@pytest.mark.parametrize("cut", [1, 2, 7, 1000])
def test_arrays_are_read_however_they_are_cut(cut):
    from collections import Counter

    from wordvec_ca.text.json_records import array_texts, list_lines

    for content, read in (
        (json.dumps(SENTENCES, indent=1, ensure_ascii=False), array_texts),
        (lists(), list_lines),
    ):
        data = content.encode()
        pieces = [data[i : i + cut] for i in range(0, len(data), cut)]
        texts = RecordTexts((), "x", Counter())
        assert [line.decode().split() for line in read(iter(pieces), texts)] == SENTENCES


REFUSED = {
    "numbers.jsonl": (
        '{"id": 1, "size": 2}\n' * 3,
        None,
        "hold no text.*'id' .int., 'size' .int.*none holds",
    ),
    "tokens.jsonl": (objects(), None, "'tokens' .list.*field='tokens' reads"),
    "deep.jsonl": (objects(lambda s: {"words": s}), None, "field='tokens.words' reads"),
    "pretty.json": (json.dumps({"text": "a b c"}, indent=1), None, "over many lines.*jq -c"),
    "array.json": (json.dumps([{"text": "a b c"}] * 9), None, "array of objects.*field='text' reads"),
    "pretty-array.json": (
        json.dumps([{"body": "a b"}] * 9, indent=1),
        None,
        "array of objects.*field='body'",
    ),
    "texts.json": (json.dumps(["a b", "c d"], indent=1), None, 'first element is "a b", a str'),
    "floats.jsonl": ("[0.5, 0.25]\n" * 4, None, "not lists of words"),
    "pairs.txt": ("[('the', 'DT'), ('cat', 'NN')]\n" * 4, None, "not lists of words"),
    "dicts.txt": ("{'text': 'a b'}\n" * 4, None, "lists or dicts that were written out"),
    "long.csv": ("tokens\n\"['a' 'b' ... 'y' 'z']\"\n", "tokens", "written out as text, which are not lists"),
    "sentences.jsonl": ('{"tokens": ["The cat sat.", "It ran."]}\n' * 3, "tokens", "has white space"),
    "cut.json": (json.dumps([{"text": "a b c"}] * 9)[:-20], "text", "damaged, cut off"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_structure_that_is_no_text_is_refused(tmp_path, name):
    content, field, message = REFUSED[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        count_corpus(str(tmp_path / name), TextOptions(field=field, min_count=1))


@pytest.mark.parametrize("line", ['["a", null]', '["a", 0.5]', '["a", ["b"]]', '["two words"]', "[]"])
def test_a_list_of_something_else_among_lists_of_words_is_reported(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(f"{line}\n{lists()}")
    if line == "[]":
        vocab, _ = count_corpus(str(tmp_path / "a.jsonl"), TextOptions(min_count=1))
    else:
        with pytest.warns(UserWarning, match="line 1 is not a list of words"):
            vocab, _ = count_corpus(str(tmp_path / "a.jsonl"), TextOptions(min_count=1))
    assert dict(zip(vocab.words, vocab.counts.tolist(), strict=True)) == COUNTS


def test_strings_of_json_are_warned_of(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(" ".join(s)) + "\n" for s in SENTENCES))
    with pytest.warns(UserWarning, match="has a JSON string in each line.*jq -r"):
        count_corpus(str(tmp_path / "a.jsonl"), TextOptions(min_count=1))


MARKED = {
    "xml": "<?xml version='1.0'?>\n<doc>\n<s>the cat</s>\n</doc>\n",
    "html": "<!DOCTYPE html>\n<html><body><p>the cat</p></body></html>\n",
    "extracted": '<doc id="1" url="x">\nthe cat sat\n</doc>\n',
    "vertical": "<s>\nthe\tDT\tthe\ncat\tNN\tcat\n</s>\n",
    "conllu": "# text = the cat\n1\tthe\tthe\tDET\t_\n2-3\tcat\tcat\tNOUN\t_\n\n1\tcat\tcat\tNOUN\t_\n",
}


@pytest.mark.parametrize("name", MARKED)
def test_markup_and_annotations_are_warned_of(tmp_path, name):
    (tmp_path / "a.txt").write_text(MARKED[name] * 9)
    with pytest.warns(UserWarning, match="is read as plain text,? with (its tags|all columns)"):
        count_corpus(str(tmp_path / "a.txt"), TextOptions(min_count=1))


PLAIN = [
    "[Music] and then\n[Applause] more\n",
    "[[Anarchism]] is a\npolitical philosophy\n",
    '["Quoted" words] at the start\nnext line\n',
    "(a) first\n(b) second\n",
    "{ braces } of code\n",
    "[1] A reference, 1999.\n[2] Another one.\n",
    "<3 you\n<b>bold</b> later\n",
    "<unk> is a word\nas in models of language\n",
    "1\tthe cat sat\t0\t1\n2\tit ran\t0\t1\n",
    "1\t2\t3\n2\t3\t1\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_text_with_brackets_is_text(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    assert b"".join(TextFiles([str(tmp_path / "a.txt")]).pieces()).decode() == text


def test_what_is_no_word_in_a_list_is_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('["a", "b"]\n' * 9000 + '["c", null]\n["", "d", 7]\n[]\nnot a list\n')
    with pytest.warns(UserWarning, match="2 of 9,004 records left out as malformed; the first: line 9001"):
        _, stats = count_corpus(str(path), TextOptions(min_count=1))
    assert stats.records == {"records": 9004, "malformed records": 2}


def test_written_lists():
    assert written_list("['it', \"isn't\", 'a \\\\ b']") is None  # refused: a word has white space in it
    assert written_list("""['it', "isn't", '\\\\', 3]""") == ["it", "isn't", "\\", "3"]
    assert written_list("['a' 'b'\n 'c']") == ["a", "b", "c"]
    assert written_list("['a' 'b', 'c']") is None
    assert written_list("('a')") is None
    assert written_list("('a',)") == ["a"]
    assert written_list("[]") == []
    assert written_list("[1, 2]") == ["1", "2"]
    for text in ("[a, b]", "['a'", "a", "", "[True]", "[0.5]", "[[1]]", "['a'b']"):
        assert written_list(text) is None, text


# ---- Python objects --------------------------------------------------------------------------------------


def counts_of(corpus: Any, field: Any = None) -> dict[str, int]:
    vocab, _ = count_corpus(corpus, TextOptions(field=field, min_count=1))
    return dict(zip(vocab.words, vocab.counts.tolist(), strict=True))


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a b", None, "a c"], "tokens": [["A", "b"], ["A"], None], "n": 1})
    assert counts_of(frame, "text") == {"a": 2, "b": 1, "c": 1}
    assert counts_of(frame, "tokens") == {"A": 2, "b": 1}
    assert counts_of(frame["text"].dropna()) == {"a": 2, "b": 1, "c": 1}
    with pytest.raises(DataError, match=r"is a DataFrame; its columns are 'text', 'tokens', 'n'"):
        counts_of(frame)
    with pytest.raises(DataError, match=r"has no column.s. 'body'"):
        counts_of(frame, "body")
    with pytest.raises(DataError, match=r"no record has a text in the field 'n'.*is a int"):
        counts_of(frame, "n")


def test_arrow_data_in_memory():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {"text": ["a b", None], "tokens": [["A", "b"], [None]], "ids": [[1, 2], [1]], "n": [0.5, 1]}
    )
    assert counts_of(table, "text") == {"a": 1, "b": 1}
    assert counts_of(table["tokens"].slice(0, 1)) == {"A": 1, "b": 1}
    assert counts_of(table["text"].drop_null()) == {"a": 1, "b": 1}
    assert counts_of(table, "ids") == {"1": 2, "2": 1}
    assert counts_of(table.to_batches()[0], ("text", "ids")) == {"1": 2, "2": 1, "a": 1, "b": 1}
    assert counts_of(table.to_reader(), "ids") == {"1": 2, "2": 1}
    with pytest.warns(UserWarning, match="1 of 2 records left out"):
        assert counts_of(table, "tokens") == {"A": 1, "b": 1}
    with pytest.raises(DataError, match="lists of words 'tokens', 'ids'"):
        counts_of(table, "n")


def test_lists_in_parquet_and_arrow_files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"tokens": SENTENCES, "n": [1.0] * 60})
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(pa.table({"text": [str(s) for s in SENTENCES]}), tmp_path / "b.parquet")
    with pa.ipc.new_stream(tmp_path / "c.arrow", table.schema) as out:
        out.write_table(table, max_chunksize=7)
    for name in ("a.parquet", "b.parquet", "c.arrow"):
        assert counts_of(str(tmp_path / name)) == COUNTS


def test_integers_are_their_decimal_form():
    assert counts_of([[10, "a", 10], [np.int64(7)]]) == {"10": 2, "7": 1, "a": 1}
    assert counts_of(np.arange(6).reshape(2, 3)) == {str(i): 1 for i in range(6)}
    assert counts_of([{"ids": [1, 2]}], "ids") == {"1": 1, "2": 1}
    for bad in ([["a", True]], [["a", 0.5]], [["a", ["b"]]], [{"a": 1}], [["a"], {"a": 1}]):
        with pytest.raises(DataError, match=r"must be str or int|list of words|name those to read"):
            counts_of(bad)


def test_the_drop_in_reads_columns_and_refuses_records():
    from wordvec_ca.gensim.models import Word2Vec

    def words(sentences):
        return sorted(Word2Vec(sentences, vector_size=4, min_count=1, workers=1, epochs=1).wv.index_to_key)

    with pytest.raises(DataError, match="keys 'title', 'text'"):
        words([{"title": "A", "text": "the cat"}] * 9)
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"tokens": [["a", "b"], ["b", "c"]] * 9, "ids": [[1, 2]] * 18})
    assert words(table["tokens"]) == ["a", "b", "c"]
    assert words(list(table["tokens"])) == ["a", "b", "c"]
    assert words(table["ids"]) == [1, 2]
    frame = table.to_pandas()
    assert words(frame["tokens"]) == ["a", "b", "c"]
    for whole in (table, frame):
        with pytest.raises(TypeError, match="names of the columns"):
            words(whole)


def test_sentences_are_read_in_the_same_way(tmp_path):
    from wordvec_ca.sentences import TextLines

    (tmp_path / "a.jsonl").write_text(lists())
    assert list(TextLines([str(tmp_path / "a.jsonl")])) == SENTENCES
