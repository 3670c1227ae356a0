"""Segmentation against exhaustive search, the paper's example, and odd vocabularies."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordvec_ca.sentences import PhraseDictionary


def exhaustive(tokens, words, joiner):
    """Best (cost, segmentation) over all 2^(n-1) ways to cut; slow and obvious."""
    best = None
    for cuts in itertools.product([False, True], repeat=max(len(tokens) - 1, 0)):
        groups, current = [], list(tokens[:1])
        for token, cut in zip(tokens[1:], cuts, strict=True):
            if cut:
                groups.append(current)
                current = [token]
            else:
                current.append(token)
        if current:
            groups.append(current)
        segments = [joiner.join(group) for group in groups]
        if any(len(g) > 1 and s not in words for g, s in zip(groups, segments, strict=True)):
            continue  # an unknown token is a segment of one token
        n_oov = sum(segment not in words for segment in segments)
        key = (
            n_oov,
            len(segments),
            [-len(group) for group in groups],
        )  # ties: longest first segment, then second, ...
        if best is None or key < best[0]:
            best = (key, segments)
    return best[1] if best else []


phrases = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map("_".join)


@given(st.sets(phrases, max_size=12), st.lists(st.sampled_from("abcde"), max_size=9))
def test_equals_exhaustive_search(words, tokens):
    found = PhraseDictionary(words).segment(tokens)
    assert found == exhaustive(tokens, words, "_")
    assert "_".join(found) == "_".join(tokens)


@pytest.mark.parametrize("word", ["_", "__", "_a", "a_", "a__b", ""])
def test_odd_vocabulary_entries_are_words(word):
    dictionary = PhraseDictionary({word, "a", "b"})
    assert dictionary.segment(["a", "b", word]) == ["a", "b", word]
    assert dictionary.segment([]) == []


def test_linear_in_the_length_of_the_sentence():
    """Ten times the tokens, about ten times the look-ups, even when every prefix is a phrase's beginning."""

    class Counting(dict):
        n = 0

        def __contains__(self, key):
            Counting.n += 1
            return super().__contains__(key)

    words = Counting({"_".join("a" * n): n for n in range(1, 6)})
    dictionary = PhraseDictionary(words)
    costs = []
    for length in (1000, 10_000):
        Counting.n = 0
        assert len(dictionary.segment(["a"] * length)) == length // 5
        costs.append(Counting.n)
    assert costs[1] < 10.2 * costs[0]


def test_bad_arguments():
    with pytest.raises(ValueError, match="joiner is empty"):
        PhraseDictionary({"a"}, joiner="")
    with pytest.warns(UserWarning, match="no word of the vocabulary holds 'phrases.tsv'.*such as '_'"):
        PhraseDictionary({"new_york", "new", "york"}, joiner="phrases.tsv")


def test_reembed_and_eval_join_phrases_as_embed_does(tmp_path, command):

    import numpy as np

    from wordvec_ca import KeyedVectors
    from wordvec_ca.eval.lookup import with_phrases
    from wordvec_ca.sentences import WordCounts

    words = ["new_york", "new", "york", "is", "big", "a"]
    vectors = KeyedVectors(
        words, np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32), [9, 8, 7, 6, 5, 4]
    )
    vectors.save(tmp_path / "v.safetensors")
    (tmp_path / "text").write_text("New York is big\na new york\nnew\n")

    counted = {}
    for phrases in ([], ["--phrases", "_"]):
        out = tmp_path / f"c{len(phrases)}.npz"
        command("reembed", "v.safetensors", "text", "--counts-only", "-q", *phrases, "-o", out).says(0)
        counted[len(phrases)] = WordCounts.load(out, words=words)
    assert counted[0].counts.tolist() == [0, 3, 2, 1, 1, 1]
    assert counted[2].counts.tolist() == [2, 1, 0, 1, 1, 1]
    assert counted[2].n_sentences == counted[0].n_sentences == 3
    assert with_phrases(vectors, [["New", "York", "is", "odd"]], "_") == [["new_york", "is", "odd"]]
    rows = [
        f"{i % 5}\t{a}\t{b}\n"
        for i, (a, b) in enumerate([("new york is big", "a new york"), ("is big", "a")] * 4)
    ]
    (tmp_path / "sts.tsv").write_text("".join(rows))
    found = []
    for phrases in ([], ["--phrases", "_"]):
        found.append(
            command("eval", "v.safetensors", "--sts", "sts.tsv", "-q", "--json", *phrases).says(0).out
        )
    assert found[0] != found[1]
