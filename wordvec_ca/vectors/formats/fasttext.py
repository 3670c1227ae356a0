r"""fastText's ``.bin`` models.

Little endian, as ``FastText::saveModel`` writes them::

    int32 magic 793712314, int32 version 12
    int32 dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate, double t
    int32 size nwords nlabels, int64 ntokens, int64 pruned (-1: not pruned)
    entry = word "\0", int64 count, int8 type (0 word, 1 label)                 size times
    bool quantised, int64 rows, int64 columns, float32 (nwords + bucket) x dim      rows of words and buckets
    bool quantised, int64 rows, int64 columns, float32 rows x dim                   outputs

Files of 2016 begin with the options, without magic and version, and have neither ``pruned`` nor
``quantised``; they are read (as version 0) and written as version 12. Models that were quantised (``.ftz``)
hold codes instead of numbers and are refused.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, compress_by_suffix, compression_of, map_npy, open_by_content
from wordvec_ca.model_specs import SPECS
from wordvec_ca.vectors.formats.text import encode_words, not_utf8
from wordvec_ca.vectors.ngrams import NgramIndex, NgramVectors
from wordvec_ca.vectors.table import GrowingRows, VectorTable, row_blocks

MAGIC = 793712314
VERSION = 12
CBOW, SKIPGRAM, SUPERVISED = 1, 2, 3
HIERARCHICAL_SOFTMAX, NEGATIVE_SAMPLING = 1, 2

_HEADER = struct.Struct("<2i")
_OPTIONS = struct.Struct("<12id")
_OLD_OPTIONS = struct.Struct("<10id")
_SIZES = struct.Struct("<3iq")
_PRUNED = struct.Struct("<q")
_QUANTISED_MARK = struct.Struct("<?")
_ENTRY = struct.Struct("<qb")
_MATRIX = struct.Struct("<2q")
_BLOCK = 1 << 20
_LONGEST_WORD = 1 << 16
_MOST_DIMENSIONS = 1 << 16
_LONGEST_NGRAM = 1_000
_WIDEST_WINDOW = 1_000


class Options(NamedTuple):
    """fastText's options as the file holds them; names are fastText's."""

    dim: int
    ws: int = 5
    epoch: int = 5
    minCount: int = 5
    neg: int = 5
    wordNgrams: int = 1
    loss: int = NEGATIVE_SAMPLING
    model: int = SKIPGRAM
    bucket: int = 0
    minn: int = 0
    maxn: int = 0
    lrUpdateRate: int = 100
    t: float = 1e-4


@dataclass
class FastTextModel:
    """All that a ``.bin`` file holds.

    Attributes
    ----------
    options : Options
    words : list of bytes
        Words, then the labels of a classifier.
    counts : ndarray of shape (n,), int64
    types : ndarray of shape (n,), int8
        0 for words, 1 for labels.
    n_tokens : int
        Tokens of the corpus.
    inputs : ndarray of shape (n_words + bucket, dim), float32
        The rows of words, then those of buckets; possibly a memory map.
    outputs : ndarray of shape (n_words or n_labels, dim), float32
    version : int
        11 or 12, or 0 for a file of 2016.
    """

    options: Options
    words: list[bytes]
    counts: np.ndarray
    types: np.ndarray
    n_tokens: int
    inputs: np.ndarray
    outputs: np.ndarray
    version: int = VERSION

    @property
    def n_words(self) -> int:
        """Words without labels."""
        return int((self.types == 0).sum())

    def ngrams(self) -> NgramVectors | None:
        """Return the vectors of n-grams, or None if the model has none."""
        o = self.options
        old_classifier = self.version == 11 and o.model == SUPERVISED
        if o.bucket < 1 or o.maxn < max(o.minn, 1) or old_classifier:
            return None
        index = NgramIndex(max(o.minn, 1), o.maxn, o.bucket, None, self.n_words)
        return NgramVectors(index, self.inputs, source=self)


class _Bytes:
    """A stream that says where it ended too early."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self._buffer, self._at, self._before = b"", 0, 0

    @property
    def position(self) -> int:
        """Bytes taken so far."""
        return self._before + self._at

    def _fill(self, n: int) -> bool:
        """Read until n bytes are there, if the file has them."""
        while len(self._buffer) - self._at < n:
            more = self._stream.read(max(_BLOCK, n))
            if not more:
                return False
            self._before += self._at
            self._buffer, self._at = self._buffer[self._at :] + more, 0
        return True

    def take(self, n: int, what: str) -> bytes:
        """Return the next n bytes."""
        if not self._fill(n):
            raise DataError(
                f"{self._name}: the file ends at byte {self._before + len(self._buffer)} within {what}; it "
                "is cut off"
            )
        taken = self._buffer[self._at : self._at + n]
        self._at += n
        return taken

    def unpack(self, form: struct.Struct, what: str) -> tuple[Any, ...]:
        """Return the next numbers."""
        return form.unpack(self.take(form.size, what))

    def skip(self, n: int) -> None:
        """Pass over n bytes of a plain file."""
        position = self.position + n
        self._stream.seek(position)
        self._buffer, self._at, self._before = b"", 0, position

    def at_end(self) -> bool:
        """Return whether no byte is left."""
        return not self._fill(1)

    def word(self, number: int) -> bytes:
        """Return the bytes up to the next zero."""
        end = self._buffer.find(b"\0", self._at)
        if end < 0:
            self._fill(_LONGEST_WORD)
            end = self._buffer.find(b"\0", self._at)
        if not 0 <= end - self._at < _LONGEST_WORD:
            raise DataError(
                f"{self._name}: entry {number} of the dictionary, at byte {self.position}, has no end within "
                f"{_LONGEST_WORD} bytes; the file is damaged or cut off"
            )
        found = self._buffer[self._at : end]
        self._at = end + 1
        return found


def read_model(path: str | os.PathLike[str], *, source: str | None = None) -> FastTextModel:
    """Read a ``.bin`` file, plain or compressed; the matrices of a plain one are memory-mapped.

    Parameters
    ----------
    path : path-like
        The file.
    source : str, optional
        What to call the file in messages.

    Raises
    ------
    DataError
        The file is no fastText model, is quantised, damaged or cut off.
    """
    name = source or str(path)
    size = os.path.getsize(path) if compression_of(path) is None else None
    with open_by_content(path) as stream:
        data = _Bytes(stream, name)
        magic, version = data.unpack(_HEADER, "the header")
        if magic == MAGIC and version in (11, 12):
            options = Options(*data.unpack(_OPTIONS, "the options"))
        elif 1 <= magic <= _MOST_DIMENSIONS and 1 <= version <= _WIDEST_WINDOW:
            options, version = Options(magic, version, *data.unpack(_OLD_OPTIONS, "the options")), 0
        else:
            raise DataError(
                f"{name}: no fastText model of version 11 or 12: it does not begin as such a file does"
            )
        n, n_words, n_labels, n_tokens = data.unpack(_SIZES, "the sizes of the dictionary")
        pruned = data.unpack(_PRUNED, "the sizes of the dictionary")[0] if version else -1
        _check_header(name, options, n, n_words, n_labels, pruned)
        if size is not None and n * (_ENTRY.size + 1) > size:
            raise DataError(
                f"{name}: the header promises {n} words, which cannot stand in {size} bytes; it is damaged"
            )
        words, counts, types = _read_entries(data, n)
        if (types != (np.arange(n) >= n_words)).any():
            raise DataError(
                f"{name}: the dictionary does not hold {n_words} words and then {n_labels} labels"
            )
        matrices = _Matrices(data, path, size, name, marked=version > 0)
        inputs = matrices.read((n_words + options.bucket, options.dim), "rows of words")
        n_outputs = n_labels if options.model == SUPERVISED else n_words
        outputs = matrices.read((n_outputs, options.dim), "outputs")
        if not data.at_end():
            raise DataError(f"{name}: data follow after the end of the model, byte {data.position}")
    return FastTextModel(options, words, counts, types, n_tokens, inputs, outputs, version)


def _check_header(name: str, o: Options, n: int, n_words: int, n_labels: int, pruned: int) -> None:
    """Raise a DataError for sizes that no model has, and for pruned ones."""
    if (
        not 1 <= o.dim <= _MOST_DIMENSIONS
        or min(n, n_words, n_labels, o.bucket) < 0
        or n != n_words + n_labels
        or o.model not in (CBOW, SKIPGRAM, SUPERVISED)
        or not (o.minn <= _LONGEST_NGRAM and o.maxn <= _LONGEST_NGRAM)
    ):
        raise DataError(
            f"{name}: the header is damaged: {o}, {n} entries, {n_words} words, {n_labels} labels"
        )
    if pruned >= 0:
        raise DataError(f"{name}: {_QUANTISED}")


_QUANTISED = (
    "this fastText model was quantised (fasttext quantize): it holds codes of 8 bits and has lost buckets, "
    "so its vectors are approximations that cannot be trained or exported; give the .bin that it was made of"
)


def _read_entries(data: _Bytes, n: int) -> tuple[list[bytes], np.ndarray, np.ndarray]:
    words, counts, types = [], [], []
    for number in range(1, n + 1):
        words.append(data.word(number))
        count, kind = data.unpack(_ENTRY, f"entry {number} of the dictionary")
        counts.append(count)
        types.append(kind)
    return words, np.array(counts, np.int64), np.array(types, np.int8)


@dataclass
class _Matrices:
    """The matrices of a model, one after the other; those of a plain file are mapped.

    ``size`` is that of a plain file, and ``marked`` says whether a byte before each tells if it is quantised.
    """

    data: _Bytes
    path: str | os.PathLike[str]
    size: int | None
    name: str
    marked: bool

    def read(self, expected: tuple[int, int], what: str) -> np.ndarray:
        """Return the next matrix, float32."""
        data, name = self.data, self.name
        if self.marked and data.unpack(_QUANTISED_MARK, f"the shape of the {what}")[0]:
            raise DataError(f"{name}: {_QUANTISED}")
        n_rows, n_columns = data.unpack(_MATRIX, f"the shape of the {what}")
        if (n_rows, n_columns) != expected:
            raise DataError(
                f"{name}: the {what} have the shape ({n_rows}, {n_columns}), but the header says {expected}; "
                "the file is damaged"
            )
        n_bytes, begin = 4 * n_rows * n_columns, data.position
        if self.size is None:
            rows = GrowingRows(n_columns, 1)
            step = max(1, _BLOCK // (4 * n_columns))
            for start in range(0, n_rows, step):
                taken = data.take(4 * n_columns * min(step, n_rows - start), f"the {what}")
                rows.append(np.frombuffer(taken, "<f4").reshape(-1, n_columns))
            return rows.finish()
        if begin + n_bytes > self.size:
            raise DataError(
                f"{name}: the {what} need {n_bytes} bytes from byte {begin}, but the file ends at "
                f"{self.size}; it is cut off"
            )
        data.skip(n_bytes)
        if not n_bytes:
            return np.zeros((n_rows, n_columns), np.float32)
        mapped: np.ndarray = np.memmap(self.path, "<f4", "r", begin, (n_rows, n_columns))
        return mapped


def write_model(model: FastTextModel, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a ``.bin`` file, all or nothing; compressed if the path ends so.

    Raises
    ------
    DataError
        A word cannot stand in this format, or the path cannot be written.
    """
    for word in model.words:
        if b"\0" in word:
            raise DataError(
                f"fastText cannot hold the word {word!r}: a zero ends a word there; use safetensors or gensim"
            )
    n_labels = int((model.types == 1).sum())
    with atomic_file(path, overwrite=overwrite) as raw, compress_by_suffix(raw, path) as stream:
        stream.write(_HEADER.pack(MAGIC, model.version or VERSION) + _OPTIONS.pack(*model.options))
        n = len(model.words)
        stream.write(_SIZES.pack(n, n - n_labels, n_labels, model.n_tokens) + _PRUNED.pack(-1))
        entries = zip(model.words, model.counts.tolist(), model.types.tolist(), strict=True)
        stream.write(b"".join(b"%b\0%b" % (word, _ENTRY.pack(count, kind)) for word, count, kind in entries))
        for matrix in (model.inputs, model.outputs):
            stream.write(_QUANTISED_MARK.pack(False) + _MATRIX.pack(*matrix.shape))
            for rows in row_blocks(matrix):
                stream.write(np.ascontiguousarray(matrix[rows], "<f4").tobytes())


def read_fasttext(
    path: str | os.PathLike[str], *, errors: str = "strict", source: str | None = None
) -> VectorTable:
    """Read the vectors of words, composed of their own rows and those of their n-grams.

    Parameters
    ----------
    path : path-like
        A ``.bin`` file, plain or compressed.
    errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
        What to do with words that are not UTF-8, as in ``read_text``.
    source : str, optional
        What to call the file in messages.

    Returns
    -------
    VectorTable
        With counts and, for models that have them, n-grams. Labels of a classifier are left out.

    Raises
    ------
    DataError
        As from ``read_model``, or a word is not UTF-8.
    """
    name = source or str(path)
    model = read_model(path, source=name)
    words = []
    for i, word in enumerate(model.words[: model.n_words]):
        try:
            words.append(word.decode("utf-8", errors))
        except UnicodeDecodeError as error:
            raise not_utf8(word, f"{name}, entry {i + 1}") from error
    ngrams, own_rows = model.ngrams(), model.inputs[: len(words)]
    vectors = np.array(own_rows, np.float32) if ngrams is None else ngrams.vectors_of(words, own_rows)
    metadata = {"fasttext": model.options._asdict(), "raw_tokens": model.n_tokens}
    ngrams = ngrams or NgramVectors(
        NgramIndex(1, 0, 0, np.empty(0, np.uint64), np.empty(0, np.int32)), own_rows
    )
    ngrams.source = model
    return VectorTable(words, vectors, model.counts[: len(words)], metadata, ngrams)


def write_fasttext(
    table: VectorTable,
    path: str | os.PathLike[str],
    *,
    errors: str = "strict",
    overwrite: bool = True,
    buckets: int = 2_000_000,
) -> None:
    """Write a ``.bin`` model that gives the words the same vectors in fastText and gensim.

    Unknown words get the same vectors too if the model has buckets. Where n-grams were told apart, those of
    one bucket have to share its row (their mean), and n-grams without a row may fall into a bucket that is
    in use. What was read from a ``.bin`` is written as it was, byte for byte.

    Parameters
    ----------
    table : VectorTable
    path : path-like
        Compressed if it ends so.
    errors : {'strict', 'surrogateescape', 'replace', 'ignore'}
        As in ``write_vectors``.
    overwrite : bool
        Whether an existing file may be replaced.
    buckets : int
        For n-grams that were told apart.

    Raises
    ------
    DataError
        A word cannot stand in this format, or the path cannot be written.
    """
    ngrams = table.ngrams
    words = encode_words(table.words, errors, "fastText")
    source = None if ngrams is None else ngrams.source
    if isinstance(source, FastTextModel) and source.words[: source.n_words] == words:
        write_model(source, path, overwrite=overwrite)
        return
    n, d = table.vectors.shape
    counts = np.ones(n, np.int64) if table.counts is None else np.asarray(table.counts, np.int64)
    options, inputs = Options(d), table.vectors
    if ngrams is not None and ngrams.index.max_n:
        bucket_rows = ngrams.bucket_rows(buckets)
        options = options._replace(bucket=len(bucket_rows), minn=ngrams.index.min_n, maxn=ngrams.index.max_n)
        inputs = np.concatenate([_own_rows(table, bucket_rows), bucket_rows])
    options = options._replace(**_trained_with(table.metadata))
    outputs = np.zeros((n, d), np.float32)
    if isinstance(source, Path):  # of a model directory; one row a word, where there are several the first
        trained = map_npy(source)
        if trained.shape[0] == n and trained.size % (n * d) == 0:
            outputs = trained.reshape(n, -1, d)[:, 0]
    model = FastTextModel(
        options,
        words,
        counts,
        np.zeros(n, np.int8),
        int(counts.sum()),
        np.asarray(inputs, np.float32),
        outputs,
    )
    write_model(model, path, overwrite=overwrite)


def _own_rows(table: VectorTable, bucket_rows: np.ndarray) -> np.ndarray:
    """Return rows of words with which they get their vectors again, as means with their buckets."""
    assert table.ngrams is not None
    index = table.ngrams.index
    buckets = NgramIndex(index.min_n, index.max_n, len(bucket_rows), None, 0)
    zeros = np.zeros(table.vectors.shape, np.float32)
    means = NgramVectors(buckets, bucket_rows).vectors_of(table.words, zeros)
    numbers = 1 + np.diff(buckets.rows_of(table.words)[0])
    return np.asarray((table.vectors - means) * numbers[:, None], np.float32)


def _trained_with(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a training run of ours under fastText's names."""
    config = metadata.get("config")
    if not isinstance(config, dict):
        return {}
    names = {"window": "ws", "epochs": "epoch", "min_count": "minCount", "negative": "neg"}
    found = {names[name]: config[name] for name in names if isinstance(config.get(name), int)}
    pairwise = any(spec.name == config.get("model") and spec.pairwise for spec in SPECS)
    found["model"] = SKIPGRAM if pairwise else CBOW
    if config.get("hs") and not config.get("negative"):
        found["loss"] = HIERARCHICAL_SOFTMAX
    return found | ({"t": config["sample"]} if isinstance(config.get("sample"), int | float) else {})
