r"""fastText's ``.bin`` models.

Little endian, as ``FastText::saveModel`` writes them::

    int32 magic 793712314, int32 version 12
    int32 dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate, double t
    int32 size nwords nlabels, int64 ntokens, int64 pruned (-1: not pruned)
    entry = word "\0", int64 count, int8 type (0 word, 1 label)                 size times
    int32 bucket, int32 row                                                     pruned times
    bool quantised, matrix          rows of words and buckets: (nwords + bucket or pruned) x dim
    bool quantised, matrix          outputs: (nwords or nlabels) x dim

    matrix = int64 rows, int64 columns, float32 rows x columns
    matrix = bool norms, int64 rows, int64 columns, int32 codes, uint8 codes times, codebook
             [, uint8 rows times, codebook of one column]                           if quantised
    codebook = int32 columns, int32 parts, int32 numbers of a part, int32 of the last, float32 256 x columns

Files of 2016 begin with the options, without magic and version, and have neither ``pruned`` nor
``quantised``. They are read as version 0, and written as version 12. Models that were quantised (``.ftz``)
hold codes instead of numbers, and may be pruned: ``places`` then gives the rows of the remaining buckets.

Codes are those of product quantisation (Jégou et al. 2011; Joulin et al. 2016): a row is cut into parts of
``part`` numbers, the last possibly shorter; each part is stored as one byte, the number of one of its 256
centroids. With norms, rows were scaled to length 1 first, and each length is one byte, the number of one of
256 lengths.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, compress_by_suffix, compression_of, in_memory, open_by_content
from wordvec_ca.tables import GrowingRows, NgramIndex, NgramVectors, row_blocks

CENTROIDS = 256


@dataclass
class QuantisedRows:
    """A quantised matrix, whose rows are decoded when they are read."""

    # shape (n_rows, n_parts), uint8
    codes: np.ndarray
    # shape (256 * dim,), float32; Centroids of the first part, then of the second, ...
    centroids: np.ndarray
    # dim, part: How many numbers a row has, and each of its parts except the last.
    dim: int
    part: int
    # shape (n_rows,), uint8, or None
    norm_codes: np.ndarray | None = None
    # shape (256,), float32, or None
    norms: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of numbers in each."""
        return len(self.codes), self.dim

    @property
    def itemsize(self) -> int:
        """Number of bytes of each number in a decoded row."""
        return 4

    def __len__(self) -> int:
        return len(self.codes)

    def centroids_of(self, number: int) -> np.ndarray:
        """Return the centroids of a part, shape (256, size of the part)."""
        begin = number * self.part
        end = min(begin + self.part, self.dim)
        return self.centroids[CENTROIDS * begin : CENTROIDS * end].reshape(CENTROIDS, end - begin)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return some rows, decoded, shape (n, dim), float32."""
        codes = self.codes[rows]
        decoded = [self.centroids_of(number)[codes[:, number]] for number in range(codes.shape[1])]
        vectors = np.concatenate(decoded, axis=1) if decoded else np.zeros((len(codes), 0), np.float32)
        if self.norm_codes is not None and self.norms is not None:
            vectors *= self.norms[self.norm_codes[rows]][:, None]
        return vectors


def n_parts(dim: int, part: int) -> int:
    """Return the number of parts into which a row is cut."""
    return -(-dim // part)


MAGIC = 793712314
VERSION = 12
CBOW, SKIPGRAM, SUPERVISED = 1, 2, 3
HIERARCHICAL_SOFTMAX, NEGATIVE_SAMPLING, SOFTMAX, ONE_VERSUS_ALL = 1, 2, 3, 4

_HEADER = struct.Struct("<2i")
_OPTIONS = struct.Struct("<12id")
_OLD_OPTIONS = struct.Struct("<10id")
_SIZES = struct.Struct("<3iq")
_PRUNED = struct.Struct("<q")
_QUANTISED_MARK = struct.Struct("<?")
_ENTRY = struct.Struct("<qb")
_MATRIX = struct.Struct("<2q")
_QUANTISED_MATRIX = struct.Struct("<?2qi")
_CODEBOOK = struct.Struct("<4i")
_PAIR = np.dtype([("bucket", "<i4"), ("row", "<i4")])
_BLOCK = 1 << 20
_LONGEST_WORD = 1 << 16
MOST_DIMENSIONS = 1 << 16
LONGEST_NGRAM = 1_000
_WIDEST_WINDOW = 1_000
# floret's files have two more integers before lrUpdateRate: the mode (1 or 2) and the number of hashes. If
# such a file is read as fastText's, t becomes tiny, which identifies it.
_LEAST_T = 1e-300

LARGEST_OPTION = 2**31 - 1
# Largest number of buckets of a pruned model, since memory is allocated for each bucket.
MOST_PLACES = 1 << 26


class Options(NamedTuple):
    """fastText's options in the order of the file, with fastText's names."""

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
    """The content of a ``.bin`` file."""

    options: Options
    # Words, then the labels of a classifier.
    words: list[bytes]
    # shape (n,), int64
    counts: np.ndarray
    # shape (n,), int8; 0 for words, 1 for labels.
    types: np.ndarray
    # Tokens of the corpus.
    n_tokens: int
    # shape (n_words + bucket, dim), float32, or QuantisedRows; The rows of words, then the rows of buckets;
    # may be a memory map.
    inputs: Any
    # shape (n_words or n_labels, dim), float32, or QuantisedRows
    outputs: Any
    # 11 or 12, or 0 for a file of 2016.
    version: int = VERSION
    # shape (bucket,), int32, or None; For a pruned model: the row of each bucket, counted from the first
    # row after those of words; -1 without a row.
    places: np.ndarray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of mapped files instead of the maps."""
        arrays = {"inputs": in_memory(self.inputs), "outputs": in_memory(self.outputs)}
        return {**self.__dict__, **arrays}

    @property
    def n_words(self) -> int:
        """Number of words, without labels."""
        return int((self.types == 0).sum())

    def ngrams(self) -> NgramVectors | None:
        """Return the vectors of n-grams, or None if the model has none."""
        o = self.options
        old_classifier = self.version == 11 and o.model == SUPERVISED
        if o.bucket < 1 or o.maxn < max(o.minn, 1) or old_classifier:
            return None
        index = NgramIndex(max(o.minn, 1), o.maxn, o.bucket, None, self.n_words)
        if self.places is not None:
            kept = np.flatnonzero(self.places >= 0)
            rows = self.n_words + self.places[kept]
            index = NgramIndex(index.min_n, o.maxn, o.bucket, kept.astype(np.uint64), rows, None, False)
        return NgramVectors(index, self.inputs, source=self)


class _Bytes:
    """A stream that raises an error if the file ends too early; the error names the byte."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self._buffer, self._at, self._before = b"", 0, 0

    @property
    def position(self) -> int:
        """Number of bytes read so far."""
        return self._before + self._at

    def _fill(self, n: int) -> bool:
        """Read until n bytes are in the buffer; return whether the file has so many."""
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
        """Return the next numbers, in the format ``form``."""
        return form.unpack(self.take(form.size, what))

    def skip(self, n: int) -> None:
        """Skip n bytes of a plain file."""
        position = self.position + n
        self._stream.seek(position)
        self._buffer, self._at, self._before = b"", 0, position

    def at_end(self) -> bool:
        """Return whether the stream is at its end."""
        return not self._fill(1)

    def word(self, number: int) -> bytes:
        """Return the bytes up to the next zero byte."""
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


def read_model(path: str | os.PathLike[str], *, quantised: bool = False) -> FastTextModel:
    """Read a ``.bin`` file, plain or compressed; the matrices of a plain one are memory-mapped."""
    name = str(path)
    size = os.path.getsize(path) if compression_of(path) is None else None
    with open_by_content(path) as stream:
        data = _Bytes(stream, name)
        magic, version = data.unpack(_HEADER, "the header")
        if magic == MAGIC and version in (11, 12):
            options = Options(*data.unpack(_OPTIONS, "the options"))
        elif 1 <= magic <= MOST_DIMENSIONS and 1 <= version <= _WIDEST_WINDOW:
            options, version = Options(magic, version, *data.unpack(_OLD_OPTIONS, "the options")), 0
        else:
            raise DataError(
                f"{name}: no fastText model of version 11 or 12: it does not begin as such a file does"
            )
        if options.lrUpdateRate in (1, 2) and 0 < options.t < _LEAST_T:
            raise DataError(
                f"{name} is a .bin of floret, which only floret loads: write its words with "
                "model.save_vectors(FILE), which is read here, or model.save_floret_vectors(FILE) for spaCy"
            )
        n, n_words, n_labels, n_tokens = data.unpack(_SIZES, "the sizes of the dictionary")
        pruned = data.unpack(_PRUNED, "the sizes of the dictionary")[0] if version else -1
        _check_header(name, options, n, n_words, n_labels)
        if pruned >= 0 and not quantised:
            raise DataError(f"{name}: {_QUANTISED}")
        if size is not None and n * (_ENTRY.size + 1) > size:
            raise DataError(
                f"{name}: the header promises {n} words, which cannot fit into {size} bytes; it is damaged"
            )
        words, counts, types = _read_entries(data, n)
        if (types != (np.arange(n) >= n_words)).any():
            raise DataError(
                f"{name}: the dictionary does not hold {n_words} words and then {n_labels} labels"
            )
        places = _read_places(data, name, pruned, options.bucket) if pruned >= 0 else None
        matrices = _Matrices(data, path, size, name, marked=version > 0, quantised=quantised)
        n_buckets = options.bucket if places is None else pruned
        inputs = matrices.read((n_words + n_buckets, options.dim), "rows of words")
        n_outputs = n_labels if options.model == SUPERVISED else n_words
        outputs = matrices.read((n_outputs, options.dim), "outputs")
        if not data.at_end():
            raise DataError(f"{name}: data follow after the end of the model, byte {data.position}")
    return FastTextModel(options, words, counts, types, n_tokens, inputs, outputs, version, places)


def _check_header(name: str, o: Options, n: int, n_words: int, n_labels: int) -> None:
    """Raise a DataError for impossible sizes."""
    if (
        not 1 <= o.dim <= MOST_DIMENSIONS
        or min(n, n_words, n_labels, o.bucket) < 0
        or n != n_words + n_labels
        or o.model not in (CBOW, SKIPGRAM, SUPERVISED)
        or not (o.minn <= LONGEST_NGRAM and o.maxn <= LONGEST_NGRAM)
    ):
        raise DataError(
            f"{name}: the header is damaged: {o}, {n} entries, {n_words} words, {n_labels} labels"
        )


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


def _read_places(data: _Bytes, name: str, n: int, bucket: int) -> np.ndarray:
    """Return the row of each bucket of a pruned model, -1 for buckets without one."""
    if n > bucket or bucket > MOST_PLACES:
        raise DataError(
            f"{name}: {n} of {bucket} buckets are recorded as used; there can be {MOST_PLACES} in all, and "
            "no more left than there are"
        )
    pairs = np.frombuffer(data.take(n * _PAIR.itemsize, "the list of its buckets"), _PAIR)
    bad = (pairs["bucket"] < 0) | (pairs["bucket"] >= bucket) | (pairs["row"] < 0) | (pairs["row"] >= n)
    if bad.any():
        raise DataError(
            f"{name}: the list of its buckets is damaged: {pairs[bad][0]} is not a bucket and its row"
        )
    places = np.full(bucket, -1, np.int32)
    places[pairs["bucket"]] = pairs["row"]
    return places


@dataclass
class _Matrices:
    """Reads the matrices of a model, one after the other; memory-maps them if the file is not compressed.

    ``size`` is the size of a plain file. With ``marked``, a byte before each matrix states whether it is
    quantised. ``quantised`` states whether quantised matrices are allowed.
    """

    data: _Bytes
    path: str | os.PathLike[str]
    size: int | None
    name: str
    marked: bool
    quantised: bool

    def read(self, expected: tuple[int, int], what: str) -> Any:
        """Return the next matrix, float32 or QuantisedRows."""
        data, name = self.data, self.name
        if self.marked and data.unpack(_QUANTISED_MARK, f"the shape of the {what}")[0]:
            if not self.quantised:
                raise DataError(f"{name}: {_QUANTISED}")
            return self._read_codes(expected, what)
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

    def _read_codes(self, expected: tuple[int, int], what: str) -> QuantisedRows:
        data = self.data
        has_norms, n_rows, n_columns, n_codes = data.unpack(_QUANTISED_MATRIX, f"the shape of the {what}")
        if (n_rows, n_columns) != expected or n_codes < 0:
            raise self._damaged(what, f"the shape ({n_rows}, {n_columns}) with {n_codes} codes", expected)
        codes = self._array(np.uint8, n_codes, what)
        part, centroids = self._read_codebook(n_columns, what)
        if n_codes != n_rows * n_parts(n_columns, part):
            raise self._damaged(what, f"{n_codes} codes for parts of {part}", expected)
        rows = QuantisedRows(codes.reshape(n_rows, -1), centroids, n_columns, part)
        if has_norms:
            rows.norm_codes = self._array(np.uint8, n_rows, what)
            rows.norms = self._read_codebook(1, f"norms of the {what}")[1]
        return rows

    def _read_codebook(self, n_columns: int, what: str) -> tuple[int, np.ndarray]:
        """Return how many numbers a part has, and the centroids."""
        found = self.data.unpack(_CODEBOOK, f"the codebook of the {what}")
        part = found[2]
        if part < 1 or found != (n_columns, n_parts(n_columns, part), part, (n_columns - 1) % part + 1):
            raise self._damaged(what, f"a codebook of {found}", (n_columns,))
        return part, self._array(np.float32, CENTROIDS * n_columns, what)

    def _array(self, dtype: Any, n: int, what: str) -> np.ndarray:
        """Return the next n numbers. They are read in blocks, so that a wrong n does not allocate much
        memory.
        """
        kind = np.dtype(dtype).newbyteorder("<")
        blocks = [
            self.data.take(min(_BLOCK, kind.itemsize * n - at), f"the {what}")
            for at in range(0, kind.itemsize * n, _BLOCK)
        ]
        return np.frombuffer(bytearray().join(blocks), kind)

    def _damaged(self, what: str, found: str, expected: tuple[int, ...]) -> DataError:
        return DataError(
            f"{self.name}: the {what} have {found}, but the header says {expected}; the file is damaged"
        )


def write_model(model: FastTextModel, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a ``.bin`` file, completely or not at all; a suffix such as ``.gz`` compresses it."""
    for word in model.words:
        if b"\0" in word:
            raise DataError(
                f"fastText cannot hold the word {word!r}: a zero ends a word there; use safetensors or gensim"
            )
    n_labels = int((model.types == 1).sum())
    try:
        head = _HEADER.pack(MAGIC, model.version or VERSION) + _OPTIONS.pack(*model.options)
    except struct.error as error:
        raise DataError(f"a file of fastText cannot hold {model.options}: {error}") from error
    with atomic_file(path, overwrite=overwrite) as raw, compress_by_suffix(raw, path) as stream:
        stream.write(head)
        n = len(model.words)
        kept = np.empty(0, np.int64) if model.places is None else np.flatnonzero(model.places >= 0)
        n_pruned = -1 if model.places is None else len(kept)
        stream.write(_SIZES.pack(n, n - n_labels, n_labels, model.n_tokens) + _PRUNED.pack(n_pruned))
        entries = zip(model.words, model.counts.tolist(), model.types.tolist(), strict=True)
        stream.write(b"".join(b"%b\0%b" % (word, _ENTRY.pack(count, kind)) for word, count, kind in entries))
        if model.places is not None:
            pairs = np.empty(len(kept), _PAIR)
            pairs["bucket"], pairs["row"] = kept, model.places[kept]
            stream.write(pairs.tobytes())
        for matrix in (model.inputs, model.outputs):
            _write_matrix(matrix, stream)


def _write_matrix(matrix: Any, stream: Any) -> None:
    if not isinstance(matrix, QuantisedRows):
        stream.write(_QUANTISED_MARK.pack(False) + _MATRIX.pack(*matrix.shape))
        for rows in row_blocks(matrix):
            stream.write(np.ascontiguousarray(matrix[rows], "<f4").tobytes())
        return
    has_norms = matrix.norm_codes is not None
    stream.write(
        _QUANTISED_MARK.pack(True) + _QUANTISED_MATRIX.pack(has_norms, *matrix.shape, matrix.codes.size)
    )
    stream.write(matrix.codes.tobytes())
    _write_codebook(matrix.dim, matrix.part, matrix.centroids, stream)
    if matrix.norm_codes is not None and matrix.norms is not None:
        stream.write(matrix.norm_codes.tobytes())
        _write_codebook(1, 1, matrix.norms, stream)


def _write_codebook(dim: int, part: int, centroids: np.ndarray, stream: Any) -> None:
    stream.write(_CODEBOOK.pack(dim, n_parts(dim, part), part, (dim - 1) % part + 1))
    stream.write(np.ascontiguousarray(centroids, "<f4").tobytes())
