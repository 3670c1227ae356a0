"""Cuts text into chunks, groups of consecutive lines that threads train (docs/decisions/003-chunks.md)."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import DocumentStarts, LiveTokens, TokenStream
from wordvec_ca.kernels import padded
from wordvec_ca.models import ResolvedConfig

# Number of tokens of a chunk: a few milliseconds of work, so that no thread is idle at the end.
CHUNK_TOKENS = 32_768

# Largest number of multiplications in a chunk: half a second, so that Ctrl-C and checkpoints need not wait
# long.
CHUNK_WORK = 5e8

# Mean number of nodes above a word in the Huffman tree, over the words of a text.
USUAL_PATH = 12

# Smallest number of tokens of the text for each prediction that shares negatives, unless ``shared_by`` is
# given.
SHARED_TOKENS = 128_000


@dataclass(frozen=True)
class Chunk:
    """Consecutive whole lines: the i-th chunk of its epoch, with the tokens from start to stop."""

    index: int
    start: int
    stop: int
    tokens: np.ndarray


class Chunks:
    """Hands out the chunks of one epoch, each once, in order, to any number of threads.

    Attributes
    ----------
    index, start : int
        The next chunk and the token where it begins.
    limit : int
        The token at which the threads pause: no chunk that begins there or later is handed out.
    """

    def __init__(self, tokens: np.ndarray, size: int, index: int = 0, start: int = 0) -> None:
        self._tokens, self._size = tokens, size
        self._lock = threading.Lock()
        self.index, self.start = index, start
        self.limit = len(tokens)

    @property
    def ended(self) -> bool:
        """Whether all chunks have been handed out."""
        return self.start >= len(self._tokens)

    def next(self) -> Chunk | None:
        """Return the next chunk, or None at the limit or the end of the text."""
        with self._lock:
            start, end = self.start, len(self._tokens)
            if start >= min(end, self.limit):
                return None
            stop = end_of_line(self._tokens, min(start + self._size, end))
            chunk = Chunk(self.index, start, stop, self._tokens[start:stop])
            self.index, self.start = self.index + 1, stop
            return chunk

    def close(self) -> None:
        """Do nothing: a stored text need not be closed."""


class StreamedChunks:
    """The same chunks as `Chunks`, for a text that is read while they are handed out.

    Parameters and attributes are those of ``Chunks``; the text before ``start`` is read and skipped.
    """

    def __init__(self, tokens: TokenStream | LiveTokens, size: int, index: int = 0, start: int = 0) -> None:
        self._blocks, self._size = tokens.blocks(), size
        self._lock = threading.Lock()
        self._waiting = np.empty(0, np.int32)
        self._all_read = False
        self._searched = 0
        self._length, self._unread = len(tokens), start
        self.index, self.start = index, start
        self.limit = len(tokens)

    @property
    def ended(self) -> bool:
        """Whether all chunks have been handed out; their number may be known only then."""
        return self._all_read and not len(self._waiting)

    def next(self) -> Chunk | None:
        """Return the next chunk, or None at the limit or the end of the text."""
        with self._lock:
            if self.limit <= self.start < self._length:  # read to the end, to compare the text
                return None
            while (length := self._end_of_chunk()) is None:
                block = next(self._blocks, None)
                if block is None:
                    self._all_read = True
                    length = len(self._waiting)
                    break
                passed = min(self._unread, len(block))
                self._unread -= passed
                self._waiting = np.concatenate([self._waiting, block[passed:]])
            if not length:
                return None
            chunk = Chunk(self.index, self.start, self.start + length, self._waiting[:length])
            self.index, self.start = chunk.index + 1, chunk.stop
            self._waiting, self._searched = self._waiting[length:], 0
            return chunk

    def close(self) -> None:
        """Stop reading."""
        with self._lock:
            self._blocks.close()

    def _end_of_chunk(self) -> int | None:
        """Return the length of the next chunk, if its last line has been read completely."""
        begin = max(self._size - 1, self._searched)
        ends = np.flatnonzero(self._waiting[begin:] < 0)
        if len(ends):
            return begin + int(ends[0]) + 1
        self._searched = len(self._waiting)
        return None


def end_of_line(tokens: np.ndarray, stop: int) -> int:
    """Return the end of the line that contains the token before ``stop``."""
    while 0 < stop < len(tokens):
        # search one stretch at a time: the text may be memory-mapped, and the next line end is near
        ends = np.flatnonzero(tokens[stop - 1 : stop + 1_000] < 0)
        if len(ends):
            return stop + int(ends[0])
        stop = min(stop + 1_000, len(tokens))
    return stop


def chunks_of(
    tokens: np.ndarray | TokenStream | LiveTokens, size: int, index: int = 0, start: int = 0
) -> Chunks | StreamedChunks:
    """Return the chunks of an encoded text; they are the same for a stored and a streamed text."""
    if isinstance(tokens, TokenStream | LiveTokens):
        return StreamedChunks(tokens, size, index, start)
    return Chunks(tokens, size, index, start)


def chunk_size(n_tokens: int, config: ResolvedConfig) -> int:
    """Return the number of tokens per chunk, which depends on text and configuration, not on the workers."""
    affordable = int(CHUNK_WORK / multiplications(config))
    return max(100, min(affordable, max(1_000, min(CHUNK_TOKENS, n_tokens // 64))))


def parts(n_tokens: int, config: ResolvedConfig, size: int | None = None) -> int:
    """Return the number of parts of a chunk of ``size`` tokens that are read side by side, to share
    negatives.
    """
    # The number is smaller if the text is short, where sharing harms rare words
    # (docs/decisions/010-shared-negatives.md), or if windows would overlap.
    if config.shared_by is not None:
        return config.sharing()
    apart = (size or chunk_size(n_tokens, config)) // (2 * config.reach + 1)
    return max(1, min(config.sharing(), n_tokens // SHARED_TOKENS, apart))


def multiplications(config: ResolvedConfig) -> int:
    """Return the approximate number of multiplications of the training loop per token."""
    contexts = config.contexts()
    rows_met = (1 + config.negative) * bool(config.negative) + USUAL_PATH * config.hs
    step = 3 * rows_met  # each needs a dot product and two updates
    if config.spec.pairwise:
        rows = contexts * step
    elif config.spec.outputs == "wide":
        rows = contexts * (step + 1)
    else:
        rows = step + 2 * contexts * (2 if config.spec.attends else 1)
    return rows * padded(config.vector_size)


def in_random_order(tokens: NDArray[np.int32], seeds: Sequence[int]) -> NDArray[np.int32]:
    """Return the lines of a text, with the distinct tokens of each line in random order."""
    # A fixed window over such a line covers each pair once if the line is short, and a random sample of the
    # pairs if it is long. So the cost is linear in the length of the line.
    ends = tokens < 0
    lines = np.cumsum(ends, dtype=np.int64)
    different = np.unique(lines[~ends] << 32 | tokens[~ends])  # sort by line, then by token
    line = different >> 32
    rng = np.random.default_rng([*seeds, 0x626167])
    order = np.argsort(line << 32 | rng.integers(1 << 32, size=len(line)))  # ties are too rare to matter
    mixed = np.full(len(line) + np.count_nonzero(ends), -1, np.int32)
    mixed[np.arange(len(line)) + line] = different[order] & 0xFFFFFFFF
    return mixed


# Largest count of a line; larger counts would have a probability of 1 in 6 thousand million.
MOST = 12


class LineSample:
    """Decides how often each line of a text is used: a Poisson variable of mean 1 (Hanley & MacGibbon
    2006).
    """

    # It is a function of the seed and of the position of the line or, if whole documents are drawn, of the
    # number of its document. So the sample need not be stored, is the same in every epoch, and does not
    # depend on which thread reads the line.
    def __init__(self, seed: int, documents: DocumentStarts | None = None) -> None:
        self._documents = documents
        self._key = np.random.SeedSequence([seed, 0x6C696E65]).generate_state(1, np.uint64)[0]
        chances = [math.exp(-1) / math.factorial(n) for n in range(MOST)]
        self._limits = np.floor(np.cumsum(chances) * 2.0**64).astype(np.uint64)

    def weights(self, units: np.ndarray) -> np.ndarray:
        """Return the counts of lines or documents."""
        with np.errstate(over="ignore"):  # splitmix64 (Steele, Lea, Flood 2014), as in kernels/sgns_reader.h
            z = (units.astype(np.uint64) + self._key) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
        return np.searchsorted(self._limits, z, side="right")

    def of(self, chunk: Chunk) -> np.ndarray:
        """Return the tokens of a chunk, int32, in which each line occurs as often as its count."""
        # The result contains first all lines with a count of at least 1, then, in the same order, the lines
        # with at least 2, and so on. So a line is not read twice in a row.
        ends = np.flatnonzero(chunk.tokens < 0) + 1
        if not len(ends) or ends[-1] < len(chunk.tokens):
            ends = np.append(ends, len(chunk.tokens))
        lengths = np.diff(ends, prepend=0)
        units = chunk.start + ends - lengths
        if self._documents is not None:
            units = self._documents.of(units)
        times = np.repeat(self.weights(units), lengths)
        found = [chunk.tokens[times > n] for n in range(int(times.max(initial=0)))]
        return np.concatenate(found) if found else chunk.tokens[:0]
