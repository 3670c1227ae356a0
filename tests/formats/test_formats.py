"""Every format: round trips with hostile words, other programs' files, damage, and failed writes."""

import bz2
import gzip
import importlib.util
import json
import lzma
import os
import resource
import struct
import tracemalloc
import warnings

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from wordvec_ca import DataError, KeyedVectors
from wordvec_ca.files import lines as escaped_word
from wordvec_ca.formats.registry import CARDS, READABLE, WRITABLE, detect_format, format_of_suffix
from wordvec_ca.kernels._decimals import write_rows
from wordvec_ca.specs.formats import FORMATS, format_named

UTF8 = ("word2vec", "word2vec-binary", "glove", "fasttext")
ESCAPABLE = {one.name for one in FORMATS if one.words in ("line", "escaped line")}
"""The formats that keep words as UTF-8, with ``errors`` for what it cannot encode."""

WITHOUT = {"spacy"} if importlib.util.find_spec("pyarrow") else {"spacy", "parquet"}
READ_BACK = tuple(name for name in WRITABLE if name in READABLE and name not in WITHOUT)
"""Formats that are read back here; for others see test_exports.py, test_floret.py and test_others_files.py
(spaCy takes long)."""

PLAIN = tuple(name for name in READ_BACK if name != "gensim")


def needs(name):
    if name == "gensim":
        pytest.importorskip("gensim", reason="gensim is not installed")


def sample(n_words=20, vector_size=5):
    vectors = np.random.default_rng(1).standard_normal((n_words, vector_size)).astype(np.float32)
    return KeyedVectors([f"wörd{i}" for i in range(n_words)], vectors, np.arange(n_words, 0, -1))


def bits(vectors):
    return np.ascontiguousarray(vectors, dtype=np.float32).view(np.uint32)


# ---------------------------------------------------------------------- round trips

_hostile = st.one_of(
    st.text(st.sampled_from("ab \t\n\r\v\f\\\0\u00a0\u2028\x85\ufeff\udcff\ud800é\U0001f600"), max_size=4),
    st.text(st.characters(), max_size=5),
    st.sampled_from(["1", "0.5", "nan", "-1e5", "\\t", "2 3", "</s>", "word\tcount", "word"]),
)
_finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw):
    words = draw(st.lists(_hostile, min_size=1, max_size=6, unique=True))
    vector_size = draw(st.integers(1, 4))
    numbers = draw(st.lists(_finite, min_size=len(words) * vector_size, max_size=len(words) * vector_size))
    counted = draw(st.booleans())
    counts = [draw(st.integers(0, 2**63 - 1)) for _ in words] if counted else None
    return KeyedVectors(words, np.array(numbers, np.float32).reshape(len(words), vector_size), counts)


def can_hold(name, word, errors):
    """Say what the table of formats promises about a word."""
    one = format_named(name)
    if one.words == "line" and (not word or any(space in word for space in " \t\n\r\v\f")):
        return False
    if any(piece in word for piece in one.no_words):
        return False
    surrogates = {character for character in word if "\ud800" <= character <= "\udfff"}
    if errors == "surrogateescape" and name in ESCAPABLE:
        surrogates -= {chr(0xDC00 + byte) for byte in range(0x80, 0x100)}
    return one.words == "any" or not surrogates


@settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(kv=tables(), errors=st.sampled_from(["strict", "surrogateescape"]))
@example(kv=KeyedVectors(["word\tcount", "x"], [[1.0], [2.0]]), errors="strict")
@example(kv=KeyedVectors(["", "x"], [[1.0], [2.0]]), errors="strict")
@example(kv=KeyedVectors(["\ufeffx", "\ufeff", "x"], [[1.0], [2.0], [3.0]]), errors="strict")
@example(kv=KeyedVectors([""], [[-0.0]]), errors="strict")
@example(kv=KeyedVectors(["\udcff\udcfe"], [[1e-45]]), errors="surrogateescape")
def test_any_word_survives_or_is_refused_by_name(tmp_path, kv, errors):
    """One table for all formats: making tables takes longer than writing and reading them."""
    for name in READ_BACK:
        if name != "gensim" or importlib.util.find_spec("gensim"):
            note(name)
            (tmp_path / name).mkdir(exist_ok=True)
            check_any_word(tmp_path / name, name, kv, errors)


def check_any_word(folder, name, kv, errors):
    path = folder / f"v.{name}"
    bad = [word for word in kv.index_to_key if not can_hold(name, word, errors)]
    if bad:
        before = sorted(folder.rglob("*"))
        with pytest.raises(DataError, match=r"cannot hold.*safetensors"):
            kv.save(path, format=name, errors=errors)
        assert sorted(folder.rglob("*")) == before
        if len(bad) == len(kv):
            return
        with pytest.warns(UserWarning, match=f"{len(bad)} of {len(kv)} words left out"):
            kv.save(path, format=name, errors=errors, unwritable="skip")
    else:
        kv.save(path, format=name, errors=errors)
    kept = [row for row, word in enumerate(kv.index_to_key) if word not in bad]
    # bytes that happen to be valid UTF-8 are read back as that character
    expected = [kv.index_to_key[row] for row in kept]
    if errors == "surrogateescape" and name in ESCAPABLE:
        expected = [word.encode("utf-8", errors).decode("utf-8", errors) for word in expected]
        if len(set(expected)) < len(expected):
            return
    loaded = KeyedVectors.load(path, format=name, errors=errors)
    assert loaded.index_to_key == expected
    assert np.array_equal(bits(loaded.vectors), bits(kv.vectors[kept]))
    if name in ("gensim", "safetensors", "projector"):
        counts = None if kv.counts is None else kv.counts[kept].tolist()
        assert (None if loaded.counts is None else loaded.counts.tolist()) == counts


@given(st.lists(_hostile))
def test_escaped_lines(words):
    text = escaped_word.escape_lines(words)
    assert text.count("\n") == len(words)
    assert "\r" not in text
    assert "\t" not in text
    assert escaped_word.unescape_lines(text) == words


def odd_floats():
    """Return float32 of every magnitude, and those next to powers of two, where rounding is lopsided."""
    rng = np.random.default_rng(3)
    anything = rng.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    powers = np.arange(1, 255, dtype=np.uint32) << 23
    usual = (np.float32(10) ** rng.uniform(-14, 8, 10_000)).astype(np.float32)
    values = np.concatenate([anything, powers, powers + 1, powers - 1]).view(np.float32)
    values = np.concatenate([values, usual, -usual, np.float32([0.0, -0.0, 0.1, 9.9999998e-5, 1e7, 1e-13])])
    return values[np.isfinite(values)]


def test_decimals_are_the_shortest_that_give_the_same_float32():
    """Python's float and NumPy's (slow) search for the shortest digits are the oracles."""

    def n_digits(text):
        return len(text.partition("e")[0].replace(".", "").lstrip("-").strip("0"))

    values = odd_floats()
    texts = write_rows(values[:, np.newaxis], None, "\t").decode().split("\n")[:-1]
    assert np.array_equal(bits([float(text) for text in texts]), bits(values))
    for text, value in zip(texts, values, strict=True):
        assert text == f"{float(text):.9g}"
        if 1e-13 < abs(value) < 1e7:
            assert n_digits(text) <= n_digits(np.format_float_scientific(value, unique=True, trim="-"))


@pytest.mark.parametrize("style", ["%.9g", "%.6f", "%.17g", "%.3e", "%+.8E", "%.30f", "%r"])
def test_numbers_are_read_as_python_reads_them(tmp_path, style):
    texts = [style % float(value) for value in odd_floats()[::7]]
    (tmp_path / "v").write_text("".join(f"w{i} {text} 1\n" for i, text in enumerate(texts)))
    with np.errstate(over="ignore"):
        expected = np.array([float(text) for text in texts]).astype(np.float32)
    assert np.array_equal(bits(KeyedVectors.load(tmp_path / "v").vectors[:, 0]), bits(expected))


@pytest.mark.parametrize(
    "number", ["", "-", ".", "1e", "1e+", "e5", "1.2.3", "0x10", "1_0", "1,5", "１", "--1", "1f"]
)
def test_what_is_no_number_is_refused(tmp_path, number):
    (tmp_path / "v").write_text(f"2 2\nb 1 2\nw {number} 2\n", encoding="utf-8")
    comma = r"'1,5' is not a number: decimal comma\?"
    wrong = comma if number == "1,5" else "expected a word and 2 numbers"
    with pytest.raises(DataError, match=f"line 3: {wrong}"):
        KeyedVectors.load(tmp_path / "v", format="word2vec")


@pytest.mark.parametrize(
    "number", ["nan", "-inf", "Infinity", "1e400", "1e-400", "0" * 30 + "1", "." + "0" * 30 + "1"]
)
def test_unusual_numbers_are_read(tmp_path, number):
    (tmp_path / "v").write_text(f"b 1 2\nw {number} 2\n", encoding="utf-8")
    with warnings.catch_warnings(record=True), np.errstate(over="ignore"):
        read = KeyedVectors.load(tmp_path / "v").vectors[1, 0]
        assert np.array_equal(read, np.float64(float(number)).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("name", READ_BACK)
def test_formats_are_recognised_by_content_whatever_the_name(tmp_path, name):
    needs(name)
    kv = sample()
    path = tmp_path / "misleading.txt.gz.bin.kv.npy"
    kv.save(tmp_path / "v", format=name)
    (tmp_path / "v").rename(path)
    if name == "gensim":
        (tmp_path / "v.vectors.npy").rename(f"{path}.vectors.npy")
    if name == "numpy":
        (tmp_path / "v.words.txt").rename(path.with_suffix(".words.txt"))
    assert detect_format(path) == name
    loaded = KeyedVectors.load(path)
    assert loaded.index_to_key == kv.index_to_key
    assert np.array_equal(loaded.vectors, kv.vectors)
    assert isinstance(loaded.vectors, np.memmap) == (format_named(name).mapped or name in CARDS)


@pytest.mark.parametrize("vector_size", [1, 3, 30_000])
@pytest.mark.parametrize("name", ["word2vec", "word2vec-binary", "glove"])
def test_recognition_at_unusual_sizes(tmp_path, name, vector_size):
    kv = sample(3, vector_size)
    kv.save(tmp_path / "v", format=name)
    if name == "glove" and vector_size == 1:  # it looks like a vocabulary file and is read only on request
        with pytest.raises(DataError, match="format='glove'"):
            KeyedVectors.load(tmp_path / "v")
        assert np.array_equal(KeyedVectors.load(tmp_path / "v", format="glove").vectors, kv.vectors)
    else:
        assert np.array_equal(KeyedVectors.load(tmp_path / "v").vectors, kv.vectors)


@pytest.mark.parametrize("name", UTF8)
@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_compressed(tmp_path, name, kind):
    kv = sample(300)
    path = tmp_path / f"v.{kind}"
    kv.save(path, format=name)
    opener = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}.get(kind)
    kv.save(tmp_path / "plain", format=name)
    packed = path.read_bytes()
    unpacked = opener(packed) if opener else zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    assert unpacked == (tmp_path / "plain").read_bytes()
    path = path.rename(tmp_path / "misleading.txt")
    assert np.array_equal(KeyedVectors.load(path).vectors, kv.vectors)
    for length in (len(packed) - 9, len(packed) // 2):
        path.write_bytes(packed[:length])
        with pytest.raises(DataError, match=r"cut off|damaged|ends"):
            KeyedVectors.load(path, format=name)
    kv.save(tmp_path / f"again.{kind}", format=name)
    assert (tmp_path / f"again.{kind}").read_bytes() == packed  # the packed file has no time stamp


def test_real_vectors_come_back_byte_for_byte(tmp_path):
    """GloVe's own numbers are shortest decimals, so reading and writing gives the same file."""
    data = os.environ.get("CAWV_DATA")
    source = os.path.join(data or "", "vectors", "glove.6B.100d.100k.txt.xz")
    if not data or not os.path.exists(source):
        pytest.skip("needs $CAWV_DATA/vectors/glove.6B.100d.100k.txt.xz")
    with lzma.open(source) as stream:
        original = b"".join(stream.readline() for _ in range(20_000))
    (tmp_path / "some").write_bytes(original)
    kv = KeyedVectors.load(tmp_path / "some")
    assert kv.vectors.shape == (20_000, 100)
    french = {word for word, _ in kv.most_similar("france")}
    assert len(french & {"french", "belgium", "britain", "paris", "spain", "italy", "germany"}) >= 5
    kv.save(tmp_path / "v.glove")
    assert (tmp_path / "v.glove").read_bytes() == original


# ---------------------------------------------------------------------- other programs' files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"2 2\na 1 2\nb 3 4\n", ["a", "b"]),
        (b"2 2\r\na 1 2\r\nb 3 4\r\n", ["a", "b"]),
        (b"2 2\na 1 2 \nb 3 4 \n", ["a", "b"]),  # fastText's .vec, word2vec.c
        (b"2 2\na\t1\t2\nb\t3\t4\n", ["a", "b"]),
        (b"2 2\na 1 2\nb 3 4", ["a", "b"]),
        (b"2 2\na 1 2\nb 3 4\n\n\n", ["a", "b"]),
        (b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n", ["a", "b"]),
        (b"2 2\na b c 1 2\n 3 4\n", ["a b c", ""]),
        (b"2 2\n1 2 3 1 2\nb  3  4\n", ["1 2 3", "b"]),
        (b"2 2\na +1.0e0 .2E1\nb 3. 4e-0\n", ["a", "b"]),
        (b"a 1 2\nb 3 4\n", ["a", "b"]),
        (b"a 1 2\r\nb 3 4", ["a", "b"]),
        (b"1 1 2\n\xc2\xa0 3 4\n", ["1", "\u00a0"]),
        (b"a 1 2\n. . 3 4\nc 5 6\n", ["a", ". .", "c"]),  # GloVe 840B has such words
        (b"a 1 2\n7 8 3 4\nc 5 6\n", ["a", "7 8", "c"]),
    ],
)
def test_text_as_other_programs_write_it(tmp_path, content, words):
    path = tmp_path / "v"
    path.write_bytes(content)
    kv = KeyedVectors.load(path)
    assert kv.index_to_key == words
    assert kv.vectors[:2].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["gensim", "word2vec.c"])
def test_binary_as_other_programs_write_it(tmp_path, end):
    entries = [b"a " + struct.pack("<2f", 1, 2) + end, "é ".encode() + struct.pack("<2f", 3, 4) + end]
    (tmp_path / "v").write_bytes(b"2 2\n" + b"".join(entries))
    kv = KeyedVectors.load(tmp_path / "v")
    assert kv.index_to_key == ["a", "é"]
    assert kv.vectors.tolist() == [[1, 2], [3, 4]]


def test_safetensors_with_the_library(tmp_path):
    """The library reads files that we write by hand, and we read its files."""
    from safetensors.numpy import load_file, save_file

    kv = sample()
    kv.metadata = {"config": {"model": "ssg"}}
    kv.save(tmp_path / "v.safetensors")
    tensors = load_file(tmp_path / "v.safetensors")
    assert np.array_equal(tensors["vectors"], kv.vectors)
    assert tensors["counts"].tolist() == kv.counts.tolist()
    assert tensors["words"].tobytes().decode().split("\n") == [*kv.index_to_key, ""]
    assert KeyedVectors.load(tmp_path / "v.safetensors").metadata == kv.metadata
    save_file(tensors, tmp_path / "w.safetensors", metadata={"by": "library"})
    other = KeyedVectors.load(tmp_path / "w.safetensors")
    assert other.index_to_key == kv.index_to_key
    assert np.array_equal(other.vectors, kv.vectors)
    assert np.array_equal(other.counts, kv.counts)


def test_files_of_several_blocks(tmp_path, monkeypatch):
    from wordvec_ca.formats import binary as binary_format
    from wordvec_ca.formats import text as text_format
    from wordvec_ca.tables import table as vector_table

    monkeypatch.setattr(text_format, "_BLOCK", 1000)
    monkeypatch.setattr(binary_format, "_BLOCK", 1000)
    monkeypatch.setattr(vector_table, "BLOCK_BYTES", 500)
    kv = sample(500, 11)
    for name in PLAIN:
        kv.save(tmp_path / name, format=name)
        loaded = KeyedVectors.load(tmp_path / name)
        assert loaded.index_to_key == kv.index_to_key
        assert np.array_equal(loaded.vectors, kv.vectors)


def test_memory_stays_at_the_vectors_and_a_constant(tmp_path, monkeypatch):
    from wordvec_ca.formats import text as text_format
    from wordvec_ca.tables import table as vector_table

    monkeypatch.setattr(text_format, "_BLOCK", 1 << 17)
    monkeypatch.setattr(vector_table, "BLOCK_BYTES", 1 << 17)
    kv = sample(6000, 100)
    kv.save(tmp_path / "v", format="word2vec")
    tracemalloc.start()
    KeyedVectors.load(tmp_path / "v").save(tmp_path / "w", format="glove")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "w").stat().st_size > 6e6
    assert peak < kv.vectors.nbytes + 4e6  # as Python objects the numbers alone would take 15 MB


def test_a_file_that_is_one_endless_line_is_given_up(tmp_path, monkeypatch):
    from wordvec_ca.formats import text as text_format

    monkeypatch.setattr(text_format, "_LONGEST_LINE", 1 << 20)
    (tmp_path / "v").write_bytes(b"1 2\n" + b"a" * 9_000_000)
    with pytest.raises(DataError, match="1 MB"):
        KeyedVectors.load(tmp_path / "v", format="word2vec")


# ---------------------------------------------------------------------- damage


def binary(n_words, vector_size, *words):
    return b"%d %d\n" % (n_words, vector_size) + b"".join(
        word + b" " + struct.pack(f"<{vector_size}f", *range(vector_size)) + b"\n" for word in words
    )


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"", "auto", "empty"),
        (b"just some text\n", "auto", "not vectors in any known format"),
        (b"\x93NUMPY\x01\x00", "auto", "bare NumPy array"),
        (b"PK\x03\x04....", "auto", "zip archive"),
        (b"3 2\na 1 2\nb 3 4\n", "auto", "promises 3 vectors.*ends after 2 .line 3"),
        (b"1 2\na 1 2\nb 3 4\n", "auto", "promises 1 vectors.*more.*line 3"),
        (b"9999999999 300\na 1 2\n", "auto", "line 2: expected a word and 300 numbers"),
        (b"9999999999 300\n" + b"a " * 700, "word2vec", "promises 9999999999 vectors"),
        (b"9999999999 300\n" + b"a " * 700, "word2vec-binary", "promises 9999999999 vectors"),
        (b"1 999999999\na 1 2\n", "word2vec", "size 999999999"),
        (b"1 0\na\n", "word2vec", "size 0"),
        (b"2 3\na 1 2 3\nb 1 2\n", "auto", "line 3: expected a word and 3 numbers.*b 1 2"),
        (b"2 3\na 1 2 3\nb 1 2 x\n", "auto", "line 3: .*'x' is not a number"),
        (b"2 3\na 1 2 3\nb 1 2-3 4\n", "auto", "line 3"),
        (b"2 3\na 1 2 3\nb 1  2-3\n", "auto", "line 3"),
        (b"2 3\na 1 2 3\nb 1 0x10 4\n", "auto", "line 3.*0x10"),
        (b"3 2\na 1 2\n\nb 3 4\n", "auto", "line 3"),
        (b"3 2\na 1 2\nb 3 4\na 5 6\n", "auto", "'a' occurs twice, at lines 2 and 4"),
        (b"2 2\na 1 2\n\xff\xfe 3 4\n", "auto", r"line 3: the word b'\\xff\\xfe' is not UTF-8"),
        (b"a 1 2\nb 3 4\nc 5\n", "auto", "line 3: expected a word and 2 numbers"),
        (b"a 1 2\nb 3 4\na 5 6\n", "auto", "'a' occurs twice, at lines 1 and 3"),
        (b"a 1 2\nb 3 4\n", "word2vec", "header.*format='glove'"),
        (b"a b c\n", "glove", "not a word followed by numbers"),
        (binary(3, 40, b"a", b"b"), "auto", "promises 3 vectors.*cut off"),
        (binary(2, 40, b"a", b"b")[:-2], "auto", "cut off"),
        (binary(1, 40, b"a", b"b"), "auto", "data follow after the 1 vectors.*byte 167"),
        (binary(2, 40, b"a", b"a"), "auto", "'a' occurs twice, at entries 1 and 2"),
        (binary(2, 40, b"a", b"\xff"), "auto", r"entry 2: the word b'\\xff' is not UTF-8"),
        (b"2 2\n" + b"\1" * 200_000, "word2vec-binary", "no space within"),
        (b"2 2\n" + b"\1" * 200, "word2vec-binary", "ends at byte 204 within entry 1"),
        (b"\x80\x04garbage", "auto", "not a readable gensim file"),
    ],
)
def test_damaged_files_say_where(tmp_path, content, kind, message):
    path = tmp_path / "v"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(DataError, match=message) as error:
        KeyedVectors.load(path, format=kind)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(path) in str(error.value)
    assert peak < 30e6 + 3 * len(content)  # memory must not be allocated for what an absurd header says


def test_text_that_is_read_as_binary_is_refused(tmp_path):
    rows = "\n".join(f"w{i} " + " ".join(f"{0.01 * (i + j):.6f}" for j in range(20)) for i in range(50))
    path = tmp_path / "v.txt"
    path.write_text(f"50 20\n{rows}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"'w0' are written as text.*binary=False"):
        KeyedVectors.load(path, format="word2vec-binary")


def test_a_number_too_many_is_told(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("4 2\na 2.5 3.25\nb 7.5 2.5 4.1\ncatch 22 1 2\nd 1 2\n")
    with pytest.warns(UserWarning, match="1 of 4 words end in a number, the first is 'b 7.5' in line 3"):
        assert KeyedVectors.load(path).index_to_key == ["a", "b 7.5", "catch 22", "d"]
    path.write_text("2 2\na 1 2 3\nb 1.5 2 4\n")
    with pytest.raises(DataError, match="2 of 2 lines"):
        KeyedVectors.load(path)


def test_an_absurd_header_in_a_compressed_file_allocates_nothing(tmp_path):
    for name in ("word2vec", "word2vec-binary"):
        (tmp_path / "v").write_bytes(gzip.compress(b"99999999999 300\na 1 2\n"))
        tracemalloc.start()
        with pytest.raises(DataError, match=r"99999999999|line 2"):
            KeyedVectors.load(tmp_path / "v", format=name)
        assert tracemalloc.get_traced_memory()[1] < 30e6
        tracemalloc.stop()


def safetensors(header, data=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (struct.pack("<Q", 2**62) + b"{}", "header should take"),
        (struct.pack("<Q", 50) + b"{}", "header should take"),
        (safetensors(b"{nonsense"), "not JSON"),
        (safetensors(b"[" * 100_000), "not JSON|JSON object"),
        (safetensors({}), "needs the tensors"),
        (safetensors({"vectors": tensor("F32", [1, 2], 0, 8)}, b"\0" * 8), "'words'"),
        (safetensors({"vectors": tensor("F32", [10**12, 300], 0, 8)}, b"\0" * 8), "does not fit"),
        (safetensors({"vectors": tensor("F32", [-1, -2], 0, 8)}, b"\0" * 8), "does not fit"),
        (safetensors({"vectors": tensor("F32", [1, 2], 0, 8)}, b"\0" * 7), "does not fit.*cut off"),
        (safetensors({"vectors": tensor("F9", [1, 2], 0, 8)}, b"\0" * 8), "type 'F9'"),
        (safetensors({"vectors": 3}), "malformed"),
        (
            safetensors(
                {"vectors": tensor("F32", [1, 2], 0, 8), "words": tensor("U8", [4], 8, 12)},
                b"\0" * 8 + b"a\nb\n",
            ),
            "2 words, 1 vectors",
        ),
        (
            safetensors(
                {"vectors": tensor("F32", [1, 2], 0, 8), "words": tensor("U8", [2], 8, 10)},
                b"\0" * 8 + b"\xff\n",
            ),
            "'words' is damaged",
        ),
        (
            safetensors(
                {"vectors": tensor("I32", [1, 2], 0, 8), "words": tensor("U8", [2], 8, 10)},
                b"\0" * 8 + b"a\n",
            ),
            "matrix of floats",
        ),
    ],
)
def test_damaged_safetensors(tmp_path, content, message):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(DataError, match=message):
        KeyedVectors.load(tmp_path / "v", format="safetensors")


@pytest.mark.parametrize(
    ("vectors", "metadata", "message"),
    [
        (b"1\t2\n3\t4\n", b"a\n", "1 words but .* 2 vectors"),
        (b"1\t2\n3\t\n", b"a\nb\n", "vectors.tsv, line 2: expected"),
        (b"1\t2\n3\n", b"a\nb\n", "vectors.tsv, line 2: expected"),
        (b"1\t2\n3\t4\n5\tx\n", b"a\nb\nc\n", "vectors.tsv, line 3: expected"),
        (b"1\t2\n3\t4\t5\n", b"a\nb\n", "vectors.tsv, line 2: more than 2"),
        (b"1\t2\n", b"word\tcount\na 5\n", "line 2: expected a word, a tab and a count"),
        (b"1\t2\n3\t4\n", b"a\n\xff\n", "line 2: .* not UTF-8"),
        (b"1\t2\n3\t4\n", b"a\na\n", "lines 1 and 2"),
    ],
)
def test_damaged_projector(tmp_path, vectors, metadata, message):
    (tmp_path / "vectors.tsv").write_bytes(vectors)
    (tmp_path / "metadata.tsv").write_bytes(metadata)
    with pytest.raises(DataError, match=message):
        KeyedVectors.load(tmp_path)


def test_missing_and_wrong_kinds_of_path(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        KeyedVectors.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="not a model directory"):
        KeyedVectors.load(tmp_path)
    sample().save(tmp_path / "v.txt")
    with pytest.raises(DataError, match="is a file"):
        KeyedVectors.load(tmp_path / "v.txt", format="model")
    with pytest.raises(DataError, match="is a folder"):
        KeyedVectors.load(tmp_path, format="glove")
    for arguments in ({"format": "xml"}, {"errors": "lenient"}, {"duplicates": "last"}):
        with pytest.raises(ValueError, match="known are"):
            KeyedVectors.load(tmp_path / "v.txt", **arguments)


def test_vectors_that_are_not_finite_are_kept_and_counted(tmp_path):
    kv = sample()
    kv.vectors[3, 1] = np.nan
    kv.vectors[7, 0] = -np.inf

    def look_at(path):
        loaded = KeyedVectors.load(path)
        loaded.most_similar("wörd0")
        return loaded

    for name in PLAIN:
        kv.save(tmp_path / name, format=name)
        with pytest.warns(UserWarning, match="2 of 20 vectors hold NaN or infinity .*'wörd3'"):
            loaded = look_at(tmp_path / name)
        assert np.array_equal(loaded.vectors, kv.vectors, equal_nan=True)


def test_repeated_and_undecodable_words_on_request(tmp_path):
    path = tmp_path / "v"
    path.write_bytes(b"4 1\na 1\nb 2\na 3\n\xff\xc3 4\n")
    with pytest.warns(UserWarning, match="1 repeated words left out"):
        kv = KeyedVectors.load(path, errors="surrogateescape", duplicates="first")
    assert kv.index_to_key == ["a", "b", "\udcff\udcc3"]
    assert kv.vectors.ravel().tolist() == [1, 2, 4]
    kv.save(tmp_path / "w", format="word2vec", errors="surrogateescape")
    assert (tmp_path / "w").read_bytes() == b"3 1\na 1\nb 2\n\xff\xc3 4\n"


# ---------------------------------------------------------------------- writing is all or nothing


@pytest.mark.parametrize("name", READ_BACK)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, name):
    needs(name)
    path = tmp_path / "v"
    sample(3).save(path, format=name)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(DataError if name in CARDS else OSError, match="File too large") as error:
            sample(5000, 50).save(path, format=name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert ".tmp" not in str(getattr(error.value, "filename", error.value))
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("name", READ_BACK)
def test_existing_files_need_overwrite(tmp_path, name):
    needs(name)
    kv = sample(3)
    kv.save(tmp_path / "v", format=name)
    with pytest.raises(DataError, match="exists"):
        kv.save(tmp_path / "v", format=name, overwrite=False)
    sample(4).save(tmp_path / "v", format=name)
    assert len(KeyedVectors.load(tmp_path / "v")) == 4
    assert not list(tmp_path.rglob(".*"))


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "nowhere" / "v", tmp_path / "file" / "v"):
        with pytest.raises(DataError, match="no folder"):
            sample().save(path, format="glove")
    with pytest.raises(DataError, match="is a folder"):
        sample().save(tmp_path, format="glove")
    with pytest.raises(DataError, match="give a folder"):
        sample().save(tmp_path / "file", format="projector")
    with pytest.raises(DataError, match="cannot be compressed"):
        sample().save(tmp_path / "v.gz", format="safetensors")


def test_suffixes():
    assert format_of_suffix("a/b.TXT") == "word2vec"
    assert format_of_suffix("b.bin.gz") == "word2vec-binary"
    with pytest.raises(ValueError, match=r"\.safetensors"):
        format_of_suffix("b.zip")


def test_word2vec_vocabulary_file(tmp_path):
    kv = sample(3)
    kv.save_word2vec_format(tmp_path / "v", fvocab=tmp_path / "counts", binary=True)
    assert (tmp_path / "counts").read_text(encoding="utf-8") == "wörd0 3\nwörd1 2\nwörd2 1\n"
    assert detect_format(tmp_path / "v") == "word2vec-binary"
    kv.save_word2vec_format(tmp_path / "v", write_header=False)
    assert detect_format(tmp_path / "v") == "glove"


def test_export_command(tmp_path, command):
    kv = KeyedVectors(["a", "b c", "d"], np.eye(3), [3, 2, 1])
    kv.save(tmp_path / "m.safetensors")
    export = ("export", "m.safetensors", "-o")
    command(*export, "v.txt").says(1, "'b c'", "--skip-unwritable")
    with pytest.raises(DataError, match="unwritable='skip'"):
        kv.save(tmp_path / "v.txt")
    assert not (tmp_path / "v.txt").exists()
    command(*export, "v.txt", "--skip-unwritable").says(0, "1 of 3 words left out", "word2vec")
    assert (tmp_path / "v.txt").read_text() == "2 3\na 1 0 0\nd 0 0 1\n"
    command("export", "v.txt", "-o", "v.bin").says(0, "2 vectors of size 3")
    command(*export, "v.bin", "--skip-unwritable").says(2, "exists")
    command(*export, "v.projector").says(0)
    assert (tmp_path / "v.projector" / "metadata.tsv").read_text() == "word\tcount\na\t3\nb c\t2\nd\t1\n"
    for wrong in (["-o", "v.unknown"], [], ["-o", "x.bin", "--format", "nonsense"], ["-f", "gensim"]):
        command("export", "m.safetensors", *wrong).says(1 if wrong == ["-f", "gensim"] else 2)
