"""Encoding: the same ids from every kind of source, the cache, and bad input."""

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import wordvec_ca.corpus.reading as reading_module
import wordvec_ca.corpus.sentence_file as sentence_file_module
import wordvec_ca.text.blocks as blocks_module
import wordvec_ca.text.reader as reader_module
from wordvec_ca import DataError, Phrases, Vocab
from wordvec_ca.corpus import TextOptions
from wordvec_ca.corpus.cache import recipe
from wordvec_ca.corpus.disk_lexicon import SpilledTypes
from wordvec_ca.corpus.encode import TokenStream, count_corpus, encode_corpus, stream_corpus, write_vocabulary
from wordvec_ca.files import compression
from wordvec_ca.text import json_records
from wordvec_ca.text.blocks import cut_into_blocks
from wordvec_ca.text.sources import find_files
from wordvec_ca.text.tokenizer import tokenize
from wordvec_ca.training.chunks import chunks_of

PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
PACKED = [kind for kind in PACK if kind != "plain"]


def sentences(tokens: np.ndarray, vocab: Vocab) -> list[list[str]]:
    """Undo the encoding."""
    assert tokens[-1] == -1
    ends = np.flatnonzero(tokens == -1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    assert (ends > starts).all(), "an empty line"
    return [[vocab.words[i] for i in tokens[a:b]] for a, b in zip(starts, ends, strict=True)]


def slow_encoding(lines: Iterable[list[str]], min_count: int, longest: int) -> list[list[str]]:
    lines = [list(line) for line in lines]
    counts = Counter(token for line in lines for token in line)
    result = []
    for line in lines:
        kept = [token for token in line if counts[token] >= min_count]
        result += [kept[i : i + longest] for i in range(0, len(kept), longest)]
    return result


# Text of few words, so that some are frequent, with long and short lines of every ending.
LINE = st.lists(
    st.sampled_from(["a", "B", "cat", "élan", "İ", "x.", "1.5", "don't", "世", "q" * 30]), max_size=30
)
TEXT = st.lists(
    st.tuples(LINE.map(" ".join), st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n", " \n"])),
    min_size=1,
    max_size=12,
).map(lambda lines: "".join(line + end for line, end in lines))


@settings(deadline=None, max_examples=120)
@given(
    text=TEXT.filter(lambda text: text.strip() != ""),
    cuts=st.lists(st.integers(0, 400), max_size=3),
    packing=st.sampled_from(list(PACK)),
    workers=st.integers(1, 3),
    block_bytes=st.sampled_from([1, 7, 64, 1000, 1 << 20]),
    longest=st.sampled_from([1, 3, 10_000]),
    tokenizer=st.sampled_from(["words", "whitespace"]),
    min_count=st.integers(0, 2),
)
def test_same_ids_however_the_text_comes(
    tmp_path_factory, text, cuts, packing, workers, block_bytes, longest, tokenizer, min_count
):
    folder = tmp_path_factory.mktemp("corpus")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    expected = slow_encoding([tokenize(line, tokenizer) for line in lines], min_count, longest)
    # The text is cut into files at line ends, because the end of a file also ends a line.
    data = text.encode()
    ends = [0] + [i + 1 for i, byte in enumerate(data) if byte == 10] + [len(data)]
    places = sorted({0, len(data), *(max(end for end in ends if end <= min(cut, len(data))) for cut in cuts)})
    files = []
    for number, (a, b) in enumerate(pairwise(places)):
        files.append(folder / f"{number}.txt")
        files[-1].write_bytes(PACK[packing](data[a:b]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_file_module, "MAX_SENTENCE", longest)

        def encode(source, vocab=None, **more):
            options = TextOptions(tokenizer=tokenizer, min_count=min_count, **more)
            return encode_corpus(source, options, vocab=vocab, cache_dir=folder / "cache")

        if not expected:
            with pytest.raises(DataError):
                encode(files)
            return
        with encode(files, workers=workers, block_bytes=block_bytes) as result:
            assert sentences(result.tokens, result.vocab) == expected
            counts = Counter(token for line in lines for token in tokenize(line, tokenizer))
            assert result.vocab.raw_types == len(counts)
            assert result.vocab.raw_tokens == counts.total() == result.stats.raw_tokens
            assert result.vocab == Vocab.from_counts({w: c for w, c in counts.items() if c >= min_count})
            assert result.stats.kept_tokens == (result.tokens >= 0).sum() == result.vocab.total_count
            assert result.stats.sentences == (result.tokens == -1).sum()
            assert result.stats.lines == len(text.splitlines())
            fingerprint, tokens = result.fingerprint, np.array(result.tokens)
            for again in (
                encode(io.BytesIO(data)),
                encode(iter(text.splitlines(keepends=True))),
                encode(files, vocab=result.vocab, workers=2, block_bytes=50),
            ):
                np.testing.assert_array_equal(again.tokens, tokens)
                assert again.fingerprint == fingerprint
    assert not (folder / "cache").exists()


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4), max_size=6),
        min_size=1,
    )
)
def test_token_lists_pass_untouched(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("corpus")
    if not any(lines):
        return
    with encode_corpus(iter(lines), TextOptions(min_count=1), cache_dir=folder) as result:
        assert sentences(result.tokens, result.vocab) == [line for line in lines if line]
        result.vocab.save(folder / "vocab.tsv")
        assert Vocab.load(folder / "vocab.tsv").words == result.vocab.words


def test_token_lists_of_every_kind(tmp_path):
    expected = [["b", "a"], ["a"]]
    kinds: list[Any] = [
        [["b", "a"], ["a"]],
        ((("b", "a"), ("a",))),
        (iter(line) for line in expected),
        [np.array(["b", "a"]), np.array(["a"])],
    ]
    for kind in kinds:
        with encode_corpus(kind, TextOptions(min_count=1), cache_dir=tmp_path) as result:
            assert sentences(result.tokens, result.vocab) == expected


def test_many_blocks_of_token_lists(tmp_path):
    lines = [[str(i % 7)] * (i % 50_000) for i in range(0, 400_000, 9_999)]
    with encode_corpus(lines, TextOptions(min_count=1), cache_dir=tmp_path) as result:
        assert sentences(result.tokens, result.vocab) == slow_encoding(lines, 1, 10_000)


def test_a_line_of_50_megabytes(tmp_path):
    line = b"alpha beta, gamma " * (50_000_000 // 18)
    path = tmp_path / "long.txt"
    path.write_bytes(line + b"\nend\n")
    with encode_corpus(path, TextOptions(min_count=1, workers=2), cache_dir=tmp_path / "cache") as result:
        n = 4 * (50_000_000 // 18)
        assert result.stats.kept_tokens == n + 1
        assert result.stats.split_lines == -(-n // 10_000) - 1
        ends = np.flatnonzero(result.tokens == -1)
        assert set(np.diff(ends)[:-2].tolist()) == {10_001}
        assert [result.vocab.words[i] for i in result.tokens[:4]] == ["alpha", "beta", ",", "gamma"]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20, 1 << 30])
def test_a_run_without_white_space(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(blocks_module, "LONGEST_RUN", 5000)
    path = tmp_path / "run.txt"
    path.write_text("a b" + "é" * 10_000 + " c\n")
    with encode_corpus(
        path, TextOptions(min_count=1, block_bytes=block_bytes), cache_dir=tmp_path / "cache"
    ) as result:
        (line,) = sentences(result.tokens, result.vocab)
    assert line[0] == "a"
    assert line[-1] == "c"
    assert "".join(line[1:-1]) == "b" + "é" * 10_000
    assert result.stats.cut_tokens > 10
    # Text without spaces is cut after 5,000 bytes, not inside a character, then into tokens of up to 1,000.
    assert [len(token.encode()) for token in line[1:8]] == [999, 1000, 1000, 1000, 1000, 1000, 1000]


@given(st.binary(max_size=200), st.integers(1, 60), st.integers(1, 40))
def test_blocks_are_the_text(data, size, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "LONGEST_RUN", 50)
        blocks = list(cut_into_blocks((data[i : i + piece] for i in range(0, len(data), piece)), size))
    assert b"".join(blocks) == data
    assert all(0 < len(block) <= 50 for block in blocks)
    assert not any(a[-1:] == b"\r" and b[:1] == b"\n" for a, b in pairwise(blocks))


def test_where_files_are_found(tmp_path, monkeypatch):
    for name in ("b.txt", "a/2.txt", "a/1.txt", "a/.hidden", ".git/config", "a[1].txt", "a/deep/er.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    assert find_files([tmp_path]) == [
        str(tmp_path / name) for name in ("a/1.txt", "a/2.txt", "a/deep/er.txt", "a[1].txt", "b.txt")
    ]
    assert find_files(["a/*.txt", "b.txt"]) == ["a/1.txt", "a/2.txt", "b.txt"]
    assert find_files(["**/*.txt"]) == ["a/1.txt", "a/2.txt", "a/deep/er.txt", "a[1].txt", "b.txt"]
    assert find_files(["a[1].txt"]) == ["a[1].txt"]
    assert find_files(["a/dee*"]) == ["a/deep/er.txt"]
    assert find_files(["[ab]*"]) == find_files(["a", "a[1].txt", "b.txt"])
    (tmp_path / "a" / "deep" / "up").symlink_to(tmp_path / "a")  # a circle
    (tmp_path / "link").symlink_to(tmp_path / "a" / "deep")
    assert find_files(["a"]) == ["a/1.txt", "a/2.txt", "a/deep/er.txt"]
    assert find_files(["link"]) == ["link/er.txt", "link/up/1.txt", "link/up/2.txt"]


def test_byte_order_mark_and_first_repair(tmp_path):
    (tmp_path / "1.txt").write_bytes(b"\xef\xbb\xbfone two\r\nthree\n")
    (tmp_path / "2.txt").write_bytes(b"\xef\xbb\xbfone\rtwo\r\nfo\xc3ur\nbad \xff\xff")
    for block_bytes in (1, 10, 1 << 20):
        with encode_corpus(
            tmp_path, TextOptions(min_count=1, block_bytes=block_bytes), cache_dir=tmp_path / "c"
        ) as result:
            assert [" ".join(line) for line in sentences(result.tokens, result.vocab)] == [
                "one two", "three", "one", "two", "fo \ufffd ur", "bad \ufffd \ufffd",
            ]  # fmt: skip
            assert result.stats.repaired_utf8 == 3
            assert result.stats.first_repaired == f"{str(tmp_path / '2.txt')!r}, line 3"
            assert result.stats.files == 2
            assert result.stats.lines == 6


@pytest.mark.parametrize("kind", PACKED)
def test_compression_is_recognised_by_content(tmp_path, kind):
    pack = PACK[kind]
    path = tmp_path / "corpus.txt"  # the name has a wrong suffix
    path.write_bytes(pack(b"hello ") + pack(b"") + pack(b"world\n" * 30_000))
    vocab, stats = count_corpus(path)
    assert vocab == Vocab(["world", "hello"], [30_000, 1])
    assert stats.raw_tokens == 30_001
    assert stats.bytes == path.stat().st_size
    (tmp_path / "empty").write_bytes(pack(b""))
    with pytest.raises(DataError, match="the corpus is empty"):
        count_corpus(tmp_path / "empty")


@pytest.mark.parametrize("kind", PACKED)
def test_truncated_and_damaged(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(compression, "_SMALLEST_BZIP2", 0)  # so that threads read small files too
    rng = np.random.default_rng(0)
    data = " ".join(map(str, rng.integers(0, 1 << 40, 60_000))).encode()
    packed = PACK[kind](data)
    path = tmp_path / "corpus"
    for keep in (len(packed) // 2, len(packed) - 3):
        path.write_bytes(packed[:keep])
        with pytest.raises(
            DataError, match=rf"corpus' is truncated: its {kind} data ends early, after {keep:,} bytes"
        ):
            count_corpus(path)
    path.write_bytes(packed + b"rubbish")
    with pytest.raises(DataError, match="7 bytes"):
        count_corpus(path)
    if kind != "zstd":  # zstd has no checksum here: the damage would only change the text
        path.write_bytes(packed[: len(packed) // 2] + b"\xaa" * 99 + packed[len(packed) // 2 + 99 :])
        with pytest.raises(DataError, match="damaged after"):
            count_corpus(path)


@pytest.mark.parametrize("workers", [1, 3])
def test_bzip2_in_threads(tmp_path, monkeypatch, workers):
    pytest.importorskip("rapidgzip")
    monkeypatch.setattr(compression, "_SMALLEST_BZIP2", 0)
    texts = [" ".join(map(str, range(start, start + 100_000))).encode() + b"\n" for start in (0, 7, 10**6)]
    path = tmp_path / "corpus"
    # At zero bytes between two parts the threads stop reading; the rest must not be lost.
    packed = bz2.compress(texts[0]) + bz2.compress(texts[1]) + bytes(40) + bz2.compress(texts[2]) + bytes(7)
    path.write_bytes(packed)
    files = reader_module.TextFiles([str(path)], helpers=workers)
    assert b"".join(files.pieces()) == b"".join(texts)
    assert files.bytes_read == len(packed)


def test_zstd_skippable_frames_and_padding(tmp_path):
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (tmp_path / "s").write_bytes(skippable + PACK["zstd"](b"one two\n") + skippable)
    (tmp_path / "x").write_bytes(PACK["xz"](b"one two\n") + b"\0" * 40 + PACK["xz"](b"three\n") + b"\0" * 4)
    for name, n in (("s", 2), ("x", 3)):
        assert count_corpus(tmp_path / name, TextOptions(min_count=1))[1].raw_tokens == n


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04....", "is a zip archive"),
        ("text".encode("utf-16"), "is UTF-16 text, .*iconv -f UTF-16"),
        *(
            (f"Texte {letters} sans marque\n".encode(name), f"is {name.upper()} text without .*{name}'")
            for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
            for letters in ("en été", "русский", "中文")
        ),
        (b"some text\0 and more", "looks binary: there is a NUL byte at offset 9"),
        ("обычный русский текст ".encode("koi8-r") * 9, "looks binary: .* not UTF-8; if it is text in ano"),
        (bytes(range(1, 32)) * 10, "looks binary: 257 of its first 310 bytes are control characters"),
        (b"", "the corpus is empty: there is no text in"),
        (b"\xef\xbb\xbf", "the corpus is empty"),
        (b" \n\t \n", "nothing but white space"),
        (b"all of these are rare words words\n", "7 tokens of 6 types, .* 2 times, but min_count is 5"),
    ],
)  # fmt: skip
def test_what_is_not_a_corpus(tmp_path, content, message):
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        encode_corpus(path, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_paths_that_do_not_work(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for path, message in [
        (tmp_path / "none.txt", "there is no file .*none.txt'"),
        (tmp_path / "file" / "below", "cannot read .*Not a directory"),
        (tmp_path / "empty", "the directory .* has no files"),
        (tmp_path / "*.gz", "no file matches the pattern"),
        (["a line of text", "another"], "there is no file 'a line of text'; .*pass iter"),
        (["a", "sentence", "of", "words"], r"there is no file 'a'; .*\[\['a', 'sentence', 'of', …\], …\]"),
        ([], "the corpus is empty"),
        (iter([]), "the corpus is empty: the iterable yields nothing"),
        (7, "the corpus is a int; give a path"),
        (b"text", "the corpus is bytes"),
        ({"train": [["a"]], "test": [["b"]]}, "is a dict with the keys 'train', 'test'; give one value"),
    ]:
        with pytest.raises(DataError, match=message):
            encode_corpus(path, cache_dir=tmp_path / "cache")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"cannot write to the cache directory .*Not a directory"):
        encode_corpus(tmp_path / "file", TextOptions(min_count=1), cache_dir=tmp_path / "file" / "cache")
    with pytest.raises(ValueError, match="only once"):
        count_corpus(["-", "-"])


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([["a"], ["b", 0.5]], "sentence 2 of the corpus, token 2: 0.5 is a float"),
        ([["a"], ["b", "\ud800"]], "sentence 2 of the corpus, token 2: .* lone surrogate"),
        ([["a", ""]], r"sentence 1 of the corpus, token 2 is empty; .*text.split\(\)"),
        ([["a"], "a line"], "sentence 2 of the corpus is a str, but it began with token lists"),
        ([["a"], 5], "sentence 2 of the corpus is a int; it must be a list"),
        (iter(["a line", ["b"]]), "line 2 of the corpus is a list"),
        (iter(["a line", "\udfff"]), "line 2 of the corpus holds a lone surrogate"),
        ([["a", "b"]], "2 types, the most frequent occurs 1 times, but min_count is 5"),
        ([[], []], "the corpus is empty|there is no word"),
    ],
)
def test_bad_iterables(tmp_path, corpus, message):
    with pytest.raises(DataError, match=message):
        encode_corpus(corpus, cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_options_out_of_range(tmp_path):
    wrong = {"workers": 0, "min_count": -1, "max_final_vocab": 0, "tokenizer": "x", "block_bytes": 0}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=f"^{name} .*must be "):
            encode_corpus([["a"]], TextOptions(**{name: value}), cache_dir=tmp_path)


def test_a_given_vocabulary(tmp_path):
    vocab = Vocab.from_counts({"b": 100, "zebra": 70, "a": 3})
    vocab.save(tmp_path / "v.tsv")
    (tmp_path / "corpus").write_text("A b c\nc c\nb\n")
    for given_vocab in (vocab, tmp_path / "v.tsv"):
        with encode_corpus(
            tmp_path / "corpus", TextOptions(workers=2), vocab=given_vocab, cache_dir=tmp_path
        ) as result:
            assert result.tokens.tolist() == [2, 0, -1, 0, -1]
            assert result.vocab == vocab
            assert (result.stats.kept_tokens, result.stats.oov_tokens) == (3, 3)
    (tmp_path / "corpus").write_text("nothing known\n")
    with pytest.raises(DataError, match=r"3 words of the vocabulary .*2 tokens"):
        encode_corpus(tmp_path / "corpus", vocab=vocab, cache_dir=tmp_path)


def test_the_recipe_of_a_cache_has_every_option_that_changes_ids():
    """A new option of reading that is missing in ``cache.recipe`` would let an old cache be used again."""
    others: dict[str, Any] = {
        **{
            "min_count": 2,
            "tokenizer": "whitespace",
            "lowercase": False,
            "normalize": "nfc",
            "field": "text",
        },
        **{"encoding": "latin1", "max_final_vocab": 9, "phrases": Phrases([("new", "york")])},
        **{"documents": True, "group_by": "files"},
    }
    without = {"count_memory", "workers", "block_bytes"}  # these do not change the ids
    of_several = {"tag_field", "order_by", "test_last"}
    listed = {*others, *without, *of_several}
    assert listed == {field.name for field in fields(TextOptions)}, "say here whether it changes ids"
    usual = recipe(None, TextOptions(), None)
    for name, value in others.items():
        assert recipe(None, TextOptions(**{name: value}), None) != usual, name
    tagged = [recipe(None, TextOptions(documents=True, tag_field=tag), None) for tag in (None, "id")]
    assert tagged[0] != tagged[1]
    sessions: dict[str, Any] = {"group_by": "s", "field": "item"}
    more = ({}, {"order_by": "t"}, {"order_by": "u"}, {"order_by": "t", "test_last": "1d"})
    assert len({str(recipe(None, TextOptions(**sessions, **one), None)) for one in more}) == 4


def test_cache_is_reused_only_if_nothing_changed(tmp_path):
    text = tmp_path / "corpus.txt"
    text.write_text("a b c a b a\n" * 50)
    cache = tmp_path / "cache"

    def encode(vocab=None, **options):
        text_options = TextOptions(**{"min_count": 1, **options})
        return encode_corpus(text, text_options, vocab=vocab, cache_dir=cache, keep=True)

    first = encode()
    assert (first.reused, first.reason) == (False, f"there is no cache in {cache}")
    assert sorted(path.name for path in cache.iterdir()) == ["cache.json", "tokens.i32", "vocab.tsv"]
    second = encode(workers=1)
    assert second.reused
    assert second.vocab == first.vocab
    assert (second.vocab.raw_tokens, second.vocab.raw_types) == (300, 3)
    assert (second.fingerprint, second.stats) == (first.fingerprint, first.stats)
    np.testing.assert_array_equal(second.tokens, first.tokens)
    with pytest.raises(ValueError, match=r"read-only|assignment"):
        second.tokens[0] = 1
    second.close()
    assert (cache / "tokens.i32").exists()

    assert encode(min_count=101).reason == "min_count was 1 and is 101"
    assert encode(min_count=101, lowercase=False).reason == "lowercase was True and is False"
    changed = encode(tokenizer="whitespace", lowercase=False)
    assert changed.reason == "tokenizer was 'words' and is 'whitespace'"
    assert encode(tokenizer="whitespace", lowercase=False).reused

    same = {"tokenizer": "whitespace", "lowercase": False}
    status = text.stat()
    text.write_text("a b d a b a\n" * 50)
    assert encode(**same).reason == f"{text} has changed or is new"
    os.utime(text, ns=(status.st_mtime_ns, status.st_mtime_ns))  # only the content differs now
    encode(**same)
    text.write_text("a b c a b a\n" * 50)
    os.utime(text, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert encode(**same).reason == f"{text} has changed or is new"

    for name, spoil in [
        ("tokens.i32", lambda path: path.write_bytes(path.read_bytes()[:-4])),
        ("tokens.i32", lambda path: path.write_bytes(b"\1" + path.read_bytes()[1:])),
        ("vocab.tsv", lambda path: path.write_bytes(path.read_bytes() + b"x\t1\n")),
        ("vocab.tsv", lambda path: path.unlink()),
        ("cache.json", lambda path: path.write_bytes(path.read_bytes()[:-9])),
        ("cache.json", lambda path: path.write_text("[]")),
        (
            "cache.json",
            lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "recipe": None})),
        ),
    ]:
        assert encode(**same).reused
        spoil(cache / name)
        again = encode(**same)
        assert not again.reused, name
        assert f"the cache in {cache} " in again.reason
        assert again.fingerprint == encode(**same).fingerprint

    result = encode_corpus([["a"]], TextOptions(min_count=1), cache_dir=cache, keep=True)
    assert result.reason == "the corpus is not made of files that can be recognised"
    vocab = Vocab(["a"], [1])
    assert not encode(vocab=vocab).reused
    assert encode(vocab=vocab, min_count=7).reused
    assert not encode(vocab=Vocab(["a"], [2])).reused


def test_standard_input_and_progress(tmp_path):
    code = (
        "import sys; from wordvec_ca.corpus import TextOptions, encode_corpus\n"
        "seen = []\n"
        "note = lambda *a: seen.append(a)\n"
        "with encode_corpus('-', TextOptions(min_count=2), cache_dir=sys.argv[1], progress=note) as e:\n"
        "    print(e.tokens.tolist(), e.vocab.words, seen[-1], e.stats.files)\n"
    )
    packed = gzip.compress(b"a b a\nc b\n")
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], input=packed, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == f"[0, 1, 0, -1, 1, -1] ['a', 'b'] ({len(packed)}, None, 5) 1"
    (tmp_path / "corpus").write_bytes(packed)
    seen: list[tuple[int, int | None, int]] = []
    encode_corpus(
        tmp_path / "corpus", TextOptions(min_count=1), cache_dir=tmp_path, progress=lambda *a: seen.append(a)
    ).close()
    assert seen[-1] == (len(packed), len(packed), 5)


def test_a_full_disk(tmp_path):
    (tmp_path / "corpus").write_text("word " * 400_000)
    code = (
        "import resource, signal, sys; from wordvec_ca.corpus import encode_corpus\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "folder, keep = sys.argv[1:]\n"
        "encode_corpus(folder + '/corpus', cache_dir=folder + '/cache', keep=keep == 'keep')\n"
    )
    for keep in ("keep", "discard"):
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path, keep], capture_output=True, text=True, check=False
        )
        last = done.stderr.strip().splitlines()[-1]
        assert "DataError: cannot write the encoded corpus to" in last
        assert "File too large; about 3,200,000 bytes are needed" in last
        assert not (tmp_path / "cache").exists()


def test_interrupt_leaves_nothing(tmp_path):
    (tmp_path / "corpus").write_text("some words in a line\n" * 200_000)
    calls = 0

    def interrupt(*_):
        nonlocal calls
        calls += 1
        if calls == 2:
            signal.raise_signal(signal.SIGINT)

    threads = set(threading.enumerate())  # one of an earlier test may still end
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        encode_corpus(
            tmp_path / "corpus",
            TextOptions(block_bytes=1 << 16),
            cache_dir=tmp_path / "cache",
            keep=True,
            progress=interrupt,
        )
    assert time.monotonic() - started < 5
    assert set(threading.enumerate()) <= threads
    assert not (tmp_path / "cache").exists()


def test_an_error_in_the_iterable_comes_through(tmp_path):
    def broken():
        yield ["a"]
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        encode_corpus(broken(), cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=60)
@given(
    text=TEXT.filter(lambda text: text.strip() != ""),
    block_bytes=st.sampled_from([1, 7, 64, 1 << 20]),
    longest=st.sampled_from([1, 3, 10_000]),
    size=st.integers(1, 40),
    workers=st.integers(1, 3),
)
def test_a_stream_is_the_cache(tmp_path_factory, text, block_bytes, longest, size, workers):
    """Both give the same ids, statistics, fingerprint and chunks for training, in every pass."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text").write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_file_module, "MAX_SENTENCE", longest)
        with encode_corpus(folder / "text", TextOptions(min_count=1), cache_dir=folder / "cache") as stored:
            streamed = stream_corpus(
                folder / "text", TextOptions(min_count=1, workers=workers, block_bytes=block_bytes)
            )
            assert streamed.fingerprint == stored.fingerprint
            assert streamed.vocab == stored.vocab
            untimed = {name: 0.0 for name in stored.stats.as_dict() if name.startswith("seconds")}
            assert replace(streamed.stats, **untimed) == replace(stored.stats, **untimed)  # type: ignore[arg-type]
            for _ in range(2):
                assert isinstance(streamed.tokens, TokenStream)
                np.testing.assert_array_equal(np.concatenate(list(streamed.tokens.blocks())), stored.tokens)
                assert len(streamed.tokens) == len(stored.tokens)
                both = [chunks_of(corpus.tokens, size) for corpus in (stored, streamed)]
                while (a := both[0].next()) is not None:
                    b = both[1].next()
                    assert b is not None
                    assert (a.index, a.start, a.stop) == (b.index, b.start, b.stop)
                    np.testing.assert_array_equal(a.tokens, b.tokens)
                assert both[1].next() is None


def test_a_stream_notices_changes(tmp_path):
    path = tmp_path / "corpus"
    path.write_text("a b c\n" * 50)
    tokens = stream_corpus(path, TextOptions(min_count=1)).tokens
    assert isinstance(tokens, TokenStream)
    path.write_text("a b d\n" * 50)
    with pytest.raises(DataError, match="corpus has changed"):
        list(tokens.blocks())
    path.unlink()
    with pytest.raises(DataError, match="there is no file"):
        list(tokens.blocks())
    lines = [["a", "b"]] * 20
    tokens = stream_corpus(lines, TextOptions(min_count=1)).tokens
    assert isinstance(tokens, TokenStream)
    for change in (lambda: lines.append(["a"]), lambda: lines.__delitem__(slice(2)), lambda: lines.sort()):
        change()  # type: ignore[no-untyped-call]
        with pytest.raises(DataError, match="the corpus has changed"):
            list(tokens.blocks())


@pytest.mark.parametrize("corpus", ["-", io.BytesIO(b"a"), iter([["a"]])])
def test_what_can_be_read_once_is_no_stream(corpus):
    with pytest.raises(DataError, match="only once"):
        stream_corpus(corpus)


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_json_lines(tmp_path, block_bytes):
    path = tmp_path / "corpus.jsonl.gz"
    lines = [
        '{"text": "The cat\\nsat.", "id": 7}',
        "",
        '{"id": 8, "text": null}',
        '{"id": 9}',
        '{"text": "half a pair: \\ud800"}',
        '{"text": "cut off',
        "[1]",
        '{"text": 5}',
        '{"a":' * 20_000,
        '{"text": "caf\\u00e9"}\r',
        '{"text": ""}',
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    with encode_corpus(
        path, TextOptions(field="text", min_count=1, block_bytes=block_bytes), cache_dir=tmp_path / "c"
    ) as result:
        assert [" ".join(line) for line in sentences(result.tokens, result.vocab)] == [
            "the cat", "sat .", "half a pair : \ufffd \ufffd \ufffd", "café",
        ]  # fmt: skip
    assert result.stats.records == {"records": 10, "records without text": 2, "malformed records": 4}
    with pytest.raises(
        DataError, match=r"no line is a JSON object .* 'body'; line 1 has the fields 'text', 'id'"
    ):
        count_corpus(path, TextOptions(min_count=1, field="body"))
    (tmp_path / "plain").write_text("a b\n")
    with pytest.raises(DataError, match=r"no line is a JSON object.*line 1 cannot be used"):
        count_corpus([path, tmp_path / "plain"], TextOptions(min_count=1, field="text"))
    with pytest.warns(UserWarning, match=r"looks like JSON lines .*field='text' reads one field"):
        count_corpus(path)
    with pytest.raises(ValueError, match="field is for files"):
        count_corpus(iter(["{}"]), TextOptions(min_count=1, field="text"))


def test_a_record_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(json_records, "LONGEST_RECORD", 1000)
    (tmp_path / "c").write_text(json.dumps({"t": "x " * 5000}) + "\n" + json.dumps({"t": "a b"}) + "\n")
    vocab, stats = count_corpus(tmp_path / "c", TextOptions(min_count=1, field="t"))
    assert vocab.words == ["a", "b"]
    assert stats.records == {"records": 2, "malformed records": 1}


@pytest.mark.parametrize(
    ("min_count", "max_final_vocab"), [(1, None), (0, None), (3, None), (1, 500), (2, 7)]
)
def test_words_that_do_not_fit_into_memory(tmp_path, monkeypatch, min_count, max_final_vocab):
    """Vocabulary, ids and statistics are the same, from several workers that each spill several times."""
    monkeypatch.setattr(compression, "_READ_PLAIN", 5000)
    rng = np.random.default_rng(0)
    numbers = (rng.random(60_000) ** 3 * 30_000).astype(int).tolist()
    words = [f"{a}\\{a % 7}" if a % 3 else f"é{a}" for a in numbers]
    path = tmp_path / "corpus"
    path.write_text("\n".join(" ".join(words[i : i + 40]) for i in range(0, len(words), 40)))
    options: dict[str, Any] = {
        "tokenizer": "whitespace", "min_count": min_count, "max_final_vocab": max_final_vocab,
        "block_bytes": 5000,
    }  # fmt: skip
    with encode_corpus(path, TextOptions(workers=1, **options), cache_dir=tmp_path / "a") as expected:
        lines = sentences(expected.tokens, expected.vocab)
        untimed = {name: 0.0 for name in expected.stats.as_dict() if name.startswith("seconds")}
        monkeypatch.setattr(reading_module, "memory_for_types", lambda: 80_000)
        spills = []
        add = SpilledTypes.add
        monkeypatch.setattr(
            SpilledTypes,
            "add",
            lambda self, number, types: (spills.append(number), add(self, number, types))[1],
        )
        for workers in (1, 3):
            with encode_corpus(
                path, TextOptions(workers=workers, **options), cache_dir=tmp_path / "b"
            ) as spilled:
                assert spilled.vocab == expected.vocab
                assert spilled.vocab.rare == expected.vocab.rare
                assert (spilled.vocab.raw_types, spilled.vocab.raw_tokens) == (
                    expected.vocab.raw_types, expected.vocab.raw_tokens,
                )  # fmt: skip
                assert sentences(spilled.tokens, spilled.vocab) == lines
                assert spilled.fingerprint == expected.fingerprint
                assert replace(spilled.stats, **untimed) == replace(expected.stats, **untimed)
            assert sorted(spills) == list(range(len(spills)))
            assert len(spills) > 2 * workers
            spills.clear()
        n_words, stats = write_vocabulary(path, tmp_path / "vocab.tsv", TextOptions(workers=2, **options))
        assert spills
        expected.vocab.save(tmp_path / "expected.tsv")
        assert (tmp_path / "vocab.tsv").read_bytes() == (tmp_path / "expected.tsv").read_bytes()
        assert n_words == len(expected.vocab)
        assert stats.kept_tokens == expected.stats.kept_tokens
        lists = [line.split() for line in path.read_text().splitlines()]
        with encode_corpus(lists, TextOptions(**options), cache_dir=tmp_path / "c") as from_lists:
            assert sentences(from_lists.tokens, from_lists.vocab) == lines


def test_spilled_words_that_are_all_rare_or_too_many(tmp_path, monkeypatch):
    path = tmp_path / "corpus"
    path.write_text(" ".join(map(str, range(50_000))))
    monkeypatch.setattr(compression, "_READ_PLAIN", 5000)
    monkeypatch.setattr(reading_module, "memory_for_types", lambda: 300_000)
    for function in (count_corpus, lambda path, options: write_vocabulary(path, tmp_path / "out", options)):
        with pytest.raises(DataError, match=r"50,000 tokens of 50,000 types"):
            function(path, TextOptions(min_count=2, block_bytes=5000))
        with pytest.raises(DataError, match="raise max_final_vocab"):
            function(path, TextOptions(min_count=1, max_final_vocab=9, block_bytes=5000))
    monkeypatch.setattr(reading_module, "free_memory", lambda: 10**6)
    with pytest.raises(DataError, match="memory of this machine"):
        count_corpus(path, TextOptions(min_count=1, block_bytes=5000))
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(SpilledTypes, "_new_file", lambda self: (_ for _ in ()).throw(full))
    with pytest.raises(DataError, match=r"is full after 0 bytes .*raise count_memory"):
        count_corpus(path, TextOptions(min_count=1, block_bytes=5000))


ENCODE = """
import sys
from wordvec_ca.corpus import TextOptions, encode_corpus

text, folder, keep = sys.argv[1:]
for _ in range(12):
    found = encode_corpus(text, TextOptions(min_count=1, workers=1), cache_dir=folder, keep=keep == "keep")
    assert [found.vocab.words[i] for i in found.tokens[:2]] == open(text).read().split()[:2]
    found.close()
"""


@pytest.mark.parametrize("keep", [["keep"] * 3, ["drop"] * 3, ["keep", "drop", "drop"]])
def test_runs_with_other_texts_share_a_cache_folder(tmp_path, keep):
    running = []
    for name, whether in zip("abc", keep, strict=True):
        (tmp_path / name).write_text(f"{name}one {name}two {name}one\n" * 3000)
        command = [sys.executable, "-c", ENCODE, str(tmp_path / name), str(tmp_path / "cache"), whether]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
