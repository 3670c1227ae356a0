"""The Gaussian HMM against enumeration, pure log space and planted data; V-measure against counting."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.eval import controls
from wordvec_ca.eval.data.treebanks import TaggedCorpus, read_tagged
from wordvec_ca.eval.probes import gaussian_hmm
from wordvec_ca.eval.probes.gaussian_hmm import EncodedText, GaussianHMM, decode, train
from wordvec_ca.eval.statistics.clustering import many_to_one, v_measure
from wordvec_ca.eval.tasks import pos_induction


def small_problem(seed, n_states=3, n_types=5, dim=2, lengths=(4, 1, 3), spread=1.0):
    rng = np.random.default_rng(seed)
    text = EncodedText(
        vectors=rng.normal(size=(n_types, dim)) * spread,
        tokens=rng.integers(0, n_types + 1, sum(lengths)).astype(np.int32),  # n_types: out of vocabulary
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    )
    model = GaussianHMM(
        start=rng.dirichlet(np.ones(n_states)),
        transition=rng.dirichlet(np.ones(n_states) * 0.3, size=n_states),
        means=rng.normal(size=(n_states, dim)) * spread,
        variance=0.4,
    )
    return model, text


def log_density(model, text):
    """ln N(v; mu, variance I), from the formula; 0 for an unknown word."""
    dim = text.vectors.shape[1]
    squares = ((text.vectors[:, None, :] - model.means[None]) ** 2).sum(axis=2)
    known = -squares / (2 * model.variance) - dim / 2 * np.log(2 * np.pi * model.variance)
    return np.vstack([known, np.zeros(len(model.means))])


def enumerated(model, text):
    """Return log-likelihood, one step of EM and best paths, by summing over every sequence of states."""
    n_states, density = len(model.start), log_density(model, text)
    total, best = 0.0, []
    first, pairs = np.zeros(n_states), np.zeros((n_states, n_states))
    mass, sums = np.zeros(n_states), np.zeros_like(model.means)
    for begin, end in itertools.pairwise(text.offsets):
        tokens = text.tokens[begin:end]
        paths = list(itertools.product(range(n_states), repeat=len(tokens)))
        scores = np.array(
            [
                np.log(model.start[path[0]])
                + sum(np.log(model.transition[a, b]) for a, b in itertools.pairwise(path))
                + sum(density[x, k] for x, k in zip(tokens, path, strict=True))
                for path in paths
            ]
        )
        total += logsumexp(scores)
        best += paths[int(np.argmax(scores))]
        for path, p in zip(paths, np.exp(scores - logsumexp(scores)), strict=True):
            first[path[0]] += p
            for a, b in itertools.pairwise(path):
                pairs[a, b] += p
            for x, k in zip(tokens, path, strict=True):
                if x < len(text.vectors):
                    mass[k] += p
                    sums[k] += p * text.vectors[x]
    return (total, best, first / first.sum(), pairs / pairs.sum(axis=1, keepdims=True), sums / mass[:, None])


@pytest.mark.parametrize("seed", range(6))
def test_one_step_is_that_of_enumerating_all_paths(seed):
    model, text = small_problem(seed)
    improved, likelihoods = train(model, text, iterations=1, tolerance=0)
    total, best, start, transition, means = enumerated(model, text)
    assert likelihoods[0] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(improved.start, start, atol=1e-12)
    np.testing.assert_allclose(improved.transition, transition, atol=1e-11)
    np.testing.assert_allclose(improved.means, means, atol=1e-11)
    np.testing.assert_array_equal(decode(model, text), best)


def forward_in_log_space(model, text):
    density = log_density(model, text)
    total = 0.0
    with np.errstate(divide="ignore"):
        log_start, log_transition = np.log(model.start), np.log(model.transition)
    for begin, end in itertools.pairwise(text.offsets):
        alpha = log_start + density[text.tokens[begin]]
        for x in text.tokens[begin + 1 : end]:
            alpha = logsumexp(alpha[:, None] + log_transition, axis=0) + density[x]
        total += logsumexp(alpha)
    return total


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_scaling_loses_nothing_against_log_space(spread):
    # At spread 30 the densities of one type differ by hundreds of nats between the states.
    model, text = small_problem(7, n_states=6, n_types=40, dim=5, lengths=(50, 80, 1, 200), spread=spread)
    likelihood = train(model, text, iterations=0)[1][0]
    assert likelihood == pytest.approx(forward_in_log_space(model, text), rel=1e-12)


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    model, text = small_problem(8, n_types=20, lengths=(5, 9, 2, 7, 1, 30))
    whole, likelihoods = train(model, text, iterations=3, tolerance=0)
    monkeypatch.setattr(gaussian_hmm, "BLOCK", 8)
    parts, again = train(model, text, iterations=3, tolerance=0)
    np.testing.assert_allclose(again, likelihoods, rtol=1e-13)
    np.testing.assert_allclose(parts.means, whole.means, atol=1e-12)
    np.testing.assert_allclose(parts.transition, whole.transition, atol=1e-12)


def planted(n_states=6, n_types=240, dim=8, n_sentences=300, seed=0, noise=0.25):
    """Return text from a Gaussian HMM with well separated means and a marked order of the states."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_states, dim))
    state_of_type = np.arange(n_types) % n_states
    matrix = means[state_of_type] + noise * rng.normal(size=(n_types, dim))
    transition = rng.dirichlet(np.full(n_states, 0.3), size=n_states)
    sentences, tags = [], []
    for _ in range(n_sentences):
        state = rng.integers(n_states)
        words, states = [], []
        for _ in range(rng.integers(1, 25)):
            words.append(f"w{rng.choice(np.flatnonzero(state_of_type == state))}")
            states.append(f"T{state}")
            state = rng.choice(n_states, p=transition[state])
        sentences.append(words)
        tags.append(states)
    kv = KeyedVectors([f"w{i}" for i in range(n_types)], (5 * matrix + 3).astype(np.float32))
    return kv, TaggedCorpus("planted", sentences, tags, [""] * n_sentences)


def test_planted_states_are_found_and_controls_fall_to_the_floor():
    kv, data = planted()
    report = pos_induction.evaluate(kv, data, seed=3, restarts=10, variance=0.2)
    assert report.details["restarts"][report.details["restart"]]["v_measure"] >= 0.95
    assert report.value > 0.9
    assert report.coverage == 1.0
    assert report.n == data.n_tokens
    assert report.metrics["v-measure"].low <= report.value <= report.metrics["v-measure"].high
    # 6 states with 40 equally frequent words each: only the vectors can tell them apart
    for name in controls.CONTROLS:
        floor = pos_induction.evaluate(controls.control(name, kv, seed=1), data, seed=3, restarts=3)
        assert floor.value < 0.3, name


def test_the_result_does_not_depend_on_the_number_of_threads():
    kv, data = planted(n_sentences=60, noise=0.8)
    one = pos_induction.evaluate(kv, data, restarts=3, workers=1)
    two = pos_induction.evaluate(kv, data, restarts=3, workers=2)
    np.testing.assert_array_equal(one.items["state"], two.items["state"])
    assert one.metrics == two.metrics


def test_unknown_words_are_counted_and_punctuation_is_left_out_of_the_second_figure():
    kv, data = planted(n_sentences=100)
    for words, tags in zip(data.sentences, data.tags, strict=True):
        words.append("never-seen")
        tags.append(".")
    report = pos_induction.evaluate(kv, data, restarts=4, variance=0.2)
    assert report.details["oov_tokens"] == 100
    assert report.coverage == pytest.approx(1 - 100 / data.n_tokens)
    kept = ~np.isnan(report.items["gold_of_words"])
    assert (~kept).sum() == 100
    gold, states = report.items["gold"][kept], report.items["state"][kept]
    expected = np.mean([v_measure(gold, of_restart) for of_restart in states.T])
    assert report.metrics["v-measure-no-punct"].value == pytest.approx(expected)
    with pytest.raises(DataError, match="none of its 1 words has a vector"):
        pos_induction.evaluate(kv, TaggedCorpus("x", [["zzz"]], [["A"]], [""]))


def test_the_unit_of_the_vectors_does_not_matter():
    kv, data = planted(n_sentences=60, noise=0.8)
    scaled = KeyedVectors(kv.index_to_key, kv.vectors * 128)
    np.testing.assert_array_equal(
        pos_induction.evaluate(kv, data, restarts=2).items["state"],
        pos_induction.evaluate(scaled, data, restarts=2).items["state"],
    )


labels = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), min_size=1, max_size=60)


@given(labels)
@settings(max_examples=100, deadline=None)
def test_v_measure_is_that_of_counting(pairs):
    """The same number comes from conditional entropies with dictionaries, and from scikit-learn."""
    from sklearn.metrics import v_measure_score

    classes, clusters = (np.array(side) for side in zip(*pairs, strict=True))
    n = len(pairs)
    joint, of_class, of_cluster = Counter(pairs), Counter(classes.tolist()), Counter(clusters.tolist())
    class_given_cluster = -sum(c / n * np.log(c / of_cluster[k]) for (_, k), c in joint.items())
    cluster_given_class = -sum(c / n * np.log(c / of_class[g]) for (g, _), c in joint.items())
    h_class = -sum(c / n * np.log(c / n) for c in of_class.values())
    h_cluster = -sum(c / n * np.log(c / n) for c in of_cluster.values())
    h = 1 - class_given_cluster / h_class if h_class > 0 else 1.0
    c = 1 - cluster_given_class / h_cluster if h_cluster > 0 else 1.0
    expected = 2 * h * c / (h + c) if h + c > 1e-12 else 0.0
    assert v_measure(classes, clusters) == pytest.approx(expected, abs=1e-9)
    assert v_measure(classes, clusters) == pytest.approx(v_measure_score(classes, clusters), abs=1e-9)
    best = sum(max(joint[g, k] for g in of_class) for k in of_cluster)
    assert many_to_one(classes, clusters) == pytest.approx(best / n)


def test_the_permuted_control_keeps_norms_within_frequency_bins():
    kv = KeyedVectors([f"w{i}" for i in range(100)], np.arange(1, 201, dtype=np.float32).reshape(100, 2))
    other = controls.permuted(kv, seed=2)
    moved = (other.vectors != kv.vectors).any(axis=1).mean()
    assert moved > 0.8
    for start, end in ((0, 1), (1, 3), (3, 7), (7, 15), (63, 100)):
        assert {tuple(row) for row in other.vectors[start:end]} == {
            tuple(row) for row in kv.vectors[start:end]
        }
    directions = controls.random_directions(kv, seed=2)
    np.testing.assert_allclose(
        np.linalg.norm(directions.vectors, axis=1), np.linalg.norm(kv.vectors, axis=1), rtol=1e-5
    )


def test_control_falls_on_the_wsj_sample(glove, data):
    corpus = read_tagged(data / "pos" / "wsj_sample.tsv")
    assert (len(corpus), corpus.n_tokens, len(corpus.tag_set())) == (3569, 86027, 45)
    real = pos_induction.evaluate(glove, corpus, restarts=1)
    floor = pos_induction.evaluate(controls.permuted(glove), corpus, restarts=1)
    assert 0.35 < real.value < 0.75
    assert floor.metrics["v-measure"].high < real.metrics["v-measure"].low - 0.1
