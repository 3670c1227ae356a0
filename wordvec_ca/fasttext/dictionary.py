"""The dictionary of a model: maps the tokens of a line to input rows and to labels.

A word has its own row and, with ``maxn``, one for each of its character n-grams. With ``wordNgrams``,
sequences of two words or more have rows too (Joulin et al. 2016). N-grams are distinguished by a hash modulo
``bucket``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.formats import FastTextOptions
from wordvec_ca.kernels import TextLines, TokenTypes, word_ngrams

EOS = "</s>"
BOW = "<"
EOW = ">"
END_OF_LINE = EOS.encode()

NO_LABEL, LEFT_OUT = -1, -2


class TypeRows(NamedTuple):
    """The rows and the label of each type of a text; see ``TextLines`` of the kernels for the arrays."""

    row_ends: np.ndarray
    rows: np.ndarray
    labels: np.ndarray


class Dictionary:
    """Words, labels and buckets of n-grams."""

    def __init__(
        self,
        options: FastTextOptions,
        words: list[bytes],
        counts: np.ndarray,
        n_words: int,
        *,
        places: np.ndarray | None = None,
        pruned: bool = False,
        label: bytes = b"__label__",
    ) -> None:
        self.options, self.words, self.counts, self.n_words = options, words, counts, n_words
        self.places, self.pruned, self.label = places, pruned, label
        self._n_places = 0 if places is None else 1 + int(places.max(initial=-1))
        self.entries = TokenTypes(words)
        if len(self.entries) != len(words):
            raise DataError(f"the dictionary of {len(words)} entries holds a word twice: it is damaged")

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the table, which is rebuilt from the words."""
        return {name: value for name, value in self.__dict__.items() if name != "entries"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.entries = TokenTypes(self.words)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.words) - self.n_words

    @property
    def maxn(self) -> int:
        """Number of characters of the longest n-gram; 0 for no n-grams."""
        return self.options.maxn if self.options.bucket > 0 else 0

    def number(self, word: bytes) -> int:
        """Return the position of a word or label in ``words``, or -1."""
        return max(-1, int(self.entries.find(word)))

    def buckets_of(self, words: list[bytes]) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
        """Return the n-grams of words, with their buckets."""
        marked = [b"<%b>" % word if word != END_OF_LINE else b"" for word in words]
        offsets, buckets, text, places, lengths = self._ngrams(marked)
        return (
            offsets,
            buckets,
            [text[i : i + n] for i, n in zip(places.tolist(), lengths.tolist(), strict=True)],
        )

    def _ngrams(self, marked: list[bytes]) -> tuple[np.ndarray, np.ndarray, bytes, np.ndarray, np.ndarray]:
        ends = np.cumsum(np.fromiter(map(len, marked), np.int64, count=len(marked)))
        text, o = b"".join(marked), self.options
        found: tuple[np.ndarray, ...] = word_ngrams(
            np.frombuffer(text, np.uint8), ends, max(o.minn, 1), self.maxn, o.bucket
        )
        offsets, keys, places, lengths = found
        return offsets, keys.astype(np.int64), text, places, lengths

    def rows_of_buckets(self, buckets: np.ndarray) -> np.ndarray:
        """Return the rows of buckets; -1 for buckets without a row."""
        places = buckets if self.places is None else self.places[buckets]
        return np.where(places >= 0, self.n_words + places, -1)

    def type_rows(self, types: TokenTypes) -> TypeRows:
        """Return the rows and the label of each type of a text."""
        numbers = types.numbers_in(self.entries)
        labels = np.where(numbers >= self.n_words, numbers - self.n_words, NO_LABEL).astype(np.int32)
        labels[(numbers < 0) & types.begin_with(self.label)] = LEFT_OUT
        own = (numbers >= 0) & (numbers < self.n_words)
        row_ends = np.zeros(len(numbers) + 1, np.int64)
        if self.maxn <= 0:
            np.cumsum(own, out=row_ends[1:])
            return TypeRows(row_ends, numbers[own], labels)
        marked = [
            b"" if label != NO_LABEL or word == END_OF_LINE else b"<%b>" % word
            for word, label in zip(types.words(), labels.tolist(), strict=True)
        ]
        offsets, buckets = self._ngrams(marked)[:2]
        rows, sizes = self.rows_of_buckets(buckets), np.diff(offsets)
        if self.pruned:
            kept = rows >= 0
            sizes = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[kept], minlength=len(sizes))
            rows = rows[kept]
        np.cumsum(own + sizes, out=row_ends[1:])
        all_rows = np.empty(row_ends[-1], np.int32)
        of_ngrams = np.ones(len(all_rows), bool)
        first = row_ends[:-1][own]
        all_rows[first], of_ngrams[first] = numbers[own], False
        all_rows[of_ngrams] = rows
        return TypeRows(row_ends, all_rows, labels)

    def lines(self, types: TokenTypes, tokens: np.ndarray, ends: np.ndarray, made: TypeRows) -> TextLines:
        """Return lines in the form of the kernels."""
        return TextLines(
            tokens,
            ends,
            made.row_ends,
            made.rows,
            made.labels,
            types.hashes(),
            max(0, self.options.wordNgrams),
            self.n_words,
            max(0, self.options.bucket),
            self.places,
            self._n_places,
            self.pruned,
        )


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text: the text between ASCII white space, and ``</s>`` for line ends."""
    types = TokenTypes()
    tokens = types.read(text.encode())
    words = [word.decode() for word in types.words()]
    return [words[i] for i in tokens.tolist()]


BLOCK = 4 << 20


def text_blocks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines."""
    try:
        with Path(path).open("rb") as file:
            rest: list[bytes] = []  # joined once: a line may be as long as the file
            while block := file.read(BLOCK):
                end = block.rfind(b"\n") + 1
                if end:
                    yield b"".join([*rest, block[:end]])
                    rest = []
                rest.append(block[end:])
            if last := b"".join(rest):
                yield last
    except OSError as error:
        raise DataError(f"{os.fspath(path)!r} cannot be opened for training or testing: {error}") from error


def line_ends(tokens: np.ndarray, end_of_line: int) -> np.ndarray:
    """Return the end of each line: after each ``</s>``, and at the end of the tokens."""
    ends = np.flatnonzero(tokens == end_of_line) + 1
    if len(tokens) and (not len(ends) or ends[-1] != len(tokens)):
        ends = np.append(ends, len(tokens))
    return ends.astype(np.int64)


def encoded(path: str | os.PathLike[str]) -> tuple[TokenTypes, np.ndarray]:
    """Return the types of a file, and the type of each of its tokens, int32."""
    types = TokenTypes()
    blocks = [types.read(block) for block in text_blocks(path)]
    tokens = np.concatenate(blocks) if blocks else np.zeros(0, np.int32)
    return types, tokens


def lines_of(types: TokenTypes, tokens: np.ndarray) -> np.ndarray:
    """Return the ends of the lines of an encoded text."""
    return line_ends(tokens, types.find(END_OF_LINE))
