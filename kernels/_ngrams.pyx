# cython: language_level=3, boundscheck=False, wraparound=False
"""N-grams of words, and calls of the loops over their rows (``ngrams_rows.h``)."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "ngrams.h" nogil:
    ctypedef struct Words:
        float *rows
        int64_t width
        const int64_t *offsets
        const int32_t *columns
        const float *weights
        const int32_t *words
        int64_t n
        float *vectors
        float *before
    ctypedef void (*OverWords)(const Words *words)
    enum Isa:
        N_ISAS
    const char *isa_name(Isa isa)
    OverWords ngrams_loop(Isa isa, int give_back)


cdef inline bint begins(uint8_t byte) noexcept nogil:
    """Return whether a byte is the first of a character of UTF-8."""
    return (byte & 0xC0) != 0x80


def word_ngrams(
    const uint8_t[::1] text not None, const int64_t[::1] ends not None, int min_n, int max_n, int64_t buckets
) -> tuple:
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
    lengths : ndarray of shape (n_ngrams,), int32
        Bytes of each n-gram.
    """
    cdef int64_t n_words = ends.shape[0], word, begin, end, at, n = 0
    cdef int length
    offsets = np.zeros(n_words + 1, np.int64)
    cdef int64_t[::1] offset = offsets
    if n_words and (ends[n_words - 1] > text.shape[0] or min_n < 1):
        raise ValueError("the ends of words do not fit the text, or n-grams have no length")
    cdef int64_t characters, size
    with nogil:
        begin = 0
        for word in range(n_words):
            end = ends[word]
            if end < begin:
                with gil:
                    raise ValueError("the ends of words must rise")
            characters = 0
            for at in range(begin, end):
                characters += begins(text[at])
            for size in range(min_n, max_n + 1):
                if size > characters:
                    break
                n += characters - size + 1
                if size == 1:  # the marks alone are not n-grams
                    n -= 1 if characters == 1 else 2
            offset[word + 1] = n
            begin = end
    keys = np.zeros(n, np.uint64)
    places = np.zeros(n, np.int64)
    lengths = np.zeros(n, np.int32)
    cdef uint64_t[::1] key = keys
    cdef int64_t[::1] place = places
    cdef int32_t[::1] bytes_of = lengths
    cdef int64_t i = 0, stop
    cdef uint32_t short_hash
    cdef uint64_t long_hash
    cdef bint mark
    with nogil:
        begin = 0
        for word in range(n_words):
            end = ends[word]
            for at in range(begin, end):
                if not begins(text[at]):
                    continue
                stop = at
                short_hash = 2166136261u
                long_hash = 0xCBF29CE484222325u
                length = 0
                while stop < end and length < max_n:
                    length += 1
                    while True:  # take one character
                        short_hash = (short_hash ^ <uint32_t> <int32_t> <signed char> text[stop]) * 16777619u
                        long_hash = (long_hash ^ text[stop]) * 0x100000001B3u
                        stop += 1
                        if stop >= end or begins(text[stop]):
                            break
                    mark = length == 1 and (at == begin or stop == end)
                    if length >= min_n and not mark:
                        if i >= n:  # bytes that are not UTF-8: a word that begins within a character
                            with gil:
                                raise ValueError("a word is not UTF-8")
                        key[i] = short_hash % <uint32_t> buckets if buckets else long_hash
                        place[i] = at
                        bytes_of[i] = <int32_t> (stop - at)
                        i += 1
            begin = end
    if i != n:
        raise ValueError("a word is not UTF-8")
    return offsets, keys, places, lengths


def ngram_keys(const uint8_t[::1] text not None, const int64_t[::1] ends not None, int64_t buckets) -> object:
    """Return the keys of n-grams that are given as text, one after the other; see ``word_ngrams``.

    Returns
    -------
    ndarray of shape (n_ngrams,), uint64
    """
    cdef int64_t n = ends.shape[0], i, at, begin = 0
    cdef uint32_t short_hash
    cdef uint64_t long_hash
    keys = np.zeros(n, np.uint64)
    cdef uint64_t[::1] key = keys
    if n and ends[n - 1] > text.shape[0]:
        raise ValueError("the ends of n-grams do not fit the text")
    with nogil:
        for i in range(n):
            short_hash = 2166136261u
            long_hash = 0xCBF29CE484222325u
            for at in range(begin, ends[i]):
                short_hash = (short_hash ^ <uint32_t> <int32_t> <signed char> text[at]) * 16777619u
                long_hash = (long_hash ^ text[at]) * 0x100000001B3u
            begin = ends[i]
            key[i] = short_hash % <uint32_t> buckets if buckets else long_hash
    return keys


def distinct_words(const int32_t[::1] tokens not None, int32_t[::1] seen not None, int32_t block) -> object:
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
    found = np.empty(min(tokens.shape[0], seen.shape[0]), np.int32)
    cdef int32_t[::1] words = found
    cdef int64_t i, n = 0
    cdef int32_t word, n_words = seen.shape[0]
    with nogil:
        for i in range(tokens.shape[0]):
            word = tokens[i]
            if word < 0:
                continue
            if word >= n_words:
                n = -1
                break
            if seen[word] != block:
                seen[word] = block
                words[n] = word
                n += 1
    if n < 0:
        raise ValueError("the encoded corpus holds a word id outside the vocabulary: the cache is damaged")
    return found[:n]


cdef int over_words(
    float[:, ::1] rows,
    const int64_t[::1] offsets,
    const int32_t[::1] columns,
    const float[::1] weights,
    const int32_t[::1] words,
    float[:, ::1] vectors,
    float[:, ::1] before,
    str isa,
    bint give_back,
) except -1:
    cdef Words task
    cdef int64_t i, n_words = vectors.shape[0]
    if (
        offsets.shape[0] != n_words + 1
        or columns.shape[0] != weights.shape[0]
        or rows.shape[1] % 16
        or vectors.shape[1] != rows.shape[1]
        or before.shape[1] != rows.shape[1]
        or before.shape[0] < words.shape[0]
        or offsets[0] != 0
        or offsets[n_words] != columns.shape[0]
    ):
        raise ValueError("the arrays do not fit each other")
    if words.shape[0] == 0 or columns.shape[0] == 0:
        return 0
    task.rows = &rows[0, 0]
    task.vectors = &vectors[0, 0]
    task.before = &before[0, 0]
    if <size_t> task.rows % 64 or <size_t> task.vectors % 64 or <size_t> task.before % 64:
        raise ValueError("rows must be aligned to 64 bytes: make them with kernels.aligned_zeros")
    for i in range(words.shape[0]):
        if not 0 <= words[i] < n_words:
            raise ValueError("there is no such word")
    task.width = rows.shape[1]
    task.offsets = &offsets[0]
    task.columns = &columns[0]
    task.weights = &weights[0]
    task.words = &words[0]
    task.n = words.shape[0]
    cdef OverWords loop = NULL
    for k in range(N_ISAS):
        if isa_name(<Isa> k).decode() == isa:
            loop = ngrams_loop(<Isa> k, give_back)
    if loop == NULL:
        raise ValueError(f"there is no instruction set {isa!r}")
    with nogil:
        loop(&task)
    return 0


def compose(
    float[:, ::1] rows not None,
    const int64_t[::1] offsets not None,
    const int32_t[::1] columns not None,
    const float[::1] weights not None,
    const int32_t[::1] words not None,
    float[:, ::1] vectors not None,
    float[:, ::1] before not None,
    str isa not None,
) -> None:
    """Compose the vectors of some words; see ``ngrams_numpy.compose`` for the arguments.

    Not checked: ``columns`` must be numbers of rows, without repetition in a word.
    """
    over_words(rows, offsets, columns, weights, words, vectors, before, isa, False)


def give_back(
    float[:, ::1] rows not None,
    const int64_t[::1] offsets not None,
    const int32_t[::1] columns not None,
    const float[::1] weights not None,
    const int32_t[::1] words not None,
    float[:, ::1] vectors not None,
    float[:, ::1] before not None,
    str isa not None,
) -> None:
    """Add what words gained to each of their rows; see ``ngrams_numpy.give_back`` for the arguments."""
    over_words(rows, offsets, columns, weights, words, vectors, before, isa, True)
