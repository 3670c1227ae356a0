"""Permuted documents: counts are kept, copies stay together, and unchanged words are not called changed."""

import numpy as np
import pytest

from wordvec_ca.change import p_values
from wordvec_ca.change.contexts import Contexts
from wordvec_ca.change.permutations import LabelPermutations, line_numbers

N_WORDS = 400


@pytest.mark.parametrize("n", [60, 700])
def test_permutations_keep_counts_and_copies_together(n):
    """Few lines are permuted one by one, many by shifts of one order; each is equally likely in each text."""
    rng = np.random.default_rng(6)
    labels = (np.arange(n) % 5 == 0).astype(int)
    sixth = n // 6
    lines = np.append(
        np.arange(n - sixth), np.arange(n - 2 * sixth, n - sixth)
    )  # the last third occurs twice
    permuted = LabelPermutations(labels, lines).permuted(np.arange(n), 100, rng)
    assert (permuted[0] == labels).all()
    assert (permuted.sum(axis=1) == labels.sum()).all()
    assert len(np.unique(permuted, axis=0)) == 101
    single, twice = np.arange(n - 2 * sixth), np.arange(n - 2 * sixth, n).reshape(2, sixth)
    together = np.sort(permuted[:, twice].sum(axis=1), axis=1)
    assert (together == together[0]).all()
    assert abs(permuted[1:, single].mean(axis=0) - labels[single].mean()).max() < 0.2


def test_what_no_permutation_can_move_is_known():
    labels = np.array([0, 0, 1, 1, 0, 0, 1])
    assert LabelPermutations(labels, np.array([0, 1, 0, 1, 2, 2, 3])).of_every_text() == pytest.approx(4 / 7)
    assert LabelPermutations(labels, np.array([0, 1, 0, 1, 2, 2, 3])).movable() == pytest.approx(6 / 7)
    assert LabelPermutations(labels, np.array([0, 1, 0, 1, 4, 2, 3])).movable() == pytest.approx(3 / 7)
    assert LabelPermutations(np.array([0, 1]), np.array([0, 0])).of_every_text() == 1


def test_lines_that_are_copies_have_one_number():
    lines = ["a b", "c", "a b", "d d", "c"]
    tokens = np.array([token for line in lines for token in [*map(ord, line.split()), -1]], np.int32)
    lengths = np.array([len(line.split()) + 1 for line in lines])
    assert line_numbers(tokens, lengths).tolist() == [0, 1, 0, 2, 1]


def test_a_sample_keeps_a_small_text_and_all_copies_of_a_line():
    labels = np.repeat([0, 1], [50, 5000])
    lines = np.arange(5050)
    lines[-400:] = lines[-400:] // 4 * 4
    kept = LabelPermutations(labels, lines).sample(np.arange(5050), 1000, np.random.default_rng(0))
    assert kept[:50].all()
    assert 950 <= kept.sum() <= 1060
    assert all(len(set(kept[lines == line].tolist())) == 1 for line in np.unique(lines[-400:]))


@pytest.mark.parametrize(
    ("copied", "times", "sizes"), [(1.0, 2, (1, 1)), (0.2, 5, (1, 3)), (0.1, 2, (1, 1, 2))]
)
def test_p_is_right_where_lines_have_copies(copied, times, sizes):
    """Documents are assigned to the texts at random, with their copies, so nothing changed."""
    rng = np.random.default_rng(times)
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), size=20)
    drawn = [rng.choice(N_WORDS, size=12, p=topics[rng.integers(20)]).tolist() for _ in range(2500)]
    drawn += drawn[: int(copied * len(drawn))] * (times - 1)
    shares = np.cumsum(sizes)[:-1] / sum(sizes)
    small = []
    for _ in range(4):
        lines = [drawn[i] for i in rng.permutation(len(drawn))]
        labels = np.searchsorted(shares, np.arange(len(lines)) / len(lines), side="right")
        tokens = np.array([word for line in lines for word in [*line, -1]], np.int32)
        counts = np.bincount(tokens[tokens >= 0], minlength=N_WORDS)
        directions = rng.standard_normal((N_WORDS, 20)).astype(np.float32) / np.float32(20**0.5)
        contexts = Contexts(tokens, directions, counts, 5)
        numbers = line_numbers(tokens, np.array([len(line) + 1 for line in lines]))
        gaps = contexts.differences(
            LabelPermutations(labels, numbers), np.flatnonzero(counts > 20), 100, 1
        ).gap
        p = p_values(gaps, counts[counts > 20], 1)
        small += (p < 0.05)[np.isfinite(p)].tolist()
    assert 0.02 < np.mean(small) < 0.065
