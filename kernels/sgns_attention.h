/* Attention of cbow-attn (Ling et al. 2015, equations 2 and 3): its weights, and how its logits learn. */
#ifndef SGNS_ATTENTION_H
#define SGNS_ATTENTION_H

#include "sgns_documents.h"

/* Copies the present logits s of a ring's slots, one after the other, to s->slot_logits[GROUP] and on, with a gap for
 * the hole. */
INLINE void copy_slot_logits(State *s, int r)
{
    const Ring *ring = &s->rings[r];
    const size_t n = (size_t)(ring->outer - ring->inner + 1);
    const float *from = slot_logits(s) + ring->first_slot;
    float *to = s->slot_logits + r * s->ring_stride + GROUP;
    memcpy(to, from, n * sizeof(float));
    memcpy(to + ring->outer + ring->inner, from + n, n * sizeof(float));
}

/* Reads K[w_i, i] into `numbers` [place][target], or adds the numbers to K. A word at slot i of a target is at slot
 * i - 1 of the next target, so its logits for GROUP targets are contiguous, in reverse, except around the hole. */
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

/* weights[i] = exp(e_i - max e) for each target, where e_i = K[w_i, i] + s[i]. Before the call, weights[i] holds
 * K[w_i, i]. The same for the tags of the document.
 * Returns the sums Z: the attention weight of place i is a_i = weights[i] / Z. */
INLINE vec attend(const State *s, const Run *run, const Span *span, int r, float *weights, vec *of_tags)
{
    const Hyper *p = s->p;
    const float *const of_slots = s->slot_logits + r * s->ring_stride + s->rings[r].outer - span->middle + 1;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0};
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec e = {0};
        if (p->word_stride)
            e = AT(weights, k);
        if (p->use_slots)
            e += slots_of_group(of_slots + k * (LANES / GROUP));
        e = larger(low, choose(e > high, high, e));
        e = choose(in_reach(span, k), e, low);
        most = larger(most, e);
        AT(weights, k) = e;
    }
    vec top = largest_of_group(most);
    for (int t = 0; t < run->n_tags; t++)
        top = larger(top, tag_logit(s, run, t));
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec weight = choose(in_reach(span, k), exp_negative(AT(weights, k) - top), (vec){0});
        AT(weights, k) = weight;
        sum += weight;
    }
    sum = totals_of_group(sum);
    return sum + attend_to_tags(s, run, top, of_tags);
}

/* The same with K and s as they are now, to learn from. With logits clipped to at most 40 their maximum is not needed:
 * exp(e_i - clip) neither overflows nor becomes 0. */
INLINE vec attend_again(const State *s, const Run *run, const Span *span, int r, float *weights, vec *of_tags)
{
    const Hyper *p = s->p;
    if (p->attention_clip > 40.0f)
        return attend(s, run, span, r, weights, of_tags);
    const float *const of_slots = s->slot_logits + r * s->ring_stride + s->rings[r].outer - span->middle + 1;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec sum = {0};
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec e = {0};
        if (p->word_stride)
            e = AT(weights, k);
        if (p->use_slots)
            e += slots_of_group(of_slots + k * (LANES / GROUP));
        e = larger(low, choose(e > high, high, e));
        e = choose(in_reach(span, k), exp_negative(e - high), (vec){0});
        sum += e;
        AT(weights, k) = e;
    }
    sum = totals_of_group(sum);
    return sum + attend_to_tags(s, run, high, of_tags);
}

/* slopes[i] = w_i . grad for each target, in the dimensions of a ring, where the rows w_i are those that the steps of
 * the targets before it have moved. */
INLINE void slopes_of_rows(State *s, const Run *run, int r, const Span *span, float *const *grads, const int first,
                           const int nv)
{
    const float *const weights = s->weights[run - s->runs] + r * s->ring_stride;
    float products[GROUP * GROUP], moves[GROUP][LANES] __attribute__((aligned(64))) = {{0}};
    dots_shared(grads, s->rows + span->place, span->n_places, first, nv, s->slopes);
    for (int k = GROUP * span->n_places; k % LANES; k++)
        s->slopes[k] = 0.0f;
    dots_shared(grads, grads, GROUP, first, nv, products);
    for (int d = 1; d < GROUP; d++)
        for (int b = d; b < GROUP; b++)
            for (int k = b; k < LANES; k += GROUP)
                moves[d][k] = run->gains[r][b - d] * products[GROUP * (b - d) + b];
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        const vec here = AT(weights, k);
        vec slopes = AT(s->slopes, k);
        EACH (d, GROUP)
            if (d)
                slopes += from_before(here, d) * AT(moves[d], 0);
        AT(s->slopes, k) = slopes;
    }
    slopes_of_tags(s, run, grads, moves, first, nv);
}

/* Adds the changes to s. A slot's place moves on by one from each target to the next. */
INLINE void add_to_slots(const Ring *ring, const Span *span, const float *changes, float *slots)
{
    const int n_side = ring->outer - ring->inner + 1;
    for (int right = 0; right < 2; right++, slots += n_side)
        for (int k = 0; k < n_side; k++) {
            const int place = span->middle + (right ? ring->inner : -ring->outer) + k;
            if (place >= 0 && place + GROUP <= span->n_places) {
                const float *here = changes + GROUP * place;
                slots[k] += (here[0] + here[GROUP + 1]) + (here[2 * GROUP + 2] + here[3 * GROUP + 3]);
            } else
                for (int b = 0; b < GROUP; b++)
                    if (place + b >= 0 && place + b < span->n_places)
                        slots[k] += changes[GROUP * (place + b) + b];
        }
}

/* Moves K and s along -dL/de_i = a_i (w_i . grad - sum_j a_j w_j . grad) in the dimensions of a ring. The weights a are
 * computed again, after the steps of K and s for the runs before: with the weights that x was made with, logits that
 * many examples share would keep falling long after their weight is zero. */
INLINE void learn_ring(State *s, const Run *run, int r, float *const *grads, const int first, const int nv)
{
    const Hyper *p = s->p;
    const Ring *ring = &s->rings[r];
    const Span span = span_of(s, run, ring);
    const int n = VECTORS(GROUP * span.n_places);
    float *const slopes = s->slopes, *weights = s->weights[run - s->runs] + r * s->ring_stride;
    const int again = run > s->runs; /* for the first run nothing has changed */
    /* long before they are read: a vector that is loaded right after its numbers were stored one by one has to wait */
    if (again && p->word_stride)
        exchange_word_logits(s, run, r, s->renewed, 0);
    if (again && p->use_slots)
        copy_slot_logits(s, r);
    slopes_of_rows(s, run, r, &span, grads, first, nv);
    vec along = {0}, z = {0};
    if (again)
        z = attend_again(s, run, &span, r, weights = s->renewed, s->tags_renewed);
    for (int k = 0; k < n; k++) {
        along += AT(weights, k) * AT(slopes, k);
        if (!again)
            z += AT(weights, k);
    }
    if (!again)
        z = totals_of_group(z);
    along = totals_of_group(along);
    const vec *const of_tags = again ? s->tags_renewed : s->tag_weights[run - s->runs];
    for (int t = 0; t < run->n_tags; t++) {
        along += of_tags[t] * s->tag_slopes[t];
        if (!again)
            z += of_tags[t];
    }
    const vec inverse = 1.0f / choose(z > 0.0f, z, broadcast(1.0f)), rate = p->attention_rate * inverse;
    along *= inverse;
    for (int k = 0; k < n; k++)
        AT(slopes, k) = rate * AT(weights, k) * (AT(slopes, k) - along);
    if (p->word_stride)
        exchange_word_logits(s, run, r, slopes, 1);
    if (p->use_slots)
        add_to_slots(ring, &span, slopes, slot_logits(s) + ring->first_slot);
    learn_tags(s, run, of_tags, rate, along);
}

/* The vectors of a gradient at both ends of a part, as they were before other parts were set to zero there. */
typedef struct {
    vec head, tail;
} Ends;

/* Sets the dimensions of other parts to zero in the vectors at both ends of a part: loops work on whole vectors. */
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
