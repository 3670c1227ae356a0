"""Phrases: found and joined as by slow, simple implementations."""

import io
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordvec_ca.corpus.collocations as collocations_module
import wordvec_ca.text.blocks as blocks_module
from wordvec_ca import DataError, Phrases, TrainConfig, Vocab, train
from wordvec_ca.corpus import TextOptions
from wordvec_ca.corpus.collocations import find_phrases, save_phrases
from wordvec_ca.corpus.encode import count_corpus, encode_corpus, stream_corpus
from wordvec_ca.files import compression

WORDS = st.sampled_from(["a", "b", "c", "a_b", "é", "."])
LINES = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=8)
PHRASES = st.lists(st.lists(WORDS, min_size=2, max_size=4).map(tuple), min_size=1, max_size=6)


def slow_join(line: list[str], phrases: set[tuple[str, ...]]) -> list[str]:
    joined = []
    i = 0
    while i < len(line):
        length = next((n for n in range(4, 1, -1) if tuple(line[i : i + n]) in phrases), 1)
        joined.append("_".join(line[i : i + length]))
        i += length
    return joined


@settings(deadline=None, max_examples=150)
@given(
    lines=LINES.filter(any),
    sequences=PHRASES,
    min_count=st.integers(0, 2),
    workers=st.integers(1, 3),
    block_bytes=st.sampled_from([1, 7, 1 << 20]),
)
def test_joined_as_a_slow_reading_does(tmp_path_factory, lines, sequences, min_count, workers, block_bytes):
    folder = tmp_path_factory.mktemp("corpus")
    path = folder / "text"
    path.write_text("".join(" ".join(line) + "\r\n" for line in lines))
    expected = [slow_join(line, set(sequences)) for line in lines]
    counts = Counter(word for line in expected for word in line)
    kept = {word: n for word, n in counts.items() if n >= min_count}
    if not kept:
        return
    phrases = Phrases(sequences)
    wanted = [word for line in expected for word in [*(w for w in line if w in kept), None]]
    options: dict[str, Any] = {
        "phrases": phrases, "tokenizer": "whitespace", "workers": workers, "block_bytes": block_bytes,
    }  # fmt: skip
    with encode_corpus(path, TextOptions(min_count=min_count, **options), cache_dir=folder / "c") as result:
        assert result.vocab == Vocab.from_counts(kept)
        assert result.vocab.raw_types == len(counts) == result.stats.raw_types
        assert result.stats.raw_tokens == counts.total()
        assert result.stats.oov_tokens == counts.total() - sum(kept.values())
        read = [result.vocab.words[i] if i >= 0 else None for i in result.tokens.tolist()]
        both = zip([None, *wanted], wanted, strict=False)
        assert read == [word for before, word in both if word is not None or before is not None]
        for again in (
            encode_corpus(path, TextOptions(**options), vocab=result.vocab, cache_dir=folder / "c"),
            encode_corpus(lines, TextOptions(min_count=min_count, phrases=phrases), cache_dir=folder / "c"),
        ):
            np.testing.assert_array_equal(again.tokens, result.tokens)
        streamed = stream_corpus(path, TextOptions(min_count=min_count, **options))
        assert streamed.fingerprint == result.fingerprint


@pytest.mark.parametrize("block_bytes", [10, 1 << 20])
def test_a_long_line_is_joined_as_any_other(monkeypatch, block_bytes):
    monkeypatch.setattr(compression, "_READ_PLAIN", 100)
    text = "x\n" + "new york " * 5000 + "\nend\n"
    vocab, stats = count_corpus(
        io.BytesIO(text.encode()),
        TextOptions(min_count=1, phrases=Phrases([("new", "york")]), block_bytes=block_bytes),
    )
    assert (vocab.words, vocab.counts.tolist()) == (["new_york", "end", "x"], [5000, 1, 1])
    assert stats.raw_tokens == 5002
    monkeypatch.setattr(blocks_module, "LONGEST_RUN", 1003)  # text is cut, always at the same places
    vocab, _ = count_corpus(
        io.BytesIO(text.encode()),
        TextOptions(min_count=1, phrases=Phrases([("new", "york")]), block_bytes=block_bytes),
    )
    assert vocab.counts.tolist()[0] == 4955


@pytest.mark.parametrize("scoring", ["word2phrase", "npmi"])
def test_found_as_a_slow_count_does(tmp_path, monkeypatch, scoring):
    # many sorted lists, merged in many pieces
    monkeypatch.setattr(collocations_module, "_PAIRS_AT_ONCE", 700)
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(600):
        line = [f"w{int(i)}" for i in rng.zipf(1.5, 12) % 300]
        for word in range(len(line)):
            if line[word] == "w7":
                line[word : word + 2] = ["w7", "w8"]
        lines.append(line + (["."] if rng.random() < 0.5 else []))
    path = tmp_path / "corpus"
    path.write_text("".join(" ".join(line) + "\n" for line in lines))
    least = {"word2phrase": 0.5, "npmi": -0.1}[scoring]
    alone = Counter(word for line in lines for word in line)
    pairs = Counter(pair for line in lines for pair in pairwise(line) if "." not in pair)
    n = alone.total()
    expected = {}
    for (a, b), together in pairs.items():
        if together < 3 or alone[a] < 3 or alone[b] < 3:
            continue
        score = (together - 3) / (alone[a] * alone[b]) * n
        if scoring == "npmi":
            score = math.log(together * n / (alone[a] * alone[b])) / -math.log(together / n)
        if score >= least:
            expected[a, b] = (score, together)
    found = find_phrases(path, TextOptions(min_count=3, workers=2), scoring=scoring, threshold=least)
    assert len(found) > 5
    assert {phrase.words for phrase in found} == set(expected)
    for phrase in found:
        assert expected[phrase.words] == (pytest.approx(phrase.score), phrase.times)
    assert [-phrase.score for phrase in found] == sorted(-phrase.score for phrase in found)
    save_phrases(tmp_path / "phrases", found)
    assert Phrases.load(tmp_path / "phrases").sequences == [phrase.words for phrase in found]


def test_longer_phrases_in_a_second_round(tmp_path, command):
    rng = np.random.default_rng(1)
    filler = [f"f{i}" for i in range(400)]
    lines = []
    for _ in range(400):
        middle = ["new", "york", "city"] if rng.random() < 0.3 else list(rng.choice(filler, 2))
        lines.append([*rng.choice(filler, 4), *middle, *rng.choice(filler, 4)])
    (tmp_path / "corpus").write_text("".join(" ".join(line) + "\n" for line in lines))

    first, second = tmp_path / "1.tsv", tmp_path / "2.tsv"
    options = ("--threshold", 20, "--workers", 1)
    command("phrases", "corpus", "-o", first, *options).says(0)
    assert set(Phrases.load(first).sequences) == {("new", "york"), ("york", "city")}
    first.write_text("new york\n")
    command("phrases", "corpus", "-o", second, "--phrases", first, *options).says(0)
    assert Phrases.load(second).sequences == [("new", "york", "city"), ("new", "york")]
    command("phrases", "corpus", "-o", second).says(2, "exists")
    command("phrases", "corpus", "-o", "3", "--threshold", 1e9).says(1, "lower --threshold")
    command("phrases", "corpus", "-o", "3", "--phrases", "none").says(1, "cannot read none")
    assert not Path("3").exists()
    quick = {"vector_size": 4, "epochs": 1, "workers": 1}
    model = train(tmp_path / "corpus", TrainConfig(phrases=str(second), **quick))  # type: ignore[arg-type]
    assert "new_york_city" in model.vocab
    assert "york" not in model.vocab
    assert model.record["corpus"]["raw_tokens"] < sum(map(len, lines))


def test_the_cache_knows_its_phrases(tmp_path):
    (tmp_path / "corpus").write_text("new york is new\n" * 9)
    kept: dict[str, Any] = {"cache_dir": tmp_path / "cache", "keep": True}
    encode_corpus(tmp_path / "corpus", TextOptions(min_count=1), **kept).close()
    (tmp_path / "phrases").write_text("new york\t3.5\t9\n\n")
    joined = encode_corpus(
        tmp_path / "corpus", TextOptions(min_count=1, phrases=tmp_path / "phrases"), **kept
    )
    assert joined.reason.startswith("phrases was None and is ")
    assert joined.vocab.words == ["is", "new", "new_york"]
    given = TextOptions(min_count=1, phrases=Phrases([("new", "york")]))
    assert encode_corpus(tmp_path / "corpus", given, **kept).reused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n", "has no phrase"),
        (b"a b\none\n", "line 2: 'one' is not a phrase"),
        (b"a " * 33, "is not a phrase; a line has 2 to 32 words"),
        (b"caf\xe9 au lait\n", "not UTF-8"),
    ],
)
def test_bad_phrase_files(tmp_path, content, message):
    (tmp_path / "phrases").write_bytes(content)
    with pytest.raises(DataError, match=message):
        Phrases.load(tmp_path / "phrases")


def test_a_corpus_for_phrases_must_be_there_twice():
    with pytest.raises(DataError, match="reading the text twice"):
        find_phrases("-")
