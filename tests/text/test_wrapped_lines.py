"""Lines broken at a fixed width, as in e-books, are noticed; other texts are not reported."""

from __future__ import annotations

import random
import textwrap
import warnings
from pathlib import Path

import pytest

from wordvec_ca.corpus import count_corpus
from wordvec_ca.text.wrapped_lines import width_of_wrapped

RNG = random.Random(1)
WORDS = ["a", "the", "of", "house", "elsewhere", "remembered", "it", "was"]


def paragraphs(n: int) -> list[str]:
    return [" ".join(RNG.choices(WORDS, k=RNG.randrange(20, 200))) for _ in range(n)]


@pytest.mark.parametrize("width", [60, 72, 80])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_broken_lines_are_noticed(width: int, end: str) -> None:
    book = "\n\n".join(textwrap.fill(text, width) for text in ["CHAPTER I", *paragraphs(40)])
    found = width_of_wrapped(book.replace("\n", end))
    assert found is not None
    assert width - 5 <= found <= width


def test_sentences_verses_code_and_lists_are_not() -> None:
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


def test_it_is_said_once_for_all_files_and_how_to_join_them(tmp_path: Path) -> None:
    for i in range(3):
        book = "\n\n".join(textwrap.fill(text, 70) for text in paragraphs(40))
        (tmp_path / f"{i}.txt").write_text(book)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count_corpus(tmp_path)
    (one,) = [str(warning.message) for warning in said]
    assert "0.txt" in one
    assert "awk -v RS=" in one


def test_the_column_of_text_is_suggested(tmp_path: Path) -> None:
    rows = "".join(f'{i};{i % 5};"{text}"\n' for i, text in enumerate(paragraphs(20)))
    (tmp_path / "t.csv").write_text("id;stars;review\n" + rows)
    with pytest.warns(UserWarning, match="looks like CSV .*field='review' reads one field"):
        count_corpus(tmp_path / "t.csv")
