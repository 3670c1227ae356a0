"""Files that people bring instead of plain text: nothing is read in silence that is not text."""

import gzip
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.files.kinds import KINDS, kind_of
from wordvec_ca.text.shapes import SHAPES, shape_of

SENTENCES = ["We saw the king .", "the cat sat on the mat .", "this is a small test of words ."]
COUNTS: dict[str, int] = {}
for _word in " ".join(SENTENCES * 9).lower().split():
    COUNTS[_word] = COUNTS.get(_word, 0) + 1
TAGS = {
    "king": "NN",
    "cat": "NN",
    "mat": "NN",
    "saw": "VBD",
    "sat": "VBD",
    "is": "VBZ",
    ".": "$.",
    "We": "PRP",
}


def columns(form: str, between: str = "\n", times: int = 9, header: str = "") -> str:
    rows = [
        "".join(
            form.format(n=n, w=word, t=TAGS.get(word, "DT")) + "\n" for n, word in enumerate(line.split(), 1)
        )
        for line in SENTENCES * times
    ]
    return header + between.join(rows)


def cues(form: str, header: str = "", more: str = "") -> str:
    return header + "".join(form.format(n=n, line=line) + more for n, line in enumerate(SENTENCES * 9, 1))


def archive(lines: Sequence[str], kind: str = "conversion", end: str = "\r\n") -> bytes:
    """Return an archive of the web in which every record is compressed for itself, as Common Crawl's are."""
    info = f"WARC/1.0{end}WARC-Type: warcinfo{end}Content-Length: 9{end}{end}software:{end}{end}"
    records = [info] + [
        f"WARC/1.0{end}WARC-Type: {kind}{end}WARC-Target-URI: http://a.org/{end}"
        f"Content-Length: {len(line.encode())}{end}{end}{line}{end}{end}"
        for line in lines
    ]
    return b"".join(gzip.compress(record.encode()) for record in records)


READ: dict[str, tuple[str | bytes, str]] = {
    "conll2003": (columns("{w} {t} B-NP O"), "0"),
    "docstart": (columns("{w} {t} B-NP O", header="-DOCSTART- -X- O O\n\n"), "0"),
    "ner": (columns("{w}\tB-{t}"), "0"),
    "treetagger": (columns("{w}\t{t}\tx", ""), "0"),
    "marked": (columns("{w}\t{t}\tx", "</s>\n<s>\n", header='<text id="1">\n<s>\n'), "0"),
    "windows": (columns("{w} {t}").replace("\n", "\r\n"), "0"),
    "conllu": (columns("{n}\t{w}\t{w}\t{t}\t_", header="# sent_id = 1\n# text = We saw\n"), "1"),
    "srt": (cues("{n}\n00:00:01,000 --> 00:00:01,900\n{line}\n\n"), "text"),
    "styled": (
        cues("{n}\n00:00:01,000 --> 00:00:01,900 X1:1\n<i>{line}</i>\n\n").replace("We", "{\\an8}We"),
        "text",
    ),
    "windows.srt": (cues("{n}\r\n00:00:01,000 --> 00:00:01,900\r\n{line}\r\n\r\n", "\ufeff"), "text"),
    "vtt": (
        cues("00:01.000 --> 00:01.900\n<v Ann>{line}\n\n", "WEBVTT\n\nNOTE not text\nat all\n\n"),
        "text",
    ),
    "wet.gz": (archive(SENTENCES * 9), "text"),
    "plain.wet.gz": (archive(SENTENCES * 9, end="\n"), "text"),
}


def counts_of(path: Path, **options: Any) -> dict[str, int]:
    vocab, _ = count_corpus(str(path), TextOptions(min_count=1, tokenizer="whitespace", **options))
    return dict(zip(vocab.words, vocab.counts.tolist(), strict=True))


@pytest.mark.parametrize("name", READ)
def test_what_holds_more_than_text_is_warned_of_and_read_by_a_field(tmp_path, name):
    content, field = READ[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.warns(UserWarning, match=f"field='{field}' reads"):
        assert counts_of(path) != COUNTS
    assert counts_of(path, field=field) == COUNTS
    with pytest.raises(DataError, match=f"field='{field}' reads"):
        counts_of(path, field="body")


def test_sentences_of_columns_and_cues_are_lines(tmp_path):
    for name in ("conll2003", "treetagger", "marked", "conllu", "vtt"):
        content, field = READ[name]
        (tmp_path / name).write_text(str(content))
        _, stats = count_corpus(str(tmp_path / name), TextOptions(min_count=1, field=field))
        assert stats.lines == stats.records["records"] == 27, name


def test_words_written_as_one_are_read_once(tmp_path):
    """In CoNLL-U, du has the number 1-2 and stands before de and le; 2.1 is a word that is not written."""
    (tmp_path / "a").write_text(
        "1-2\tdu\t_\t_\n1\tde\tde\tADP\n2\tle\tle\tDET\n2.1\t_\t_\tX\n3\tpain\tpain\tNOUN\n"
    )
    assert counts_of(tmp_path / "a", field="1") == {"du": 1, "pain": 1}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (" ".join(f"{w}_NN" for w in SENTENCES[1].split()) + "\n", "tags; remove them"),
        (" ".join(f"{w}/NN" for w in SENTENCES[1].split()) + "\n", "tags; remove them"),
        ("the_dt cat_nn sat_vbd on_in a_dt mat_nn\n" * 9, "tags; remove them"),
        ("(ROOT\n  (S (NP (DT the) (NN cat)) (VP (VBD sat))))\n" * 9, "trees in brackets"),
        ("( (S (NP-SBJ (NNP Pierre) (NNP Vinken)) (VP (MD will))))\n" * 9, "trees in brackets"),
    ],
)
def test_tags_and_brackets_are_warned_of(tmp_path, content, match):
    (tmp_path / "a.txt").write_text(content)
    with pytest.warns(UserWarning, match=match):
        counts_of(tmp_path / "a.txt")


VECTORS = b"".join(b"word%d 0.25 -1.5e-3 0 .5 -0.125\n" % n for n in range(6))
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (POINTER.encode(), "git lfs pull"),
        ("the cat\n".encode("utf-32"), "encoding='utf-32'"),
        ("the cat\n".encode("utf-16"), "encoding='utf-16'"),
        (archive(SENTENCES, "response"), "take those"),
        (VECTORS, "holds vectors"),
        (b"6 5\n" + VECTORS, "holds vectors"),
        (b"# Licence: CC0\n" + VECTORS, "holds vectors"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, match):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=match):
        counts_of(tmp_path / "a", field="text" if b"WARC" in gzip_content(content) else None)
    (tmp_path / "b").write_text("words\n")
    with pytest.raises(DataError):  # a folder is not read without the file
        counts_of(tmp_path, field="text" if b"WARC" in gzip_content(content) else None)


def gzip_content(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else b""


PLAIN = [
    "we saw the king\nthe cat sat\n" * 9,
    "the cat sat\nA dog ran\nThe dog sat\nit was me\nwe all saw\nthe end came\n",
    "sku12 sku7 sku9\nsku3 sku8 sku1\n" * 9,
    "u17\tA12\nu3\tA7\nu4\tA9\nu9\tA1\nu2\tA12\nu7\tA3\n",
    "the king\tder König\nthe cat\tdie Katze\n" * 9,
    "king\t17\ncat\t12\ndog\t9\nmat\t7\nend\t3\nsat\t2\n",
    "either/or and his_name\nand/or TCP/IP\n",
    "(A) first\n(B) second\n",
    "pi is 3.14 and e is 2.72\n" * 9,
    "at 3.5 4.0 2.5 m\nat 3.1 4.2 2.2 m\n" * 9,
    "1\n2\n3\n00:01 the cat\n",
    "12 --> 13\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_has_no_shape(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts_of(tmp_path / "a.txt")


def test_every_row_of_the_tables_recognises_its_sample():
    assert [kind_of(kind.sample) for kind in KINDS] == list(KINDS)
    assert [shape_of(shape.sample) for shape in SHAPES] == list(SHAPES)


# ---- tables ----------------------------------------------------------------------------------------------

TWEETS = "".join(
    f'"0","{n}","Mon Apr 06 2009","NO_QUERY","u{n}","{line}"\n' for n, line in enumerate(SENTENCES * 9)
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ""])
def test_columns_without_a_header_have_numbers(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_text(TWEETS.replace('","', '"\t"') if suffix == ".tsv" else TWEETS)
    assert counts_of(path, field="5") == COUNTS
    if suffix:
        with pytest.warns(UserWarning, match="field='5' reads"):
            counts_of(path)
        with pytest.raises(DataError, match=r"no column|no field"):
            counts_of(path, field="6")
    path.write_text("id,text\n" + "".join(f"{n},{line}\n" for n, line in enumerate(SENTENCES * 9)))
    if suffix == ".csv":
        with pytest.warns(UserWarning, match="names the columns"):
            assert counts_of(path, field="1") == COUNTS


def test_cells_of_a_table_may_be_json(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f'["the", "cat"]\tlabel {n}\n' for n in range(3)))
    assert counts_of(tmp_path / "a.tsv", field="0") == {"the": 3, "cat": 3}


def test_a_log_of_events_names_the_command(tmp_path):
    rows = "".join(f"{n},s{n // 3},sku A{n % 7}\n" for n in range(60))
    (tmp_path / "log.csv").write_text("timestamp,session_id,item_id\n" + rows)
    with pytest.warns(
        UserWarning, match="--for items --group-by session_id --order-by timestamp --field item_id"
    ):
        counts_of(tmp_path / "log.csv")
    (tmp_path / "b.csv").write_text(
        "date,user,article\n" + "".join(f"{n},u,{'the cat sat ' * 9}\n" for n in range(9))
    )
    with pytest.warns(UserWarning, match="field='article' reads"):
        counts_of(tmp_path / "b.csv")
