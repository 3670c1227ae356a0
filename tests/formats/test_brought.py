"""Files of vectors as other programs leave them: pandas' tables, comments on top, words in base64."""

import base64
import warnings

import numpy as np
import pytest

from wordvec_ca import DataError
from wordvec_ca.formats import read_vectors

WORDS = ["king", "queen", "#", "é"]
VECTORS = np.array([[0.25, -0.5, 1], [0.125, 2, -1], [0, 1, 0.5], [3, -2, 0.75]], np.float32)


def lines(between: str = " ", words: list[str] = WORDS) -> str:
    return "".join(between.join([w, *map(str, row)]) + "\n" for w, row in zip(words, VECTORS, strict=True))


def table(between: str, name: str = "", first: int = 0) -> str:
    return between.join([name, *map(str, range(first, first + 3))]) + "\n" + lines(between)


DL4J = lines(words=["B64:" + base64.b64encode(word.encode()).decode() for word in WORDS])

READ = {
    "pandas": table(","),
    "index": table(",", "word"),
    "semicolons": table(";"),
    "european": table(";").replace(".", ","),
    "tsv": table("\t"),
    "named.tsv": "word\ta\tb\tc\n" + lines("\t"),
    "bom": "\ufeff" + table(","),
    "range": ",word,0,1,2\n" + "".join(f"{i},{line}\n" for i, line in enumerate(lines(",").split())),
    "dl4j": f"4 3 120\n{DL4J}",
    "dl4j-bare": DL4J,
}


@pytest.mark.parametrize("name", READ)
def test_tables_of_pandas_and_words_in_base64(tmp_path, name):
    (tmp_path / name).write_text(READ[name], "utf-8", newline="")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_vectors(tmp_path / name)
    assert found.words == WORDS
    assert (found.vectors == VECTORS).all()


@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("comments", ["# Licence: CC BY-SA 4.0\n", "% by Ann\n% 2019\n", "// made by hand\n"])
def test_comments_on_top_are_left_out_and_said(tmp_path, header, comments):
    path = tmp_path / "v"
    path.write_text(comments + header + lines(), "utf-8")
    with pytest.warns(UserWarning, match=f"{comments.count(chr(10))} line.s. of comments"):
        found = read_vectors(path)
    assert found.words == WORDS
    assert (found.vectors == VECTORS).all()
    path.write_text(comments + header + lines(words=["a", "b", "b", "c"]), "utf-8")
    line = 3 + comments.count("\n") + bool(header)
    with pytest.warns(UserWarning, match="comments"), pytest.raises(DataError, match=f"and {line}"):
        read_vectors(path)


def test_a_pointer_of_git_lfs_is_named(tmp_path):
    (tmp_path / "v.bin").write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"
    )
    with pytest.raises(DataError, match="git lfs pull"):
        read_vectors(tmp_path / "v.bin")
