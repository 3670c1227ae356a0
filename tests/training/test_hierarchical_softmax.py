"""Hierarchical softmax through the trainer: what it learns, its files, its errors."""

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, TrainConfig, train
from wordvec_ca.kernels import huffman_paths
from wordvec_ca.models.paths import joined_paths, tree_paths
from wordvec_ca.specs.models import WORD_MODELS, models_with
from wordvec_ca.training import log_likelihoods

ALONE: dict[str, Any] = {"hs": True, "negative": 0}


def sentences(n: int = 1_500, seed: int = 1) -> list[list[str]]:
    """Return sentences in which each word is followed by one of three."""
    rng = random.Random(seed)
    text = []
    for _ in range(n):
        word = rng.randrange(60)
        line = []
        for _ in range(10):
            word = (word * 7 + rng.randrange(3)) % 60
            line.append(f"w{word}")
        text.append(line)
    return text


def small(**options: Any) -> TrainConfig:
    given = {"vector_size": 20, "window": 2, "min_count": 1, "sample": 0, "epochs": 4, "workers": 1}
    return TrainConfig(**{**given, **options})


@pytest.mark.parametrize("model", [name for name in models_with("has_tree") if name in WORD_MODELS])
def test_each_model_learns_what_follows_what(model):
    trained = train(sentences(), small(model=model, **ALONE))
    losses = trained.record["loss_by_epoch"]
    # all 60 words are about equally frequent, but a neighbour tells which few can follow
    assert losses[-1] < 0.8 * np.log(60)
    assert trained.outputs.shape == (1, 16)


def test_both_losses_are_added():
    alone = [train(sentences(), small(**options)).record["loss_by_epoch"][0] for options in (ALONE, {})]
    both = train(sentences(), small(hs=True))
    assert both.record["loss_by_epoch"][0] == pytest.approx(sum(alone), rel=0.1)
    assert np.abs(both.outputs).max() > 0.1
    assert both.nodes is not None
    assert np.abs(both.nodes).max() > 0.1


def test_the_score_of_a_line_is_the_sum_over_its_predictions():
    model = train(sentences(), small(**ALONE))
    assert model.nodes is not None
    assert model.paths is not None
    line = [3, 17, 5]
    expected = 0.0
    for i, target in enumerate(line):
        x = model.inputs[line[:i] + line[i + 1 :]].mean(axis=0)
        here = slice(model.paths.ends[target], model.paths.ends[target + 1])
        signs = 2 * model.paths.labels[here] - 1
        expected -= np.logaddexp(0, -signs * (model.nodes[model.paths.nodes[here]] @ x)).sum()
    before = model.inputs.copy()
    found = log_likelihoods(model, [line, [3], []])
    assert found[0] == pytest.approx(expected, rel=1e-4)
    assert found[1:].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(model.inputs, before)
    with pytest.raises(ValueError, match="train with hs"):
        log_likelihoods(train(sentences(50), small()), [line])


def test_files_and_training_further(tmp_path):
    first = train(sentences(), small(**ALONE), output=tmp_path / "m")
    assert not (tmp_path / "m" / "outputs.npy").exists()
    loaded = EmbeddingModel.load(tmp_path / "m")
    assert all(np.array_equal(a, b) for a, b in zip(loaded.shared, first.shared, strict=True))
    # the nodes keep their parameters, also with other counts: the tree stays the same
    again = train(sentences(), small(**ALONE, alpha=1e-9, min_alpha=0), continue_from=tmp_path / "m")
    np.testing.assert_allclose(again.nodes, first.nodes, atol=1e-5)
    other = train(sentences(seed=2), small(**ALONE, alpha=1e-9, min_alpha=0), continue_from=tmp_path / "m")
    assert not np.array_equal(other.vocab.counts, first.vocab.counts)
    assert other.nodes is not None
    np.testing.assert_allclose(other.nodes, first.nodes, atol=1e-5)
    before = dict(zip(first.vocab.words, codes(first.paths), strict=True))
    assert dict(zip(other.vocab.words, codes(other.paths), strict=True)) == before


def test_the_sum_of_context_words():
    means, sums = (train(sentences(), small(cbow_mean=mean, alpha=0.05)) for mean in (True, False))
    assert means.record["loss_by_epoch"][-1] != sums.record["loss_by_epoch"][-1]
    assert sums.record["loss_by_epoch"][-1] < sums.record["loss_by_epoch"][0]
    with pytest.raises(ValueError, match="cbow_mean is for cbow"):
        TrainConfig(model="skipgram", cbow_mean=False)


def test_options_that_do_not_go_together(command):
    with pytest.raises(ValueError, match="is for cbow, skipgram"):
        TrainConfig(model="ssg", hs=True)
    with pytest.raises(ValueError, match="negative is 0"):
        TrainConfig(negative=0)
    Path("c.txt").write_text("".join(" ".join(line) + "\n" for line in sentences(100)))
    for arguments, code, said in (
        (["--hs", "--model", "ssg"], 2, "--hs is for cbow, skipgram"),
        (["--negative", "0"], 2, "--negative is 0"),
        (["--hs", "--negative", "0"], 0, ""),
        (["--no-hs", "--model", "ssg", "-o", "x"], 2, "--hs is for"),
        (["--cbow-sum", "-o", "sum"], 0, ""),
    ):
        command("train", "c.txt", "-q", "--workers", 1, "--epochs", 1, *arguments).says(code, said)
    assert {path.name for path in Path("c.cbow").iterdir()} >= {"nodes.npy", "config.json"}


def codes(paths: Any) -> list[str]:
    """Return the branches to each word, as text."""
    return ["".join(map(str, part.astype(int))) for part in np.split(paths.labels, paths.ends[1:-1])]


@pytest.mark.parametrize("n_new", [1, 2, 50])
def test_words_join_a_tree_and_leave_it_as_it_is(n_new):
    rng = np.random.default_rng(1)
    counts = np.sort(rng.zipf(1.5, 100).clip(max=10**6))[::-1]
    new_counts = np.sort(rng.zipf(1.5, n_new).clip(max=1000))[::-1]
    old = huffman_paths(counts)
    paths, places = joined_paths(old, counts, new_counts)
    found, before = codes(paths), codes(old)
    prefix = found[0].removesuffix(before[0])
    assert found[:100] == [prefix + code for code in before]  # the subtree of the old words
    assert len(set(found)) == 100 + n_new
    assert not [a for a in found for b in found if a != b and b.startswith(a)]  # it is a prefix code
    assert abs(sum(2.0 ** -len(code) for code in found) - 1) < 1e-9  # and it is complete
    for word in (0, 50, 99):  # each old node keeps its parameters under its new number
        old_nodes = old.nodes[old.ends[word] : old.ends[word + 1]]
        new_nodes = paths.nodes[paths.ends[word] + len(prefix) : paths.ends[word + 1]]
        assert np.array_equal(places[old_nodes], new_nodes)
    assert sorted(set(paths.nodes.tolist())) == list(range(99 + n_new))
    assert (paths.nodes[paths.ends[:-1]] == 0).all()
    mixed = rng.permutation(100 + n_new)
    tree = np.stack(
        [np.concatenate([counts, new_counts]), np.repeat([0, 1], [100, n_new]), np.arange(100 + n_new)]
    )
    assert codes(tree_paths(tree[:, mixed])) == [found[word] for word in mixed]


def test_a_model_that_is_trained_further_keeps_its_tree(tmp_path):
    rng = np.random.default_rng(1)

    def lines(words, first=0):
        starts = rng.integers(first, first + words, 600)
        return [[f"w{(start + i) % (first + words)}" for i in range(8)] for start in starts.tolist()]

    text = lines(40)
    config = TrainConfig(vector_size=12, epochs=8, hs=True, negative=0, workers=1, min_count=1, sample=0)
    first = train(text, config, output=tmp_path / "a")
    more = dataclasses.replace(config, epochs=1)
    further = train(
        [*text, *lines(5, 40)], more, output=tmp_path / "b", continue_from=tmp_path / "a", valid=text
    )
    change = further.record["changes"][0]
    assert (change["nodes_kept"], change["nodes_new"]) == (39, len(further.vocab) - 40)
    anew = train(text, more, valid=text)
    losses = [one.record["valid_loss_by_epoch"][-1] for one in (further, anew)]
    assert losses[0] < losses[1] - 0.1  # only the nodes above the old tree still have to learn
    loaded = EmbeddingModel.load(tmp_path / "b")
    assert np.array_equal(loaded.tree, further.tree)
    assert codes(loaded.paths) == codes(further.paths)
    third = train(lines(60), more, continue_from=tmp_path / "b")  # and a third group of words
    assert sorted(set(third.tree[1].tolist())) == [0, 1, 2]
    before = dict(zip(first.vocab.words, codes(first.paths), strict=True))
    now = dict(zip(third.vocab.words, codes(third.paths), strict=True))
    assert all(now[word].endswith(code) for word, code in before.items())
