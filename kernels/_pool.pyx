# cython: language_level=3, boundscheck=False, wraparound=False
"""Fills a pool of negatives in one pass; numpy takes three to five times as long and more memory."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc


def fill_pool(
    const double[::1] ends not None, double offset, const int32_t[::1] order not None, int32_t[::1] out not None
) -> None:
    """Fill ``out[i]`` with the word of the draw ``order[i]``.

    ``ends`` (n_words,) ascends: draw k is the first word w with ``floor(ends[w] + offset) > k``, or the last word if
    there is none. ``order`` and ``out`` have the same length; a number in ``order`` that is not a draw's raises an
    error. The GIL is released.
    """
    cdef int64_t n = out.shape[0], n_words = ends.shape[0], i, draw = 0, upto
    if order.shape[0] != n or n >= 1 << 31 or not 0 < n_words < 1 << 31 or not 0 <= offset < 1:
        raise ValueError("the arrays do not fit each other")
    if n == 0:
        return
    cdef const int32_t *number = &order[0]
    cdef int32_t *pool = &out[0]
    cdef int32_t *words = <int32_t *> malloc(n * sizeof(int32_t))
    if words == NULL:
        raise MemoryError("no memory for a pool of negatives")
    cdef bint fits = True
    with nogil:
        for i in range(n_words):
            upto = n if i == n_words - 1 else <int64_t> (ends[i] + offset)
            while draw < upto and draw < n:
                words[draw] = <int32_t> i
                draw += 1
        for i in range(n):
            if number[i] < 0 or number[i] >= n:
                fits = False
                break
            pool[i] = words[number[i]]
    free(words)
    if not fits:
        raise ValueError("the order holds a number that is not that of a draw")
