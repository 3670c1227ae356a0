/* Attention of cbow-attn (Ling et al. 2015, equations 2 and 3): its weights, and how its logits learn. */
#ifndef SGNS_ATTENTION_H
#define SGNS_ATTENTION_H

#include "sgns_state.h"

/* The places of a ring to the left of the target, or those to the right. */
typedef struct {
    float **rows;            /* of K */
    int first, slot, n;      /* the first place, its slot, and the number of places */
} Side;

INLINE Side side_of(const State *s, int b, int r, int right, const int parted)
{
    const Ring *ring = &s->rings[r];
    const Span span = span_of(s, b, r, parted);
    float **rows = s->logit_rows + example(s, b)->place + span.first;
    if (right)
        return (Side){rows + span.hole_end, span.hole_end, ring->outer - ring->inner + 1,
                      span.n_places - span.hole_end};
    return (Side){rows, 0, span.slot, span.hole};
}

/* s, as it is before the step of the batch: for each ring one slot after the other, with a gap for the hole. */
INLINE void copy_slot_logits(State *s)
{
    for (int r = 0; r < s->n_rings; r++) {
        const Ring *ring = &s->rings[r];
        const size_t n = (size_t)(ring->outer - ring->inner + 1);
        const float *from = slot_logits(s) + ring->first_slot;
        float *to = s->slot_logits + r * s->ring_stride;
        memcpy(to, from, n * sizeof(float));
        memcpy(to + ring->outer + ring->inner, from + n, n * sizeof(float));
    }
}

/* weights[i] = K[w_i, i] */
INLINE void copy_word_logits(const State *s, int b, int r, const int parted)
{
    const int columns = s->p->word_slots, first = s->rings[r].column;
    float *const weights = s->weights[b] + r * s->ring_stride;
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, b, r, right, parted);
        for (int k = 0; k < side.n; k++)
            weights[side.first + k] = side.rows[k][first + columns * (side.slot + k)];
    }
}

/* weights[i] = exp(e_i - max e) over the places of a ring, where e_i = K[w_i, i] + s[i] and weights[i] holds
 * K[w_i, i] before. Returns the sum Z: the attention weight of place i is a_i = weights[i] / Z. */
INLINE float attend(State *s, int b, int r, const int parted)
{
    const Hyper *p = s->p;
    const Span span = span_of(s, b, r, parted);
    float *const weights = s->weights[b] + r * s->ring_stride;
    const float *const of_slots = s->slot_logits + r * s->ring_stride + span.slot;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0}, squares = {0};
    for (int k = 0; k < VECTORS(span.n_places); k++) {
        vec e = {0}, slots;
        if (p->word_stride)
            e = AT(weights, k);
        if (p->use_slots) {
            memcpy(&slots, of_slots + k * LANES, sizeof slots); /* not aligned */
            e += slots;
        }
        e = larger(low, choose(e > high, high, e));
        e = choose(in_ring(s, &span, k, parted), e, low);
        most = larger(most, e);
        AT(weights, k) = e;
    }
    float top = most[0];
    for (int k = 1; k < LANES; k++)
        top = most[k] > top ? most[k] : top;
    for (int k = 0; k < VECTORS(span.n_places); k++) {
        vec weight = choose(in_ring(s, &span, k, parted), exp_negative(AT(weights, k) - top), (vec){0});
        AT(weights, k) = weight;
        sum += weight;
        squares += weight * weight;
    }
    float z = total(sum);
    if (span.n > 1) { /* there was a choice */
        s->concentration += total(squares) / (z * z);
        s->weighed++;
    }
    return z;
}

/* K and s follow -dL/de_i = a_i (w_i . grad - x . grad) in the dimensions of a ring, from the rows before the step. */
INLINE void learn_ring(State *s, int b, int r, const int first, const int nv, const int parted)
{
    const Hyper *p = s->p;
    const Ring *ring = &s->rings[r];
    const Span span = span_of(s, b, r, parted);
    const int columns = p->word_slots;
    const float *const grad = s->grads[b], *const weights = s->weights[b] + r * s->ring_stride;
    float *slots = slot_logits(s) + ring->first_slot, along[4];
    dots_from(grad, context_rows(s, example(s, b)) + span.first, s->sums, span.n_places, first, nv, s->slopes);
    if (parted) { /* x . grad, as x = sum a_i w_i */
        vec sum = {0};
        for (int k = 0; k < VECTORS(span.n_places); k++)
            sum += choose(in_ring(s, &span, k, 1), AT(weights, k) * AT(s->slopes, k), (vec){0});
        along[0] = total(sum);
    } else
        dots(grad, &s->xs[b], s->sums, 1, nv, along);
    for (int right = 0; right < 2; right++) {
        const Side side = side_of(s, b, r, right, parted);
        for (int k = 0; k < side.n; k++) {
            float delta = p->attention_rate * weights[side.first + k] * (s->slopes[side.first + k] - along[0]);
            if (p->word_stride)
                side.rows[k][ring->column + columns * (side.slot + k)] += delta;
            if (p->use_slots)
                slots[side.slot + k] += delta;
        }
    }
}

/* The vectors of a gradient at both ends of a part, as they were before other parts were set to zero there. */
typedef struct {
    vec head, tail;
} Ends;

INLINE Ends zero_around(const Ring *ring, float *grad, ivec lanes)
{
    const int first = ring->begin / LANES, last = VECTORS(ring->end) - 1;
    const Ends ends = {AT(grad, first), AT(grad, last)};
    AT(grad, first) = choose(lanes + first * LANES >= ring->begin, AT(grad, first), (vec){0});
    AT(grad, last) = choose(lanes + last * LANES < ring->end, AT(grad, last), (vec){0});
    return ends;
}

INLINE void put_back(const Ring *ring, float *grad, Ends ends)
{
    AT(grad, VECTORS(ring->end) - 1) = ends.tail;
    AT(grad, ring->begin / LANES) = ends.head;
}

/* Not inline: the width of a part is no constant, so one copy of the code serves all. */
static __attribute__((noinline)) void learn_parts(State *s, int b)
{
    for (int r = 0; r < s->n_rings; r++) {
        const Ring *ring = &s->rings[r];
        const int first = ring->begin / LANES;
        const Ends ends = zero_around(ring, s->grads[b], s->lanes);
        learn_ring(s, b, r, first, VECTORS(ring->end) - first, 1);
        put_back(ring, s->grads[b], ends);
    }
}

INLINE void learn_attention(State *s, int b, const int nv)
{
    if (s->p->n_rings)
        learn_parts(s, b);
    else
        learn_ring(s, b, 0, 0, nv, 0);
}

#endif
