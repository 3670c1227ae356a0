/* Hierarchical softmax (Morin and Bengio 2005; Mikolov et al. 2013): the probability of a word is that of its path
 * from the root of a Huffman tree, the product of sigmoid(node . x) where the path turns left and of
 * sigmoid(-node . x) where it turns right.
 *
 * So the nodes of the path are rows that x is multiplied with, as negatives are, but each with a label of its own.
 * Models that predict from one context word at a time take this step once for all context words of a target, a GROUP
 * at a time: all of them use the same nodes. The others take it for all examples of a batch, each with its own path.
 */
#ifndef SGNS_PATHS_H
#define SGNS_PATHS_H

#include "sgns_context.h"
#include "sgns_sigmoid.h"

INLINE float *node_row(const State *s, int32_t node) { return row_of(&s->task->nodes, node, s->p->n_private); }

/* Looks up the rows of the nodes above a word, from rows[at] on; returns their number, and the labels. */
INLINE int use_path(State *s, int32_t word, int at, const float **labels)
{
    const int64_t begin = s->task->path_ends[word];
    const int n = (int)(s->task->path_ends[word + 1] - begin);
    const int32_t *nodes = s->task->path_nodes + begin;
    for (int k = 0; k < n; k++)
        s->path.rows[at + k] = node_row(s, nodes[k]);
    *labels = s->task->path_labels + begin;
    return n;
}

/* Prefetches the path of a word itself; the rows of its nodes are mostly in the cache, as many words share them. */
INLINE void prefetch_path(const State *s, int32_t word)
{
    const int64_t begin = s->task->path_ends[word];
    __builtin_prefetch(s->task->path_nodes + begin);
    __builtin_prefetch(s->task->path_nodes + begin + 15);
    __builtin_prefetch(s->task->path_labels + begin);
    __builtin_prefetch(s->task->path_labels + begin + 15);
}

/* The step of a column along the paths of its targets. All logits are computed before the step; then each example sees
 * the rows as the example before it left them. The gradient is added to `grads`, which hold that of negative sampling
 * if there is any. */
INLINE void step_paths(State *s, int column, const int nv)
{
    const Path *path = &s->path;
    const int32_t *words = s->target_words + column * s->column_stride + s->first;
    float **const xs = s->xs + column * GROUP, **const grads = s->grads + column * GROUP;
    int n = 0, ends[BATCH];
    for (int b = 0; b < s->size; b++) {
        const float *labels = 0;
        const int more = words[b] < 0 ? 0 : use_path(s, words[b], n, &labels);
        if (more)
            memcpy(path->labels + n, labels, (size_t)more * sizeof(float));
        dots(xs[b], path->rows + n, s->sums, more, nv, path->logits + n);
        ends[b] = n += more;
    }
    for (int k = 0; k < VECTORS(n); k++)
        AT(path->mask, k) = choose(s->lanes + k * LANES < n, broadcast(1.0f), (vec){0});
    s->loss += coefficients(path->logits, path->labels, path->mask, s->alpha, n, &s->product);
    for (int b = 0, at = 0; b < s->size; at = ends[b++]) {
        float *grad = s->p->drawn ? path->grad : grads[b];
        if (s->p->frozen)
            gather(grad, path->rows + at, path->logits + at, ends[b] - at, nv);
        else
            exchange(xs[b], grad, path->rows + at, path->logits + at, ends[b] - at, nv, 0);
        if (s->p->drawn)
            add(grads[b], grad, nv);
    }
}

/* The step of a group of context words along the path of n nodes above their target. The rows of W learn in place or,
 * if the group has a row twice, after all gradients are known. */
INLINE void step_path_of_group(State *s, float *const *xs, int n, const int nv)
{
    const Path *path = &s->path;
    dots_shared(xs, path->rows, n, nv, path->logits);
    s->loss += coefficients(path->logits, path->labels, path->mask, s->alpha, GROUP * n, &s->product);
    if (s->p->frozen) {
        gather_group(s->grads, path->rows, path->logits, n, nv);
    } else if (distinct(xs)) {
        exchange_shared(xs, s->grads, path->rows, path->logits, n, nv, 1);
        return;
    } else {
        exchange_shared(xs, s->grads, path->rows, path->logits, n, nv, 0);
    }
    for (int b = 0; b < GROUP; b++)
        add(xs[b], s->grads[b], nv);
}

/* The step of all context words and tags of a reader along the path of its target. */
INLINE void step_path_of_target(State *s, const Reader *r, const int nv)
{
    const int64_t target = r->at, n_tags = r->tags_end - r->tag;
    const int64_t first = r->next <= r->last ? r->next : r->last + 1, last = r->last + n_tags;
    const Path *path = &s->path;
    const float *labels;
    const int n = use_path(s, s->tokens[target], 0, &labels);
    for (int t = 0; t < n; t++)
        *(quad *)(path->labels + GROUP * t) = labels[t] - (quad){0};
    float *xs[GROUP];
    int size = 0, masked = -1;
    for (int64_t place = first; place <= last; place++) {
        if (place > r->last)
            xs[size++] = s->rows[r->tag + place - r->last - 1];
        else if (place != target)
            xs[size++] = s->rows[place];
        if (size == 0 || (size < GROUP && place < last))
            continue;
        if (size != masked) {
            const group_ids here = ((group_ids){0, 1, 2, 3} < size) & (group_ids)((quad){0} + 1.0f);
            for (int t = 0; t < n; t++)
                *(group_ids *)(path->mask + GROUP * t) = here;
            for (int k = GROUP * n; k % LANES; k++)
                path->mask[k] = 0.0f;
            masked = size;
        }
        for (; size < GROUP; size++)
            xs[size] = s->hidden[size]; /* zeros */
        step_path_of_group(s, xs, n, nv);
        size = 0;
    }
}

#endif
