/* Attention of cbow-attn (Ling et al. 2015, equations 2 and 3): its weights, and how its logits learn. */
#ifndef SGNS_ATTENTION_H
#define SGNS_ATTENTION_H

#include "sgns_state.h"

/* s, as it is before the step of the batch: for each ring [place][target], from the place that is `outer` to the left
 * of the first target on, with a gap for the hole. */
INLINE void copy_slot_logits(State *s)
{
    for (int r = 0; r < s->n_rings; r++) {
        const Ring *ring = &s->rings[r];
        const float *from = slot_logits(s) + ring->first_slot;
        float *to = s->slot_logits + r * s->ring_stride;
        for (int offset = -ring->outer; offset <= ring->outer; offset++, to += GROUP)
            if (offset <= -ring->inner || offset >= ring->inner) {
                EACH (b, GROUP)
                    to[b * (GROUP + 1)] = *from;
                from++;
            }
    }
}

/* Reads K[w_i, i] into `numbers` [place][target], or adds the numbers to K. A word is at slot i of a target, and at
 * i - 1 of the next one: so those of GROUP targets lie side by side, in reverse, except around the hole. */
INLINE void exchange_word_logits(const State *s, const Run *run, int r, float *numbers, const int adds)
{
    const Ring *ring = &s->rings[r];
    const Span span = span_of(s, run, ring);
    const int inner = ring->inner, outer = ring->outer, columns = s->p->word_slots;
    for (int k = 0; k < span.n_places; k++, numbers += GROUP) {
        const int offset = k - span.middle, last = offset - (GROUP - 1);
        float *const row = s->logit_rows[span.place + k] + ring->column;
        if (columns && ((last >= -outer && offset <= -inner) || (last >= inner && offset <= outer))) {
            float *const logits = row + outer + last + (last > 0 ? 1 - 2 * inner : 0);
            quad four = reversed(adds ? numbers : logits), before = {0};
            if (adds)
                memcpy(&before, logits, sizeof before);
            four += before;
            memcpy(adds ? logits : numbers, &four, sizeof four);
            continue;
        }
        for (int b = 0; b < run->n; b++) {
            const int from_target = offset - b;
            if (from_target < -outer || from_target > outer || (from_target > -inner && from_target < inner))
                continue;
            float *logit = row + columns * (outer + from_target + (from_target > 0 ? 1 - 2 * inner : 0));
            *(adds ? logit : numbers + b) = adds ? *logit + numbers[b] : *logit;
        }
    }
}

/* weights[i] = exp(e_i - max e) for each target, where e_i = K[w_i, i] + s[i] and weights[i] holds K[w_i, i] before;
 * n is the number of context words. Returns the sums Z: the attention weight of place i is a_i = weights[i] / Z. */
INLINE vec attend(State *s, const Run *run, const Span *span, int r, float *weights, vec n)
{
    const Hyper *p = s->p;
    const float *const of_slots = s->slot_logits + r * s->ring_stride + GROUP * (s->rings[r].outer - span->middle);
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0}, squares = {0};
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec e = {0}, slots;
        if (p->word_stride)
            e = AT(weights, k);
        if (p->use_slots) {
            memcpy(&slots, of_slots + k * LANES, sizeof slots); /* not aligned */
            e += slots;
        }
        e = larger(low, choose(e > high, high, e));
        e = choose(in_reach(span, k), e, low);
        most = larger(most, e);
        AT(weights, k) = e;
    }
    const vec top = largest_of_group(most);
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec weight = choose(in_reach(span, k), exp_negative(AT(weights, k) - top), (vec){0});
        AT(weights, k) = weight;
        sum += weight;
        squares += weight * weight;
    }
    sum = totals_of_group(sum);
    squares = totals_of_group(squares) / (sum * sum);
    for (int b = 0; b < run->n; b++)
        if (n[b] > 1.0f) { /* there was a choice */
            s->concentration += squares[b];
            s->weighed++;
        }
    return sum;
}

/* K and s follow -dL/de_i = a_i (w_i . grad - x . grad) in the dimensions of a ring, from the rows before the step;
 * x . grad is sum a_i w_i . grad. */
INLINE void learn_ring(State *s, const Run *run, int r, float *const *grads, const int first, const int nv)
{
    const Hyper *p = s->p;
    const Ring *ring = &s->rings[r];
    const Span span = span_of(s, run, ring);
    const int n = GROUP * span.n_places, n_side = ring->outer - ring->inner + 1;
    const float *const weights = s->weights[run - s->runs] + r * s->ring_stride;
    float *const slopes = s->slopes;
    dots_shared(grads, s->rows + span.place, span.n_places, first, nv, slopes);
    for (int k = n; k % LANES; k++)
        slopes[k] = 0.0f;
    vec along = {0};
    for (int k = 0; k < VECTORS(n); k++)
        along += AT(weights, k) * AT(slopes, k);
    along = totals_of_group(along);
    for (int k = 0; k < VECTORS(n); k++)
        AT(slopes, k) = p->attention_rate * AT(weights, k) * (AT(slopes, k) - along);
    if (p->word_stride)
        exchange_word_logits(s, run, r, slopes, 1);
    if (!p->use_slots)
        return;
    float *slots = slot_logits(s) + ring->first_slot;
    for (int right = 0; right < 2; right++, slots += n_side)
        for (int k = 0; k < n_side; k++) { /* the slot is at a place of each target, one after the other */
            const int place = span.middle + (right ? ring->inner : -ring->outer) + k;
            for (int b = 0; b < GROUP; b++)
                if (place + b >= 0 && place + b < span.n_places)
                    slots[k] += slopes[GROUP * (place + b) + b];
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

#endif
