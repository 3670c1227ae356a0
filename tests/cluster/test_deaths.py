"""Processes, nodes, Ray and the driver die at any moment: the model has the bits of an undisturbed run."""

import contextlib
import glob
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, EmbeddingModel, TrainConfig
from wordvec_ca.cluster import ClusterOptions, FinishedRun, resume_on_cluster, rounds, train_on_cluster
from wordvec_ca.cluster.driver import Driver

psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.slow

CONFIG = TrainConfig(vector_size=16, epochs=2, min_count=1, alpha=0.1, workers=1, merges=20)
TOKENS = 9 * 700 * 15


def sha(directory: str | Path) -> str:
    """Return the SHA-256 of the words and the parameters of a model."""
    found = hashlib.sha256()
    for path in sorted([*Path(directory).glob("*.npy"), Path(directory) / "vocab.tsv"]):
        found.update(path.read_bytes())
    return found.hexdigest()


def train(text: Any, tmp_path: Path, **options: Any) -> tuple[FinishedRun, list[str]]:
    notices: list[str] = []
    of_cluster: dict[str, Any] = {"cluster": "auto", "nodes": 3}
    of_cluster |= {name: options.pop(name) for name in ClusterOptions.__dataclass_fields__ if name in options}
    given: dict[str, Any] = {
        "config": CONFIG,
        "output": tmp_path / "model",
        "notice": notices.append,
        "checkpoint_every": "never",
    }
    finished = train_on_cluster(text, options=ClusterOptions(**of_cluster), **{**given, **options})
    return finished, notices


def check(finished: FinishedRun) -> EmbeddingModel:
    """Check that all text was trained, the model is good, and nothing is left."""
    assert finished.record["trained_fraction"] == 1.0
    assert finished.record["corpus"]["raw_tokens"] == TOKENS
    model = finished.load()
    rows = model.vectors.vectors / np.linalg.norm(model.vectors.vectors, axis=1, keepdims=True)
    topics = np.array([word.partition("w")[0] for word in model.vocab.words])
    nearest = (rows[:200] @ rows.T).argsort(axis=1)[:, -2]
    assert (topics[nearest] == topics[:200]).mean() > 0.8
    folder = Path(finished.directory)
    assert not list(folder.parent.glob("*.run"))
    assert not list(folder.parent.glob(".*"))
    assert not glob.glob(os.path.join(tempfile.gettempdir(), f"cawv-{finished.record['run']}*"))
    return model


@pytest.fixture(scope="module")
def undisturbed(machines, text, tmp_path_factory):
    """The SHA-256 of three replicas on three nodes, where nothing happens."""
    machines.have(3)
    folder = tmp_path_factory.mktemp("undisturbed")
    finished, _ = train(text, folder)
    model, record = check(finished), finished.record["cluster"]
    assert len(record["nodes"]) == 3
    assert sum(node["words"] for node in record["nodes"]) == CONFIG.epochs * TOKENS
    assert record["merges"] == 20
    first = 2 * sum(4 * array.size for array in model.learnt.values())  # two nodes fetch version 0
    # a byte for each number, two for the scale of a row; twice, to two of three nodes
    whole = 20 * 2 * 2 * sum(array.shape[0] * (array.shape[1] + 2) for array in model.learnt.values())
    assert 0.5 * whole < record["bytes_moved"] - first <= whole
    return sha(finished.directory)


def test_the_bits_do_not_depend_on_slices_and_nodes(machines, text, tmp_path, undisturbed, monkeypatch):
    """One node, then three, then two, with other slices of the parameters."""
    machines.have(1)
    monkeypatch.setattr(rounds, "LARGE", 0)
    one_round = rounds.Rounds.round
    at_work = set()

    def changing(these):
        if these.state.version in (3, 9):
            machines.have(3 if these.state.version == 3 else 2)
            limit = time.monotonic() + 60
            while len(these.engine.nodes()) != len(machines.nodes) and time.monotonic() < limit:
                time.sleep(0.1)
        at_work.add(len(these.engine.nodes()))
        one_round(these)

    monkeypatch.setattr(rounds.Rounds, "round", changing)
    finished, _ = train(text, tmp_path, patience=5)
    check(finished)
    assert at_work == {1, 2, 3}
    assert sha(finished.directory) == undisturbed


def workers(node: Any) -> list[Any]:
    """Return the processes of a node that run tasks; its agents share the fate of its raylet."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)

    def works(process: Any) -> bool:
        try:  # the name is cut off after 15 letters, so that agents can be told by the command line alone
            return process.name().startswith("ray::") and "Agent" not in process.cmdline()[0]
        except (psutil.NoSuchProcess, IndexError):  # it has just ended
            return False

    return list(filter(works, raylet.children()))


def command(machines: Any, text: Path, model: Path, *more: str) -> list[str]:
    found = [sys.executable, "-m", "wordvec_ca", "train", str(text), "-o", str(model), *more]
    found += ["--cluster", machines.cluster.address, "--nodes", "3", "--workers", "1", "-d", "16"]
    return [*found, "--epochs", "12", "--min-count", "1", "--alpha", "0.1", "--progress", "none"]


def test_forty_kills_at_random_moments(machines, text, tmp_path):
    """A process of Ray, a raylet, a node with all its processes, or the driver, in seven runs."""
    machines.have(3)
    subprocess.run(command(machines, text, tmp_path / "m"), check=True)
    expected, draw = sha(tmp_path / "m"), random.Random(7)
    kills: list[str] = []
    for number in range(30):
        if len(kills) >= 40:
            break
        model = tmp_path / f"m{number}"
        run = subprocess.Popen(command(machines, text, model, "--checkpoint-every", "2s"))
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(draw.uniform(0.5, 6.0))
            if run.returncode is not None:
                if run.returncode == 0:
                    break
                assert run.returncode == -signal.SIGKILL, kills
                kept = (model.parent / f"{model.name}.run" / "run.json").exists()
                if model.exists() and not kept:
                    break  # the driver was killed while it ended: the model had been saved, the run removed
                run = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "wordvec_ca",
                        "train",
                        "--resume",
                        str(model),
                        "--progress",
                        "none",
                    ]
                    if kept
                    else command(machines, text, model, "--checkpoint-every", "2s")
                )
                continue
            if len(kills) >= 40:
                continue
            kind = draw.choice(["worker", "raylet", "node", "driver"])
            kills.append(kind)
            if kind == "driver":
                run.kill()
                continue
            key = draw.choice(sorted(machines.nodes))
            raylet = psutil.Process(machines.nodes[key].all_processes["raylet"][0].process.pid)
            below = raylet.children(recursive=True)
            if kind == "worker":
                found = workers(machines.nodes[key])
                victims = [draw.choice(found)] if found else []
            else:
                victims = [raylet, *(below if kind == "node" else [])]
            for process in victims:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            if kind != "worker":
                machines.kill(key)
                machines.add()
        assert sha(model) == expected, kills
    assert len(kills) >= 40
    assert not list(tmp_path.glob("*.run/*"))  # a kill may come between the last file and its folder


@pytest.mark.parametrize("every", ["20k", "never"])
def test_all_nodes_die_and_the_run_goes_back(machines, text, tmp_path, undisturbed, monkeypatch, every):
    machines.have(3)
    one_round, killed = rounds.Rounds.round, list[str]()

    def dying(these):
        if these.state.version == 12 and not killed:
            killed.extend(machines.nodes)
            for key in killed:
                machines.kill(key)
            machines.have(3)
        one_round(these)

    monkeypatch.setattr(rounds.Rounds, "round", dying)
    finished, notices = train(text, tmp_path, checkpoint_every=every)
    check(finished)
    assert sha(finished.directory) == undisturbed
    assert any("every copy of the parameters is lost" in notice for notice in notices), notices
    assert any("from the checkpoint" in notice for notice in notices) == (every != "never")


def test_a_process_that_answers_nothing_is_given_up(machines, text, tmp_path, undisturbed, monkeypatch):
    machines.have(3)
    one_round, frozen = rounds.Rounds.round, list[Any]()

    def freezing(these):
        if these.state.version == 4 and not frozen:
            frozen.extend(workers(next(iter(machines.nodes.values()))))
            for process in frozen:
                process.suspend()
        one_round(these)

    monkeypatch.setattr(rounds.Rounds, "round", freezing)
    try:
        finished, notices = train(text, tmp_path, patience=5)
    finally:
        for process in frozen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
    check(finished)
    assert sha(finished.directory) == undisturbed
    assert any("has not answered" in notice for notice in notices), notices


def test_the_driver_dies_and_is_resumed_with_its_text_and_checkpoints_on_s3(machines, text, tmp_path, s3):
    if s3 is None:
        pytest.skip("moto and s3fs are not installed")
    import fsspec

    machines.have(2)
    system = fsspec.filesystem("s3")
    system.invalidate_cache()
    system.put(f"{text}/", f"{s3}/text/", recursive=True)
    model = tmp_path / "model"
    words = [sys.executable, "-m", "wordvec_ca", "train", f"{s3}/text/part-*.txt", "-o", str(model)]
    words += ["--cluster", machines.cluster.address, "--nodes", "2", "--workers", "1", "-d", "16"]
    words += ["--epochs", "2", "--min-count", "1", "--alpha", "0.1", "--checkpoint-every", "20k"]
    words += ["--checkpoint-dir", f"{s3}/run", "--progress", "none"]
    process = subprocess.Popen(words)
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
def test_the_driver_dies_while_it_saves_and_is_resumed(machines, text, tmp_path, at):
    machines.have(3)
    model = tmp_path / "model"
    words = [sys.executable, "-c", KILLED.format(at), *command(machines, text, model)[3:]]
    assert subprocess.run(words).returncode == -signal.SIGKILL
    assert (tmp_path / "model.run" / "lock.json").exists()
    saved = model.exists()
    assert saved == (at == "request.ClusterRequest.clear")
    if saved:  # then nothing is trained again
        before = (model / "config.json").read_bytes()
        finished = resume_on_cluster(model, notice=pytest.fail)
        assert (model / "config.json").read_bytes() == before
        assert finished.load().vocab == finished.vocab
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
    else:
        finished = resume_on_cluster(model, notice=lambda text: None)
        assert finished.record["sessions"] == 2
        assert finished.record["cluster"]["nodes"][0]["words"] == 0
        check(finished)


def test_a_checkpoint_with_damaged_parameters_is_passed_over(
    machines, text, tmp_path, undisturbed, monkeypatch
):
    machines.have(3)
    monkeypatch.setattr(Driver, "_fetch", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(text, tmp_path, checkpoint_every="20k")
    monkeypatch.undo()
    newest = max((tmp_path / "model.run").glob("*.checkpoint"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    with pytest.warns(UserWarning, match="Bad CRC-32 .*; the one before it is used"):
        finished = resume_on_cluster(tmp_path / "model", notice=lambda text: None)
    check(finished)
    assert sha(finished.directory) == undisturbed


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(machines, text, tmp_path, undisturbed):
    machines.have(3)
    finished, _ = train(text, tmp_path, callbacks=[lambda progress: True])
    assert finished.record["interrupted"]
    assert 0 < finished.record["trained_fraction"] < 1
    finished = resume_on_cluster(tmp_path / "model", notice=lambda text: None)
    check(finished)
    assert sha(finished.directory) == undisturbed


def test_the_disk_of_every_node_fails(machines, text, tmp_path):
    machines.have(2)
    with pytest.raises(DataError, match=r"node \d .*missing/.*: No such file or directory"):
        train(text, tmp_path, nodes=2, cache_dir=tmp_path / "missing", patience=5)
    assert list(tmp_path.iterdir()) == []


STRANGE = (
    "import sys, types; sys.modules['wordvec_ca._version'] = types.SimpleNamespace(__version__='0.0.1')",
    "import builtins; known = builtins.open\n"
    "def missing(name, *args, **options):\n"
    "    if 'part-' in str(name): raise FileNotFoundError(2, 'No such file or directory', name)\n"
    "    return known(name, *args, **options)\n"
    "builtins.open = missing",
)
"""Modules that give a node another version, or no text."""


def test_nodes_that_do_not_fit_are_left_out_and_the_run_goes_on(machines, text, tmp_path, undisturbed):
    machines.have(3)
    for i, module in enumerate(STRANGE):
        (tmp_path / f"strange-{i}").mkdir()
        (tmp_path / f"strange-{i}" / "sitecustomize.py").write_text(module)
        machines.add(tmp_path / f"strange-{i}")
    try:
        finished, notices = train(text, tmp_path / "out", patience=15)
    finally:
        machines.have(0)
    assert sha(finished.directory) == undisturbed
    told = sorted(notice.partition(") is left out: ")[2] for notice in notices if "left out" in notice)
    assert len(told) == 2, notices
    assert "No such file" in told[0]
    assert "it has version 0.0.1" in told[1]


@pytest.mark.parametrize(
    ("name", "how"), [("gcs_server", "KILL"), ("gcs_server", "STOP"), ("raylet", "STOP")]
)
def test_ray_that_answers_no_more_ends_the_run_which_can_be_resumed(tmp_path, text, name, how):
    """Then calls of Ray wait forever in compiled code, where Ctrl-C does not reach them."""
    # The run is a process of its own, so the test does not use the fixture that skips without Ray.
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'wordvec-ca[cluster]'")
    cawv = [sys.executable, "-m", "wordvec_ca", "train", "--progress", "none"]
    options = ["--cluster", "local", "--nodes", "2", "--workers", "1", "--checkpoint-every", "1s"]
    options += ["--vector-size", "32", "--epochs", "150", "--min-count", "1", "-o", str(tmp_path / "model")]
    said = tmp_path / "said"
    with said.open("wb") as file:
        run = subprocess.Popen([*cawv, str(text / "part-0.txt"), *options], stdout=file, stderr=file)
    while run.poll() is None and not list((tmp_path / "model.run").glob("*.checkpoint")):
        time.sleep(0.05)
    of_ray = psutil.Process(run.pid).children(recursive=True)
    stopped = [process for process in of_ray if process.name() == name]
    assert stopped, said.read_text()
    for process in stopped:
        process.send_signal(getattr(signal, f"SIG{how}"))
    began = time.monotonic()
    assert run.wait(300) == 1, said.read_text()
    assert time.monotonic() - began < 120, "about a minute, on a quiet machine"
    assert not psutil.wait_procs(of_ray, 60)[1]
    assert "Error: Ray " in said.read_text()
    assert "--resume" in said.read_text()
    subprocess.run([*cawv, "--resume", str(tmp_path / "model")], check=True)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["trained_fraction"] == 1.0
