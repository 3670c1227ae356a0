/* From the rows of the context to the hidden vector x, and from the gradient of x back to the rows.
 *
 *     skipgram, ssg   x is the row of the one context word
 *     cbow            the mean of the rows
 *     cbow-attn       their mean weighted by attention
 *     cwindow         the rows side by side, zeros where there is no word
 *
 * With parts (`rings`), cbow and cbow-attn make each part of x of the rows of its own ring of places, and with a softmax
 * of its own; a part that has no word in reach is zero.
 */
#ifndef SGNS_CONTEXT_H
#define SGNS_CONTEXT_H

#include <string.h>

#include "sgns_attention.h"

/* The compositions that this header knows: pair, mean, attention, side by side. */
#define COMPOSITIONS "pmas"

/* Sets the weights of the context rows in a part of x, 1 / n each for cbow, attention weights for cbow-attn, and those
 * with which the rows take the gradient of x. A part that no word is in reach of has weights of 0. */
INLINE void set_context_weights(State *s, int b, int r, const int parted)
{
    const Hyper *p = s->p;
    const Span span = span_of(s, b, r, parted);
    float *const weights = s->weights[b] + r * s->ring_stride;
    float *const grad_weights = s->grad_weights[b] + r * s->ring_stride;
    float sum = p->composition == 'a' ? attend(s, b, r, parted) : (float)span.n;
    if (span.n == 0)
        sum = 1.0f;
    if (p->composition != 'a')
        for (int k = 0; k < VECTORS(span.n_places); k++)
            AT(weights, k) = choose(in_ring(s, &span, k, parted), broadcast(1.0f), (vec){0});
    /* exact: W_i moves by a_i grad;  word2vec: by n a_i grad, which for a plain mean is grad itself.
     * For a sum, exact is grad itself, and word2vec grad / n. */
    const float inverse = 1.0f / sum, scale = p->word2vec_update != p->sum_rows ? (float)span.n / sum : inverse;
    for (int k = 0; k < VECTORS(span.n_places); k++) {
        AT(grad_weights, k) = AT(weights, k) * scale;
        AT(weights, k) *= p->sum_rows ? 1.0f : inverse;
    }
}

/* Sets the weights of all examples in all rings. */
INLINE void weigh(State *s, const int parted)
{
    const Hyper *p = s->p;
    const int size = s->size, n_rings = parted ? s->n_rings : 1;
    if (p->composition == 'a' && p->use_slots)
        copy_slot_logits(s);
    /* for all examples first: numbers that were just written one by one cannot be read as a vector at once */
    if (p->composition == 'a' && p->word_stride)
        for (int b = 0; b < size; b++)
            for (int r = 0; r < n_rings; r++)
                copy_word_logits(s, b, r, parted);
    for (int b = 0; b < size; b++)
        for (int r = 0; r < n_rings; r++)
            set_context_weights(s, b, r, parted);
}

/* Makes the parts of x. Where the dimensions of one begin within a vector, the part before stays. Not inline: the width
 * of a part is no constant, so one copy of the code serves all. */
static __attribute__((noinline)) void compose_parts(State *s)
{
    for (int b = 0; b < s->size; b++)
        for (int r = 0; r < s->n_rings; r++)
            s->spans[b][r] = span_in(&s->rings[r], example(s, b));
    weigh(s, 1);
    for (int b = 0; b < s->size; b++)
        for (int r = 0; r < s->n_rings; r++) {
            const Ring *ring = &s->rings[r];
            const Span span = s->spans[b][r];
            const int first = ring->begin / LANES;
            float *hidden = s->hidden[b], **rows = context_rows(s, example(s, b)) + span.first;
            const vec before = AT(hidden, first);
            gather(hidden, rows, s->weights[b] + r * s->ring_stride, span.n_places, first, VECTORS(ring->end) - first);
            AT(hidden, first) = choose(s->lanes + first * LANES < ring->begin, before, AT(hidden, first));
        }
}

/* Adds the parts of the gradients of x to the rows that these were composed of. */
static __attribute__((noinline)) void spread_parts(State *s)
{
    for (int b = 0; b < s->size; b++)
        for (int r = 0; r < s->n_rings; r++) {
            const Ring *ring = &s->rings[r];
            const Span span = s->spans[b][r];
            const int first = ring->begin / LANES;
            float **rows = context_rows(s, example(s, b)) + span.first;
            const float *weights = s->grad_weights[b] + r * s->ring_stride;
            const Ends ends = zero_around(ring, s->grads[b], s->lanes);
            scatter(s->grads[b], rows, weights, span.n_places, first, VECTORS(ring->end) - first);
            put_back(ring, s->grads[b], ends);
        }
}

/* Makes the hidden vector x of each example of the batch. The words of a hole, the target at least, stand among the
 * places with weight 0; this adds nothing unless a row has diverged, as 0 times infinity is NaN. */
INLINE void compose(State *s, const int nv)
{
    const Hyper *p = s->p;
    const int size = s->size;
    if (pairwise(p)) {
        for (int b = 0; b < size; b++)
            s->xs[b] = context_rows(s, example(s, b))[0];
        for (int b = size; b % GROUP; b++)
            s->xs[b] = s->hidden[b]; /* zeros */
    } else if (p->composition == 's') {
        const Example *one = example(s, 0);
        if (one->n < 2 * p->window) /* else every slot is written */
            memset(s->hidden[0], 0, (size_t)p->out_width * sizeof(float));
        for (int k = 0; k < one->n_places; k++)
            if (k != one->middle)
                memcpy(s->hidden[0] + slot_of(one, k) * p->width, context_rows(s, one)[k],
                       (size_t)p->width * sizeof(float));
    } else if (p->n_rings) {
        compose_parts(s);
    } else {
        weigh(s, 0);
        for (int b = 0; b < size; b++)
            gather(s->hidden[b], context_rows(s, example(s, b)), s->weights[b], example(s, b)->n_places, 0, nv);
    }
}

/* Adds the gradients of x to the rows that it was composed of. */
INLINE void spread(State *s, const int nv)
{
    if (s->p->n_rings) {
        spread_parts(s);
        return;
    }
    for (int b = 0; b < s->size; b++) {
        const Example *one = example(s, b);
        float **rows = context_rows(s, one);
        if (s->p->composition == 's') {
            for (int k = 0; k < one->n_places; k++)
                if (k != one->middle)
                    add(rows[k], s->grads[b] + slot_of(one, k) * s->p->width, nv);
        } else
            scatter(s->grads[b], rows, s->grad_weights[b], one->n_places, 0, nv);
    }
}

#endif
