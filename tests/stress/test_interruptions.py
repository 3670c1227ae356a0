"""Commands ended by kill -9 and by simulated power cuts; many more: ``kill_commands.py``."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from power_cuts import Disk, compile_recorder

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="file events are recorded on Linux, by a library that needs a C compiler",
)

WRITES = """
import ctypes, os, sys
from pathlib import Path
from wordvec_ca.files import atomic_file, replacing

root, log, copies = sys.argv[1:]
record = ctypes.CDLL(None).record_file_events
record.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_long, ctypes.c_double]
record(*map(os.fsencode, (root, log, copies)), 0, -1.0)
os.chdir(root)
with open("careless.new", "wb") as file:
    file.write(b"new" * 5000)
os.rename("careless.new", "careless")
with atomic_file("careful") as file:
    file.write(b"new" * 5000)
for _ in range(2):
    with replacing("folder", overwrite=True, files={"a"}) as place:
        (place / "a").write_bytes(b"new" * 5000)
"""


def test_power_cut_spoils_what_was_not_flushed_and_nothing_else(tmp_path):
    root, log, copies = tmp_path / "root", tmp_path / "log", tmp_path / "copies"
    copies.mkdir()
    root.mkdir()
    for name in ("careless", "careful"):
        (root / name).write_bytes(b"old" * 5000)
    (root / "folder").mkdir()
    (root / "folder" / "a").write_bytes(b"old" * 5000)
    shutil.copytree(root, tmp_path / "before")
    subprocess.run(
        [sys.executable, "-c", WRITES, str(root), str(log), str(copies)],
        env={**os.environ, "LD_PRELOAD": str(compile_recorder(tmp_path))},
        check=True,
    )
    events = log.read_text().splitlines()
    shutil.copytree(root, tmp_path / "after")
    new, careless = b"new" * 5000, set()
    for seed in range(100):
        shutil.rmtree(root)
        shutil.copytree(tmp_path / "before", root)
        disk = Disk(root)
        shutil.rmtree(root)
        shutil.copytree(tmp_path / "after", root)
        log.write_text("\n".join(events))
        disk.replay(log, copies)
        disk.cut(random.Random(seed))
        assert (root / "careful").read_bytes() == new
        assert (root / "folder" / "a").read_bytes() == new
        careless.add((root / "careless").read_bytes())
    assert careless - {new, b"old" * 5000}


def interruptions(*options: str) -> None:
    """Run the script; it fails if anything is lost, corrupt or different."""
    command = [sys.executable, str(Path(__file__).with_name("kill_commands.py")), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_a_few_interruptions_of_training_and_power_cuts():
    interruptions("--tokens", "30000", "--kills", "3", "--cuts", "5", "--only", "training, 1 worker")


@pytest.mark.slow
def test_interruptions_of_every_command():
    interruptions(
        "--tokens", "60000", "--kills", "200", "--cuts", "60", "--seed", str(random.randrange(1000))
    )
