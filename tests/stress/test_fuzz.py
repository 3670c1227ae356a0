"""Every reader against damaged files: cases that fuzzing has found, and some hundred mutations each."""

import gc
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import fuzz_readers as fuzz
import fuzz_seeds as seeds
import fuzz_targets as targets
import pytest

CASES = sorted((Path(__file__).parent / "fuzz_cases").glob("*/*"))


@pytest.fixture(scope="module")
def watch():
    """Return a watch that notices if a reader starts a program or writes outside its folder."""
    return fuzz.Watch()


@pytest.fixture
def warm(request, tmp_path):
    """Return a reader that has read undamaged files, so that everything it needs is imported, and these."""
    for name, library in (("dump", "mwparserfromhell"), ("table", "pyarrow"), ("gensim", "gensim")):
        if request.param == name:
            pytest.importorskip(library)
    read, seeds_of = targets.READERS[request.param]
    whole = list(seeds_of())
    for files in whole:
        read(fuzz.written(tmp_path, files))
    return read, whole


def mutations(whole: seeds.Files, rng: random.Random, n: int = 60) -> Iterator[dict[str, bytes]]:
    """Yield files of which one is missing, cut, doubled, or has other bytes or pieces of formats in it."""
    for _ in range(n):
        name = rng.choice(list(whole))
        data = bytearray(whole[name])
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
        missing = len(whole) > 1 and rng.random() < 0.1
        others = {other: content for other, content in whole.items() if other != name}
        yield others if missing else others | {name: bytes(data)}


@pytest.mark.parametrize(
    ("warm", "path"),
    [(path.parent.name, path) for path in CASES],
    indirect=["warm"],
    ids=[f"{path.parent.name}-{path.name}" for path in CASES],
)
def test_what_fuzzing_found_stays_mended(warm, path, tmp_path, watch):
    tracemalloc.start()
    started = time.process_time()
    try:
        fuzz.run(warm[0], {file.name: file.read_bytes() for file in path.iterdir()}, tmp_path, watch)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("warm", list(targets.READERS), indirect=True)
def test_some_mutations(warm, tmp_path, watch):
    rng, (read, whole) = random.Random(5), warm
    for files in whole:
        for damaged in mutations(files, rng):
            fuzz.run(read, damaged, tmp_path, watch)


def test_a_refused_pickle_leaves_nothing_behind(tmp_path):
    """Objects on the stack of a failed unpickler must not refer to it: the collector could not free them."""
    from wordvec_ca import DataError
    from wordvec_ca.formats.gensim import read_gensim

    (tmp_path / "v").write_bytes(b"cnumpy\nndarray\ncos\nsystem\n.")

    def fail():
        for _ in range(50):
            with pytest.raises(DataError):
                read_gensim(tmp_path / "v")
        gc.collect()
        return len(gc.get_objects())

    before = fail()
    assert fail() < before + 100


def test_a_reader_that_does_what_it_should_not_is_noticed(tmp_path, watch):
    def misread(folder):
        (tmp_path.parent / "outside").write_bytes(b"")

    with pytest.raises(fuzz.ForbiddenAct, match="outside"):
        fuzz.run(misread, {"v": b""}, tmp_path, watch)
    (tmp_path.parent / "outside").unlink()
