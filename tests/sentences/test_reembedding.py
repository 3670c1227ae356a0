"""CA-SEM's closed forms and Algorithm 1 against slow, independent arithmetic."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import DataError, reembed
from wordvec_ca.sentences import WordCounts
from wordvec_ca.sentences.ca_sem import Reembedding, chi, reembed_counts
from wordvec_ca.sentences.counts import count_sentences


def problem(seed, n_words=40, size=6, lean=1.0):
    """Random vectors with a common component of strength ``lean``, and counts."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n_words, size)) + lean * rng.normal(size=size)
    return matrix, WordCounts(rng.integers(1, 50, n_words))


def principal_direction(matrix, n):
    """Return the start of the iteration."""
    return reembed_counts(matrix, WordCounts(np.asarray(n, np.int64)), max_iter=0).v0


def energy(matrix, n, v0):
    """Return the energy that is recorded at ``v0``."""
    return reembed_counts(matrix, WordCounts(n), max_iter=0, start=v0).energies[0]


def feasible_energy(matrix, n, v0, x=None):
    """Eq. 17 written out, word by word."""
    u = v0 / np.linalg.norm(v0)
    total = 0.0
    for i, (w, m) in enumerate(zip(matrix, n, strict=True)):
        w_prime = w - (w @ u) * u
        c = chi(w[None], v0)[0].astype(float) if x is None else x[i]
        total += m * ((w - c * v0 - (1 - c) * w_prime) ** 2).sum()
    return total


def naive_iteration(matrix, n, v0):
    """Steps 1 and 2 of Algorithm 1, with a linear least-squares solver for step 2."""
    u = v0 / np.linalg.norm(v0)
    w_prime = matrix - np.outer(matrix @ u, u)
    x = np.array(
        [
            np.clip((w - wp) @ (v0 - wp) / ((v0 - wp) @ (v0 - wp)), 0, 1)
            for w, wp in zip(matrix, w_prime, strict=True)
        ]
    )
    size = matrix.shape[1]
    design = np.concatenate([np.sqrt(m) * c * np.eye(size) for m, c in zip(n, x, strict=True)])
    target = np.concatenate(
        [np.sqrt(m) * (w - (1 - c) * wp) for m, c, w, wp in zip(n, x, matrix, w_prime, strict=True)]
    )
    return np.linalg.lstsq(design, target, rcond=None)[0]


@given(st.integers(0, 10_000), st.floats(0.05, 20.0))
@settings(max_examples=30, deadline=None)
def test_chi_is_the_minimum_over_a_grid(seed, length):
    matrix, _ = problem(seed, n_words=8)
    v0 = length * principal_direction(matrix, np.ones(8))
    u = v0 / np.linalg.norm(v0)
    grid = np.linspace(0, 1, 20_001)
    for w, found in zip(matrix, chi(matrix, v0), strict=True):
        w_prime = w - (w @ u) * u
        distance = (((w - w_prime) - grid[:, None] * (v0 - w_prime)) ** 2).sum(axis=1)
        assert abs(grid[distance.argmin()] - found) <= 1e-4


@given(st.integers(0, 10_000), st.floats(0.1, 10.0))
@settings(max_examples=30, deadline=None)
def test_v0_is_the_least_squares_solution(seed, length):
    matrix, counts = problem(seed)
    start = length * principal_direction(matrix, counts.counts)
    # the second recorded point is one iteration away from the start, whichever of the two was kept
    result = reembed_counts(matrix, counts, max_iter=1, start=start)
    expected = naive_iteration(matrix, counts.counts, start)
    assert result.norms[1] == pytest.approx(np.linalg.norm(expected), rel=1e-9)
    if result.best == 1:
        np.testing.assert_allclose(result.v0, expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_history_is_the_energy_of_eq_17_and_the_best_is_kept(seed):
    matrix, counts = problem(seed, lean=0.3)
    result = reembed_counts(matrix, counts, max_iter=50)
    v0 = principal_direction(matrix, counts.counts)
    for recorded in result.energies[:4]:
        assert recorded == pytest.approx(feasible_energy(matrix, counts.counts, v0), rel=1e-5)
        v0 = naive_iteration(matrix, counts.counts, v0)
    assert result.best == result.energies.argmin()
    assert energy(matrix, counts.counts, result.v0) == pytest.approx(result.energies.min(), rel=1e-12)


def test_rotation_leaves_chi_and_turns_v0():
    matrix, counts = problem(7, size=9)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(9, 9)))[0]
    for options in ({}, {"scale": 1.0}, {"start": "rms"}, {"count_power": 0.5}):
        plain = reembed_counts(matrix, counts, max_iter=20, **options)
        turned = reembed_counts(matrix @ turn, counts, max_iter=20, **options)
        np.testing.assert_allclose(turned.v0, plain.v0 @ turn, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(turned.chi(matrix @ turn), plain.chi(matrix), atol=1e-6)


def test_mirrored_vectors_mirror_v0():
    """The sign of an eigenvector is arbitrary; chi must not notice."""
    matrix, counts = problem(8)
    plain, mirrored = (reembed_counts(sign * matrix, counts, max_iter=20) for sign in (1, -1))
    np.testing.assert_allclose(mirrored.v0, -plain.v0, rtol=1e-9)
    np.testing.assert_allclose(mirrored.chi(-matrix), plain.chi(matrix), atol=1e-7)
    assert (counts.counts * (matrix @ plain.v0)).sum() > 0
    assert plain.chi(matrix).max() > 0


@pytest.mark.parametrize("options", [{"scale": 1.0}, {"scale": 0.5}, {"start": "rms"}])
def test_scale_free_options_ignore_the_scale_of_the_vectors(options):
    matrix, counts = problem(9)
    small, large = (reembed_counts(c * matrix, counts, max_iter=10, **options) for c in (0.01, 10.0))
    np.testing.assert_allclose(large.v0, 1000 * small.v0, rtol=1e-8)
    unit = [reembed_counts(c * matrix, counts, max_iter=10).v0 for c in (0.01, 10.0)]
    assert not np.allclose(unit[1], 1000 * unit[0], rtol=1e-2)  # with the paper's start it is not invariant


def test_scale_holds_the_length():
    matrix, counts = problem(10)
    result = reembed_counts(matrix, counts, scale=1.5, max_iter=10)
    np.testing.assert_allclose(result.norms, result.norms[0], rtol=1e-12)
    u = principal_direction(matrix, counts.counts)
    q2 = ((matrix - np.outer(matrix @ u, u)) ** 2).sum(axis=1)
    assert result.norms[0] == pytest.approx(1.5 * np.sqrt(np.average(q2, weights=counts.counts)), rel=1e-9)


def test_sensitive_part_is_orthogonal_to_v0_and_shrunk():
    matrix, counts = problem(11)
    result = reembed_counts(matrix, counts)
    part = result.transform(matrix)
    assert part.dtype == np.float32
    np.testing.assert_allclose(part @ result.v0, 0, atol=1e-4)
    w_prime = matrix - np.outer(matrix @ result.v0, result.v0) / (result.v0 @ result.v0)
    np.testing.assert_allclose(part, (1 - result.chi(matrix))[:, None] * w_prime, rtol=1e-4, atol=1e-5)


def test_principal_direction_is_that_of_the_repeated_tokens():
    matrix, counts = problem(12)
    tokens = np.repeat(matrix, counts.counts, axis=0)
    first = np.linalg.svd(tokens, full_matrices=False)[2][0]
    assert abs(principal_direction(matrix, counts.counts) @ first) == pytest.approx(1, abs=1e-10)


def test_blocks_change_nothing(monkeypatch):
    matrix, counts = problem(13, n_words=300)
    whole = reembed_counts(matrix, counts, max_iter=5)
    monkeypatch.setattr("wordvec_ca.sentences.ca_sem.BLOCK_ROWS", 7)
    monkeypatch.setattr("wordvec_ca.sentences.ca_sem.HELD_BYTES", 0)
    parts = reembed_counts(matrix, counts, max_iter=5)
    np.testing.assert_allclose(parts.v0, whole.v0, rtol=1e-10)
    np.testing.assert_array_equal(parts.chi(matrix), whole.chi(matrix))


def test_stopping_rule():
    matrix, counts = problem(14)
    assert reembed_counts(matrix, counts, max_iter=0).norms.tolist() == pytest.approx([1.0])
    long = reembed_counts(matrix, counts, max_iter=60)
    short = reembed_counts(matrix, counts, max_iter=60, tol=0.05)
    assert short.converged
    assert len(short.energies) < len(long.energies)
    drops = -np.diff(short.energies) / short.energies[:-1]
    assert (drops[:-1] > 0.05).all()
    assert drops[-1] <= 0.05


# ---------------------------------------------------------------------- text


def vectors(words, seed=0, size=5):
    rng = np.random.default_rng(seed)
    return SimpleNamespace(
        vectors=(rng.normal(size=(len(words), size)) + 1).astype(np.float32),
        index_to_key=list(words),
        key_to_index={word: i for i, word in enumerate(words)},
    )


TEXT = [["the", "cat", "sat"], ["the", "dog"], [], ["unknown", "the", "mat", "unknown"]] * 5
WORDS = ["the", "cat", "dog", "sat", "mat", "never"]


def test_counts_of_text():
    counts = count_sentences(TEXT, vectors(WORDS).key_to_index)
    assert counts.counts.tolist() == [15, 5, 5, 5, 5, 0]
    assert (counts.n_oov, counts.n_sentences, counts.n_tokens) == (10, 20, 45)


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
def test_shards_add_up_to_the_same_v0(n_shards):
    kv = vectors(WORDS)
    shards = [count_sentences(TEXT[i::n_shards], kv.key_to_index) for i in range(n_shards)]
    total = shards[0]
    for shard in shards[1:]:
        total = total + shard
    np.testing.assert_array_equal(reembed(kv, total).v0, reembed(kv, TEXT).v0)
    assert (total.n_oov, total.n_sentences) == (10, 20)


def test_mapping_of_counts_is_the_text():
    kv = vectors(WORDS)
    mapping = {"the": 15, "cat": 5, "dog": 5, "sat": 5, "mat": 5, "unknown": 10}
    np.testing.assert_array_equal(reembed(kv, mapping).v0, reembed(kv, TEXT).v0)


def test_words_without_count_get_chi_but_no_say():
    kv = vectors(WORDS)
    before = reembed(kv, TEXT)
    kv.vectors[WORDS.index("never")] *= 100
    after = reembed(kv, TEXT)
    np.testing.assert_array_equal(after.v0, before.v0)
    assert np.isfinite(after.transform(kv.vectors)).all()


def test_zero_vector_is_its_own_embedding():
    kv = vectors(WORDS)
    kv.vectors[1] = 0
    result = reembed(kv, TEXT)
    assert result.chi(kv.vectors)[1] == 0
    np.testing.assert_array_equal(result.transform(kv.vectors)[1], 0)


def test_one_sentence_and_one_word():
    kv = vectors(WORDS)
    result = reembed(kv, [["cat"]])
    direction = kv.vectors[1] / np.linalg.norm(kv.vectors[1])
    np.testing.assert_allclose(result.v0 / np.linalg.norm(result.v0), direction, rtol=1e-5)
    np.testing.assert_allclose(result.transform(kv.vectors)[1], 0, atol=1e-6)
    fixed = reembed(kv, [["cat"]], scale=2.0)
    assert fixed.norms[0] == pytest.approx(2 * np.linalg.norm(kv.vectors[1]), rel=1e-6)


def test_read_only_memory_map(tmp_path):
    kv = vectors(WORDS)
    np.save(tmp_path / "m.npy", kv.vectors)
    expected = reembed(kv, TEXT).v0
    kv.vectors = np.load(tmp_path / "m.npy", mmap_mode="r")
    np.testing.assert_array_equal(reembed(kv, TEXT).v0, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([], "none of the 0 tokens in 0 sentences"),
        ([[], []], "none of the 0 tokens in 2 sentences"),
        ([["unknown"]], "none of the 1 tokens"),
        (["a string"], "sentence 0 is a string"),
        ({"the": -1}, "count of 'the' is -1"),
    ],
)
def test_text_that_cannot_be_used(text, message):
    with pytest.raises(DataError, match=message):
        reembed(vectors(WORDS), text)


def test_vectors_that_are_all_zero():
    kv = vectors(WORDS)
    kv.vectors[:] = 0
    with pytest.raises(DataError, match="are zero"):
        reembed(kv, TEXT)


def test_counts_of_other_vectors():
    with pytest.raises(DataError, match="3 counts for 6 vectors"):
        reembed(vectors(WORDS), WordCounts(np.ones(3, np.int64)))
    with pytest.raises(DataError, match="same word vectors"):
        WordCounts(np.ones(3, np.int64)) + WordCounts(np.ones(4, np.int64))


@pytest.mark.parametrize(
    "options", [{"max_iter": -1}, {"tol": -0.1}, {"scale": 0}, {"start": "zero"}, {"start": np.zeros(5)}]
)
def test_bad_options(options):
    with pytest.raises(ValueError, match="must be"):
        reembed(vectors(WORDS), TEXT, **options)


def test_save_and_load(tmp_path):
    kv = vectors(WORDS)
    result = reembed(kv, TEXT)
    result.save(tmp_path / "out")
    again = Reembedding.load(tmp_path / "out")
    np.testing.assert_array_equal(again.v0, result.v0)
    np.testing.assert_array_equal(again.energies, result.energies)
    np.testing.assert_array_equal(again.counts.counts, result.counts.counts)
    assert (again.best, again.converged, again.counts.n_oov) == (result.best, result.converged, 10)
    with pytest.raises(DataError, match="does not hold"):
        Reembedding.load(tmp_path)
    whole = (tmp_path / "out/counts.npz").read_bytes()
    for content in (b"nothing", b"", whole[:100]):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(DataError, match="not a file of word counts"):
            WordCounts.load(tmp_path / "bad.npz")


def test_counts_know_their_words(tmp_path):
    path = tmp_path / "counts.npz"
    counts = count_sentences(TEXT, vectors(WORDS).key_to_index)
    counts.save(path, words=WORDS)
    again = WordCounts.load(path, words=WORDS)
    np.testing.assert_array_equal(again.counts, counts.counts)
    assert (again.n_oov, again.n_sentences) == (10, 20)
    with pytest.raises(DataError, match="other words, or in another order"):
        WordCounts.load(path, words=WORDS[::-1])
    odd = ["a\nb", "c", "\ud800"]
    WordCounts(np.ones(3, np.int64)).save(path, words=odd)
    assert WordCounts.load(path, words=odd).n_tokens == 3
    with pytest.raises(DataError, match="other words, or in another order"):
        WordCounts.load(path, words=["a", "b\nc", "\ud800"])
    counts.save(path)
    assert WordCounts.load(path).n_tokens == 45
    with pytest.raises(DataError, match="does not say which words"):
        WordCounts.load(path, words=WORDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("counts", np.array([1, -1])),
        ("counts", np.array([1, 2**63], np.uint64)),
        ("counts", np.array([1.0, np.nan])),
        ("counts", np.array([[1, 2]])),
        ("counts", np.array([1, None])),
        ("n_oov", -1),
        ("n_oov", np.inf),
        ("n_oov", [1]),
        ("n_sentences", -1),
        ("n_sentences", 1.5),
    ],
)
def test_counts_are_whole_numbers(tmp_path, name, value):
    np.savez(tmp_path / "bad.npz", **{"counts": np.array([1, 2]), "n_oov": 0, "n_sentences": 1, name: value})
    with pytest.raises(DataError, match="not a file of word counts"):
        WordCounts.load(tmp_path / "bad.npz")
