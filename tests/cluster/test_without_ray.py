"""The parts of a run on a cluster, without a cluster: shards, tasks, merges, checkpoints, the lock, costs."""

import dataclasses
import errno
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, EmbeddingModel, OutputExistsError, TrainConfig, Vocab, __version__, resume
from wordvec_ca.cluster import (
    ClusterOptions,
    check_cluster_address,
    cost,
    driver,
    is_cluster_run,
    lock,
    resume_on_cluster,
    tasks,
    train_on_cluster,
)
from wordvec_ca.cluster.engine import Engine
from wordvec_ca.cluster.lock import Lock, LockLost, check_lock
from wordvec_ca.cluster.preparation import ReplicaText
from wordvec_ca.cluster.request import ClusterRequest, parse_patience
from wordvec_ca.cluster.rounds import RunState, plan_of_replicas, slices_of
from wordvec_ca.cluster.shards import Shard, Words, assigned, shards_of, stripes
from wordvec_ca.cluster.tasks import GROUPS, Common, Part
from wordvec_ca.corpus import CorpusStats, count_corpus, least_count
from wordvec_ca.files import Storage
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training import MergePlan, end_of_line
from wordvec_ca.training.checkpoint import Checkpoints, write_checkpoint
from wordvec_ca.training.merge_plan import quality_warning

CONFIG = ResolvedConfig.of(TrainConfig(workers=1, vector_size=16, epochs=2, min_count=3, alpha=0.1))


def common(words: Words, slices: int, run: str = "r") -> Common:
    return Common(run, CONFIG, words, slices, None, 0.0)


def counted(files: list[str], shards: Sequence[Shard]) -> tuple[Words, Any]:
    """Count as `count_words` does, without Ray."""
    found = [list(tasks.count(common(Words(0, 0, 0), 1), shard)) for shard in shards]
    totals = [list(tasks.total(*[of_shard[1 + g] for of_shard in found])) for g in range(GROUPS)]
    least, tokens, types = least_count((each for h, _ in totals for each in h), CONFIG.text_options())
    text = tasks.gather(least, *[merged for _, merged in totals])
    return Words(bytes(text).count(b"\n"), tokens, types), text


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tasks_count_encode_train_and_merge(text, tmp_path, n):
    files = sorted(map(str, text.glob("*.txt")))[: 3 if n < 3 else 9]
    shards = shards_of(files, n, 1)
    words, of_words = counted(files, shards)
    vocab = words.read(of_words)
    expected, _ = count_corpus(files, CONFIG.text_options())
    assert vocab == expected
    assert (vocab.raw_tokens, vocab.raw_types) == (expected.raw_tokens, expected.raw_types)
    owners = assigned(shards, n)
    encoded = [list(tasks.encode(common(words, 1), of_words, shard, 2)) for shard in shards]
    assert sum(of_shard[0].stats.kept_tokens for of_shard in encoded) == vocab.total_count
    texts = [
        ReplicaText(
            [block for of_shard, o in zip(encoded, owners, strict=True) if o == i for block in of_shard[1:]],
            [x for of_shard, o in zip(encoded, owners, strict=True) if o == i for x in of_shard[0].lengths],
        )
        for i in range(n)
    ]
    total, every = sum(each.tokens for each in texts), 5
    plan = dataclasses.replace(MergePlan.of(CONFIG, total, n), rate=1.0)

    def trained(slices, run):
        of_run, read = common(words, slices, run), 0.0
        _, *copy = tasks.initial(of_run, of_words)
        _, *touched = tasks.touches(of_run, of_words, total)
        for version in range(CONFIG.epochs * every):
            epoch, number = 1 + version // every, version % every
            deltas = []
            for i in np.random.default_rng(version).permutation(n).tolist():  # whoever answers first
                begin, end = (texts[i].tokens * k // every for k in (number, number + 1))
                ranges, blocks = texts[i].ranges(begin, end)
                part = Part(i, epoch, total * (epoch - 1) + total * number // every, plan.rate, ranges)
                found, *delta = tasks.train(of_run, of_words, total, part, n == 1, *copy, *blocks)
                read += found.get("words", 0)  # one of two has no text: a file is one stripe
                # what a task yields is copied by Ray before the next one runs
                deltas.append((i, [{k: v.copy() for k, v in d.items()} for d in delta] if n == 1 else delta))
            in_order = [delta for _, delta in sorted(deltas, key=lambda each: each[0])]
            if n == 1:
                copy = in_order[0]
            else:
                new = []
                for j in range(slices):
                    given = touched[j], *[d[j] for d in in_order]
                    sizes, reduced = tasks.reduce(of_run, plan, total / every / n, 0.1, *given)
                    assert sizes[-1] == sum(delta.nbytes for delta in reduced)
                    new.append(reduced)
                copy = list(tasks.apply(of_run, *new, *copy))[1:]
        return {name: np.concatenate([s[name] for s in copy]) for name in copy[0]}, read

    first, read = trained(n, "a")
    assert read == CONFIG.epochs * vocab.total_count, "all words, once in an epoch"
    other, _ = trained(7, "b")
    for name, array in first.items():
        assert np.array_equal(array, other[name]), "slices do not change the bits"

    storage = Storage(tmp_path / "run")
    slices = list(tasks._sliced(first, 7))
    tasks.keep(common(words, 7, "b"), of_words, storage, "token", {"round": 3}, *slices)
    state, *again = tasks.load(common(words, 2, "c"), of_words, storage, "000001.checkpoint")
    assert state == {"round": 3}
    for name, array in first.items():
        assert np.array_equal(array, np.concatenate([s[name] for s in again]))
    for name, piece in tasks.save(common(words, 7, "b"), of_words, {}, [], *slices):
        (tmp_path / "model").mkdir(exist_ok=True)
        with open(tmp_path / "model" / name, "ab") as file:
            file.write(piece)
    assert np.array_equal(EmbeddingModel.load(tmp_path / "model").inputs, first["inputs"])


def test_ranges_of_a_replica_are_its_text_once():
    tokens = [np.arange(i, i + n) for i, n in ((0, 10), (10, 0), (10, 7), (17, 30))]
    text = ReplicaText(tokens, [len(block) for block in tokens])
    found = []
    for number in range(6):
        ranges, blocks = text.ranges(47 * number // 6, 47 * (number + 1) // 6)
        for (_, begin, end), block in zip(ranges, blocks, strict=True):
            found += block[begin:end].tolist()
    assert found == list(range(47))


def test_stripes_are_the_text_whatever_its_pieces():
    lines = b"".join(b"line %d has words\n" % i for i in range(5000))
    for cut in (1000, 77_777):
        pieces = [lines[i : i + cut] for i in range(0, len(lines), cut)]
        parts = [b"".join(stripes(iter(pieces), i, 3, 2000)) for i in range(3)]
        assert sorted(b"".join(parts).splitlines()) == sorted(lines.splitlines())
        assert all(part.endswith(b"\n") for part in parts)
        assert max(map(len, parts)) - min(map(len, parts)) < 2100
        if cut == 1000:
            first = parts
    assert parts == first


def test_segments_end_with_lines():
    tokens = np.array([1, 2, -1, 3, -1, *range(3000), -1], np.int32)
    assert [end_of_line(tokens, stop) for stop in (0, 1, 3, 4, 6, len(tokens))] == [0, 3, 3, 5, 3006, 3006]


def checkpoints_of_versions(folder: Path, versions: Sequence[int]) -> Checkpoints:
    checkpoints = Checkpoints(Storage(folder))
    for version in versions:
        record = {**RunState("a").as_record(), "version": version}
        write_checkpoint(checkpoints.storage, checkpoints.next_name(), record, {}, Vocab([], []))
    return checkpoints


def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    checkpoints = checkpoints_of_versions(tmp_path, (1, 2))
    path = tmp_path / "000002.checkpoint"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.warns(UserWarning, match="the one before it is used"):
        found = checkpoints.newest(checkpoints.record)
    assert found is not None
    assert found["version"] == 1
    (tmp_path / "000001.checkpoint").unlink()
    with pytest.raises(DataError, match="no checkpoint can be read"):
        checkpoints.newest(checkpoints.record)


def request_of(tmp_path: Path) -> ClusterRequest:
    return ClusterRequest(
        config=CONFIG, files=("a", "b"), valid=(), shards=(Shard(0, ("a", "b"), 3),),
        output=str(tmp_path / "m"), storage=str(tmp_path / "shared"), cluster="local", nodes=2,
        overwrite=False, cache_dir=None, checkpoint_every="10m",
        patience=60,
    )  # fmt: skip


def test_a_request_is_found_again_beside_the_output_and_in_the_storage(tmp_path):
    request = request_of(tmp_path)
    request.write()
    for place in (tmp_path / "m", tmp_path / "m.run", tmp_path / "shared"):
        assert ClusterRequest.read(place) == request
    assert is_cluster_run(tmp_path / "m")
    with pytest.raises(DataError, match="is a run on a cluster"):
        resume(tmp_path / "m")
    (tmp_path / "m.run" / "lock").unlink()
    for place in (tmp_path / "m.run", tmp_path / "shared"):
        assert is_cluster_run(place)
    request.clear()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="to resume"):
        ClusterRequest.read(tmp_path / "m")


def test_checkpoints_of_versions_that_merge_differently_are_refused(tmp_path):
    checkpoints = Checkpoints(Storage(tmp_path))
    for number, state in enumerate(({"round": 2}, {"format": 3}, {"round": 2, "format": 5})):
        write_checkpoint(checkpoints.storage, f"{number:06}.checkpoint", state, {}, Vocab([], []))
    assert checkpoints.record("000000.checkpoint") == {"round": 2}
    for name in ("000001.checkpoint", "000002.checkpoint"):
        with pytest.raises(DataError, match="use the version that wrote it"):
            checkpoints.record(name)


def test_a_run_with_checkpoints_elsewhere_spares_those_beside_its_output(text, tmp_path):
    beside = tmp_path / "model.run"
    write_checkpoint(Storage(beside), "000001.checkpoint", {}, {}, Vocab([], []))
    options = ClusterOptions(checkpoint_dir=str(tmp_path / "other"))
    with pytest.raises(OutputExistsError, match=rf"{beside}' holds an unfinished run"):
        train_on_cluster(text, CONFIG, options, output=tmp_path / "model")
    (beside / "000001.checkpoint").unlink()
    with Lock(Storage(str(beside)), takes_over=False), pytest.raises(DataError, match="works on this run"):
        train_on_cluster(text, CONFIG, options, output=tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_does_not_replace_the_model_of_another(tmp_path):
    request_of(tmp_path).write()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "config.json").write_text('{"run": "another"}')
    with pytest.raises(OutputExistsError, match="exists already"):
        resume_on_cluster(tmp_path / "shared", output=tmp_path / "old")
    with pytest.raises(ValueError, match="nodes must be 1 to 1024"):
        ClusterOptions(nodes=0)


def test_a_finished_run_tells_what_the_command_says_of_a_model(tmp_path):
    """``cawv train`` asks a run on a cluster for the same as a model in memory."""
    model = EmbeddingModel(CONFIG, Vocab(["a", "b"], [2, 1]))
    model.initialise()
    model.save(tmp_path / "m")
    finished = driver.FinishedRun(str(tmp_path / "m"), {})
    assert (finished.config, finished.vocab, finished.documents) == (model.config, model.vocab, None)


def test_clearing_leaves_nothing_and_never_a_lock_without_its_run(tmp_path, monkeypatch):
    request = request_of(tmp_path)
    request.write()
    Storage(request.storage).write("counted.json", b"{}")
    remove, seen = Storage.remove, []

    def removing(storage, name):  # a driver may die before and after each
        remove(storage, name)
        seen.append({path.name for path in Path(storage.place).iterdir()})

    monkeypatch.setattr(Storage, "remove", removing)
    with ExitStack() as locks:
        for storage in request.places():
            locks.enter_context(Lock(storage, takes_over=False))
        request.clear()
        assert list(tmp_path.iterdir()) == []
    assert {"run.json"} in seen
    assert {"lock.json"} not in seen


def test_long_runs_and_fast_networks_scale_better():
    def efficiency(words, network):
        found = cost.costs(
            ResolvedConfig.of(TrainConfig(vector_size=300, workers=1, epochs=1)),
            cost.Speed(training=48e6, reading=160e6, network=network, merging=0.5),
            CorpusStats(raw_tokens=int(words), kept_tokens=int(words)),
            1_000_000,
            [1, 2, 4, 8],
        )
        assert found[0].efficiency == 1
        assert found[0].sent == 0
        assert found[1].sent == pytest.approx(
            200 * 1_000_000 * (304 + 2) * 2, rel=1e-4
        )  # two arrays, a byte for each number and two for each row, half of them twice
        assert [each.efficiency for each in found] == sorted(
            (each.efficiency for each in found), reverse=True
        )
        return found[-1].efficiency

    assert efficiency(1e11, 1.25e8) < efficiency(1e11, 1.25e9) < efficiency(5e11, 1.25e9) < 1
    speed = cost.Speed(training=5e6, reading=2e7, network=1e9, merging=0.1)
    short = cost.costs(CONFIG, speed, CorpusStats(raw_tokens=10**8, kept_tokens=10**8), 50_000, [1, 2, 4])
    assert cost.advice(short)[0] == 1
    fixed = cost.OVERHEAD + 50_000 * cost.WORD_BYTES
    parameters = short[0].memory - fixed  # twice
    assert short[1].memory - fixed == pytest.approx(cost.COPIES / 2 * parameters)


@pytest.mark.parametrize("address", ["local", "auto", "10.0.0.1:6379", "head:6379", "[::1]:6379"])
def test_addresses_that_are_right(address):
    check_cluster_address(address)


@pytest.mark.parametrize("address", ["", "remote", "10.0.0.1", "ray://head:10001", "a b:1"])
def test_addresses_that_are_wrong(address):
    with pytest.raises(ValueError, match="must be local"):
        check_cluster_address(address)


def another_lock(storage: Storage, **fields: Any) -> None:
    record = {"host": "node7", "pid": 4711, "token": "x", "since": 1.8e9, **fields}
    storage.write("lock.json", json.dumps(record).encode())


def test_a_run_has_one_driver(tmp_path):
    storage = Storage(str(tmp_path / "run"))
    for resumes in (False, True):
        with Lock(storage, takes_over=resumes) as held:
            check_lock(storage, held.token)
            with pytest.raises(DataError, match=rf"process {os.getpid()} on .* works on this run"):
                Lock(storage, takes_over=True).__enter__()
        assert not (tmp_path / "run").exists()
    another_lock(storage)  # of another host, whose processes cannot be seen
    with pytest.raises(
        LockLost, match=r"process 4711 on node7, since 2027-01-15T08:00:00\+00:00, works .*--resume"
    ):
        Lock(storage, takes_over=False).__enter__()
    told: list[str] = []
    with Lock(storage, takes_over=True, notice=told.append) as held:
        assert "node7" in told[0]
        another_lock(storage)  # is taken over in turn
        with pytest.raises(LockLost, match=r"node7.* has taken over this run"):
            check_lock(storage, held.token)
        with pytest.raises(LockLost):
            tasks.keep(common(Words(0, 0, 0), 1), None, storage, held.token, {})  # type: ignore[arg-type]
    assert json.loads((tmp_path / "run" / "lock.json").read_text())["host"] == "node7"


def test_the_lock_of_a_dead_process_is_taken_over_at_once(tmp_path):
    storage = Storage(str(tmp_path / "run"))
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    for pid in (process.pid, os.getpid(), None):
        another_lock(storage, host=socket.gethostname(), pid=pid)
        with Lock(storage, takes_over=False, notice=pytest.fail):
            pass
    assert lock._held == set()


def fake_engine(nodes: Any, wait: Any, get: Any, **more: Any) -> tuple[Engine, list[str]]:
    """Return an engine whose Ray answers as these functions say, and what it tells."""
    error = type("Error", (Exception,), {})
    ray: Any = SimpleNamespace(
        nodes=nodes,
        wait=lambda refs, **options: wait(refs),
        get=lambda ref, **options: get(ref),
        get_runtime_context=lambda: SimpleNamespace(get_node_id=lambda: "here"),
        exceptions=SimpleNamespace(RayError=error, RayTaskError=type("TaskError", (error,), {})),
        **more,
    )
    told: list[str] = []
    engine = Engine(ray, CONFIG, (), told.append, patience=0.2)
    engine.call = lambda function, *args, node, **options: [node]  # type: ignore[method-assign]
    return engine, told


def nodes_of(*names: str) -> list[dict[str, Any]]:
    return [
        {"NodeID": n, "NodeManagerAddress": f"10.0.0.{i}", "Alive": True, "Resources": {"CPU": 2}}
        for i, n in enumerate(names)
    ]


def test_nodes_join_are_left_out_and_are_lost():
    there = nodes_of("here", "odd", "b")
    answers = {"here": (None, "avx2"), "odd": ("it has version 0.0.1", None), "b": (None, "avx512")}
    engine, told = fake_engine(lambda: there, lambda refs: (refs, []), answers.__getitem__)
    assert [node.key for node in engine.assemble(2)] == ["here", "b"]
    assert told == [
        "node 2 (10.0.0.1) is left out: it has version 0.0.1",
        "node 2 (10.0.0.2) has another instruction set: a repeated run may give other bits",
    ]
    there[2]["Alive"] = False
    assert [node.key for node in engine.nodes()] == ["here"]
    assert engine.left_out["b"] == "node 2 (10.0.0.2): it is gone"
    there[0]["Alive"] = False
    with pytest.raises(DataError, match="Ray has died on this machine"):
        engine.nodes()


def test_a_job_that_hangs_or_is_lost_is_run_at_another_node():
    """Also a job of counting or encoding, which Ray would wait for without end."""
    cancelled = list[str]()
    engine, told = fake_engine(
        lambda: nodes_of("here", "b", "c"),
        lambda refs: ([ref for ref in refs if not ref.startswith("hangs")], []),
        lambda ref: lost(ref) if ref == "lost at b" else (None, "avx2"),
        cancel=lambda ref, **options: cancelled.append(ref),
    )

    def lost(ref):
        raise engine.ray.exceptions.RayError("its node has died")

    def start(job, nodes):
        at = {node.key: node for node in nodes}
        if job in ("hangs", "lost") and "b" in at and job not in tried:
            tried.add(job)
            return at["b"], [f"{job} at b"]
        return at["here"], [f"{job[0]} at here"]

    tried = set[str]()
    engine.assemble(3)
    found = engine.run(["hangs", "lost", "a", "z"], start, sizes=[1, 2, 3, 4])
    assert {job: node.key for job, (node, *_) in found.items()} == dict.fromkeys(found, "here")
    assert sorted(found) == ["a", "hangs", "lost", "z"]
    assert cancelled == ["hangs at b"]
    assert [node.key for node in engine.nodes()] == ["here", "c"]
    assert "is lost: it has not answered for" in told[-1]
    tried.clear()
    assert sorted(engine.run(["lost", "a"], lambda job, nodes: (nodes[0], [f"{job} at b"]), again=False)) == [
        "a"
    ]


def test_only_faults_of_ray_are_repeated():
    def failing(cause):
        def get(ref):
            error = engine.ray.exceptions.RayTaskError("a trace of many lines")
            error.cause = cause
            raise error

        return get

    engine, _ = fake_engine(lambda: nodes_of("here"), lambda refs: (refs, []), None)
    faults = engine.ray.exceptions
    for cause, kind, told in (
        (faults.RayError("lost"), faults.RayTaskError, "a trace"),
        (ValueError("a bug"), ValueError, "a bug"),
        (DataError("no text"), DataError, "no text"),
        (OSError(errno.ENOSPC, "No space left", "/tmp/x"), DataError, "'/tmp/x': No space left"),
        (MemoryError(), DataError, "memory of a node is full"),
    ):
        engine.ray.get = lambda ref, cause=cause, **options: failing(cause)(ref)
        with pytest.raises(kind, match=told):
            engine.get("ref")


def test_without_a_node_the_reasons_are_told():
    engine, _ = fake_engine(
        lambda: nodes_of("here"), lambda refs: (refs, []), lambda ref: ("it cannot read 'x'", None)
    )
    with pytest.raises(DataError, match=r"no node .*: node 1 \(10.0.0.0\): it cannot read 'x'"):
        engine.assemble(2)


def test_what_a_node_lacks_is_told(tmp_path):
    folder = str(tmp_path / "run")
    assert tasks.examine(__version__, CONFIG, (), None, str(tmp_path))[0] is None
    for wrong, reason in (
        ({"version": "0.0.1"}, f"has version {__version__} of wordvec-ca, and the driver 0.0.1"),
        ({"files": (str(tmp_path / "gone"),)}, "gone': No such file"),
        ({"storage": folder}, f"does not see {folder!r}"),
        ({"directory": folder}, "No such file"),
    ):
        given = {"version": __version__, "config": CONFIG, "files": (), "storage": None, "directory": None}
        assert reason in str(tasks.examine(**{**given, **wrong})[0])  # type: ignore[arg-type]


def test_a_node_without_memory_says_so(monkeypatch):
    monkeypatch.setattr(tasks, "free_memory", lambda: 1000)
    with pytest.raises(DataError, match=r"4 words, .*1.0 kB"):
        next(tasks.initial(common(Words(4, 9, 4), 1), None))  # type: ignore[arg-type]


def test_a_call_of_ray_that_never_returns_ends_the_run_and_its_processes(tmp_path):
    """Here it waits for a mutex that nobody gives back, in compiled code, as Ray does for the GCS."""
    program = """
import ctypes, subprocess, sys
from types import SimpleNamespace
from wordvec_ca.cluster import connection, engine
engine.ANSWER = 0.5
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
log = open(sys.argv[1] + "/raylet.log", "w")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=log)
log.close()
def nodes():
    libc.pthread_mutex_lock(mutex); libc.pthread_mutex_lock(mutex)
context = SimpleNamespace(get_node_id=lambda: "here")
ray = SimpleNamespace(nodes=nodes, get_runtime_context=lambda: context)
with connection.watched("nothing was done") as tell:
    tell("folder", sys.argv[1] + "/")
    print(child.pid, flush=True)
    these = engine.Engine(ray, None, (), print)
    tell("message", "resume \\\\n 100%s")
    these.nodes()
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("locks a mutex of glibc")
    logs = tmp_path / "logs"  # a folder in which this process has no open file
    logs.mkdir()
    with open(tmp_path / "said", "w+") as said:
        done = subprocess.Popen(
            [sys.executable, "-c", program, str(logs)], stdout=subprocess.PIPE, stderr=said, text=True
        )
        pid = int(done.stdout.readline())  # type: ignore[union-attr]
        assert done.wait(60) == 1
        for _ in range(200):
            said.seek(0)
            if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the process that was to be ended lives")
        assert said.read() == "resume \\n 100%s\n"


def test_a_process_that_ends_well_leaves_no_message():
    code = "from wordvec_ca.cluster.connection import watched\nwith watched('resume it'):\n    pass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_patience_is_a_time():
    assert [parse_patience(text) for text in ("90s", "30m", "never")] == [90.0, 1800.0, 0.0]
    for wrong in ("soon", "5M"):
        with pytest.raises(ValueError, match="storage_patience is"):
            parse_patience(wrong)


def test_large_parameters_are_replaced_in_parts():
    assert [slices_of(CONFIG, 1_000, replicas) for replicas in (1, 2, 3, 16)] == [1, 2, 3, 16]
    assert [slices_of(CONFIG, 10**6, replicas) for replicas in (1, 2, 3, 16)] == [8, 8, 9, 16]


def test_collapsed_attention_is_seen(monkeypatch):
    config = dataclasses.replace(CONFIG, model="cbow-attn", window=3)
    of_run = dataclasses.replace(common(Words(3, 6, 3), 1, "attention"), config=config)
    text = np.frombuffer(b"a\t3\nb\t2\nc\t1\n", np.uint8)
    _, version = tasks.initial(of_run, text)
    tokens = np.tile(np.array([0, 1, 2, 1, 0, -1], np.int32), 1_000)
    assert tasks.collapse(of_run, text, 6_000, math.nan, tokens[:0], version) is None
    assert tasks.collapse(of_run, text, 6_000, math.nan, tokens, version) is None
    version["slot_logits"][0, 2] = -9.0  # the word before the target
    assert "attention has collapsed" in str(tasks.collapse(of_run, text, 6_000, math.nan, tokens, version))


def test_more_nodes_than_measured_are_warned_of():
    found = {"cbow": 16, "skipgram": 16, "cbow-attn": 4, "ssg": 8, "cwindow": 8}
    cases = [({"model": model}, most) for model, most in found.items()]
    for options, most in (*cases, ({"vector_size": 300}, 4), ({"subwords": True}, 1)):
        config = ResolvedConfig.of(TrainConfig(**options))  # type: ignore[arg-type]
        assert quality_warning(config, most) is None
        assert f"take {most} or fewer" in str(quality_warning(config, most + 1))
    assert MergePlan.of(dataclasses.replace(CONFIG, subwords=True), 10**6, 16).rate == 1.0
    assert MergePlan.of(CONFIG, 10**8, 16).rate == 2.0
    assert MergePlan.of(dataclasses.replace(CONFIG, hs=True), 10**8, 2).rate == 1.0


def test_nodes_merge_less_often_where_merging_takes_long():
    config = ResolvedConfig.of(TrainConfig(model="skipgram", epochs=5, workers=1))

    def merges(nodes, n_tokens, threads=1, **options):
        given = dataclasses.replace(config, **options)
        return plan_of_replicas(given, 150_000, n_tokens, nodes, threads).merges_per_epoch * given.epochs

    assert [merges(nodes, 35_000_000) for nodes in (1, 2, 4, 8, 16)] == [0, 25, 50, 200, 200]
    assert [merges(nodes, 10**10) for nodes in (2, 16)] == [200, 200]
    assert merges(2, 10**9) > merges(2, 10**9, threads=16)
    assert merges(2, 35_000_000, merges=150) == 150
    assert [merges(n, 35_000_000, model="cbow-attn") for n in (2, 4, 8)] == [25, 600, 600]
    assert [merges(n, 35_000_000, model="cbow") for n in (2, 4, 8)] == [25, 200, 200]
