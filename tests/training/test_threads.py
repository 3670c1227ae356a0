"""Threads: on real text many of them learn as much as one, whatever the model (short form of the table)."""

import lzma
import runpy
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def table():
    """Return the names of the script that makes the table."""
    return runpy.run_path(str(ROOT / "scripts" / "quality" / "threads.py"))


@pytest.fixture(scope="module")
def text(data):
    """Return lines with about a million words of Wikipedia."""
    with lzma.open(data / "corpora" / "wiki.30M.txt.xz", "rt", encoding="utf-8") as lines:
        return [line.lower().split() for line in islice(lines, 16_600)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        *("cbow", "skipgram", "cwindow", "cbow-attn", "cbow, --hs", "cbow, sum", "cbow, --anchored", "pv-dm"),
        *("cbow, n-grams", "skipgram, n-grams", "cbow-attn, n-grams", "cbow, n-grams from 1 character"),
        *(
            "cbow, n-grams, --hs",
            "cbow, lines of 5,000 words, n-grams",
            "pv-dm, n-grams",
            "gensim FastText",
            "fasttext, cbow",
        ),
    ],
)
def test_threads_learn_as_much_as_one(table, text, kind, tmp_path):
    """Threads that begin every block together show what steps do that are out of date."""
    with table["threads_together"]():
        losses = {
            threads: table["run"](
                {"kind": kind, "threads": threads, "seed": 1}, text[:-1_000], text[-1_000:], tmp_path
            )
            for threads in (1, 2, 8)
        }
    # seeds of a million words differ by up to 2 %; steps that are out of date cost 50 %, or diverge
    assert all("loss" in outcome for outcome in losses.values()), losses
    assert max(outcome["loss"] for outcome in losses.values()) <= 1.03 * losses[1]["loss"], losses
