"""Words made of n-grams: rows that serve several n-grams, the block's gradient, training, files."""

import dataclasses
import random
from itertools import pairwise, product

import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, KeyedVectors, TrainConfig, Vocab, kernels, train
from wordvec_ca.kernels import aligned_zeros, ngrams_numpy, noise_mass, noise_pool
from wordvec_ca.models import ResolvedConfig, Subwords
from wordvec_ca.runs import continued_config
from wordvec_ca.tables import ngrams_of
from wordvec_ca.training.composed_words import (
    MEETINGS,
    SHORTEST,
    ComposedWords,
    blocks_at_once,
    in_blocks,
    shared_steps,
)

WORDS = ["banana", "bananas", "ananas", "baton", "batons", "the", "thee", "über", "überaus"]
WORDS += ["a", "</s>", "zebra"]
COUNTS = np.array([90, 80, 70, 60, 50, 40, 30, 20, 10, 9, 8, 7])


def subwords(**options):
    config = ResolvedConfig.of(TrainConfig(subwords=True, vector_size=5, **options))
    made = Subwords(config, Vocab(WORDS, COUNTS))
    made.initialise(1, 5)
    return made


class Paper:
    """Bojanowski et al.: a row for each word and each n-gram (or bucket), with nothing shared."""

    def __init__(self, made, min_n, max_n, buckets):
        offsets, self.keys, _, _ = ngrams_of(WORDS, min_n, max_n, buckets)
        self.of_word = [self.keys[a:b].tolist() for a, b in pairwise(offsets)]
        index = dict(zip(made.index.keys.tolist(), made.index.rows.tolist(), strict=True))
        self.own = made.rows[: len(WORDS)].copy()
        self.rows = {key: made.rows[row].copy() for key, row in index.items()}

    def vector(self, i):
        grams = [self.rows[key] for key in self.of_word[i] if key in self.rows]
        return (self.own[i] + sum(grams)) / (1 + len(grams))

    def gain(self, i, gain):
        self.own[i] += gain
        for key in self.of_word[i]:
            if key in self.rows:
                self.rows[key] += gain


@pytest.mark.parametrize(
    ("min_n", "max_n", "buckets", "least"),
    [(3, 6, None, 1), (1, 2, None, 1), (2, 4, 11, 1), (3, 6, None, 100), (3, 3, 1, 1), (50, 60, None, 1)],
)
def test_shared_rows_give_the_vectors_of_separate_ones(min_n, max_n, buckets, least):
    made = subwords(min_n=min_n, max_n=max_n, buckets=buckets, ngram_min_count=least)
    paper = Paper(made, min_n, max_n, buckets or 0)
    vectors, before = aligned_zeros((len(WORDS), 16)), aligned_zeros((len(WORDS), 16))
    rng = np.random.default_rng(2)
    for _ in range(4):
        block = rng.permutation(len(WORDS))[:7].astype(np.int32)
        made.compose(block, vectors, before)
        for i in block:
            np.testing.assert_allclose(vectors[i], paper.vector(i), rtol=1e-5, atol=1e-5)
        gains = rng.normal(size=(len(block), 16)).astype(np.float32)
        vectors[block] += gains
        made.scatter_gains(block, vectors, before)
        for i, gain in zip(block, gains, strict=True):
            paper.gain(i, gain)
    made.compose_all(vectors)
    for i in range(len(WORDS)):
        np.testing.assert_allclose(vectors[i], paper.vector(i), rtol=1e-5, atol=1e-5)
    if (min_n, buckets, least) == (3, None, 1):
        assert len(made.rows) < len(WORDS) + len(set(paper.keys.tolist())) * 2 / 3


def test_words_seen_by_their_ngrams_alone():
    made = subwords(ngram_min_count=1)
    paper = Paper(made, 3, 6, 0)
    vector = by_ngrams(made).vector("banan")
    keys = ngrams_of(["banan"], 3, 6, 0)[1].tolist()
    expected = sum(paper.rows[key] for key in keys if key in paper.rows) / len(keys)
    np.testing.assert_allclose(vector, expected[:5], atol=1e-6)
    assert by_ngrams(made).vector("xyz") is None


def by_ngrams(made):
    from wordvec_ca.tables import NgramVectors

    return NgramVectors(made.index, made.rows[:, :5])


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("width", [16, 32, 112, 128, 144, 304])
def test_loops_do_what_their_twin_does(isa, width):
    from wordvec_ca.kernels import _ngrams

    rng = np.random.default_rng(width)
    n_rows, n_words = 200, 60
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 30, n_words))]).astype(np.int64)
    columns = rng.integers(0, n_rows, offsets[-1]).astype(np.int32)
    weights = rng.random(offsets[-1]).astype(np.float32)
    rows = aligned_zeros((n_rows, width))
    rows[:] = rng.normal(size=rows.shape)
    words = rng.permutation(n_words)[:40].astype(np.int32)
    gains = rng.normal(size=(40, width)).astype(np.float32)
    results = []
    for compose, give_back, extra in (
        (ngrams_numpy.compose, ngrams_numpy.give_back, {}),
        (_ngrams.compose, _ngrams.give_back, {"isa": isa}),
    ):
        mine, vectors, before = (
            aligned_zeros(rows.shape),
            aligned_zeros((n_words, width)),
            aligned_zeros((40, width)),
        )
        mine[:] = rows
        arrays = (mine, offsets, columns, weights, words, vectors, before)
        compose(*arrays, **extra)
        composed = vectors.copy()
        vectors[words] += gains
        give_back(*arrays, **extra)
        results.append((composed, before, mine))
    for readable, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, readable, rtol=1e-5, atol=1e-4)


def test_arrays_that_do_not_fit_are_refused():
    made = subwords()
    vectors, before = aligned_zeros((len(WORDS), 16)), aligned_zeros((3, 16))
    with pytest.raises(ValueError, match="no such word"):
        made.compose(np.array([len(WORDS)], np.int32), vectors, before)
    with pytest.raises(ValueError, match="do not fit"):
        made.compose(np.zeros(4, np.int32), vectors, before)
    with pytest.raises(ValueError, match="outside the vocabulary"):
        ComposedWords(made, vectors, private=False).compose(np.array([len(WORDS)], np.int32))


# ---------------------------------------------------------------------- the block's gradient


MODELS = ("cbow", "skipgram", "ssg", "cwindow", "cbow-attn")


@pytest.mark.parametrize("model", MODELS)
def test_rows_move_along_the_gradient_of_the_block(model):
    """A row moves by minus alpha times the sum of the gradients with respect to its words' vectors.

    The gradient with respect to the row itself would also have the row's weight in the word as a factor:
    fastText's step is a row's gradient without its weight.
    """
    config = TrainConfig(
        **{
            "model": model,
            "subwords": True,
            "ngram_min_count": 1,
            "vector_size": 4,
            "window": 2,
            "sample": 0,
        },
        **{"negatives": "exact", "workers": 1, "alpha": 1e-3, "min_alpha": 1e-3, "attention_warmup": 0},
    )
    made = EmbeddingModel(config, Vocab(WORDS, COUNTS))
    made.initialise()
    rng = np.random.default_rng(3)
    made.subwords.rows[:, :4] = rng.normal(size=(len(made.subwords.rows), 4))
    made.outputs.reshape(len(WORDS), -1, 16)[:, :, :4] = rng.normal(
        size=(len(WORDS), made.outputs.shape[1] // 16, 4)
    )
    outputs = made.outputs.copy()
    made.compose()
    tokens = np.array([0, 1, 3, -1, 2, 5, -1], np.int32)
    train_chunk, pool = kernels.load(), noise_pool(noise_mass(COUNTS), 5, draws=1_000)

    def loss(inputs, alpha):
        hyper = made.hyper()
        hyper["alpha_begin"] = hyper["alpha_end"] = alpha
        made.outputs[:] = outputs
        shared = inputs, *made.shared[1:]
        rng_state, stats = np.array([7, 0], np.uint64), np.zeros(len(kernels.STATS))
        train_chunk(hyper, tokens, np.zeros(0, np.uint32), pool, shared, rng_state, stats)
        return stats[kernels.STATS.index("loss")]

    def composed(rows):
        vectors = aligned_zeros(made.inputs.shape)
        for i in range(len(WORDS)):
            own = slice(made.subwords.offsets[i], made.subwords.offsets[i + 1])
            vectors[i] = made.subwords.weights[own] @ rows[made.subwords.columns[own]]
        return vectors

    step = 1e-2
    by_vector = np.zeros((len(WORDS), 4))
    for word in set(tokens[tokens >= 0].tolist()):
        for k in range(4):
            values = []
            for sign in (1, -1):
                vectors = aligned_zeros(made.inputs.shape)
                vectors[:] = made.inputs
                vectors[word, k] += sign * step
                values.append(loss(vectors, 0.0))
            by_vector[word, k] = (values[0] - values[1]) / (2 * step)
    row = int(made.subwords.columns[made.subwords.offsets[0] + 1])  # one that several words share
    word_of = np.repeat(np.arange(len(WORDS)), np.diff(made.subwords.offsets))
    here = np.flatnonzero(made.subwords.columns == row)
    assert len(set(word_of[here])) > 1
    values = []
    for sign in (1, -1):
        rows = made.subwords.rows.copy()
        rows[row, 1] += sign * step
        values.append(loss(composed(rows), 0.0))
    expected = by_vector[word_of[here], 1] @ made.subwords.weights[here]
    np.testing.assert_allclose((values[0] - values[1]) / (2 * step), expected, rtol=0.02, atol=2e-3)

    before = made.subwords.rows.copy()
    block = ComposedWords(made.subwords, made.inputs, private=False)
    block.compose(tokens)
    loss(block.vectors, 1e-3)
    block.scatter_gains()
    moved = (made.subwords.rows - before)[:, :4] / 1e-3
    gradient = np.zeros_like(moved)
    np.add.at(gradient, made.subwords.columns, by_vector[word_of])
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(moved, -gradient, atol=0.03 * scale)


# ---------------------------------------------------------------------- training


def test_blocks_are_hardly_longer_than_planned():
    """Blocks of twice the size diverge with two threads."""
    for size in (100, 700, 2_600, 4_999):
        for rest in (0, 24, 99, 400, 2_400, 5_000, 50_000):  # of the last line
            blocks = in_blocks(np.arange(size + rest, dtype=np.int32), size)
            assert np.array_equal(np.concatenate(blocks), np.arange(size + rest))
            assert max(map(len, blocks)) <= max(1.2 * size, size + SHORTEST)
            assert min(map(len, blocks)) >= size / 2
            assert rest > 99 or len(blocks) == 1  # a short rest is not cut


def text(n_lines=1500, seed=1):
    rng = random.Random(seed)
    stems, ends = ["kalo", "muri", "pesta", "vilun"], ["", "s", "ka", "men", "tora"]
    return [[rng.choice(stems) + rng.choice(ends) for _ in range(8)] for _ in range(n_lines)]


def options(**more):
    usual = {"model": "skipgram", "subwords": True, "vector_size": 16, "epochs": 2, "sample": 0, "workers": 1}
    return TrainConfig(**{**usual, "vectors": "input", **more})


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("buckets", [None, 50])
def test_a_model_is_saved_and_loaded_with_its_ngrams(tmp_path, model, buckets):
    made = train(text(), options(model=model, window=3, buckets=buckets), output=tmp_path / "m")
    assert made.record["kernel"]["block_tokens"] == made.record["kernel"]["block_tokens"] > 0
    loaded, vectors = EmbeddingModel.load(tmp_path / "m"), KeyedVectors.load(tmp_path / "m")
    for name, array in made.learnt.items():
        assert np.array_equal(loaded.learnt[name], array), name
    assert np.array_equal(loaded.inputs, made.inputs)
    loaded.compose()
    assert np.array_equal(loaded.inputs, made.inputs)
    assert "kalomen" in vectors.key_to_index
    for word in ("kalomenka", "vilunx"):
        assert word in vectors
        assert np.array_equal(vectors[word], made.vectors[word])
    assert np.isfinite(vectors.vectors).all()
    assert ("§§§" in vectors) == (buckets is not None)


def test_without_subwords_nothing_is_composed():
    made = train(text(200), options(subwords=False))
    assert made.subwords is None
    assert made.learnt["inputs"] is made.inputs
    assert "kalomenka" not in made.vectors


def test_several_workers_learn_as_well():
    held_out = text(300, seed=5)
    losses = []
    for workers in (1, 2, 2, 2):
        made = train(text(4000), options(workers=workers, epochs=2), valid=held_out)
        losses.append(made.record["valid_loss_by_epoch"][-1])
        before = made.inputs.copy()
        made.compose()
        assert np.array_equal(before, made.inputs)
    # The median, because a thread that a busy machine stops for long adds steps that are out of date.
    assert np.median(losses[1:]) < losses[0] * 1.01


def test_blocks_are_shorter_where_words_have_more_in_common():
    counts, keep = COUNTS, np.zeros(0, np.uint32)
    steps = [
        shared_steps(subwords(min_n=n, max_n=n, ngram_min_count=1), counts, keep)[0] for n in (1, 2, 3, 5)
    ]
    assert steps == sorted(steps, reverse=True)
    assert blocks_at_once(subwords(min_n=1, max_n=1), counts, keep) < blocks_at_once(
        subwords(min_n=5), counts, keep
    )


def test_blocks_are_shorter_where_other_threads_write_the_same_rows():
    """What all threads compute without seeing each other is as much as one thread may compute."""
    words = ["".join(letters) for letters in product("abcdefghij", repeat=4)]
    rare = np.full(len(words), 10)
    made = Subwords(ResolvedConfig.of(TrainConfig(subwords=True, vector_size=5)), Vocab(words, rare))
    keep = np.zeros(0, np.uint32)
    other_words, _ = shared_steps(made, rare, keep)
    for threads in (1, 2, 4, 8):
        blocks, tokens = blocks_at_once(made, rare, keep, threads)
        assert blocks == threads
        assert SHORTEST < tokens <= MEETINGS / (threads * other_words)


def test_threads_wait_where_words_have_most_rows_in_common():
    alike = subwords(min_n=1, max_n=1, ngram_min_count=1), COUNTS, np.zeros(0, np.uint32)
    assert blocks_at_once(*alike, 32) == blocks_at_once(*alike, 1) == (1, SHORTEST)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_long_line_is_trained_in_several_blocks(threads, monkeypatch):
    """Lines of any length leave the blocks as long as threads allow, and every token is trained."""
    met = []
    compose = ComposedWords.compose
    monkeypatch.setattr(
        ComposedWords, "compose", lambda made, part: (met.append(len(part)), compose(made, part))
    )
    line = [word for words in text(2000) for word in words][:9_000]
    made = train([line] * 2, options(workers=threads, epochs=1), progress=False)
    assert sum(met) == 18_002
    assert max(met) < 2 * made.record["kernel"]["block_tokens"]


def test_training_goes_on_with_new_words(tmp_path):
    first = train(text(), options(), output=tmp_path / "m")
    more = [[*line, "kalotu"] for line in text(400, seed=9)]
    config = options(alpha=1e-9, min_alpha=0, epochs=1)
    second = train(more, config, continue_from=tmp_path / "m")
    assert "kalotu" in second.vocab
    for word in first.vocab.words:
        np.testing.assert_allclose(second.vectors[word], first.vectors[word], atol=2e-5)
    assert np.abs(second.vectors["kalotu"] - first.vectors["kalotu"]).max() < 0.2


# ---------------------------------------------------------------------- fastText


def test_with_buckets_fasttext_and_gensim_give_the_same_vectors(tmp_path):
    gensim = pytest.importorskip("gensim.models.fasttext")
    made = train(text(), options(buckets=300), output=tmp_path / "m")
    vectors = KeyedVectors.load(tmp_path / "m")
    vectors.save(tmp_path / "v.bin", format="fasttext")
    words = [*made.vocab.words, "kalomenka", "vilunx", "überaus", "日本語"]
    read = gensim.load_facebook_model(tmp_path / "v.bin").wv
    for word in words:
        np.testing.assert_allclose(read[word], vectors[word], atol=1e-6)
    fasttext = pytest.importorskip("fasttext")
    if not hasattr(fasttext, "train_supervised"):
        pytest.skip("the package fasttext-predict, which has no vectors, is installed instead of fasttext")
    read = fasttext.load_model(str(tmp_path / "v.bin"))
    for word in words:
        np.testing.assert_allclose(read.get_word_vector(word), vectors[word], atol=1e-6)
    np.testing.assert_array_equal(read.get_output_matrix(), made.outputs[:, :16])


def test_without_buckets_the_words_of_the_vocabulary_keep_their_vectors(tmp_path):
    made = train(text(), options())
    made.vectors.save(tmp_path / "v", format="fasttext")
    read = KeyedVectors.load(tmp_path / "v")
    np.testing.assert_allclose(read[made.vocab.words], made.vectors.vectors, atol=1e-6)
    assert read.ngrams.index.buckets == 2_000_000
    np.testing.assert_allclose(read["kalomenka"], made.vectors["kalomenka"], atol=1e-6)


def test_a_bin_is_trained_further(tmp_path):
    first = train(text(), options(buckets=300), output=tmp_path / "m")
    KeyedVectors.load(tmp_path / "m").save(tmp_path / "v.bin", format="fasttext")
    (tmp_path / "t").write_text("\n".join(map(" ".join, text(800, seed=2))), "utf-8")
    config = continued_config(
        tmp_path / "v.bin", {"alpha": 1e-9, "min_alpha": 0.0, "epochs": 1, "workers": 1, "vectors": "input"}
    )
    assert (config.subwords, config.buckets, config.model) == (True, 300, "skipgram")
    second = train(tmp_path / "t", config, continue_from=tmp_path / "v.bin")
    for word in [*first.vocab.words, "kalomenka"]:
        np.testing.assert_allclose(second.vectors[word], first.vectors[word], atol=1e-5)
    order = [second.vocab.index[word] for word in first.vocab.words]
    np.testing.assert_allclose(second.outputs[order], first.outputs, atol=1e-5)
    third = train(tmp_path / "t", dataclasses.replace(config, alpha=0.05), continue_from=tmp_path / "v.bin")
    assert np.abs(third.vectors["kalomenka"] - first.vectors["kalomenka"]).max() > 0.01


def test_vectors_to_begin_with_do_not_go_with_ngrams(tmp_path):
    with pytest.raises(ValueError, match="n-grams"):
        train(text(100), options(), init_vectors=tmp_path)
