"""Nodes, actors, drivers die at any moment: segments count once, replicas are equal, no process is left."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca.cluster import ClusterOptions, FinishedRun, resume_on_cluster, rounds, run, train_on_cluster
from wordvec_ca.cluster.driver import Driver
from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.cluster.shard_placement import ShardPlacement
from wordvec_ca.errors import DataError
from wordvec_ca.models import EmbeddingModel, TrainConfig

psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.slow

MARK = "STRESS_TEST_OF"
"""Environment variable that these processes inherit and those of other clusters do not have. It does not
begin with ``CAWV_``, because commands warn of such variables if they are not options."""

os.environ[MARK] = str(os.getpid())


def actors() -> list[int]:
    """Return the processes that work for a run, including those whose raylet has already died."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or [""]
        if not words[0].startswith("ray::NodeActor") or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        try:
            if process.environ().get(MARK) == str(os.getpid()):
                found.append(process.pid)
        except psutil.NoSuchProcess:
            pass
    return found


CONFIG = TrainConfig(vector_size=16, epochs=2, min_count=1, alpha=0.1, workers=1)


class Watched(Driver):
    """A driver that compares the replicas when the model is saved."""

    latest: Watched

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        type(self).latest = self
        self.digests: set[str] = set()

    def _fetch(self, *args: Any) -> bool:
        living = [m for m in self.members.living if m.version == self.state.version]
        self.digests = set(self.members.results({m: m.actor.digest.remote() for m in living}).values())
        return super()._fetch(*args)


class Deaths:
    """Does something to the run at the n-th look at the nodes in a phase."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, phase: str, nth: int, act: Any) -> None:
        self.done = False
        self._left, self._phase, self._act = nth, phase, act
        ask, attempt, collect = Members.ask, rounds.Rounds._attempt, ShardPlacement.collect
        one_round = rounds.Rounds.round

        def asked(members: Members, **options: Any) -> None:
            self._look(members, Watched.latest.phase)
            ask(members, **options)

        def attempted(these: rounds.Rounds, *args: Any) -> bool:
            self._look(these.members, "merging")
            before, Watched.latest.phase = Watched.latest.phase, "reducing"
            try:
                return attempt(these, *args)
            finally:
                Watched.latest.phase = before

        def collected(placement: ShardPlacement, **options: Any) -> None:
            if Watched.latest.phase == "encoding":
                self._look(placement._members, "encoding")
            collect(placement, **options)

        def rounded(these: rounds.Rounds, *args: Any) -> None:
            self._look(these.members, "round")
            one_round(these, *args)

        monkeypatch.setattr(rounds.Rounds, "round", rounded)
        monkeypatch.setattr(Members, "ask", asked)
        monkeypatch.setattr(rounds.Rounds, "_attempt", attempted)
        monkeypatch.setattr(ShardPlacement, "collect", collected)

    def _look(self, members: Members, phase: str) -> None:
        if phase != self._phase or self.done:
            return
        self._left -= 1
        if self._left <= 0:
            self.done = True
            self._act(members)


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "Driver", Watched)


def pid_of(members: Members, member: Member) -> int:
    return int(members.ray.get(member.actor.status.remote(), timeout=30)["pid"])


def train(text: Any, tmp_path: Path, **options: Any) -> tuple[FinishedRun, list[str]]:
    notices: list[str] = []
    of_cluster: dict[str, Any] = {"cluster": "auto", "nodes": 3, "merging": {"merges_per_epoch": 10}}
    of_cluster |= {name: options.pop(name) for name in ClusterOptions.__dataclass_fields__ if name in options}
    given: dict[str, Any] = {
        "config": CONFIG,
        "output": tmp_path / "model",
        "notice": notices.append,
        "checkpoint_every": "never",
    }
    finished = train_on_cluster(text, options=ClusterOptions(**of_cluster), **{**given, **options})
    return finished, notices


def check(finished: FinishedRun, n_tokens: int = 9 * 700 * 15) -> EmbeddingModel:
    """Check that all text was merged once, the replicas are equal, the model is good, and nothing is left."""
    driver = Watched.latest
    assert driver.state.totals.tallies["words"] == CONFIG.epochs * n_tokens
    assert finished.record["trained_fraction"] == 1.0
    assert len(driver.digests) == 1
    if driver.state.sessions == 1:
        merged = defaultdict(list)
        for epoch, (shard, begin, end) in driver.rounds.entered:
            merged[epoch, shard].append((begin, end))
        for (_, shard), stretches in merged.items():
            ends = [0] + [end for _, end in stretches]
            assert [begin for begin, _ in stretches] == ends[:-1]
            assert ends[-1] == driver.state.ledger.tokens[shard]
        assert len(merged) == CONFIG.epochs * sum(n > 0 for n in driver.state.ledger.tokens)
    model = finished.load()
    assert model.vocab.raw_tokens == n_tokens
    rows = model.vectors.vectors / np.linalg.norm(model.vectors.vectors, axis=1, keepdims=True)
    topics = np.array([word.partition("w")[0] for word in model.vocab.words])
    first = np.arange(200)
    nearest = (rows[first] @ rows.T).argsort(axis=1)[:, -2]
    assert (topics[nearest] == topics[first]).mean() > 0.8
    folder = Path(finished.directory)
    assert not list(folder.parent.glob("*.run"))
    assert not list(folder.parent.glob(".*"))
    assert not glob.glob(os.path.join(tempfile.gettempdir(), f"cawv-{driver.request.run}*"))
    for _ in range(100):
        if not actors():
            break
        time.sleep(0.1)
    assert not actors()
    return model


def test_undisturbed_it_is_reproducible_and_as_good_as_one_machine(
    machines, text, tmp_path, monkeypatch
) -> None:
    machines.have(3)
    first = check(train(text, tmp_path / "a")[0])
    monkeypatch.setattr(rounds, "LARGE", 0)  # the second run merges rows in two portions
    second = check(train(text, tmp_path / "b")[0])
    assert np.array_equal(first.inputs, second.inputs)
    assert np.array_equal(first.outputs, second.outputs)
    record = json.loads((tmp_path / "a" / "model" / "config.json").read_text())["cluster"]
    assert len(record["nodes"]) == 3
    assert record["merges"] == 20
    whole = 20 * 2 * 2 * sum(array.shape[0] * (array.shape[1] + 2) for array in first.learnt.values())
    assert 0.5 * whole < record["bytes_moved"] <= whole  # a byte for each number, two for the scale of a row
    assert {"counting", "encoding", "training", "merging", "saving"} >= set(record["seconds"])
    header, *lines = (tmp_path / "a" / "model" / "history.tsv").read_text().splitlines()
    assert header.endswith("\twords_by_node")
    words = [int(each.split(":")[1]) for each in lines[-1].split("\t")[-1].split()]
    assert sum(words) == first.record["cluster"]["nodes"][0]["words"] + words[1] + words[2]


@pytest.mark.parametrize("phase", ["counting", "encoding", "training", "reducing", "saving"])
def test_a_node_dies(machines, text, tmp_path, monkeypatch, phase) -> None:
    machines.have(3)

    def kill(members: Members) -> None:
        pid = pid_of(members, members.living[1])
        machines.kill(members.living[1].node)
        with contextlib.suppress(ProcessLookupError):  # an actor may live a little longer than its node
            os.kill(pid, signal.SIGKILL)

    deaths = Deaths(monkeypatch, phase, 1 if phase in ("encoding", "saving") else 3, kill)
    finished, notices = train(text, tmp_path)
    assert deaths.done
    check(finished)
    if phase in ("counting", "encoding", "training", "reducing"):
        assert any("is lost" in notice for notice in notices), notices


@pytest.mark.parametrize("phase", ["training", "reducing"])
def test_an_actor_dies_and_its_node_gets_another(machines, text, tmp_path, monkeypatch, phase) -> None:
    machines.have(3)

    def kill(members: Members) -> None:
        os.kill(pid_of(members, members.living[0]), signal.SIGKILL)

    Deaths(monkeypatch, phase, 4, kill)
    finished, notices = train(text, tmp_path)
    check(finished)
    assert sum("is lost" in notice for notice in notices) == 1
    assert len(finished.record["cluster"]["nodes"]) == 4


def kill_all(members: Members) -> None:
    for member in members.living:
        os.kill(pid_of(members, member), signal.SIGKILL)


def test_all_nodes_die_and_the_run_goes_back_to_its_checkpoint(machines, text, tmp_path, monkeypatch) -> None:
    machines.have(2)
    Deaths(monkeypatch, "training", 25, kill_all)
    finished, notices = train(text, tmp_path, nodes=2, checkpoint_every="20k")
    check(finished)
    assert any("from the checkpoint" in notice for notice in notices), notices


def test_all_nodes_die_while_the_model_is_saved_and_it_is_trained_again(
    machines, text, tmp_path, monkeypatch
) -> None:
    machines.have(2)
    deaths = Deaths(monkeypatch, "saving", 1, kill_all)
    finished, notices = train(text, tmp_path, nodes=2)
    assert deaths.done
    check(finished)
    assert any("the run starts again" in notice for notice in notices), notices


def test_all_nodes_die_while_the_held_out_loss_is_measured(machines, text, tmp_path, monkeypatch) -> None:
    machines.have(2)
    held_out = Driver._held_out_loss

    def measured(driver: Driver) -> float:
        if driver.state.sessions == 1 and not driver.members.deaths:
            kill_all(driver.members)
            time.sleep(1)
        return held_out(driver)

    monkeypatch.setattr(Driver, "_held_out_loss", measured)
    valid = tmp_path / "valid.txt"
    valid.write_text((text / "part-0.txt").read_text()[:5000])
    finished, notices = train(text, tmp_path, nodes=2, valid=valid)
    check(finished)
    assert len(finished.record["valid_loss_by_epoch"]) == CONFIG.epochs
    assert any("the run starts again" in notice for notice in notices), notices


def test_the_driver_dies_and_is_resumed_with_its_text_and_checkpoints_on_s3(
    machines, text, tmp_path, s3
) -> None:
    if s3 is None:
        pytest.skip("moto and s3fs are not installed")
    import fsspec

    machines.have(2)
    system = fsspec.filesystem("s3")
    system.invalidate_cache()
    system.put(f"{text}/", f"{s3}/text/", recursive=True)
    model = tmp_path / "model"
    command = [sys.executable, "-m", "wordvec_ca", "train", f"{s3}/text/part-*.txt", "-o", str(model)]
    command += ["--cluster", machines.cluster.address, "--nodes", "2", "--workers", "1", "-d", "16"]
    command += ["--epochs", "2", "--min-count", "1", "--alpha", "0.1", "--checkpoint-every", "20k"]
    command += ["--checkpoint-dir", f"{s3}/run", "--progress", "none"]
    process = subprocess.Popen(command)
    for _ in range(600):
        system.invalidate_cache()
        if system.exists(f"{s3}/run") and any(
            name.endswith(".checkpoint") for name in system.ls(f"{s3}/run")
        ):
            break
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert not model.exists()
    finished = resume_on_cluster(f"{s3}/run", notice=lambda text: None)
    assert finished.directory == str(model)
    assert finished.record["sessions"] == 2
    check(finished)
    system.invalidate_cache()
    assert not system.exists(f"{s3}/run")


KILLED = """
import os, signal
from wordvec_ca.cli import main
from wordvec_ca.cluster import (driver, request)
{} = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
main()
"""


@pytest.mark.parametrize("at", ["driver.Driver._fetch", "request.ClusterRequest.clear"])
def test_the_driver_dies_while_it_saves_and_is_resumed(machines, text, tmp_path, at) -> None:
    machines.have(2)
    model = tmp_path / "model"
    command = [sys.executable, "-c", KILLED.format(at), "train", str(text), "-o", str(model)]
    command += ["--cluster", machines.cluster.address, "--nodes", "2", "--workers", "1", "-d", "16"]
    command += ["--epochs", "2", "--min-count", "1", "--alpha", "0.1", "--progress", "none"]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert (tmp_path / "model.run" / "lease.json").exists()
    saved = model.exists()
    assert saved == (at == "request.ClusterRequest.clear")
    if saved:  # then nothing is trained again
        before = (model / "config.json").read_bytes()
        finished = resume_on_cluster(model, notice=pytest.fail)
        assert (model / "config.json").read_bytes() == before
        assert finished.record["trained_fraction"] == 1.0
        assert finished.load().vocab == finished.vocab
        assert not glob.glob(os.path.join(tempfile.gettempdir(), f"cawv-{finished.record['run']}*"))
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
    else:
        finished = resume_on_cluster(model, notice=lambda text: None)
        assert finished.record["sessions"] == 2
        assert Watched.latest.rounds.entered == []
        check(finished)


def test_a_checkpoint_with_damaged_parameters_is_passed_over(machines, text, tmp_path, monkeypatch) -> None:
    machines.have(2)
    fetch = Driver._fetch
    monkeypatch.setattr(Driver, "_fetch", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(text, tmp_path, nodes=2, checkpoint_every="20k")
    monkeypatch.setattr(Driver, "_fetch", fetch)
    newest = max((tmp_path / "model.run").glob("*.checkpoint"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    with pytest.warns(UserWarning, match="Bad CRC-32 .*; the one before it is used"):
        check(resume_on_cluster(tmp_path / "model", notice=lambda text: None))


def test_a_run_that_saved_no_checkpoint_replaces_its_own_model(machines, text, tmp_path) -> None:
    machines.have(2)
    finished, _ = train(text, tmp_path, nodes=2, callbacks=[lambda progress: True])
    assert finished.record["interrupted"]
    check(resume_on_cluster(tmp_path / "model", notice=lambda text: None))


def test_the_disk_of_a_node_fails(machines, text, tmp_path) -> None:
    machines.have(2)
    with pytest.raises(DataError, match=r"^node \d .*missing': No such file or directory$"):
        train(text, tmp_path, nodes=2, cache_dir=tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_nodes_encode_ends_the_run_at_once(machines, text, tmp_path, monkeypatch) -> None:
    machines.have(2)
    Deaths(monkeypatch, "encoding", 1, lambda members: os.kill(os.getpid(), signal.SIGINT))
    with (
        pytest.raises(KeyboardInterrupt),
        pytest.warns(UserWarning, match="cawv train --resume .* continues"),
    ):
        train(text, tmp_path, nodes=2)
    assert [path.name for path in tmp_path.iterdir()] == ["model.run"]
    limit = time.monotonic() + 30
    while actors() and time.monotonic() < limit:  # Ray ends them with a delay
        time.sleep(0.1)
    assert not actors()
    check(resume_on_cluster(tmp_path / "model", notice=lambda text: None))


def test_a_node_comes_later_and_takes_its_part(machines, text, tmp_path, monkeypatch) -> None:
    machines.have(1)
    one_round = rounds.Rounds.round

    def waiting(these: rounds.Rounds, *args: Any) -> None:
        if these.state.totals.merges == 0 and these.state.version == 2:
            machines.add()
        if these.state.version > 2 and not these.state.totals.merges:
            time.sleep(1)  # meanwhile the other driver starts
        one_round(these, *args)

    monkeypatch.setattr(rounds.Rounds, "round", waiting)
    finished, _ = train(text, tmp_path, nodes=2, patience=15, merging={"merges_per_epoch": 30})
    check(finished)
    nodes = finished.record["cluster"]["nodes"]
    assert len(nodes) == 2
    assert nodes[1]["words"] > 0


def test_a_slow_node_is_named_and_not_waited_for(machines, text, tmp_path, monkeypatch) -> None:
    machines.have(3)
    monkeypatch.setattr(rounds, "SLOW_SECONDS", 0.5)

    def freeze(members: Members) -> None:
        pid = pid_of(members, members.living[2])
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(3, os.kill, (pid, signal.SIGCONT)).start()

    Deaths(monkeypatch, "round", 4, freeze)
    finished, notices = train(text, tmp_path)
    check(finished)
    assert any("node 3" in notice and "is slow" in notice for notice in notices), notices
    assert not finished.record["cluster"]["lost"]


@pytest.mark.parametrize("phase", ["counting", "encoding", "round", "merging", "reducing", "saving"])
def test_a_node_that_answers_nothing_is_given_up(machines, text, tmp_path, monkeypatch, phase) -> None:
    machines.have(3)
    frozen = []

    def freeze(members: Members) -> None:
        frozen.append(pid_of(members, members.living[2]))
        os.kill(frozen[0], signal.SIGSTOP)

    Deaths(monkeypatch, phase, {"round": 4, "merging": 4, "reducing": 4}.get(phase, 1), freeze)
    try:
        finished, notices = train(text, tmp_path, patience=12)
    finally:
        with contextlib.suppress(ProcessLookupError):  # if Ray has already killed it
            os.kill(frozen[0], signal.SIGKILL)
    check(finished)
    lost = [notice for notice in notices if "is lost" in notice]  # nodes that only wait for it do answer
    assert len(lost) == 1, notices
    assert "node 3" in lost[0]
    assert "not answered" in lost[0]


STRANGE = (
    "import sys, types; sys.modules['wordvec_ca._version'] = types.SimpleNamespace(__version__='0.0.1')",
    "import os; known = os.sysconf\nos.sysconf = lambda name: 3 if name == 'SC_PHYS_PAGES' else known(name)",
    "import builtins; known = builtins.open\n"
    "def missing(name, *args, **options):\n"
    "    if 'part-' in str(name): raise FileNotFoundError(2, 'No such file or directory', name)\n"
    "    return known(name, *args, **options)\n"
    "builtins.open = missing",
    "import time; known = time.time; time.time = lambda: known() + 3600",
)
"""Modules that give a node another version, only three pages of memory, no text, or a clock that is an hour
ahead."""


def test_nodes_that_do_not_fit_are_left_out_and_the_run_goes_on(
    machines, text, tmp_path, monkeypatch
) -> None:
    machines.have(3)
    folders = []
    for i, module in enumerate(STRANGE):
        folders.append(tmp_path / f"strange-{i}")
        folders[-1].mkdir()
        (folders[-1] / "sitecustomize.py").write_text(module)
    one_round = rounds.Rounds.round
    joined = []

    def slowly(these: rounds.Rounds, *args: Any) -> None:
        if these.state.version == 2 and not joined:
            joined.append(True)
            for folder in folders:
                machines.add(folder)
        one_round(these, *args)
        limit = time.monotonic() + 60
        while these.state.version == 5 and len(these.members.left_out) < 4 and time.monotonic() < limit:
            these.ready()
            time.sleep(0.1)

    monkeypatch.setattr(rounds.Rounds, "round", slowly)
    try:
        finished, notices = train(text, tmp_path, nodes=8, patience=15)
    finally:
        machines.have(0)
    driver = Watched.latest
    assert driver.state.totals.tallies["words"] == CONFIG.epochs * 9 * 700 * 15
    assert len(driver.digests) == 1
    told = sorted(notice.partition(") is left out: ")[2] for notice in notices if "left out" in notice)
    assert len(told) == 4, notices
    starts = "it cannot read the text", "it has version 0.0.1", "its clock", "the parameters of"
    assert all(reason.startswith(start) for reason, start in zip(told, starts, strict=True)), told
    assert len(finished.record["cluster"]["left_out"]) == 4


@pytest.mark.parametrize("name", ["raylet", "gcs_server"])
def test_ray_that_answers_no_more_ends_the_run_which_can_be_resumed(
    tmp_path: Path, text: Path, name: str
) -> None:
    """Then calls of Ray wait forever in compiled code, where Ctrl-C does not reach them."""
    # The run is a process of its own, so the test does not use the fixture that skips without Ray.
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'wordvec-ca[cluster]'")
    cawv = [sys.executable, "-m", "wordvec_ca", "train", "--progress", "none"]
    options = ["--cluster", "local", "--nodes", "2", "--workers", "1", "--checkpoint-every", "20k"]
    options += ["--vector-size", "32", "--epochs", "30", "--min-count", "1", "-o", str(tmp_path / "model")]
    said = tmp_path / "said"
    with said.open("wb") as file:
        run = subprocess.Popen([*cawv, str(text / "part-0.txt"), *options], stdout=file, stderr=file)
    while run.poll() is None and not list((tmp_path / "model.run").glob("*.checkpoint")):
        time.sleep(0.05)
    of_ray = psutil.Process(run.pid).children(recursive=True)
    stopped = [process for process in of_ray if process.name() == name]
    assert stopped, said.read_text()
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    assert run.wait(900) == 1, said.read_text()  # ending takes about a minute on a quiet machine
    assert "Error: Ray " in said.read_text()
    assert "--resume" in said.read_text()
    assert not psutil.wait_procs(of_ray, 300)[1]  # its agents notice late that their raylet is gone
    subprocess.run([*cawv, "--resume", str(tmp_path / "model")], check=True)
    assert (tmp_path / "model" / "config.json").exists()
