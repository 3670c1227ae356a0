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
#define TOGETHER 4      /* examples that meet their negatives in one pass */
#define TILE (LANES == 16 ? 5 : 2)       /* rows whose products with TOGETHER vectors stay in registers */
#define STEP_PANEL (LANES == 16 ? 3 : 2) /* PANEL for TOGETHER vectors and their gradients */
#define AHEAD 2         /* targets, or draws, between asking the memory for a row and using it */
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

/* log(1 + e) for 0 <= e <= 1, from s = e / (2 + e), absolute error 2e-8: 2 artanh(s) as a series. */
INLINE vec log_one_plus(vec s)
{
    vec q = s * s;
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

/* Calls panel(at, count) for the items at .. at + count - 1 of n, at most `most` at a time. */
#define FOR_PANELS(n, most, panel)                         \
    do {                                                   \
        int at_ = 0;                                       \
        for (; at_ + (most) <= (n); at_ += (most))         \
            panel(at_, (most));                            \
        switch ((n) - at_) {                               \
        case 7: if ((most) > 7) panel(at_, 7); break;      \
        case 6: if ((most) > 6) panel(at_, 6); break;      \
        case 5: if ((most) > 5) panel(at_, 5); break;      \
        case 4: if ((most) > 4) panel(at_, 4); break;      \
        case 3: if ((most) > 3) panel(at_, 3); break;      \
        case 2: if ((most) > 2) panel(at_, 2); break;      \
        case 1: if ((most) > 1) panel(at_, 1); break;      \
        }                                                  \
    } while (0)

#if LANES == 16
#define BY_QUADS(a, b, c, d) \
    (ivec){a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12}
#elif LANES == 8
#define BY_QUADS(a, b, c, d) (ivec){a, b, c, d, a + 4, b + 4, c + 4, d + 4}
#else
#define BY_QUADS(a, b, c, d) (ivec){a, b, c, d}
#endif

INLINE quad totals(vec a, vec b, vec c, vec d) /* of each */
{
    const ivec low = BY_QUADS(0, LANES, 1, LANES + 1), high = BY_QUADS(2, LANES + 2, 3, LANES + 3);
    const ivec left = BY_QUADS(0, 1, LANES, LANES + 1), right = BY_QUADS(2, 3, LANES + 2, LANES + 3);
    vec ab = __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
    vec cd = __builtin_shuffle(c, d, low) + __builtin_shuffle(c, d, high);
    return narrow(__builtin_shuffle(ab, cd, left) + __builtin_shuffle(ab, cd, right));
}

INLINE void dots_panel(const float *x, float *const *rows, vec *sums, int n, int at, const int count)
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
        vec sum = even + odd;
        if (at)
            sum += sums[t];
        sums[t] = sum;
    }
}

/* out[t] = x . rows[t]; sums is scratch for n vectors, out may be written up to a multiple of 4 */
INLINE void dots(const float *x, float *const *rows, vec *sums, int n, int nv, float *out)
{
#define DOTS(at, count) dots_panel(x, rows, sums, n, at, count)
    FOR_PANELS(nv, PANEL, DOTS);
    for (int t = 0; t < n; t += 4) {
        quad four = totals(sums[t], sums[t + 1], sums[t + 2], sums[t + 3]);
        memcpy(out + t, &four, sizeof four);
    }
}

INLINE void gather_panel(float *x, float *const *rows, const float *weights, int n, int at, const int count)
{
    vec sum[PANEL] = {{0}};
    for (int t = 0; t < n; t++) {
        const float *row = rows[t];
        vec weight = broadcast(weights[t]);
        EACH(k, count)
            sum[k] += weight * AT(row, at + k);
    }
    EACH(k, count)
        AT(x, at + k) = sum[k];
}

/* x = sum_t weights[t] rows[t] */
INLINE void gather(float *x, float *const *rows, const float *weights, int n, int nv)
{
#define GATHER(at, count) gather_panel(x, rows, weights, n, at, count)
    FOR_PANELS(nv, PANEL, GATHER);
}

INLINE void scatter_panel(const float *x, float *const *rows, const float *weights, int n, int at, const int count)
{
    vec part[PANEL];
    EACH(k, count)
        part[k] = AT(x, at + k);
    for (int t = 0; t < n; t++) { /* in order: a word may stand twice in the window */
        float *row = rows[t];
        vec weight = broadcast(weights[t]);
        EACH(k, count)
            AT(row, at + k) += weight * part[k];
    }
}

/* rows[t] += weights[t] x */
INLINE void scatter(const float *x, float *const *rows, const float *weights, int n, int nv)
{
#define SCATTER(at, count) scatter_panel(x, rows, weights, n, at, count)
    FOR_PANELS(nv, PANEL, SCATTER);
}

INLINE void exchange_panel(const float *x, float *sum, float *const *rows, const float *weights, int n, int at,
                           const int count)
{
    const vec before = broadcast(sum == x);
    vec part[PANEL], sums[PANEL] = {{0}};
    EACH(k, count)
        part[k] = AT(x, at + k);
    for (int t = 0; t < n; t++) {
        float *row = rows[t];
        vec weight = broadcast(weights[t]);
        EACH(k, count) {
            vec old = AT(row, at + k);
            sums[k] += weight * old;
            AT(row, at + k) = old + weight * part[k];
        }
    }
    EACH(k, count)
        AT(sum, at + k) = before * part[k] + sums[k];
}

/* sum = sum_t weights[t] rows[t] and rows[t] += weights[t] x, in one pass: if a row stands twice, the sum takes
 * the second as the first has left it. If the sum is x itself, it is added to x. */
INLINE void exchange(const float *x, float *sum, float *const *rows, const float *weights, int n, int nv)
{
#define EXCHANGE(at, count) exchange_panel(x, sum, rows, weights, n, at, count)
    FOR_PANELS(nv, PANEL, EXCHANGE);
}

/* ---- several rows and many -------------------------------------------------------------
 *
 * The same for `size` vectors at once, 2 to TOGETHER, each with a row of its own besides the many. Of numbers for each
 * pair, those of a row stand together: [t][b], TOGETHER in any case, and those of the own rows last. */

#define SEVERAL(function, size, ...)              \
    switch (size) {                               \
    case 2: function(__VA_ARGS__, 2); break;      \
    case 3: function(__VA_ARGS__, 3); break;      \
    default: function(__VA_ARGS__, TOGETHER);     \
    }

INLINE void dots_tile(float *const *xs, float *const *rows, int nv, float *out, const int count, const int size)
{
    vec sum[TILE][TOGETHER] = {{{0}}};
    for (int k = 0; k < nv; k++) {
        vec x[TOGETHER];
        EACH(b, size)
            x[b] = AT(xs[b], k);
        EACH(t, count) {
            vec here = AT(rows[t], k);
            EACH(b, size)
                sum[t][b] += x[b] * here;
        }
    }
    EACH(t, count) {
        quad four = totals(sum[t][0], sum[t][1], sum[t][2], sum[t][3]);
        memcpy(out + TOGETHER * t, &four, sizeof four);
    }
}

/* out[t][b] = xs[b] . rows[t], out[n][b] = xs[b] . own[b] */
INLINE void dots_several(float *const *xs, float *const *own, float *const *rows, int n, int nv, float *out,
                         const int size)
{
#define DOTS_TILE(at, count) dots_tile(xs, rows + (at), nv, out + TOGETHER * (at), count, size)
    FOR_PANELS(n, TILE, DOTS_TILE);
    vec sum[TOGETHER] = {{0}};
    for (int k = 0; k < nv; k++)
        EACH(b, size)
            sum[b] += AT(xs[b], k) * AT(own[b], k);
    quad four = totals(sum[0], sum[1], sum[2], sum[3]);
    memcpy(out + TOGETHER * n, &four, sizeof four);
}

INLINE void exchange_several_panel(float *const *xs, float *const *sums, float *const *own, float *const *rows,
                                   const float *weights, int n, int at, const int count, const int size)
{
    vec part[TOGETHER][STEP_PANEL], sum[TOGETHER][STEP_PANEL];
    EACH(b, size) {
        const float *x = xs[b];
        float *row = own[b];
        const vec weight = broadcast(weights[TOGETHER * n + b]);
        EACH(k, count) {
            vec old = AT(row, at + k);
            part[b][k] = AT(x, at + k);
            sum[b][k] = weight * old;
            AT(row, at + k) = old + weight * part[b][k];
        }
    }
    for (int t = 0; t < n; t++) {
        float *row = rows[t];
        vec weight[TOGETHER];
        EACH(b, size)
            weight[b] = broadcast(weights[TOGETHER * t + b]);
        EACH(k, count) {
            vec old = AT(row, at + k), new = old;
            EACH(b, size) {
                sum[b][k] += weight[b] * old;
                new += weight[b] * part[b][k];
            }
            AT(row, at + k) = new;
        }
    }
    EACH(b, size) {
        float *to = sums[b];
        const vec before = broadcast(to == xs[b]);
        EACH(k, count)
            AT(to, at + k) = before * part[b][k] + sum[b][k];
    }
}

/* sums[b] = w[n][b] own[b] + sum_t w[t][b] rows[t]; own[b] += w[n][b] xs[b] and rows[t] += sum_b w[t][b] xs[b];
 * where sums[b] is xs[b] itself, it is added to that. */
INLINE void exchange_several(float *const *xs, float *const *sums, float *const *own, float *const *rows,
                             const float *weights, int n, int nv, const int size)
{
#define EXCHANGE_SEVERAL(at, count) exchange_several_panel(xs, sums, own, rows, weights, n, at, count, size)
    FOR_PANELS(nv, STEP_PANEL, EXCHANGE_SEVERAL);
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
        vec one = 1.0f + e, two = 2.0f + e, both = 1.0f / (one * two); /* one division for two */
        vec near_one = two * both; /* sigmoid(|z|) */
        vec sigmoid = choose(z > 0.0f, near_one, e * near_one);
        vec against = z * (1.0f - 2.0f * label);
        loss += weight * (larger((vec){0}, against) + log_one_plus(e * one * both));
        AT(logits, k) = alpha * weight * (label - sigmoid);
    }
    return total(loss);
}

/* ---- what one call carries along ------------------------------------------------------- */

/* One prediction: of a word from those around it. Places are counted in the text, slots in the window, from left to
 * right: 0 .. 2 window - 1. */
typedef struct {
    int32_t target;          /* the word to predict */
    int64_t place;           /* of the first context word; the others follow, but for the target */
    int n_places, middle;    /* so many places, and which of them is the target's; not for one context word */
    int slot, n;             /* the slot of the first context word, and how many there are */
    float *hidden, *grad;    /* (out_width,) x, and -alpha dL/dx */
    float *shares, *steps;   /* (n_places,) padded: x = sum shares W; W += steps grad; 0 in the middle */
} Example;

/* One of `shared_by` parts of the chunk, and where its reading stands. */
typedef struct {
    int64_t at, stop;        /* the place of the target; the part ends before `stop` */
    int64_t begin, end;      /* of the line, as far as windows reach */
    int64_t next, last;      /* context words that are still to come, for models that take one at a time */
} Reader;

typedef struct {
    const Hyper *p;
    const Task *task;
    uint64_t rng;
    int64_t cursor;          /* tuple of negatives in use */
    float alpha;
    double loss, concentration;
    int64_t examples, contexts, weighed;
    int n_targets;           /* drawn + 1 */
    const int32_t *tokens;   /* (n_tokens,) what sub-sampling kept */
    int64_t n_tokens, passed; /* and how many of them have been read */
    Reader *readers;         /* (shared_by,) */
    Example block[TOGETHER];
    int size, weighted;      /* examples in the block, and for how many weights are set */
    float *hiddens[TOGETHER], *grads[TOGETHER]; /* those of the examples, or both the row of W that learns in place */
    float *own[TOGETHER];    /* rows of O: of the targets */
    float **targets;         /* (n_targets,) rows of O: the negatives, and for one example its target */
    float *logits, *labels, *weights; /* (n_targets,) or, for several, (n_targets, TOGETHER), padded */
    float **rows, **logit_rows; /* (n_tokens,) rows of W and K of the text's words */
    vec *sums;               /* scratch of dots */
    float *slot_logits;      /* (2 window + 1,) s before the step of the block, by place around the target */
    float *slopes;           /* (2 window + 1,) scratch of learn_attention */
    int32_t *line;           /* (n_tokens,) where sub-sampling writes */
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

INLINE float **context_rows(const State *s, const Example *x) { return s->rows + x->place; }

/* Whether the model predicts from one context word at a time. */
INLINE int pairwise(const Hyper *p) { return p->model == MODEL_SKIPGRAM || p->model == MODEL_SSG; }

/* The slot of the k-th place of an example, where that is not the target's. */
INLINE int slot_of(const Example *x, int k) { return x->slot + k - (k > x->middle); }

/* ---- attention (Ling et al. 2015, eq. 2-3) --------------------------------------------- */

/* Of the places of an example those before the target, or those after it. */
typedef struct {
    float **rows;            /* of K */
    int first, slot, n;      /* the first of them, and its slot */
} Side;

INLINE Side side_of(const State *s, const Example *x, int right)
{
    float **rows = s->logit_rows + x->place;
    if (right)
        return (Side){rows + x->middle + 1, x->middle + 1, s->p->window, x->n_places - x->middle - 1};
    return (Side){rows, 0, x->slot, x->middle};
}

/* shares[i] = K[w_i, i] */
INLINE void look_up(const State *s, Example *x)
{
    const int columns = s->p->word_slots;
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, x, right);
        for (int k = 0; k < side.n; k++)
            x->shares[side.first + k] = side.rows[k][columns * (side.slot + k)];
    }
}

/* shares[i] = exp(e_i - max e) over the places of the example but for the target's, e_i = K[w_i, i] + s[i], from what
 * was looked up; returns the sum Z, so that the weight of place i is a_i = shares[i] / Z. */
INLINE float attend(State *s, Example *x)
{
    const Hyper *p = s->p;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0}, squares = {0};
    for (int k = 0; k < VECTORS(x->n_places); k++) {
        vec e = {0}, slots;
        if (p->word_stride)
            e = AT(x->shares, k);
        if (p->use_slots) {
            memcpy(&slots, s->slot_logits + x->slot + k * LANES, sizeof slots); /* not aligned */
            e += slots;
        }
        ivec place = s->places + k * LANES;
        e = larger(low, choose(e > high, high, e));
        e = choose((place < x->n_places) & (place != x->middle), e, low);
        most = larger(most, e);
        AT(x->shares, k) = e;
    }
    float top = most[0];
    for (int k = 1; k < LANES; k++)
        top = most[k] > top ? most[k] : top;
    for (int k = 0; k < VECTORS(x->n_places); k++) {
        ivec place = s->places + k * LANES;
        vec share = choose((place < x->n_places) & (place != x->middle), exp_negative(AT(x->shares, k) - top), (vec){0});
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

/* K and s follow  -dL/de_i = a_i (w_i . grad - x . grad), from the rows before the step. */
INLINE void learn_attention(State *s, Example *x, const int nv)
{
    const Hyper *p = s->p;
    const int columns = p->word_slots;
    float *slots = slot_logits(s), along[4];
    dots(x->grad, context_rows(s, x), s->sums, x->n_places, nv, s->slopes);
    dots(x->grad, &x->hidden, s->sums, 1, nv, along);
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, x, right);
        for (int k = 0; k < side.n; k++) {
            float delta = p->attention_rate * x->shares[side.first + k] * (s->slopes[side.first + k] - along[0]);
            if (p->word_stride)
                side.rows[k][columns * (side.slot + k)] += delta;
            if (p->use_slots)
                slots[side.slot + k] += delta;
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
        for (int k = 0; k < VECTORS(x->n_places); k++)
            AT(x->shares, k) = choose(s->places + k * LANES == x->middle, (vec){0}, broadcast(1.0f));
    /* exact: W_i moves by a_i grad;  word2vec: by n a_i grad, for a plain mean by grad itself */
    float inverse = 1.0f / sum, scale = p->word2vec_update ? (float)x->n / sum : inverse;
    for (int k = 0; k < VECTORS(x->n_places); k++) {
        AT(x->steps, k) = AT(x->shares, k) * scale;
        AT(x->shares, k) *= inverse;
    }
}

/* The hidden vector x of each example of the block, from rows of places of which the target's own counts nothing (but
 * for one that diverged, as 0 times infinity is no number):
 *   skipgram, ssg   the row of its one context word
 *   cbow            the mean of the rows
 *   cbow-attn       their mean weighted by attention
 *   cwindow         the rows side by side, zeros where there is no word */
INLINE void compose(State *s, const int nv)
{
    const Hyper *p = s->p;
    Example *const block = s->block, *const end = block + s->size;
    if (pairwise(p)) {
        for (int b = 0; b < s->size; b++) {
            float *row = context_rows(s, &block[b])[0];
            s->hiddens[b] = s->grads[b] = row; /* learns where it stands */
            for (int c = 0; c < b; c++)
                if (s->hiddens[c] == row) { /* unless that is in use */
                    s->hiddens[b] = memcpy(block[b].hidden, row, (size_t)nv * sizeof(vec));
                    s->grads[b] = block[b].grad;
                }
        }
        return;
    }
    if (p->model == MODEL_CWINDOW) {
        memset(block->hidden, 0, (size_t)p->out_width * sizeof(float));
        for (int k = 0; k < block->n_places; k++)
            if (k != block->middle)
                memcpy(block->hidden + slot_of(block, k) * p->width, context_rows(s, block)[k],
                       (size_t)p->width * sizeof(float));
        return;
    }
    if (p->model == MODEL_CBOW_ATTN && p->use_slots) {
        const size_t window = (size_t)p->window;
        memcpy(s->slot_logits, slot_logits(s), window * sizeof(float));
        memcpy(s->slot_logits + window + 1, slot_logits(s) + window, window * sizeof(float));
    }
    /* for all examples first: what is written number by number is not soon to be read as a vector */
    if (p->model == MODEL_CBOW_ATTN && p->word_stride)
        for (Example *x = block; x < end; x++)
            look_up(s, x);
    for (Example *x = block; x < end; x++)
        share(s, x);
    for (Example *x = block; x < end; x++)
        gather(x->hidden, context_rows(s, x), x->shares, x->n_places, nv);
}

/* Takes the gradients of x back to the rows that it was composed of. */
INLINE void spread(State *s, const int nv)
{
    for (Example *x = s->block; x < s->block + s->size; x++) {
        float **rows = context_rows(s, x);
        if (pairwise(s->p)) {
            if (s->grads[x - s->block] == x->grad)
                add(rows[0], x->grad, nv);
        } else if (s->p->model == MODEL_CWINDOW) {
            for (int k = 0; k < x->n_places; k++)
                if (k != x->middle)
                    add(rows[k], x->grad + slot_of(x, k) * s->p->width, nv);
        } else
            scatter(x->grad, rows, x->steps, x->n_places, nv);
    }
}

/* ---- the step -------------------------------------------------------------------------- */

INLINE const int32_t *tuple_at(const State *s, int64_t cursor)
{
    return s->task->pool + (cursor % s->task->n_tuples) * s->p->drawn;
}

/* Logits of the block for each row: a lone example takes no more room than it needs. */
INLINE int across(const State *s) { return s->size == 1 ? 1 : TOGETHER; }

/* Sets the labels and weights of the block's logits, [t][b]: 1 for targets, 0 for negatives; weight 0 for no example. */
static void weigh(State *s)
{
    const int each = across(s), n = each * s->n_targets;
    for (int i = 0; i < n; i++) {
        s->labels[i] = i / each == s->p->drawn;
        s->weights[i] = i % each < s->size;
    }
    for (int i = n; i < VECTORS(n) * LANES; i++)
        s->weights[i] = 0.0f;
    s->weighted = s->size;
}

/* One negative-sampling step of the examples of the block, each against its own target, and all against one tuple
 * of negatives. Logits are those before the step. A row that is met again, as it stands twice in the tuple or is a
 * target too, is met as the first time has left it. */
INLINE void train_block(State *s, const int in_nv, const int nv)
{
    const Hyper *p = s->p;
    const int size = s->size, drawn = p->drawn, n_targets = s->n_targets, each = across(s);
    const int band = p->model == MODEL_SSG ? s->block[0].slot : 0;
    const int32_t *negatives = tuple_at(s, s->cursor);
    int clashes = 0; /* negatives that are a target themselves, and then count nothing */
    if (s->weighted != size)
        weigh(s);
    for (int t = 0; t < drawn; t++) {
        s->targets[t] = output_row(s, negatives[t], band);
        for (int b = 0; b < size; b++)
            if (negatives[t] == s->block[b].target) {
                s->weights[t * each + b] = 0.0f;
                clashes++;
            }
    }
    for (int b = 0; b < size; b++)
        s->own[b] = output_row(s, s->block[b].target, band);
    s->targets[drawn] = s->own[0];
    compose(s, in_nv);
    if (!p->skip_dots) {
        if (size == 1)
            dots(s->hiddens[0], s->targets, s->sums, n_targets, nv, s->logits);
        else
            SEVERAL(dots_several, size, s->hiddens, s->own, s->targets, drawn, nv, s->logits)
    }
    s->loss += coefficients(s->logits, s->labels, s->weights, s->alpha, each * n_targets);
    if (size == 1)
        exchange(s->hiddens[0], s->grads[0], s->targets, s->logits, n_targets, nv);
    else
        SEVERAL(exchange_several, size, s->hiddens, s->grads, s->own, s->targets, s->logits, drawn, nv)
    if (p->model == MODEL_CBOW_ATTN && p->attention_rate != 0.0f)
        for (int b = 0; b < size; b++)
            learn_attention(s, &s->block[b], in_nv);
    spread(s, in_nv);
    for (int b = 0; b < size; b++)
        s->contexts += s->block[b].n;
    s->examples += size;
    if (clashes)
        s->weighted = 0;
}

INLINE void next_tuple(State *s, const int nv)
{
    if (++s->cursor == s->task->n_tuples)
        s->cursor = 0;
    const int32_t *later = tuple_at(s, s->cursor + AHEAD);
    /* ssg goes from slot to slot; for all others there is one band */
    const int band = (s->block[0].slot + 1 + AHEAD) % s->p->bands;
    for (int t = 0; t < s->p->drawn; t++)
        prefetch_row(output_row(s, later[t], band), nv);
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
INLINE void prefetch_token(const State *s, int64_t i, int nv, int out_nv)
{
    const Hyper *p = s->p;
    if (i < s->n_tokens && s->tokens[i] >= 0)
        prefetch_row(output_row(s, s->tokens[i], 0), out_nv);
    i += p->window;
    if (i < s->n_tokens && s->tokens[i] >= 0) {
        prefetch_row(input_row(s, s->tokens[i]), nv);
        if (p->word_stride)
            prefetch_row(logit_row(s, s->tokens[i]), p->word_stride / LANES);
    }
}

/* A part of the text: its windows may reach over its ends, as far as the line goes. */
INLINE Reader read_from(const State *s, int64_t start, int64_t stop)
{
    int64_t begin = start;
    while (begin > 0 && start - begin < s->p->window && s->tokens[begin - 1] >= 0)
        begin--;
    return (Reader){.at = start - 1, .stop = stop, .begin = begin, .next = 0, .last = -1};
}

/* Makes x the next example of a part of the text; returns 0 at its end. */
INLINE int next_example(State *s, Reader *r, Example *x, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
    const int32_t *tokens = s->tokens;
    const int64_t window = p->window;
    while (r->next > r->last) {
        const int64_t i = ++r->at;
        if (i >= r->stop)
            return 0;
        s->passed++;
        int64_t reach = window;
        if (p->shrink_windows)
            reach = 1 + (int64_t)(((uint64_t)draw(&s->rng) * (uint64_t)window) >> 32);
        prefetch_token(s, i + AHEAD, nv, out_nv);
        if (tokens[i] < 0) {
            r->begin = i + 1;
            continue;
        }
        if (r->end <= i)
            r->end = i + 1;
        while (r->end < s->n_tokens && r->end <= i + window && tokens[r->end] >= 0)
            r->end++;
        const int64_t left = i - r->begin < reach ? i - r->begin : reach;
        const int64_t right = r->end - 1 - i < reach ? r->end - 1 - i : reach;
        if (left + right == 0)
            continue;
        if (!pairwise(p)) {
            x->target = tokens[i];
            x->place = i - left;
            x->n_places = (int)(left + right + 1);
            x->middle = (int)left;
            x->slot = (int)(window - left);
            x->n = (int)(left + right);
            return 1;
        }
        r->next = i - left;
        r->last = i + right;
        r->next += r->next == i;
    }
    x->target = tokens[r->at];
    x->place = r->next;
    x->n = 1;
    x->slot = (int)(r->next - r->at + window - (r->next > r->at));
    r->next++;
    r->next += r->next == r->at;
    return 1;
}

/* Reads the text in `shared_by` parts at a time, an example of each after the other: those that share a tuple of
 * negatives come from places far apart. They meet it TOGETHER at a time. */
INLINE int train_tokens(State *s, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
    const int n_readers = p->shared_by;
    const int64_t n = s->n_tokens = subsample(s, &s->tokens);
    if (n < 0)
        return (int)n;
    for (int64_t i = 0; i < n; i++) {
        if (s->tokens[i] < 0)
            continue;
        s->rows[i] = input_row(s, s->tokens[i]);
        if (p->word_stride)
            s->logit_rows[i] = logit_row(s, s->tokens[i]);
    }
    for (int r = 0; r < n_readers; r++)
        s->readers[r] = read_from(s, n * r / n_readers, n * (r + 1) / n_readers);
    int64_t merged = 0;
    const float slope = (p->alpha_end - p->alpha_begin) / (float)n;
    for (;;) {
        int found = 0;
        for (int r = 0; r < n_readers; r += TOGETHER) {
            s->size = 0;
            for (int k = r; k < n_readers && k < r + TOGETHER; k++)
                s->size += next_example(s, &s->readers[k], &s->block[s->size], nv, out_nv);
            if (s->size == 0)
                continue;
            found = 1;
            s->alpha = p->alpha_begin + slope * (float)s->passed;
            train_block(s, nv, out_nv);
        }
        if (!found)
            return 0;
        next_tuple(s, out_nv);
        if (s->passed - merged >= p->merge_every) {
            merge(s->task);
            merged = s->passed;
        }
    }
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
    const size_t targets = (size_t)s->n_targets, width = (size_t)s->p->out_width, tokens = (size_t)s->task->n_tokens;
    const size_t around = 2 * (size_t)s->p->window + 1; /* places, with the target's */
    s->readers = take(&arena, (size_t)s->p->shared_by, sizeof(Reader));
    s->logits = take(&arena, TOGETHER * targets, sizeof(float));
    s->labels = take(&arena, TOGETHER * targets, sizeof(float));
    s->weights = take(&arena, TOGETHER * targets, sizeof(float));
    s->targets = take(&arena, targets, sizeof(float *));
    s->rows = take(&arena, tokens, sizeof(float *));
    s->logit_rows = take(&arena, s->p->word_stride ? tokens : 0, sizeof(float *));
    s->sums = take(&arena, 4 + (around > targets ? around : targets), sizeof(vec));
    s->slot_logits = take(&arena, around, sizeof(float));
    s->slopes = take(&arena, around, sizeof(float));
    s->line = take(&arena, tokens, sizeof(int32_t));
    for (int b = 0; b < TOGETHER; b++) {
        Example *x = &s->block[b];
        x->hidden = s->hiddens[b] = take(&arena, width, sizeof(float));
        x->grad = s->grads[b] = take(&arena, width, sizeof(float));
        x->shares = take(&arena, around, sizeof(float));
        x->steps = take(&arena, around, sizeof(float));
    }
    return arena - begin;
}

int TRAIN(const Task *task)
{
    const Hyper *p = task->hyper;
    State s = {.p = p, .task = task, .rng = task->rng[0], .cursor = (int64_t)task->rng[1]};
    s.n_targets = 1 + p->drawn;
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
