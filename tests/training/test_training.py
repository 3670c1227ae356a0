"""Training from Python: corpora, callbacks, records, and models that are saved and read again."""

import dataclasses
import gc
import json
import math
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
from small_runs import same, sentences

from wordvec_ca import DataError, EmbeddingModel, KeyedVectors, Progress, TrainConfig, Vocab, resume, train
from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.errors import OptionError
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.models.sizes import n_parameters
from wordvec_ca.runs.estimate import measured_speed
from wordvec_ca.specs.models import WORD_MODELS
from wordvec_ca.training.chunks import parts
from wordvec_ca.training.schedule import Schedule, keep_thresholds
from wordvec_ca.training.trainer import Trainer

KINDS = [{"model": model} for model in WORD_MODELS if model != "cbow-attn"]
KINDS += [{"model": "cbow-attn", "attention": kind} for kind in ("full", "position", "word")]
IDS = [" ".join(kind.values()) for kind in KINDS]


def small(**options: Any) -> TrainConfig:
    """Return a configuration that is quick and reproducible."""
    return TrainConfig(**{"vector_size": 12, "window": 3, "epochs": 2, "workers": 1, **options})


# ---- corpora ----------------------------------------------------------------------------------------------


def test_path_lists_lines_and_generator_are_the_same_corpus(tmp_path):
    text = sentences()
    path = tmp_path / "c.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in text))
    expected = train(path, small())
    for corpus in (str(path), [path], text, (line for line in text), (" ".join(line) for line in text)):
        assert same(train(corpus, small()), expected)
    assert expected.record["corpus"]["raw_tokens"] == sum(map(len, text))


def test_an_encoded_corpus_is_used_again(tmp_path):
    with encode_corpus(sentences(), cache_dir=tmp_path / "cache") as encoded:
        first, second = train(encoded, small()), train(encoded, small())
        assert same(first, second)
        assert same(first, train(sentences(), small()))


@pytest.mark.parametrize("kind", [{"model": "cbow-attn"}, {"model": "ssg"}], ids=["cbow-attn", "ssg"])
def test_a_model_is_the_same_without_a_cache(tmp_path, kind):
    path = tmp_path / "c.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in sentences(2000)))
    config = small(epochs=3, **kind)
    expected = train(path, config, valid=path)
    streamed = train(path, config, valid=path, no_cache=True, output=tmp_path / "model")
    assert same(streamed, expected)
    for what in ("loss_by_epoch", "valid_loss_by_epoch"):
        assert streamed.record[what] == expected.record[what]
    assert streamed.record["corpus"]["fingerprint"] == expected.record["corpus"]["fingerprint"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["c.txt", "model"]


def test_a_corpus_that_changes_under_a_run_ends_it(tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in sentences()))

    def change(record):
        path.write_text("".join(" ".join(line) + "\n" for line in sentences(seed=record.epoch + 1)))

    for workers in (1, 3):
        with pytest.raises(DataError, match=r"c.txt has changed"):
            train(path, small(epochs=5, workers=workers), no_cache=True, callbacks=[change])
    with pytest.raises(ValueError, match="keep_cache and no_cache exclude"):
        train(path, small(), no_cache=True, keep_cache=True)


def test_every_token_is_trained_once_per_epoch_by_any_number_of_workers():
    text = sentences()
    n_tokens = sum(map(len, text))
    for workers in (1, 3):
        words = []
        train(
            text,
            small(workers=workers, epochs=3),
            callbacks=[lambda record, words=words: words.append(record.words)],
        )
        assert words[-1] == 3 * n_tokens
    # cbow with whole windows and without sub-sampling: one prediction for each word
    model = train(text, small(sample=0, shrink_windows=False, epochs=3))
    assert model.record["predictions"] == 3 * n_tokens


def test_subsampling_keeps_what_its_formula_says():
    text, sample = sentences(3000), 1e-2
    model = train(text, small(sample=sample, shrink_windows=False, epochs=1))
    counts = model.vocab.counts.astype(float)
    ratio = sample * counts.sum() / counts
    keep = np.minimum(np.sqrt(ratio) + ratio, 1)  # word2vec.c
    assert keep[0] < 0.2
    thresholds = keep_thresholds(model.vocab, sample)
    assert np.allclose(thresholds / 2**32, keep, atol=1e-9)
    # a word that is the only one left on its line is not predicted; there are few of these
    expected, sd = (counts * keep).sum(), math.sqrt((counts * keep * (1 - keep)).sum())
    assert expected - 5 * sd - 0.05 * expected < model.record["predictions"] < expected + 5 * sd
    assert len(keep_thresholds(model.vocab, 0)) == 0


def test_vocabulary_is_read_and_used_as_it_is(tmp_path):
    Vocab.from_counts({"the": 1000, "w1": 50, "w2": 40, "unseen": 30}).save(tmp_path / "v.tsv")
    model = train(sentences(), small(min_count=999), vocab=tmp_path / "v.tsv")
    assert model.vocab.words == ["the", "w1", "w2", "unseen"]
    assert model.vectors.get_vecattr("unseen", "count") == 30
    assert same(model, train(sentences(), small(min_count=999), vocab=Vocab.load(tmp_path / "v.tsv")))


# ---- callbacks and interruption ---------------------------------------------------------------------------


def test_callbacks_receive_frozen_records_in_order():
    records: list[Progress] = []
    model = train(sentences(), small(epochs=4), callbacks=[records.append], valid=sentences(50, seed=2))
    ends = [record for record in records if record.epoch_ended]
    assert [record.epoch for record in ends] == [1, 2, 3, 4]
    assert [record.fraction for record in ends] == [0.25, 0.5, 0.75, 1.0]
    assert [record.epoch_loss for record in ends] == model.record["loss_by_epoch"]
    assert [record.valid_loss for record in ends] == model.record["valid_loss_by_epoch"]
    assert ends[-1].alpha == pytest.approx(model.config.min_alpha)
    with pytest.raises(dataclasses.FrozenInstanceError):
        records[0].loss = 0.0  # type: ignore[misc]


def test_arguments_of_another_type_are_refused_before_the_corpus_is_read(tmp_path):
    unlike = (
        ({"config": {"epochs": 3}}, "TrainConfig"),
        ({"callbacks": print}, "list"),
        ({"callbacks": [None]}, "list"),
    )
    for wrong, hint in unlike:
        with pytest.raises(TypeError, match=hint):
            train(tmp_path / "not-there.txt", **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"TrainConfig\(vector_size=50\)"):
        train(tmp_path / "not-there.txt", vector_size=50)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no parameter 'size'. Did you mean vector_size\?"):
        train(tmp_path / "not-there.txt", size=50)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sentences as lists of words"):
        train(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list"):
        resume(tmp_path / "not-there", callbacks=print)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"subwords": True}, {"workers": 4, "replicas": 2}])
def test_the_memory_of_a_trained_model_is_free_as_soon_as_nobody_uses_it(options):
    gc.disable()  # Python looks for cycles of references when it likes
    try:
        model = train(sentences(), TrainConfig(vector_size=12, epochs=1, **options))
        alive = weakref.ref(model), weakref.ref(model.inputs.base)
        del model
        assert [one() for one in alive] == [None, None]
    finally:
        gc.enable()


def test_a_rate_of_0_is_refused():
    with pytest.raises(OptionError, match=r"^alpha is 0, so nothing would be learnt"):
        train(sentences(), small(alpha=0))


def test_callback_stops_the_run_and_the_model_is_saved(tmp_path):
    model = train(
        sentences(),
        small(epochs=50),
        output=tmp_path / "m",
        callbacks=[lambda record: record.epoch_ended and record.epoch == 3],
    )
    assert len(model.record["loss_by_epoch"]) == 3
    assert model.record["interrupted"] is False
    assert json.loads((tmp_path / "m" / "config.json").read_text())["trained_fraction"] == pytest.approx(
        3 / 50
    )


def test_callback_in_the_middle_of_an_epoch_stops_after_the_chunks_under_way(monkeypatch):
    monkeypatch.setattr("wordvec_ca.training.schedule.RECORD_EVERY", 0.001)
    text = sentences(20_000)
    model = train(
        text, small(model="ssg", vector_size=100), callbacks=[lambda record: not record.epoch_ended]
    )
    assert 0 < model.record["trained_fraction"] < 0.5


def test_error_in_a_callback_is_passed_on_and_leaves_no_thread(tmp_path):
    def fail(record):
        raise RuntimeError("my callback")

    before = set(threading.enumerate())  # one of an earlier test may still end
    with pytest.raises(RuntimeError, match="my callback"):
        train(sentences(), small(workers=2, epochs=100), output=tmp_path / "m", callbacks=[fail])
    assert set(threading.enumerate()) <= before
    assert list(tmp_path.iterdir()) == []


# ---- learning ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", WORD_MODELS)
def test_loss_begins_at_its_known_value_and_falls(model):
    held_out = sentences(100, seed=2)
    # outputs are 0 at first: each of 1 + negative logistic losses is ln 2; a negative that is the target
    # itself is left out, which takes away at most the share of its draws
    start = train(sentences(), small(model=model, alpha=1e-300, min_alpha=0), valid=held_out)
    known = 6 * math.log(2)
    for loss in (start.record["loss_by_epoch"][0], start.record["valid_loss_by_epoch"][0]):
        assert 0.8 * known < loss <= known + 1e-9
    assert start.record["valid_loss_by_epoch"][0] == start.record["valid_loss_by_epoch"][1]
    trained = train(sentences(), small(model=model, epochs=10, sample=0), valid=held_out)
    losses = trained.record["valid_loss_by_epoch"]
    assert len(losses) == len(trained.record["loss_by_epoch"]) == 10
    assert losses[-1] < losses[0] < start.record["valid_loss_by_epoch"][0]
    # held-out text has its own draws: the same model gives the same loss, whatever it was trained with
    again = train(
        sentences(), small(model=model, epochs=10, sample=0), valid=held_out, callbacks=[lambda record: None]
    )
    assert again.record["valid_loss_by_epoch"] == losses


def test_learning_rate_falls_linearly_with_the_place_in_the_text(tmp_path):
    config = small(model="cbow-attn", alpha=0.04, min_alpha=0.01, attention_alpha=0.02, attention_warmup=0.25)
    schedule = Schedule(ResolvedConfig.of(config), n_tokens=500)  # 1,000 in two epochs
    assert [schedule.alpha(n) for n in (0, 500, 1000)] == pytest.approx([0.04, 0.025, 0.01])
    assert [schedule.attention_rate(n) for n in (0, 249, 250, 999)] == [0, 0, 0.5, 0.5]
    with encode_corpus(sentences(), cache_dir=tmp_path) as encoded:
        model = EmbeddingModel(config, encoded.vocab)
        trainer = Trainer(model, encoded.tokens)
        seen: list[tuple[float, float, float, int]] = []

        def spy(hyper, tokens, *_):
            fields = (float(hyper[name][0]) for name in ("alpha_begin", "alpha_end", "attention_rate"))
            seen.append((*fields, len(tokens)))

        trainer.replica.kernel = spy
        trainer.run()
        done, total = 0, 2 * len(encoded.tokens)
        assert len(seen) > 4
        for begin, end, ratio, n in seen:
            assert begin == pytest.approx(0.04 - 0.03 * done / total)
            assert ratio == (0 if done / total < 0.25 else 0.5)
            done += n
            assert end == pytest.approx(0.04 - 0.03 * done / total)
        assert done == total


# ---- what is handed out and kept --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_saved_model_comes_back_and_is_saved_the_same(tmp_path, kind):
    model = train(sentences(), small(**kind, vector_size=5, epochs=1), output=tmp_path / "1")
    loaded = EmbeddingModel.load(tmp_path / "1")
    assert same(loaded, model)
    assert loaded.config == model.config
    assert loaded.full_record() == json.loads(json.dumps(model.full_record()))
    loaded.save(tmp_path / "2")
    files = {path.name: path.read_bytes() for path in (tmp_path / "1").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "2").iterdir()} == files
    assert ("attention_words.npy" in files) == (kind.get("attention") in ("full", "word"))
    assert ("attention_slots.npy" in files) == ("attention" in kind)
    words = KeyedVectors.load(tmp_path / "2")
    assert np.array_equal(words.vectors, model.vectors.vectors)
    parts = 6 if kind["model"] == "ssg" else 1
    width = 30 if kind["model"] == "cwindow" else 5
    assert np.load(tmp_path / "1" / "outputs.npy").shape == (len(words), parts, width)
    arrays = {name: np.load(tmp_path / "1" / name) for name in files if name.endswith(".npy")}
    if kind.get("attention") == "word":
        del arrays["attention_slots.npy"]  # not in use
    if "inputs.npy" in arrays:
        del arrays["vectors.kv.vectors.npy"]  # it is made from the parameters
    assert n_parameters(model.config, len(words)) == sum(array.size for array in arrays.values())


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
def test_record_is_enough_to_repeat_the_run(tmp_path, kind):
    text = sentences()
    first = train(
        text, TrainConfig(**kind, vector_size=9, epochs=2, workers=1, seed=5), output=tmp_path / "m"
    )
    record = json.loads((tmp_path / "m" / "config.json").read_text())
    assert set(record["config"]) == set(TrainConfig.__dataclass_fields__)
    assert same(train(text, TrainConfig.from_dict(record["config"])), first)
    assert not same(train(text, dataclasses.replace(first.config, seed=6)), first)
    names = ("version", "started", "kernel", "timings", "platform", "loss_by_epoch", "predictions")
    assert all(record[name] for name in names)
    assert record["corpus"]["raw_tokens"] == sum(map(len, text))
    assert record["n_words"] == len(first.vocab)


def test_record_of_a_newer_version_is_refused_with_its_names():
    with pytest.raises(ValueError, match="unknown options layers"):
        TrainConfig.from_dict({"model": "cbow", "layers": 12})
    assert TrainConfig.from_dict({"model": "cbow", "layers": None}) == TrainConfig(model="cbow"), "not set"


@pytest.mark.parametrize("damage", ["outputs.npy", "vocab.tsv", "config.json", "vectors.kv.vectors.npy"])
@pytest.mark.parametrize("how", ["missing", "cut", "empty", "foreign"])
def test_damaged_model_is_refused(tmp_path, damage, how):
    train(sentences(), small(epochs=1), output=tmp_path / "m")
    path = tmp_path / "m" / damage
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "foreign": b"[1, 2]\n"}[how])
    with pytest.raises(DataError, match=damage):
        EmbeddingModel.load(tmp_path / "m")


# ---- wrong arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "glove"}, ["model", "'glove'", "cbow-attn"]),
        ({"vector_size": 0}, ["vector_size", "0", "from 1"]),
        ({"vector_size": 10.0}, ["vector_size", "10.0", "whole number"]),
        ({"vector_size": True}, ["vector_size", "True"]),
        ({"window": -1}, ["window", "-1"]),
        ({"negative": 0}, ["negative", "hierarchical softmax"]),
        ({"alpha": float("nan")}, ["alpha", "nan"]),
        ({"alpha": "0.1"}, ["alpha", "'0.1'"]),
        ({"workers": 10**6}, ["workers", "processors"]),
        ({"alpha": 0.01, "min_alpha": 0.02}, ["min_alpha", "0.02", "alpha", "0.01"]),
        ({"sample": -1e-3}, ["sample"]),
        ({"seed": 2**63}, ["seed"]),
        ({"lowercase": "no"}, ["lowercase"]),
        ({"shrink_windows": 2}, ["shrink_windows"]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_impossible_configuration(options, words):
    with pytest.raises(ValueError) as error:
        TrainConfig(**options)
    assert all(word in str(error.value) for word in words), error.value


def test_configuration_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig().window = 9  # type: ignore[misc]


@pytest.mark.parametrize(
    ("model", "update", "warned"), [("cbow", "exact", 1), ("cbow", "word2vec", 0), ("cwindow", "exact", 0)]
)
def test_a_rate_for_another_step_is_named(model, update, warned):
    config = TrainConfig(
        model=model, cbow_update=update, alpha=0.025, vector_size=4, epochs=1, min_count=1, workers=1
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train([["a", "b", "c"]] * 50, config)
    assert sum("0.025" in str(w.message) and "word2vec" in str(w.message) for w in caught) == warned


@pytest.mark.parametrize("window", [5, 20])
@pytest.mark.parametrize("model", ["cbow", "cbow-attn", "skipgram"])
def test_the_negatives_that_are_shared_by_default_lose_nothing(model, window):
    """The text has few words and no sub-sampling, where summed steps overshoot first."""
    rng = np.random.default_rng(2)
    corpus = [[f"w{word}" for word in rng.zipf(1.3, 60) if word < 3_000] for _ in range(10_400)]
    common = TrainConfig(
        model=model, window=window, vector_size=50, sample=0, epochs=2, workers=1, min_count=1
    )
    assert ResolvedConfig.of(common).negatives == "shared"
    runs = [
        train(corpus[:10_000], dataclasses.replace(common, negatives=negatives), valid=corpus[10_000:])
        for negatives in ("exact", "shared")
    ]
    assert [run.record["kernel"]["shared_by"] for run in runs] == [1, 4]
    exact, shared = (run.record["valid_loss_by_epoch"][-1] for run in runs)
    assert shared == pytest.approx(exact, rel=0.002)


@pytest.mark.parametrize(("model", "shared_by", "alpha"), [("cbow", 8, 0.4), ("skipgram", 16, 0.2)])
def test_steps_that_are_taken_together_leave_a_margin(model, shared_by, alpha):
    """Tested with twice cbow's default rate and predictions, four times skip-gram's rate, and like rows."""
    rng = np.random.default_rng(1)
    words = rng.zipf(1.3, 220_000)
    words = words[words < 20_000][:110_000].reshape(-1, 25)
    corpus = [[f"w{word}" for word in line] for line in words]
    common = TrainConfig(
        model=model, window=5, vector_size=50, sample=0, epochs=2, workers=1, min_count=1, alpha=alpha
    )
    exact, shared = (
        train(corpus[:4_000], dataclasses.replace(common, **options), valid=corpus[4_000:]).record[
            "valid_loss_by_epoch"
        ][-1]
        for options in ({"negatives": "exact"}, {"shared_by": shared_by})
    )
    assert shared == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(("n_tokens", "expected"), [(100, 1), (10**7, 16)])
def test_a_plan_times_the_loop_that_the_whole_text_will_have(n_tokens, expected, monkeypatch):
    seen = []

    class Watched(Trainer):
        def run(self, *arguments):
            seen.append(int(self.hyper["shared_by"][0]))
            super().run(*arguments)

    monkeypatch.setattr("wordvec_ca.runs.estimate.Trainer", Watched)
    config = ResolvedConfig.of(TrainConfig(model="skipgram", vector_size=8, workers=1))
    assert measured_speed(config, Vocab(["a", "b", "c"], [30, 20, 10]), n_tokens, seconds=0) > 1
    assert seen == [expected]


def test_how_many_predictions_share_negatives():
    def sharing(n_tokens, **options):
        config = ResolvedConfig.of(TrainConfig(**options))
        assert ResolvedConfig.from_dict(config.as_dict()) == config
        return parts(n_tokens, config)

    for model, most in (("cbow", 4), ("cbow-attn", 4), ("skipgram", 16), ("ssg", 1), ("cwindow", 1)):
        assert sharing(10**9, model=model) == most
        assert sharing(100_000, model=model) == 1
        assert sharing(10**9, model=model, negatives="exact") == 1
    assert [sharing(n, model="skipgram") for n in (0, 10**5, 300_000, 10**6, 3 * 10**6)] == [1, 1, 2, 7, 16]
    assert sharing(100, model="skipgram", shared_by=64) == 64  # the number that was asked for
    assert sharing(10**9, negatives="exact", shared_by=1) == 1
    # so that a chunk does not take long
    assert 1 <= sharing(10**9, model="skipgram", window=100, vector_size=2_000) < 16
    with pytest.raises(ValueError, match="shared_by is 8"):
        TrainConfig(negatives="exact", shared_by=8)
