"""Contexts of words: against plain loops, in pieces of any size, and where only the frequency differs."""

import numpy as np
import pytest

from wordvec_ca.change import contexts as module
from wordvec_ca.change.contexts import RARITY, Contexts
from wordvec_ca.change.permutations import LabelPermutations

WINDOW, N_WORDS, SIZE = 3, 12, 5


def documents(seed: int, n: int) -> list[list[int]]:
    """Return documents of up to eight words; the first words are the most frequent."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, N_WORDS + 1)
    return [rng.choice(N_WORDS, size=rng.integers(1, 9), p=shares / shares.sum()).tolist() for _ in range(n)]


def contexts_of(lines: list[list[int]], seed: int = 0) -> tuple[Contexts, np.ndarray, np.ndarray]:
    """Return the contexts, and the directions and counts of the words."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((N_WORDS, SIZE)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    tokens = np.array([word for line in lines for word in [*line, -1]], np.int32)
    counts = np.bincount(tokens[tokens >= 0], minlength=N_WORDS)
    return Contexts(tokens, directions, counts, WINDOW), directions, counts


def mean_contexts(
    lines: list[list[int]], labels: np.ndarray, word: int, directions: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return the mean contexts of a word in two texts, without the centre and the texts' own difference."""
    weight = RARITY / (RARITY + counts / counts.sum())
    sums, weights = np.zeros((2, SIZE)), np.zeros(2)
    means, of_text = np.zeros((2, SIZE)), np.zeros(2)
    for line, text in zip(lines, labels, strict=True):
        means[text] += weight[line] @ directions[line]
        of_text[text] += weight[line].sum()
        for place in np.flatnonzero(np.array(line) == word):
            for other in range(len(line)):
                far = abs(other - place)
                if 0 < far <= WINDOW:
                    part = (WINDOW + 1 - far) / WINDOW * weight[line[other]]
                    sums[text] += part * directions[line[other]]
                    weights[text] += part
    means /= of_text[:, None]
    contexts = sums / weights[:, None] - means.mean(axis=0)
    shift = means[0] - means[1]
    return contexts - np.outer(contexts @ shift, shift) / (shift @ shift)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the squared distance as a share of the squared lengths."""
    return float(((one - other) ** 2).sum() / ((one**2).sum() + (other**2).sum()))


def test_contexts_are_those_of_plain_loops():
    lines = documents(1, 120)
    labels = np.arange(120) % 2
    contexts, directions, counts = contexts_of(lines)
    rows = np.array([0, 3, 7])
    found = contexts.differences(LabelPermutations(labels, np.arange(120)), rows, 20, 1)
    for i, word in enumerate(rows):
        one, other = mean_contexts(lines, labels, word, directions, counts)
        assert found.distance[0, i] == pytest.approx(distance(one, other), abs=1e-5)
        assert found.gap[i, 0] == pytest.approx(np.log(((one - other) ** 2).sum()), abs=1e-3)
        assert found.by_chance[0, i] <= found.band[0, i]


def test_the_error_is_that_of_documents_drawn_again():
    """It is the spread over bootstrap samples of the documents of a word, drawn from each text by itself."""
    rng = np.random.default_rng(2)
    labels = rng.integers(2, size=3000)
    lines = [rng.integers(1, N_WORDS, size=6).tolist() for _ in labels]
    for number in range(0, 3000, 10):  # in each text mostly other words are around the word
        first = 1 if rng.random() < 0.1 + 0.8 * labels[number] else 7
        lines[number] = [*(first + rng.integers(5, size=2)).tolist(), 0, int(first + rng.integers(5))]
    contexts, directions, counts = contexts_of(lines)
    error = contexts.differences(LabelPermutations(labels, np.arange(3000)), np.array([0]), 20, 1).error[0]
    drawn = []
    for _ in range(40):
        these = np.concatenate([rng.choice(np.flatnonzero(labels == k), (labels == k).sum()) for k in (0, 1)])
        one, other = mean_contexts([lines[i] for i in these], labels[these], 0, directions, counts)
        drawn.append(distance(one, other))
    assert error == pytest.approx(np.std(drawn, ddof=1), rel=0.35)


def test_copies_of_lines_make_no_interval_shorter():
    lines = documents(3, 300)
    labels = np.arange(300) % 2
    rows = np.arange(4)
    once = contexts_of(lines)[0].differences(LabelPermutations(labels, np.arange(300)), rows, 20, 1)
    thrice = contexts_of(lines * 3)[0].differences(
        LabelPermutations(np.tile(labels, 3), np.tile(np.arange(300), 3)), rows, 20, 1
    )
    np.testing.assert_allclose(thrice.distance, once.distance, atol=1e-5)
    np.testing.assert_allclose(thrice.error, once.error, rtol=1e-3)
    one_line = [[0, 1, 2]] * 5 + [[0, 3, 4]] * 5
    labels = np.repeat([0, 1], 5)
    assert np.isnan(
        contexts_of(one_line)[0].differences(LabelPermutations(labels, labels), rows[:1], 20, 1).error
    ).all()


def test_pieces_and_threads_change_nothing(monkeypatch):
    lines = documents(4, 400)
    labels = np.random.default_rng(4).integers(3, size=400)
    copies = np.arange(400) // 2 * 2 % 300  # some lines twice, some four times
    lines = [lines[i] for i in copies]
    contexts, *_ = contexts_of(lines)
    rows = np.arange(N_WORDS)
    monkeypatch.setattr(module, "MOST_DOCUMENTS", 150)
    whole = contexts.differences(LabelPermutations(labels, copies), rows, 25, 5)
    assert np.isfinite(whole.gap).any()
    monkeypatch.setattr(module, "GROUP", 300)
    monkeypatch.setattr(module, "BLOCK", 40)
    told: list[int] = []
    parts = contexts.differences(LabelPermutations(labels, copies), rows, 25, 5, threads=3, done=told.append)
    for one, other in zip(whole, parts, strict=True):
        # float32 products of other shapes are rounded in another way
        np.testing.assert_allclose(one, other, atol=2e-5)
    some = contexts.differences(LabelPermutations(labels, copies), rows[[2, 9]], 25, 5)
    np.testing.assert_allclose(some.gap, whole.gap[[2, 9]], atol=2e-5)
    assert sum(told) == N_WORDS


def test_a_word_that_became_frequent_has_not_changed():
    """The second text has ten times as many documents with the word, all of the same kind."""
    rng = np.random.default_rng(8)
    lines = [[0, *rng.integers(1, 6, size=5).tolist()] for _ in range(330)]
    lines += [rng.integers(6, N_WORDS, size=6).tolist() for _ in range(270)]
    labels = np.r_[np.zeros(30, int), np.ones(300, int), np.zeros(270, int)]
    gap = (
        contexts_of(lines)[0]
        .differences(LabelPermutations(labels, np.arange(600)), np.array([0]), 200, 1)
        .gap[0]
    )
    assert 0.05 < (gap[1:] > gap[0]).mean() < 0.95


def test_words_with_contexts_in_fewer_than_two_documents_of_a_text_are_unknown():
    """A word that is the only word of its document has no context there."""
    lines = [[0, 1, 2], [0, 2, 3], [0, 1], [0, 3], [4, 4, 4, 1], [5], [5], [5], [5, 5]]
    labels = np.array([0, 0, 1, 1, 0, 0, 0, 1, 1])
    found = contexts_of(lines)[0].differences(
        LabelPermutations(labels, np.arange(9)), np.array([0, 4, 5]), 20, 1
    )
    assert np.isfinite(found.distance[0]).tolist() == [True, False, False]
    assert np.isfinite(found.gap[:, 0]).tolist() == [True, False, False]
