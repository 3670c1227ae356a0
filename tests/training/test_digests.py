"""The bits of every model are those of the last intended change.

The digests are of input and output vectors after a run with one worker. They may differ with another
compiler, which contracts products and sums in another way, and with another NumPy, which draws other first
vectors: with versions other than those in ``digests.json`` the test is skipped. After a change of training
that is meant to change bits, ``python tests/training/test_digests.py`` records them again, and the CHANGELOG
says so.
"""

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordvec_ca import TrainConfig, train
from wordvec_ca.kernels import compiler, isas

RECORDED = Path(__file__).with_name("digests.json")

RUNS: dict[str, dict[str, Any]] = {
    "cbow exact": {"model": "cbow", "negatives": "exact"},
    "cbow shared": {"model": "cbow", "negatives": "shared", "shared_by": 4},
    "cbow word2vec": {"model": "cbow", "negatives": "exact", "cbow_update": "word2vec"},
    "skipgram exact": {"model": "skipgram", "negatives": "exact"},
    "skipgram shared": {"model": "skipgram", "negatives": "shared", "shared_by": 16},
    "ssg exact": {"model": "ssg"},
    "cwindow exact": {"model": "cwindow"},
}
RUNS |= {
    f"cbow-attn {kind} {negatives}": {
        "model": "cbow-attn",
        "attention": kind,
        "negatives": negatives,
        **sharing,
    }
    for kind in ("full", "position", "word")
    for negatives, sharing in (("exact", {}), ("shared", {"shared_by": 4}))
}


def sentences() -> list[list[str]]:
    """Return 800 sentences in which each word determines the next."""
    rng = random.Random(21)
    text = []
    for _ in range(800):
        word = rng.randrange(90)
        line = []
        for _ in range(rng.randrange(3, 14)):
            word = (word * 7 + rng.randrange(4)) % 90
            line += [f"w{word}", f"f{rng.randrange(3)}"]
        text.append(line)
    return text


def digest(run: str, isa: str) -> str:
    """Return the SHA-256 of the vectors."""
    config = TrainConfig(vector_size=20, window=4, min_count=1, epochs=2, workers=1, **RUNS[run])
    before = os.environ.get("CAWV_ISA")
    os.environ["CAWV_ISA"] = isa
    try:
        model = train(sentences(), config)
    finally:
        os.environ.pop("CAWV_ISA")
        if before is not None:
            os.environ["CAWV_ISA"] = before
    arrays = [np.ascontiguousarray(array) for array in (model.inputs, model.outputs)]
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def circumstances() -> dict[str, str]:
    """Return the versions that bits depend on, apart from our own code and the instruction set."""
    return {"compiler": compiler(), "numpy": ".".join(np.__version__.split(".")[:2])}


def recorded(run: str, isa: str) -> str:
    """Return the recorded digest, or skip."""
    record = json.loads(RECORDED.read_text("utf-8"))
    if record["circumstances"] != circumstances():
        pytest.skip(
            f"recorded with {record['circumstances']}, here are {circumstances()}: last bits may differ"
        )
    if isa not in record["digests"]:
        pytest.skip(f"no digests are on record for {isa}")
    return str(record["digests"][isa][run])


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("run", RUNS)
def test_vectors_are_those_on_record(run, isa):
    assert digest(run, isa) == recorded(run, isa)


if __name__ == "__main__":
    found = {isa: {run: digest(run, isa) for run in RUNS} for isa in isas()}
    RECORDED.write_text(
        json.dumps({"circumstances": circumstances(), "digests": found}, indent=1) + "\n", "utf-8"
    )
