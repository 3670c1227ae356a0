"""The tokenisers against a slow implementation of docs/tokenising.md, on arbitrary text and bytes."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import DataError
from wordvec_ca.kernels import _text
from wordvec_ca.text.tokenizer import tokenize

JOINERS = "'-\u00b7\u05f4\u2010\u2011\u2019"
LINKERS = "\u200c\u200d"
POINTS = ",.\u066b\u066c"


def kind(character: str) -> str:
    category = unicodedata.category(character)
    if character in JOINERS + LINKERS + POINTS:
        return "joiner" if character in JOINERS else "linker" if character in LINKERS else "point"
    if category == "Nd":
        return "digit"
    if category[0] in "LN" or character in "_\u05f3":
        return "letter"
    if category[0] == "M":
        return "mark"
    if category[0] == "Z" or category in ("Cc", "Cf"):
        return "space"
    return "symbol"


def small(character: str) -> str:
    return "i" if character == "\u0130" else character.lower()


def pieces(token: str) -> list[str]:
    """Cut after at most 1,000 bytes of UTF-8, between characters."""
    result = [""]
    for character in token:
        if len((result[-1] + character).encode()) > 1000:
            result.append("")
        result[-1] += character
    return result


def slow_words(line: str) -> list[str]:
    line = line.replace("\u00ad", "")
    kinds = [kind(c) for c in line] + ["space"]
    tokens = []
    i = 0
    while i < len(line):
        begin = i
        if kinds[i] in ("space", "linker"):
            i += 1
            continue
        if kinds[i] in ("letter", "digit", "mark"):
            i += 1
            while i < len(line):
                before, here, after = kinds[i - 1], kinds[i], kinds[i + 1]
                inside = (
                    here in ("letter", "digit", "mark")
                    or (here == "joiner" and after in ("letter", "digit"))
                    or (here == "linker" and after in ("letter", "digit", "mark"))
                    or (here == "point" and before == after == "digit")
                )
                if not inside:
                    break
                i += 1
        else:
            i += 1
            while kinds[i] == "mark":
                i += 1
        tokens.append(line[begin:i])
    return tokens


def slow_lines(data: bytes, tokenizer: str, lowercase: bool) -> list[list[str]]:
    text = data.decode("utf-8", "replace")
    lines = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if tokenizer == "words":
            tokens = slow_words(line)
        else:
            tokens = line.replace("\t", " ").replace("\v", " ").replace("\f", " ").split(" ")
        if lowercase:
            tokens = ["".join(map(small, token)) for token in tokens]
        lines.append([piece for token in tokens if token for piece in pieces(token)])
    return lines


def fast_lines(data: bytes, tokenizer: str, lowercase: bool) -> list[list[str]]:
    lexicon = _text.Lexicon()
    ids, stats = lexicon.read_text(data, tokenizer == "words", lowercase)
    words = lexicon.words()
    assert stats["tokens"] == (ids >= 0).sum() == lexicon.counts().sum()
    assert stats["repaired"] >= (stats["first_repaired"] >= 0)
    lines: list[list[str]] = [[]]
    for i in ids.tolist():
        if i < 0:
            lines.append([])
        else:
            lines[-1].append(words[i])
    return lines


# Characters that were assigned long ago: their categories are the same in every Python.
OLD = st.characters(exclude_categories=["Cs"]).filter(
    lambda c: (
        unicodedata.ucd_3_2_0.category(c) != "Cn"
        and unicodedata.category(c) == unicodedata.ucd_3_2_0.category(c)
    )
)
NASTY = st.sampled_from(
    list(
        "aZ9 _-'.,!\t\r\n\v\f\x00\x1c\u00ad\u200d\u200c\u2019\u0301\ufe0f\u0130\u212a\u1e9e\u023a\u00a0\u3000"
    )
    + ["ß", "é", "И", "क", "ि", "中", "😀", "\ufffd", "\ufeff", "\u2028", "٣", "\u066b", "x" * 999, "é" * 499]
)
TEXT = st.lists(st.one_of(NASTY, NASTY, OLD), max_size=30).map("".join)
BYTES = st.lists(
    st.one_of(
        TEXT.map(str.encode),
        st.binary(max_size=6),
        st.sampled_from([b"\xed\xa0\x80", b"\xf4\x90", b"\xe0\x80", b"\xc3", b"\xf0\x9f\x98", b"\xc2"]),
    ),
    max_size=8,
).map(b"".join)


@pytest.mark.parametrize("lowercase", [True, False], ids=["lower", "as-is"])
@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@settings(max_examples=400, deadline=None)
@given(data=BYTES)
def test_same_tokens_as_the_slow_reading(tokenizer, lowercase, data):
    slow = [line for line in slow_lines(data, tokenizer, lowercase) if line]
    assert [line for line in fast_lines(data, tokenizer, lowercase) if line] == slow


@given(data=BYTES)
@settings(deadline=None)
def test_repairs_are_counted_and_located(data):
    _, stats = _text.Lexicon().read_text(data, False, False)
    assert stats["repaired"] == data.decode("utf-8", "replace").count("\ufffd") - data.count(
        "\ufffd".encode()
    )
    first = -1
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        first = error.start
    assert stats["first_repaired"] == first


@given(data=BYTES)
def test_lines_are_counted_as_python_does(data):
    _, stats = _text.Lexicon().read_text(data + b"\n", True, True)
    assert stats["lines"] == len((data + b"\n").splitlines())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, world!", "hello , world !"),
        ("It's a well-known state-of-the-art e-mail.", "it's a well-known state-of-the-art e-mail ."),
        ("rock 'n' roll - and dogs' tails", "rock ' n ' roll - and dogs ' tails"),
        ("New_York __init__ a--b", "new_york __init__ a - - b"),
        ("3.14, 1,000. 192.168.0.1 v2.0 .5 5.", "3.14 , 1,000 . 192.168.0.1 v2.0 . 5 5 ."),
        ("हिन्दी में लिखो", "हिन्दी में लिखो"),
        ("می‌خواهم", "می‌خواهم"),
        ("I ❤️ U 👍🏽", "i ❤️ u 👍 🏽"),
        ("so\u00adft hy\u00ad", "soft hy"),
        ("don’t “quote”", "don’t “ quote ”"),
        ("İstanbul \u212a ÀÉ ẞ Σ", "istanbul k àé ß σ"),
        ("non\u00a0breaking\u3000space\u2028s", "non breaking space s"),
        ("東京に行く。", "東京に行く 。"),
        ("צה״ל וג׳ירפה אצל פרופ׳ ״כהן״", "צה״ל וג׳ירפה אצל פרופ׳ ״ כהן ״"),
    ],
)
def test_examples_of_the_documentation(text, tokens):
    assert tokenize(text) == tokens.split(" ")


def test_whitespace_keeps_all_but_ascii_space():
    assert tokenize("A\u00a0b  (C)\tÉ\u0085", "whitespace") == ["a\u00a0b", "(c)", "é\u0085"]
    assert tokenize("A b", "whitespace", lowercase=False) == ["A", "b"]


def test_tables_are_unicodes():
    if unicodedata.unidata_version != _text.UNICODE_VERSION:
        pytest.skip(
            f"this Python has Unicode {unicodedata.unidata_version}, the tables {_text.UNICODE_VERSION}"
        )
    # Each character is tried alone, between letters, and before a mark, as classes differ there.
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    neighbours = [f"b{c}b {c}\u0301" for c in characters[:0x3100] + characters[0x3100::64]]
    everything = "\n".join(characters + neighbours)
    assert tokenize(everything) == _slow_all(everything)


def _slow(text: str) -> list[str]:
    return ["".join(map(small, token)) for token in slow_words(text)]


def _slow_all(text: str) -> list[str]:
    return [token for line in text.split("\n") for token in _slow(line)]


def test_unknown_tokenizer_and_lone_surrogate():
    with pytest.raises(ValueError, match="words, whitespace; got 'bert'"):
        tokenize("x", "bert")
    with pytest.raises(DataError, match="lone surrogate"):
        tokenize("a\ud800")


def test_a_closed_lexicon_learns_nothing():
    lexicon = _text.Lexicon(["b", "a"])
    ids, _ = lexicon.read_text(b"a b c a\n", False, False)
    assert ids.tolist() == [1, 0, _text.ABSENT, 1, _text.LINE_END]
    assert len(lexicon) == 2


@given(
    st.lists(st.tuples(st.text(min_size=1).filter(lambda t: t.isprintable()), st.integers(1, 3)), max_size=60)
)
def test_absorb_and_rank_agree_with_counter(pairs):
    from collections import Counter

    import numpy as np

    halves = [_text.Lexicon(), _text.Lexicon()]
    expected: Counter[str] = Counter()
    for i, (word, times) in enumerate(pairs):
        halves[i % 2].read_tokens([word] * times, np.empty(times + 1, np.int32))
        expected[word] += times
    other = halves[1].words()
    ids = halves[0].absorb(halves[1])
    whole = halves[0].words()
    assert [whole[i] for i in ids] == other
    words, counts, order = halves[0].rank(2)
    assert dict(zip(words, counts.tolist(), strict=True)) == {w: c for w, c in expected.items() if c >= 2}
    assert [whole[i] for i in order] == words
    assert words == sorted(words, key=lambda w: (-expected[w], w.encode()))
