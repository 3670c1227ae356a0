# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Decimal text to float32 and back: the inner loops of vectors as text.

Reading rounds twice. A decimal of at most 2**53 without its point, times or divided by a power of ten up to
10**22, is one correctly rounded double operation (Clinger 1990, section 4: the fast path); anything else is left
to Python. The double is then rounded to float32, so a decimal that is nearly in the middle between two float32
may become the farther of them. The digits written are the fewest that this reader turns into the same float32.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.math cimport fabs, rint
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef double POWERS[23]
POWERS[:] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
]

cdef enum:
    LONGEST_NUMBER = 24  # bytes of sign, nine digits, point, four zeros or exponent, and some to spare


cdef const char *read_number(const char *at, const char *end, float *value) noexcept nogil:
    """Read one number; return the place after it, or NULL if it must be left to Python (see above)."""
    cdef uint64_t digits = 0
    cdef int n_digits = 0, exponent = 0, written = 0, sign = 1
    cdef bint negative = False, any_digit = False
    cdef double exact
    if at < end and (at[0] == c"-" or at[0] == c"+"):
        negative = at[0] == c"-"
        at += 1
    while at < end and c"0" <= at[0] <= c"9":
        any_digit = True
        if digits or at[0] != c"0":
            n_digits += 1
            digits = digits * 10 + (at[0] - c"0")
        at += 1
        if n_digits > 18:
            return NULL
    if at < end and at[0] == c".":
        at += 1
        while at < end and c"0" <= at[0] <= c"9":
            any_digit = True
            if digits or at[0] != c"0":
                n_digits += 1
                digits = digits * 10 + (at[0] - c"0")
            exponent -= 1
            at += 1
            if n_digits > 18 or exponent < -1000:
                return NULL
    if not any_digit:
        return NULL
    if at < end and (at[0] == c"e" or at[0] == c"E"):
        at += 1
        if at < end and (at[0] == c"-" or at[0] == c"+"):
            sign = -1 if at[0] == c"-" else 1
            at += 1
        any_digit = False
        while at < end and c"0" <= at[0] <= c"9":
            any_digit = True
            written = written * 10 + (at[0] - c"0")
            at += 1
            if written > 1000:
                return NULL
        if not any_digit:
            return NULL
        exponent += sign * written
    if digits > (<uint64_t>1 << 53):
        return NULL
    exact = <double>digits
    if digits == 0:
        pass
    elif 0 <= exponent <= 22:
        exact = exact * POWERS[exponent]
    elif -22 <= exponent < 0:
        exact = exact / POWERS[-exponent]
    else:
        return NULL
    value[0] = <float>(-exact if negative else exact)
    return at


cdef const char *read_line(
    const char *at, const char *end, float *row, Py_ssize_t n_numbers, const char **word_end
) noexcept nogil:
    """Read ``word (space number) * n_numbers blanks newline``; return the place after it, or NULL."""
    cdef Py_ssize_t i
    while at < end and at[0] != c" " and at[0] != b"\n":
        at += 1
    word_end[0] = at
    for i in range(n_numbers):
        if at >= end or at[0] != c" ":
            return NULL
        at = read_number(at + 1, end, row + i)
        if at == NULL:
            return NULL
    while at < end and (at[0] == c" " or at[0] == b"\t" or at[0] == b"\r"):
        at += 1
    if at >= end or at[0] != b"\n":
        return NULL
    return at + 1


def read_rows(bytes text, Py_ssize_t start, float[:, ::1] rows, list words):
    """Read lines of ``word number number ...`` as long as they are simple; see the stub."""
    cdef const char *begin = PyBytes_AsString(text)
    cdef const char *end = begin + PyBytes_Size(text)
    cdef const char *at = begin + start
    cdef const char *after
    cdef const char *word_end = NULL
    cdef Py_ssize_t row = 0, n_numbers = rows.shape[1]
    if n_numbers == 0:
        raise ValueError("rows must have columns")
    while at < end and row < rows.shape[0]:
        after = read_line(at, end, &rows[row, 0], n_numbers, &word_end)
        if after == NULL:
            break
        words.append(PyBytes_FromStringAndSize(at, word_end - at))
        row += 1
        at = after
    return row, at - begin


cdef char *write_digits(char *at, uint64_t digits, int n_digits) noexcept nogil:
    """Write a whole number with leading zeros to ``n_digits`` places; return the place after it."""
    cdef int i
    for i in range(n_digits - 1, -1, -1):
        at[i] = <char>(c"0" + digits % 10)
        digits = digits // 10
    return at + n_digits


cdef char *write_number(char *at, float value) noexcept nogil:
    """Write the shortest decimal, in the style of ``%.9g``; return the place after it, or NULL.

    NULL is for NaN, infinity and magnitudes outside 1e-13 .. 1e7, for which powers of ten would not be exact.
    """
    cdef double exact = value, magnitude = fabs(exact), scale, rounded, best
    cdef int exponent = 0, n_digits, best_digits = 9, places
    cdef uint64_t digits
    if exact == 0:
        if 1.0 / exact < 0:
            at[0] = c"-"
            at += 1
        at[0] = c"0"
        return at + 1
    if not (1e-13 < magnitude < 1e7):
        return NULL
    if exact < 0:
        at[0] = c"-"
        at += 1
    if magnitude >= 1:
        while magnitude >= POWERS[exponent + 1]:
            exponent += 1
    else:
        exponent = -1
        while magnitude * POWERS[-exponent] < 1:
            exponent -= 1
    # nine digits are always enough; drop them one by one as long as the float32 stays the same
    best = rint(magnitude * POWERS[8 - exponent])
    for n_digits in range(8, 0, -1):
        places = n_digits - 1 - exponent
        if places < 0:
            break
        scale = POWERS[places]
        rounded = rint(magnitude * scale)
        if <float>(rounded / scale) != <float>magnitude:
            break
        best = rounded
        best_digits = n_digits
    digits = <uint64_t>best
    # rounding up may have added a digit (9.99.. to 10); trailing zeros are dropped
    if best >= POWERS[best_digits]:
        digits = digits // 10
        exponent += 1
    while best_digits > 1 and digits % 10 == 0:
        digits = digits // 10
        best_digits -= 1
    if exponent < -4:
        at[0] = <char>(c"0" + digits // <uint64_t>POWERS[best_digits - 1])
        at += 1
        if best_digits > 1:
            at[0] = c"."
            at = write_digits(at + 1, digits % <uint64_t>POWERS[best_digits - 1], best_digits - 1)
        at[0] = c"e"
        at[1] = c"-"
        return write_digits(at + 2, -exponent, 2)
    if exponent < 0:
        at[0] = c"0"
        at[1] = c"."
        at = write_digits(at + 2, 0, -exponent - 1)
        return write_digits(at, digits, best_digits)
    if best_digits <= exponent + 1:
        at = write_digits(at, digits, best_digits)
        return write_digits(at, 0, exponent + 1 - best_digits)
    at = write_digits(at, digits // <uint64_t>POWERS[best_digits - 1 - exponent], exponent + 1)
    at[0] = c"."
    return write_digits(
        at + 1, digits % <uint64_t>POWERS[best_digits - 1 - exponent], best_digits - 1 - exponent
    )


def write_rows(const float[:, ::1] rows, list words, str separator):
    """Return lines of numbers, each after its word if there are words; see the stub."""
    cdef Py_ssize_t n_rows = rows.shape[0], n_numbers = rows.shape[1], row, i, size = 0
    cdef char between = <char>ord(separator)
    cdef bytes word, odd
    cdef char *begin
    cdef char *at
    cdef char *after
    if words is not None:
        if len(words) != n_rows:
            raise ValueError("one word for each row")
        for word in words:
            size += PyBytes_Size(word) + 1
    size += n_rows * (n_numbers * (LONGEST_NUMBER + 1) + 1)
    begin = <char *>malloc(size)
    if begin == NULL:
        raise MemoryError
    try:
        at = begin
        for row in range(n_rows):
            if words is not None:
                word = words[row]
                memcpy(at, PyBytes_AsString(word), PyBytes_Size(word))
                at += PyBytes_Size(word)
            for i in range(n_numbers):
                if i or words is not None:
                    at[0] = between
                    at += 1
                after = write_number(at, rows[row, i])
                if after == NULL:
                    odd = b"%.9g" % rows[row, i]
                    memcpy(at, PyBytes_AsString(odd), PyBytes_Size(odd))
                    after = at + PyBytes_Size(odd)
                at = after
            at[0] = b"\n"
            at += 1
        return PyBytes_FromStringAndSize(begin, at - begin)
    finally:
        free(begin)
