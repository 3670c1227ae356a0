"""Splits text into tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wordvec_ca.errors import DataError, Option, OptionError, did_you_mean
from wordvec_ca.kernels import LINE_END, Lexicon
from wordvec_ca.text.segmenters import SEGMENTERS, is_segmenter, segment

TOKENIZERS = ("words", "whitespace")


def tokenize(text: str, tokenizer: str = "words", lowercase: bool = True) -> list[str]:
    """Return the tokens of a text exactly as training sees them (docs/tokenising.md).

    Parameters
    ----------
    text : str
        Any text; line ends count as white space.
    tokenizer : str, default "words"
        ``words`` splits Unicode words, numbers, punctuation; ``whitespace`` at ASCII white space only;
        ``icu`` and ``jieba`` segment scripts without spaces, and so does ``module:function``, a function of
        the user (see `load_segmenter`).
    lowercase : bool, default True
        Map characters to lower case (simple case mapping).

    Returns
    -------
    list of str

    Raises
    ------
    DataError
        The text holds a lone surrogate, or the segmenter is not installed or fails.
    """
    check_tokenizer(tokenizer)
    lexicon = Lexicon()
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"the text holds a lone surrogate (character {error.start}), which is not Unicode text"
        ) from error
    if is_segmenter(tokenizer):
        data = segment(text, tokenizer).encode("utf-8")
    ids, _ = lexicon.read_text(data, tokenizer == "words", lowercase)
    types = lexicon.words()
    return [types[i] for i in ids.tolist() if i >= 0]


class KnownWords:
    """A numbered list of words, with which C code tokenises texts without a Python object for each token."""

    def __init__(self, words: Iterable[str]) -> None:
        self._lexicon = Lexicon(words)

    def read(self, texts: Sequence[str], tokenizer: str, lowercase: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each token of some texts without line ends, -1 for an unknown one, shape
        (n_tokens,), int32; and the offsets of the texts, shape (n_texts + 1,), int64.
        """
        # Each line starts with a mark: without it, several empty lines in a row would be read as one.
        lines = "".join(f"0 {text}\n" for text in texts)
        found, _ = self._lexicon.read_text(lines.encode("utf-8", "replace"), tokenizer == "words", lowercase)
        ends = np.flatnonzero(found == LINE_END)
        if len(ends) != len(texts):
            raise AssertionError(f"{len(texts)} texts were read as {len(ends)}")
        starts = np.concatenate(([0], ends[:-1] + 1))
        keep = np.ones(len(found), bool)
        keep[ends] = keep[starts] = False
        numbers = np.where(found >= 0, found, np.int32(-1))[keep]
        return numbers, np.concatenate(([0], np.cumsum(ends - starts - 1)))


def check_tokenizer(tokenizer: str) -> str:
    """Return a tokenizer's name; ValueError if there is no such tokenizer (nothing is loaded yet)."""
    if not isinstance(tokenizer, str) or not (tokenizer in TOKENIZERS or is_segmenter(tokenizer)):
        raise OptionError(
            Option("tokenizer"),
            f" must be {', '.join(SEGMENTERS)}, MODULE:FUNCTION or one of {', '.join(TOKENIZERS)}; "
            f"got {tokenizer!r}.{did_you_mean(tokenizer, [*TOKENIZERS, *SEGMENTERS])}",
        )
    return tokenizer


def is_words(tokenizer: str) -> bool:
    """Return True for tokenizer "words", False for others; ValueError if there is no such tokenizer."""
    return check_tokenizer(tokenizer) == "words"
