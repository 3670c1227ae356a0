# cython: language_level=3, boundscheck=False, wraparound=False
"""Merges replicas of the model: replicas in one process through its memory, replicas on nodes by messages.

A message holds the upper half of each float32, rounded: its sign, its exponent and 7 of 23 bits. It has the range
of float32, and the rounding is small compared with the noise of what a replica learns between two merges.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy


cdef enum:
    MOST_REPLICAS = 1024
    BLOCK = 256  # floats of a row that are added up at a time


cdef int check(tuple arrays, tuple shape, Py_ssize_t n_factors) except -1:
    """Return the number of arrays; all must have the same shape, (n_rows, width), and a factor for each row."""
    if not 1 <= len(arrays) <= MOST_REPLICAS or n_factors != shape[0]:
        raise ValueError("the arrays do not fit each other")
    for array in arrays:
        if array.shape != shape:
            raise ValueError("the arrays do not fit each other")
    return <int> len(arrays)


cdef void add_up(float *base, float **replicas, int n, const float *factors, int64_t rows, int64_t width) noexcept nogil:
    """Merge rows: base += factor * (sum of the replicas' deltas), and every replica becomes the base."""
    cdef int64_t row, k
    cdef int i
    cdef float total, factor
    cdef bint moved
    for row in range(rows):
        factor = factors[row]
        moved = False
        for i in range(n):
            if memcmp(base, replicas[i], width * sizeof(float)):
                moved = True
        if moved:  # rows that nobody touched are only read
            for k in range(width):
                total = 0
                for i in range(n):
                    total = total + (replicas[i][k] - base[k])
                base[k] = base[k] + factor * total
            for i in range(n):
                memcpy(replicas[i], base, width * sizeof(float))
        base += width
        for i in range(n):
            replicas[i] += width


def merge_replicas(float[:, ::1] base not None, tuple replicas not None, const float[::1] factors not None) -> None:
    """Merge the same rows of several replicas, in place; see ``merge_rule.merged_rows`` for what it does.

    ``base`` (n_rows, width) holds the rows after the last merge, ``replicas`` holds arrays of the same shape, and
    the sum of their deltas is multiplied by ``factors`` (n_rows,). The GIL is released.
    """
    cdef float *rows[MOST_REPLICAS]
    cdef float[:, ::1] replica
    cdef int n = check(replicas, (base.shape[0], base.shape[1]), factors.size), i
    if base.size == 0:
        return
    for i in range(n):
        replica = replicas[i]
        rows[i] = &replica[0, 0]
    with nogil:
        add_up(&base[0, 0], rows, n, &factors[0], base.shape[0], base.shape[1])


# ---- messages between nodes -------------------------------------------------------------------------------


cdef inline uint16_t to_bfloat16(float value) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &value, sizeof(bits))
    return <uint16_t> ((bits + 0x8000) >> 16)  # to the nearest: half of the last place is added before the cut


cdef inline float from_bfloat16(uint16_t half) noexcept nogil:
    cdef uint32_t bits = <uint32_t> half << 16
    cdef float value
    memcpy(&value, &bits, sizeof(bits))
    return value


def delta_of(const float[:, ::1] rows not None, const float[:, ::1] base not None, uint16_t[:, ::1] out not None) -> None:
    """Fill ``out`` with ``rows - base`` as bfloat16. All are of one shape; the GIL is released."""
    if not rows.shape[0] == base.shape[0] == out.shape[0] or not rows.shape[1] == base.shape[1] == out.shape[1]:
        raise ValueError("the arrays do not fit each other")
    if rows.size == 0:
        return
    cdef const float *now = &rows[0, 0]
    cdef const float *before = &base[0, 0]
    cdef uint16_t *delta = &out[0, 0]
    cdef int64_t k, n = rows.size
    with nogil:
        for k in range(n):
            delta[k] = to_bfloat16(now[k] - before[k])


def sum_of_deltas(tuple deltas not None, const float[::1] factors not None, uint16_t[:, ::1] out not None) -> None:
    """Fill ``out`` with the sum of bfloat16 deltas, each row times its factor, as bfloat16.

    ``deltas`` holds arrays of the same shape as ``out``, (n_rows, width), added in their order; ``factors`` is
    of shape (n_rows,). The GIL is released.
    """
    cdef const uint16_t *each[MOST_REPLICAS]
    cdef const uint16_t[:, ::1] delta
    cdef int n = check(deltas, (out.shape[0], out.shape[1]), factors.size), i
    if out.size == 0:
        return
    for i in range(n):
        delta = deltas[i]
        each[i] = &delta[0, 0]
    cdef uint16_t *merged = &out[0, 0]
    cdef int64_t row, begin, k, width = out.shape[1]
    cdef float total[BLOCK]
    cdef float factor
    cdef int size
    with nogil:
        for row in range(out.shape[0]):
            factor = factors[row]
            begin = row * width
            while begin < (row + 1) * width:
                size = <int> min(<int64_t> BLOCK, (row + 1) * width - begin)
                for k in range(size):
                    total[k] = from_bfloat16(each[0][begin + k])
                for i in range(1, n):
                    for k in range(size):
                        total[k] += from_bfloat16(each[i][begin + k])
                for k in range(size):
                    merged[begin + k] = to_bfloat16(total[k] * factor)
                begin += size


def add_delta(const uint16_t[:, ::1] merged not None, float[:, ::1] base not None, float[:, ::1] rows not None) -> None:
    """Add a bfloat16 delta to ``base``, and set ``rows`` to that. All are of one shape; the GIL is released."""
    if not rows.shape[0] == base.shape[0] == merged.shape[0] or not rows.shape[1] == base.shape[1] == merged.shape[1]:
        raise ValueError("the arrays do not fit each other")
    if rows.size == 0:
        return
    cdef const uint16_t *delta = &merged[0, 0]
    cdef float *before = &base[0, 0]
    cdef float *now = &rows[0, 0]
    cdef int64_t k, n = rows.size
    with nogil:
        for k in range(n):
            before[k] = before[k] + from_bfloat16(delta[k])
        memcpy(now, before, n * sizeof(float))
