"""Lines broken at a fixed width, as in e-books, are noticed; other texts are not reported."""

import random
import subprocess
import textwrap
import warnings

import pytest

from wordvec_ca.corpus import count_corpus
from wordvec_ca.text import Documents
from wordvec_ca.text.blocks import width_of_wrapped

RNG = random.Random(1)
WORDS = ["a", "the", "of", "house", "elsewhere", "remembered", "it", "was"]


def paragraphs(n: int) -> list[str]:
    return [" ".join(RNG.choices(WORDS, k=RNG.randrange(20, 200))) for _ in range(n)]


@pytest.mark.parametrize("width", [60, 72, 80])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_broken_lines_are_noticed(width, end):
    book = "\n\n".join(textwrap.fill(text, width) for text in ["CHAPTER I", *paragraphs(40)])
    found = width_of_wrapped(book.replace("\n", end))
    assert found is not None
    assert width - 5 <= found <= width


def test_sentences_verses_code_and_lists_are_not():
    texts = paragraphs(100)
    verses = [" ".join(RNG.choices(WORDS, k=RNG.randrange(3, 12))) for _ in range(400)]
    for lines in (
        "\n".join(texts),
        "\n\n".join(texts),
        "\n".join(verses),
        "\n\n".join("\n".join(verses[i : i + 4]) for i in range(0, 400, 4)),
        "",
    ):
        assert width_of_wrapped(lines + "\n") is None


def test_it_is_said_once_for_all_files_and_how_to_join_them(tmp_path):
    for i in range(3):
        book = "\n\n".join(textwrap.fill(text, 70) for text in paragraphs(40))
        (tmp_path / f"{i}.txt").write_text(book)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count_corpus(tmp_path)
    (one,) = [str(warning.message) for warning in said]
    assert "0.txt" in one
    assert "awk -v RS=" in one


def test_documents_tell_once_and_the_advice_joins_lines_with_any_end(tmp_path):
    texts = paragraphs(40)
    for i, end in enumerate(["\n", "\r\n"]):
        book = end.join(textwrap.fill(text, 70).replace("\n", end) + end for text in texts)
        (tmp_path / f"{i}.txt").write_bytes(book.encode())
    documents = Documents(tmp_path, "files")
    with pytest.warns(UserWarning, match=r"2 files, such as '.*0\.txt'") as said:
        assert [len(list(documents)) for _ in range(2)] == [2, 2]
    assert len(said) == 1
    command = str(said[0].message).split("paragraph: ")[1]
    for name in ("0.txt", "1.txt"):
        given = command.replace("OLD", name).replace("NEW", "new.txt")
        subprocess.run(given, shell=True, check=True, cwd=tmp_path)
        assert (tmp_path / "new.txt").read_text().splitlines() == texts


def test_the_column_of_text_is_suggested(tmp_path):
    rows = "".join(f'{i};{i % 5};"{text}"\n' for i, text in enumerate(paragraphs(20)))
    (tmp_path / "t.csv").write_text("id;stars;review\n" + rows)
    with pytest.warns(UserWarning, match="looks like CSV .*field='review' reads one field"):
        count_corpus(tmp_path / "t.csv")
