/* One training loop for five models, compiled once per instruction set.
 *
 * Before including: LANES, the floats per vector, and TRAIN, the name of the door.
 * The readable twin, with the same order of draws and the same names for what both
 * have, is in sgns_numba.py; the equations are in docs/models.md.
 *
 * All five models do the same thing at each example:
 *
 *     compose  a hidden vector x from input rows           (one row, a mean, a
 *              softmax-weighted mean, or a concatenation)
 *     step     one vector against many rows: x . rows, the sigmoid, its gradient
 *     scatter  the gradient of x back over the input rows
 *
 * and differ in what x is, in which output row of a word they meet ("band"), and
 * in whether attention logits learn as well.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sgns.h"

#define INLINE static inline __attribute__((always_inline))
#define PANEL 8         /* vectors of a row that stay in registers while other rows go by */
#define SMALL_PANEL (LANES == 16 ? 4 : 2) /* the same for several vectors: AVX-512 has twice the registers */
#define TOGETHER 4      /* vectors that meet rows in one pass */
#define AHEAD 2         /* examples between asking the memory for a row and using it */
#define LINES_AHEAD 10  /* cache lines of one row worth asking for; the hardware follows a longer row itself */
#define VECTORS(n) (((n) + LANES - 1) / LANES)

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * LANES), may_alias));
typedef float quad __attribute__((vector_size(16), may_alias));

/* ---- random numbers -------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea, Flood 2014), upper 32 bits: uniform on 0 .. 2^32 - 1. */
INLINE uint32_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* ---- vectors --------------------------------------------------------------------------- */

INLINE vec broadcast(float x) { return x - (vec){0}; } /* 0 + x would cost an addition: it is not x if x is -0 */

INLINE vec choose(ivec mask, vec yes, vec no) { return (vec)((mask & (ivec)yes) | (~mask & (ivec)no)); }

/* b where a is not a number: put a constant first, so that a diverged x shows in the loss. */
INLINE vec larger(vec a, vec b) { return choose(a > b, a, b); }

INLINE vec magnitude(vec x) { return (vec)((ivec)x & 0x7fffffff); }

/* exp(x) for x <= 0, relative error 1e-7; exactly 1 at 0 (check T2 depends on it). */
INLINE vec exp_negative(vec x)
{
    x = larger(broadcast(-87.0f), x);
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

/* log(1 + e) for 0 <= e <= 1, absolute error 2e-8: 2 artanh(e / (2 + e)) as a series. */
INLINE vec log_one_plus(vec e)
{
    vec s = e / (e + 2.0f), q = s * s;
    vec p = broadcast(2.0f / 13.0f);
    p = p * q + 2.0f / 11.0f;
    p = p * q + 2.0f / 9.0f;
    p = p * q + 2.0f / 7.0f;
    p = p * q + 2.0f / 5.0f;
    p = p * q + 2.0f / 3.0f;
    p = p * q + 2.0f;
    return p * s;
}

INLINE quad narrow(vec x) /* sum of a vector's 16-byte parts */
{
    union { vec v; quad q[LANES / 4]; } parts = {x};
#if LANES == 16
    return (parts.q[0] + parts.q[2]) + (parts.q[1] + parts.q[3]);
#elif LANES == 8
    return parts.q[0] + parts.q[1];
#else
    return parts.q[0];
#endif
}

INLINE float total(vec x)
{
    quad q = narrow(x);
    return (q[0] + q[2]) + (q[1] + q[3]);
}

/* ---- one row and many ------------------------------------------------------------------
 *
 * Rows are taken in panels of at most PANEL vectors, a compile-time constant: the one row
 * stays in registers, the many are read from memory, any number of them. */

#define AT(pointer, k) (((vec *)(pointer))[k])
#define EACH(k, count) _Pragma("GCC unroll 8") for (int k = 0; k < (count); k++)

/* Calls panel(at, count) for the vectors at .. at + count - 1 of rows of nv vectors, at most `most` at a time. */
#define FOR_PANELS(nv, most, panel)                        \
    do {                                                   \
        int at_ = 0;                                       \
        for (; at_ + (most) <= (nv); at_ += (most))        \
            panel(at_, (most));                            \
        switch ((nv) - at_) {                              \
        case 7: if ((most) > 7) panel(at_, 7); break;      \
        case 6: if ((most) > 6) panel(at_, 6); break;      \
        case 5: if ((most) > 5) panel(at_, 5); break;      \
        case 4: if ((most) > 4) panel(at_, 4); break;      \
        case 3: if ((most) > 3) panel(at_, 3); break;      \
        case 2: if ((most) > 2) panel(at_, 2); break;      \
        case 1: if ((most) > 1) panel(at_, 1); break;      \
        }                                                  \
    } while (0)

INLINE void dots_panel(const float *x, float *const *rows, quad *sums, int n, int at, const int count)
{
    vec part[PANEL];
    EACH(k, count)
        part[k] = AT(x, at + k);
    for (int t = 0; t < n; t++) {
        const float *row = rows[t];
        vec even = part[0] * AT(row, at), odd = {0};
        EACH(k, count - 1) {
            if (k % 2)
                even += part[k + 1] * AT(row, at + k + 1);
            else
                odd += part[k + 1] * AT(row, at + k + 1);
        }
        quad sum = narrow(even + odd);
        if (at)
            sum += sums[t];
        sums[t] = sum;
    }
}

INLINE quad totals(quad a, quad b, quad c, quad d) /* of each */
{
    typedef int32_t order __attribute__((vector_size(16)));
    quad ab = __builtin_shuffle(a, b, (order){0, 4, 1, 5}) + __builtin_shuffle(a, b, (order){2, 6, 3, 7});
    quad cd = __builtin_shuffle(c, d, (order){0, 4, 1, 5}) + __builtin_shuffle(c, d, (order){2, 6, 3, 7});
    return __builtin_shuffle(ab, cd, (order){0, 1, 4, 5}) + __builtin_shuffle(ab, cd, (order){2, 3, 6, 7});
}

/* out[t] = x . rows[t]; sums is scratch for n quads, out may be written up to a multiple of 4 */
INLINE void dots(const float *x, float *const *rows, quad *sums, int n, int nv, float *out)
{
#define DOTS(at, count) dots_panel(x, rows, sums, n, at, count)
    FOR_PANELS(nv, PANEL, DOTS);
    for (int t = 0; t < n; t += 4) {
        quad four = totals(sums[t], sums[t + 1], sums[t + 2], sums[t + 3]);
        memcpy(out + t, &four, sizeof four);
    }
}

INLINE void gather_panel(float *const *xs, float *const *rows, const float *weights, int stride, int n, int at,
                         const int count, const int size)
{
    vec sum[TOGETHER][PANEL] = {{{0}}};
    for (int t = 0; t < n; t++) {
        const float *row = rows[t];
        vec weight[TOGETHER];
        EACH(b, size)
            weight[b] = broadcast(weights[b * stride + t]);
        EACH(k, count) {
            vec here = AT(row, at + k);
            EACH(b, size)
                sum[b][k] += weight[b] * here;
        }
    }
    EACH(b, size)
        EACH(k, count)
            AT(xs[b], at + k) = sum[b][k];
}

/* x = sum_t weights[t] rows[t] */
INLINE void gather(float *x, float *const *rows, const float *weights, int n, int nv)
{
#define GATHER(at, count) gather_panel(&x, rows, weights, 0, n, at, count, 1)
    FOR_PANELS(nv, PANEL, GATHER);
}

INLINE void scatter_panel(float *const *xs, float *const *rows, const float *weights, int stride, int n, int at,
                          const int count, const int size)
{
    vec part[TOGETHER][PANEL];
    EACH(b, size)
        EACH(k, count)
            part[b][k] = AT(xs[b], at + k);
    for (int t = 0; t < n; t++) { /* in order: a word may stand twice in the window */
        float *row = rows[t];
        vec weight[TOGETHER];
        EACH(b, size)
            weight[b] = broadcast(weights[b * stride + t]);
        EACH(k, count) {
            vec sum = AT(row, at + k);
            EACH(b, size)
                sum += weight[b] * part[b][k];
            AT(row, at + k) = sum;
        }
    }
}

/* rows[t] += weights[t] x */
INLINE void scatter(float *x, float *const *rows, const float *weights, int n, int nv)
{
#define SCATTER(at, count) scatter_panel(&x, rows, weights, 0, n, at, count, 1)
    FOR_PANELS(nv, PANEL, SCATTER);
}

INLINE void exchange_panel(float *const *xs, float *const *sums, float *const *rows, const float *weights, int stride,
                           int n, int at, const int count, const int size, const int fresh)
{
    vec part[TOGETHER][PANEL], sum[TOGETHER][PANEL];
    EACH(b, size)
        EACH(k, count) {
            part[b][k] = AT(xs[b], at + k);
            sum[b][k] = fresh ? (vec){0} : AT(sums[b], at + k);
        }
    for (int t = 0; t < n; t++) {
        float *row = rows[t];
        vec weight[TOGETHER];
        EACH(b, size)
            weight[b] = broadcast(weights[b * stride + t]);
        EACH(k, count) {
            vec old = AT(row, at + k), new = old;
            EACH(b, size) {
                sum[b][k] += weight[b] * old;
                new += weight[b] * part[b][k];
            }
            AT(row, at + k) = new;
        }
    }
    EACH(b, size)
        EACH(k, count)
            AT(sums[b], at + k) = sum[b][k];
}

/* sum = sum_t weights[t] rows[t] and rows[t] += weights[t] x, in one pass: if a row stands twice, the sum takes
 * the second as the first has left it. */
INLINE void exchange(float *x, float *sum, float *const *rows, const float *weights, int n, int nv)
{
#define EXCHANGE(at, count) exchange_panel(&x, &sum, rows, weights, 0, n, at, count, 1, 1)
    FOR_PANELS(nv, PANEL, EXCHANGE);
}

/* ---- several rows and many -------------------------------------------------------------
 *
 * The same for `size` <= TOGETHER vectors at once, each with its weights of the many: these are read, and written,
 * once. */

#define SEVERAL(function, size, ...)              \
    switch (size) {                               \
    case 1: function(__VA_ARGS__, 1); break;      \
    case 2: function(__VA_ARGS__, 2); break;      \
    case 3: function(__VA_ARGS__, 3); break;      \
    default: function(__VA_ARGS__, TOGETHER);     \
    }

/* sums[b] += sum_t weights[b stride + t] rows[t] and rows[t] += sum_b weights[b stride + t] xs[b] */
INLINE void exchange_several(float *const *xs, float *const *sums, float *const *rows, const float *weights, int stride,
                             int n, int nv, const int size)
{
    const int most = LANES == 16 ? 3 : 1;
#define EXCHANGE_SEVERAL(at, count) exchange_panel(xs, sums, rows, weights, stride, n, at, count, size, 0)
    FOR_PANELS(nv, most, EXCHANGE_SEVERAL);
}

INLINE void dots_several_panel(float *const *xs, float *const *rows, int n, float *out, int at, const int count,
                               const int size)
{
    vec part[TOGETHER][PANEL];
    EACH(b, size)
        EACH(k, count)
            part[b][k] = AT(xs[b], at + k);
    for (int t = 0; t < n; t++) {
        const float *row = rows[t];
        vec sum[TOGETHER] = {{0}};
        EACH(k, count) {
            vec here = AT(row, at + k);
            EACH(b, size)
                sum[b] += part[b][k] * here;
        }
        quad four = totals(narrow(sum[0]), narrow(sum[1]), narrow(sum[2]), narrow(sum[3]));
        quad *place = (quad *)(out + TOGETHER * t);
        if (at)
            four += *place;
        *place = four;
    }
}

/* out[TOGETHER t + b] = xs[b] . rows[t] */
INLINE void dots_several(float *const *xs, float *const *rows, int n, int nv, float *out, const int size)
{
#define DOTS_SEVERAL(at, count) dots_several_panel(xs, rows, n, out, at, count, size)
    FOR_PANELS(nv, SMALL_PANEL, DOTS_SEVERAL);
}

/* xs[b] = sum_t weights[b stride + t] rows[t] */
INLINE void gather_several(float *const *xs, float *const *rows, const float *weights, int stride, int n, int nv,
                           const int size)
{
#define GATHER_SEVERAL(at, count) gather_panel(xs, rows, weights, stride, n, at, count, size)
    FOR_PANELS(nv, SMALL_PANEL, GATHER_SEVERAL);
}

/* rows[t] += sum_b weights[b stride + t] xs[b] */
INLINE void scatter_several(float *const *xs, float *const *rows, const float *weights, int stride, int n, int nv,
                            const int size)
{
#define SCATTER_SEVERAL(at, count) scatter_panel(xs, rows, weights, stride, n, at, count, size)
    FOR_PANELS(nv, SMALL_PANEL, SCATTER_SEVERAL);
}

/* row += x */
INLINE void add(float *row, const float *x, int nv)
{
    for (int k = 0; k < nv; k++)
        AT(row, k) += AT(x, k);
}

/* Turns n logits into g = alpha * weight * (label - sigmoid(logit)), in place, and returns the loss
 * sum weight * -log sigmoid(logit if label else -logit). Weights are 0 up to a whole vector. */
INLINE float coefficients(float *logits, const float *labels, const float *weights, float alpha, int n)
{
    vec loss = {0};
    for (int k = 0; k < VECTORS(n); k++) {
        vec z = AT(logits, k), label = AT(labels, k), weight = AT(weights, k);
        vec e = exp_negative(-magnitude(z));
        vec near_one = 1.0f / (1.0f + e); /* sigmoid(|z|) */
        vec sigmoid = choose(z > 0.0f, near_one, e * near_one);
        vec against = z * (1.0f - 2.0f * label);
        loss += weight * (larger((vec){0}, against) + log_one_plus(e));
        AT(logits, k) = alpha * weight * (label - sigmoid);
    }
    return total(loss);
}

/* ---- what one call carries along ------------------------------------------------------- */

typedef struct {
    int32_t target;          /* the word to predict */
    int first, n;            /* from the n context words in the slots first, first + 1, .. */
    int middle;              /* where it stands among the words around the block */
    float *hidden, *grad;    /* (out_width,) x, and -alpha dL/dx */
    float *shares, *steps;   /* (n_slots,) padded: x = sum shares W; W += steps grad, not used for several examples */
    float **contexts;        /* (n_slots,) rows of W by slot; not set for several examples */
} Example;

typedef struct {
    const Hyper *p;
    const Task *task;
    uint64_t rng;
    int64_t cursor;          /* tuple of negatives in use */
    float alpha;
    double loss, concentration;
    int64_t examples, contexts, weighed;
    int n_targets, n_slots;  /* drawn + 1, 2 window */
    Example *block;          /* (shared_by,) the examples that share a tuple */
    int size, weighted;      /* how many there are, and for how many weights are set */
    int several;             /* examples may share a tuple: they meet its rows and those of their contexts in one pass */
    float **around, **logits_around; /* rows of W and K of the words around the block */
    float *shares_around;    /* (shared_by, n_around) the shares of the examples by place, 0 where there is none */
    int n_around;            /* shared_by + n_slots, padded */
    float *logits, *labels, *weights; /* (shared_by, n_targets), packed; a target after its negatives */
    float **targets;         /* (drawn + shared_by,) rows of O: the negatives, then the targets that a vector meets */
    float **hiddens, **grads; /* (shared_by,) those of the examples */
    float **rows, **logit_rows; /* (n_slots / 2 + n_tokens + n_slots / 2,) rows of W and K of the text, padded */
    quad *sums;              /* scratch of dots */
    float *slot_logits;      /* (n_slots,) s before the step of the block */
    float *slopes;           /* (n_around, TOGETHER) scratch of learn_attention */
    float *nowhere;          /* a row of zeros, for places without a word */
    int32_t *line;           /* (n_tokens,) what sub-sampling kept */
    ivec places;             /* 0, 1, .. LANES - 1 */
} State;

INLINE float *row_of(const Rows *rows, int64_t word, int n_private)
{
    return (word < n_private ? rows->own : rows->shared) + word * rows->stride;
}

INLINE float *input_row(const State *s, int32_t word) { return row_of(&s->task->inputs, word, s->p->n_private); }

INLINE float *output_row(const State *s, int32_t word, int band)
{
    return row_of(&s->task->outputs, word, s->p->n_private) + (int64_t)band * s->p->out_width;
}

INLINE float *logit_row(const State *s, int32_t word)
{
    return row_of(&s->task->word_logits, word, s->p->n_private);
}

INLINE float *slot_logits(const State *s)
{
    return s->p->n_private ? s->task->slot_logits.own : s->task->slot_logits.shared;
}

/* Into the second cache level: the first has too few buffers for what is on its way from memory, and an
 * instruction that waits for one of them holds up all others. */
INLINE void prefetch_row(const float *row, int nv)
{
    int n = nv * LANES / 16;
    n = n < LINES_AHEAD ? n : LINES_AHEAD;
    for (int k = 0; k < n; k++)
        __builtin_prefetch(row + 16 * k, 1, 2);
}

/* Where the window of an example begins among the words around the block; it has n + 1 places with the target's. */
INLINE int begins(const Example *x, int window) { return x->middle - window + x->first; }

/* The places around the block that are in the windows of the examples b .. b + TOGETHER - 1: n from the first on. */
typedef struct {
    int first, n;
} Reach;

INLINE Reach reach_of(const State *s, int b)
{
    const int window = s->p->window, last = b + TOGETHER < s->size ? b + TOGETHER - 1 : s->size - 1;
    const int first = begins(&s->block[b], window); /* windows begin and end in their order */
    return (Reach){first, begins(&s->block[last], window) + s->block[last].n + 1 - first};
}

/* ---- attention (Ling et al. 2015, eq. 2-3) --------------------------------------------- */

/* The contexts of an example are the n words to the left of the target, then those to its right. */
typedef struct {
    float **rows;            /* of K */
    int i, slot, n;          /* the first of them is context i, in this slot */
} Side;

INLINE Side side_of(const State *s, const Example *x, int right)
{
    const int window = s->p->window, left = window - x->first;
    if (right)
        return (Side){s->logits_around + x->middle + 1, left, window, x->n - left};
    return (Side){s->logits_around + x->middle - left, 0, x->first, left};
}

/* shares[i] = K[w_i, i] */
INLINE void look_up(const State *s, Example *x)
{
    const int columns = s->p->word_slots;
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, x, right);
        for (int k = 0; k < side.n; k++)
            x->shares[side.i + k] = side.rows[k][columns * (side.slot + k)];
    }
}

/* shares[i] = exp(e_i - max e) over the example's slots, e_i = K[w_i, i] + s[i], from what was looked up;
 * returns the sum Z, so that the weight of slot i is a_i = shares[i] / Z. */
INLINE float attend(State *s, Example *x)
{
    const Hyper *p = s->p;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0}, squares = {0};
    for (int k = 0; k < VECTORS(x->n); k++) {
        vec e = {0}, slots;
        if (p->word_stride)
            e = AT(x->shares, k);
        if (p->use_slots) {
            memcpy(&slots, s->slot_logits + x->first + k * LANES, sizeof slots); /* not aligned */
            e += slots;
        }
        e = larger(low, choose(e > high, high, e));
        e = choose(s->places + k * LANES < x->n, e, low);
        most = larger(most, e);
        AT(x->shares, k) = e;
    }
    float top = most[0];
    for (int k = 1; k < LANES; k++)
        top = most[k] > top ? most[k] : top;
    for (int k = 0; k < VECTORS(x->n); k++) {
        vec share = choose(s->places + k * LANES < x->n, exp_negative(AT(x->shares, k) - top), (vec){0});
        AT(x->shares, k) = share;
        sum += share;
        squares += share * share;
    }
    float z = total(sum);
    if (x->n > 1) { /* there was a choice */
        s->concentration += total(squares) / (z * z);
        s->weighed++;
    }
    return z;
}

/* K and s follow  -dL/de_i = a_i (w_i . grad - x . grad), from the rows before the step. The products w_i . grad stand
 * in slopes[stride i]; for several examples there is one for the target's own place, too. */
INLINE void learn_logits(State *s, Example *x, const float *slopes, const int stride, const int nv)
{
    const Hyper *p = s->p;
    const int columns = p->word_slots;
    float *slots = slot_logits(s), along[4];
    dots(x->grad, &x->hidden, s->sums, 1, nv, along);
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, x, right);
        const float *slope = slopes + stride * (side.i + (right & s->several)), *shares = x->shares + side.i;
        for (int k = 0; k < side.n; k++) {
            float delta = p->attention_rate * shares[k] * (slope[stride * k] - along[0]);
            if (p->word_stride)
                side.rows[k][columns * (side.slot + k)] += delta;
            if (p->use_slots)
                slots[side.slot + k] += delta;
        }
    }
}

INLINE void learn_attention(State *s, const int nv)
{
    Example *x = s->block;
    if (!s->several) {
        dots(x->grad, x->contexts + x->first, s->sums, x->n, nv, s->slopes);
        learn_logits(s, x, s->slopes, 1, nv);
        return;
    }
    for (int b = 0; b < s->size; b += TOGETHER) {
        const int size = s->size - b;
        const Reach reach = reach_of(s, b);
        SEVERAL(dots_several, size, s->grads + b, s->around + reach.first, reach.n, nv, s->slopes)
        for (int i = 0; i < size && i < TOGETHER; i++, x++) {
            int place = begins(x, s->p->window) - reach.first;
            learn_logits(s, x, s->slopes + TOGETHER * place + i, TOGETHER, nv);
        }
    }
}

/* ---- contexts -------------------------------------------------------------------------- */

/* The factors by which the rows of a context make the hidden vector, and take its gradient: for cbow 1 / n each,
 * for cbow-attn what attention gives. */
INLINE void share(State *s, Example *x)
{
    const Hyper *p = s->p;
    float sum = (float)x->n;
    if (p->model == MODEL_CBOW_ATTN)
        sum = attend(s, x);
    else
        for (int k = 0; k < VECTORS(x->n); k++)
            AT(x->shares, k) = broadcast(1.0f);
    /* exact: W_i moves by a_i grad;  word2vec: by n a_i grad, for a plain mean by grad itself */
    float inverse = 1.0f / sum, scale = p->word2vec_update ? (float)x->n / sum : inverse;
    for (int k = 0; k < VECTORS(x->n); k++) {
        AT(x->steps, k) = AT(x->shares, k) * scale;
        AT(x->shares, k) *= inverse;
    }
}

/* The shares of an example by place around the block, 0 where it has none: for cbow all alike, else what share() gave. */
INLINE void place_shares(const State *s, const Example *x, float *shares)
{
    const int window = s->p->window, first = begins(x, window), left = window - x->first;
    const int alike = s->p->model == MODEL_CBOW;
    const vec each = broadcast(alike ? 1.0f / (float)x->n : 0.0f);
    for (int k = 0; k < s->n_around / LANES; k++) {
        ivec place = s->places + k * LANES;
        AT(shares, k) = choose((place >= first) & (place <= first + x->n) & (place != x->middle), each, (vec){0});
    }
    if (alike)
        return;
    memcpy(shares + first, x->shares, (size_t)left * sizeof(float));
    memcpy(shares + x->middle + 1, x->shares + left, (size_t)(x->n - left) * sizeof(float));
}

/* Windows of neighbours overlap: those of TOGETHER examples from one pass over the rows that are in any. A row that
 * diverged reaches them all, as 0 times infinity is no number. */
INLINE void compose_several(State *s, const int nv)
{
    const int n_around = s->n_around;
    for (int b = 0; b < s->size; b++)
        place_shares(s, &s->block[b], s->shares_around + (size_t)b * n_around);
    for (int b = 0; b < s->size; b += TOGETHER) {
        const Reach reach = reach_of(s, b);
        SEVERAL(gather_several, s->size - b, s->hiddens + b, s->around + reach.first,
                s->shares_around + (size_t)b * n_around + reach.first, n_around, reach.n, nv)
    }
}

INLINE void spread_several(State *s, const int nv)
{
    const int n_around = s->n_around;
    for (int b = 0; b < s->size; b += TOGETHER) {
        const Reach reach = reach_of(s, b);
        for (int i = b; s->p->word2vec_update && i < s->size && i < b + TOGETHER; i++)
            for (int k = 0; k < nv; k++)
                AT(s->grads[i], k) *= (float)s->block[i].n;
        SEVERAL(scatter_several, s->size - b, s->grads + b, s->around + reach.first,
                s->shares_around + (size_t)b * n_around + reach.first, n_around, reach.n, nv)
    }
}

/* The hidden vectors x of the block:
 *   skipgram, ssg   the row of its one context word
 *   cbow            the mean of the rows
 *   cbow-attn       their mean weighted by attention
 *   cwindow         the rows side by side, zeros where there is no word */
INLINE void compose(State *s, const int nv)
{
    const Hyper *p = s->p;
    if (p->model == MODEL_CBOW_ATTN && p->use_slots)
        memcpy(s->slot_logits, slot_logits(s), (size_t)s->n_slots * sizeof(float));
    /* for all first: what is written one by one is not soon to be read as a vector */
    if (p->model == MODEL_CBOW_ATTN && p->word_stride)
        for (Example *x = s->block; x < s->block + s->size; x++)
            look_up(s, x);
    Example *x = s->block;
    if (p->model == MODEL_CWINDOW) {
        memset(x->hidden, 0, (size_t)p->out_width * sizeof(float));
        for (int i = x->first; i < x->first + x->n; i++)
            memcpy(x->hidden + i * p->width, x->contexts[i], (size_t)p->width * sizeof(float));
        return;
    }
    if (!s->several || p->model == MODEL_CBOW_ATTN)
        for (int b = 0; b < s->size; b++)
            share(s, x + b);
    if (s->several)
        compose_several(s, nv);
    else
        gather(x->hidden, x->contexts + x->first, x->shares, x->n, nv);
}

/* Takes the gradients of x back to the rows that it was composed of. */
INLINE void spread(State *s, const int nv)
{
    Example *x = s->block;
    if (s->several)
        spread_several(s, nv);
    else if (s->p->model == MODEL_CWINDOW)
        for (int i = x->first; i < x->first + x->n; i++)
            add(x->contexts[i], x->grad + i * s->p->width, nv);
    else
        scatter(x->grad, x->contexts + x->first, x->steps, x->n, nv);
}

/* ---- the step -------------------------------------------------------------------------- */

INLINE const int32_t *tuple_at(const State *s, int64_t cursor)
{
    return s->task->pool + (cursor % s->task->n_tuples) * s->p->drawn;
}

/* Sets the labels and weights of the block's logits: 0 and the negatives' weight, 1 and 1 for targets. */
static void weigh(State *s)
{
    const int n = s->size * s->n_targets;
    for (int i = 0; i < n; i++) {
        int positive = i % s->n_targets == s->p->drawn;
        s->labels[i] = positive;
        s->weights[i] = positive ? 1.0f : s->p->negative_weight;
    }
    for (int i = n; i < VECTORS(n) * LANES; i++)
        s->weights[i] = 0.0f;
    s->weighted = s->size;
}

INLINE void next_tuple(State *s)
{
    if (++s->cursor == s->task->n_tuples)
        s->cursor = 0;
}

/* Gradients and steps of several examples: first each and its target, then TOGETHER at a time and the negatives. */
INLINE void exchange_block(State *s, const int nv)
{
    const int drawn = s->p->drawn, n_targets = s->n_targets;
    for (int b = 0; b < s->size; b++) {
        float *row = output_row(s, s->block[b].target, 0);
        exchange(s->hiddens[b], s->grads[b], &row, s->logits + b * n_targets + drawn, 1, nv);
    }
    for (int b = 0; b < s->size; b += TOGETHER)
        SEVERAL(exchange_several, s->size - b, s->hiddens + b, s->grads + b, s->targets, s->logits + b * n_targets,
                n_targets, drawn, nv)
}

/* One negative-sampling step of the examples of the block, each against its own target, and all against one tuple
 * of negatives. Logits are those before the step. A row that is met again, as it stands twice in the tuple, is a
 * target too, or is met by more than TOGETHER examples, is met as the first time has left it. */
INLINE void train_block(State *s, const int in_nv, const int nv)
{
    const Hyper *p = s->p;
    const int size = s->size, drawn = p->drawn, n_targets = s->n_targets;
    const int band = p->model == MODEL_SSG ? s->block[0].first : 0;
    const int32_t *negatives = tuple_at(s, s->cursor), *later = tuple_at(s, s->cursor + AHEAD);
    int clashes = 0; /* negatives that are a target themselves, and then count nothing */
    if (s->weighted != size)
        weigh(s);
    for (int t = 0; t < drawn; t++) {
        prefetch_row(output_row(s, later[t], band), nv);
        s->targets[t] = output_row(s, negatives[t], band);
        for (int b = 0; b < size; b++)
            if (negatives[t] == s->block[b].target) {
                s->weights[b * n_targets + t] = 0.0f;
                clashes++;
            }
    }
    compose(s, in_nv);
    for (int b = 0; b < size; b++) {
        s->targets[drawn] = output_row(s, s->block[b].target, band);
        if (!p->skip_dots)
            dots(s->block[b].hidden, s->targets, s->sums, n_targets, nv, s->logits + b * n_targets);
    }
    s->loss += coefficients(s->logits, s->labels, s->weights, s->alpha, size * n_targets);
    if (size == 1)
        exchange(s->block->hidden, s->block->grad, s->targets, s->logits, n_targets, nv);
    else
        exchange_block(s, nv);
    if (p->model == MODEL_CBOW_ATTN && p->attention_rate != 0.0f)
        learn_attention(s, in_nv);
    spread(s, in_nv);
    for (int b = 0; b < size; b++)
        s->contexts += s->block[b].n;
    s->examples += size;
    if (clashes)
        s->weighted = 0;
    next_tuple(s);
}

/* The same for skip-gram, for one word of the text around the block after the other: each is the one vector that
 * meets the targets it is a context of and, with the weight of all of these together, the negatives:
 *     L_j = sum_c -log s(O_c W_j) + sum_t m_tj w -log s(-O_t W_j)
 * with m_tj the targets c of the word j that are not the negative t itself. */
INLINE void train_pairs(State *s, const int nv)
{
    const Hyper *p = s->p;
    const Example *block = s->block;
    const int size = s->size, drawn = p->drawn, window = p->window;
    const int32_t *negatives = tuple_at(s, s->cursor), *later = tuple_at(s, s->cursor + AHEAD);
    int clashes = 0; /* negatives that are a target themselves */
    for (int t = 0; t < drawn; t++) {
        prefetch_row(output_row(s, later[t], 0), nv);
        s->targets[t] = output_row(s, negatives[t], 0);
        for (int b = 0; b < size; b++)
            clashes += negatives[t] == block[b].target;
    }
    const vec one = broadcast(1.0f);
    for (int k = 0; k < VECTORS(drawn + size); k++)
        AT(s->labels, k) = choose(s->places + k * LANES < drawn, (vec){0}, one);
    /* block[first .. last) are the targets whose window reaches the word j: windows begin and end in their order */
    int first = 0, last = 0;
    for (int j = begins(block, window); first < size; j++) {
        while (last < size && j >= begins(&block[last], window))
            last++;
        while (first < last && j > begins(&block[first], window) + block[first].n)
            first++;
        int n = drawn;
        for (int b = first; b < last; b++) {
            s->targets[n] = output_row(s, block[b].target, 0);
            n += block[b].middle != j;
        }
        const int own = n - drawn;
        if (own == 0)
            continue;
        const vec each = broadcast((float)own * p->negative_weight);
        for (int k = 0; k < VECTORS(n); k++) {
            ivec place = s->places + k * LANES;
            AT(s->weights, k) = choose(place < drawn, each, choose(place < n, one, (vec){0}));
        }
        for (int t = 0; clashes && t < drawn; t++)
            for (int b = first; b < last; b++)
                if (negatives[t] == block[b].target && block[b].middle != j)
                    s->weights[t] -= p->negative_weight;
        if (!p->skip_dots)
            dots(s->around[j], s->targets, s->sums, n, nv, s->logits);
        s->loss += coefficients(s->logits, s->labels, s->weights, s->alpha, n);
        float *grad = block[0].grad;
        exchange(s->around[j], grad, s->targets, s->logits, n, nv);
        add(s->around[j], grad, nv);
        s->examples += own;
        s->contexts += own;
    }
    next_tuple(s);
}

/* ---- private rows ---------------------------------------------------------------------- */

/* Adds what this thread changed since the last merge and takes over what the others did. */
static void merge_rows(Rows *rows, int64_t n_rows)
{
    int64_t n = n_rows * rows->stride;
    for (int64_t k = 0; k < n; k++) {
        float sum = rows->shared[k] + (rows->own[k] - rows->base[k]);
        rows->shared[k] = rows->own[k] = rows->base[k] = sum;
    }
}

static void merge(const Task *task)
{
    const Hyper *p = task->hyper;
    if (p->n_private == 0)
        return;
    while (__atomic_exchange_n(task->lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    merge_rows((Rows *)&task->inputs, p->n_private);
    merge_rows((Rows *)&task->outputs, p->n_private);
    if (p->word_stride)
        merge_rows((Rows *)&task->word_logits, p->n_private);
    if (p->use_slots)
        merge_rows((Rows *)&task->slot_logits, 1);
    __atomic_store_n(task->lock, 0, __ATOMIC_RELEASE);
}

/* ---- the loop -------------------------------------------------------------------------- */

/* Copies the tokens that sub-sampling keeps, and every line end, to s->line;
 * returns their number, or -2 if a token is no word of the vocabulary. */
static int64_t subsample(State *s, const int32_t **tokens)
{
    const Task *task = s->task;
    int64_t n = 0, lines = 0;
    int32_t largest = -1;
    for (int64_t i = 0; i < task->n_tokens; i++) {
        lines += task->tokens[i] < 0;
        largest = task->tokens[i] > largest ? task->tokens[i] : largest;
    }
    if (largest >= task->n_words)
        return -2;
    task->stats[STAT_WORDS] += (double)(task->n_tokens - lines);
    *tokens = task->tokens;
    if (!task->keep)
        return task->n_tokens;
    for (int64_t i = 0; i < task->n_tokens; i++) {
        int32_t word = task->tokens[i];
        if (word < 0 || draw(&s->rng) <= task->keep[word])
            s->line[n++] = word;
    }
    *tokens = s->line;
    return n;
}

/* Asks for what the token i will need: its output row and, as it is then entering the
 * window of the words before it, the input row and logits of the token i + window. */
INLINE void prefetch_token(const State *s, const int32_t *tokens, int64_t i, int64_t n, int nv, int out_nv)
{
    const Hyper *p = s->p;
    if (i < n && tokens[i] >= 0)
        prefetch_row(output_row(s, tokens[i], 0), out_nv);
    i += p->window;
    if (i < n && tokens[i] >= 0) {
        prefetch_row(input_row(s, tokens[i]), nv);
        if (p->word_stride)
            prefetch_row(logit_row(s, tokens[i]), p->word_stride / LANES);
    }
}

INLINE int train_tokens(State *s, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
    const int32_t *tokens;
    const int64_t n = subsample(s, &tokens);
    if (n < 0)
        return (int)n;
    const int together = p->model == MODEL_SKIPGRAM && p->shared_by > 1;
    const int pairs = !together && (p->model == MODEL_SKIPGRAM || p->model == MODEL_SSG);
    const int window = p->window, size = p->shared_by, distance = size < AHEAD ? AHEAD : size;
    const float slope = (p->alpha_end - p->alpha_begin) / (float)n;
    for (int64_t j = -window; j < n + window; j++) {
        const int none = j < 0 || j >= n || tokens[j] < 0;
        s->rows[j + window] = none ? s->nowhere : input_row(s, tokens[j]);
        if (p->word_stride)
            s->logit_rows[j + window] = none ? s->nowhere : logit_row(s, tokens[j]);
    }
    int64_t begin = 0, end = -1, merged = 0; /* the line is tokens[begin .. end) */

    for (int64_t from = 0; from < n; from += size) {
        const int64_t to = from + size < n ? from + size : n;
        int reach = window;
        if (p->shrink_windows)
            reach = 1 + (int)(((uint64_t)draw(&s->rng) * (uint64_t)window) >> 32);
        s->alpha = p->alpha_begin + slope * (float)from;
        s->size = 0;
        s->around = s->rows + from;
        s->logits_around = s->logit_rows + from;
        for (int64_t i = from; i < to; i++) {
            prefetch_token(s, tokens, i + distance, n, nv, out_nv);
            if (tokens[i] < 0) {
                begin = i + 1;
                continue;
            }
            if (end < begin)
                for (end = i; end < n && tokens[end] >= 0; end++)
                    ;
            int left = (int)(i - begin < reach ? i - begin : reach), right = (int)(end - 1 - i < reach ? end - 1 - i : reach);
            if (left + right == 0)
                continue;
            Example *x = &s->block[s->size];
            x->target = tokens[i];
            x->middle = (int)(i - from) + window;
            x->first = window - left; /* slots are the places around the target, left to right: 0 .. 2 window - 1 */
            x->n = left + right;
            float **around = s->rows + i;
            for (int slot = 0; slot < window && !s->several; slot++) {
                x->contexts[slot] = around[slot];
                x->contexts[window + slot] = around[window + 1 + slot];
            }
            s->size++;
        }
        if (s->size && together)
            train_pairs(s, nv);
        else if (s->size) {
            Example *x = s->block;
            const int steps = pairs ? x->n : 1; /* one for all, or one for each context word */
            x->n = pairs ? 1 : x->n;
            for (int step = 0; step < steps; step++, x->first++)
                train_block(s, nv, out_nv);
        }
        if (to - merged >= p->merge_every) {
            merge(s->task);
            merged = to;
        }
    }
    return 0;
}

/* The loop once more for each width that people use most, known to the compiler: rows then stay in registers. */
static __attribute__((noinline)) int train_64(State *s) { return train_tokens(s, 64 / LANES, 64 / LANES); }
static __attribute__((noinline)) int train_112(State *s) { return train_tokens(s, 112 / LANES, 112 / LANES); }
static __attribute__((noinline)) int train_304(State *s) { return train_tokens(s, 304 / LANES, 304 / LANES); }
static __attribute__((noinline)) int train_any(State *s)
{
    return train_tokens(s, s->p->width / LANES, s->p->out_width / LANES);
}

/* The next n elements of the scratch space; a whole vector may be read past their end. */
static void *take(uintptr_t *arena, size_t n, size_t size)
{
    uintptr_t here = *arena;
    *arena += (n * size + 127) / 64 * 64;
    return (void *)here;
}

/* Lays out the scratch space from an address that is a multiple of 64, or, from 0, only measures it. */
static size_t lay_out(State *s, uintptr_t arena)
{
    const uintptr_t begin = arena;
    const size_t size = (size_t)s->p->shared_by, targets = (size_t)s->n_targets, slots = (size_t)s->n_slots;
    const size_t width = (size_t)s->p->out_width;
    const size_t around = (size_t)s->n_around;
    const size_t tokens = (size_t)s->task->n_tokens, met = targets + size; /* by one vector */
    s->block = take(&arena, size, sizeof(Example));
    s->logits = take(&arena, size * targets, sizeof(float));
    s->labels = take(&arena, size * targets, sizeof(float));
    s->weights = take(&arena, size * targets, sizeof(float));
    s->targets = take(&arena, met, sizeof(float *));
    s->hiddens = take(&arena, size, sizeof(float *));
    s->grads = take(&arena, size, sizeof(float *));
    s->rows = take(&arena, tokens + slots, sizeof(float *));
    s->logit_rows = take(&arena, s->p->word_stride ? tokens + slots : 0, sizeof(float *));
    s->sums = take(&arena, slots > met ? slots : met, sizeof(quad));
    s->slot_logits = take(&arena, slots, sizeof(float));
    s->slopes = take(&arena, TOGETHER * around, sizeof(float));
    s->nowhere = take(&arena, width, sizeof(float));
    s->shares_around = take(&arena, size * around, sizeof(float));
    s->line = take(&arena, tokens, sizeof(int32_t));
    for (size_t b = 0; b < size; b++) {
        Example x = {0};
        x.hidden = take(&arena, width, sizeof(float));
        x.grad = take(&arena, width, sizeof(float));
        x.shares = take(&arena, slots, sizeof(float));
        x.steps = take(&arena, slots, sizeof(float));
        x.contexts = take(&arena, slots, sizeof(float *));
        if (begin) {
            s->block[b] = x;
            s->hiddens[b] = x.hidden;
            s->grads[b] = x.grad;
        }
    }
    return arena - begin;
}

int TRAIN(const Task *task)
{
    const Hyper *p = task->hyper;
    State s = {.p = p, .task = task, .rng = task->rng[0], .cursor = (int64_t)task->rng[1]};
    s.n_targets = 1 + p->drawn;
    s.n_slots = 2 * p->window;
    s.n_around = (p->shared_by + s.n_slots + LANES - 1) / LANES * LANES;
    s.several = p->shared_by > 1;
    for (int k = 0; k < LANES; k++)
        s.places[k] = k;

    char *memory = calloc(1, 64 + lay_out(&s, 0));
    if (!memory)
        return -1;
    lay_out(&s, ((uintptr_t)memory + 63) / 64 * 64);

    merge(task);
    int status;
    switch (p->model == MODEL_CWINDOW ? 0 : p->width) {
    case 64: status = train_64(&s); break;
    case 112: status = train_112(&s); break;
    case 304: status = train_304(&s); break;
    default: status = train_any(&s);
    }
    merge(task);

    task->rng[0] = s.rng;
    task->rng[1] = (uint64_t)s.cursor;
    task->stats[STAT_EXAMPLES] += (double)s.examples;
    task->stats[STAT_LOSS] += s.loss;
    task->stats[STAT_CONTEXTS] += (double)s.contexts;
    task->stats[STAT_CONCENTRATION] += s.concentration;
    task->stats[STAT_WEIGHED] += (double)s.weighed;
    free(memory);
    return status;
}
