"""Classifiers that our module trains: the real program predicts with them, their quality, their steps."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from real_program import LOSSES, real_predictions, run

import wordvec_ca.fasttext as fasttext
from wordvec_ca import DataError
from wordvec_ca.fasttext import word_vectors
from wordvec_ca.fasttext.autotune import Objective, size_of
from wordvec_ca.fasttext.model import label_paths, label_tree

OPTIONS = {
    **{"dim": 10, "epoch": 10, "lr": 0.3, "thread": 1},
    **{"wordNgrams": 2, "bucket": 3000, "minn": 2, "maxn": 3},
}


def words_of(path: Path) -> list[str]:
    lines = path.read_text("utf-8").splitlines()
    return [" ".join(word for word in line.split() if not word.startswith("__label__")) for line in lines]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_real_program_predicts_the_same_and_learns_no_better(texts, program, tmp_path, loss):
    model = fasttext.train_supervised(str(texts[0]), loss=loss, **OPTIONS)
    told = [word for name, value in OPTIONS.items() for word in (f"-{name}", value)]
    run(program, "supervised", "-input", texts[0], "-output", tmp_path / "real", "-loss", loss, *told)
    theirs = fasttext.load_model(tmp_path / "real.bin")
    n, precision, _ = model.test(texts[1])
    assert n == theirs.test(texts[1])[0]
    assert precision > theirs.test(texts[1])[1] - 0.03
    for path in (tmp_path / "made.bin", tmp_path / "made.ftz"):
        if path.suffix == ".ftz":
            model.quantize(str(texts[0]), cutoff=600, retrain=True, qnorm=True, lr=0.1, epoch=4)
            assert model.test(texts[1])[1] > precision - 0.06
        model.save_model(path)
        expected = real_predictions(program, path, texts[1], 2)
        labels, probabilities = model.predict(words_of(texts[1]), k=2)
        for line, (own, scores) in enumerate(zip(labels, probabilities, strict=True)):
            for label, score in zip(own, scores, strict=True):
                assert score == pytest.approx(expected[line].get(label, score), abs=1e-4), line
    assert (tmp_path / "made.ftz").stat().st_size < (tmp_path / "made.bin").stat().st_size / 4


def test_an_interrupt_ends_the_threads_after_the_lines_they_are_in(texts, monkeypatch):
    seen = []

    class Interrupted:
        def __enter__(self):
            return [self.show], None

        def __exit__(self, *exception): ...

        def show(self, record):
            seen.append(record)
            if record.fraction > 0:
                raise KeyboardInterrupt

    monkeypatch.setattr("wordvec_ca.fasttext.training.progress_display", lambda style: Interrupted())
    with pytest.raises(KeyboardInterrupt):  # without it, training would take ten days
        fasttext.train_supervised(str(texts[0]), **{**OPTIONS, "epoch": 10**7, "thread": 2})
    assert 0 < seen[-1].fraction < 0.01
    assert seen[-1].words_per_second > 0


def test_one_thread_gives_the_same_rows_and_two_learn_too(texts):
    first, again = (fasttext.train_supervised(str(texts[0]), seed=4, **OPTIONS) for _ in range(2))
    np.testing.assert_array_equal(first.get_input_matrix(), again.get_input_matrix())
    np.testing.assert_array_equal(first.get_output_matrix(), again.get_output_matrix())
    two = fasttext.train_supervised(str(texts[0]), **{**OPTIONS, "thread": 2})
    assert two.test(texts[1])[1] > first.test(texts[1])[1] - 0.04


def test_a_step_is_that_of_the_gradient(tmp_path):
    """One line, one epoch: rows move by lr * (1 - p) along the formulas of Joulin et al. 2016."""
    (tmp_path / "t").write_text("__label__a one two\n__label__b one one\n")
    start = fasttext.train_supervised(str(tmp_path / "t"), dim=5, epoch=0, thread=1)
    model = fasttext.train_supervised(str(tmp_path / "t"), dim=5, epoch=1, lr=0.5, thread=1, minCount=1)
    assert start.words == model.words == ["one", "</s>", "two"]
    rows = start.get_input_matrix()
    hidden = rows.mean(axis=0)
    rate = 0.5
    outputs = np.array([rate * 0.5 * hidden, -rate * 0.5 * hidden])
    assert not start.get_output_matrix().any()
    parts = np.array([2, 1, 0])[:, None] / 3
    second, rate = (parts * rows).sum(axis=0), 0.5 * (1 - 4 / 8)
    logits = outputs @ second
    p = np.exp(logits) / np.exp(logits).sum()
    error = np.array([0, 1]) - p
    np.testing.assert_allclose(model.get_output_matrix(), outputs + rate * np.outer(error, second), atol=1e-6)
    moved = rows + parts * (rate * error @ outputs)
    np.testing.assert_allclose(model.get_input_matrix(), moved, atol=1e-6)


def test_vectors_of_another_file_are_where_training_begins(texts, tmp_path):
    (tmp_path / "v.vec").write_text("2 3\nship 1 2 3\nnever 4 5 6\n")
    model = fasttext.train_supervised(
        str(texts[0]), dim=3, epoch=0, pretrainedVectors=str(tmp_path / "v.vec")
    )
    assert model["ship"].tolist() == [1, 2, 3]
    assert model["never"].tolist() == [4, 5, 6]
    with pytest.raises(DataError, match="give dim=3"):
        fasttext.train_supervised(str(texts[0]), dim=4, pretrainedVectors=str(tmp_path / "v.vec"))


def test_autotune_keeps_to_its_time_and_size(texts, tmp_path):
    model = fasttext.train_supervised(
        str(texts[0]),
        dim=8,
        thread=1,
        autotuneValidationFile=str(texts[1]),
        autotuneDuration=2,
        autotuneModelSize="60K",
        seed=1,
    )
    model.save_model(tmp_path / "m.ftz")
    assert (tmp_path / "m.ftz").stat().st_size <= 60_000
    assert model.get_dimension() == 8
    plain = fasttext.train_supervised(str(texts[0]), dim=8, thread=1)
    assert model.test(texts[1])[1] > plain.test(texts[1])[1] - 0.03
    assert size_of("2M") == 2_000_000
    assert Objective.parse("precisionAtRecall:30:__label__a") == Objective(
        "precisionAtRecall", 0.3, "__label__a"
    )
    with pytest.raises(ValueError, match="autotuneMetric"):
        Objective.parse("f2")


def test_word_vectors_are_those_that_the_real_program_reads(texts, program, tmp_path):
    import subprocess

    model = fasttext.train_unsupervised(str(texts[0]), minCount=1, dim=6, bucket=900, epoch=3, thread=1)
    model.save_model(tmp_path / "u.bin")
    for word in ("ship", "shipping"):
        told = subprocess.run(
            [program, "print-word-vectors", tmp_path / "u.bin"],
            input=f"{word}\n",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        np.testing.assert_allclose(model[word], np.array(told[1:], float), atol=1e-4)
    assert "</s>" in model.words
    assert not any(word.startswith("__label__") for word in model.words)


@pytest.mark.parametrize("maxn", [0, 3])
def test_cbow_at_fasttexts_learning_rate_moves_as_far_as_in_fasttext(tmp_path, maxn):
    rng = np.random.default_rng(1)  # two topics; with a step divided by the number of words they stay close
    topics = [[f"{topic}{number:02}" for number in range(20)] for topic in "ab"]
    text = tmp_path / "text"
    text.write_text("".join(" ".join(rng.choice(topics[line % 2], 12)) + "\n" for line in range(400)))
    model = fasttext.train_unsupervised(
        str(text), model="cbow", dim=10, maxn=maxn, bucket=1000, thread=1, t=1, verbose=0
    )
    a, b = (np.array([model[word] for word in topic]).mean(0) for topic in topics)
    assert a @ b < 0


def test_an_epoch_has_as_many_words_as_the_text_with_its_rare_ones(tmp_path, monkeypatch):
    """fastText counts words below minCount as read only once, at the start: it reads the text further."""
    trained = []

    class Counting(word_vectors.Trainer):
        def run(self, *args):
            super().run(*args)
            trained.append(self)

    monkeypatch.setattr(word_vectors, "Trainer", Counting)
    rare = iter(range(10**6))
    lines = ["".join(f"usual{i % 7} rare{next(rare)} " for i in range(line % 9)) for line in range(900)]
    for text in ("\n".join(lines) + "\n", " ".join(lines)):  # the second is cut as fastText cuts it
        (tmp_path / "text").write_text(text)
        fasttext.train_unsupervised(
            str(tmp_path / "text"), model="cbow", dim=4, bucket=100, thread=1, epoch=3, verbose=0
        )
        words = len(text.split()) + text.count("\n")
        assert trained[-1].tally("words") == pytest.approx(3 * words, abs=1_025)
        assert trained[-1].model.vocab.total_count == words


def test_passes_go_on_where_the_one_before_ended():
    tokens = np.tile(np.arange(6, dtype=np.int32) - 1, 10_000)[1:]
    parts = word_vectors.PartsInTurn(tokens, 40_004)
    read = np.concatenate([block for _ in range(4) for block in parts.blocks()])
    np.testing.assert_array_equal(read, np.tile(tokens, 3)[: len(read)])
    assert len(read) == pytest.approx(4 * 40_004, abs=6)


def test_the_tree_is_a_huffman_tree_with_every_path():
    counts = np.array([9, 5, 5, 2, 1, 1])
    paths = label_paths(label_tree(counts))
    lengths = np.diff(paths.ends)
    assert (lengths * counts).sum() == 9 * 1 + 5 * 2 + 5 * 3 + 2 * 4 + (1 + 1) * 5
    assert np.sum(2.0**-lengths) == 1


def test_labels_with_commas_between_them_are_warned_of(tmp_path):
    lines = ["__label__a,__label__b good fine", "__label__a good", "__label__b,c poor"] * 20
    (tmp_path / "t").write_text("\n".join(lines) + "\n")
    options = {"dim": 4, "epoch": 1, "thread": 1, "verbose": 0}
    with pytest.warns(
        UserWarning, match="1 of 3 labels are several without spaces.*__label__a,__label__b.*spaces"
    ):
        fasttext.train_supervised(str(tmp_path / "t"), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (tmp_path / "t").write_text("\n".join(lines[1:3] * 20) + "\n")
        fasttext.train_supervised(str(tmp_path / "t"), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "must be one of"),
        ({"dim": 0}, "at least 1"),
        ({"label": "__nothing__"}, "no line of the text has a label"),
        ({"minCount": 10**6}, "minCount"),
        ({"input": "absent"}, "cannot be opened"),
    ],
)
def test_what_cannot_be_trained_is_refused(texts, options, message):
    with pytest.raises(ValueError, match=message):
        fasttext.train_supervised(**{"input": str(texts[0]), **options})
    with pytest.raises(TypeError, match="unexpected"):
        fasttext.train_supervised(str(texts[0]), speed=1)
