"""The approximate index: it finds most of the exact neighbours, with exact cosines, and nothing else."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("usearch", reason="the extra ann is not installed")

from wordvec_ca.errors import DataError
from wordvec_ca.tables import table
from wordvec_ca.vectors import ApproximateNeighbours, KeyedVectors


@pytest.fixture(scope="module")
def vectors() -> KeyedVectors:
    """Return 3,000 vectors in clusters, a row of zeros and one with NaN."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(60, 24))
    numbers = (centres[np.arange(3000) % 60] + 0.7 * rng.normal(size=(3000, 24))).astype(np.float32)
    numbers *= rng.uniform(0.1, 9, size=(3000, 1)).astype(np.float32)
    numbers[7] = 0
    numbers[8, 3] = np.nan
    kv = KeyedVectors([f"w{i}" for i in range(3000)], numbers)
    with pytest.warns(UserWarning, match="NaN"):
        kv.most_similar("w0")
    return kv


@pytest.fixture(scope="module")
def index(vectors: KeyedVectors, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an index."""
    folder = tmp_path_factory.mktemp("index") / "i"
    ApproximateNeighbours.build(vectors.vectors, folder, workers=1)
    return folder


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_nearly_all_neighbours_are_found_with_exact_cosines(
    vectors: KeyedVectors, tmp_path: Path, dtype: str
) -> None:
    words = vectors.index_to_key
    index = ApproximateNeighbours.build(vectors.vectors, tmp_path / "i", words=words, dtype=dtype, workers=1)
    assert len(index) == 2998
    found = 0
    for word in words[100:200]:
        exact = vectors.most_similar(word, topn=10)
        approximate = vectors.most_similar(word, topn=10, indexer=index)
        assert len(approximate) == 10
        assert word not in dict(approximate)
        cosines = [cosine for _, cosine in approximate]
        assert cosines == sorted(cosines, reverse=True)
        for other, cosine in approximate:
            assert cosine == pytest.approx(vectors.similarity(word, other), abs=1e-6)
        found += len({other for other, _ in exact} & {other for other, _ in approximate})
    assert found >= (900 if dtype == "int8" else 980)
    recall = index.recall(queries=3000)
    assert recall.queries == 2998
    assert recall.share >= (0.9 if dtype == "int8" else 0.98)


def test_recall_is_low_where_little_is_looked_at(vectors: KeyedVectors, tmp_path: Path) -> None:
    index = ApproximateNeighbours.build(
        vectors.vectors, tmp_path / "i", connectivity=2, expansion=8, workers=1
    )
    assert index.recall().share < 0.95


def test_index_of_other_vectors_and_damaged_ones_are_refused(vectors: KeyedVectors, tmp_path: Path) -> None:
    place = tmp_path / "i"
    ApproximateNeighbours.build(vectors.vectors, place, workers=1)
    changed = vectors.vectors.copy()
    changed[0, 0] += 1
    with pytest.raises(DataError, match="other vectors"):
        ApproximateNeighbours.load(place, changed)
    graph = (place / "graph.usearch").read_bytes()
    (place / "graph.usearch").write_bytes(graph[:100])
    with pytest.raises(DataError, match="damaged"):
        ApproximateNeighbours.load(place, vectors.vectors)
    (place / "index.json").write_text("[]")
    with pytest.raises(DataError, match="is not an index of neighbours"):
        ApproximateNeighbours.load(place, vectors.vectors)
    with pytest.raises(DataError, match="make one with cawv index"):
        ApproximateNeighbours.load(tmp_path, vectors.vectors)


def test_no_damaged_graph_reaches_the_library(vectors: KeyedVectors, index: Path, tmp_path: Path) -> None:
    """The library trusts the links of a graph: a wrong link would be a segmentation fault."""
    place, rng = shutil.copytree(index, tmp_path / "i"), random.Random(1)
    whole = (place / "graph.usearch").read_bytes()
    for _ in range(60):
        damaged, at = bytearray(whole), rng.randrange(len(whole))
        match rng.randrange(4):
            case 0:
                damaged[at] ^= 1 << rng.randrange(8)
            case 1:
                damaged[at : at + 64] = rng.randbytes(64)
            case 2:
                damaged[at : at + 8] = b""
            case _:
                damaged += b"\0"
        (place / "graph.usearch").write_bytes(damaged)
        with pytest.raises(DataError, match=r"graph\.usearch is damaged: make it again with cawv index"):
            ApproximateNeighbours.load(place, vectors.vectors)
    (place / "graph.usearch").unlink()
    with pytest.raises(DataError, match="make it again with cawv index"):
        ApproximateNeighbours.load(place, vectors.vectors)


def test_an_interrupted_index_leaves_the_older_one(
    vectors: KeyedVectors, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(index, tmp_path / "i")
    before = (place / "graph.usearch").read_bytes()
    reached: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        reached.append((done, total))
        if len(reached) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(table, "BLOCK_BYTES", 100_000)
    with pytest.raises(KeyboardInterrupt):
        ApproximateNeighbours.build(vectors.vectors, place, workers=1, progress=interrupt)
    assert reached == [(1041, 3000), (2082, 3000)]
    assert (place / "graph.usearch").read_bytes() == before
    assert list(tmp_path.iterdir()) == [place]


def test_recall_is_that_of_a_search_through_all(
    vectors: KeyedVectors, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "BLOCK_BYTES", 5_000)  # blocks of 52 rows
    opened = ApproximateNeighbours.load(index, vectors.vectors)
    monkeypatch.setattr(opened, "nearest", lambda row, n: (np.argsort(-exact @ row, kind="stable")[:n], None))
    usable = np.isfinite(vectors.norms) & (vectors.norms > 0)
    exact = np.zeros_like(vectors.vectors)
    exact[usable] = vectors.vectors[usable] / vectors.norms[usable, np.newaxis]
    assert opened.recall(queries=300).share == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("expansion", value) for value in (None, 0, -1, 2**40, 1.5, "128", True, [])),
        *(("format", value) for value in (None, 1, 3, "2")),
        *(("graph_digest", value) for value in (None, "", 0)),
        *(("n_rows", value) for value in (None, 2**70, -1)),
    ],
)
def test_each_figure_of_a_record_is_checked(
    vectors: KeyedVectors, index: Path, tmp_path: Path, name: str, value: object
) -> None:
    place = shutil.copytree(index, tmp_path / "i")
    record = json.loads((place / "index.json").read_text())
    (place / "index.json").write_text(json.dumps({**record, name: value}))
    with pytest.raises(DataError, match=r"make (it|the index) again with cawv index"):
        ApproximateNeighbours.load(place, vectors.vectors)


def cawv(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wordvec_ca", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_commands_use_the_index_and_print_its_recall(vectors: KeyedVectors, tmp_path: Path) -> None:
    rows = np.delete(vectors.vectors, [7, 8], axis=0)
    KeyedVectors([f"w{i}" for i in range(len(rows))], rows).save(tmp_path / "v.bin")
    missing = cawv(tmp_path, "nn", "v.bin", "w5", "--approximate")
    assert missing.returncode == 1
    assert "cawv index v.bin" in missing.stderr
    made = cawv(tmp_path, "index", "v.bin", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["share"] > 0.98
    exact = cawv(tmp_path, "nn", "v.bin", "w5", "--json")
    approximate = cawv(tmp_path, "nn", "v.bin", "w5", "--json", "--approximate")
    ours, theirs = (json.loads(run.stdout)["neighbours"] for run in (exact, approximate))
    assert len({entry["word"] for entry in ours} & {entry["word"] for entry in theirs}) >= 9

    (tmp_path / "text.txt").write_text("".join(f"w{i} w{i + 60}\n" for i in range(500)))
    options = ("search", "v.bin", "text.txt", "w5 w65", "--json", "-q")
    exact = cawv(tmp_path, *options)
    assert exact.returncode == 0, exact.stderr
    made = cawv(tmp_path, "index", "text.txt.cawv-index")
    assert "recall of the 10 nearest" in made.stdout, made.stderr
    approximate = cawv(tmp_path, *options, "--approximate")
    assert approximate.returncode == 0, approximate.stderr
    assert json.loads(approximate.stdout)["hits"][0] == json.loads(exact.stdout)["hits"][0]


def test_many_vectors_get_the_offer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from wordvec_ca.cli.neighbour_index import offer

    offer("m", 1_000_000)
    assert capsys.readouterr().err == ""
    offer("m", 1_000_001)
    assert "cawv index m" in capsys.readouterr().err
