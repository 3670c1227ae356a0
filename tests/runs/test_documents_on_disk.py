"""Documents in a file of the run: killed at any moment, continued to the same bits; checkpoints are small."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from small_runs import same

from wordvec_ca import EmbeddingModel, TrainConfig, resume, train
from wordvec_ca.corpus import DocumentTags
from wordvec_ca.files import Storage, map_npy
from wordvec_ca.models import TOUCHED_ROWS, DocumentRows
from wordvec_ca.training.document_journal import BLOCKS, ROWS, DocumentJournal

pytestmark = pytest.mark.filterwarnings("ignore:the run is kept")

KILLED = """
import os, signal, sys
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.training.document_journal import DocumentJournal
from wordvec_ca.training.replica import Replica

what, after = sys.argv[1], int(sys.argv[2])
owner = Replica if what == "train_chunk" else DocumentJournal
before, seen = getattr(owner, what), 0

def counted(self, *arguments, **more):
    global seen
    seen += 1
    found = before(self, *arguments, **more)
    if seen == after:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

setattr(owner, what, counted)
train("c.jsonl", TrainConfig(**eval(sys.argv[3])), output="m", checkpoint_every="4k")
"""


@pytest.fixture
def corpus(tmp_path):
    """Return 4,000 documents of five words; each seventh has a tag that it shares."""
    rng = np.random.default_rng(3)
    path = tmp_path / "c.jsonl"
    with open(path, "w") as file:
        for i in range(4_000):
            words = " ".join(f"w{word}" for word in rng.zipf(1.5, 5) % 50)
            file.write(
                json.dumps({"text": words, "id": [f"d{i}", "seventh"] if i % 7 == 0 else f"d{i}"}) + "\n"
            )
    return path


OPTIONS = {"field": "text", "tag_field": "id", "vector_size": 20, "min_count": 1, "epochs": 3, "workers": 1}


@pytest.mark.parametrize(
    ("what", "after", "model"),
    [
        ("train_chunk", 7, "pv-dm"),
        ("train_chunk", 40, "pv-dm-attn"),
        ("_read", 1, "pv-dbow"),  # the rows are in the base and the first checkpoint exists
        ("was_written", 5, "pv-dbow"),
    ],
)
def test_killed_run_continues_to_the_same_bits(tmp_path, corpus, monkeypatch, what, after, model):
    monkeypatch.chdir(tmp_path)
    options = {**OPTIONS, "model": model}
    whole = train(corpus, TrainConfig(**options))
    killed = subprocess.run([sys.executable, "-c", KILLED, what, str(after), repr(options)], check=False)
    assert killed.returncode == -9
    work = np.fromfile("m.run/documents.work", np.float32)
    assert work.any()
    np.full_like(work, np.nan).tofile("m.run/documents.work")  # the file's content at the kill is not used
    resumed = resume("m")
    assert same(resumed, whole)
    assert same(EmbeddingModel.load("m"), whole)
    assert not Path("m.run").exists()


def test_checkpoints_hold_what_was_touched(tmp_path):
    n = 40 * TOUCHED_ROWS + 5
    documents = DocumentRows.zeros(DocumentTags(n), 16, tmp_path)
    rng = np.random.default_rng(1)
    documents.rows[:] = rng.random(documents.rows.shape, np.float32)
    journal = DocumentJournal(Storage(tmp_path), documents)
    states: dict[str, np.ndarray] = {}
    names = [f"{i:06}.checkpoint" for i in range(1, 7)]
    for number, name in enumerate(names):
        if number:
            rows = rng.choice(n, 3).astype(np.int64) if number % 2 else np.arange(n - 600, n)
            documents.rows[rows] += 1
            documents.touched(np.append(rows, -1))
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_STORED) as archive:
            journal.write(archive)
        journal.was_written(name)
        states[name] = documents.rows.copy()
        if number >= 2:
            journal.fold(names[number - 2])
            (tmp_path / names[number - 2]).unlink()
        with zipfile.ZipFile(tmp_path / name) as archive:
            held = (archive.getinfo(ROWS).file_size - 128) // documents.rows[0].nbytes
            assert len(archive.read(BLOCKS)) > 0
        assert held == n if not number else held <= 4 * TOUCHED_ROWS
    documents.rows[:] = np.nan
    for name in names[-2:][::-1]:
        DocumentJournal(Storage(tmp_path), documents).restore(name)
        assert np.array_equal(documents.rows, states[name])
    # a damaged newer entry, then one that continues from the older one: the damaged one is never used
    journal = DocumentJournal(Storage(tmp_path), documents)
    journal.restore(names[-2])
    base = np.fromfile(tmp_path / "documents.base", np.float32)
    journal.fold(names[-1])
    assert np.array_equal(np.fromfile(tmp_path / "documents.base", np.float32), base)


def test_rows_are_a_file_of_the_model_after_the_run(tmp_path, corpus):
    model = train(corpus, TrainConfig(**OPTIONS, model="pv-dm"), output=tmp_path / "m")
    assert model.documents is not None
    assert np.array_equal(model.documents.rows, map_npy(tmp_path / "m/documents.npy"))
    more = train(
        corpus, TrainConfig(**OPTIONS, model="pv-dm"), continue_from=tmp_path / "m", output=tmp_path / "n"
    )
    assert more.documents is not None
    assert len(more.documents) == len(model.documents)  # with the same tags there are no new documents
