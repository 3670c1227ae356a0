"""Without gensim everything works except its own objects."""

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import KeyedVectors

BLOCKED = "import sys; sys.modules['gensim'] = None  # what an import finds where gensim is missing\n"

COMMAND = "from wordvec_ca.cli import main\nmain({arguments!r})"

COMMANDS = """
import json, sys
from wordvec_ca.cli import main
for arguments in json.loads(sys.stdin.read()):
    try:
        main(arguments)
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)
    print(chr(0), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a corpus and word pairs."""
    place = tmp_path_factory.mktemp("bare")
    rng = random.Random(1)
    lines = (" ".join(f"w{rng.randrange(50)}" for _ in range(20)) for _ in range(500))
    (place / "c.txt").write_text("\n".join(lines))
    (place / "pairs.tsv").write_text("".join(f"w{i}\tw{i + 1}\t{i % 7}\n" for i in range(30)))
    return place


def run(
    folder: Path, code: str, *, blocked: bool = True, given: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", (BLOCKED if blocked else "") + code],
        cwd=folder, capture_output=True, text=True, check=False, input=given,
    )  # fmt: skip


def cawv(folder: Path, *commands: list[str]) -> list[str]:
    """Return what commands print that run one after the other in a process without gensim."""
    done = run(folder, COMMANDS, given=json.dumps(commands))
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0\n")


def test_command_trains_and_gensim_opens_the_model(folder):
    names = ("v.txt", "v.bin", "v.glove", "v.safetensors", "v.projector", "v.kv")
    _, near, info, judged, *_ = cawv(
        folder,
        ["train", "c.txt", "-o", "model", "--vector-size", "8", "--epochs", "1"],
        ["nn", "model", "w1", "--json"],
        ["info"],
        ["eval", "model", "--similarity", "pairs.tsv", "-q"],
        *(["export", "model", "-o", name] for name in names),
        *(["nn", name, "w1"] for name in names),
    )
    assert len(json.loads(near)["neighbours"]) == 10
    assert "not installed" in info
    assert "pairs" in judged
    for name in names:
        assert np.array_equal(
            KeyedVectors.load(folder / name).vectors, KeyedVectors.load(folder / "model").vectors
        )

    # an earlier version left no index where gensim was not installed, nor listed its checksum
    (folder / "model" / "vectors.kv").unlink()
    (folder / "model" / "SHA256SUMS").unlink()
    before = (folder / "model" / "vectors.kv.vectors.npy").read_bytes()
    cawv(folder, ["export", "model", "--format", "gensim"])
    assert (folder / "model" / "vectors.kv.vectors.npy").read_bytes() == before, "no second copy is made"
    theirs = pytest.importorskip("gensim.models").KeyedVectors.load(
        str(folder / "model" / "vectors.kv"), mmap="r"
    )
    ours = KeyedVectors.load(folder / "model")
    assert isinstance(theirs.vectors, np.memmap)
    assert theirs.index_to_key == ours.index_to_key
    assert np.array_equal(theirs.vectors, ours.vectors)
    assert theirs.get_vecattr("w1", "count") == ours.get_vecattr("w1", "count") > 100


def test_training_and_saving_import_no_gensim(folder):
    code = """
import sys
from wordvec_ca import TrainConfig, train
train("c.txt", TrainConfig(vector_size=8, epochs=1, workers=1), output="quick")
print("gensim" in sys.modules)
"""
    assert run(folder, code, blocked=False).stdout.split() == ["False"]


def test_a_gensim_that_is_broken_counts_as_none(folder):
    broken = folder / "broken" / "gensim"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(
        "raise ValueError('numpy.dtype size changed, binary incompatibility')"
    )
    code = f"import sys; sys.path.insert(0, {str(broken.parent)!r})\n"
    code += COMMAND.format(
        arguments=["train", "c.txt", "-o", "model2", "--vector-size", "8", "--epochs", "1"]
    )
    done = run(folder, code, blocked=False)
    assert done.returncode == 0, done.stderr
    assert len(KeyedVectors.load(folder / "model2")) == 50
