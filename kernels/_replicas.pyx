# cython: language_level=3, boundscheck=False, wraparound=False
"""Merges replicas of the model: replicas in one process through its memory, replicas on nodes by messages.

A message holds the deltas of some rows in 8 bits a number: a scale for each row, and a code from -127 to 127
for each number, which is the number divided by the scale, rounded. The scale is the largest number of the row
divided by 127, rounded up to the upper half of a float32. So a scale has 8 significant bits, and its product
with a code is exact: all nodes add the same, also where the compiler fuses the multiplication with the
addition. A row whose scale is 0 has not changed, and has no codes. What the rounding does to quality is in
docs/evidence, merge-bands.

A copy of rows for a replica that has them in another layout is here, too.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset


cdef enum:
    MOST_REPLICAS = 1024
    LARGEST_CODE = 127
    INFINITE = 0x7F800000  # bits of a float32: these and larger ones are infinity and NaN
    NORMAL = 0x0080  # upper half of the smallest normal float32
    NOT_A_NUMBER = 0x7FC0  # upper half of a NaN


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
    """Merge the same rows of several replicas, in place; B + f * (d_1 + ... + d_N) for each row.

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


cdef inline float scale_of(uint16_t half) noexcept nogil:
    """Return the float32 with this upper half."""
    cdef uint32_t bits = <uint32_t> half << 16
    cdef float value
    memcpy(&value, &bits, sizeof(bits))
    return value


cdef bint encode(const float *delta, int64_t width, uint16_t *scale, int8_t *codes) noexcept nogil:
    """Encode a row; return whether it has codes."""
    cdef uint32_t most = 0, bits
    cdef float largest, inverse, step
    cdef int64_t k
    for k in range(width):
        memcpy(&bits, &delta[k], sizeof(bits))
        bits &= 0x7FFFFFFF
        most = max(most, bits)  # the order of absolute values is that of their bits; NaN is above all
    if most >= INFINITE:  # the row is NaN on every node then, and the driver ends the run
        scale[0] = NOT_A_NUMBER
        memset(codes, 0, width)
        return True
    memcpy(&largest, &most, sizeof(most))
    largest = largest / LARGEST_CODE
    memcpy(&bits, &largest, sizeof(bits))
    scale[0] = <uint16_t> ((bits + 0xFFFF) >> 16)
    if scale[0] < NORMAL:  # zeros, and what is too small to be divided by
        scale[0] = 0
        return False
    inverse = 1 / scale_of(scale[0])
    for k in range(width):
        # 1.5 * 2^23: the sum has no bits for fractions, so it is rounded, and its last byte is the code
        step = delta[k] * inverse + <float> 12582912.0
        memcpy(&bits, &step, sizeof(bits))
        codes[k] = <int8_t> (bits & 0xFF)
    return True


cdef int64_t n_sent(const uint16_t[::1] scales) noexcept nogil:
    """Return the number of rows that have codes."""
    cdef int64_t row, n = 0
    for row in range(scales.shape[0]):
        n += scales[row] != 0
    return n


cdef int fit(const uint16_t[::1] scales, const int8_t[:, ::1] codes, int64_t n_rows, int64_t width) except -1:
    """Raise a ValueError if a message is not one of so many rows of this width."""
    if scales.shape[0] != n_rows or codes.shape[1] != width or codes.shape[0] != n_sent(scales):
        raise ValueError("the arrays do not fit each other")
    return 0


def delta_of(
    const float[:, ::1] rows not None,
    const float[:, ::1] base not None,
    uint16_t[::1] scales not None,
    int8_t[:, ::1] codes not None,
) -> int:
    """Encode ``rows - base``; return the number of rows that have codes, the first of ``codes``.

    ``rows``, ``base`` and ``codes`` are of shape (n_rows, width), ``scales`` of shape (n_rows,). The GIL is
    released.
    """
    cdef int64_t n_rows = rows.shape[0], width = rows.shape[1], row, k, n = 0
    if not n_rows == base.shape[0] == codes.shape[0] == scales.shape[0]:
        raise ValueError("the arrays do not fit each other")
    if not width == base.shape[1] == codes.shape[1]:
        raise ValueError("the arrays do not fit each other")
    if rows.size == 0:
        return 0
    cdef const float *now = &rows[0, 0]
    cdef const float *before = &base[0, 0]
    cdef int8_t *out = &codes[0, 0]
    cdef float *delta = <float *> malloc(width * sizeof(float))
    if delta == NULL:
        raise MemoryError
    with nogil:
        for row in range(n_rows):
            for k in range(width):
                delta[k] = now[row * width + k] - before[row * width + k]
            n += encode(delta, width, &scales[row], out + n * width)
    free(delta)
    return n


def sum_of_deltas(
    tuple deltas not None,
    const float[::1] factors not None,
    uint16_t[::1] scales not None,
    int8_t[:, ::1] codes not None,
) -> int:
    """Encode the sum of deltas, each row times its factor; return the number of rows that have codes.

    ``deltas`` holds pairs of scales and codes, added in their order; ``scales`` and ``factors`` are of shape
    (n_rows,), ``codes`` (n_rows, width). The GIL is released.
    """
    cdef const uint16_t *of_each[MOST_REPLICAS]
    cdef const int8_t *each[MOST_REPLICAS]
    cdef const uint16_t[::1] their_scales
    cdef const int8_t[:, ::1] their_codes
    cdef int64_t n_rows = codes.shape[0], width = codes.shape[1], row, k, n = 0
    cdef int i, of = <int> len(deltas)
    if not 1 <= of <= MOST_REPLICAS or factors.shape[0] != n_rows or scales.shape[0] != n_rows:
        raise ValueError("the arrays do not fit each other")
    for i in range(of):
        their_scales, their_codes = deltas[i]
        fit(their_scales, their_codes, n_rows, width)
        of_each[i] = &their_scales[0] if n_rows else NULL
        each[i] = &their_codes[0, 0] if their_codes.size else NULL
    if codes.size == 0:
        return 0
    cdef int8_t *out = &codes[0, 0]
    cdef float *total = <float *> malloc(width * sizeof(float))
    cdef float scale
    if total == NULL:
        raise MemoryError
    with nogil:
        for row in range(n_rows):
            memset(total, 0, width * sizeof(float))
            for i in range(of):
                if of_each[i][row]:
                    scale = scale_of(of_each[i][row])
                    for k in range(width):
                        total[k] += scale * each[i][k]
                    each[i] += width
            for k in range(width):
                total[k] *= factors[row]
            n += encode(total, width, &scales[row], out + n * width)
    free(total)
    return n


def add_delta(
    const uint16_t[::1] scales not None,
    const int8_t[:, ::1] codes not None,
    float[:, ::1] base not None,
    float[:, ::1] rows not None,
) -> None:
    """Add a delta to ``base``, and set ``rows`` to the result; both are of shape (n_rows, width).

    The GIL is released.
    """
    cdef int64_t n_rows = base.shape[0], width = base.shape[1], row, k
    if n_rows != rows.shape[0] or width != rows.shape[1]:
        raise ValueError("the arrays do not fit each other")
    fit(scales, codes, n_rows, width)
    if base.size == 0:
        return
    cdef const int8_t *code = &codes[0, 0] if codes.size else NULL
    cdef float *before = &base[0, 0]
    cdef float scale
    with nogil:
        for row in range(n_rows):
            if scales[row]:
                scale = scale_of(scales[row])
                for k in range(width):
                    before[k] = before[k] + scale * code[k]
                code += width
            before += width
        memcpy(&rows[0, 0], &base[0, 0], n_rows * width * sizeof(float))


def copy_rows(
    const float[:, ::1] table not None, const int32_t[::1] numbers not None, float[:, ::1] out not None, int size, int turn
) -> None:
    """Copy rows, each of several vectors of ``size`` numbers, to rows in which each vector is padded.

    ``out[i]`` gets row ``numbers[i]`` of the table, with its first ``turn`` vectors last; the padding stays as it
    is. numpy needs three passes for that. The GIL is released.
    """
    cdef int64_t n = numbers.shape[0], n_table = table.shape[0], i
    cdef int64_t parts = table.shape[1] // size if size > 0 else 0, part
    cdef int64_t width = out.shape[1] // parts if parts > 0 else 0
    if n == 0:
        return
    if parts < 1 or parts * size != table.shape[1] or parts * width != out.shape[1] or width < size:
        raise ValueError("the layouts do not fit each other")
    if out.shape[0] < n or not 0 <= turn < parts:
        raise ValueError("the arrays do not fit each other")
    for i in range(n):
        if not 0 <= numbers[i] < n_table:
            raise IndexError("there is no row with this number")
    cdef const float *source
    cdef float *target = &out[0, 0]
    with nogil:
        for i in range(n):
            source = &table[0, 0] + numbers[i] * table.shape[1]
            for part in range(parts):
                memcpy(target + part * width, source + (part + turn) % parts * size, size * sizeof(float))
            target += out.shape[1]


def number_rows(
    const int32_t[::1] found not None,
    int32_t[::1] place not None,
    int32_t[::1] numbers not None,
    int32_t[::1] rows not None,
    int n_rows,
) -> int:
    """Number distinct rows in the order of their first places, after the ``n_rows`` that have numbers already.

    ``place`` holds the number of each row of the table, or -1; ``rows`` gets the row of each new number, and
    ``numbers`` the number of each row in ``found``. Returns how many have numbers now. numpy takes ten times as long.
    """
    cdef int64_t n = found.shape[0], n_table = place.shape[0], i
    if numbers.shape[0] < n or not 0 <= n_rows <= rows.shape[0] - n:
        raise ValueError("the arrays do not fit each other")
    for i in range(n):
        if not 0 <= found[i] < n_table:
            raise IndexError("there is no row with this number")
        if place[found[i]] < 0:
            place[found[i]] = n_rows
            rows[n_rows] = found[i]
            n_rows += 1
        numbers[i] = place[found[i]]
    return n_rows
