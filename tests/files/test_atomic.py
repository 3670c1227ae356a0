"""Files and folders that appear whole or not at all, and the temporary files that a killed process leaves."""

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from wordvec_ca import DataError
from wordvec_ca.files import atomic_file, folders, replacing

DIES = """
import os, signal, sys
from pathlib import Path
from wordvec_ca.files import atomic_file, folders, replacing
os.chdir(sys.argv[1])
with atomic_file("file") as file, replacing("folder", overwrite=True, files={"a"}) as place:
    file.write(b"new")
    file.flush()
    (place / "a").write_text("new")
    print("ready", flush=True)
    sys.stdin.read() or os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_what_a_killed_process_left_is_cleared_and_what_a_living_one_writes_is_not(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", DIES, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    before = names(tmp_path)
    assert len(before) == 4
    with atomic_file(tmp_path / "file") as file:
        file.write(b"mine")
    with (
        pytest.raises(DataError, match="another process is writing"),
        replacing(tmp_path / "folder", overwrite=True, files={"a"}),
    ):
        pass
    assert names(tmp_path) == before
    process.communicate()
    assert names(tmp_path) == before
    with atomic_file(tmp_path / "file") as file:
        file.write(b"again")
    with replacing(tmp_path / "folder", overwrite=True, files={"a"}) as place:
        (place / "a").write_text("again")
    assert names(tmp_path) == ["file", "folder"]
    assert (tmp_path / "folder" / "a").read_text() == "again"


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_replaced_in_one_step_or_comes_back(tmp_path, monkeypatch, exchange):
    from wordvec_ca.files import folders

    if not exchange:  # as on a system that cannot exchange folders
        monkeypatch.setattr(folders, "_exchange", lambda a, b: False)
    target = tmp_path / "folder"
    for content in ("old", "new"):
        with replacing(target, overwrite=True, files={"a", "deep"}) as place:
            (place / "a").write_text(content)
            (place / "deep").mkdir()
            (place / "deep" / "b").write_text(content)
        assert (target / "a").read_text() == (target / "deep" / "b").read_text() == content
        assert names(tmp_path) == ["folder"]
    if not exchange:  # as if killed between the two renamings
        _, former = folders._leftover_names(target, None)
        target.rename(former)
        folders.clear_leftovers(target)
        assert (target / "a").read_text() == "new"
        assert names(tmp_path) == ["folder"]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no /dev/shm")
def test_files_in_shared_memory_are_files():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder, "file")
        path.write_text("old")
        with atomic_file(path) as file:
            file.write(b"new")
            file.flush()
            assert path.read_text() == "old"
        assert path.read_text() == "new"


def test_of_processes_that_write_a_folder_together_one_owns_it(tmp_path, monkeypatch):
    """A new folder that is not locked yet belongs to nobody: who locks it first writes."""
    output, lock = tmp_path / "m", folders.take_lock

    with ExitStack() as winner:

        def slow(descriptor):
            monkeypatch.setattr(folders, "take_lock", lock)
            place = winner.enter_context(folders.replacing(output, overwrite=True, files=("a",)))
            (place / "a").write_text("winner")
            return lock(descriptor)

        monkeypatch.setattr(folders, "take_lock", slow)
        with (
            pytest.raises(DataError, match="another process"),
            folders.replacing(output, overwrite=True, files=("a",)) as place,
        ):
            (place / "a").write_text("loser")
    assert (output / "a").read_text() == "winner"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_files_of_another_process_are_not_removed(tmp_path):
    with folders.replacing_files(tmp_path, last="a") as place:
        (place / "a").write_text("winner")
        with pytest.raises(DataError, match="another process"), folders.replacing_files(tmp_path, last="a"):
            pass
    assert (tmp_path / "a").read_text() == "winner"


def test_an_old_empty_file_of_a_killed_process_is_removed_and_a_new_one_stays(tmp_path):
    old, new = (tmp_path / f".x.txt.{digit * 8}.tmp" for digit in "01")
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    with atomic_file(tmp_path / "x.txt") as file:
        file.write(b"1")
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "x.txt"]
