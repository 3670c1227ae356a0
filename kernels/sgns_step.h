/* The step of a batch: negative sampling, hierarchical softmax, and what follows from their gradients.
 *
 * A batch has one example from each reader or, for models that average, a few neighbouring ones. The first examples of
 * all readers are a column, the second ones are the next column, and so on. All examples of a column share a tuple of
 * negatives, and each has its own target. The logits of a column are computed before its step. The step is taken a
 * GROUP at a time, and each group sees the rows as the group before it left them. The gradients of all columns reach
 * W, K and s after the last column.
 */
#ifndef SGNS_STEP_H
#define SGNS_STEP_H

#include "sgns_paths.h"

/* ---- negatives ---------------------------------------------------------------------------- */

INLINE const int32_t *tuple_at(const State *s, int64_t cursor)
{
    return s->task->pool + (cursor % s->task->n_tuples) * s->p->drawn;
}

/* Looks up the rows of the tuple of a column. ssg has a band of O for each slot; its batches have one example. */
INLINE void use_tuple(State *s, int column)
{
    const int band = s->p->bands > 1 ? example(s, 0)->slot : 0;
    s->negatives = tuple_at(s, s->cursor + column);
    for (int t = 0; t < s->p->drawn; t++)
        s->output_rows[t] = output_row(s, s->negatives[t], band);
}

/* Prefetches the rows of the tuple that is used `distance` columns after a column. */
INLINE void prefetch_tuple(const State *s, int column, int distance, const int nv)
{
    const int32_t *later = tuple_at(s, s->cursor + column + distance);
    /* ssg goes from slot to slot; the other models have one band */
    const int band = (s->readers[0].example.slot + distance) % s->p->bands;
    for (int t = 0; t < s->p->drawn; t++)
        prefetch_row(output_row(s, later[t], band), nv);
}

/* ---- labels and mask ---------------------------------------------------------------------- */

/* The distance from a logit of an example to its next one: the logits of a group are stored row by row, [t][b]. */
INLINE int logit_stride(const State *s) { return s->size == 1 ? 1 : GROUP; }

/* Where the logits of the example b begin, in a batch of more than one. */
INLINE int first_logit(const State *s, int b) { return b / GROUP * GROUP * s->n_outputs + b % GROUP; }

/* The number of logits of the batch, including those of examples that fill up the last group. */
INLINE int n_logits(const State *s)
{
    return (s->size + logit_stride(s) - 1) / logit_stride(s) * logit_stride(s) * s->n_outputs;
}

/* Sets the labels, 1 for targets and 0 for negatives, and the mask of the target in a batch of one. */
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

/* Sets the mask: 0 for an example that does not exist, and for a negative that equals the target of an example. */
INLINE void set_mask(State *s, const int32_t *words)
{
    const int drawn = s->p->drawn;
    const int32_t *negatives = s->negatives;
    if (s->size == 1) {
        for (int t = 0; t < drawn; t++)
            s->mask[t] = negatives[t] != words[0];
        return;
    }
    for (int b = 0; b < s->size; b += GROUP) {
        const group_ids targets = *(const group_ids *)(words + b);
        group_ids *mask = (group_ids *)(s->mask + first_logit(s, b));
        mask[drawn] = (targets >= 0) & (group_ids)((quad){0} + 1.0f);
        for (int t = 0; t < drawn; t++)
            mask[t] = (targets != negatives[t]) & mask[drawn];
    }
}

/* ---- the step ----------------------------------------------------------------------------- */

/* The step of a group whose logits have become coefficients. An x that is a row of W learns in place. If the group has
 * a row twice, all rows learn after the gradients are known: in place, the second would overwrite the first. */
INLINE void step_group(State *s, float **xs, float **grads, float **target_rows, const float *weights, const int nv)
{
    const int in_place = pairwise(s->p);
    if (s->p->frozen) {
        gather_group(grads, s->output_rows, weights, s->p->drawn, nv);
        for (int b = 0; b < GROUP; b++)
            add_times(grads[b], target_rows[b], weights[GROUP * s->p->drawn + b], nv);
        for (int b = 0; in_place && b < GROUP; b++)
            add(xs[b], grads[b], nv);
        return;
    }
    if (in_place && distinct(xs)) {
        exchange_group(xs, grads, target_rows, s->output_rows, weights, s->p->drawn, nv, 1);
        return;
    }
    exchange_group(xs, grads, target_rows, s->output_rows, weights, s->p->drawn, nv, 0);
    if (in_place)
        for (int b = 0; b < GROUP; b++)
            add(xs[b], grads[b], nv);
}

/* Negative sampling: the step of the x of a column and of the rows of O. The gradient goes to `grads`; an x that is a
 * row of W learns in place. */
INLINE void step_negatives(State *s, int column, const int nv)
{
    const Hyper *p = s->p;
    const int size = s->size, drawn = p->drawn, n_outputs = s->n_outputs, at = column * s->column_stride + s->first;
    float **const target_rows = s->target_rows + at;
    float **const xs = s->xs + column * GROUP, **const grads = s->grads + column * GROUP;
    use_tuple(s, column);
    if (s->labelled != size)
        set_labels(s);
    set_mask(s, s->target_words + at);
    if (size == 1)
        s->output_rows[drawn] = target_rows[0];
    if (!p->skip_dots) {
        if (size == 1)
            dots(xs[0], s->output_rows, s->sums, n_outputs, nv, s->logits);
        else
            for (int b = 0; b < size; b += GROUP)
                dots_group(xs + b, target_rows + b, s->output_rows, drawn, nv, s->logits + first_logit(s, b));
    }
    s->loss += coefficients(s->logits, s->labels, s->mask, s->alpha, n_logits(s), &s->product);
    if (size > 1)
        for (int b = 0; b < size; b += GROUP)
            step_group(s, xs + b, grads + b, target_rows + b, s->logits + first_logit(s, b), nv);
    else if (p->frozen) {
        gather(grads[0], s->output_rows, s->logits, n_outputs, nv);
        if (pairwise(p))
            add(xs[0], grads[0], nv);
    } else if (pairwise(p))
        exchange(xs[0], 0, s->output_rows, s->logits, n_outputs, nv, 1);
    else
        exchange(xs[0], grads[0], s->output_rows, s->logits, n_outputs, nv, 0);
}

/* Trains on the examples of the batch. A row of W has in_nv vectors, x and a row of O have nv. */
INLINE void train_batch(State *s, const int in_nv, const int nv)
{
    const Hyper *p = s->p;
    const int ahead = neighbours(p) > 1 ? GROUP : 1 + prefetch_distance(nv);
    compose(s, in_nv);
    for (int column = 0; column < s->n_columns; column++) {
        if (column)
            follow(s, column, in_nv);
        if (p->drawn)
            step_negatives(s, column, nv);
        if (p->longest_path && !pairwise(p))
            step_paths(s, column, nv);
        if (s->first == 0) /* the other batches of this turn use the same tuples */
            prefetch_tuple(s, column, ahead, nv);
    }
    if (p->composition == 'a' && p->attention_rate != 0.0f)
        learn_attention(s, in_nv);
    if (!pairwise(p))
        spread(s, in_nv);
}

#endif
