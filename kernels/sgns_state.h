/* The state of one call of the loop: the examples of a batch, the readers of the text, scratch space.
 *
 * Here a place is a position in the text, and a slot is a position in the window: slots are numbered
 * 0 .. 2 window - 1 from left to right, without the target.
 */
#ifndef SGNS_STATE_H
#define SGNS_STATE_H

#include "sgns.h"
#include "sgns_rows.h"

#define BATCH 8          /* pairs in a batch of skip-gram, a multiple of GROUP */
#define BLOCK (GROUP * GROUP) /* examples in a batch of models that average: GROUP neighbours from GROUP readers */
#define PREFETCH_LINES 10 /* cache lines of a row that are prefetched; the hardware itself follows a longer row */

/* One prediction: the target, from words around it. */
typedef struct {
    int64_t place;           /* of the first context word; the others follow, with the target among them */
    int n_places, middle;    /* places with the target's, and which of them is the target's; not set for a pair */
    int slot, n;             /* slot of the first context word, and the number of context words */
    int64_t document;        /* place of the line's end: the rows of the line's tags begin there */
    int n_tags;
} Example;

/* At most GROUP targets that follow each other in a line, and the places in reach of any of them: a row of W is loaded
 * once for all these targets. Numbers for each pair of place and target are stored place by place, [place][target]. */
typedef struct {
    int64_t target;          /* place of the first target */
    int64_t begin, end;      /* the places in reach, with the targets among them */
    int reader, column, n;   /* the reader's number in the batch, the column of the first target, number of targets */
    int64_t document;        /* as in Example */
    int n_tags;
    ivec left, right;        /* words in reach of the k-th target on each side, in lanes k, k + GROUP, ..; else -1 */
    vec gains;               /* in the same lanes: W += gain weight grad */
    vec overlaps[GROUP];     /* [d]: x moves by this times the gradient of the target d before its own */
} Run;

/* The places of a run. */
typedef struct {
    int n_places, middle;    /* their number, and the place of the first target, counted from the first one */
    ivec offset, low, high;  /* [place][target]: distance of the first places from each target, and its limits */
} Span;

/* The reader of one part of a chunk: a chunk has `shared_by` parts, which are read side by side. */
typedef struct {
    int64_t at, stop;        /* place of the target, and the end of the part */
    int64_t begin, end;      /* of the line, as far as windows reach */
    int64_t next, last;      /* context words still to come, for models that predict from one at a time */
    int64_t tag, tags_end;   /* tags still to come */
    int64_t document;        /* place of the end of the line that was read last */
    int n_tags;              /* of that line */
    Example example;         /* the one read last */
} Reader;

/* Scratch space for the nodes between the root of the Huffman tree and a word. */
typedef struct {
    float **rows;            /* (BATCH longest_path,) rows of the nodes of one path, or of all paths in the batch */
    float *labels, *mask, *logits; /* (BATCH longest_path,), or (longest_path, GROUP); the mask is 0 in the padding */
    float *grad;             /* (out_width,) what the nodes add to the gradient of x */
} Path;

typedef struct {
    const Hyper *p;
    const Task *task;
    uint64_t rng;
    int64_t cursor;          /* number of the tuple of negatives in use */
    const int32_t *negatives; /* (drawn,) that tuple */
    float alpha, slope;      /* the learning rate, and its change from one token to the next */
    double loss, concentration;
    Product product;         /* its logarithm is a part of the loss */
    int64_t examples, contexts, weighed;
    int n_outputs;           /* drawn + 1: rows of O that an example is multiplied with */
    const int32_t *tokens;   /* (n_tokens,) after sub-sampling */
    int64_t n_tokens, n_read; /* n_read of them have been a target, or a line end */
    int n_readers;
    Reader *readers;         /* (n_readers,) the readers that are not at the end of their part */
    int column_stride;       /* examples per column: the k-th column has the k-th example of each reader */
    int32_t *target_words;   /* (GROUP, column_stride) of each reader, -1 where there is no example */
    float **target_rows;     /* (GROUP, column_stride) rows of O of the targets, and zero_row */
    float *zero_row;         /* (out_width,) target row of an example that does not exist; its mask is 0 */
    size_t n_weights;        /* floats for the weights of a run, one for each pair of place and target; padded */
    int first, size, n_columns; /* the batch: its first reader, number of readers, most examples of one reader */
    int labelled;            /* the size for which labels are set */
    Run runs[BLOCK];         /* the examples of models that average */
    int n_runs;
    float *xs[BLOCK];        /* (out_width,) the vectors x, column by column: rows of W themselves, or `hidden` */
    float *hidden[BLOCK + 1]; /* (out_width,) where x is composed; zeros if x is a row of W, or there is no example */
    float *grads[BLOCK + 1]; /* (out_width,) -alpha dL/dx, unless x learns in place; zeros if there is no example */
    float *weights[BLOCK];   /* (n_weights,) of a run: x = sum weights W; 0 if a place is out of reach */
    vec *tag_weights[BLOCK]; /* (most_tags,) of a run: x += sum weights D; target k in the lanes k, k + GROUP, .. */
    vec *tag_slopes, *tags_renewed; /* (most_tags,) scratch space of learn_logits */
    float **output_rows;     /* (n_outputs,) rows of O of the negatives; in a batch of one, then of the target */
    float *logits, *labels, *mask; /* (n_outputs,), or (n_outputs, GROUP) for each group of a batch; padded */
    float **rows, **logit_rows; /* (n_tokens,) rows of W and K of the text's words */
    vec *sums;               /* scratch space of dots */
    float *slot_logits;      /* (n_weights,) a copy of s, see copy_slot_logits */
    float *slopes, *renewed; /* (n_weights,) scratch space of learn_logits */
    int32_t *kept;           /* (n_tokens,) scratch space of subsample */
    Path path;
    ivec lanes;              /* 0, 1, .. LANES - 1 */
} State;

/* ---- rows --------------------------------------------------------------------------------- */

INLINE float *row_of(const Rows *rows, int64_t word, int n_private)
{
    return (word < n_private ? rows->private : rows->shared) + word * rows->stride;
}

INLINE float *input_row(const State *s, int32_t word) { return row_of(&s->task->inputs, word, s->p->n_private); }

INLINE float *output_row(const State *s, int32_t word, int band)
{
    return row_of(&s->task->outputs, word, s->p->n_private) + (int64_t)band * s->p->out_width;
}

INLINE float *logit_row(const State *s, int32_t word) { return row_of(&s->task->word_logits, word, s->p->n_private); }

INLINE float *slot_logits(const State *s)
{
    return s->p->n_private ? s->task->slot_logits.private : s->task->slot_logits.shared;
}

INLINE void prefetch_row(const float *row, int nv)
{
    int n = nv * LANES / 16;
#ifdef PREFETCH_TO_WRITE
    /* All lines, and for writing: a line that another core has changed and that is fetched only to be read would
     * have to be fetched again before it is written. */
    for (int k = 0; k < n; k++)
        __builtin_prefetch(row + 16 * k, 1, 3);
#else
    /* Into the second cache level: the first has too few buffers for lines on their way from memory, and a prefetch
     * that waits for a buffer delays all instructions after it. */
    n = n < PREFETCH_LINES ? n : PREFETCH_LINES;
    for (int k = 0; k < n; k++)
        __builtin_prefetch(row + 16 * k, 0, 2);
#endif
}

/* How many targets, or tuples, ahead of their use rows are prefetched. One for long rows: two targets' long rows would
 * be evicted again before their use. */
INLINE int prefetch_distance(int nv) { return nv * LANES / 16 > PREFETCH_LINES ? 1 : 2; }

/* ---- examples ----------------------------------------------------------------------------- */

/* The b-th example of the batch. */
INLINE const Example *example(const State *s, int b) { return &s->readers[s->first + b].example; }

INLINE float **context_rows(const State *s, const Example *one) { return s->rows + one->place; }

/* Whether the model predicts from one context word at a time. */
INLINE int pairwise(const Hyper *p) { return p->composition == 'p'; }

/* How many examples of a reader are in a batch. Models that average take GROUP neighbours: the windows of neighbouring
 * targets have most words in common. */
INLINE int neighbours(const Hyper *p) { return p->composition == 'p' || p->composition == 's' ? 1 : GROUP; }

/* Adds an example to the last run if its target follows the targets there; else begins a new run. */
INLINE void add_to_runs(State *s, int which, int column)
{
    const Example *one = example(s, which - s->first);
    const int64_t target = one->place + one->middle, end = one->place + one->n_places;
    Run *run = &s->runs[s->n_runs ? s->n_runs - 1 : 0];
    if (column == 0 || run->target + run->n != target) {
        run = &s->runs[s->n_runs++];
        run->target = target;
        run->begin = one->place;
        run->end = end;
        run->reader = which - s->first;
        run->column = column;
        run->n = 0;
        run->document = one->document;
        run->n_tags = one->n_tags;
        run->left = run->right = (ivec){0} - 1;
    }
    run->begin = one->place < run->begin ? one->place : run->begin;
    run->end = end > run->end ? end : run->end;
    for (int k = run->n; k < LANES; k += GROUP) {
        run->left[k] = one->middle;
        run->right[k] = one->n_places - 1 - one->middle;
    }
    run->n++;
}

/* Sets `to` to the vectors of a run in `from`, which is hidden or grads. from[BLOCK] replaces the vectors of examples
 * that do not exist. */
INLINE void vectors_of(const Run *run, float *const *from, float **to)
{
    for (int b = 0; b < GROUP; b++)
        to[b] = from[b < run->n ? (run->column + b) * GROUP + run->reader : BLOCK];
}

INLINE Span span_of(const State *s, const Run *run)
{
    const int middle = (int)(run->target - run->begin);
    return (Span){
        .n_places = (int)(run->end - run->begin),
        .middle = middle,
        .offset = s->lanes / GROUP - s->lanes % GROUP - middle,
        .low = -run->left,
        .high = run->right,
    };
}

/* Which of the k-th LANES pairs of a place and a target are in reach of each other; a target is not in its own reach. */
INLINE ivec in_reach(const Span *span, int k)
{
    const ivec offset = span->offset + k * (LANES / GROUP);
    return (offset >= span->low) & (offset <= span->high) & (offset != 0);
}

/* The slot of the k-th place of an example, if that is not the target. */
INLINE int slot_of(const Example *one, int k) { return one->slot + k - (k > one->middle); }

#endif
