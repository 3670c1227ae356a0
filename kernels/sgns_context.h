/* From the rows of the context to the hidden vector x, and from the gradient of x back to the rows.
 *
 *     skipgram, ssg   x is the row of the one context word
 *     cbow            the mean of the rows
 *     cbow-attn       their mean weighted by attention
 *     cwindow         the rows side by side, zeros where there is no word
 *
 * The tags of a document are further rows for its lines: in pairs, in the mean, in the softmax, or side by side.
 */
#ifndef SGNS_CONTEXT_H
#define SGNS_CONTEXT_H

#include <string.h>

#include "sgns_attention.h"

/* The compositions that this header knows: pair, mean, attention, side by side. */
#define COMPOSITIONS "pmas"

/* Sets the weights of the context rows of a run, 1 / n each for cbow, attention weights for cbow-attn, and the gains
 * with which the rows take the gradient of x. */
INLINE void set_context_weights(State *s, Run *run)
{
    const Hyper *p = s->p;
    const Span span = span_of(s, run);
    const int nv = VECTORS(GROUP * span.n_places);
    float *const weights = s->weights[run - s->runs];
    const vec one = broadcast(1.0f);
    vec n = {0};
    for (int k = 0; k < nv; k++)
        n += choose(in_reach(&span, k), one, (vec){0});
    n = totals_of_group(n);
    vec *const of_tags = s->tag_weights[run - s->runs];
    for (int t = 0; t < run->n_tags; t++)
        n += of_tags[t] = choose((s->lanes & (GROUP - 1)) < run->n, one, (vec){0});
    vec sum = n;
    if (p->composition == 'a')
        sum = attend(s, run, &span, weights, of_tags);
    else
        for (int k = 0; k < nv; k++)
            AT(weights, k) = choose(in_reach(&span, k), one, (vec){0});
    const vec inverse = 1.0f / choose(n > 0.0f, sum, one), scale = p->sum_rows ? one : inverse;
    vec overlaps[GROUP] = {{0}};
    for (int k = 0; k < nv; k++) {
        const vec here = AT(weights, k) *= scale;
        EACH (d, GROUP)
            overlaps[d] += here * from_before(here, d);
    }
    /* exact: W_i moves by a_i grad;  word2vec: by n a_i grad, which for a plain mean is grad itself.
     * For a sum, exact is grad itself, and word2vec grad / n. */
    run->gains = !p->word2vec_update ? one : p->sum_rows ? inverse : n;
    EACH (d, GROUP)
        overlaps[d] = totals_of_group(overlaps[d]);
    scale_tags(s, run, scale, overlaps);
    EACH (d, GROUP) {
        const vec of_all = overlaps[d] * from_before(run->gains, d);
        run->overlaps[d] = choose((s->lanes & (GROUP - 1)) >= d, of_all, (vec){0});
    }
    if (p->composition == 'a') {
        const vec to_shares = inverse / scale, squares = overlaps[0] * to_shares * to_shares;
        for (int b = 0; b < run->n; b++)
            if (n[b] > 1.0f) { /* there was a choice */
                s->concentration += squares[b];
                s->weighed++;
            }
    }
}

/* Sets the weights of all runs. */
INLINE void weigh(State *s)
{
    const Hyper *p = s->p;
    if (p->composition == 'a' && p->use_slots)
        copy_slot_logits(s);
    /* for all runs first: a vector that is loaded right after its numbers were stored one by one has to wait */
    if (p->composition == 'a' && p->word_stride)
        for (int k = 0; k < s->n_runs; k++)
            exchange_word_logits(s, &s->runs[k], s->weights[k], 0);
    for (int k = 0; k < s->n_runs; k++)
        set_context_weights(s, &s->runs[k]);
}

/* Multiplies the weights of a run by its gains: then they are the weights with which the rows take the gradient. */
INLINE void use_gains(State *s, const Run *run, int n_places)
{
    float *const weights = s->weights[run - s->runs];
    if (s->p->word2vec_update)
        for (int k = 0; k < VECTORS(GROUP * n_places); k++)
            AT(weights, k) *= run->gains;
}

/* Makes the hidden vector x of each example of the batch. The target's own place takes part with weight 0. It adds
 * nothing unless its row has diverged, as 0 times infinity is NaN. */
INLINE void compose(State *s, const int nv)
{
    const Hyper *p = s->p;
    if (pairwise(p)) {
        for (int b = 0; b < s->size; b++)
            s->xs[b] = context_rows(s, example(s, b))[0];
        for (int b = s->size; b % GROUP; b++)
            s->xs[b] = s->hidden[b]; /* zeros */
    } else if (p->composition == 's') {
        const Example *one = example(s, 0);
        const int n_slots = p->out_width / p->width;
        if (one->n < 2 * p->window || one->n_tags < n_slots - 2 * p->window) /* else every slot is written */
            memset(s->hidden[0], 0, (size_t)p->out_width * sizeof(float));
        for (int k = 0; k < one->n_places; k++)
            if (k != one->middle)
                memcpy(s->hidden[0] + slot_of(one, k) * p->width, context_rows(s, one)[k],
                       (size_t)p->width * sizeof(float));
        for (int t = 0; t < one->n_tags && 2 * p->window + t < n_slots; t++)
            memcpy(s->hidden[0] + (2 * p->window + t) * p->width, s->rows[one->document + t],
                   (size_t)p->width * sizeof(float));
    } else {
        weigh(s);
        for (const Run *run = s->runs; run < s->runs + s->n_runs; run++) {
            float *xs[GROUP];
            vectors_of(run, s->hidden, xs);
            gather_group(xs, s->rows + run->begin, s->weights[run - s->runs], (int)(run->end - run->begin), nv);
            for (int t = 0; t < run->n_tags; t++)
                for (int b = 0; b < run->n; b++)
                    add_times(xs[b], s->rows[run->document + t], s->tag_weights[run - s->runs][t][b], nv);
        }
    }
}

/* Moves each x of a column by what the steps of the targets before it in its run change in the rows. So neighbours learn
 * one after the other, although x was made of rows that none of them had moved. A word that occurs twice in the window
 * is treated as two words. */
INLINE void follow(State *s, int column, const int nv)
{
    for (const Run *run = s->runs; run < s->runs + s->n_runs; run++) {
        const int b = column - run->column;
        if (b <= 0 || b >= run->n)
            continue;
        float *const x = s->hidden[column * GROUP + run->reader];
        for (int d = 1; d <= b; d++)
            add_times(x, s->grads[(column - d) * GROUP + run->reader], run->overlaps[d][b], nv);
    }
}

/* K and s learn. */
INLINE void learn_attention(State *s, const int nv)
{
    for (const Run *run = s->runs; run < s->runs + s->n_runs; run++) {
        float *grads[GROUP];
        vectors_of(run, s->grads, grads);
        learn_logits(s, run, grads, nv);
    }
}

/* Adds the gradients of x to the rows that it was composed of. */
INLINE void spread(State *s, const int nv)
{
    if (s->p->composition == 's') {
        const Example *one = example(s, 0);
        for (int k = 0; k < one->n_places && !s->p->frozen; k++)
            if (k != one->middle)
                add(context_rows(s, one)[k], s->grads[0] + slot_of(one, k) * s->p->width, nv);
        for (int t = 0; t < one->n_tags && 2 * s->p->window + t < s->p->out_width / s->p->width; t++)
            add(s->rows[one->document + t], s->grads[0] + (2 * s->p->window + t) * s->p->width, nv);
        return;
    }
    for (const Run *run = s->runs + s->n_runs - 1; run >= s->runs; run--) { /* the last one's rows are in the cache */
        const int n_places = (int)(run->end - run->begin);
        float *grads[GROUP];
        vectors_of(run, s->grads, grads);
        for (int t = 0; t < run->n_tags; t++) {
            const vec weights = s->tag_weights[run - s->runs][t] * run->gains;
            for (int b = 0; b < run->n; b++)
                add_times(s->rows[run->document + t], grads[b], weights[b], nv);
        }
        if (s->p->frozen)
            continue;
        use_gains(s, run, n_places);
        scatter_group(grads, s->rows + run->begin, s->weights[run - s->runs], n_places, nv);
    }
}

#endif
