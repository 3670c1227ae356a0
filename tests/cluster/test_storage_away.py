"""Storage that refuses, throttles, cuts off or hangs: the run continues, and reports it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from faulty_s3 import FaultyS3

from wordvec_ca.cluster import round_checkpoints
from wordvec_ca.cluster.lease import LeaseLost
from wordvec_ca.cluster.members import Member
from wordvec_ca.cluster.node import Node
from wordvec_ca.cluster.request import parse_patience
from wordvec_ca.cluster.round_checkpoints import Checkpointing, StorageAway
from wordvec_ca.cluster.words import Words, text_of
from wordvec_ca.corpus import count_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage
from wordvec_ca.models import ResolvedConfig, TrainConfig
from wordvec_ca.text import TextFiles
from wordvec_ca.training import checkpoint
from wordvec_ca.training.checkpoint_interval import Interval

CONFIG = ResolvedConfig.of(TrainConfig(workers=1, vector_size=16, epochs=2, min_count=1))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refuse", "throttle", "cut"])
@pytest.mark.filterwarnings("ignore:.* does not answer")
def test_storage_and_text_are_there_again_after_a_while(faulty_s3: FaultyS3, fault: str) -> None:
    storage = Storage(f"s3://bucket/{fault}", 60)
    content = np.random.default_rng(1).bytes(300_000)
    faulty_s3.fail(fault, 3)
    storage.write("a", content)
    faulty_s3.fail(fault, 3)
    assert storage.read("a") == content
    faulty_s3.fail(fault, 3)
    assert storage.names() == ["a"]
    lines = b"a line of text\n" * 20_000
    storage.write("text.txt", lines)
    faulty_s3.fail(fault, 60, 0.3)
    text = b"".join(TextFiles([storage.path("text.txt")]).pieces())
    faulty_s3.fail("", 0)
    assert text == lines


@pytest.mark.slow
def test_without_patience_it_is_an_error_at_once(faulty_s3: FaultyS3) -> None:
    faulty_s3.fail("refuse", 60)
    with pytest.raises(DataError, match="cannot read 's3://bucket/b/a'"):
        Storage("s3://bucket/b").read("a")
    faulty_s3.fail("", 0)


def test_a_checkpoint_that_a_merge_overtakes_never_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, storage = Node(CONFIG), Storage(tmp_path)
    vocab, _ = count_corpus(iter(["a b c d"] * 5), CONFIG.text_options())
    node.take_vocab(Words.of(vocab), text_of(vocab))
    node.begin(25)
    write = checkpoint.write_npy

    def overtaken(member: Any, array: Any) -> None:
        node.apply(1)
        write(member, array)

    monkeypatch.setattr(checkpoint, "write_npy", overtaken)
    with pytest.raises(DataError, match=r"'000001.checkpoint' was abandoned: the next merge"):
        node.write_checkpoint(storage, "000001.checkpoint", {})
    assert storage.names() == []
    monkeypatch.undo()
    node.write_checkpoint(storage, "000001.checkpoint", {})
    assert storage.names() == ["000001.checkpoint"]


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return checkpointing with one simulated node, whose writing hangs as long as ``hangs`` is true."""
    found: Any = SimpleNamespace(hangs=True, told=[], lost=None)
    member = Member(1, "n", "node 1", None, 1, version=1, fit=True)

    def write(storage: Any, name: str, state: Any) -> Any:
        if not found.hangs:
            storage.write(name, b"")
        return found.hangs

    def check(now: bool) -> None:
        if found.lost:
            raise found.lost

    member.actor = SimpleNamespace(write_checkpoint=SimpleNamespace(remote=write))
    members: Any = SimpleNamespace(
        living=[member],
        notice=found.told.append,
        ask=lambda: None,
        results=lambda calls: {member: 0},
        ray=SimpleNamespace(wait=lambda refs, timeout: ([] if refs[0] else refs, [])),
    )
    monkeypatch.setattr(round_checkpoints, "STALLED", 0.1)
    monkeypatch.setattr(round_checkpoints, "FIRST_PAUSE", 0.05)
    storage = Storage(tmp_path)
    found.storage, found.lease = storage, SimpleNamespace(check=check)
    found.these = Checkpointing(storage, Interval(tokens=10), found.lease, members, 0.6, dict)
    return found


def one_round(these: Checkpointing, position: int) -> None:
    these.step(position, 1)
    if these._named is not None:
        these._named._thread.join()
        these.step(position, 1)
    these.settle()


def rounds_without_end(these: Checkpointing) -> None:
    for position in range(20, 10_000):
        these._next_try = 0.0
        one_round(these, position)


def test_training_goes_on_without_storage_and_checkpoints_come_again(made_up: Any) -> None:
    these = made_up.these
    one_round(these, 5)
    assert made_up.told == []
    one_round(these, 20)
    assert (
        "accepts none of the checkpoint; the previous checkpoint is kept, the run goes on" in made_up.told[0]
    )
    assert these.away() > 0
    made_up.hangs = False
    these._next_try = 0.0
    one_round(these, 21)
    assert "a checkpoint is written again, after" in made_up.told[1]
    assert these.away() == 0
    assert made_up.storage.names() == ["000001.checkpoint"]


def test_a_run_ends_when_storage_has_been_away_for_its_patience(made_up: Any) -> None:
    with pytest.raises(StorageAway, match=r"no checkpoint could be written for .* cawv train --resume"):
        rounds_without_end(made_up.these)
    made_up.lost = LeaseLost("another driver")
    with pytest.raises(LeaseLost):
        one_round(made_up.these, 20_000)


def test_patience_is_a_time() -> None:
    assert [parse_patience(text) for text in ("90s", "30m", "never")] == [90.0, 1800.0, 0.0]
    for wrong in ("soon", "5M"):
        with pytest.raises(ValueError, match="storage_patience is"):
            parse_patience(wrong)
