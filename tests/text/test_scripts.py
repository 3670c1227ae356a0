"""Scripts without spaces, on real sentences: they are detected, only there, and segmented as by ICU."""

import itertools
import lzma
import sys
import warnings
from pathlib import Path

import pytest

from wordvec_ca import DataError
from wordvec_ca.corpus import TextOptions, count_corpus
from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.text import tokenize, trusted_tokenizer
from wordvec_ca.text.scripts import unspaced
from wordvec_ca.text.segmenters import SegmentingProcesses, load_segmenter

SENTENCES: dict[str, list[str]] = {}
for line in (
    lzma.decompress((Path(__file__).parent / "scripts" / "sentences.tsv.xz").read_bytes())
    .decode()
    .splitlines()
):
    SENTENCES.setdefault(line.partition("\t")[0], []).append(line.partition("\t")[2])

WITHOUT_SPACES = {
    "zh": "Chinese or Japanese", "ja": "Chinese or Japanese", "th": "Thai", "lo": "Lao", "km": "Khmer",
    "my": "Burmese",
}  # fmt: skip
WITH_SPACES = ["ko", "ar", "hi", "he", "tr", "lt"]


def text(language: str) -> str:
    return "".join(line + "\n" for line in SENTENCES[language])


def test_there_are_two_hundred_sentences_each():
    assert len(SENTENCES) == 12
    assert min(map(len, SENTENCES.values())) >= 200


@pytest.mark.parametrize(("language", "script"), WITHOUT_SPACES.items())
def test_text_without_spaces_is_refused_with_what_to_give(language, script):
    found = unspaced(text(language).encode())
    assert found is not None
    assert found.script == script
    assert found.share > 0.9
    with pytest.raises(DataError, match=rf"{script} without spaces.*tokenizer='icu'"):
        count_corpus(iter(SENTENCES[language]))
    with pytest.warns(UserWarning, match="tokenizer='icu'"):
        count_corpus(iter(SENTENCES[language]), TextOptions(tokenizer="whitespace", min_count=1))


@pytest.mark.parametrize("language", WITH_SPACES)
def test_text_with_spaces_is_not(language):
    assert unspaced(text(language).encode()) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*there twice")  # some samples have letters of both normal forms
        count_corpus(iter(SENTENCES[language]))


def test_a_part_of_the_text_and_later_pages_are_a_warning():
    part = SENTENCES["lt"] * 2 + SENTENCES["zh"]
    with pytest.warns(UserWarning, match="% Chinese"):
        count_corpus(iter(part))
    later = ["the quick brown fox " * 2_000] * 200 + [" ".join(SENTENCES["th"])] * 500
    with pytest.warns(UserWarning, match="later pages are .*Thai"):
        count_corpus(iter(later))


@pytest.mark.parametrize("language", WITHOUT_SPACES)
def test_segmented_text_is_like_any_other(language):
    pytest.importorskip("icu4py")
    segmented = [" ".join(tokenize(line, "icu")) for line in SENTENCES[language]]
    assert unspaced("\n".join(segmented).encode()) is None


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("workers", [1, 2])
def test_tokens_are_those_of_icu(language, workers, tmp_path):
    breakers = pytest.importorskip("icu4py.breakers")
    lines = SENTENCES[language]
    expected = [
        [word for word in breakers.WordBreaker(line, "en") if word.strip(" \u200b\u200c\u200d\xa0\u3000")]
        for line in lines
    ]
    options = TextOptions(tokenizer="icu", lowercase=False, min_count=1, workers=workers, block_bytes=3_000)
    with encode_corpus(iter(lines), options, cache_dir=tmp_path) as corpus:
        ids = corpus.tokens
        found = [[]]
        for i in ids.tolist():
            if i < 0:
                found.append([])
            else:
                found[-1].append(corpus.vocab.words[i])
    assert found[:-1] == expected
    assert [tokenize(line, "icu", lowercase=False) for line in lines] == expected


@pytest.mark.parametrize("language", SENTENCES)
def test_tokens_are_those_of_pyicu_where_icu4py_is_not(language, monkeypatch):
    icu = pytest.importorskip("icu", reason="PyICU is not installed: it is built against the system's ICU")
    monkeypatch.setitem(sys.modules, "icu4py", None)
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    load_segmenter.cache_clear()
    try:
        # some characters take two units in UTF-16
        for line in [*SENTENCES[language], "𠀀𠀁 👩‍👩‍👧 naïve 𝒳y"]:
            breaker = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
            breaker.setText(line)
            places, data = [0, *breaker], line.encode("utf-16-le")
            words = [data[2 * a : 2 * b].decode("utf-16-le") for a, b in itertools.pairwise(places)]
            expected = [word for word in words if word.strip(" \u200b\u200c\u200d\xa0\u3000")]
            assert tokenize(line, "icu", lowercase=False) == expected
    finally:
        load_segmenter.cache_clear()


def test_what_is_not_installed_is_named(monkeypatch):
    for module in ("icu4py", "icu4py.breakers", "icu", "jieba"):
        monkeypatch.setitem(sys.modules, module, None)
    load_segmenter.cache_clear()
    for name in ("icu", "jieba"):
        with pytest.raises(DataError, match=f"needs .*pip install {name}"):
            tokenize("x", name)
    load_segmenter.cache_clear()


def test_tokens_of_chinese_are_those_of_jieba():
    jieba = pytest.importorskip("jieba")
    for line in SENTENCES["zh"]:
        assert tokenize(line, "jieba", lowercase=False) == [w for w in jieba.lcut(line) if w.strip()]


@pytest.mark.parametrize("language", WITH_SPACES)
def test_words_keep_their_marks(language):
    """Vowel signs, points and accents stay with their letters; nothing but white space is lost."""
    for line in SENTENCES[language]:
        tokens = tokenize(line, lowercase=False)
        assert "".join(tokens) == "".join(line.replace("\u00ad", "").split()).replace("\u200e", "")
        assert not any(token[0] in "\u0301\u093f\u05b8\u064e" for token in tokens if len(token) > 1)


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("İSTANBUL IRAK ısı", "istanbul irak ısı"),  # not the Turkish rules: I becomes i, and İ too
        ("ĖJO ŽĄSIS J\u0307 i\u0307\u0301", "ėjo žąsis j\u0307 i\u0307\u0301"),
        ("שָׁלוֹם עוֹלָם", "שָׁלוֹם עוֹלָם"),
        ("اَلْعَرَبِيَّةُ لُغَةٌ", "اَلْعَرَبِيَّةُ لُغَةٌ"),
        ("क्‍या हिन्दी है", "क्‍या हिन्दी है"),
        ("cafe\u0301 CAFÉ", "cafe\u0301 café"),  # characters are not normalised
        ("👩‍👩‍👧 🇱🇹 x", "👩 👩 👧 🇱 🇹 x"),
    ],
)
def test_case_marks_and_emoji(line, tokens):
    assert tokenize(line) == tokens.split(" ")


MODULE = """
import re

def halves(line):
    return [word[i : i + 2] for word in line.split() for i in range(0, len(word), 2)]

def loud(line):
    print("a function may print")
    return ["New York", "", " ", line.strip()]

def broken(line):
    return 1 / 0

number = 5
"""


@pytest.fixture
def own(tmp_path, monkeypatch, request):
    name = f"own_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_of_the_user(own, workers):
    lines = [f"abcd{i} xyz" for i in range(3_000)]
    options = TextOptions(tokenizer=f"{own}:halves", min_count=1, workers=workers, block_bytes=5_000)
    vocab, stats = count_corpus(iter(lines), options)
    counts = dict(zip(vocab.words, vocab.counts.tolist(), strict=True))
    assert counts["ab"] == counts["cd"] == counts["xy"] == 3_000
    assert stats.lines == 3_000
    assert tokenize("line one", f"{own}:loud") == ["new_york", "line_one"]
    with SegmentingProcesses(f"{own}:loud", 2) as processes:
        assert (
            processes.segment(b"one\r\n\xff two\n")[0].split()
            == b"New_York one New_York \xef\xbf\xbd_two".split()
        )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_that_fails_is_named(own, workers):
    with pytest.raises(DataError, match=r"broken' fails on the line 'a b': ZeroDivisionError.*line 12"):
        count_corpus(iter(["a b"]), TextOptions(tokenizer=f"{own}:broken", workers=workers))
    with pytest.raises(DataError, match="number' is a int; it must be a function"):
        tokenize("x", f"{own}:number")
    with pytest.raises(DataError, match=r"cannot be loaded: .*nothing"):
        tokenize("x", f"{own}:nothing")
    with pytest.raises(DataError, match="cannot be loaded: No module named"):
        tokenize("x", "no_such_module_:f")


def test_a_name_in_a_model_runs_no_code(monkeypatch):
    with pytest.raises(DataError, match="tokenizer='os:system'"):
        trusted_tokenizer("os:system", None, "the model")
    assert trusted_tokenizer("os:system", "words", "the model") == "words"
    assert trusted_tokenizer("icu", None, "the model") == "icu"
    monkeypatch.setenv("CAWV_TOKENIZER", "mine:split")
    assert trusted_tokenizer("mine:split", None, "the model") == "mine:split"
