"""Types of the compiled module ``_ngrams``."""

import numpy as np
from numpy.typing import NDArray

def word_ngrams(
    text: NDArray[np.uint8], ends: NDArray[np.int64], min_n: int, max_n: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]:
    """Return the n-grams of words in fastText's order: by where they begin, then by length.

    Parameters
    ----------
    text : ndarray of uint8
        The words in UTF-8, one after the other, each with its marks of beginning and end.
    ends : ndarray of shape (n_words,), int64
        Where each word ends.
    min_n, max_n : int
        Characters of an n-gram.
    buckets : int
        0 for keys of 64 bits (FNV-1a); else fastText's: FNV-1a with 32 bits and signed bytes, modulo buckets.

    Returns
    -------
    offsets : ndarray of shape (n_words + 1,), int64
        The n-grams of word w are ``offsets[w]`` to ``offsets[w + 1]`` of the other arrays.
    keys : ndarray of shape (n_ngrams,), uint64
    places : ndarray of shape (n_ngrams,), int64
        Where in the text each n-gram begins.
    """

def ngram_keys(text: NDArray[np.uint8], ends: NDArray[np.int64], buckets: int) -> NDArray[np.uint64]:
    """Return the keys of n-grams that are given as text, one after the other; see `word_ngrams`."""

def distinct_words(tokens: NDArray[np.int32], seen: NDArray[np.int32], block: int) -> NDArray[np.int32]:
    """Return the words of a block of tokens, each once, in the order of their first occurrence.

    Parameters
    ----------
    tokens : ndarray of int32
        Word ids, -1 after each line.
    seen : ndarray of shape (n_words,), int32
        The last block in which each word occurred; updated.
    block : int
        Number of this block, different from all before.
    """

def compose(
    rows: NDArray[np.float32],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    words: NDArray[np.int32],
    vectors: NDArray[np.float32],
    before: NDArray[np.float32],
    isa: str,
) -> None:
    """Compose the vectors of some words; see ``ngrams_numpy.compose`` for the arguments."""

def give_back(
    rows: NDArray[np.float32],
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    weights: NDArray[np.float32],
    words: NDArray[np.int32],
    vectors: NDArray[np.float32],
    before: NDArray[np.float32],
    isa: str,
) -> None:
    """Add what words gained to each of their rows; see ``ngrams_numpy.give_back`` for the arguments."""
