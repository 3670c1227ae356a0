"""Text in other encodings: it is refused, or read when the encoding is named, and nothing is lost."""

import gzip
import io
import re
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.text import TextFiles, check_encoding
from wordvec_ca.text.encodings import decoded, encoding_advice, from_utf8, in_utf8, likely_encodings

GERMAN = "Über den schönen Straßen von Köln wächst grünes Gras, und die Bäume blühen für alle.\n"
ENGLISH = "the quick brown fox jumps over the lazy dog and sleeps all day\n"


def read(data: bytes, **options: str) -> str:
    return b"".join(TextFiles([io.BytesIO(data)], **options).pieces()).decode("utf-8")  # type: ignore[arg-type]


def test_another_encoding_ends_the_run_before_training_and_is_named(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(GERMAN.encode("cp1252") * 2_000)
    with pytest.raises(DataError, match=r"iconv -f CP1252.*encoding='cp1252'") as refused:
        count_corpus(path)
    assert "corpus.txt" in str(refused.value)
    _, stats = count_corpus(path, TextOptions(encoding="windows-1252"))
    assert stats.repaired_utf8 == 0
    vocab, _ = count_corpus(path, TextOptions(encoding="cp1252", min_count=1))
    assert {"über", "straßen", "köln"} <= set(vocab.words)


def test_few_undecodable_sequences_are_a_warning_with_their_place(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(ENGLISH.encode() * 999 + b"caf\xe9 au lait\n" + ENGLISH.encode() * 1_000)
    with pytest.warns(UserWarning, match=r"1 sequences .*not UTF-8.*the first in .*corpus.txt', line 1000"):
        _, stats = count_corpus(path)
    assert stats.repaired_utf8 == 1


def test_damage_behind_the_first_pages_is_refused_too(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(ENGLISH.encode() * 30_000 + GERMAN.encode("cp1252") * 20_000)
    with pytest.raises(DataError, match=r"the corpus is not UTF-8.*cp1252"):
        count_corpus(path)


def test_damage_in_the_first_page_of_a_good_file_is_no_other_encoding(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"\xe9t\xe9 " * 60 + b"\n" + ENGLISH.encode() * 30_000)
    with pytest.warns(UserWarning, match="120 sequences"):
        count_corpus(path)


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-32", "gb18030", "shift_jis", "koi8_r", "latin-1"]
)
def test_any_encoding_is_read(encoding):
    text = {"gb18030": "我们 喜欢\n", "shift_jis": "東京 に 行く\n", "koi8_r": "обычный текст\n"}.get(
        encoding, "été\n"
    )
    assert read((text * 5_000).encode(encoding), encoding=encoding) == text * 5_000


def test_utf16_says_what_to_give(tmp_path):
    path = tmp_path / "notepad.txt"
    path.write_bytes(GERMAN.encode("utf-16"))
    with pytest.raises(DataError, match="encoding='utf-16'"):
        count_corpus(path)
    assert read(path.read_bytes(), encoding="utf-16") == GERMAN


@pytest.mark.parametrize("name", ["klingon", "rot13", "hex", "punycode", "unicode_escape", ""])
def test_what_is_no_encoding_of_text(name):
    with pytest.raises(ValueError, match=r"encoding .*; give one"):
        check_encoding(name)


def test_a_wrong_encoding_that_was_given_is_refused(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(GERMAN * 500, "utf-8")
    with pytest.raises(DataError, match="not ascii"):
        count_corpus(path, TextOptions(encoding="ascii"))


@given(
    text=st.text(),
    cuts=st.lists(st.integers(1, 9), min_size=1),
    name=st.sampled_from(["utf-16", "utf-32-be"]),
)
def test_a_piece_may_end_within_a_character(text, cuts, name):
    text = text.encode("utf-8", "ignore").decode()
    data = text.encode(name)
    pieces = []
    while data:
        cut = cuts[len(pieces) % len(cuts)]
        pieces.append(data[:cut])
        data = data[cut:]
    assert b"".join(decoded(pieces, name, "x")).decode() == text


@given(st.binary(max_size=60))
def test_undecodable_sequences_stay_as_many(data):
    repaired = data.decode("utf-8", "replace")
    assert in_utf8(from_utf8(data)).decode("utf-8", "replace") == repaired


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Съешь же ещё этих мягких французских булок да выпей чаю. ", "koi8_r"), (GERMAN, "cp1252")],
)
def test_the_likely_encoding(text, encoding):
    assert likely_encodings(text.encode(encoding) * 20) == [encoding]


def test_the_encoding_of_a_sentence_of_each_of_twelve_languages():
    missed: Counter[str] = Counter()
    lines = (Path(__file__).parent / "sentences_of_languages.tsv").read_text(encoding="utf-8").splitlines()
    for language, encoding, sentence in (line.split("\t") for line in lines):
        data = sentence.encode(encoding)
        missed[language] += sentence not in {data.decode(name, "replace") for name in likely_encodings(data)}
    assert len(missed) == 12
    assert max(missed.values()) <= 1, missed


def test_of_two_likely_encodings_both_are_named_with_the_line_that_tells_them_apart():
    text = "Kaupungin keskellä on tori, jossa myydään kalaa.\nSe on vanha, ja nyt se on auki.\n"
    data = text.encode("cp1252") * 20  # õ, which is at the same place in cp850, is a letter of Estonian
    one, other = likely_encodings(data)
    assert "cp1252" in (one, other)
    said = str(DataError(*encoding_advice(data, None)))
    assert {f"encoding='{one}'", f"encoding='{other}'"} <= set(re.findall(r"encoding='\w+'", said))
    assert all(data.decode(name).splitlines()[0] in said for name in (one, other))


def test_json_lines_count_what_they_cannot_decode(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"text": "' + ENGLISH.strip().encode() + b'"}\n' * 1 + b'{"text": "caf\xe9"}\n')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, stats = count_corpus(path, TextOptions(field="text", min_count=1))
    assert stats.repaired_utf8 == 1
    assert any("not UTF-8" in str(w.message) for w in caught)


def test_all_files_of_a_folder_in_another_encoding_are_named(tmp_path):
    text = "dès l’été, à Noël, où ça plaît, naïve façon — déjà vu\n" * 30
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    for name in ("b.txt", "d.txt"):
        (tmp_path / name).write_text(text, encoding="cp1252")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(text.encode("cp1252")))
    said = r"b\.txt.* not UTF-8.*So are others: .*c\.txt\.gz' .*cp125.*d\.txt'"
    with pytest.raises(DataError, match=said) as error:
        count_corpus(str(tmp_path))
    assert "a.txt" not in str(error.value)


@pytest.mark.parametrize("encoding", ["cp1252", "koi8_r", "latin-1"])
def test_utf8_that_is_read_in_another_encoding_is_a_warning(tmp_path, encoding):
    (tmp_path / "a").write_text("un café fermé\n" * 20, encoding="utf-8")
    with pytest.warns(
        UserWarning, match=f"is UTF-8, as it seems, and is read as {encoding}; leave out encoding"
    ):
        count_corpus(str(tmp_path / "a"), TextOptions(encoding=encoding))
    (tmp_path / "b").write_text("un cafe ferme\n" * 20)
    if encoding != "koi8_r":
        (tmp_path / "b").write_text("un café fermé\n" * 20, encoding=encoding)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count_corpus(str(tmp_path / "b"), TextOptions(encoding=encoding))
