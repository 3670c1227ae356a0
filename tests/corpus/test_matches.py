"""Vocabularies and models that do not match the text: how much matches is reported, with a likely cause."""

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors, Phrases, Vocab
from wordvec_ca.corpus import TextOptions, count_corpus, encode_corpus
from wordvec_ca.text.normal_forms import in_normal_form

LINES = [["the", "cat", "sat", "on", "the", "mat"]] * 30
NFD = unicodedata.normalize("NFD", "le café fermé")


def text(tmp_path: Path, *lines: str) -> str:
    (tmp_path / "t").write_text("".join(line + "\n" for line in lines))
    return str(tmp_path / "t")


def counts(corpus: Any, **options: Any) -> dict[str, int]:
    vocab, _ = count_corpus(corpus, TextOptions(min_count=1, **options))
    return dict(zip(vocab.words, vocab.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("phrases", "message"),
    [
        ([("The", "Cat"), ("On", "The")], "none of the 2 phrases .*have capitals.*lowercase=False"),
        ([("cafe\u0301", "sat")], "none of the 1 phrases .*normal form NFC"),
        ([("the cat", "sat-"), ("on,", "mat.")], "none of the 2 phrases .*the tokenizer splits"),
        ([("dog", "cat")], "none of the 1 phrases occurs in the text"),
    ],
)
@pytest.mark.parametrize("lists", [False, True])
def test_phrases_of_which_none_occurs(tmp_path, phrases, message, lists):
    corpus = LINES if lists else text(tmp_path, *map(" ".join, LINES))
    with pytest.warns(UserWarning, match=message):
        _, stats = count_corpus(corpus, TextOptions(min_count=1, phrases=Phrases(phrases)))
    assert stats.records == {"given phrases": len(phrases), "joined phrases": 0}


def test_phrases_that_occur_are_counted(tmp_path):
    options = TextOptions(min_count=1, phrases=Phrases([("the", "cat"), ("a", "dog")]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with encode_corpus(text(tmp_path, "the cat sat"), options, cache_dir=tmp_path / "c") as found:
            assert found.stats.records == {"given phrases": 2, "joined phrases": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["The", "Cat", "Mat"], "none of the 3 words .*have capitals.*lowercase=False"),
        (["The", "Cat", "mat"], "16.7% of the tokens .*2 of 3 words have capitals"),
        (["cafe\u0301", "mat"], "16.7% of the tokens .*1 of 2 words are not in the normal form"),
    ],
)
def test_a_vocabulary_that_does_not_fit(tmp_path, words, message):
    vocab = Vocab(words, np.arange(len(words), 0, -1))
    corpus = text(tmp_path, *map(" ".join, LINES))
    if message.startswith("none"):
        with pytest.raises(DataError, match=message):
            encode_corpus(corpus, TextOptions(), vocab=vocab, cache_dir=tmp_path / "c")
    else:
        with pytest.warns(UserWarning, match=message):
            encode_corpus(corpus, TextOptions(), vocab=vocab, cache_dir=tmp_path / "c")


def test_words_in_two_normal_forms(tmp_path):
    corpus = text(tmp_path, "le café fermé", NFD, NFD)
    with pytest.warns(
        UserWarning, match=r"2 words are there twice.*'café' \(1 and 2 times\); normalize='nfc'"
    ):
        assert len(counts(corpus)) == 5
    for given in (
        corpus,
        [NFD.split(), ["le", "café", "fermé"], NFD.split()],
        iter(["le café fermé", NFD, NFD]),
    ):
        assert counts(given, normalize="nfc") == {"le": 3, "café": 3, "fermé": 3}
    (tmp_path / "t.jsonl").write_text(f'["{NFD.split()[1]}"]\n["café"]\n')
    assert counts(str(tmp_path / "t.jsonl"), normalize="nfc") == {"café": 2}


@pytest.mark.parametrize("cut", [1, 2, 3, 100])
def test_text_is_normalised_however_it_is_cut(cut):
    given = f"{NFD}\r\n a\u0323\u0302 \u1100\u1161 e\n\u0301x".encode() + b"\xff\xfe " + NFD.encode()
    pieces = [given[i : i + cut] for i in range(0, len(given), cut)]
    found = b"".join(in_normal_form(pieces, "nfc"))
    assert found.decode("utf-8", "replace") == unicodedata.normalize("NFC", given.decode("utf-8", "replace"))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_look_ups_try_the_other_form(form):
    from wordvec_ca import SentenceVectorizer

    words = [unicodedata.normalize(form, word) for word in ("café", "le", "fermé")]
    vectors = KeyedVectors(words, np.eye(3, dtype=np.float32), [3, 2, 1])
    for word in ("café", unicodedata.normalize("NFD", "café")):
        assert word in vectors
        assert vectors.get_index(word) == 0
        assert vectors.known_form(word.capitalize()) == words[0]
    vectorizer = SentenceVectorizer(vectors, method="mean")
    for sentence in ("café fermé", unicodedata.normalize("NFD", "café fermé")):
        for given in (sentence, sentence.split()):
            assert vectorizer.fit([given]).transform([given])[0].tolist() == [0.5, 0, 0.5]


def test_ligatures_are_counted_or_written_as_letters(tmp_path):
    (tmp_path / "a").write_text("the ﬁrst oﬃce and the first office\n" * 3, "utf-8")
    with pytest.warns(UserWarning, match="2 words, 6 tokens, have ligatures.*normalize='nfkc'"):
        count_corpus(str(tmp_path / "a"), TextOptions(min_count=1))
    for corpus in (str(tmp_path / "a"), [["ﬁrst", "oﬃce", "first", "office"]] * 3):
        vocab, _ = count_corpus(corpus, TextOptions(min_count=1, normalize="nfkc"))
        assert vocab.counts[vocab.index["first"]] == vocab.counts[vocab.index["office"]] == 6
