/* The step of a batch: negative sampling, hierarchical softmax, and what follows from their gradients.
 *
 * All examples of a batch share a tuple of negatives, and each has its own target. The logits of the batch are those
 * before the step. It is taken a GROUP at a time, and each group finds the rows as the one before has left them.
 */
#ifndef SGNS_STEP_H
#define SGNS_STEP_H

#include "sgns_paths.h"

/* ---- negatives ---------------------------------------------------------------------------- */

INLINE const int32_t *tuple_at(const State *s, int64_t cursor)
{
    return s->task->pool + (cursor % s->task->n_tuples) * s->p->drawn;
}

/* Looks up the rows of the tuple in use; ssg has a band of O for each slot, and batches of one. */
INLINE void use_tuple(State *s)
{
    const int band = s->p->bands > 1 ? example(s, 0)->slot : 0;
    s->negatives = tuple_at(s, s->cursor);
    for (int t = 0; t < s->p->drawn; t++)
        s->output_rows[t] = output_row(s, s->negatives[t], band);
}

/* Goes on to the next tuple, and prefetches the rows of a later one. */
INLINE void next_tuple(State *s, const int nv)
{
    if (++s->cursor == s->task->n_tuples)
        s->cursor = 0;
    const int32_t *later = tuple_at(s, s->cursor + prefetch_distance(nv));
    /* ssg goes from slot to slot; the other models have one band */
    const int band = (s->readers[0].example.slot + 1 + prefetch_distance(nv)) % s->p->bands;
    for (int t = 0; t < s->p->drawn; t++)
        prefetch_row(output_row(s, later[t], band), nv);
}

/* ---- labels and mask ---------------------------------------------------------------------- */

/* From a logit of an example to its next one: the logits of a group are stored row by row, [t][b]. */
INLINE int logit_stride(const State *s) { return s->size == 1 ? 1 : GROUP; }

/* Where the logits of the example b begin, if there are more than one. */
INLINE int first_logit(const State *s, int b) { return b / GROUP * GROUP * s->n_outputs + b % GROUP; }

/* The logits of the batch, including those of examples that fill up the last group. */
INLINE int n_logits(const State *s)
{
    return (s->size + logit_stride(s) - 1) / logit_stride(s) * logit_stride(s) * s->n_outputs;
}

/* Sets the labels, 1 for targets and 0 for negatives, and the mask of targets, 0 where there is no example. */
static void set_labels(State *s)
{
    const int n = n_logits(s);
    memset(s->mask, 0, (size_t)VECTORS(n) * sizeof(vec));
    memset(s->labels, 0, (size_t)VECTORS(n) * sizeof(vec));
    for (int b = 0; b < s->size; b++) {
        const int target = first_logit(s, b) + s->p->drawn * logit_stride(s);
        s->mask[target] = s->labels[target] = 1.0f;
    }
    s->labelled = s->size;
}

/* Sets the mask of negatives: a negative that equals the target of an example does not count for that example. */
INLINE void mask_negatives(State *s)
{
    const int drawn = s->p->drawn;
    const int32_t *negatives = s->negatives, *words = s->target_words + s->first;
    if (s->size == 1) {
        for (int t = 0; t < drawn; t++)
            s->mask[t] = negatives[t] != words[0];
        return;
    }
    for (int b = 0; b < s->size; b += GROUP) {
        const group_ids targets = *(const group_ids *)(words + b);
        group_ids *mask = (group_ids *)(s->mask + first_logit(s, b));
        for (int t = 0; t < drawn; t++)
            mask[t] = (targets != negatives[t]) & mask[drawn]; /* the bits of 1.0f if there is an example */
    }
}

/* ---- the step ----------------------------------------------------------------------------- */

/* The step of a group whose logits have become coefficients. An x that is a row of W learns in place, or, if one is
 * there twice, after the gradients of all. */
INLINE void step_group(State *s, int first, const int nv)
{
    float **const xs = s->xs + first, **const grads = s->grads + first;
    float **const target_rows = s->target_rows + s->first + first;
    const float *weights = s->logits + first_logit(s, first);
    const int in_place = pairwise(s->p);
    if (in_place && distinct(xs)) {
        exchange_group(xs, grads, target_rows, s->output_rows, weights, s->p->drawn, nv, 1);
        return;
    }
    exchange_group(xs, grads, target_rows, s->output_rows, weights, s->p->drawn, nv, 0);
    if (in_place)
        for (int b = 0; b < GROUP; b++)
            add(xs[b], grads[b], nv);
}

/* Negative sampling: the step of x and of the rows of O. The gradient goes to `grads`; an x that is a row of W learns
 * in place. */
INLINE void step_negatives(State *s, const int nv)
{
    const Hyper *p = s->p;
    const int size = s->size, drawn = p->drawn, n_outputs = s->n_outputs;
    float **const target_rows = s->target_rows + s->first;
    if (s->labelled != size)
        set_labels(s);
    mask_negatives(s);
    if (size == 1)
        s->output_rows[drawn] = target_rows[0];
    if (!p->skip_dots) {
        if (size == 1)
            dots(s->xs[0], s->output_rows, s->sums, n_outputs, nv, s->logits);
        else
            for (int b = 0; b < size; b += GROUP)
                dots_group(s->xs + b, target_rows + b, s->output_rows, drawn, nv, s->logits + first_logit(s, b));
    }
    s->loss += coefficients(s->logits, s->labels, s->mask, s->alpha, n_logits(s), &s->product);
    if (size > 1)
        for (int b = 0; b < size; b += GROUP)
            step_group(s, b, nv);
    else if (pairwise(p))
        exchange(s->xs[0], 0, s->output_rows, s->logits, n_outputs, nv, 1);
    else
        exchange(s->xs[0], s->grads[0], s->output_rows, s->logits, n_outputs, nv, 0);
}

/* Trains on the examples of the batch. A row of W has in_nv vectors, x and a row of O have nv. */
INLINE void train_batch(State *s, const int in_nv, const int nv)
{
    const Hyper *p = s->p;
    compose(s, in_nv);
    if (p->drawn)
        step_negatives(s, nv);
    if (p->longest_path && !pairwise(p))
        step_paths(s, nv);
    if (p->composition == 'a' && p->attention_rate != 0.0f)
        for (int b = 0; b < s->size; b++)
            learn_attention(s, b, in_nv);
    if (!pairwise(p))
        spread(s, in_nv);
}

#endif
