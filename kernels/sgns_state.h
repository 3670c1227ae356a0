/* What one call of the loop carries along: the examples of a batch, the readers of the text, scratch space.
 *
 * A place is a position in the text, a slot one in the window: slots are numbered 0 .. 2 window - 1 from left to
 * right, without the target.
 */
#ifndef SGNS_STATE_H
#define SGNS_STATE_H

#include "sgns.h"
#include "sgns_rows.h"

#define BATCH 8          /* pairs in a batch of skip-gram, a multiple of GROUP; of other models it is a GROUP */
#define PREFETCH_LINES 10 /* cache lines of a row that are prefetched; the hardware itself follows a longer row */

/* One prediction: of the target from words around it. */
typedef struct {
    int64_t place;           /* of the first context word; the others follow, with the target among them */
    int n_places, middle;    /* their number with the target, and which is the target; unset for a pair */
    int slot, n;             /* slot of the first context word, and the number of context words */
} Example;

/* A part of x, and the ring of places of whose rows it is made: those from `inner` to `outer` places off the target.
 * Its slots are numbered from left to right, 0 .. 2 (outer - inner + 1) - 1. */
typedef struct {
    int begin, end;          /* its dimensions, those of the last part with the padding */
    int inner, outer;
    int column, first_slot;  /* where its logits begin in a row of K, and in s */
} Ring;

/* The places of an example in a ring, and those within it: the hole, with the target. */
typedef struct {
    int first, n_places;     /* the first place of the example that is in the ring, and their number with the hole */
    int hole, hole_end;      /* the hole, counted from the first place */
    int slot, n;             /* slot of the first place, and the number of context words */
} Span;

/* One of the parts (`shared_by` of them) in which a chunk of text is read side by side. */
typedef struct {
    int64_t at, stop;        /* place of the target, and the end of the part */
    int64_t begin, end;      /* of the line, as far as windows reach */
    int64_t next, last;      /* context words still to come, for models that predict from one at a time */
    Example example;         /* read last */
} Reader;

/* Scratch space for the nodes between the root of the Huffman tree and a word. */
typedef struct {
    float **rows;            /* (BATCH longest_path,) those of one path, or of all in the batch */
    float *labels, *mask, *logits; /* (BATCH longest_path,), or (longest_path, GROUP); padded, where the mask is 0 */
    float *grad;             /* (out_width,) what they add to the gradient of x */
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
    Reader *readers;         /* (n_readers,) those that are not at the end of their part */
    int32_t *target_words;   /* (n_readers,) then -1 up to a whole batch */
    float **target_rows;     /* (n_readers,) rows of O of the targets, then zero_row */
    float *zero_row;         /* (out_width,) target row of an example that does not exist; its mask is 0 */
    Ring rings[MOST_RINGS];  /* without parts one of all dimensions and the whole window */
    int n_rings, ring_stride; /* ring_stride: floats for the weights of a ring */
    Span spans[GROUP][MOST_RINGS]; /* of the examples of the batch, if there are parts */
    int first, size, labelled; /* the batch: its first reader, its size; the size for which labels are set */
    float *xs[BATCH];        /* (out_width,) the vectors x: rows of W themselves, or `hidden` */
    float *hidden[BATCH];    /* (out_width,) where x is composed; zeros if x is a row of W */
    float *grads[BATCH];     /* (out_width,) -alpha dL/dx, unless x learns in place */
    float *weights[BATCH];   /* (n_rings, ring_stride): x = sum weights W; 0 in the hole */
    float *grad_weights[BATCH]; /* (n_rings, ring_stride): W += grad_weights grad; 0 in the hole */
    float **output_rows;     /* (n_outputs,) rows of O: of the negatives, and in a batch of one then of the target */
    float *logits, *labels, *mask; /* (n_outputs,), or (n_outputs, GROUP) for each group of a batch; padded */
    float **rows, **logit_rows; /* (n_tokens,) rows of W and K of the text's words */
    vec *sums;               /* scratch space of dots */
    float *slot_logits;      /* (n_rings, ring_stride) s before the step of the batch, with a gap for the hole */
    float *slopes;           /* (2 window + 1,) scratch space of learn_attention */
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

/* How many targets, or tuples, before their use rows are prefetched: long rows would be evicted before that. */
INLINE int prefetch_distance(int nv) { return nv * LANES / 16 > PREFETCH_LINES ? 1 : 2; }

/* ---- examples ----------------------------------------------------------------------------- */

/* The b-th example of the batch. */
INLINE const Example *example(const State *s, int b) { return &s->readers[s->first + b].example; }

INLINE float **context_rows(const State *s, const Example *one) { return s->rows + one->place; }

/* Whether the model predicts from one context word at a time. */
INLINE int pairwise(const Hyper *p) { return p->composition == 'p'; }

/* The places of an example in a ring. */
INLINE Span span_in(const Ring *ring, const Example *one)
{
    const int within = ring->inner - 1, after = one->n_places - 1 - one->middle;
    const int left = one->middle < ring->outer ? one->middle : ring->outer;
    const int right = after < ring->outer ? after : ring->outer;
    Span span = {.first = one->middle - left, .n_places = left + 1 + right, .slot = ring->outer - left};
    span.hole = left > within ? left - within : 0;
    span.hole_end = left + 1 + (right < within ? right : within);
    span.n = span.hole + span.n_places - span.hole_end;
    return span;
}

/* The same of the b-th example of the batch: looked up, or if x is not in parts, all its places. */
INLINE Span span_of(const State *s, int b, int r, const int parted)
{
    const Example *one = example(s, b);
    return parted ? s->spans[b][r] : (Span){0, one->n_places, one->middle, one->middle + 1, one->slot, one->n};
}

/* Which of the LANES places from the k-th vector on are in the ring. */
INLINE ivec in_ring(const State *s, const Span *span, int k, const int parted)
{
    const ivec place = s->lanes + k * LANES;
    if (!parted) /* the hole is the target */
        return (place < span->n_places) & (place != span->hole);
    return (place < span->n_places) & ((place < span->hole) | (place >= span->hole_end));
}

/* The slot of the k-th place of an example, if that is not the target. */
INLINE int slot_of(const Example *one, int k) { return one->slot + k - (k > one->middle); }

#endif
