"""One definition of a line for every reader: it ends with \\n, \\r\\n or \\r."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordvec_ca.files import Lines, read_words, split_lines, whole_lines

ENDS = ("\n", "\r\n", "\r")


@given(text=st.text(st.sampled_from("ab\n\r\x0b\x0c\x85\u2028"), max_size=30), cut=st.integers(1, 9))
def test_lines_are_those_of_a_simple_rule_however_the_text_is_cut(text: str, cut: int) -> None:
    data = text.encode()
    pieces = [data[i : i + cut] for i in range(0, len(data), cut)]
    expected = re.split("\r\n|\n|\r", text)
    assert split_lines(text) == expected
    assert [line.decode() for line in whole_lines(pieces)] == (expected if expected[-1] else expected[:-1])


@pytest.mark.parametrize("end", ENDS)
def test_every_reader_of_lines_finds_the_same(tmp_path: Path, end: str) -> None:
    from wordvec_ca import Phrases
    from wordvec_ca.corpus import TextOptions, count_corpus
    from wordvec_ca.report.explorer.contents import read_classes
    from wordvec_ca.sentences import TextLines
    from wordvec_ca.text import TextFiles

    def file(*lines: str) -> str:
        (tmp_path / "file").write_text("".join(line + end for line in lines), newline="")
        return str(tmp_path / "file")

    assert count_corpus(file("a b", "c\u2028d", "", "e"), TextOptions(min_count=1))[1].lines == 4
    assert list(TextLines([file("a b", "c\u2028d", "", "e")])) == ["a b", "c\u2028d", "", "e"]
    assert [*Lines(file("a b", "c\u2028d", "", "e"))] == ["a b", "c\u2028d", "", "e"]
    assert Phrases.load(file("new york", "", "san francisco\t5")).sequences[1] == ("san", "francisco")
    assert read_classes(file("a\tx", "", "b\ty")) == {"a": "x", "b": "y"}
    words, counts = read_words(file("a\t3", "b\t2"))
    assert (words, counts.tolist()) == (["a", "b"], [3, 2])
    objects = TextFiles([file('{"text": "a"}', "", '{"text": "b"}')], "text")
    assert b"".join(objects.pieces()) == b"a\nb\n"


@pytest.mark.parametrize("tokenizer", ["words", "whitespace", "tests.files.test_lines:letters"])
def test_old_mac_text_has_lines_for_every_tokenizer(tmp_path: Path, tokenizer: str) -> None:
    from wordvec_ca.corpus import TextOptions, encode_corpus

    for name, end in zip("abc", ENDS, strict=True):
        (tmp_path / name).write_text(f"a b{end}b a{end}{end}a b", newline="")
    found = []
    for name in "abc":
        options = TextOptions(min_count=1, tokenizer=tokenizer, workers=1)
        with encode_corpus(str(tmp_path / name), options, cache_dir=tmp_path) as corpus:
            found.append(np.array(corpus.tokens).tolist())
    assert found[0] == found[1] == found[2] == [0, 1, -1, 1, 0, -1, 0, 1, -1]


def letters(line: str) -> list[str]:
    """Segment a line: what the test above names as a tokenizer."""
    return line.split()
