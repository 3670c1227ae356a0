"""Small files that unpack to much text: they are read, or refused with a reason, in bounded memory."""

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from wordvec_ca import DataError
from wordvec_ca.text import TextFiles
from wordvec_ca.text.json_records import MOST_PARTS

MEGABYTE = b"a" * 999_999 + b"\n"


def zstd(data: bytes, **options: int) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    parameters = zstandard.ZstdCompressionParameters(compression_level=1, **options)
    return bytes(zstandard.ZstdCompressor(compression_params=parameters).compress(data))


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize("kind", PACKED)
def test_pieces_are_small_however_well_a_file_is_compressed(kind, tmp_path):
    text = b"a b\n" * 6 + b"x" * 20_000_000 + b"\n" + MEGABYTE * 20 + b"the end"
    (tmp_path / "t").write_bytes(PACKED[kind](text) + PACKED[kind](b" of two streams\n"))
    pieces = list(TextFiles([str(tmp_path / "t")]).pieces())
    assert max(map(len, pieces)) <= 1 << 20
    assert b"".join(pieces) == text + b" of two streams\n"


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("cut", [-9, -1, 2500])
def test_damage_is_found_as_before(kind, cut, tmp_path):
    text = b"".join(b"line %d of some\n" % i for i in range(99_999))
    (tmp_path / "t").write_bytes(PACKED[kind](text)[:cut])
    with pytest.raises(DataError, match="truncated"):
        list(TextFiles([str(tmp_path / "t")]).pieces())
    (tmp_path / "t").write_bytes(PACKED[kind](text) + b"something else that follows")
    with pytest.raises(DataError, match="follow the end"):
        list(TextFiles([str(tmp_path / "t")]).pieces())


def records_of(path: Path, content: bytes) -> TextFiles:
    path.write_bytes(content)
    texts = TextFiles([str(path)], field="text")
    for _ in texts.pieces():
        pass
    return texts


@pytest.mark.filterwarnings("ignore:.*left out as malformed")
@pytest.mark.parametrize(
    "hostile",
    [
        b'{"text": [' + b"[]," * (MOST_PARTS // 2) + b"[]]}",
        b'{"x": {' + b'"a":{},' * (MOST_PARTS // 2) + b'"a": 1}, "text": "a"}',
        b'{"text": "' + b"a" * (33 << 20) + b'"}',
    ],
    ids=["lists", "objects", "text"],
)
def test_a_record_that_would_take_much_memory_is_left_out_and_counted(hostile, tmp_path):
    texts = records_of(tmp_path / "r.jsonl", b'{"text": "a"}\n' + hostile + b'\n{"text": "b"}\n')
    assert texts.records == {"records": 3, "malformed records": 1}


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")

READ = """
import sys
from wordvec_ca.errors import DataError
from wordvec_ca.text import TextFiles

for name in sys.argv[1:]:
    n, field = 0, "text" if "packed" not in name else None
    try:
        for piece in TextFiles([name], field=field).pieces():
            n += len(piece)
    except DataError as error:
        n = str(error)
    # not ru_maxrss: it begins with that of the process from which this one was forked
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(n, int(peak.split()[1]) // 1024, sep="|")
"""


def tables(folder: Path) -> list[str]:
    """Write tables of 100 rows with the same text of a megabyte, which the file holds once."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    text = (b"word " * 200_000)[:-1].decode()
    once = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100, pyarrow.int32()), [text])
    plain = pyarrow.table({"text": [text] * 100})
    tables = {
        "dictionary": (pyarrow.table({"text": once}), {}),
        "once": (plain, {}),
        "plain": (plain, {"use_dictionary": False, "compression": "zstd"}),
        "binary": (pyarrow.table({"text": [text.encode()] * 100}), {}),
        "lists": (pyarrow.table({"text": [[text.replace(" ", "")]] * 100}), {}),
        "nulls": (pyarrow.table({"text": [text, None] * 100}), {}),
    }
    for name, (table, options) in tables.items():
        parquet.write_table(table, folder / f"{name}.parquet", **options)
    with pyarrow.ipc.new_file(folder / "dictionary.arrow", tables["dictionary"][0].schema) as file:
        file.write_table(tables["dictionary"][0])
    return [str(folder / f"{name}.parquet") for name in tables] + [str(folder / "dictionary.arrow")]


@linux
def test_tables_with_few_values_are_read_in_bounded_memory(tmp_path):
    names = tables(tmp_path)
    done = subprocess.run([sys.executable, "-c", READ, *names], capture_output=True, text=True, check=True)
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        found, peak = line.split("|")
        expected = 100 * (800_001 if "lists" in name else 1_000_000)
        assert int(found) == expected, name
        assert int(peak) < 400, name


def test_a_cell_that_cannot_fit_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"text": ["a" * (70 << 20), "b"]})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd")
    with pytest.raises(DataError, match=r"73,400,320 bytes.*67,108,864"):
        list(TextFiles([str(tmp_path / "t.parquet")], field="text").pieces())


@linux
@pytest.mark.slow
def test_bombs_of_text_take_bounded_memory(tmp_path):
    long = io.BytesIO()
    with gzip.open(long, "wb", 1) as file:
        for _ in range(2000):
            file.write(b"a" * 1_000_000)
    names = []
    for name, content in {
        "packed.gz": long.getvalue(),
        "record.jsonl.gz": gzip.compress(b'{"text": "') + long.getvalue(),
        "cell.csv.gz": gzip.compress(b'text,n\n"') + long.getvalue(),
        "windows.packed.zst": zstd(b"a" * (1 << 30), window_log=30),
        "array.json.gz": gzip.compress(json.dumps([{"text": "a"}])[:-1].encode() + b', {"text": "')
        + long.getvalue(),
    }.items():
        (tmp_path / name).write_bytes(content)
        names.append(str(tmp_path / name))
    done = subprocess.run([sys.executable, "-c", READ, *names], capture_output=True, text=True, check=True)
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        assert int(line.split("|")[1]) < 500, (name, line)
