/* Products and sums of rows: one vector with many rows, and a GROUP of vectors with many rows.
 *
 * Everything that the loop does with parameters is one of these:
 *
 *     dots      x . row for many rows
 *     gather    x = sum of weighted rows
 *     scatter   each row += weight * x
 *     exchange  gather and scatter in one pass: the gradient of x, and the step of the rows
 *
 * A row has nv vectors. They are taken in panels of a few vectors, a compile-time constant, so that x stays in
 * registers while the rows, any number of them, are read from memory one after the other.
 */
#ifndef SGNS_ROWS_H
#define SGNS_ROWS_H

#include <string.h>

#include "sgns_simd.h"

#define PANEL 8                          /* vectors of x that stay in registers */
#define GROUP_PANEL (LANES == 16 ? 3 : 2) /* the same for a GROUP of vectors and their gradients */
#define BLOCK_PANEL (LANES == 16 ? 4 : 2) /* the same for a GROUP of vectors alone */
#define TILE (LANES == 16 ? 6 : 3)       /* rows whose products with a GROUP of vectors stay in registers */

/* Calls panel(at, count) for the items at .. at + count - 1 of n, at most `most` at a time. */
#define FOR_PANELS(n, most, panel)                   \
    do {                                             \
        int at_ = 0;                                 \
        for (; at_ + (most) <= (n); at_ += (most)) { \
            panel(at_, (most));                      \
        }                                            \
        switch ((n) - at_) {                         \
            LAST_PANEL(7, most, panel)               \
            LAST_PANEL(6, most, panel)               \
            LAST_PANEL(5, most, panel)               \
            LAST_PANEL(4, most, panel)               \
            LAST_PANEL(3, most, panel)               \
            LAST_PANEL(2, most, panel)               \
            LAST_PANEL(1, most, panel)               \
        }                                            \
    } while (0)
#define LAST_PANEL(count, most, panel) \
    case count:                        \
        if ((most) > count) {          \
            panel(at_, count);         \
        }                              \
        break;

/* ---- one vector and many rows ----------------------------------------------------------- */

INLINE void dots_panel(const float *x, float *const *rows, vec *sums, int n, int at, const int count)
{
    vec part[PANEL];
    EACH (k, count)
        part[k] = AT(x, at + k);
    for (int t = 0; t < n; t++) {
        const float *row = rows[t];
        vec even = part[0] * AT(row, at), odd = {0}; /* two sums: in one, each addition waits for the one before */
        EACH (k, count - 1) {
            if (k % 2)
                even += part[k + 1] * AT(row, at + k + 1);
            else
                odd += part[k + 1] * AT(row, at + k + 1);
        }
        vec sum = even + odd;
        if (at)
            sum += sums[t];
        sums[t] = sum;
    }
}

/* out[t] = x . rows[t]; sums is scratch space for n vectors, out is written up to a multiple of 4 */
INLINE void dots(const float *x, float *const *rows, vec *sums, int n, int nv, float *out)
{
#define DOTS(at, count) dots_panel(x, rows, sums, n, at, count)
    FOR_PANELS(nv, PANEL, DOTS);
    for (int t = 0; t < n; t += 4) {
        quad four = totals(sums[t], sums[t + 1], sums[t + 2], sums[t + 3]);
        memcpy(out + t, &four, sizeof four);
    }
}

INLINE void exchange_panel(float *x, float *sum, float *const *rows, const float *weights, int n, int at,
                           const int count, const int in_place)
{
    vec part[PANEL], sums[PANEL];
    EACH (k, count) {
        part[k] = AT(x, at + k);
        sums[k] = in_place ? part[k] : (vec){0};
    }
    for (int t = 0; t < n; t++) {
        float *row = rows[t];
        vec weight = broadcast(weights[t]);
        EACH (k, count) {
            vec old = AT(row, at + k);
            sums[k] += weight * old;
            AT(row, at + k) = old + weight * part[k];
        }
    }
    EACH (k, count)
        AT(in_place ? x : sum, at + k) = sums[k];
}

/* sum = sum_t weights[t] rows[t] and rows[t] += weights[t] x, in one pass. If a row occurs twice, its second product
 * is taken after its first step. In place, the sum is added to x itself. */
INLINE void exchange(float *x, float *sum, float *const *rows, const float *weights, int n, int nv, const int in_place)
{
#define EXCHANGE(at, count) exchange_panel(x, sum, rows, weights, n, at, count, in_place)
    FOR_PANELS(nv, PANEL, EXCHANGE);
}

/* row += weight x */
INLINE void add_times(float *row, const float *x, float weight, int nv)
{
    const vec times = broadcast(weight);
    for (int k = 0; k < nv; k++)
        AT(row, k) += times * AT(x, k);
}

/* sum = sum_t weights[t] rows[t] */
INLINE void gather(float *sum, float *const *rows, const float *weights, int n, int nv)
{
    memset(sum, 0, (size_t)nv * sizeof(vec));
    for (int t = 0; t < n; t++)
        add_times(sum, rows[t], weights[t], nv);
}

/* row += x */
INLINE void add(float *row, const float *x, int nv)
{
    for (int k = 0; k < nv; k++)
        AT(row, k) += AT(x, k);
}

/* ---- a group of vectors and many rows ----------------------------------------------------
 *
 * The rows are multiplied with all vectors xs[0 .. GROUP - 1]; besides, each vector has one row of its own, target_rows[b].
 * Numbers for each pair of row and vector are stored row by row, [t][b], and those of the target rows last. */

INLINE void dots_tile(float *const *xs, float *const *rows, int nv, float *out, float *const *target_rows,
                      float *target_out, const int count, const int with_targets)
{
    vec sum[TILE][GROUP] = {{{0}}};
    for (int k = 0; k < nv; k++) {
        vec x[GROUP];
        EACH (b, GROUP)
            x[b] = AT(xs[b], k);
        if (with_targets)
            EACH (b, GROUP)
                sum[count][b] += x[b] * AT(target_rows[b], k);
        EACH (t, count) {
            vec here = AT(rows[t], k);
            EACH (b, GROUP)
                sum[t][b] += x[b] * here;
        }
    }
    EACH (t, count + with_targets) {
        quad four = totals(sum[t][0], sum[t][1], sum[t][2], sum[t][3]);
        memcpy(t < count ? out + GROUP * t : target_out, &four, sizeof four);
    }
}

/* out[t][b] = xs[b] . rows[t], and out[n][b] = xs[b] . target_rows[b], which is computed with the first tile */
INLINE void dots_group(float *const *xs, float *const *target_rows, float *const *rows, int n, int nv, float *out)
{
    float *target_out = out + GROUP * n;
#define DOTS_TILE(at, count)                                                                             \
    if (at)                                                                                              \
        dots_tile(xs, rows + (at) - 1, nv, out + GROUP * ((at) - 1), target_rows, target_out, count, 0); \
    else                                                                                                 \
        dots_tile(xs, rows, nv, out, target_rows, target_out, (count) - 1, 1)
    FOR_PANELS(n + 1, TILE, DOTS_TILE);
}

/* out[t][b] = xs[b] . rows[t] */
INLINE void dots_shared(float *const *xs, float *const *rows, int n, int nv, float *out)
{
#define DOTS_SHARED(at, count) dots_tile(xs, rows + (at), nv, out + GROUP * (at), 0, 0, count, 0)
    FOR_PANELS(n, TILE, DOTS_SHARED);
}

INLINE void gather_group_panel(float *const *xs, float *const *rows, const float *weights, int n, int at,
                               const int count)
{
    vec sum[GROUP][BLOCK_PANEL] = {{{0}}};
    for (int t = 0; t < n; t++, weights += GROUP) {
        const float *row = rows[t];
        vec weight[GROUP];
        EACH (b, GROUP)
            weight[b] = broadcast(weights[b]);
        EACH (k, count) {
            vec here = AT(row, at + k);
            EACH (b, GROUP)
                sum[b][k] += weight[b] * here;
        }
    }
    EACH (b, GROUP)
        EACH (k, count)
            AT(xs[b], at + k) = sum[b][k];
}

/* xs[b] = sum_t weights[t][b] rows[t] */
INLINE void gather_group(float *const *xs, float *const *rows, const float *weights, int n, int nv)
{
#define GATHER_GROUP(at, count) gather_group_panel(xs, rows, weights, n, at, count)
    FOR_PANELS(nv, BLOCK_PANEL, GATHER_GROUP);
}

INLINE void scatter_group_panel(float *const *xs, float *const *rows, const float *weights, int n, int at,
                                const int count)
{
    vec part[GROUP][BLOCK_PANEL];
    EACH (b, GROUP)
        EACH (k, count)
            part[b][k] = AT(xs[b], at + k);
    for (int t = 0; t < n; t++, weights += GROUP) { /* in order, as a word may occur twice among the rows */
        float *row = rows[t];
        vec weight[GROUP];
        EACH (b, GROUP)
            weight[b] = broadcast(weights[b]);
        EACH (k, count) {
            vec here = AT(row, at + k);
            EACH (b, GROUP)
                here += weight[b] * part[b][k];
            AT(row, at + k) = here;
        }
    }
}

/* rows[t] += sum_b weights[t][b] xs[b] */
INLINE void scatter_group(float *const *xs, float *const *rows, const float *weights, int n, int nv)
{
#define SCATTER_GROUP(at, count) scatter_group_panel(xs, rows, weights, n, at, count)
    FOR_PANELS(nv, BLOCK_PANEL, SCATTER_GROUP);
}

INLINE void exchange_group_panel(float *const *xs, float *const *sums, float *const *target_rows, float *const *rows,
                                 const float *weights, int n, int at, const int count, const int with_targets,
                                 const int in_place)
{
    const float *last = weights + GROUP * n;
    vec part[GROUP][GROUP_PANEL], sum[GROUP][GROUP_PANEL];
    EACH (b, GROUP) {
        const float *x = xs[b];
        if (!with_targets) {
            EACH (k, count) {
                part[b][k] = AT(x, at + k);
                sum[b][k] = in_place ? part[b][k] : (vec){0};
            }
            continue;
        }
        float *row = target_rows[b];
        const vec weight = broadcast(last[b]);
        EACH (k, count) {
            vec old = AT(row, at + k);
            part[b][k] = AT(x, at + k);
            sum[b][k] = in_place ? part[b][k] + weight * old : weight * old;
            AT(row, at + k) = old + weight * part[b][k];
        }
    }
    for (int t = 0; t < n; t++, weights += GROUP) {
        float *row = rows[t];
        vec weight[GROUP];
        EACH (b, GROUP)
            weight[b] = broadcast(weights[b]);
        EACH (k, count) {
            vec old = AT(row, at + k), new = old;
            EACH (b, GROUP) {
                sum[b][k] += weight[b] * old;
                new += weight[b] * part[b][k];
            }
            AT(row, at + k) = new;
        }
    }
    EACH (b, GROUP) {
        float *to = in_place ? xs[b] : sums[b];
        EACH (k, count)
            AT(to, at + k) = sum[b][k];
    }
}

/* With w = weights:
 *     sums[b] = w[n][b] target_rows[b] + sum_t w[t][b] rows[t]
 *     target_rows[b] += w[n][b] xs[b]   and   rows[t] += sum_b w[t][b] xs[b]
 * in one pass: a row that occurs twice is read the second time after its first step, target rows first. In place, the
 * sums are added to the xs themselves; then no two xs may be the same row. */
INLINE void exchange_group(float *const *xs, float *const *sums, float *const *target_rows, float *const *rows,
                           const float *weights, int n, int nv, const int in_place)
{
#define EXCHANGE_GROUP(at, count) exchange_group_panel(xs, sums, target_rows, rows, weights, n, at, count, 1, in_place)
    FOR_PANELS(nv, GROUP_PANEL, EXCHANGE_GROUP);
}

/* The same without target rows. */
INLINE void exchange_shared(float *const *xs, float *const *sums, float *const *rows, const float *weights, int n,
                            int nv, const int in_place)
{
#define EXCHANGE_SHARED(at, count) exchange_group_panel(xs, sums, 0, rows, weights, n, at, count, 0, in_place)
    FOR_PANELS(nv, GROUP_PANEL, EXCHANGE_SHARED);
}

/* Whether no two vectors of a group are the same row. */
INLINE int distinct(float *const *xs)
{
    for (int a = 1; a < GROUP; a++)
        for (int b = 0; b < a; b++)
            if (xs[a] == xs[b])
                return 0;
    return 1;
}

#endif
