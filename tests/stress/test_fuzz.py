"""Every reader against damaged files: cases that fuzzing has found, and some hundred mutations each."""

from __future__ import annotations

import gc
import importlib.util
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzz_readers as fuzz
import fuzz_seeds as seeds
import fuzz_targets as targets
import pytest

CASES = sorted(path for path in (Path(__file__).parent / "fuzz_cases").rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def watch() -> Any:
    """Return a watch that notices if a reader starts a program or writes outside its folder."""
    return fuzz.Watch()


@pytest.fixture
def warm(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a reader that has read an undamaged file, so that everything it needs is imported."""
    reader = targets.READERS[request.param]
    for name, library in (("dump", "mwparserfromhell"), ("table", "pyarrow")):
        if request.param == name:
            pytest.importorskip(library)
    for files in reader.seeds() if request.param != "gensim" or has_gensim() else ():
        reader.read(fuzz.written(tmp_path, reader, reader.join(files)))
    return reader


def has_gensim() -> bool:
    return importlib.util.find_spec("gensim") is not None


def mutations(seed: bytes, rng: random.Random, n: int = 60) -> Iterator[bytes]:
    """Yield a file cut, doubled, with bytes changed, taken out and replaced by pieces of formats."""
    for _ in range(n):
        data = bytearray(seed)
        for _ in range(rng.choice([1, 1, 2, 4])):
            at, n = rng.randrange(len(data) + 1), rng.randrange(9)
            match rng.randrange(5):
                case 0:
                    del data[at : at + n]
                case 1:
                    data[at : at + n] = rng.randbytes(n)
                case 2:
                    data[at : at + rng.choice([0, n])] = rng.choice(seeds.WORDS)
                case 3:
                    del data[at:]
                case _:
                    data[at:at] = data[at : at + 8 * n]
        yield bytes(data)


@pytest.mark.parametrize(
    ("warm", "path"),
    [(path.parent.name, path) for path in CASES],
    indirect=["warm"],
    ids=[f"{path.parent.name}-{path.name}" for path in CASES],
)
def test_what_fuzzing_found_stays_mended(warm: Any, path: Path, tmp_path: Path, watch: Any) -> None:
    tracemalloc.start()
    started = time.process_time()
    try:
        fuzz.run(warm, path.read_bytes(), tmp_path, watch)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("warm", list(targets.READERS), indirect=True)
def test_some_mutations(warm: Any, tmp_path: Path, watch: Any) -> None:
    rng = random.Random(5)
    if warm is targets.READERS["gensim"] and not has_gensim():
        pytest.skip("gensim, which writes the files to start from, is not installed")
    for files in warm.seeds():
        for data in mutations(warm.join(files), rng):
            fuzz.run(warm, data, tmp_path, watch)


def test_a_refused_pickle_leaves_nothing_behind(tmp_path: Path) -> None:
    """Objects on the stack of a failed unpickler must not refer to it: the collector could not free them."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.formats.gensim import read_gensim

    (tmp_path / "v").write_bytes(b"cnumpy\nndarray\ncos\nsystem\n.")

    def fail() -> int:
        for _ in range(50):
            with pytest.raises(DataError):
                read_gensim(tmp_path / "v")
        gc.collect()
        return len(gc.get_objects())

    before = fail()
    assert fail() < before + 100


def test_a_reader_that_does_what_it_should_not_is_noticed(tmp_path: Path, watch: Any) -> None:
    def misread(folder: Path) -> None:
        (tmp_path.parent / "outside").write_bytes(b"")

    with pytest.raises(fuzz.ForbiddenAct, match="outside"):
        fuzz.run(targets.Reader(("v",), misread, lambda: iter(())), b"", tmp_path, watch)
    (tmp_path.parent / "outside").unlink()
