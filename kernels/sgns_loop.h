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
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sgns.h"

#define INLINE static inline __attribute__((always_inline))
#define PANEL 8         /* vectors of a row that stay in registers while other rows go by */
#define TOGETHER 4      /* examples that meet their negatives in one pass */
#define BLOCK 8         /* pairs whose logits are taken before any of them learns: a multiple of TOGETHER */
#define TILE (LANES == 16 ? 6 : 3)       /* rows whose products with TOGETHER vectors stay in registers */
#define STEP_PANEL (LANES == 16 ? 3 : 2) /* PANEL for TOGETHER vectors and their gradients */
#define LINES_AHEAD 10  /* cache lines of one row worth asking for where the hardware follows a longer row itself */
#define VECTORS(n) (((n) + LANES - 1) / LANES)

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * LANES), may_alias));
typedef float quad __attribute__((vector_size(16), may_alias));
typedef float octet __attribute__((vector_size(32), may_alias));
typedef int32_t words __attribute__((vector_size(4 * TOGETHER), may_alias));

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

/* mantissa * 2^exponent in each lane, for a product of numbers from 1 up that no float could hold */
typedef struct {
    vec mantissa;            /* in [1, 2) */
    ivec exponent;
} Product;

INLINE void multiply(Product *product, vec factors) /* of up to 2^126 */
{
    ivec bits = (ivec)(product->mantissa * factors);
    product->exponent += (bits >> 23) - 127;
    product->mantissa = (vec)((bits & 0x007fffff) | 0x3f800000);
}

static double log_of(const Product *product) /* of all lanes together */
{
    double sum = 0.0;
    for (int k = 0; k < LANES; k++)
        sum += log(product->mantissa[k]) + 0.6931471805599453 * product->exponent[k];
    return sum;
}

INLINE quad narrow(vec x) /* sum of a vector's 16-byte parts */
{
#if LANES == 16
    union { vec v; octet o[2]; } halves = {x};
    union { octet o; quad q[2]; } parts = {halves.o[0] + halves.o[1]};
    return parts.q[0] + parts.q[1];
#elif LANES == 8
    union { vec v; quad q[2]; } parts = {x};
    return parts.q[0] + parts.q[1];
#else
    return x;
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
        for (; at_ + (most) <= (n); at_ += (most)) {       \
            panel(at_, (most));                            \
        }                                                  \
        switch ((n) - at_) {                               \
        case 7: if ((most) > 7) { panel(at_, 7); } break;  \
        case 6: if ((most) > 6) { panel(at_, 6); } break;  \
        case 5: if ((most) > 5) { panel(at_, 5); } break;  \
        case 4: if ((most) > 4) { panel(at_, 4); } break;  \
        case 3: if ((most) > 3) { panel(at_, 3); } break;  \
        case 2: if ((most) > 2) { panel(at_, 2); } break;  \
        case 1: if ((most) > 1) { panel(at_, 1); } break;  \
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

INLINE void exchange_panel(float *x, float *sum, float *const *rows, const float *weights, int n, int at,
                           const int count, const int in_place)
{
    vec part[PANEL], sums[PANEL];
    EACH(k, count) {
        part[k] = AT(x, at + k);
        sums[k] = in_place ? part[k] : (vec){0};
    }
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
        AT(in_place ? x : sum, at + k) = sums[k];
}

/* sum = sum_t weights[t] rows[t] and rows[t] += weights[t] x, in one pass: if a row stands twice, the sum takes
 * the second as the first has left it. In place, the sum is added to x itself. */
INLINE void exchange(float *x, float *sum, float *const *rows, const float *weights, int n, int nv,
                     const int in_place)
{
#define EXCHANGE(at, count) exchange_panel(x, sum, rows, weights, n, at, count, in_place)
    FOR_PANELS(nv, PANEL, EXCHANGE);
}

/* ---- several rows and many -------------------------------------------------------------
 *
 * The same for TOGETHER vectors at once, each with a row of its own besides the many. Of numbers for each pair, those
 * of a row stand together, [t][b], and those of the own rows last. */

INLINE void dots_tile(float *const *xs, float *const *rows, int nv, float *out, float *const *own, float *own_out,
                      const int count, const int with_own)
{
    vec sum[TILE][TOGETHER] = {{{0}}};
    for (int k = 0; k < nv; k++) {
        vec x[TOGETHER];
        EACH(b, TOGETHER)
            x[b] = AT(xs[b], k);
        if (with_own)
            EACH(b, TOGETHER)
                sum[count][b] += x[b] * AT(own[b], k);
        EACH(t, count) {
            vec here = AT(rows[t], k);
            EACH(b, TOGETHER)
                sum[t][b] += x[b] * here;
        }
    }
    EACH(t, count + with_own) {
        quad four = totals(sum[t][0], sum[t][1], sum[t][2], sum[t][3]);
        memcpy(t < count ? out + TOGETHER * t : own_out, &four, sizeof four);
    }
}

/* out[t][b] = xs[b] . rows[t], out[n][b] = xs[b] . own[b], which goes with the first tile */
INLINE void dots_several(float *const *xs, float *const *own, float *const *rows, int n, int nv, float *out)
{
    float *own_out = out + TOGETHER * n;
#define DOTS_TILE(at, count)                                                                      \
    if (at)                                                                                       \
        dots_tile(xs, rows + (at) - 1, nv, out + TOGETHER * ((at) - 1), own, own_out, count, 0);  \
    else                                                                                          \
        dots_tile(xs, rows, nv, out, own, own_out, (count) - 1, 1)
    FOR_PANELS(n + 1, TILE, DOTS_TILE);
}

INLINE void exchange_several_panel(float *const *xs, float *const *sums, float *const *own, float *const *rows,
                                   const float *weights, int n, int at, const int count, const int in_place)
{
    const float *last = weights + TOGETHER * n;
    vec part[TOGETHER][STEP_PANEL], sum[TOGETHER][STEP_PANEL];
    EACH(b, TOGETHER) {
        const float *x = xs[b];
        float *row = own[b];
        const vec weight = broadcast(last[b]);
        EACH(k, count) {
            vec old = AT(row, at + k);
            part[b][k] = AT(x, at + k);
            sum[b][k] = in_place ? part[b][k] + weight * old : weight * old;
            AT(row, at + k) = old + weight * part[b][k];
        }
    }
    for (int t = 0; t < n; t++, weights += TOGETHER) {
        float *row = rows[t];
        vec weight[TOGETHER];
        EACH(b, TOGETHER)
            weight[b] = broadcast(weights[b]);
        EACH(k, count) {
            vec old = AT(row, at + k), new = old;
            EACH(b, TOGETHER) {
                sum[b][k] += weight[b] * old;
                new += weight[b] * part[b][k];
            }
            AT(row, at + k) = new;
        }
    }
    EACH(b, TOGETHER) {
        float *to = in_place ? xs[b] : sums[b];
        EACH(k, count)
            AT(to, at + k) = sum[b][k];
    }
}

/* sums[b] = w[n][b] own[b] + sum_t w[t][b] rows[t]; own[b] += w[n][b] xs[b] and rows[t] += sum_b w[t][b] xs[b];
 * in place, the sums are added to the xs themselves, of which then no two may be the same row. */
INLINE void exchange_several(float *const *xs, float *const *sums, float *const *own, float *const *rows,
                             const float *weights, int n, int nv, const int in_place)
{
#define EXCHANGE_SEVERAL(at, count) exchange_several_panel(xs, sums, own, rows, weights, n, at, count, in_place)
    FOR_PANELS(nv, STEP_PANEL, EXCHANGE_SEVERAL);
}

/* row += x */
INLINE void add(float *row, const float *x, int nv)
{
    for (int k = 0; k < nv; k++)
        AT(row, k) += AT(x, k);
}

/* Turns n logits into g = alpha * weight * (label - sigmoid(logit)), in place. Their loss is the sum of weight times
 * -log sigmoid(logit if label else -logit) = max(0, -logit if label else logit) + log(1 + exp(-|logit|)): returns the
 * first part, and multiplies `product` by that whose logarithm the second part is: one is taken at the end, not each.
 * Weights are 0 or 1, and 0 up to a whole vector. */
INLINE float coefficients(float *logits, const float *labels, const float *weights, float alpha, int n,
                          Product *product)
{
    vec sum = {0}, factors = broadcast(1.0f);
    for (int k = 0; k < VECTORS(n); k++) {
        vec z = AT(logits, k), label = AT(labels, k), weight = AT(weights, k);
        vec e = exp_negative(-magnitude(z));
        vec near_one = 1.0f / (1.0f + e); /* sigmoid(|z|) */
        vec sigmoid = choose(z > 0.0f, near_one, e * near_one);
        sum += weight * larger((vec){0}, z * (1.0f - 2.0f * label)); /* shows a z that is no number */
        factors *= weight * e + 1.0f;
        AT(logits, k) = alpha * weight * (label - sigmoid);
        if (k % 64 == 63) { /* before they may be too large */
            multiply(product, factors);
            factors = broadcast(1.0f);
        }
    }
    multiply(product, factors);
    return total(sum);
}

/* ---- what one call carries along ------------------------------------------------------- */

/* One prediction: of a word from those around it. Places are counted in the text, slots in the window, from left to
 * right: 0 .. 2 window - 1. */
typedef struct {
    int64_t place;           /* of the first context word; the others follow, but for the target */
    int n_places, middle;    /* so many places, and which of them is the target's; not for one context word */
    int slot, n;             /* the slot of the first context word, and how many there are */
} Example;

/* One of `shared_by` parts of the chunk, and where its reading stands. */
typedef struct {
    int64_t at, stop;        /* the place of the target; the part ends before `stop` */
    int64_t begin, end;      /* of the line, as far as windows reach */
    int64_t next, last;      /* context words that are still to come, for models that take one at a time */
    Example example;         /* the last that was read */
} Reader;

typedef struct {
    const Hyper *p;
    const Task *task;
    uint64_t rng;
    int64_t cursor;          /* tuple of negatives in use, */
    const int32_t *negatives; /* (drawn,) and these */
    float alpha;
    double loss, concentration;
    Product product;         /* whose logarithm is the rest of the loss */
    int64_t examples, contexts, weighed;
    int n_targets;           /* drawn + 1 */
    const int32_t *tokens;   /* (n_tokens,) what sub-sampling kept */
    int64_t n_tokens, passed; /* and how many of them have been read */
    int n_readers;
    Reader *readers;         /* (n_readers,) those that have not come to the end of their part */
    int32_t *wanted;         /* (n_readers,) their targets, then -1 up to a whole block */
    float **own;             /* (n_readers,) rows of O: of the targets; then nobody's */
    float *nobody;           /* (out_width,) zeros: a row for an example that is not there, whose weights are 0 */
    int first, size, weighted; /* the block: its first reader, how many, and for how many weights are set */
    float *xs[BLOCK];        /* (out_width,) the vectors x: rows of W themselves, or hiddens */
    float *hiddens[BLOCK];   /* (out_width,) where x is composed; zeros if x is a row */
    float *grads[BLOCK];     /* (out_width,) -alpha dL/dx, unless rows learn in place */
    float *shares[BLOCK], *steps[BLOCK]; /* (n_places,) padded: x = sum shares W; W += steps grad; 0 in the middle */
    float **targets;         /* (n_targets,) rows of O: the negatives, and for one example its target */
    float *logits, *labels, *weights; /* (n_targets,) or, for each TOGETHER of several, (n_targets, TOGETHER), padded */
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

INLINE void prefetch_row(const float *row, int nv)
{
    int n = nv * LANES / 16;
#ifdef CLAIM_ROWS
    /* Whole, and as if to be written at once: a line of another core's that was fetched to be read must be asked for
     * again to be written. */
    for (int k = 0; k < n; k++)
        __builtin_prefetch(row + 16 * k, 1, 3);
#else
    /* Into the second cache level: the first has too few buffers for what is on its way from memory, and an
     * instruction that waits for one of them holds up all others. */
    n = n < LINES_AHEAD ? n : LINES_AHEAD;
    for (int k = 0; k < n; k++)
        __builtin_prefetch(row + 16 * k, 0, 2);
#endif
}

/* The examples of the block are numbered from 0. */
INLINE const Example *example(const State *s, int b) { return &s->readers[s->first + b].example; }

/* Targets, or draws, between asking the memory for a row and using it: as more than a few long ones would not stay. */
INLINE int ahead(int nv) { return nv * LANES / 16 > LINES_AHEAD ? 1 : 2; }

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
INLINE void look_up(const State *s, int b)
{
    const int columns = s->p->word_slots;
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, example(s, b), right);
        for (int k = 0; k < side.n; k++)
            s->shares[b][side.first + k] = side.rows[k][columns * (side.slot + k)];
    }
}

/* shares[i] = exp(e_i - max e) over the places of the example but for the target's, e_i = K[w_i, i] + s[i], from what
 * was looked up; returns the sum Z, so that the weight of place i is a_i = shares[i] / Z. */
INLINE float attend(State *s, int b)
{
    const Hyper *p = s->p;
    const Example *x = example(s, b);
    float *const shares = s->shares[b];
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0}, squares = {0};
    for (int k = 0; k < VECTORS(x->n_places); k++) {
        vec e = {0}, slots;
        if (p->word_stride)
            e = AT(shares, k);
        if (p->use_slots) {
            memcpy(&slots, s->slot_logits + x->slot + k * LANES, sizeof slots); /* not aligned */
            e += slots;
        }
        ivec place = s->places + k * LANES;
        e = larger(low, choose(e > high, high, e));
        e = choose((place < x->n_places) & (place != x->middle), e, low);
        most = larger(most, e);
        AT(shares, k) = e;
    }
    float top = most[0];
    for (int k = 1; k < LANES; k++)
        top = most[k] > top ? most[k] : top;
    for (int k = 0; k < VECTORS(x->n_places); k++) {
        ivec place = s->places + k * LANES;
        vec share = choose((place < x->n_places) & (place != x->middle), exp_negative(AT(shares, k) - top), (vec){0});
        AT(shares, k) = share;
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
INLINE void learn_attention(State *s, int b, const int nv)
{
    const Hyper *p = s->p;
    const Example *x = example(s, b);
    const int columns = p->word_slots;
    float *slots = slot_logits(s), along[4];
    dots(s->grads[b], context_rows(s, x), s->sums, x->n_places, nv, s->slopes);
    dots(s->grads[b], &s->xs[b], s->sums, 1, nv, along);
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, x, right);
        for (int k = 0; k < side.n; k++) {
            float delta = p->attention_rate * s->shares[b][side.first + k] * (s->slopes[side.first + k] - along[0]);
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
INLINE void share(State *s, int b)
{
    const Hyper *p = s->p;
    const Example *x = example(s, b);
    float *const shares = s->shares[b], sum = p->model == MODEL_CBOW_ATTN ? attend(s, b) : (float)x->n;
    if (p->model != MODEL_CBOW_ATTN)
        for (int k = 0; k < VECTORS(x->n_places); k++)
            AT(shares, k) = choose(s->places + k * LANES == x->middle, (vec){0}, broadcast(1.0f));
    /* exact: W_i moves by a_i grad;  word2vec: by n a_i grad, for a plain mean by grad itself */
    const float inverse = 1.0f / sum, scale = p->word2vec_update ? (float)x->n / sum : inverse;
    for (int k = 0; k < VECTORS(x->n_places); k++) {
        AT(s->steps[b], k) = AT(shares, k) * scale;
        AT(shares, k) *= inverse;
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
    const int size = s->size;
    if (pairwise(p)) {
        for (int b = 0; b < size; b++)
            s->xs[b] = context_rows(s, example(s, b))[0];
        for (int b = size; b % TOGETHER; b++)
            s->xs[b] = s->hiddens[b]; /* zeros */
    } else if (p->model == MODEL_CWINDOW) {
        const Example *x = example(s, 0);
        memset(s->hiddens[0], 0, (size_t)p->out_width * sizeof(float));
        for (int k = 0; k < x->n_places; k++)
            if (k != x->middle)
                memcpy(s->hiddens[0] + slot_of(x, k) * p->width, context_rows(s, x)[k],
                       (size_t)p->width * sizeof(float));
    } else {
        if (p->model == MODEL_CBOW_ATTN && p->use_slots) {
            const size_t window = (size_t)p->window;
            memcpy(s->slot_logits, slot_logits(s), window * sizeof(float));
            memcpy(s->slot_logits + window + 1, slot_logits(s) + window, window * sizeof(float));
        }
        /* for all examples first: what is written number by number is not soon to be read as a vector */
        if (p->model == MODEL_CBOW_ATTN && p->word_stride)
            for (int b = 0; b < size; b++)
                look_up(s, b);
        for (int b = 0; b < size; b++)
            share(s, b);
        for (int b = 0; b < size; b++)
            gather(s->hiddens[b], context_rows(s, example(s, b)), s->shares[b], example(s, b)->n_places, nv);
    }
}

/* Takes the gradients of x back to the rows that it was composed of. */
INLINE void spread(State *s, const int nv)
{
    for (int b = 0; b < s->size; b++) {
        const Example *x = example(s, b);
        float **rows = context_rows(s, x);
        if (s->p->model == MODEL_CWINDOW) {
            for (int k = 0; k < x->n_places; k++)
                if (k != x->middle)
                    add(rows[k], s->grads[b] + slot_of(x, k) * s->p->width, nv);
        } else
            scatter(s->grads[b], rows, s->steps[b], x->n_places, nv);
    }
}

/* ---- the step -------------------------------------------------------------------------- */

INLINE const int32_t *tuple_at(const State *s, int64_t cursor)
{
    return s->task->pool + (cursor % s->task->n_tuples) * s->p->drawn;
}

/* Logits that stand together for a row: a lone example takes no more room than it needs. */
INLINE int across(const State *s) { return s->size == 1 ? 1 : TOGETHER; }

/* Where the logits of the example b begin, or would begin; the next of its own are `across` further on each time. */
INLINE int logits_of(const State *s, int b) { return b / TOGETHER * TOGETHER * s->n_targets + b % TOGETHER; }

/* Logits of the block, those of examples that are not there with them. */
INLINE int n_logits(const State *s) { return (s->size + across(s) - 1) / across(s) * across(s) * s->n_targets; }

/* Sets labels, 1 for targets and 0 for negatives, and the weights of targets, 0 where there is no example. */
static void weigh(State *s)
{
    const int n = n_logits(s);
    memset(s->weights, 0, (size_t)VECTORS(n) * sizeof(vec));
    memset(s->labels, 0, (size_t)VECTORS(n) * sizeof(vec));
    for (int b = 0; b < s->size; b++) {
        const int own = logits_of(s, b) + s->p->drawn * across(s);
        s->weights[own] = s->labels[own] = 1.0f;
    }
    s->weighted = s->size;
}

/* Sets the weights of the negatives, of which those that are an example's target count nothing for that one. */
INLINE void weigh_negatives(State *s)
{
    const int drawn = s->p->drawn;
    const int32_t *negatives = s->negatives, *wanted = s->wanted + s->first;
    if (s->size == 1) {
        for (int t = 0; t < drawn; t++)
            s->weights[t] = negatives[t] != wanted[0];
        return;
    }
    for (int b = 0; b < s->size; b += TOGETHER) {
        const words targets = *(const words *)(wanted + b);
        words *weights = (words *)(s->weights + logits_of(s, b));
        for (int t = 0; t < drawn; t++)
            weights[t] = (targets != negatives[t]) & weights[drawn]; /* 1 for an example that is there */
    }
}

/* Whether no two of TOGETHER are the same row. */
INLINE int apart(float *const *xs)
{
    for (int a = 1; a < TOGETHER; a++)
        for (int b = 0; b < a; b++)
            if (xs[a] == xs[b])
                return 0;
    return 1;
}

/* The step of TOGETHER examples, whose logits have become coefficients. Rows that are x themselves learn in place, or,
 * if one is there twice, as soon as all have their sums. */
INLINE void step_several(State *s, int first, const int nv)
{
    float **const xs = s->xs + first, **const grads = s->grads + first, **const own = s->own + s->first + first;
    const float *weights = s->logits + logits_of(s, first);
    const int in_place = pairwise(s->p);
    if (in_place && apart(xs)) {
        exchange_several(xs, grads, own, s->targets, weights, s->p->drawn, nv, 1);
        return;
    }
    exchange_several(xs, grads, own, s->targets, weights, s->p->drawn, nv, 0);
    if (in_place)
        for (int b = 0; b < TOGETHER; b++)
            add(xs[b], grads[b], nv);
}

/* One negative-sampling step of the examples of the block, each against its own target, and all against one tuple
 * of negatives, of which those that are the target itself count nothing. Logits are those before the step; it is taken
 * TOGETHER at a time, and each meets rows as those before it have left them. */
INLINE void train_block(State *s, const int in_nv, const int nv)
{
    const Hyper *p = s->p;
    const int size = s->size, drawn = p->drawn, n_targets = s->n_targets;
    float **const own = s->own + s->first;
    if (s->weighted != size)
        weigh(s);
    weigh_negatives(s);
    compose(s, in_nv);
    if (size == 1)
        s->targets[drawn] = own[0];
    if (!p->skip_dots) {
        if (size == 1)
            dots(s->xs[0], s->targets, s->sums, n_targets, nv, s->logits);
        else
            for (int b = 0; b < size; b += TOGETHER)
                dots_several(s->xs + b, own + b, s->targets, drawn, nv, s->logits + logits_of(s, b));
    }
    s->loss += coefficients(s->logits, s->labels, s->weights, s->alpha, n_logits(s), &s->product);
    if (size > 1)
        for (int b = 0; b < size; b += TOGETHER)
            step_several(s, b, nv);
    else if (pairwise(p))
        exchange(s->xs[0], 0, s->targets, s->logits, n_targets, nv, 1);
    else
        exchange(s->xs[0], s->grads[0], s->targets, s->logits, n_targets, nv, 0);
    if (p->model == MODEL_CBOW_ATTN && p->attention_rate != 0.0f)
        for (int b = 0; b < size; b++)
            learn_attention(s, b, in_nv);
    if (!pairwise(p))
        spread(s, in_nv);
}

/* Looks up the rows of the tuple in use; ssg has a band for each slot, and no two examples in a block. */
INLINE void meet_tuple(State *s)
{
    const int band = s->p->model == MODEL_SSG ? example(s, 0)->slot : 0;
    s->negatives = tuple_at(s, s->cursor);
    for (int t = 0; t < s->p->drawn; t++)
        s->targets[t] = output_row(s, s->negatives[t], band);
}

INLINE void next_tuple(State *s, const int nv)
{
    if (++s->cursor == s->task->n_tuples)
        s->cursor = 0;
    const int32_t *later = tuple_at(s, s->cursor + ahead(nv));
    /* ssg goes from slot to slot; for all others there is one band */
    const int band = (s->readers[0].example.slot + 1 + ahead(nv)) % s->p->bands;
    for (int t = 0; t < s->p->drawn; t++)
        prefetch_row(output_row(s, later[t], band), nv);
}

/* ---- private rows ---------------------------------------------------------------------- */

/* Adds what this thread changed since the last merge and takes over what the others did. */
static void merge_rows(const Rows *rows, int64_t n_rows)
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
    merge_rows(&task->inputs, p->n_private);
    merge_rows(&task->outputs, p->n_private);
    if (p->word_stride)
        merge_rows(&task->word_logits, p->n_private);
    if (p->use_slots)
        merge_rows(&task->slot_logits, 1);
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

/* Goes on to the next target of a part of the text that has context words; returns 0 at the end of the part. */
INLINE int next_target(State *s, int which, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
    const int32_t *tokens = s->tokens;
    const int64_t window = p->window;
    Reader *r = &s->readers[which];
    Example *x = &r->example;
    int64_t i, left, right;
    do {
        i = ++r->at;
        if (i >= r->stop)
            return 0;
        s->passed++;
        int64_t reach = window;
        if (p->shrink_windows)
            reach = 1 + (int64_t)(((uint64_t)draw(&s->rng) * (uint64_t)window) >> 32);
        prefetch_token(s, i + ahead(out_nv), nv, out_nv);
        left = right = 0;
        if (tokens[i] < 0) {
            r->begin = i + 1;
            continue;
        }
        if (r->end <= i)
            r->end = i + 1;
        while (r->end < s->n_tokens && r->end <= i + window && tokens[r->end] >= 0)
            r->end++;
        left = i - r->begin < reach ? i - r->begin : reach;
        right = r->end - 1 - i < reach ? r->end - 1 - i : reach;
    } while (left + right == 0);
    s->wanted[which] = tokens[i];
    s->own[which] = output_row(s, tokens[i], 0);
    s->contexts += left + right;
    if (pairwise(p)) {
        r->next = i - left + (left == 0);
        r->last = i + right - (right == 0);
        s->examples += left + right;
    } else {
        x->place = i - left;
        x->n_places = (int)(left + right + 1);
        x->middle = (int)left;
        x->slot = (int)(window - left);
        x->n = (int)(left + right);
        s->examples++;
    }
    return 1;
}

/* Goes on to the next example of a part of the text; returns 0 at its end. */
INLINE int next_example(State *s, int which, const int nv, const int out_nv)
{
    Reader *r = &s->readers[which];
    Example *x = &r->example;
    if (r->next > r->last && !next_target(s, which, nv, out_nv))
        return 0;
    if (!pairwise(s->p))
        return 1;
    x->place = r->next++;
    r->next += r->next == r->at;
    if (s->p->model == MODEL_SSG) {
        x->slot = (int)(x->place - r->at + s->p->window - (x->place > r->at));
        s->own[which] = output_row(s, s->wanted[which], x->slot);
    }
    return 1;
}

/* The last reader takes the place of one that is at its end. */
INLINE void drop(State *s, int which)
{
    const int last = --s->n_readers;
    s->readers[which] = s->readers[last];
    s->own[which] = s->own[last];
    s->wanted[which] = s->wanted[last];
    s->own[last] = s->nobody;
    s->wanted[last] = -1;
}

/* Reads the text in `shared_by` parts at a time, an example of each after the other: those that share a tuple of
 * negatives come from places far apart. They meet it TOGETHER at a time, pairs a BLOCK. */
INLINE int train_tokens(State *s, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
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
    s->n_readers = p->shared_by;
    for (int r = 0; r < s->n_readers; r++)
        s->readers[r] = read_from(s, n * r / s->n_readers, n * (r + 1) / s->n_readers);
    const int block = pairwise(p) ? BLOCK : TOGETHER;
    int64_t merged = 0;
    const float slope = (p->alpha_end - p->alpha_begin) / (float)n;
    for (;;) {
        for (s->first = 0; s->first < s->n_readers; s->first += block) {
            int r = s->first;
            while (r < s->n_readers && r < s->first + block)
                if (next_example(s, r, nv, out_nv))
                    r++;
                else
                    drop(s, r);
            s->size = r - s->first;
            if (s->size == 0)
                break;
            if (s->first == 0)
                meet_tuple(s);
            s->alpha = p->alpha_begin + slope * (float)s->passed;
            train_block(s, nv, out_nv);
        }
        if (s->n_readers == 0)
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
    const size_t readers = (size_t)s->p->shared_by;
    s->readers = take(&arena, readers, sizeof(Reader));
    s->own = take(&arena, readers + BLOCK, sizeof(float *));
    s->nobody = take(&arena, width, sizeof(float));
    s->wanted = take(&arena, readers + BLOCK, sizeof(int32_t));
    s->logits = take(&arena, BLOCK * targets, sizeof(float));
    s->labels = take(&arena, BLOCK * targets, sizeof(float));
    s->weights = take(&arena, BLOCK * targets, sizeof(float));
    s->targets = take(&arena, targets, sizeof(float *));
    s->rows = take(&arena, tokens, sizeof(float *));
    s->logit_rows = take(&arena, s->p->word_stride ? tokens : 0, sizeof(float *));
    s->sums = take(&arena, 4 + (around > targets ? around : targets), sizeof(vec));
    s->slot_logits = take(&arena, around, sizeof(float));
    s->slopes = take(&arena, around, sizeof(float));
    s->line = take(&arena, tokens, sizeof(int32_t));
    for (int b = 0; b < BLOCK; b++) {
        s->xs[b] = s->hiddens[b] = take(&arena, width, sizeof(float));
        s->grads[b] = take(&arena, width, sizeof(float));
        s->shares[b] = take(&arena, around, sizeof(float));
        s->steps[b] = take(&arena, around, sizeof(float));
    }
    return arena - begin;
}

int TRAIN(const Task *task)
{
    const Hyper *p = task->hyper;
    State s = {.p = p, .task = task, .rng = task->rng[0], .cursor = (int64_t)task->rng[1]};
    s.n_targets = 1 + p->drawn;
    s.product.mantissa = broadcast(1.0f);
    for (int k = 0; k < LANES; k++)
        s.places[k] = k;

    char *memory = calloc(1, 64 + lay_out(&s, 0));
    if (!memory)
        return -1;
    lay_out(&s, ((uintptr_t)memory + 63) / 64 * 64);
    for (int r = 0; r < p->shared_by + BLOCK; r++) {
        s.wanted[r] = -1;
        s.own[r] = s.nobody;
    }

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
    task->stats[STAT_LOSS] += s.loss + log_of(&s.product);
    task->stats[STAT_CONTEXTS] += (double)s.contexts;
    task->stats[STAT_CONCENTRATION] += s.concentration;
    task->stats[STAT_WEIGHED] += (double)s.weighed;
    free(memory);
    return status;
}
