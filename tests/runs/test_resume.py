"""Checkpoints and runs that continue from them: the same bits, or a refusal with the reason."""

import dataclasses
import json
import shutil
import warnings
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import Killed, killed_after, same, sentences

from wordvec_ca import DataError, EmbeddingModel, Progress, TrainConfig, Vocab, resume, train
from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.files import Storage, take_lock
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.runs import run_directory
from wordvec_ca.runs.request import RunRequest
from wordvec_ca.runs.run_directory import UnfinishedRun, run_folder
from wordvec_ca.specs.models import MODELS, spec_of
from wordvec_ca.training.checkpoint import Checkpoints, Interval, parse_interval
from wordvec_ca.training.chunks import chunk_size
from wordvec_ca.training.replica import Replica
from wordvec_ca.training.trainer import Trainer

pytestmark = pytest.mark.filterwarnings("ignore:the run is kept")


KINDS: list[dict[str, Any]] = [{"model": model} for model in MODELS if model != "cbow-attn"]
KINDS += [{"model": "cbow-attn", "attention": kind} for kind in ("full", "position", "word")]
KINDS += [{"model": "cbow", "hs": True}, {"model": "skipgram", "hs": True, "negative": 0, "shared_by": None}]
KINDS += [{"model": model, "subwords": True} for model in ("skipgram", "cbow-attn")]


def small(**options: Any) -> TrainConfig:
    """Return a configuration that is quick and reproducible."""
    model = options.get("model", "cbow")
    shared_by = None if options.get("negatives") == "exact" else spec_of(model).shared_by  # as on a long text
    given = {"vector_size": 12, "window": 3, "epochs": 2, "workers": 1, "shared_by": shared_by, **options}
    return TrainConfig(**given)


@pytest.fixture
def corpus(tmp_path):
    """Return a corpus file of about 7,000 tokens."""
    path = tmp_path / "c.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in sentences()))
    return path


def cut_short(corpus: Any, config: TrainConfig, output: Path, at: float = 0.5, **options: Any) -> None:
    """Begin a run and kill it at the first record after a share of it, which is at the end of an epoch."""
    options = {"checkpoint_every": "2k", **options}
    with pytest.raises(Killed):
        train(corpus, config, output=output, callbacks=[killed_after(at)], **options)
    assert not output.exists()


# ---- the same bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=[" ".join(map(str, kind.values())) for kind in KINDS])
def test_resumed_run_is_the_uninterrupted_one(tmp_path, corpus, kind, monkeypatch):
    monkeypatch.setattr(
        "wordvec_ca.training.schedule.RECORD_EVERY", 1000.0
    )  # one record an epoch, on a busy machine too
    config = small(**kind, vector_size=20, epochs=4, attention_warmup=0.3)
    valid = None if spec_of(kind["model"]).documents else corpus  # any text will do
    whole = train(corpus, config, valid=valid)
    cut_short(corpus, config, tmp_path / "m", valid=valid)
    state = UnfinishedRun.open(tmp_path / "m").checkpoints.newest_state()
    assert state is not None
    assert 0.4 < state.fraction < 0.6
    seen: list[Progress] = []
    resumed = resume(tmp_path / "m", callbacks=[seen.append])
    assert same(resumed, whole)
    assert same(EmbeddingModel.load(tmp_path / "m"), whole)
    for key in ("loss_by_epoch", "valid_loss_by_epoch", "predictions", "attention_concentration"):
        assert resumed.record[key] == whole.record[key]
    assert [record.epoch for record in seen if record.epoch_ended][-2:] == [3, 4]
    assert [point.epoch for point in resumed.history.points] == [1, 2, 3, 4]
    assert resumed.record["sessions"] == 2
    assert not run_folder(tmp_path / "m").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.txt", "m"]


def test_run_is_continued_from_every_one_of_its_checkpoints(tmp_path, corpus, monkeypatch):
    config = small(epochs=2)
    whole = train(corpus, config)
    copies: list[Path] = []
    write = Checkpoints.write

    def copy(self, *arguments):
        done = write(self, *arguments)
        copies.append(tmp_path / f"copy{len(copies)}.run")
        shutil.copytree(self.storage.place, copies[-1])
        return done

    monkeypatch.setattr(Checkpoints, "write", copy)
    assert same(train(corpus, config, output=tmp_path / "m", checkpoint_every="1k"), whole)
    monkeypatch.undo()
    assert len(copies) > 8
    for number, folder in enumerate(copies):
        again = resume(folder) if number % 2 else resume(folder.with_suffix(""))
        assert same(again, whole)


def change_records(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the JSON records of a run: its request and the states of its checkpoints."""

    def changed(record: bytes) -> bytes:
        fields = json.loads(record)
        change(fields)
        return json.dumps(fields).encode()

    (run / "run.json").write_bytes(changed((run / "run.json").read_bytes()))
    for path in run.glob("*.checkpoint"):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        members["state.json"] = changed(members["state.json"])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)


def test_a_run_whose_record_lacks_what_decides_its_result_is_refused(tmp_path, corpus):
    cut_short(corpus, small(), tmp_path / "m")
    change_records(tmp_path / "m.run", lambda record: record["config"].pop("vectors"))
    with pytest.raises(DataError, match="vectors"):
        resume(tmp_path / "m")


def test_a_run_does_not_change_to_other_negatives_in_silence(tmp_path, corpus):
    cut_short(corpus, small(), tmp_path / "m")
    shutil.copytree(tmp_path / "m.run", tmp_path / "other.run")
    change_records(tmp_path / "other.run", lambda record: "pools" in record and record["pools"].reverse())
    with pytest.raises(DataError, match="draws other negatives"):
        resume(tmp_path / "other")
    with pytest.warns(UserWarning, match="draws other negatives"):
        resume(tmp_path / "other", accept_changes=True)
    resume(tmp_path / "m")


def test_run_interrupted_twice_and_then_finished(tmp_path, corpus):
    config = small(model="skipgram", epochs=6)
    whole = train(corpus, config)
    cut_short(corpus, config, tmp_path / "m", at=0.2)
    with pytest.raises(Killed):
        resume(tmp_path / "m", callbacks=[killed_after(0.6)], checkpoint_every="1k")
    assert same(resume(tmp_path / "m"), whole)


def test_several_workers_stop_between_chunks_and_lose_nothing(tmp_path, corpus):
    config = small(workers=3, epochs=4, sample=0, shrink_windows=False)
    cut_short(corpus, config, tmp_path / "m", checkpoint_every="1k")
    resumed = resume(tmp_path / "m")
    n_tokens = sum(map(len, sentences()))
    assert resumed.record["predictions"] == 4 * n_tokens, "each token is a prediction, once per epoch"
    assert np.isfinite(resumed.inputs).all()


def test_ctrl_c_in_the_middle_of_an_epoch(tmp_path, corpus, monkeypatch):
    whole = train(corpus, small(), valid=corpus)
    work = Trainer._work

    def interrupted(self, worker, chunks, epoch):
        chunks.limit = 3_000
        work(self, worker, chunks, epoch)
        self.interrupt()

    monkeypatch.setattr(Trainer, "_work", interrupted)
    part = train(corpus, small(), output=tmp_path / "m", valid=corpus)
    assert part.record["interrupted"] is True
    assert 0 < part.record["trained_fraction"] < 0.5
    assert same(EmbeddingModel.load(tmp_path / "m"), part)
    monkeypatch.undo()
    resumed = resume(tmp_path / "m")
    assert same(resumed, whole)
    assert resumed.record["loss_by_epoch"] == whole.record["loss_by_epoch"]
    assert resumed.record["valid_loss_by_epoch"] == whole.record["valid_loss_by_epoch"]
    assert resumed.record["interrupted"] is False
    with pytest.raises(DataError, match="finished model"):
        resume(tmp_path / "m")


def test_run_that_was_lost_before_its_first_checkpoint_begins_again(tmp_path, corpus):
    whole = train(corpus, small())
    run = UnfinishedRun.begin(
        RunRequest(
            config=ResolvedConfig.of(small()), corpus=corpus, output=tmp_path / "m", checkpoint_every="10m"
        )
    )
    assert run._lock is not None
    run._lock.close()  # the end of the process does this too
    assert same(resume(tmp_path / "m"), whole)


def test_run_that_was_lost_after_its_model_was_saved_is_only_tidied_up(tmp_path, corpus, monkeypatch):
    def kill(self):
        raise Killed

    monkeypatch.setattr(UnfinishedRun, "remove", kill)
    with pytest.raises(Killed):
        train(corpus, small(), output=tmp_path / "m")
    monkeypatch.undo()
    monkeypatch.setattr(Trainer, "run", lambda *_: pytest.fail("it trained"))
    resume(tmp_path / "m")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.txt", "m"]


def test_iterables_and_vocabularies_come_back(tmp_path):
    words = Vocab.from_counts({"the": 1000, "w1": 50, "w2": 40})
    whole = train(sentences(), small(epochs=4), vocab=words)
    cut_short(iter(sentences()), small(epochs=4), tmp_path / "m", vocab=words)
    shutil.copytree(tmp_path / "m.run", tmp_path / "n.run")
    with pytest.raises(DataError, match="vocabulary is not the one"):
        resume(tmp_path / "m", vocab=Vocab.from_counts({"the": 1000, "w1": 50, "w2": 41}))
    assert same(resume(tmp_path / "m", vocab=words), whole)
    shutil.rmtree(tmp_path / "n.run" / "text")
    with pytest.raises(DataError, match="cannot be read again"):
        resume(tmp_path / "n")
    assert same(resume(tmp_path / "n", corpus=sentences()), whole)


@pytest.mark.parametrize("place", ["own", "cache_dir", "kept"])
def test_encoded_text_is_found_again_or_made_again(tmp_path, corpus, place):
    options: dict[str, Any] = {} if place == "own" else {"cache_dir": tmp_path / "cache"}
    options["keep_cache"] = place == "kept"
    whole = train(corpus, small(epochs=4))
    for loss in (False, True):
        cut_short(corpus, small(epochs=4), tmp_path / "m", **options)
        text = UnfinishedRun.open(tmp_path / "m").text_folder("text")
        assert (text / "tokens.i32").is_file()
        if loss:
            shutil.rmtree(text)
        assert same(resume(tmp_path / "m"), whole)
        shutil.rmtree(tmp_path / "m")
        assert (tmp_path / "cache").exists() == (place == "kept" and not loss)


def test_text_that_is_not_stored_is_read_up_to_the_place(tmp_path, corpus):
    whole = train(corpus, small(epochs=4), valid=corpus)
    cut_short(corpus, small(epochs=4), tmp_path / "m", no_cache=True, valid=corpus)
    for path in sorted(tmp_path.glob("m.run/*.checkpoint"))[-1:]:
        assert Checkpoints(Storage(path.parent)).state(path.name).start > 0
    assert not list(tmp_path.rglob("tokens.i32"))
    shutil.copytree(tmp_path / "m.run", tmp_path / "n.run")
    assert same(resume(tmp_path / "m"), whole)
    corpus.write_text(corpus.read_text().replace("w1 ", "w2 ", 1))
    with pytest.raises(DataError, match="the corpus has changed"):
        resume(tmp_path / "n")


# ---- what is refused --------------------------------------------------------------------------------------


def test_changed_corpus_is_refused_with_the_reason(tmp_path, corpus):
    whole = train(corpus, small(epochs=4))
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    text = corpus.read_bytes()
    corpus.write_bytes(text + b"one more line\n")
    with pytest.raises(DataError, match=r"c\.txt' has changed.*--accept-changes"):
        resume(tmp_path / "m")
    corpus.unlink()
    with pytest.raises(DataError, match=r"c\.txt' has vanished"):
        resume(tmp_path / "m")
    shutil.copytree(tmp_path / "m.run", tmp_path / "n.run")
    with pytest.warns(UserWarning, match="used as it was read"):
        assert same(resume(tmp_path / "m", accept_changes=True), whole)
    shutil.rmtree(tmp_path / "n.run" / "text")
    corpus.write_bytes(text.replace(b"w1 ", b"w2 ", 1))
    with pytest.raises(DataError, match="the corpus has changed"):
        resume(tmp_path / "n", accept_changes=True)
    corpus.write_bytes(text)
    assert same(resume(tmp_path / "n"), whole)


def test_changed_options_are_refused_but_for_those_that_may(tmp_path, corpus):
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    for name, value in (("window", 4), ("epochs", 9), ("seed", 2), ("model", "skipgram")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no advice on resuming is printed before the error
            with pytest.raises(DataError, match=f"{name} was .* another run"):
                resume(tmp_path / "m", changes={name: value})
    with pytest.raises(DataError, match=r"corpus was .*c\.txt.* is .*other\.txt"):
        resume(tmp_path / "m", corpus=tmp_path / "other.txt")
    with pytest.warns(UserWarning, match="bit for bit"):
        resumed = resume(tmp_path / "m", changes={"window": 3, "workers": 2, "alpha": 0.01})
    (change,) = resumed.record["changes"]
    assert 0.4 < change.pop("at") < 0.6
    assert change == {"alpha": [0.2, 0.01], "workers": [1, 2]}
    assert resumed.config.alpha == 0.01


def test_another_instruction_set_is_refused(tmp_path, corpus, monkeypatch):
    from wordvec_ca.kernels import _sgns

    if len(_sgns.isas()) < 2:
        pytest.skip("this processor has one instruction set only")
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    monkeypatch.setenv("CAWV_ISA", _sgns.isas()[-1])
    with pytest.raises(DataError, match=f"began with the instruction set {_sgns.isas()[0]}.*CAWV_ISA"):
        resume(tmp_path / "m")
    with pytest.warns(UserWarning, match="the last bits will differ"):
        resume(tmp_path / "m", accept_changes=True)


def test_unfinished_run_is_not_dropped_unasked(tmp_path, corpus):
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    with pytest.raises(DataError, match=r"unfinished run, \d+\.\d% done.*--resume.*overwrite=True"):
        train(corpus, small(), output=tmp_path / "m")
    (tmp_path / "m").mkdir()  # a model that was saved at the interruption does not hide the run
    with pytest.raises(DataError, match=r"unfinished run"):
        train(corpus, small(), output=tmp_path / "m")
    with pytest.warns(UserWarning, match=r"unfinished run in .*m\.run', \d+\.\d% done, is dropped"):
        train(corpus, small(), output=tmp_path / "m", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.txt", "m"]
    (tmp_path / "m.run").mkdir()
    (tmp_path / "m.run" / "thesis.tex").touch()
    with pytest.raises(DataError, match=r"thesis\.tex.*not part of a run"):
        train(corpus, small(), output=tmp_path / "m", overwrite=True)
    assert [path.name for path in (tmp_path / "m.run").iterdir() if path.name != "lock"] == ["thesis.tex"]


def test_two_processes_cannot_train_the_same_run(tmp_path, corpus):
    pytest.importorskip("fcntl")
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    with UnfinishedRun.open(tmp_path / "m"):
        with pytest.raises(DataError, match="another process is training"):
            resume(tmp_path / "m")
        with pytest.raises(DataError, match="another process is training"):
            train(corpus, small(), output=tmp_path / "m", overwrite=True)
    resume(tmp_path / "m")


# ---- damage -----------------------------------------------------------------------------------------------


def damaged(content: bytes, how: str) -> bytes:
    """Return bytes as a power loss may leave them."""
    half = len(content) // 2
    return {
        "empty": b"",
        "short": content[:half],
        "zeros": content[:half] + bytes(len(content) - half),
        "flipped": content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :],
    }[how]


@pytest.mark.parametrize("how", ["empty", "short", "zeros", "flipped"])
def test_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, corpus, how):
    whole = train(corpus, small(epochs=4))
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    newest, older = sorted(tmp_path.glob("m.run/*.checkpoint"), reverse=True)
    newest.write_bytes(damaged(newest.read_bytes(), how))
    with pytest.warns(UserWarning, match=f"{newest.name}' cannot be used.*the one before it is used"):
        assert same(resume(tmp_path / "m"), whole)
    cut_short(corpus, small(epochs=4), tmp_path / "n")
    for path in tmp_path.glob("n.run/*.checkpoint"):
        path.write_bytes(damaged(path.read_bytes(), how))
    with pytest.raises(DataError, match=r"no checkpoint can be read.*\.checkpoint' cannot be used"):
        resume(tmp_path / "n")
    assert older


@pytest.mark.parametrize("how", ["empty", "short", "zeros", "flipped"])
@pytest.mark.parametrize("name", ["tokens.i32", "vocab.tsv", "cache.json"])
def test_damaged_text_is_read_again(tmp_path, corpus, name, how):
    whole = train(corpus, small(epochs=4))
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    path = tmp_path / "m.run" / "text" / name
    path.write_bytes(damaged(path.read_bytes(), how))
    assert same(resume(tmp_path / "m"), whole)


def test_a_bit_that_flipped_far_from_the_ends_of_a_text(tmp_path):
    """It is noticed, whether the changed id is in the vocabulary (bit 0) or not (bit 30)."""
    corpus = tmp_path / "long.txt"
    corpus.write_text("".join(f"w{n % 7} w{n % 5} w{n % 3} x\n" for n in range(20_000)))
    options = small(epochs=2, min_count=1)
    whole = train(corpus, options)
    for bit in (0, 30):
        cut_short(corpus, options, tmp_path / "m", checkpoint_every="20k")
        ids = np.fromfile(path := tmp_path / "m.run" / "text" / "tokens.i32", dtype=np.int32)
        ids[len(ids) // 2] ^= 1 << bit
        ids.tofile(path)
        assert same(resume(tmp_path / "m"), whole)
        shutil.rmtree(tmp_path / "m")


def test_damaged_request(tmp_path, corpus):
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    path = tmp_path / "m.run" / "run.json"
    record = json.loads(path.read_text())
    for content in (b"", b"[]", b"{", json.dumps({**record, "run": "../.."}).encode()):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"run\.json' cannot be used"):
            resume(tmp_path / "m")


def test_checkpoint_that_is_none_or_of_something_else(tmp_path, corpus):
    cut_short(corpus, small(epochs=4), tmp_path / "m")
    checkpoints = Checkpoints(Storage(tmp_path / "m.run"))
    state = checkpoints.newest_state()
    assert state is not None
    vocab = Vocab.load(tmp_path / "m.run" / "text" / "vocab.tsv")
    model = EmbeddingModel(TrainConfig.from_dict(state.config), vocab)
    assert checkpoints.load(model) == state
    assert np.isfinite(model.inputs).all()
    wider = EmbeddingModel(TrainConfig(vector_size=100, workers=1), vocab)
    with pytest.raises(DataError, match="has shape"):
        checkpoints.load(wider)
    np.savez(tmp_path / "other.checkpoint", inputs=np.zeros(3))
    for other in (tmp_path / "other.checkpoint.npz", corpus, tmp_path / "missing"):
        with pytest.raises(DataError, match="cannot be used"):
            Checkpoints(Storage(other.parent)).state(other.name)


# ---- when checkpoints are written -------------------------------------------------------------------------


def test_intervals():
    assert parse_interval("10m") == Interval(seconds=600, stretch=True)
    assert parse_interval("1.5h") == Interval(seconds=5400)
    assert parse_interval("5M") == Interval(tokens=5_000_000)
    assert parse_interval("2k") == Interval(tokens=2000)
    assert parse_interval("never") is None
    for text in ("", "10", "m", "-5m", "0s", "1e9M", "10 m", "5T"):
        with pytest.raises(ValueError, match="checkpoint_every is"):
            parse_interval(text)


def test_checkpoints_by_tokens_are_where_they_should_be_and_two_are_kept(tmp_path, corpus, monkeypatch):
    positions: list[int] = []
    write = Checkpoints.write

    def spy(self, state, model, position):
        positions.append(position)
        done = write(self, state, model, position)
        assert len(self.names()) == min(2, len(positions))
        return done

    monkeypatch.setattr(Checkpoints, "write", spy)
    train(corpus, small(), output=tmp_path / "m", checkpoint_every="2k")
    with encode_corpus(corpus, cache_dir=tmp_path) as encoded:
        n = len(encoded.tokens)
    size = chunk_size(n, ResolvedConfig.of(small()))
    assert len(positions) >= 2 * n // (2000 + size + 20)
    steps = np.diff([0, *positions])
    assert (steps >= 2000).all()
    assert (steps <= 2000 + size + 20).all(), "the first end of a chunk, and so of a line, after it"


def test_checkpoints_by_time(tmp_path, corpus, monkeypatch):
    fractions: list[float] = []

    def spy(self, state, model, position):
        fractions.append(state.fraction)
        self.begin(position)
        return True

    monkeypatch.setattr(Checkpoints, "write", spy)
    config = small(model="ssg", vector_size=100, epochs=300)
    train(corpus, config, output=tmp_path / "m", checkpoint_every="0.02s")
    assert len(fractions) >= 3
    assert fractions == sorted(set(fractions))
    fractions.clear()
    train(corpus, config, output=tmp_path / "n", checkpoint_every="never")
    assert fractions == []


def test_time_between_checkpoints_of_a_large_model_grows(tmp_path):
    checkpoints = Checkpoints(Storage(tmp_path), Interval(seconds=10, stretch=True))
    checkpoints.begin(0)
    left = checkpoints.seconds_left()
    assert 9 < left <= 10
    checkpoints._cost = 3.0
    left = checkpoints.seconds_left()
    assert 149 < left <= 150


def test_chunks_are_short_work_for_every_model():
    small_text = chunk_size(10_000, ResolvedConfig.of(TrainConfig(model="cbow", workers=1)))
    assert small_text == 1_000
    assert chunk_size(10**9, ResolvedConfig.of(TrainConfig(model="cbow"))) == 32_768
    large = ResolvedConfig.of(TrainConfig(model="ssg", window=20, vector_size=300))
    assert 500 < chunk_size(10**9, large) < 5_000
    workers = [dataclasses.replace(large, workers=n) for n in (1, 4)]
    assert chunk_size(10**9, workers[0]) == chunk_size(10**9, workers[1])


def test_disk_full_for_a_checkpoint_does_not_end_the_run(tmp_path, corpus, monkeypatch):
    whole = train(corpus, small())

    def full(*_, **__):
        raise DataError("cannot write '000001.checkpoint': No space left on device")

    monkeypatch.setattr("wordvec_ca.training.checkpoint.write_checkpoint", full)
    with pytest.warns(UserWarning, match=r"checkpoint .*No space left"):
        assert same(train(corpus, small(), output=tmp_path / "m", checkpoint_every="2k"), whole)


def test_failing_worker_leaves_the_last_checkpoint(tmp_path, corpus, monkeypatch):
    whole = train(corpus, small(epochs=4))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fail_in_epoch(3, monkeypatch)
        with pytest.raises(MemoryError, match="thread"):
            train(corpus, small(epochs=4), output=tmp_path / "m", checkpoint_every="2k")
    assert any("--resume" in str(warning.message) for warning in said)
    monkeypatch.undo()
    assert not (tmp_path / "m").exists()
    assert same(resume(tmp_path / "m"), whole)


def fail_in_epoch(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the training thread fail in the middle of an epoch."""
    train_chunk = Replica.train_chunk

    def failing(
        self: Replica, worker: Any, tokens: np.ndarray, position: int, seeds: list[int], *rest: Any
    ) -> None:
        if seeds[1:] == [number, 4]:
            raise MemoryError("no memory for the scratch space of a training thread")
        train_chunk(self, worker, tokens, position, seeds, *rest)

    monkeypatch.setattr(Replica, "train_chunk", failing)


def test_diverged_run_keeps_its_last_good_checkpoint_and_goes_on_with_a_lower_rate(
    tmp_path, corpus, monkeypatch
):
    train_chunk = Replica.train_chunk
    for spoiled, said in ((np.nan, "not numbers"), (1e6, "components of")):

        def spoil(self, *rest, by=spoiled):
            train_chunk(self, *rest)
            if rest[3][1] == 3:  # one row of a rare word: the loss may not show it for long
                self.model.inputs[-1, 3] = by

        monkeypatch.setattr(Replica, "train_chunk", spoil)
        with (
            pytest.warns(
                UserWarning, match=r"checkpoint at (4|5)\d\.\d%: cawv train --resume .* --alpha LOWER"
            ),
            pytest.raises(DataError, match=f"diverged: there are vectors .*{said}.*Lower alpha"),
        ):
            train(corpus, small(epochs=4), output=tmp_path / "m", overwrite=True, checkpoint_every="2k")
        monkeypatch.undo()
        for path in (tmp_path / "m.run").glob("*.checkpoint"):
            with np.load(path) as arrays:
                assert np.isfinite(arrays["inputs"]).all()
                assert abs(arrays["inputs"]).max() < 100
    resumed = resume(tmp_path / "m", changes={"alpha": 0.02})
    assert np.isfinite(resumed.inputs).all()


def test_model_that_cannot_be_saved_anywhere_is_kept_as_a_checkpoint(tmp_path, corpus, monkeypatch):
    whole = train(corpus, small())

    def full(*_, **__):
        raise DataError("cannot write the model: No space left on device")

    monkeypatch.setattr(EmbeddingModel, "save", full)
    with (
        pytest.warns(UserWarning, match=r"checkpoint at 100\.0%.*--resume"),
        pytest.raises(DataError, match="No space left"),
    ):
        train(corpus, small(), output=tmp_path / "m")
    monkeypatch.undo()
    trained = Trainer._train_epoch
    monkeypatch.setattr(Trainer, "_train_epoch", lambda *_: pytest.fail("it trained"))
    assert same(resume(tmp_path / "m"), whole)
    assert trained


def test_of_processes_that_begin_together_one_trains(tmp_path, monkeypatch):
    """Between making the folder and locking it, others begin: losers must not remove it."""
    output, request = tmp_path / "m", partial(RunRequest, config=ResolvedConfig.of(small()), corpus=[["a"]])
    lock = run_directory._lock
    with ExitStack() as winner:

        def slow(*given, **options):
            monkeypatch.setattr(run_directory, "_lock", lock)
            winner.enter_context(UnfinishedRun.begin(request(output=output)))  # meanwhile
            return lock(*given, **options)

        monkeypatch.setattr(run_directory, "_lock", slow)
        with pytest.raises(DataError, match="another process"):
            UnfinishedRun.begin(request(output=output))
        assert (run_folder(output) / "run.json").exists()


def test_a_lock_on_a_removed_run_is_no_lock(tmp_path, monkeypatch):
    """Who locks the file of a run that has just ended begins again, and others are refused."""
    folder = tmp_path / "m.run"

    def late(descriptor):
        monkeypatch.setattr(run_directory, "take_lock", take_lock)
        shutil.rmtree(folder)  # its owner finished between opening and locking
        return take_lock(descriptor)

    monkeypatch.setattr(run_directory, "take_lock", late)
    request = RunRequest(config=ResolvedConfig.of(small()), corpus=[["a"]], output=tmp_path / "m")
    with UnfinishedRun.begin(request), pytest.raises(DataError, match="another process"):
        UnfinishedRun.begin(request)
