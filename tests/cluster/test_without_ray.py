"""The parts of a run on a cluster, without a cluster: shards, counts, ledger, merges, checkpoints, costs."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wordvec_ca._version import __version__
from wordvec_ca.cluster import (
    ClusterOptions,
    check_cluster_address,
    cost,
    driver,
    lease,
    resume_on_cluster,
    silence,
    train_on_cluster,
)
from wordvec_ca.cluster import node as node_module
from wordvec_ca.cluster.driver import Driver
from wordvec_ca.cluster.fitness import Requirements, UnfitNode, UnreadableText, unfit_reason
from wordvec_ca.cluster.lease import Lease
from wordvec_ca.cluster.ledger import Ledger, Segment
from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.cluster.node import Node, bytes_of
from wordvec_ca.cluster.request import ClusterRequest, is_cluster_run
from wordvec_ca.cluster.rounds import Rounds, plan_of_nodes
from wordvec_ca.cluster.run_state import RunState
from wordvec_ca.cluster.shards import Shard, assigned, shards_of, stripes
from wordvec_ca.cluster.words import Words, text_of
from wordvec_ca.corpus import Vocab, count_corpus, least_count
from wordvec_ca.errors import DataError, OutputExistsError
from wordvec_ca.files import Storage
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig
from wordvec_ca.runs import resume
from wordvec_ca.training import MergePlan, Replica, end_of_line
from wordvec_ca.training.checkpoint import Checkpoints, write_checkpoint
from wordvec_ca.training.merge_plan import quality, quality_warning

CONFIG = ResolvedConfig.of(TrainConfig(workers=1, vector_size=16, epochs=2, min_count=3, alpha=0.1))


def fake_ray(**more: Any) -> Any:
    """Return what stands for the module ``ray``: it decorates and kills nothing."""
    plain = {"method": lambda **options: lambda thing: thing, "remote": lambda **options: lambda thing: thing}
    return SimpleNamespace(**{**plain, "kill": lambda actor, **options: None, **more})


def nodes_that_have_counted(files: list[str], n: int) -> tuple[list[Node], list[Shard], list[int]]:
    shards = shards_of(files, n, 1)
    nodes = [Node(CONFIG) for i in range(n)]
    owners = assigned(shards, [0] * n, [1] * n)
    for shard, owner in zip(shards, owners, strict=True):
        nodes[owner].count(shard)
    return nodes, shards, owners


@pytest.mark.parametrize("n", [1, 2, 3])
def test_nodes_count_encode_train_and_merge_as_one(text: Path, tmp_path: Path, n: int) -> None:
    files = sorted(map(str, text.glob("*.txt")))[: 3 if n < 3 else 9]
    nodes, shards, owners = nodes_that_have_counted(files, n)
    mine = [[s.number for s, o in zip(shards, owners, strict=True) if o == i] for i in range(n)]
    counts, merged = nodes[0].reduce_parts(*[node.parts_of(mine[i], 0, 128) for i, node in enumerate(nodes)])
    least, tokens, types = least_count(counts, CONFIG.text_options())
    n_words, text_of_words = nodes[0].gather(nodes[0].frequent(least, merged))
    vocab = Words(n_words, tokens, types).read(text_of_words)
    expected, _ = count_corpus(files, CONFIG.text_options())
    assert vocab == expected
    assert (vocab.raw_tokens, vocab.raw_types) == (expected.raw_tokens, expected.raw_types)

    for node in nodes:
        node.take_vocab(Words.of(vocab), text_of_words)
    encoded = [nodes[o].encode(s) for s, o in zip(shards, owners, strict=True)]
    assert sum(found.stats.kept_tokens for found in encoded) == vocab.total_count
    ledger = Ledger(CONFIG.epochs, [found.tokens for found in encoded])
    for node in nodes:
        node.begin(ledger.total)
    plan, version, words = MergePlan.of(CONFIG, ledger.total, n), 0, 0.0
    while not ledger.finished:
        left = max(1, round(ledger.left(range(len(shards))) / ledger.total * 10))
        trained = [
            node.train(
                version,
                ledger.plan(mine[i], -(-ledger.left(mine[i]) // left)),
                ledger.position,
                ledger.epoch,
                1,
            )
            for i, node in enumerate(nodes)
        ]
        parts = 2 * n if version % 2 else n  # the bits do not depend on it
        slices = [list(node.slices(0, parts, parts)) for node in nodes]
        new = [
            nodes[i % n].reduce(i, parts, plan, ledger.total / 10 / n, 0.1, *[each[i] for each in slices])
            for i in range(parts)
        ]
        version += 1
        sent = [node.apply(version, *(new if n > 1 else ())) for node in nodes]
        if n > 1:
            own = [[bytes_of(each) for each in slices[i][i::n]] for i in range(n)]
            all_of = [sum(map(bytes_of, each)) for each in slices]
            merged = [sum(map(bytes_of, new[i::n])) for i in range(n)]
            assert sent == [all_of[i] - sum(own[i]) + (n - 1) * merged[i] for i in range(n)]
        for found in trained:
            ledger.commit(found.segments)
            words += found.tallies.get("words", 0)
        if ledger.epoch_ended:
            ledger.next_epoch()
    assert words == CONFIG.epochs * vocab.total_count
    assert len({node.digest() for node in nodes}) == 1
    if n > 1:  # the forecast is exact if all rows have changed
        for node in nodes:
            node.disturb()
        slices = [list(node.slices(0, n, n)) for node in nodes]
        new = [node.reduce(i, n, plan, 1.0, 0.1, *[s[i] for s in slices]) for i, node in enumerate(nodes)]
        version += 1
        sent = [node.apply(version, *new) for node in nodes]
        assert sum(sent) == pytest.approx(n * cost.sent_in_merge(CONFIG, len(vocab), n))

    storage = Storage(tmp_path)
    nodes[0].write_checkpoint(storage, "000001.checkpoint", {"version": version, "ledger": ledger.as_dict()})
    fresh = Node(CONFIG)
    fresh.take_vocab(Words.of(vocab), text_of_words)
    fresh.begin(ledger.total)
    checkpoints = Checkpoints(storage)
    found = checkpoints.newest(checkpoints.record)
    assert found is not None
    fresh.read_checkpoint(storage, "000001.checkpoint")
    assert fresh.digest() == nodes[0].digest()
    assert fresh.version == version
    assert Ledger.from_dict(found["ledger"]) == ledger


def test_stripes_are_the_text_whatever_its_pieces() -> None:
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


def test_a_ledger_takes_each_segment_once() -> None:
    ledger = Ledger(2, [10, 7])
    assert ledger.plan([0, 1], 12) == [Segment(0, 0, 10), Segment(1, 0, 2)]
    ledger.commit([Segment(0, 0, 10), Segment(1, 0, 3)])
    for twice in (Segment(1, 0, 3), Segment(1, 4, 7), Segment(1, 3, 8)):
        with pytest.raises(AssertionError):
            ledger.commit([twice])
    ledger.commit([Segment(1, 3, 7)])
    assert ledger.epoch_ended
    ledger.next_epoch()
    assert (ledger.position, ledger.done, ledger.segments) == (17, [0, 0], 3)
    with pytest.raises(DataError):
        Ledger.from_dict({**ledger.as_dict(), "done": [11, 0]})


def test_segments_end_with_lines() -> None:
    tokens = np.array([1, 2, -1, 3, -1, *range(3000), -1], np.int32)
    assert [end_of_line(tokens, stop) for stop in (0, 1, 3, 4, 6, len(tokens))] == [0, 3, 3, 5, 3006, 3006]


def checkpoints_of_versions(folder: Path, versions: Sequence[int]) -> Checkpoints:
    checkpoints = Checkpoints(Storage(folder))
    for version in versions:
        record = {**RunState("a", 2).as_record(), "version": version}
        write_checkpoint(checkpoints.storage, checkpoints.next_name(), record, {}, Vocab([], []))
    return checkpoints


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
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
        merging={"rate": 2.0}, patience=60,
    )  # fmt: skip


def test_a_request_is_found_again_beside_the_output_and_in_the_storage(tmp_path: Path) -> None:
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


def test_checkpoints_of_versions_that_merge_differently_are_refused(tmp_path: Path) -> None:
    checkpoints = Checkpoints(Storage(tmp_path))
    for number, state in enumerate(({"ledger": {}}, {"format": 3}, {"ledger": {}, "format": 4})):
        write_checkpoint(checkpoints.storage, f"{number:06}.checkpoint", state, {}, Vocab([], []))
    assert checkpoints.record("000000.checkpoint") == {"ledger": {}}
    for name in ("000001.checkpoint", "000002.checkpoint"):
        with pytest.raises(DataError, match="use the version that wrote it"):
            checkpoints.record(name)


def test_a_run_with_checkpoints_elsewhere_spares_those_beside_its_output(text: Path, tmp_path: Path) -> None:
    beside = tmp_path / "model.run"
    write_checkpoint(Storage(beside), "000001.checkpoint", {}, {}, Vocab([], []))
    options = ClusterOptions(checkpoint_dir=str(tmp_path / "other"))
    with pytest.raises(OutputExistsError, match=rf"{beside}' holds an unfinished run"):
        train_on_cluster(text, CONFIG, options, output=tmp_path / "model")
    (beside / "000001.checkpoint").unlink()
    with Lease(Storage(str(beside))), pytest.raises(DataError, match="works on this run"):
        train_on_cluster(text, CONFIG, options, output=tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_does_not_replace_the_model_of_another(tmp_path: Path) -> None:
    request_of(tmp_path).write()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "config.json").write_text('{"run": "another"}')
    with pytest.raises(OutputExistsError, match="exists already"):
        resume_on_cluster(tmp_path / "shared", output=tmp_path / "old")
    with pytest.raises(ValueError, match="nodes must be 1 to 1024"):
        resume_on_cluster(tmp_path / "shared", nodes=0)


def test_a_finished_run_tells_what_the_command_says_of_a_model(tmp_path: Path) -> None:
    """``cawv train`` asks a run on a cluster for the same as a model in memory."""
    model = EmbeddingModel(CONFIG, Vocab(["a", "b"], [2, 1]))
    model.initialise()
    model.save(tmp_path / "m")
    finished = driver.FinishedRun(str(tmp_path / "m"), {})
    assert (finished.config, finished.vocab, finished.documents) == (model.config, model.vocab, None)


def test_clearing_leaves_nothing(tmp_path: Path) -> None:
    request = request_of(tmp_path)
    request.write()
    Storage(request.storage).write("counted.json", b"{}")
    request.clear()
    assert list(tmp_path.iterdir()) == []


def test_long_runs_and_fast_networks_scale_better() -> None:
    def efficiency(words: float, network: float) -> float:
        found = cost.costs(
            ResolvedConfig.of(TrainConfig(vector_size=300, workers=1, epochs=1)), n_words=1_000_000,
            raw_words=int(words), words=int(words), lines=0, words_per_second=48e6,
            reading_words_per_second=160e6, network=network, merge_seconds=0.5, numbers=[1, 2, 4, 8],
        )  # fmt: skip
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
    short = cost.costs(
        CONFIG, n_words=50_000, raw_words=10**8, words=10**8, lines=0, words_per_second=5e6,
        reading_words_per_second=2e7, network=1e9, merge_seconds=0.1, numbers=[1, 2, 4],
    )  # fmt: skip
    assert cost.advice(short)[0] == 1
    parameters = short[0].memory - cost.OVERHEAD  # twice; merged in one portion, which takes .7 more
    assert short[1].memory - cost.OVERHEAD == pytest.approx(2.7 / 2 * parameters)


@pytest.mark.parametrize("address", ["local", "auto", "10.0.0.1:6379", "head:6379", "[::1]:6379"])
def test_addresses_that_are_right(address: str) -> None:
    check_cluster_address(address)


@pytest.mark.parametrize("address", ["", "remote", "10.0.0.1", "ray://head:10001", "a b:1"])
def test_addresses_that_are_wrong(address: str) -> None:
    with pytest.raises(ValueError, match="must be local"):
        check_cluster_address(address)


def another_lease(storage: Storage, **fields: Any) -> None:
    record = {"host": "node7", "pid": 4711, "token": "x", "since": 1.8e9, "renewed": 1.8e9, **fields}
    storage.write("lease.json", json.dumps(record).encode())


def test_a_run_has_one_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage(str(tmp_path / "run"))
    with Lease(storage) as held:
        held.check(now=True)
        with pytest.raises(DataError, match=rf"process {os.getpid()} on .* works on this run"):
            Lease(storage).__enter__()
    assert not (tmp_path / "run").exists()

    another_lease(storage)  # of another host, whose processes cannot be seen: alive if it renews its lease
    monkeypatch.setattr(lease, "STALE_AFTER", 0.3)
    monkeypatch.setattr(lease.time, "sleep", lambda seconds: another_lease(storage, renewed=1.9e9))
    with pytest.raises(DataError, match=r"process 4711 on node7, since 2027-01-15T08:00:00\+00:00, works"):
        Lease(storage).__enter__()
    monkeypatch.undo()
    monkeypatch.setattr(lease, "STALE_AFTER", 0.3)
    told: list[str] = []
    with Lease(storage, told.append) as held:
        assert "node7" in told[0]
        another_lease(storage)
        with pytest.raises(DataError, match=r"node7.* has taken over this run"):
            held.check(now=True)
    assert json.loads((tmp_path / "run" / "lease.json").read_text())["host"] == "node7"


def test_the_lease_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path / "run"))
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    for pid in (process.pid, os.getpid(), None):
        another_lease(storage, host=socket.gethostname(), pid=pid)
        with Lease(storage, pytest.fail):
            pass


def test_a_node_where_none_lives_is_not_used_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_it_is(**options: Any) -> Any:
        return lambda thing: thing

    node = {"NodeID": "n", "NodeManagerAddress": "10.0.0.7", "Alive": True, "Resources": {"CPU": 1}}
    ray = fake_ray(method=as_it_is, remote=as_it_is, nodes=lambda: [node], kill=lambda actor, **options: None)

    def started(self: Members, node: dict[str, Any]) -> Member:
        self.all.append(Member(len(self.all) + 1, node["NodeID"], f"node {len(self.all) + 1}", None, 1))
        return self.all[-1]

    monkeypatch.setattr(Members, "_start_actor", started)
    told: list[str] = []
    members = Members(ray, CONFIG, 1, directory=None, notice=told.append)
    for number in range(30):
        members.look()
        for member in members.present:
            member.fit = True
            member.words = 5.0 * (number == 2)  # this node has trained; nodes before it do not count
            members.mark_dead(member, "its process or its node has died")
    assert len(members.all) == 3 + 4
    assert told[-1] == "4 workers in a row died on the machine of node 7; starting no more"


@pytest.fixture
def run_without_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that starts a run whose driver calls other functions for counting and encoding."""
    members = SimpleNamespace(dismiss=lambda run: None, assemble=lambda: None, ask=lambda: None, living=[])
    monkeypatch.setattr(driver, "connected", lambda *args: contextlib.nullcontext())
    monkeypatch.setattr(driver, "Members", lambda *args, **options: members)

    def run(text: Path, count: Any, encode: Any = None) -> None:
        monkeypatch.setattr(Driver, "_words", count)
        monkeypatch.setattr(Driver, "_prepare", encode)
        train_on_cluster(text, CONFIG, output=tmp_path / "model", notice=pytest.fail)

    return run


def test_a_run_that_fails_before_it_has_done_anything_leaves_nothing(
    text: Path, tmp_path: Path, run_without_nodes: Any
) -> None:
    def count(self: Driver, vocab: Any, resumed: bool) -> Any:
        assert is_cluster_run(tmp_path / "model")
        raise DataError("node 1: a file is missing")

    with pytest.raises(DataError, match="a file is missing"):
        run_without_nodes(text, count)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_nodes_encode_ends_the_run_at_once_and_keeps_the_counts(
    text: Path, tmp_path: Path, run_without_nodes: Any
) -> None:
    def count(self: Driver, vocab: Any, resumed: bool) -> Any:
        self.storage.write("counted.json", b"{}")
        return []

    def encode(self: Driver) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        pytest.fail("it went on")

    with (
        pytest.raises(KeyboardInterrupt),
        pytest.warns(UserWarning, match=r"cawv train --resume .*model\.run continues it"),
    ):
        run_without_nodes(text, count, encode)
    assert [path.name for path in tmp_path.iterdir()] == ["model.run"]
    assert not (tmp_path / "model.run" / "lease.json").exists()


def test_a_checkpoint_that_a_node_cannot_read_is_rejected(tmp_path: Path) -> None:
    def results(calls: Any) -> Any:
        if calls[member] == "000002.checkpoint":
            raise DataError("a bad sum")
        return {member: None}

    reader = SimpleNamespace(read_checkpoint=SimpleNamespace(remote=lambda storage, name: name))
    member = Member(1, "n", "node 1", reader, 1, version=0)
    members: Any = SimpleNamespace(results=results, notice=lambda text: None, ask=lambda: None)
    state = RunState("a", 2)
    checkpoints = Checkpoints(Storage(tmp_path))
    for version in (4, 8):
        state.version, state.totals.merges = version, version
        state.ledger = Ledger(2, [10], done=[version])
        write_checkpoint(checkpoints.storage, checkpoints.next_name(), state.as_record(), {}, Vocab([], []))
    these = Rounds(members, SimpleNamespace(), state, CONFIG, {}, checkpoints, 5)  # type: ignore[arg-type]
    assert these._recover(member) is None
    assert member.version == 0
    with pytest.warns(UserWarning, match="a bad sum; the one before"):
        assert these._recover(member) is member
    assert (member.version, state.version, state.ledger.done, state.totals.merges) == (4, 4, [4], 4)
    checkpoints.rejected["000001.checkpoint"] = "another"
    with pytest.raises(DataError, match="no checkpoint can be read: a bad sum; another"):
        these._recover(member)


def test_the_fault_of_a_disk_is_told_in_a_line() -> None:
    class TaskError(Exception):
        cause: Any = None

    def fails(ref: Exception, **options: Any) -> None:
        error = TaskError("a trace of many lines")
        error.cause = ref
        raise error

    nothing = type("Nothing", (Exception,), {})
    ray = fake_ray(
        get=fails,
        nodes=lambda: [],
        exceptions=SimpleNamespace(RayTaskError=TaskError, RayActorError=nothing, RayError=nothing),
    )
    told: list[str] = []
    members = Members(ray, CONFIG, 2, directory=None, notice=told.append)
    members.all += [Member(i, f"n{i}", f"node {i} (10.0.0.7)", None, 1, fit=True) for i in (1, 2)]
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert members._answer(members.all[0], full) is None
    assert re.match(r"node 1 \(10.0.0.7\) is left out: No space left .* name a folder with more", told[0])
    assert members.living == members.all[1:]
    missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/missing")
    with pytest.raises(DataError, match=r"^node 2 \(10.0.0.7\): '/missing': No such file or directory$"):
        members._answer(members.all[1], missing)


def test_a_node_that_was_found_fit_and_answers_nothing_from_then_on_is_given_up() -> None:
    ray = fake_ray(wait=lambda refs, **options: ([], refs))
    told: list[str] = []
    members = Members(ray, CONFIG, 1, directory=None, notice=told.append, patience=0.05)
    actor = SimpleNamespace(status=SimpleNamespace(remote=lambda: "asked"))
    members.all.append(Member(1, "n1", "node 1", actor, 1, fit=True))
    members.ask(now=True)
    time.sleep(0.1)
    members.ask()
    assert told == ["node 1 is lost: it has not answered for 0 s"]


def test_a_node_that_dies_while_it_is_looked_at_is_lost() -> None:
    class DiedError(Exception):
        pass

    def dies(ref: str, **options: Any) -> None:
        raise DiedError("its process has ended")

    nothing = type("Nothing", (Exception,), {})
    ray = fake_ray(
        get=dies,
        wait=lambda refs, **options: (refs, []),
        exceptions=SimpleNamespace(RayTaskError=nothing, RayActorError=DiedError, RayError=DiedError),
    )
    told: list[str] = []
    members = Members(ray, CONFIG, 1, directory=None, notice=told.append)
    actor = SimpleNamespace(examine=SimpleNamespace(remote=lambda files, place: "asked"))
    members.all.append(Member(1, "n1", "node 1", actor, 1))
    for _ in range(2):
        members._examine()
    assert told == ["node 1 is lost: its process or its node has died"]
    assert members.present == []


def test_a_node_that_cannot_read_is_left_out_and_two_that_cannot_read_the_same_tell_of_the_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "text").mkdir()
    node = Node(CONFIG)
    with pytest.raises(UnreadableText, match=r"there is no file|cannot read"):
        node.count(Shard(0, (str(tmp_path / "gone"),), 1))
    (tmp_path / "odd").write_bytes(b"\x00\x01" * 500)
    with pytest.raises(DataError) as fault:  # an error that is the same on every node
        node.count(Shard(0, (str(tmp_path / "odd"),), 1))
    assert not isinstance(fault.value, UnfitNode)
    ray = fake_ray()
    members = Members(ray, CONFIG, 3, directory=None, notice=lambda text: None)
    members.all += [Member(i, f"n{i}", f"node {i}", None, 1, fit=True) for i in (1, 2, 3)]
    members._refuse(members.all[0], UnreadableText("no file x"))
    members._refuse(members.all[1], UnfitNode("its memory is full"))
    assert list(members.left_out.values()) == ["node 1: no file x", "node 2: its memory is full"]
    with pytest.raises(DataError, match=r"^node 3, as node 1: no file x$"):
        members._refuse(members.all[2], UnreadableText("no file x"))


def test_what_does_not_fit_is_told() -> None:
    required = Requirements(("text",), "/shared/run.json", b"{}")
    fits = {"version": __version__, "clock": 1005.0, "disk": None, "text": None, "storage": b"{}"}
    assert unfit_reason(fits, required, 1000.0, 1010.0) is None
    for wrong, reason in (
        ({"version": "0.0.1"}, "has version 0.0.1 of wordvec-ca, and this machine"),
        ({"version": None}, "has no wordvec-ca"),
        ({"clock": 4610.0}, "its clock is 3600 s off"),
        ({"clock": 100.0}, "its clock is 900 s off"),
        ({"text": "there is no file 'text'"}, "it cannot read the text: there is no file"),
        ({"storage": None}, "does not see '/shared/run.json'"),
    ):
        assert reason in str(unfit_reason({**fits, **wrong}, required, 1000.0, 1010.0))


def test_a_node_without_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    vocab, _ = count_corpus(iter(["a b c d"] * 5), CONFIG.text_options())
    monkeypatch.setattr(node_module, "free_memory", lambda: 1000)
    node = Node(CONFIG)
    node.take_vocab(Words.of(vocab), text_of(vocab))
    with pytest.raises(UnfitNode, match=r"4 words .*1.0 kB"):
        node.begin(25)


def test_a_node_sees_that_attention_has_collapsed() -> None:
    config = dataclasses.replace(CONFIG, model="cbow-attn", window=3)
    node = Node(config)
    vocab = Vocab(["a", "b", "c"], np.array([3, 2, 1]))
    model = EmbeddingModel(config, vocab)
    node.replica = Replica(model, 6_000)
    assert node.collapse_warning(math.nan) is None, "it has no text"
    node._texts[0] = np.tile(np.array([0, 1, 2, 1, 0, -1], np.int32), 1_000)
    assert node.collapse_warning(math.nan) is None
    model.slot_logits[0, 2] = -9.0  # the word before the target
    assert "attention has collapsed" in str(node.collapse_warning(math.nan))


def test_more_nodes_than_measured_are_warned_of() -> None:
    assert quality_warning(CONFIG, 16) is None
    assert "17 replicas of cbow" in str(quality_warning(CONFIG, 17))
    assert "0.016 higher" in str(quality_warning(TrainConfig(vector_size=300), 8))
    assert "was up to 0.020 higher" in quality(TrainConfig(subwords=True), 2)
    assert "training diverged" in quality(TrainConfig(subwords=True), 16)
    assert "was up to 0.064 higher" in quality(TrainConfig(model="cbow-attn"), 5)
    assert "at most .01 higher" in quality(CONFIG, 8)
    assert MergePlan.of(dataclasses.replace(CONFIG, subwords=True), 10**6, 16).rate == 1.0
    assert MergePlan.of(CONFIG, 10**8, 16).rate == 2.0
    assert MergePlan.of(dataclasses.replace(CONFIG, hs=True), 10**8, 2).rate == 1.0
    assert "17 replicas of cbow" in quality(CONFIG, 17)
    for model, most in {"cbow-attn": 4, "ssg": 8, "cwindow": 8}.items():
        assert quality_warning(TrainConfig(model=model), most) is None
        assert f"take {most} or fewer" in str(quality_warning(TrainConfig(model=model), most + 1))


def test_nodes_merge_less_often_where_merging_takes_long() -> None:
    config = ResolvedConfig.of(TrainConfig(model="skipgram", epochs=5, workers=1))

    def merges(nodes: int, n_tokens: int, threads: int = 1, **options: Any) -> int:
        given = dataclasses.replace(config, **options)
        return plan_of_nodes(given, 150_000, n_tokens, nodes, threads).merges_per_epoch * given.epochs

    assert [merges(nodes, 35_000_000) for nodes in (1, 2, 4, 8, 16)] == [0, 25, 50, 200, 200]
    assert [merges(nodes, 10**10) for nodes in (2, 16)] == [200, 200]
    assert merges(2, 10**9) > merges(2, 10**9, threads=16)
    assert merges(2, 35_000_000, merges=150) == 150
    assert [merges(n, 35_000_000, model="cbow-attn") for n in (2, 4, 8)] == [25, 600, 600]
    assert [merges(n, 35_000_000, model="cbow") for n in (2, 4, 8)] == [25, 200, 200]


def test_a_driver_whose_own_node_is_gone_says_so_at_once() -> None:
    nodes = [
        {"NodeID": name, "NodeManagerAddress": "10.0.0.7", "Alive": True, "Resources": {"CPU": 1}}
        for name in ("here", "there")
    ]
    ray = fake_ray(
        nodes=lambda: nodes, get_runtime_context=lambda: SimpleNamespace(get_node_id=lambda: "here")
    )
    members = Members(ray, CONFIG, 0, directory=None, notice=lambda text: None)
    members.all.append(Member(1, "there", "node 1", None, 1, fit=True))
    members.assemble()
    nodes[0]["Alive"] = False
    for asks in (members.look, lambda: members.ask(now=True)):
        with pytest.raises(DataError, match="Ray has died on this machine"):
            asks()


def test_processes_that_start_again_are_given_less_time_than_the_first() -> None:
    ray = fake_ray(remote=lambda **options: lambda thing: thing)
    members = Members(ray, CONFIG, 1, directory=None, notice=lambda text: None)
    assert members._patience_at_start() == 300
    members._slowest_start = 5.0
    assert members._patience_at_start() == 60


@pytest.mark.parametrize("ended", [True, False])
def test_a_process_that_is_ended_leaves_a_message(ended: bool) -> None:
    end = "import os; os._exit(1)" if ended else "pass"
    module = "wordvec_ca.cluster.watcher"
    code = f"from {module} import reported_if_ended\nwith reported_if_ended('resume it'):\n    {end}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == ended
    assert done.stderr == ("resume it\n" if ended else "")


def test_the_message_of_a_process_that_is_ended_may_change() -> None:
    code = (
        "import os\nfrom wordvec_ca.cluster.watcher import reported_if_ended\n"
        "with reported_if_ended('begin again') as replace:\n"
        "    replace('resume \\\\n 100%s')\n    os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "resume \\n 100%s\n"


SILENT = """
import ctypes, os, signal, sys, types
from wordvec_ca.cluster import silence
silence.LOOK_EVERY, silence.REPORTED, silence.ENDED, silence.ENDED_BY_SIGNAL = 0.05, 0.2, {ended}, {by_signal}

def told(text):
    print(text, file=sys.stderr, flush=True)
    if {by_signal} < 100 and text.startswith("Ray has not answered"):  # the driver waits by now
        os.kill(os.getpid(), signal.SIGINT)

libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
ray = types.ModuleType("ray.blocked")  # waits in compiled code for what never comes: no signal ends that
ray.lock = libc.pthread_mutex_lock
exec("def wait(mutex): lock(mutex); lock(mutex)", vars(ray))
watch = silence.RaySilence(told, told)
watch.clear = lambda: told("cleared")
code = compile("with watch.watched():\\n    watch.beat()\\n    ray.wait(mutex)", "driver", "exec")
exec(code, dict(vars(), __name__="wordvec_ca.cluster.driver"))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="locks a mutex of glibc")
@pytest.mark.parametrize(("ended", "by_signal", "code"), [(0.5, 1000, 1), (1000, 0.1, 130)])
def test_a_call_of_ray_that_never_returns_ends_the_run(ended: float, by_signal: float, code: int) -> None:
    program = SILENT.format(ended=ended, by_signal=by_signal)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stderr
    *_, last, cleared = done.stderr.splitlines()
    assert last.startswith("Ray has not answered for" if code == 1 else "Ray does not answer, also")
    assert cleared == "cleared"


def test_a_run_that_was_stopped_itself_gives_ray_its_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-Z, minutes, and fg, the time without an answer from Ray is counted from the beginning."""
    for times, ends in (([0, 0.5, 1, 300, 300.5, 301], False), ([n / 2 for n in range(200)], True)):
        clock = iter(times)
        monkeypatch.setattr(silence, "time", SimpleNamespace(monotonic=lambda clock=clock: next(clock)))
        monkeypatch.setattr(silence, "_waits_for_ray", lambda frame: True)
        ended: list[str] = []
        watch = silence.RaySilence(lambda line: None, lambda line: None)
        monkeypatch.setattr(watch, "_end", lambda reason, by, ended=ended: ended.append(reason))
        looks = iter([False] * (len(times) - 1) + [True])
        monkeypatch.setattr(watch._stop, "wait", lambda seconds, looks=looks: next(looks))
        watch.beat()
        watch._watch(lambda: None)
        assert bool(ended) == ends


def test_waiting_for_ray_is_told_from_what_a_program_does_besides() -> None:
    """A callback of the user may take long, and the whole program may be a task of Ray."""
    seen = []

    def frame_of(*names: str) -> Any:
        function: Any = lambda: seen.append(silence._waits_for_ray(sys._getframe()))  # noqa: E731
        for name in reversed(names):
            function = eval("lambda: inner()", {"__name__": name, "inner": function})
        function()
        return seen.pop()

    assert not frame_of("wordvec_ca.cluster.driver")
    assert not frame_of("ray._private.worker", "wordvec_ca.cluster.driver", "users_callback")
    assert not frame_of("wordvec_ca.cluster.driver", "users_callback", "ray._private.worker")
    assert frame_of("wordvec_ca.cluster.driver", "ray._private.worker", "threading")
