"""How a file of vectors is recognised: damaged text is still read as text, and the error names the line."""

import struct

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.formats import detect_format

GOOD = ["the 0.5 -0.25 1e-3", "wörd -1.5 2.25 0.125", "of 3 4 5.5"]


def comma(line: str) -> str:
    return line.replace(".", ",")


WRONG = {
    "decimal comma": ([comma(line) for line in GOOD], 2, "'0,5' is not a number: decimal comma?"),
    "decimal comma later": ([*GOOD[:2], "of 1,5 2,5 3"], 4, "'1,5' is not a number: decimal comma?"),
    "decimal comma with exponent": (["a 1,5e-3 2 3", *GOOD[1:]], 2, "'1,5e-3' is not a number"),
    "blank line": (["", *GOOD[:2]], 2, "the line is blank"),
    "blank line of spaces": (["  \t", *GOOD[:2]], 2, "the line is blank"),
    "blank line later": ([GOOD[0], "", GOOD[1]], 3, "the line is blank"),
    "blank line in the middle": ([*GOOD[:2], " ", GOOD[2]], 4, "the line is blank"),
    "minus of Unicode": (["the −0.5 1 2", *GOOD[1:]], 2, "'−0.5' is not a number: its minus"),
    "sparse": (["the 0:0.5 7:-1", "of 1:2", "a 3:1e-4"], 2, r"column:value pairs \(sparse vectors\) are not"),
    "sparse later": ([*GOOD[:2], "a 0:1 1:2 2:3"], 4, r"column:value pairs \(sparse vectors\) are not read"),
    "few numbers": (["the 1 2", *GOOD[1:]], 2, "found only 3 fields"),
    "one word": (["the", *GOOD[1:]], 2, "found only 1 fields"),
    "no number": (["the 1 x 3", *GOOD[1:]], 2, "'x' is not a number"),
    "commas": (["the,0.5,1.5,2.5", *GOOD[1:]], 2, "separated by commas, not by spaces"),
    "semicolons": (["the;0,5;1,5;2,5", *GOOD[1:]], 2, "separated by semicolons, not by spaces"),
}


@pytest.mark.parametrize(("lines", "number", "why"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_text_is_text_and_the_line_is_named(lines, number, why, ends, tmp_path):
    path = tmp_path / "v"
    path.write_bytes(ends.join(["3 3", *lines, ""]).encode())
    assert detect_format(path) == "word2vec"
    with pytest.raises(DataError, match=rf"v, line {number}: .*{why}") as caught:
        KeyedVectors.load(path)
    assert "cut" not in str(caught.value)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("the 0,5 0,25 1,5", "line 1: '0,5' is not a number: decimal comma"),
        ("the 0:0.5 7:-1", r"line 1: column:value pairs \(sparse"),
        ("", "line 1: the line is blank"),
        ("the,0.5,1.5,2.5", "line 1: numbers are separated by commas"),
    ],
)
def test_a_wrong_kind_of_line_without_a_header_is_named(first, why, tmp_path):
    (tmp_path / "v").write_text("\n".join([first, *GOOD]))
    with pytest.raises(DataError, match=why):
        KeyedVectors.load(tmp_path / "v")


@pytest.mark.parametrize("header", [["4 300"], ["3 100000"], ["200000 7"]])
def test_a_wrong_size_in_the_header_is_no_cut_off_file(header, tmp_path):
    (tmp_path / "v").write_text("\n".join([*header, *GOOD, ""]))
    with pytest.raises(DataError, match=r"line 2: expected a word and .* the vector size is wrong"):
        KeyedVectors.load(tmp_path / "v")


@pytest.mark.parametrize("header", [["3 3"], []])
def test_lines_that_end_with_carriage_returns_are_named(header, tmp_path):
    (tmp_path / "v").write_bytes("\r".join([*header, *GOOD, ""]).encode())
    for form in ("auto", "word2vec" if header else "glove"):
        with pytest.raises(DataError, match=r"end with carriage returns alone.*tr '\\r' '\\n'"):
            KeyedVectors.load(tmp_path / "v", format=form)


@pytest.mark.parametrize("header", [["3 3"], []])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_mark_at_the_beginning_is_no_part_of_a_word(header, ends, tmp_path):
    (tmp_path / "v").write_bytes(b"\xef\xbb\xbf" + ends.join([*header, *GOOD, ""]).encode())
    assert KeyedVectors.load(tmp_path / "v").index_to_key == ["the", "wörd", "of"]


def test_small_binary_files_stay_binary(tmp_path):
    rng = np.random.default_rng(1)
    for n in range(1, 6):
        for size in (1, 2, 3, 8):
            vectors = KeyedVectors([f"wörd{i}" for i in range(n)], rng.normal(size=(n, size)))
            vectors.save(tmp_path / "v.bin", format="word2vec-binary", overwrite=True)
            if n * size > 2:
                assert detect_format(tmp_path / "v.bin") == "word2vec-binary"
    whole = (b"2 3\n" + b"a " + struct.pack("<3f", 0.1, -2, 3) + b"\nb " + struct.pack("<3f", 4, 5, 6))[:-3]
    (tmp_path / "v.bin").write_bytes(whole)
    with pytest.raises(DataError, match="cut off"):
        KeyedVectors.load(tmp_path / "v.bin")


def test_vectors_in_utf_16_are_named(tmp_path):
    (tmp_path / "v").write_text("\n".join(["3 3", *GOOD, ""]), "utf-16")
    with pytest.raises(DataError, match="v is in UTF-16; convert it: iconv"):
        KeyedVectors.load(tmp_path / "v")


@pytest.mark.parametrize("kept", [9, 100])
def test_safetensors_cut_off_within_the_header_are_named(kept, tmp_path):
    KeyedVectors(["a", "b"], np.eye(2, dtype=np.float32)).save(tmp_path / "v.safetensors")
    (tmp_path / "v").write_bytes((tmp_path / "v.safetensors").read_bytes()[:kept])
    with pytest.raises(DataError, match=r"begins as a safetensors file .* it is cut off"):
        KeyedVectors.load(tmp_path / "v")
