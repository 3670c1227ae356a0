"""How a text is read: the options that decide which words there are and which ids a text becomes."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from wordvec_ca.corpus.phrases import Phrases
from wordvec_ca.corpus.vocab import lowest_count
from wordvec_ca.machine import usable_cpus
from wordvec_ca.text import BLOCK_BYTES, check_encoding, check_tokenizer, field_names, is_words


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How text is split into tokens, and which words are kept; passed whole to whatever reads text.

    Parameters
    ----------
    tokenizer : {"words", "whitespace", "icu", "jieba"} or "module:function", default "words"
        How text is split (docs/tokenising.md); token lists are not. The last is a function of the
        user: str -> list of str.
    lowercase : bool, default True
        Map text to lower case; token lists are not.
    min_count : int, default 5
        Drop words that occur less often.
    max_final_vocab : int, optional
        Keep at most so many words, by raising ``min_count`` (see `Vocab.prune`).
    field : str or tuple of str, optional
        The corpus is records: JSON lines, CSV, TSV, Parquet, Arrow, or Python mappings. These fields of each
        are the text (docs/corpora.md).
    encoding : str, optional
        Of text, JSON lines, CSV and TSV: any that Python knows; by default UTF-8.
    phrases : Phrases or path, optional
        Sequences of words that become one token each, joined by ``_`` (docs/corpora.md); a path is read with
        ``Phrases.load``.
    count_memory : int, optional
        MiB that different words and their counts may take while they are counted; beyond that they go to
        temporary files. By default a quarter of what is free, at most 1024. What comes out is the same.
    workers : int, optional
        Threads that tokenise; by default one per usable processor. What comes out is the same.
    block_bytes : int, default 2**20
        About so much text is handed to a worker at a time. What comes out is the same.

    Raises
    ------
    ValueError
        An option is out of range.
    """

    tokenizer: str = "words"
    lowercase: bool = True
    min_count: int = 5
    max_final_vocab: int | None = None
    field: str | tuple[str, ...] | None = None
    encoding: str | None = None
    phrases: Phrases | str | os.PathLike[str] | None = None
    count_memory: int | None = None
    workers: int | None = None
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        check_tokenizer(self.tokenizer)
        field_names(self.field)
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.workers is not None and not 1 <= self.workers <= 1024:
            raise ValueError(f"workers must be 1 to 1024; got {self.workers}")
        if self.block_bytes < 1:
            raise ValueError(f"block_bytes must be 1 or more; got {self.block_bytes}")
        if self.count_memory is not None and self.count_memory < 1:
            raise ValueError(f"count_memory must be 1 (MiB) or more; got {self.count_memory}")
        lowest_count(np.empty(0, dtype=np.int64), self.min_count, self.max_final_vocab)

    @property
    def words(self) -> bool:
        """Whether the tokenizer is "words"."""
        return is_words(self.tokenizer)

    @property
    def threads(self) -> int:
        """Threads that tokenise."""
        return usable_cpus() if self.workers is None else self.workers

    @property
    def count_bytes(self) -> int | None:
        """Bytes that words and counts may take, or None for the default."""
        return None if self.count_memory is None else self.count_memory << 20

    def loaded_phrases(self) -> Phrases | None:
        """Return the phrases, read from their file if a path was given.

        Raises
        ------
        DataError
            The file cannot be read.
        """
        if self.phrases is None or isinstance(self.phrases, Phrases):
            return self.phrases
        return Phrases.load(self.phrases)


EVERY_WORD = TextOptions(min_count=1)
"""The default of what only counts."""
