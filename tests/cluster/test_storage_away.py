"""Storage that refuses, throttles, cuts off or hangs: the run continues, and reports it."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError
from wordvec_ca.cluster import checkpointing
from wordvec_ca.cluster.checkpointing import Checkpointing
from wordvec_ca.cluster.lock import LockLost
from wordvec_ca.files import Storage
from wordvec_ca.text import TextFiles
from wordvec_ca.training.checkpoint import Interval


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refuse", "throttle", "cut"])
@pytest.mark.filterwarnings("ignore:.* does not answer")
def test_storage_and_text_are_there_again_after_a_while(faulty_s3, fault):
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
def test_without_patience_it_is_an_error_at_once(faulty_s3):
    faulty_s3.fail("refuse", 60)
    with pytest.raises(DataError, match="cannot read 's3://bucket/b/a'"):
        Storage("s3://bucket/b").read("a")
    faulty_s3.fail("", 0)


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Return checkpointing with one simulated node, whose writing hangs or fails if it is told to."""
    found: Any = SimpleNamespace(does="hangs", told=[], position=5, dropped=0)
    storage = Storage(tmp_path)

    def call(*args, **options):
        if found.does == "writes":
            storage.write("000001.checkpoint", b"")
        return [str(found.does)]

    def get(ref):
        if ref == "fails":
            raise DataError("cannot write")
        if ref == "loses":
            raise LockLost("another driver")

    def drop(refs):
        found.dropped += 1
        found.does = "fails"

    engine: Any = SimpleNamespace(
        call=call,
        get=get,
        drop=drop,
        notice=found.told.append,
        wait=lambda refs, seconds: set() if "hangs" in (*refs, found.does) else set(refs),
        ray=SimpleNamespace(exceptions=SimpleNamespace(RayError=type("RayError", (Exception,), {}))),
    )
    state = SimpleNamespace(as_record=dict)
    node = SimpleNamespace(key="n")
    rounds: Any = SimpleNamespace(
        state=state, common=None, text=None, copy_for=lambda node: [], nodes=lambda: [node], position=0
    )
    found.rounds, found.storage = rounds, storage
    monkeypatch.setattr(checkpointing, "SETTLED", 0.05)
    monkeypatch.setattr(checkpointing, "FIRST_PAUSE", 0.02)
    lock: Any = SimpleNamespace(token="t")
    found.these = Checkpointing(engine, rounds, storage, lock, Interval(tokens=10), 0.4)
    return found


def one_round(found: Any, position: int) -> None:
    found.rounds.position = position
    found.these.step()
    found.these.settle()


def test_training_goes_on_without_storage_and_checkpoints_come_again(made_up):
    made_up.does = "fails"
    one_round(made_up, 5)
    assert made_up.told == [], "none is due"
    one_round(made_up, 20)
    assert "the previous checkpoint is kept, the run goes on" in made_up.told[0]
    assert made_up.these.away > 0
    made_up.does = "writes"
    time.sleep(0.05)
    one_round(made_up, 21)
    assert "a checkpoint is written again, after" in made_up.told[1]
    assert made_up.these.away == 0
    assert made_up.storage.names() == ["000001.checkpoint"]


def test_a_run_ends_when_storage_has_been_away_for_its_patience(made_up):
    made_up.does = "fails"

    def rounds_without_end():
        for position in range(20, 10_000):
            one_round(made_up, position)
            time.sleep(0.02)

    with pytest.raises(DataError, match=r"no checkpoint could be written for .* cawv train --resume"):
        rounds_without_end()


def test_a_driver_that_has_lost_the_run_ends(made_up):
    made_up.does = "loses"
    with pytest.raises(LockLost):
        one_round(made_up, 20)
