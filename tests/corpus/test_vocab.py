"""The vocabulary: its order, pruning and its file."""

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wordvec_ca import DataError, Vocab
from wordvec_ca.files import read_words

WORD = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
    st.text(st.sampled_from("\\tnr\t\n\r \u00a0\u2028\x85a"), min_size=1, max_size=6),
)
COUNTS = st.dictionaries(WORD, st.integers(0, 10**12), min_size=1, max_size=30)


@given(COUNTS)
def test_order_is_count_then_bytes(counts):
    vocab = Vocab.from_counts(counts)
    assert vocab.words == sorted(counts, key=lambda w: (-counts[w], w.encode("utf-8")))
    assert vocab.counts.tolist() == [counts[w] for w in vocab.words]
    assert vocab.total_count == sum(counts.values())
    assert all(vocab.index[w] == i for i, w in enumerate(vocab.words))


@settings(deadline=None)
@given(COUNTS)
@example({"\ufeff": 0, "0": 0})  # not the byte order mark of the file
def test_any_word_survives_the_file(tmp_path_factory, counts):
    path = tmp_path_factory.mktemp("vocab") / "vocab.tsv"
    vocab = Vocab.from_counts(counts)
    vocab.save(path)
    assert Vocab.load(path) == vocab
    assert path.read_bytes().count(b"\n") == len(vocab)
    # The order of the lines does not matter.
    lines = path.read_bytes().split(b"\n")[:-1]
    path.write_bytes(b"\n".join(reversed(lines)))
    assert Vocab.load(path) == vocab
    written = b"\n".join(lines) + b"\n"
    Vocab.load(path).save(path)
    assert path.read_bytes() == written


@given(COUNTS, st.integers(0, 6), st.integers(1, 10))
def test_max_final_vocab_raises_min_count(counts, min_count, most):
    least = min_count
    while sum(c >= least for c in counts.values()) > most:  # above the next count that occurs
        least = min(c for c in counts.values() if c >= least) + 1
    expected = {w: c for w, c in counts.items() if c >= least}
    vocab = Vocab.from_counts(counts)
    if expected:
        pruned = vocab.prune(min_count, most)
        assert dict(zip(pruned.words, pruned.counts.tolist(), strict=True)) == expected
        assert (pruned.raw_types, pruned.raw_tokens) == (len(counts), sum(counts.values()))
    else:
        with pytest.raises(DataError, match="no word is left"):
            vocab.prune(min_count, most)


def test_word2vec_vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("</s> 0\nthe 30\nNew York 7\nback\\slash 7\nno\u00a0break 9\r\n".encode())
    vocab = Vocab.load(path)
    assert vocab.words == ["the", "no\u00a0break", "New York", "back\\slash", "</s>"]
    assert vocab.counts.tolist() == [30, 9, 7, 7, 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"the\t3\na\tx\n", "line 2: the count 'x' of 'a' is not a whole number"),
        (b"the\t3\na\t-1\n", "line 2: the count '-1' of 'a'"),
        (b"the\t3\na\t1.5\n", "line 2: the count '1.5' of 'a'"),
        (b"the\t3\na\t1_0\n", "line 2: the count '1_0' of 'a'"),
        (b"the\t3\na\t99999999999999999999\n", "line 2: the count 99999999999999999999 of 'a' is too large"),
        (b"the\t3\n\nof\t2\n", "line 2: the line is blank"),
        (b"the\t3\nof\n", "line 2: 'of' is not a word and a count"),
        (b"the\t3\n\t2\n", "line 2: .* is not a word and a count"),
        (b"the\t3\nof\t2\nthe\t1\n", "line 3: the word 'the' was already on line 1"),
        (b"the\t3\ncaf\xe9\t2\n", "line 2: invalid UTF-8 .byte 0xe9"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "bad.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        Vocab.load(path)
    assert str(path) in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"cannot read the vocabulary .*none: No such file"):
        Vocab.load(tmp_path / "none")


def test_bad_values():
    with pytest.raises(DataError, match="'a' occurs twice"):
        Vocab(["a", "b", "a"], [3, 2, 1])
    with pytest.raises(DataError, match="count of 'b' is -2"):
        Vocab(["a", "b"], [3, -2])
    with pytest.raises(DataError, match="lone surrogate"):
        Vocab(["a", "\ud800"], [3, 2])
    with pytest.raises(DataError, match="empty word"):
        Vocab(["", "b"], [3, 2])
    with pytest.raises(ValueError, match="2 words need as many counts"):
        Vocab(["a", "b"], [3])
    with pytest.raises(ValueError, match="must be integers"):
        Vocab(["a"], [1.5])
    with pytest.raises(DataError, match=r"occurs 3 times, but min_count is 5; set it to 3"):
        Vocab(["a", "b"], [3, 2]).prune(5)


def test_a_million_words_load_quickly(tmp_path):
    path = tmp_path / "vocab.tsv"
    words = [f"w{i}" for i in range(1_000_000)]
    vocab = Vocab(words, np.arange(1_000_000, 0, -1))
    vocab.save(path)
    started = time.process_time()
    loaded = Vocab.load(path)
    assert time.process_time() - started < 4  # about 1 s on an idle core
    assert loaded == vocab


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match=r"cannot write .*it is a folder"):
        Vocab(["a"], [1]).save(tmp_path)
    if os.path.exists("/dev/full"):
        with pytest.raises(DataError, match=r"cannot write the vocabulary '/dev/full': No space left"):
            Vocab(["a"], [1]).save("/dev/full")


def test_command(command):
    Path("corpus.txt").write_bytes(b"The the cat.\nthe dog \xff\n")
    made = command("vocab", "corpus.txt", "-o", "v.tsv", "--min-count", 1, "--json")
    made.says(0, "7 tokens of 5 types", "1 invalid UTF-8", "corpus.txt', line 2")
    assert Path("v.tsv").read_bytes() == "the\t3\n.\t1\ncat\t1\ndog\t1\n\ufffd\t1\n".encode()
    assert made.json["raw_tokens"] == 7
    command("vocab", "corpus.txt", "-o", "v.tsv").says(2, "exists")
    command("vocab", "corpus.txt", "-o", "v.tsv/below").says(2)
    command("vocab", "corpus.txt", "-o", "v.tsv", "--overwrite").says(1, "Error: no word is left")
    assert Path("v.tsv").exists()


def test_regular_lines_are_read_as_line_by_line(tmp_path):
    """Lines that are parsed together, and the same lines with one that has to be parsed alone."""
    rng = random.Random(3)
    path = tmp_path / "v.tsv"
    counts = [0, 9, 10, 123_456_789, 10**15 - 1, 2**53]
    for _ in range(300):
        lines = []
        for number in range(rng.randrange(1, 6)):
            word = "".join(
                rng.choice("aé語 \u2028\ufeff\0\\\\nt0") for _ in range(rng.randrange(1, 4))
            ) + str(number)
            lines.append(f"{word}\t{rng.choice(counts)}\n")
        if not rng.randrange(4):  # things that are not a count, a line or a tab
            at = rng.randrange(len(lines))
            lines[at] = rng.choice(
                ["a\t1\t2\n", "a\t\n", "\t1\n", "a\t1x\n", "a\t:\n", "a\t/\n", " \n", "a b\n", "a\r\t1\n"]
            )
        path.write_bytes("".join(lines).encode())
        found = _answer(path)
        path.write_bytes("".join(lines).encode() + b"last 7\n")
        other = _answer(path)
        if isinstance(found, str):
            assert other == found
        else:
            assert other == ([*found[0], "last"], [*found[1], 7])


def _answer(path):
    try:
        words, counts = read_words(path)
    except DataError as error:
        return str(error)
    return words, counts.tolist()
