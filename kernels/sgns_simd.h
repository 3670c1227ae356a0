/* Vectors of LANES floats: their types, exp(x), a running product, sums over lanes.
 *
 * Written with the vector extensions of GCC and clang, so that one source serves every instruction set. LANES is
 * set by the file that includes the loop (sgns_avx2.c, ..).
 */
#ifndef SGNS_SIMD_H
#define SGNS_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define VECTORS(n) (((n) + LANES - 1) / LANES) /* number of vectors that hold n floats */
#define GROUP 4         /* examples that are multiplied with each negative at once */

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * LANES), may_alias));
typedef float quad __attribute__((vector_size(16), may_alias));
typedef float octet __attribute__((vector_size(32), may_alias));
typedef int32_t group_ids __attribute__((vector_size(4 * GROUP), may_alias)); /* a word id for each example */

/* The k-th vector of an aligned row. */
#define AT(pointer, k) (((vec *)(pointer))[k])
/* A loop that the compiler unrolls: the count is a compile-time constant of at most 8. */
#if defined(__clang__)
#define EACH(k, count) _Pragma("clang loop unroll(full)") for (int k = 0; k < (count); k++)
#else
#define EACH(k, count) _Pragma("GCC unroll 8") for (int k = 0; k < (count); k++)
#endif

INLINE vec broadcast(float x) { return x - (vec){0}; } /* 0 + x would cost an addition: it is not x if x is -0 */

INLINE vec choose(ivec mask, vec yes, vec no) { return (vec)((mask & (ivec)yes) | (~mask & (ivec)no)); }

/* The larger of a and b, and b if a is NaN: with a constant first, a NaN in b stays and shows in the loss. */
INLINE vec larger(vec a, vec b) { return choose(a > b, a, b); }

INLINE vec magnitude(vec x) { return (vec)((ivec)x & 0x7fffffff); }

/* exp(x) for x <= 0 with a relative error of 1e-7, and exactly 1 at 0, so that frozen attention equals CBOW bit for
 * bit. The constants are those of expf in the Cephes library. */
INLINE vec exp_negative(vec x)
{
    x = larger(broadcast(-87.0f), x); /* so that n + 127, the bits of the exponent, stays above 0 */
    ivec n = __builtin_convertvector(x * 1.44269504f - 0.5f, ivec); /* exp(x) = 2^n exp(r) */
    vec whole = __builtin_convertvector(n, vec);
    vec r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
    vec p = broadcast(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return (p * r * r + r + 1.0f) * (vec)((n + 127) << 23);
}

/* A product of many factors in each lane, kept as mantissa * 2^exponent because it would overflow a float. */
typedef struct {
    vec mantissa;            /* in [1, 2) */
    ivec exponent;
} Product;

INLINE void multiply(Product *product, vec factors) /* factors from 1 to 2^126 */
{
    ivec bits = (ivec)(product->mantissa * factors);
    product->exponent += (bits >> 23) - 127;
    product->mantissa = (vec)((bits & 0x007fffff) | 0x3f800000);
}

/* The logarithm of the product of all lanes. */
static inline double log_of(const Product *product)
{
    double sum = 0.0;
    for (int k = 0; k < LANES; k++)
        sum += log(product->mantissa[k]) + 0.6931471805599453 * product->exponent[k];
    return sum;
}

INLINE quad add_quads(vec x) /* the sum of a vector's 16-byte parts */
{
#if LANES == 16
    union {
        vec v;
        octet o[2];
    } halves = {x};
    union {
        octet o;
        quad q[2];
    } parts = {halves.o[0] + halves.o[1]};
    return parts.q[0] + parts.q[1];
#elif LANES == 8
    union {
        vec v;
        quad q[2];
    } parts = {x};
    return parts.q[0] + parts.q[1];
#else
    return x;
#endif
}

/* The sum of all lanes. */
INLINE float total(vec x)
{
    quad q = add_quads(x);
    return (q[0] + q[2]) + (q[1] + q[3]);
}

/* Picks lanes of x and y by a list of LANES constants: the lanes are numbered 0 .. 2 LANES - 1, those of x first. */
#if defined(__clang__)
#define SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(x, y, ...) __builtin_shuffle(x, y, (ivec){__VA_ARGS__})
#endif

/* Such a list, which picks the same lanes from each 16-byte part. */
#if LANES == 16
#define BY_QUADS(a, b, c, d) \
    a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12
#elif LANES == 8
#define BY_QUADS(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4
#else
#define BY_QUADS(a, b, c, d) a, b, c, d
#endif
#define ADD_PAIRS(x, y) /* x0 + x2, y0 + y2, x1 + x3, y1 + y3 of each part */ \
    (SHUFFLE(x, y, BY_QUADS(0, LANES, 1, LANES + 1)) + SHUFFLE(x, y, BY_QUADS(2, LANES + 2, 3, LANES + 3)))

/* Rotates x: its lanes from the n-th on come first, then those before. */
#if LANES == 16
#define ROTATED(x, n)                                                                                               \
    SHUFFLE(x, x, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, n + 12, n + 13, \
            n + 14, n + 15)
#elif LANES == 8
#define ROTATED(x, n) SHUFFLE(x, x, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7)
#endif

/* In each lane, the sum over the lanes that belong to the same vector of a GROUP, which are every GROUP-th lane. */
INLINE vec totals_of_group(vec x)
{
#if LANES > 8
    x += ROTATED(x, 8);
#endif
#if LANES > 4
    x += ROTATED(x, 4);
#endif
    return x;
}

/* The same with the maximum instead of the sum. */
INLINE vec largest_of_group(vec x)
{
#if LANES > 8
    x = larger(ROTATED(x, 8), x);
#endif
#if LANES > 4
    x = larger(ROTATED(x, 4), x);
#endif
    return x;
}

/* Each lane gets the number of the vector d before its own in the group, cyclically: with d = 1 the first lane gets
 * the number of the last one. */
INLINE vec from_before(vec x, const int d)
{
    if (d == 0)
        return x;
    if (d == 1)
        return SHUFFLE(x, x, BY_QUADS(3, 0, 1, 2));
    if (d == 2)
        return SHUFFLE(x, x, BY_QUADS(2, 3, 0, 1));
    return SHUFFLE(x, x, BY_QUADS(1, 2, 3, 0));
}

/* Arranges numbers of slots as [place][target]: from[3], from[2], from[1], from[0] at the first place, from[4],
 * from[3], from[2], from[1] at the next one, and so on. */
INLINE vec slots_of_group(const float *from)
{
    vec x;
    memcpy(&x, from, sizeof x);
#if LANES == 16
    return SHUFFLE(x, x, 3, 2, 1, 0, 4, 3, 2, 1, 5, 4, 3, 2, 6, 5, 4, 3);
#elif LANES == 8
    return SHUFFLE(x, x, 3, 2, 1, 0, 4, 3, 2, 1);
#else
    return SHUFFLE(x, x, 3, 2, 1, 0);
#endif
}

/* The four floats at any address, the last one first. */
INLINE quad reversed(const float *from)
{
    quad x;
    memcpy(&x, from, sizeof x);
#if defined(__clang__)
    return __builtin_shufflevector(x, x, 3, 2, 1, 0);
#else
    return __builtin_shuffle(x, (group_ids){3, 2, 1, 0});
#endif
}

/* The totals of four vectors at once, with half of the additions of four calls of total(). */
INLINE quad totals(vec a, vec b, vec c, vec d)
{
    vec ab = ADD_PAIRS(a, b), cd = ADD_PAIRS(c, d);
    return add_quads(SHUFFLE(ab, cd, BY_QUADS(0, 1, LANES, LANES + 1)) +
                     SHUFFLE(ab, cd, BY_QUADS(2, 3, LANES + 2, LANES + 3)));
}

#endif
