"""The vocabulary: words with counts in a fixed order, and its file format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files import (
    atomic_file,
    compress_by_suffix,
    content_words,
    escape_lines,
    html_table,
    is_unicode,
    read_words,
)
from wordvec_ca.specs.model_files import ModelFile

# Most rare words whose counts are kept, some 15 MB. Where there are more, those of the lowest counts go: in
# text of many millions of types, words that occur once or twice.
MOST_RARE = 1_000_000


class NothingLeft(DataError):
    """No word of a text is frequent enough."""


class Vocab:
    """Words with their counts, sorted by descending count and, for equal counts, by ascending UTF-8 bytes.

    Parameters
    ----------
    words : sequence of str
        Distinct words, in any order.
    counts : array_like of int, shape (n_words,)
        How often each word occurs, >= 0.
    raw_tokens, raw_types : int, optional
        Numbers of tokens and types of the text before rare words were dropped; by default, of the given
        words.

    Attributes
    ----------
    words : list of str
        The words in order; the position is the word's id.
    counts : ndarray of shape (n_words,), int64
        Their counts.
    total_count : int
        The sum of ``counts``.
    raw_tokens, raw_types : int
        As above.
    rare : bytes
        Words that are too rare for the vocabulary, at most `MOST_RARE`, as lines of its file: bytes, since
        only a continued run, in whose text they may become frequent enough, needs them as words.

    Raises
    ------
    DataError
        A word occurs twice, is empty or is not encodable in UTF-8, or a count is negative.
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: ArrayLike,
        *,
        raw_tokens: int | None = None,
        raw_types: int | None = None,
    ) -> None:
        numbers = np.asarray(counts)
        if numbers.ndim != 1 or len(numbers) != len(words):
            raise ValueError(f"{len(words)} words need as many counts; got an array of shape {numbers.shape}")
        if len(numbers) and numbers.dtype.kind not in "iu":
            raise ValueError(f"counts must be integers; got dtype {numbers.dtype}")
        self.words, self.counts = _in_order(list(words), numbers.astype(np.int64))
        self.total_count = int(self.counts.sum())
        self.raw_tokens = self.total_count if raw_tokens is None else int(raw_tokens)
        self.raw_types = len(self.words) if raw_types is None else int(raw_types)
        self.rare = b""

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Vocab:
        """Return the vocabulary of a mapping from word to count (such as a ``Counter``)."""
        return cls(list(counts), np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))

    @classmethod
    def as_given(cls, words: Sequence[Any], counts: ArrayLike) -> Vocab:
        """Return a vocabulary that keeps the order of its words, since they are rows of a model.

        Its words may be any hashable objects. It cannot be saved as a file, which has a fixed order.

        Parameters
        ----------
        words : sequence
            Distinct words.
        counts : array_like of int, shape (n_words,)
            How often each word occurs.
        """
        vocab = cls([], [])
        vocab.words, vocab.counts = list(words), np.asarray(counts, np.int64)
        vocab.total_count = vocab.raw_tokens = int(vocab.counts.sum())
        vocab.raw_types = len(vocab.words)
        return vocab

    @cached_property
    def index(self) -> dict[str, int]:
        """Word -> id."""
        return {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocab):
            return NotImplemented
        return self.words == other.words and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocab({len(self):,} words, {self.total_count:,} tokens)"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: some content words and their counts."""
        words = content_words(self.words, 10)
        rows = [(self.index[word], word, int(self.counts[self.index[word]])) for word in words]
        return html_table(
            f"Vocab: {len(self):,} words, {self.total_count:,} tokens", ("row", "word", "count"), rows
        )

    def prune(self, min_count: int = 1, max_final_vocab: int | None = None) -> Vocab:
        """Return the vocabulary without rare words.

        Parameters
        ----------
        min_count : int, default 1
            Drop words that occur less often.
        max_final_vocab : int, optional
            Keep at most this many words: ``min_count`` is raised as far as needed. As in gensim, words of
            equal count are kept or dropped together, so fewer may remain.

        Returns
        -------
        Vocab
            The new vocabulary, with the same ``raw_tokens`` and ``raw_types``.

        Raises
        ------
        DataError
            No word is left.
        """
        least = lowest_count(self.counts, min_count, max_final_vocab)
        n = int(np.searchsorted(-self.counts, -least, side="right"))
        if n == 0:
            raise nothing_left(self.counts, min_count, max_final_vocab)
        return Vocab(self.words[:n], self.counts[:n], raw_tokens=self.raw_tokens, raw_types=self.raw_types)

    def save(self, path: str | os.PathLike[str]) -> None:
        r"""Write ``word TAB count`` lines in UTF-8; tab, newline, return and backslash as ``\t \n \r \\``.

        Raises
        ------
        DataError
            The file cannot be written. An older file of this name is then unchanged.
        """
        save_lines(path, self.lines())

    def keep_rare(self, words: Sequence[str], counts: NDArray[np.int64]) -> None:
        """Keep the counts of words that are too rare, which come in the order of a vocabulary."""
        n = int(np.count_nonzero(counts >= lowest_count(counts, 1, MOST_RARE)))
        self.rare = b"".join(Vocab(words[:n], counts[:n]).lines())

    def save_all(self, folder: Path) -> None:
        """Write the words and, if there are some, the rare words to files in a folder."""
        self.save(folder / ModelFile.VOCAB)
        # That of a former vocabulary may be in a folder that is used again.
        (folder / ModelFile.RARE).unlink(missing_ok=True)
        if self.rare:
            save_lines(folder / ModelFile.RARE, [self.rare])

    @classmethod
    def load_all(cls, folder: Path, raw_tokens: int, raw_types: int) -> Vocab:
        """Read what `save_all` wrote; the raw numbers are kept in the record of the folder."""
        vocab = cls.load(folder / ModelFile.VOCAB)
        vocab.raw_tokens, vocab.raw_types = raw_tokens, raw_types
        with suppress(FileNotFoundError):  # all words are in the vocabulary
            vocab.rare = (folder / ModelFile.RARE).read_bytes()
        return vocab

    def lines(self) -> Iterator[bytes]:
        """Yield the content of the file that `save` writes, some lines at a time."""
        for start in range(0, len(self.words), 100_000):
            words = escape_lines(self.words[start : start + 100_000]).split("\n")
            counts = self.counts[start : start + 100_000].tolist()
            lines = (f"{word}\t{count}\n" for word, count in zip(words, counts, strict=False))
            yield "".join(lines).encode("utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocab:
        r"""Read a vocabulary file.

        Parameters
        ----------
        path : path
            Lines of ``word TAB count`` as `save` writes them (``\t \n \r \\`` in a word stand for tab,
            newline, return and backslash), or ``word count`` with a space as word2vec.c writes them (no
            escapes). There is no header; the lines may be in any order.

        Returns
        -------
        Vocab

        Raises
        ------
        DataError
            The file is missing, empty or not UTF-8, a line has no word or no count, a count is not a
            non-negative integer, or a word occurs twice. The message names the line.
        """
        name = os.fspath(path)
        words, counts = read_words(path)
        if not words:
            raise DataError(f"{name} is empty: a vocabulary has one 'word TAB count' on each line")
        if len(set(words)) != len(words):
            first: dict[str, int] = {}
            for number, word in enumerate(words, 1):
                if word in first:
                    raise DataError(
                        f"{name}, line {number}: the word {word!r} was already on line {first[word]}; "
                        "each word may occur once"
                    )
                first[word] = number
        return cls(words, counts)


def save_lines(path: str | os.PathLike[str], lines: Iterable[bytes]) -> None:
    """Write a vocabulary file from pieces of it (see `Vocab.save`)."""
    try:
        with atomic_file(path) as plain, compress_by_suffix(plain, path) as file:
            for piece in lines:
                file.write(piece)
    except OSError as error:
        raise DataError(f"cannot write the vocabulary {os.fspath(path)!r}: {error.strerror}") from error


def lowest_count(
    counts: NDArray[np.int64],
    min_count: int,
    max_final_vocab: int | None,
    times: NDArray[np.int64] | None = None,
) -> int:
    """Return the smallest count of a kept word (see `Vocab.prune`); ``counts`` may be in any order."""
    # If ``times`` is given, it contains the number of words with each count, and the counts ascend.
    if min_count < 0:
        raise ValueError(f"min_count must be 0 or more; got {min_count}")
    if max_final_vocab is None:
        return min_count
    if max_final_vocab < 1:
        raise ValueError(f"max_final_vocab must be 1 or more, or None for no limit; got {max_final_vocab}")
    if times is not None:
        above = np.cumsum(times[::-1])[::-1]  # number of words with at least each count
        fits = np.append(counts[above <= max_final_vocab], counts[-1:] + 1)
        return (
            max(min_count, int(fits[0]))
            if (above[counts >= min_count] > max_final_vocab).any()
            else min_count
        )
    if np.count_nonzero(counts >= min_count) <= max_final_vocab:
        return min_count
    # The first count that does not fit any more must go, with all its equals.
    return int(np.partition(counts, len(counts) - 1 - max_final_vocab)[len(counts) - 1 - max_final_vocab]) + 1


def least_kept(
    counts: NDArray[np.int64],
    min_count: int,
    max_final_vocab: int | None,
    times: NDArray[np.int64] | None = None,
) -> int:
    """Return `lowest_count`, at least 1, if some word is kept; else raise NothingLeft."""
    least = max(1, lowest_count(counts, min_count, max_final_vocab, times))
    if not (counts >= least).any():
        raise nothing_left(counts, min_count, max_final_vocab, times)
    return least


def nothing_left(
    counts: NDArray[np.int64],
    min_count: int,
    max_final_vocab: int | None,
    times: NDArray[np.int64] | None = None,
) -> NothingLeft:
    """Return the error for a vocabulary in which no word is left; arguments as in `lowest_count`."""
    if len(counts) == 0:
        return NothingLeft("there is no word in the corpus")
    highest = int(counts.max())
    times = np.ones_like(counts) if times is None else times
    types, tokens = int(times.sum()), int((counts * times).sum())
    found = (
        f"no word is left: the corpus has {tokens:,} tokens of {types:,} types, "
        f"the most frequent occurs {highest:,} times"
    )
    if highest < min_count:
        return NothingLeft(
            f"{found}, but min_count is {min_count:,}; set it to {highest:,} or less, or give more text"
        )
    return NothingLeft(
        f"{found}, as do more types than max_final_vocab={max_final_vocab} allows (words of equal count are "
        "kept or dropped together); raise max_final_vocab"
    )


def _in_order(words: list[str], counts: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Return words and counts in the order of a vocabulary; raise a DataError for invalid words or counts."""
    if len(counts) and int(counts.min()) < 0:
        i = int(np.argmin(counts))
        raise DataError(f"the count of {words[i]!r} is {counts[i]}; counts must be 0 or more")
    steps = np.diff(counts)
    ties = np.flatnonzero(steps == 0).tolist()
    # Code point order is UTF-8 byte order, so str comparison will do.
    if not ((steps <= 0).all() and all(words[i] < words[i + 1] for i in ties)):
        order = sorted(range(len(words)), key=words.__getitem__)
        by_count = np.argsort(-counts[order], kind="stable")
        words = [words[order[i]] for i in by_count]
        counts = counts[order][by_count]
    if len(set(words)) != len(words):
        seen: set[str] = set()
        double = next(word for word in words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
        raise DataError(f"the word {double!r} occurs twice in the vocabulary")
    try:
        "".join(words).encode("utf-8")
    except UnicodeEncodeError as error:
        bad = next(word for word in words if not is_unicode(word))
        raise DataError(f"the word {bad!r} holds a lone surrogate and cannot be written in UTF-8") from error
    if "" in words:
        raise DataError("the vocabulary holds an empty word")
    return words, counts
