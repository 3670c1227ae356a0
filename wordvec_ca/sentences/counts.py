"""How often each known word occurs in a text: the statistics that CA-SEM and the frequency factors need."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, escape_lines


@dataclass(frozen=True)
class WordCounts:
    """How often each known word occurs in a text: the input of Algorithm 1.

    Parameters
    ----------
    counts : ndarray of shape (n_words,), int64
        Occurrences of each word, in the row order of the vectors.
    n_oov : int
        Tokens that are not among the words.
    n_sentences : int
        Sentences read, empty ones included.
    """

    counts: NDArray[np.int64]
    n_oov: int = 0
    n_sentences: int = 0

    @property
    def n_tokens(self) -> int:
        """All tokens, known or not."""
        return int(self.counts.sum()) + self.n_oov

    def __add__(self, other: WordCounts) -> WordCounts:
        """Return the counts of both texts: the "reduce" over shards."""
        if self.counts.shape != other.counts.shape:
            raise DataError(
                f"cannot add counts of {len(self.counts)} and of {len(other.counts)} words: "
                "count every shard against the same word vectors"
            )
        return WordCounts(
            self.counts + other.counts, self.n_oov + other.n_oov, self.n_sentences + other.n_sentences
        )

    def save(
        self, path: str | Path, *, words: Iterable[str] | None = None, follow_links: bool = True
    ) -> None:
        """Write the counts to one ``.npz`` file (plain arrays, no pickle), through a symbolic link or not.

        With the ``words`` counted, in the order of the rows, the file also holds their fingerprint, so that
        :meth:`load` can check to which words they belong.
        """
        arrays: dict[str, Any] = {"counts": self.counts, "n_oov": self.n_oov, "n_sentences": self.n_sentences}
        if words is not None:
            arrays["words_sha256"] = _fingerprint(words)
        with atomic_file(path, follow_links=follow_links) as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | Path, *, words: Iterable[str] | None = None) -> WordCounts:
        """Read what :meth:`save` wrote.

        With ``words``, the counts must be those of exactly these words in this order; without it, this is not
        checked.

        Raises
        ------
        DataError
            The file does not contain counts, or they are not known to be those of ``words``.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                counts = _whole_numbers(arrays, "counts", 1)
                n_oov = int(_whole_numbers(arrays, "n_oov", 0))
                n_sentences = int(_whole_numbers(arrays, "n_sentences", 0))
                fingerprint = str(arrays["words_sha256"]) if "words_sha256" in arrays else None
        except OSError:
            raise
        except Exception as error:  # damaged arrays raise nearly anything
            raise DataError(f"{path} is not a file of word counts (WordCounts.save): {error}") from error
        if words is not None and fingerprint != _fingerprint(words):
            reason = (
                "does not say which words it counts"
                if fingerprint is None
                else "holds counts of other words, or in another order, than those of the model"
            )
            raise DataError(
                f"{path} {reason}: count the text again with the same model, "
                "'cawv reembed MODEL TEXT -o COUNTS.npz --counts-only'"
            )
        return cls(counts, n_oov, n_sentences)

    @classmethod
    def from_ids(cls, ids: NDArray[np.integer[Any]], n_words: int, n_sentences: int) -> WordCounts:
        """Count encoded tokens.

        Parameters
        ----------
        ids : ndarray of integers
            Row of each token; a negative number marks an unknown token.
        n_words : int
            Rows of the vectors.
        n_sentences : int
            Sentences that the tokens came from.
        """
        known = ids[ids >= 0]
        counts = np.bincount(known, minlength=n_words).astype(np.int64)
        return cls(counts, len(ids) - len(known), n_sentences)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, int], key_to_index: Mapping[str, int]) -> WordCounts:
        """Take the counts from a table word -> count.

        Words that the table lacks have count 0; words of the table without a vector are out-of-vocabulary
        tokens.

        Raises
        ------
        DataError
            If a count is negative or not a whole number.
        """
        counts = np.zeros(len(key_to_index), np.int64)
        n_oov = 0
        for word, count in mapping.items():
            if count < 0 or int(count) != count:
                raise DataError(f"the count of {word!r} is {count!r}: counts must be whole numbers >= 0")
            row = key_to_index.get(word, -1)
            if row >= 0:
                counts[row] += int(count)
            else:
                n_oov += int(count)
        return cls(counts, n_oov)


def _fingerprint(words: Iterable[str]) -> str:
    """Return the SHA-256 of the words in their order, as 64 hexadecimal digits."""
    lines = escape_lines(list(words))  # a newline in a word is not the end of the word
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


def _whole_numbers(arrays: Mapping[str, NDArray[Any]], name: str, ndim: int) -> NDArray[np.int64]:
    """Return an array of a file, or raise a DataError unless it holds whole numbers >= 0."""
    array = arrays[name]
    if array.ndim != ndim or array.dtype.kind not in "iu":
        raise DataError(
            f"{name} is an array of {array.dtype} in {array.ndim} dimensions, not of whole numbers in {ndim}"
        )
    numbers = array.astype(np.int64)  # an unsigned number that is too large becomes negative
    if (numbers < 0).any():
        raise DataError(f"{name} holds a number that is negative or too large, {array[numbers < 0].flat[0]}")
    return numbers


def count_sentences(sentences: Iterable[Iterable[str]], key_to_index: Mapping[str, int]) -> WordCounts:
    """Count the words of tokenised sentences in one pass."""
    tally: dict[str, int] = {}
    n_sentences = 0
    for sentence in sentences:
        if isinstance(sentence, str | bytes):
            raise DataError(f"sentence {n_sentences} is a string, {sentence[:40]!r}: give lists of tokens")
        n_sentences += 1
        for token in sentence:
            tally[token] = tally.get(token, 0) + 1
    return replace(WordCounts.from_mapping(tally, key_to_index), n_sentences=n_sentences)
