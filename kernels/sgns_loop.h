/* One training loop for all models, compiled once per instruction set.
 *
 * Define before including: LANES, the floats per vector, and TRAIN, the name of the function.
 * The reference implementation, with the same order of draws and the same names, is sgns_reference.py; the equations
 * are in docs/models.md.
 *
 * All models do the same for each example:
 *
 *     compose  a hidden vector x from input rows           (one row, a mean, an attention-weighted mean, or
 *              a concatenation)
 *     step     one vector against many rows: x . rows, the sigmoid, its gradient
 *     spread   the gradient of x over the input rows
 *
 * They differ in what x is, in which output row of a word they use ("band"), and in whether attention logits learn.
 * Read the headers in this order, each relies on those before it:
 *
 *     sgns.h            the arguments of the loop
 *     sgns_simd.h       vectors of floats
 *     sgns_rows.h       products and sums of rows
 *     sgns_state.h      examples, readers, scratch space
 *     sgns_documents.h  tags of documents: further rows
 *     sgns_attention.h  attention weights
 *     sgns_context.h    compose, spread
 *     sgns_sigmoid.h    the sigmoid, its loss and gradient
 *     sgns_paths.h      hierarchical softmax
 *     sgns_step.h       the step of a batch
 *     sgns_reader.h     from text to examples
 *     sgns_private_rows.h  rows that each thread has for itself
 */
#include <stdlib.h>

#include "sgns_private_rows.h"
#include "sgns_reader.h"
#include "sgns_step.h"

/* Reads the text in `shared_by` parts side by side: in each turn an example from each part, or a few neighbouring ones.
 * So the examples that share a tuple of negatives come from places far apart. Returns 0, or the error of subsample. */
INLINE int train_tokens(State *s, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
    const int64_t n = s->n_tokens = subsample(s, &s->tokens);
    if (n < 0)
        return (int)n;
    const int64_t *tag = s->task->tags;
    for (int64_t i = 0; i < n; i++) {
        if (s->tokens[i] < 0 && p->most_tags) { /* the rows of a line's tags are at its line end */
            s->rows[i] = *tag < 0 ? 0 : s->task->documents + *tag * p->width;
            if (p->word_stride)
                s->logit_rows[i] = s->task->document_logits + *tag;
            tag++;
        }
        if (s->tokens[i] < 0)
            continue;
        s->rows[i] = input_row(s, s->tokens[i]);
        if (p->word_stride)
            s->logit_rows[i] = logit_row(s, s->tokens[i]);
    }
    s->n_readers = p->shared_by;
    for (int r = 0; r < s->n_readers; r++)
        s->readers[r] = read_from(s, n * r / s->n_readers, n * (r + 1) / s->n_readers);
    const int most = pairwise(p) ? BATCH : GROUP;
    int64_t merged = 0;
    s->slope = (p->alpha_end - p->alpha_begin) / (float)n;
    for (;;) {
        int n_tuples = 0;
        for (s->first = 0; s->first < s->n_readers; s->first += most) {
            int r = s->first;
            s->n_runs = s->n_columns = 0;
            while (r < s->n_readers && r < s->first + most) {
                const int examples = next_examples(s, r, nv, out_nv);
                if (examples)
                    r++;
                else
                    drop_reader(s, r);
                s->n_columns = examples > s->n_columns ? examples : s->n_columns;
            }
            s->size = r - s->first;
            if (s->size == 0)
                break;
            s->alpha = learning_rate(s);
            train_batch(s, nv, out_nv);
            n_tuples = s->n_columns > n_tuples ? s->n_columns : n_tuples;
        }
        if (s->n_readers == 0)
            return TRAINED;
        s->cursor = (s->cursor + n_tuples) % s->task->n_tuples;
        if (s->n_read - merged >= p->merge_every) {
            merge(s->task);
            merged = s->n_read;
        }
    }
}

/* The loop again for each of the most common widths: the compiler knows the width, and rows stay in registers. */
static __attribute__((noinline)) int train_64(State *s) { return train_tokens(s, 64 / LANES, 64 / LANES); }
static __attribute__((noinline)) int train_112(State *s) { return train_tokens(s, 112 / LANES, 112 / LANES); }
static __attribute__((noinline)) int train_304(State *s) { return train_tokens(s, 304 / LANES, 304 / LANES); }
static __attribute__((noinline)) int train_any(State *s)
{
    return train_tokens(s, s->p->width / LANES, s->p->out_width / LANES);
}

/* The next n elements of the scratch space; a whole vector may be read past their end. */
static void *allocate(uintptr_t *arena, size_t n, size_t size)
{
    uintptr_t here = *arena;
    *arena += (n * size + 127) / 64 * 64;
    return (void *)here;
}

/* Places all arrays of the state in the scratch space at `arena`, a multiple of 64, and returns its size in bytes;
 * with an arena of 0, only computes the size. */
static size_t lay_out(State *s, uintptr_t arena)
{
    const uintptr_t begin = arena;
    const size_t outputs = (size_t)s->n_outputs, width = (size_t)s->p->out_width, tokens = (size_t)s->task->n_tokens;
    const size_t readers = (size_t)s->p->shared_by, nodes = BATCH * (size_t)s->p->longest_path;
    const size_t most = outputs > nodes ? outputs : nodes;
    const size_t examples = GROUP * (size_t)s->column_stride;
    s->readers = allocate(&arena, readers, sizeof(Reader));
    s->target_rows = allocate(&arena, examples, sizeof(float *));
    s->zero_row = allocate(&arena, width, sizeof(float));
    s->target_words = allocate(&arena, examples, sizeof(int32_t));
    s->logits = allocate(&arena, BATCH * outputs, sizeof(float));
    s->labels = allocate(&arena, BATCH * outputs, sizeof(float));
    s->mask = allocate(&arena, BATCH * outputs, sizeof(float));
    s->output_rows = allocate(&arena, outputs, sizeof(float *));
    s->rows = allocate(&arena, tokens, sizeof(float *));
    s->logit_rows = allocate(&arena, s->p->word_stride ? tokens : 0, sizeof(float *));
    s->sums = allocate(&arena, 4 + most, sizeof(vec));
    s->slot_logits = allocate(&arena, s->n_weights, sizeof(float));
    s->slopes = allocate(&arena, s->n_weights, sizeof(float));
    s->renewed = allocate(&arena, s->n_weights, sizeof(float));
    s->kept = allocate(&arena, tokens, sizeof(int32_t));
    s->tag_slopes = allocate(&arena, (size_t)s->p->most_tags, sizeof(vec));
    s->tags_renewed = allocate(&arena, (size_t)s->p->most_tags, sizeof(vec));
    s->path = (Path){
        .rows = allocate(&arena, nodes, sizeof(float *)),
        .labels = allocate(&arena, nodes, sizeof(float)),
        .mask = allocate(&arena, nodes, sizeof(float)),
        .logits = allocate(&arena, nodes, sizeof(float)),
        .grad = allocate(&arena, width, sizeof(float)),
    };
    for (int b = 0; b <= BLOCK; b++) {
        s->hidden[b] = allocate(&arena, width, sizeof(float));
        s->grads[b] = allocate(&arena, width, sizeof(float));
    }
    for (int b = 0; b < BLOCK; b++) {
        s->xs[b] = s->hidden[b];
        s->weights[b] = allocate(&arena, neighbours(s->p) > 1 ? s->n_weights : 0, sizeof(float));
        s->tag_weights[b] = allocate(&arena, (size_t)s->p->most_tags, sizeof(vec));
    }
    return arena - begin;
}

int TRAIN(const Task *task)
{
    const Hyper *p = task->hyper;
    if (p->composition < 1 || p->composition > 127 || !strchr(COMPOSITIONS, p->composition))
        return NO_SUCH_COMPOSITION;
    State s = {.p = p, .task = task, .rng = task->rng[0], .cursor = (int64_t)task->rng[1]};
    s.n_outputs = 1 + p->drawn;
    s.product.mantissa = broadcast(1.0f);
    for (int k = 0; k < LANES; k++)
        s.lanes[k] = k;
    s.n_weights = GROUP * (2 * (size_t)p->window + GROUP + 3) / 16 * 16 + 16;
    s.column_stride = (p->shared_by + BATCH + 15) / 16 * 16;

    char *memory = calloc(1, 64 + lay_out(&s, 0));
    if (!memory)
        return NO_SCRATCH_MEMORY;
    lay_out(&s, ((uintptr_t)memory + 63) / 64 * 64);
    for (int r = 0; r < s.column_stride; r++)
        for (int column = 0; column < GROUP; column++)
            leave_empty(&s, r, column);

    merge(task); /* takes over what the other threads have merged since this thread's last chunk */
    int status;
    switch (p->composition == 's' ? 0 : p->width) { /* side by side, x is wider than a row of W */
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
