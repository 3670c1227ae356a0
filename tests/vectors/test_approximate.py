"""The approximate index: it finds most of the exact neighbours, with exact cosines, and nothing else."""

import json
import random
import shutil

import numpy as np
import pytest

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.formats import map_tensors, write_arrays
from wordvec_ca.tables import table
from wordvec_ca.vectors import ApproximateNeighbours, inverted_file


@pytest.fixture(scope="module")
def vectors():
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
def index(vectors, tmp_path_factory):
    """Return the folder of an index."""
    folder = tmp_path_factory.mktemp("index") / "i"
    ApproximateNeighbours.build(vectors.vectors, folder, workers=1)
    return folder


def test_nearly_all_neighbours_are_found_with_exact_cosines(vectors, tmp_path):
    words = vectors.index_to_key
    index = ApproximateNeighbours.build(vectors.vectors, tmp_path / "i", words=words, workers=1)
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
    assert found >= 980
    recall = index.recall(queries=3000)
    assert recall.queries == 2998
    assert recall.share >= 0.98


def test_more_probes_find_more_and_all_lists_everything(vectors, index, tmp_path):
    place = shutil.copytree(index, tmp_path / "i")

    def with_probes(probes):
        record = json.loads((place / "index.json").read_text())
        (place / "index.json").write_text(json.dumps({**record, "probes": probes}))
        return ApproximateNeighbours.load(place, vectors.vectors)

    shares = [with_probes(probes).recall(queries=300).share for probes in (1, 8, 64, 1000)]
    assert shares == sorted(shares)
    assert shares[0] < 0.95
    assert shares[-1] == pytest.approx(1, abs=1e-3)  # but for ties
    few = with_probes(1)
    rows, cosines = few.nearest(vectors.vectors[5], 2500)  # as many lists are read as it takes
    assert len(set(rows.tolist())) == 2500
    assert cosines[0] == pytest.approx(1)
    assert len(with_probes(64).nearest(vectors.vectors[5], 5000)[0]) == 2998


def test_known_neighbours_of_few_rows(tmp_path):
    rows = np.array([[1, 0], [0, 0], [1, 1], [0, 3], [-2, 0.1], [np.inf, 1]], np.float32)
    index = ApproximateNeighbours.build(rows, tmp_path / "i", workers=1)
    found, cosines = index.nearest(np.array([2.0, 0.0]), 3)
    assert found.tolist() == [0, 2, 3]
    assert cosines.tolist() == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)
    with pytest.raises(DataError, match="nothing to index"):
        ApproximateNeighbours.build(np.zeros((20, 2), np.float32), tmp_path / "j")
    with pytest.raises(ValueError, match="probes is 0"):
        ApproximateNeighbours.build(rows, tmp_path / "j", probes=0)
    same = ApproximateNeighbours.build(np.ones((200, 4), np.float16), tmp_path / "k", workers=1)
    assert same.nearest(np.ones(4), 3)[0].tolist() == [0, 1, 2]


def test_the_same_index_with_any_number_of_threads(vectors, index, tmp_path):
    ApproximateNeighbours.build(vectors.vectors, tmp_path / "i", workers=2)
    for name in ("index.json", "lists.safetensors"):
        assert (tmp_path / "i" / name).read_bytes() == (index / name).read_bytes()


def test_index_of_other_vectors_and_damaged_ones_are_refused(vectors, tmp_path):
    place = tmp_path / "i"
    ApproximateNeighbours.build(vectors.vectors, place, workers=1)
    changed = vectors.vectors.copy()
    changed[0, 0] += 1
    with pytest.raises(DataError, match="other vectors"):
        ApproximateNeighbours.load(place, changed)
    whole = (place / "lists.safetensors").read_bytes()
    (place / "lists.safetensors").write_bytes(whole[:100])
    with pytest.raises(DataError, match="damaged"):
        ApproximateNeighbours.load(place, vectors.vectors)
    (place / "index.json").write_text("[]")
    with pytest.raises(DataError, match="is not an index of neighbours"):
        ApproximateNeighbours.load(place, vectors.vectors)
    with pytest.raises(DataError, match="make one with cawv index"):
        ApproximateNeighbours.load(tmp_path, vectors.vectors)
    with pytest.raises(DataError, match="is not an index of neighbours"):
        ApproximateNeighbours.load(place / "index.json", vectors.vectors)


def damaged(whole: bytes, rng: random.Random) -> bytes:
    made, at = bytearray(whole), rng.randrange(len(whole))
    match rng.randrange(4):
        case 0:
            made[at] ^= 1 << rng.randrange(8)
        case 1:
            made[at : at + 64] = rng.randbytes(64)
        case 2:
            made[at : at + 8] = b""
        case _:
            made += b"\0"
    return bytes(made)


def test_damaged_lists_are_refused(vectors, index, tmp_path):
    place, rng = shutil.copytree(index, tmp_path / "i"), random.Random(1)
    file = place / "lists.safetensors"
    whole = file.read_bytes()
    for _ in range(40):
        file.write_bytes(damaged(whole, rng))
        told = r"lists\.safetensors is damaged( \(.+\))?: make it again with cawv index"
        with pytest.raises(DataError, match=told):
            ApproximateNeighbours.load(place, vectors.vectors)
    file.unlink()
    with pytest.raises(DataError, match="make it again with cawv index"):
        ApproximateNeighbours.load(place, vectors.vectors)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows", lambda rows: rows + 2),
        ("rows", lambda rows: rows - 1),
        ("rows", lambda rows: rows[:-1]),
        ("rows", lambda rows: rows.astype(np.int32)),
        ("starts", lambda starts: starts[::-1].copy()),
        ("starts", lambda starts: starts + 1),
        ("starts", lambda starts: starts[:-1]),
        ("centres", lambda centres: centres[:, :-1].copy()),
        ("directions", lambda directions: directions[:-1]),
    ],
)
def test_arrays_that_do_not_fit_are_refused_even_with_their_digest(vectors, index, tmp_path, name, change):
    place = shutil.copytree(index, tmp_path / "i")
    file = place / "lists.safetensors"
    arrays, _ = map_tensors(file)
    changed = {key: np.array(array) for key, array in arrays.items()}
    changed[name] = change(changed[name])
    write_arrays(changed, [], file, {})
    with pytest.raises(DataError, match=r"do not fit together\): make it again with cawv index"):
        ApproximateNeighbours.load(place, vectors.vectors)


def test_an_interrupted_index_leaves_the_older_one(vectors, index, tmp_path, monkeypatch):
    place = shutil.copytree(index, tmp_path / "i")
    before = (place / "lists.safetensors").read_bytes()
    reached: list[tuple[int, int]] = []

    def interrupt(done, total):
        reached.append((done, total))
        if len(reached) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(inverted_file, "BATCH_ROWS", 1000)
    with pytest.raises(KeyboardInterrupt):
        ApproximateNeighbours.build(vectors.vectors, place, workers=1, progress=interrupt)
    assert reached == [(3000, 4 * 2998), (6000, 4 * 2998)]
    assert (place / "lists.safetensors").read_bytes() == before
    assert list(tmp_path.iterdir()) == [place]


def test_recall_is_that_of_a_search_through_all(vectors, index, monkeypatch):
    monkeypatch.setattr(table, "BLOCK_BYTES", 5_000)  # blocks of 52 rows
    opened = ApproximateNeighbours.load(index, vectors.vectors)
    monkeypatch.setattr(opened, "nearest", lambda row, n: (None, -np.sort(-exact @ row)[:n]))
    usable = np.isfinite(vectors.norms) & (vectors.norms > 0)
    exact = np.zeros_like(vectors.vectors)
    exact[usable] = vectors.vectors[usable] / vectors.norms[usable, np.newaxis]
    assert opened.recall(queries=300).share == pytest.approx(1, abs=1e-3)


def test_repeated_rows_are_one_another_in_the_recall(tmp_path):
    rows = np.repeat(np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32), 100, axis=0)
    assert ApproximateNeighbours.build(rows, tmp_path / "i", workers=1).recall().share == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("probes", value) for value in (None, 0, -1, 2**40, 1.5, "128", True, [])),
        *(("format", value) for value in (None, 1, 2, 3, 5, "4")),
        *(("lists_digest", value) for value in (None, "", 0)),
        *(("n_rows", value) for value in (None, 2**70, -1)),
    ],
)
def test_each_figure_of_a_record_is_checked(vectors, index, tmp_path, name, value):
    place = shutil.copytree(index, tmp_path / "i")
    record = json.loads((place / "index.json").read_text())
    (place / "index.json").write_text(json.dumps({**record, name: value}))
    with pytest.raises(DataError, match=r"make (it|the index) again with cawv index"):
        ApproximateNeighbours.load(place, vectors.vectors)


def test_commands_use_the_index_and_print_its_recall(vectors, tmp_path, command, monkeypatch):
    rows = np.delete(vectors.vectors, [7, 8], axis=0)
    KeyedVectors([f"w{i}" for i in range(len(rows))], rows).save(tmp_path / "v.bin")
    missing = command("nn", "v.bin", "w5", "--index", "i")
    assert "cawv index v.bin -o i" in missing.err
    made = command("index", "v.bin", "--json").says(0)
    assert made.json["share"] > 0.98
    exact = command("nn", "v.bin", "w5", "--json")
    assert command("nn", "v.bin", "w5", "--json") == exact  # few vectors: comparing them all takes no longer
    monkeypatch.setattr("wordvec_ca.vectors.FASTER_FROM", 100)
    approximate = command("nn", "v.bin", "w5", "--json")
    assert "v.bin.cawv-neighbours finds" in approximate.err
    assert command("nn", "v.bin", "w5", "--json", "--exact") == exact
    command("nn", "v.bin", "w5", "--index", "v.bin.cawv-neighbours", "--exact").says(2, "--index excludes")
    ours, theirs = (run.json["neighbours"] for run in (exact, approximate))
    assert len({entry["word"] for entry in ours} & {entry["word"] for entry in theirs}) >= 9

    (tmp_path / "text.txt").write_text("".join(f"w{i} w{i + 60}\n" for i in range(500)))
    options = ("search", "v.bin", "text.txt", "w5 w65", "--json", "-q")
    exact = command(*options).says(0)
    made = command("index", "text.txt.cawv-index")
    assert "recall of the 10 nearest" in made.out, made.err
    approximate = command(*options[:-1])
    assert "text.txt.cawv-index.cawv-neighbours finds" in approximate.err
    assert approximate.json["hits"][0] == exact.json["hits"][0]
    KeyedVectors([f"w{i}" for i in range(len(rows))], rows[::-1]).save(tmp_path / "v.bin")
    command("nn", "v.bin", "w5").says(0, "an index of other vectors", "vectors are compared")


def test_an_index_says_that_it_compares_a_sample(tmp_path, command, monkeypatch):
    rows = np.random.default_rng(1).normal(size=(500, 8)).astype(np.float32)
    KeyedVectors([f"w{i}" for i in range(500)], rows).save(tmp_path / "v.bin")
    assert "of their rows" not in command("index", "v.bin").err
    monkeypatch.setattr("wordvec_ca.vectors.approximate._SAMPLE", 100)
    command("index", "v.bin").says(0, "100 of their rows")


def test_many_vectors_get_the_offer(capsys):
    from wordvec_ca.cli.models import faster_index

    faster_index("m", np.zeros((1_000_000, 1)))
    assert capsys.readouterr().err == ""
    faster_index("m", np.zeros((1_000_001, 1)))
    assert "cawv index m" in capsys.readouterr().err
