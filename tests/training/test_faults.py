"""Runs that end from outside: kills, signals, full and read-only disks, files that vanish."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import DataError, EmbeddingModel, train
from wordvec_ca.files.atomic import atomic_file
from wordvec_ca.text.reader import TextFiles

CAWV = [sys.executable, "-m", "wordvec_ca"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
QUICK = ("--vector-size", "8", "--workers", "1", "-o", "model")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a working directory with a corpus of 40,000 tokens, and a directory for temporary files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(tmp_path / "tmp"))
    rng = random.Random(1)
    words = [f"w{i}" for i in range(200)]
    text = "".join(" ".join(rng.choices(words, k=20)) + "\n" for _ in range(2000))
    (tmp_path / "c.txt").write_text(text)
    return tmp_path


@pytest.fixture
def cawv(command, here):
    """Return a function that runs the command in this process: only what is killed needs one of its own."""
    return command


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        [*CAWV, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(condition: Callable[[], object], process: subprocess.Popen[Any]) -> None:
    """Wait until something is true, at most 60 seconds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, "the command ended too early"
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


LONG = ("--epochs", "60", "--checkpoint-every", "0.05s")


# ---- ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_once_saves_and_twice_stops_at_once(here, cawv, times):
    process = started("train", "c.txt", *QUICK, "--epochs", "100000", "--checkpoint-every", "0.2s")
    wait_for(lambda: list(here.glob("model.run/*.checkpoint")), process)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
    # the run would take an hour; it ends in ten seconds on a busy machine
    _, err = process.communicate(timeout=45)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "cawv train --resume model continues it" in err
    if times == 1:
        assert EmbeddingModel.load("model").record["interrupted"] is True
        for given in (["info", "model"], ["nn", "model", "w1"]):
            told = cawv(*given).says(0)
            assert re.search(
                r"run of 'model' was interrupted after \d.*--resume model continues it", told.err
            )
        again = cawv("train", "c.txt", *QUICK).says(2)
        assert re.search(r"unfinished run, [\d.]+% done: cawv train --resume model continues it", again.err)
    before = {path.name for path in here.glob("model.run/*.checkpoint")}
    process = started("train", "--resume", "model.run")
    wait_for(lambda: {path.name for path in here.glob("model.run/*.checkpoint")} - before, process)
    process.terminate()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "what was trained is saved" in err


def test_ctrl_c_while_the_program_is_loaded_shows_no_traceback(here):
    for delay in np.linspace(0.02, 0.6, 20):
        process = started("train", "c.txt", *QUICK, "--overwrite")
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        # before main() begins, the interpreter itself may show a traceback
        assert "wordvec_ca/__main__.py" not in err, (delay, err)
        if "Traceback" not in err:
            assert process.returncode in (0, 130, -signal.SIGINT), (delay, err)


def test_resume_says_what_is_wrong(here, cawv):
    process = started("train", "c.txt", *QUICK, *LONG)
    wait_for(lambda: list(here.glob("model.run/*.checkpoint")), process)
    process.kill()
    process.communicate()
    for options, code, words in (
        (("--window", "7"), 1, ["window was 5", "is 7", "another run"]),
        (("--epochs", "61"), 1, ["epochs was 60"]),
        (("-o", "other"), 2, ["--output is 'other'", "leave it out"]),
        (("--checkpoint-every", "soon"), 2, ["--checkpoint-every is 'soon'", "10m", "5M"]),
        (("other.txt",), 1, ["other.txt", "c.txt", "another run"]),
        (("--dry-run",), 2, ["--dry-run does not go with --resume"]),
        (("--init-vectors", "v.txt"), 2, ["--init-vectors does not go with --resume"]),
        (("--save-vocab", "c.txt"), 2, ["--save-vocab", "exists"]),
    ):
        done = cawv("train", "--resume", "model", *options)
        assert done.code == code
        for word in words:
            assert word in done.err
    assert cawv("train", "--resume", "nothing").code == 1
    assert cawv("train").code == 2
    assert cawv("train", "c.txt", "--accept-changes").code == 2
    with open("c.txt", "a") as file:
        file.write("w1 w2\n")
    cawv("train", "--resume", "model").says(1, "c.txt' has changed")
    cawv("train", "c.txt", "--resume", "model", "--accept-changes", "--workers", "2", "--window", "5").says(
        0, "used as it was read", "bit for bit"
    )


def test_more_training_from_the_command_line(here, cawv):
    assert cawv("train", "c.txt", *QUICK, "--epochs", "1", "--window", "3").code == 0
    (here / "more.txt").write_text("w1 new w2 newer\n" * 50)
    cawv("train", "more.txt", "--continue-from", "model", "-o", "second", "--epochs", "2").says(
        0, "200 words began as in", "2 are new"
    )
    second = EmbeddingModel.load("second")
    assert (second.config.window, second.config.epochs) == (3, 2)
    done = cawv("train", "more.txt", "--init-vectors", "model", "-o", "third", "--vector-size", "8").says(
        0, "2 words began as in"
    )
    for options in (("--vector-size", "9"), ("--init-vectors", "model")):
        done = cawv("train", "more.txt", "--continue-from", "model", "-o", "fourth", *options)
        assert done.code in (1, 2)
        assert "leave" in done.err
    assert not (here / "fourth").exists()


@pytest.mark.parametrize("encoded", [True, False])
def test_text_from_a_pipe_is_kept_with_the_run(here, cawv, encoded):
    process = subprocess.Popen(
        [*CAWV, "train", "-", *QUICK, "--epochs", "1000"], env=ENVIRONMENT, stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write((here / "c.txt").read_bytes())
    if encoded:
        process.stdin.close()
        wait_for((here / "model.run" / "text" / "cache.json").exists, process)
    else:
        wait_for((here / "model.run" / "text").exists, process)
    process.kill()
    process.wait()
    if not encoded:
        cawv("train", "--resume", "model").says(1, "cannot be read again")
        return
    resumed = started("train", "--resume", "model")
    assert resumed.stderr is not None
    assert "epoch 1/1000" in resumed.stderr.readline()
    resumed.kill()
    resumed.communicate()


# ---- disks ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(here):
    """Return a file system of 3 MB, or skip."""
    place = here / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_full_disk_while_the_text_is_encoded(here, cawv, small_disk):
    (small_disk / "others").write_bytes(bytes(2_900_000))
    cawv("train", "c.txt", *QUICK[:-1], "disk/model").says(1, "No space left on device", "cache directory")
    assert [path.name for path in small_disk.iterdir()] == ["others"]


def test_read_only_disk(here, cawv, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    cawv("train", "c.txt", *QUICK[:-1], "disk/model").says(1, "not a writable directory")
    cawv("train", "c.txt", *QUICK, "--cache-dir", "disk/cache").says(1, "Read-only file system")
    assert sorted(path.name for path in here.iterdir()) == ["c.txt", "disk", "tmp"]


# ---- files that go ----------------------------------------------------------------------------------------


def test_file_that_vanishes_before_it_is_read(here, monkeypatch):
    shutil.copy("c.txt", "second.txt")
    pieces = TextFiles.pieces

    def vanish(self):
        Path("second.txt").unlink()
        return pieces(self)

    monkeypatch.setattr(TextFiles, "pieces", vanish)
    with pytest.raises(DataError, match=r"second\.txt"):
        train(["c.txt", "second.txt"], output="model")
    assert sorted(path.name for path in here.iterdir()) == ["c.txt", "tmp"]


def test_encoded_text_that_vanishes_while_it_is_trained_on_does_no_harm(here):
    whole = train("c.txt", output=None)
    model = train(
        "c.txt",
        output="model",
        callbacks=[lambda record: shutil.rmtree("model.run/text", ignore_errors=True)],
    )
    assert np.isfinite(model.inputs).all()
    assert model.record["predictions"] == pytest.approx(whole.record["predictions"], rel=0.01)


# ---- devices ----------------------------------------------------------------------------------------------


def test_devices_and_links_are_not_replaced(here, cawv):
    done = cawv("vocab", "c.txt", "-o", "/dev/stdout", "--overwrite").says(0)
    assert done.out.count("\n") >= 200
    assert Path("/dev/stdout").is_symlink()
    with open("out.tsv", "wb") as out:
        subprocess.run(
            [*CAWV, "vocab", "c.txt", "-o", "/dev/stdout", "--overwrite"], env=ENVIRONMENT, stdout=out
        )
    assert (here / "out.tsv").read_text().count("\n") >= 200
    with atomic_file("/dev/null") as file:
        file.write(b"gone")
    assert Path("/dev/null").is_char_device()
    (here / "link").symlink_to("target")
    with atomic_file(here / "link") as file:
        file.write(b"here")
    assert (here / "link").is_symlink()
    assert (here / "target").read_bytes() == b"here"
