"""Sums of words are read in the same way in Python and in the explorer's script."""

import json
from pathlib import Path

import pytest

from wordvec_ca.vectors import sum_terms

GIVEN = json.loads(Path(__file__).with_name("word_sums.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "expected"), GIVEN["cases"])
def test_terms(text, expected):
    terms = sum_terms(text, lambda word: word.lower() in GIVEN["words"])
    assert [list(term) for term in terms] == expected


def test_many_signs_take_no_time():
    assert sum_terms("a+" * 5_000 + "a", "a".__eq__)[0].word == "a"
