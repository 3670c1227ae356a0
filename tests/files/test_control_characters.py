"""The three functions that escape text return no character that controls a terminal or a page."""

import html
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordvec_ca.files import html_table, json_text, terminal_text
from wordvec_ca.files.display import html_text

ACTING = [
    *map(chr, [*range(0x20), *range(0x7F, 0xA0)]),  # C0, delete, C1
    *map(chr, [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]),  # bidirectional
    *map(chr, [0xAD, 0x180E, 0x200B, 0x2060, 0xFEFF, 0xE0041]),  # without width
    "\u2028", "\u2029", "\ud800", "\udfff",
]  # fmt: skip


@pytest.mark.parametrize("character", ACTING, ids=[f"{ord(c):04x}" for c in ACTING])
def test_each_acting_character_is_shown_and_not_obeyed(character):
    word = f"a{character}b"
    assert terminal_text(word) == f"a{ascii(character)[1:-1]}b"
    assert (character in terminal_text(word, lines=True)) == (character in "\n\t")
    assert character not in json_text({"word": word})
    assert json.loads(json_text({word: [word]}, indent=2)) == {word: [word]}
    assert character not in html_text(word)
    assert character not in html_table(word, [word], [[word, 1]])


@pytest.mark.parametrize(
    "word",
    [
        "naïve",
        "東京　都",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d🚀",
        "שלום",
        "العربية",
        "a\u0301",
        "ÅŸ",
        "x\u00a0y",
    ],
)
def test_words_of_all_scripts_stay_as_they_are(word):
    assert terminal_text(word) == word
    assert json_text(word) == f'"{word}"'
    assert html_text(word) == word


@given(st.text(st.characters(codec=None)))
def test_nothing_acts_whatever_the_text(text):
    kept = {"\u200c", "\u200d"}
    for shown in (terminal_text(text), json_text(text), html_text(text)):
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
        assert not any(
            unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI") for c in shown
        )
        assert not any(c in "\u200b\ufeff\u2060" for c in set(shown) - kept)
    assert json.loads(json_text(text)) == text
    assert html.unescape(html_text(text)) == terminal_text(text)
