"""Models of resampled text: how lines are drawn, the published mean, and runs that are interrupted."""

import errno
import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from small_runs import Killed, killed_after, same, sentences

from wordvec_ca import DataError, EmbeddingModel, KeyedVectors, OutputExistsError, TrainConfig, resume, train
from wordvec_ca.corpus import DocumentStarts
from wordvec_ca.errors import OptionError
from wordvec_ca.resampling import ResampledModels, model_config
from wordvec_ca.text import Documents
from wordvec_ca.training.chunks import Chunks, LineSample
from wordvec_ca.vectors.intervals import interval

pytestmark = pytest.mark.filterwarnings("ignore:the run is kept")

KINDS: list[dict[str, Any]] = [
    {"model": "skipgram"},
    {"model": "cwindow"},
    {"model": "cbow-attn"},
    {"model": "cbow", "hs": True},
    {"model": "cbow", "subwords": True, "min_n": 1, "max_n": 2},
    {"model": "cbow", "vectors": "both"},
]


def small(**options: Any) -> TrainConfig:
    """Return a configuration that is quick."""
    return TrainConfig(
        **{"vector_size": 12, "window": 3, "epochs": 2, "workers": 1, "resamples": 3, **options}
    )


@pytest.fixture
def corpus(tmp_path):
    """Return a corpus file of about 7,000 tokens."""
    path = tmp_path / "c.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in sentences()))
    return path


def test_lines_are_drawn_as_in_a_bootstrap_however_the_text_is_cut():
    lengths = np.random.default_rng(1).integers(1, 9, 20_000)
    tokens = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    tokens[np.cumsum(lengths) - 1] = -1  # a line of n tokens has the token n, its number, n - 1 times
    drawn = []
    for size in (500, 7_000):
        chunks, found = Chunks(tokens, size), []
        while (chunk := chunks.next()) is not None:
            found.append(LineSample(5).of(chunk))
        drawn.append(np.concatenate(found))
    assert np.array_equal(*map(np.sort, drawn))
    counts = np.bincount(drawn[0][drawn[0] >= 0], minlength=len(lengths))[lengths > 1]
    times = counts / (lengths[lengths > 1] - 1)
    assert np.array_equal(times, times.round())  # lines are drawn whole
    poisson = [0.3679, 0.3679, 0.1839, 0.0613]
    assert np.abs(np.bincount(times.astype(int))[:4] / len(times) - poisson).max() < 0.015
    other = LineSample(6).weights(np.arange(20_000))
    assert abs(np.corrcoef(LineSample(5).weights(np.arange(20_000)), other)[0, 1]) < 0.03


@pytest.mark.parametrize("kind", KINDS, ids=[" ".join(map(str, kind.values())) for kind in KINDS])
def test_mean_and_models_are_saved_and_a_run_goes_on_inside_any_of_them(tmp_path, corpus, kind):
    config = small(**{"vectors": "input", **kind})
    whole = train(corpus, config, output=tmp_path / "whole")
    loaded = EmbeddingModel.load(tmp_path / "whole")
    assert same(whole, loaded)
    vectors = KeyedVectors.load(tmp_path / "whole")
    assert vectors.resamples is not None
    assert len(vectors.resamples) == 3
    mean = np.mean([vectors.resampled(k).vectors for k in range(3)], axis=0)
    if config.vectors == "input":
        assert np.abs(mean - vectors.vectors).max() < 0.01 * np.abs(vectors.vectors).max()
    else:  # these come from the mean of the parameters, which is only near the mean of the vectors
        products = (mean * vectors.vectors).sum(axis=1)
        lengths = np.linalg.norm(mean, axis=1) * np.linalg.norm(vectors.vectors, axis=1)
        assert (products / lengths).mean() > 0.5  # it would be 0 for unrelated spaces

    with pytest.raises(Killed):
        train(corpus, config, output=tmp_path / "cut", callbacks=[killed_after(0.6)], checkpoint_every="2k")
    with pytest.raises(OutputExistsError, match="done"):
        train(corpus, config, output=tmp_path / "cut")
    assert same(resume(tmp_path / "cut"), whole)
    assert not (tmp_path / "cut.run").exists()
    again = KeyedVectors.load(tmp_path / "cut").resampled(2)
    assert np.array_equal(again.vectors, vectors.resampled(2).vectors)


def test_turned_models_predict_as_before(tmp_path, corpus):
    """The mean of equal models is the same model: a rotation changes no product of inputs and outputs."""
    model = train(corpus, small(model="skipgram", resamples=2))
    alone = EmbeddingModel(model_config(model.config, 0, 1), model.vocab)
    rng = np.random.default_rng(0)
    alone.inputs[:, :12] = rng.standard_normal((len(model.vocab), 12))
    alone.outputs[:, :12] = rng.standard_normal((len(model.vocab), 12))
    before = alone.inputs @ alone.outputs.T
    turn = np.linalg.qr(rng.standard_normal((12, 12)))[0].astype(np.float32)
    from wordvec_ca.resampling import turn_rows

    turn_rows(alone.inputs, turn)
    turn_rows(alone.outputs, turn)
    assert np.allclose(alone.inputs @ alone.outputs.T, before, atol=1e-4)


def test_models_side_by_side_are_those_of_one_worker(corpus, monkeypatch):
    one = train(corpus, small(epochs=1))
    monkeypatch.setattr("wordvec_ca.resampling.side_by_side", lambda config, n_words: (2, 1))
    two = train(corpus, small(epochs=1, workers=2))
    assert same(one, two)


def test_interrupted_run_publishes_what_is_trained_and_goes_on(tmp_path, corpus, monkeypatch):
    made: list[ResampledModels] = []
    train_models = ResampledModels.train

    def watched(self, callbacks):
        made.append(self)
        train_models(self, callbacks)

    monkeypatch.setattr(ResampledModels, "train", watched)

    def ctrl_c(record):
        if record.fraction > 0.8 and not made[-1].interrupted:
            made[-1].interrupt()

    model = train(corpus, small(), output=tmp_path / "m", callbacks=[ctrl_c])
    assert model.record["interrupted"]
    assert model.record["resamples"]["models"] == 2
    assert len(KeyedVectors.load(tmp_path / "m").resamples or []) == 2
    whole = train(corpus, small())
    assert same(resume(tmp_path / "m"), whole)
    assert EmbeddingModel.load(tmp_path / "m").record["resamples"]["models"] == 3


def test_neighbours_have_intervals_and_agreement(corpus):
    model = train(corpus, small(resamples=4, epochs=5))
    vectors = model.vectors
    found = vectors.neighbours("w7", 5)
    assert [(one.word, one.score) for one in found] == vectors.most_similar("w7", topn=5)
    for one in found:
        cosines = [vectors.resampled(k).similarity("w7", one.word) for k in range(4)]
        assert one.low < np.mean(cosines) < one.high <= 1
        tops = [dict(vectors.resampled(k).most_similar("w7", topn=5)) for k in range(4)]
        assert one.agreement == sum(one.word in top for top in tops)
    wider = vectors.neighbours("w7", 5, level=0.99)
    assert all(a.low < b.low and b.high < a.high for a, b in zip(wider, found, strict=True))
    plain = KeyedVectors(vectors.index_to_key, vectors.vectors).neighbours("w7", 5)
    assert "agreement" in found._repr_html_()
    assert "/" not in str(plain)
    assert "agreement" not in plain._repr_html_()
    assert plain.models == 0
    assert np.isnan(plain[0].low)


@pytest.mark.parametrize("models", [2, 3, 5, 10])
def test_interval_holds_another_draw_as_often_as_it_says(models):
    """The text that is resampled and the other one have the same spread: a known answer."""
    rng = np.random.default_rng(0)
    this, other = rng.normal(0.4, 0.02, (2, 200_000))
    low, high = interval(rng.normal(this, 0.02, (models, 200_000)))
    assert ((low < other) & (other < high)).mean() == pytest.approx(0.9, abs=0.003)


def test_what_cannot_be_resampled_is_refused(tmp_path, corpus):
    with pytest.raises(ValueError, match="resamples is 1; it must be"):
        TrainConfig(resamples=1)
    train(corpus, small(resamples=None, epochs=1), output=tmp_path / "old")
    with pytest.raises(ValueError, match="resamples and init_vectors"):
        train(corpus, small(), init_vectors=tmp_path / "old")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(corpus, small(epochs=1, resamples=2), no_cache=True)


def test_a_full_disk_while_the_mean_is_made_loses_nothing(tmp_path, corpus, monkeypatch):
    whole = train(corpus, small(), output=tmp_path / "whole")
    reserve = os.posix_fallocate
    calls = []

    def full(descriptor, offset, size):
        calls.append(size)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"No space left on device"):
        train(corpus, small(), output=tmp_path / "m")
    again = resume(tmp_path / "m")
    assert len(calls) > 6
    assert same(again, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.txt", "m", "whole"]


def test_what_a_killed_run_left_of_its_mean_is_not_in_the_way(tmp_path, corpus, monkeypatch):
    def killed(self, *_):
        raise Killed

    monkeypatch.setattr(ResampledModels, "_mean", killed)
    with pytest.raises(Killed):
        train(corpus, small(), output=tmp_path / "m")
    monkeypatch.undo()
    left = tmp_path / "m.run" / "resamples" / "mean"
    left.mkdir(parents=True)
    (left / "heads").write_bytes(bytes(1000))
    resume(tmp_path / "m")
    assert not (tmp_path / "m.run").exists()


def test_a_limit_of_file_sizes_is_an_error_not_a_signal(tmp_path):
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "from wordvec_ca.files import scratch_array\n"
        "scratch_array(sys.argv[1], 'f4', (1 << 20,))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "cannot reserve 4 MB" in done.stderr


def test_the_room_for_models_of_resampled_text_is_counted_before_the_run():
    from wordvec_ca.models import ResolvedConfig, saved_bytes
    from wordvec_ca.models.sizes import resampling_bytes

    one = ResolvedConfig.of(small(resamples=None, model="cbow-attn"))
    several = ResolvedConfig.of(small(resamples=10, model="cbow-attn"))
    assert resampling_bytes(one, 1000) == 0
    assert saved_bytes(several, 1000) - saved_bytes(one, 1000) == 10 * 1000 * (12 + 4 + 6 + 4)
    assert resampling_bytes(several, 1000) > 10 * 4 * 1000 * 2 * 12


def in_books(n: int = 30) -> list[list[list[str]]]:
    """Return documents of lines with words of their own preference."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(n):
        share = rng.dirichlet(np.full(40, 0.3))
        found.append([[f"w{i}" for i in rng.choice(40, 8, p=share)] for _ in range(20)])
    return found


def test_documents_are_sampled_whole():
    rng = np.random.default_rng(2)
    numbers = rng.integers(0, 400, 3_000)  # the number of each line's document, which is also its word
    tokens = np.stack([numbers, numbers, np.full(3_000, -1)], axis=1).ravel().astype(np.int32)
    starts = DocumentStarts(np.arange(0, len(tokens), 3), numbers)
    drawn = []
    for size in (500, 7_000):
        chunks, found = Chunks(tokens, size), []
        while (chunk := chunks.next()) is not None:
            found.append(LineSample(5, starts).of(chunk))
        drawn.append(np.concatenate(found))
    assert np.array_equal(*map(np.sort, drawn))
    times = np.bincount(drawn[0][drawn[0] >= 0], minlength=400) / (2 * np.bincount(numbers, minlength=400))
    assert np.array_equal(times, times.round())
    assert np.abs(np.bincount(times.astype(int))[:2] / 400 - 0.3679).max() < 0.08


def test_a_run_on_sampled_documents_goes_on_and_its_record_names_them(tmp_path, monkeypatch):
    text = tmp_path / "books.txt"
    text.write_text("\n\n".join("\n".join(" ".join(line) for line in book) for book in in_books()))
    config = small(group_by="blank-lines")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "lines are not independent")
        whole = train(text, config, output=tmp_path / "whole")
    assert whole.record["resamples"]["unit"] == "documents"
    assert whole.record["resamples"]["units"] == 30
    with pytest.warns(UserWarning, match=r"the cosine of a line with the next is 0\.\d\d.* too narrow"):
        lines = train(text, small())
    assert lines.record["resamples"]["unit"] == "lines"
    assert not same(whole, lines)

    with pytest.raises(Killed):
        train(text, config, output=tmp_path / "cut", callbacks=[killed_after(0.6)], checkpoint_every="2k")
    assert same(resume(tmp_path / "cut"), whole)
    monkeypatch.setattr("wordvec_ca.resampling.side_by_side", lambda config, n_words: (2, 1))
    assert same(train(Documents(in_books()), small(workers=2)), whole)


def test_what_cannot_be_sampled_as_documents_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"has 9 documents.*10 or more"):
        train(Documents(in_books(9)), small(min_count=1))
    with pytest.raises(OptionError, match=r"group_by .*resamples"):
        TrainConfig(group_by="files")
    with pytest.raises(OptionError, match=r"group_by.*no_cache"):
        train("x", small(group_by="files"), no_cache=True)
