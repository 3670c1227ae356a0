"""Joins each phrase into one token, such as new_york, while text is encoded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from wordvec_ca.errors import DataError
from wordvec_ca.files import Lines
from wordvec_ca.kernels import PhraseTable

# Largest number of words of a phrase.
LONGEST_PHRASE = 32


class Phrases:
    """Phrases to join by ``_``, from left to right. If several begin at a word, the longest is joined.

    Parameters
    ----------
    sequences : iterable of tuples of str
        The words of each phrase, at least two, in the form that the tokeniser returns.

    Attributes
    ----------
    sequences : list of tuple of str
        The phrases in the given order, each once.
    """

    def __init__(self, sequences: Iterable[tuple[str, ...]]) -> None:
        self.sequences = list(dict.fromkeys(sequences))
        for words in self.sequences:
            if not 2 <= len(words) <= LONGEST_PHRASE or not all(words):
                raise DataError(f"the phrase {' '.join(words)!r} must have 2 to {LONGEST_PHRASE} words")
        self.table = PhraseTable(self.sequences)

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def digest(self) -> str:
        """Hexadecimal digest, which is equal if the same phrases are joined."""
        text = "\n".join(sorted(" ".join(words) for words in self.sequences))
        return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()

    def parts(self) -> dict[str, tuple[str, ...]]:
        """Return the words of each joined phrase."""
        return {"_".join(words): words for words in self.sequences}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Phrases:
        """Read a phrase file.

        Parameters
        ----------
        path : path
            UTF-8 lines of words separated by spaces. Text after a tab (the score and count that ``cawv
            phrases`` writes) is ignored. Blank lines are skipped.

        Raises
        ------
        DataError
            The file cannot be read, is not UTF-8, has no phrase, or a line has one word or very many.
        """
        sequences = []
        lines = Lines(path)
        for line in lines:
            words = tuple(line.partition("\t")[0].split())
            if not words:
                continue
            if not 2 <= len(words) <= LONGEST_PHRASE:
                raise lines.wrong(
                    f"{line[:80]!r} is not a phrase",
                    f"a line has 2 to {LONGEST_PHRASE} words with a space between two, and perhaps a tab and "
                    "more",
                )
            sequences.append(words)
        if not sequences:
            raise DataError(f"{path} has no phrase: a line has two or more words with a space between two")
        return cls(sequences)
