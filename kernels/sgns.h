/* The arguments of the training loop: _sgns.pyx passes them to sgns_loop.h, which is compiled once per instruction
 * set.
 *
 * All rows are float32, aligned to 64 bytes and padded with zeros to a multiple of 16 floats. The padding stays zero,
 * as every update of a padded row is a multiple of another padded row.
 */
#ifndef SGNS_H
#define SGNS_H

#include <stddef.h>
#include <stdint.h>

#include "isa.h"

/* The statistics that the loop adds up. This is the only list of them: the enum here, and the names and indices that
 * Python uses, are made from it. */
#define STATS(STAT)                                                   \
    STAT(EXAMPLES)      /* predictions */                             \
    STAT(LOSS)          /* summed */                                  \
    STAT(WORDS)         /* words of the corpus that were read */      \
    STAT(CONTEXTS)      /* context words used */                      \
    STAT(CONCENTRATION) /* summed sum of squared attention weights */ \
    STAT(WEIGHED)       /* predictions that CONCENTRATION sums over */
#define STAT_NUMBER(name) STAT_##name,
#define STAT_NAME(name) #name,
enum { STATS(STAT_NUMBER) N_STATS };
static inline const char *stat_name(int k)
{
    static const char *const names[] = {STATS(STAT_NAME)};
    return names[k];
}

/* The hyper-parameters: INT(int32_t) or REAL(float). This is the only list of them: the struct here and the fields that
 * _sgns.hyper_fields() returns are made from it, and HYPER_DTYPE in kernels/__init__.py is made from those fields. */
#define HYPER_FIELDS(INT, REAL)                                                                                       \
    INT(composition)     /* how x is made: the first letter of ModelSpec.composition */                               \
    INT(width)           /* floats per row of W, a multiple of 16 */                                                  \
    INT(out_width)       /* floats per row of O: width, for cwindow 2 window width */                                 \
    INT(bands)           /* rows of O per word: 1, for ssg 2 window */                                                \
    INT(most_tags)       /* rows of D that a line has at most; 0: lines are not documents */                          \
    INT(only_documents)  /* 1: targets are predicted from rows of D only, not from words */                           \
    INT(frozen)          /* 1: only the rows of D learn */                                                            \
    INT(window)          /* context words on each side */                                                             \
    INT(shrink_windows)  /* 1: the size of each window is uniform on 1 .. window */                                   \
    INT(drawn)           /* negatives per tuple; 0: no negative sampling */                                           \
    INT(longest_path)    /* nodes on the longest path of the Huffman tree; 0: no hierarchical softmax */              \
    INT(shared_by)       /* examples that share a tuple, each from another part of the text; 1 for ssg and cwindow */ \
    REAL(alpha_begin)    /* learning rate at the first token of the chunk */                                          \
    REAL(alpha_end)      /* learning rate after the last token of the chunk */                                        \
    INT(word2vec_update) /* 1: context rows move by n times their gradient, as in word2vec.c */                       \
    INT(sum_rows)        /* 1: x is the sum of the context rows; 0: their mean */                                     \
    INT(word_stride)     /* floats per row of K; 0: no K */                                                           \
    INT(word_slots)      /* 1: K has a column per slot; 0: one number per word */                                     \
    INT(use_slots)       /* 1: s is added to the logits, and learns */                                                \
    REAL(attention_rate) /* learning rate of K and s relative to alpha; 0: frozen */                                  \
    REAL(attention_clip) /* logits are clipped to +- this when they are read */                                       \
    INT(n_private)       /* each thread has private rows of this many of the most frequent words */                   \
    INT(merge_every)     /* tokens between two merges of private rows */                                              \
    INT(skip_dots)       /* 1: leave out the dot products, to measure the memory system */

#define HYPER_INT(name) int32_t name;
#define HYPER_REAL(name) float name;
typedef struct {
    HYPER_FIELDS(HYPER_INT, HYPER_REAL)
} Hyper;

/* One field: its name, its type as the struct module of Python writes it, and its offset in bytes. */
typedef struct {
    const char *name;
    const char *type;
    size_t offset;
} HyperField;

#define HYPER_INT_FIELD(name) {#name, "i", offsetof(Hyper, name)},
#define HYPER_REAL_FIELD(name) {#name, "f", offsetof(Hyper, name)},
#define HYPER_COUNT(name) +1
enum { N_HYPER_FIELDS = HYPER_FIELDS(HYPER_COUNT, HYPER_COUNT) };
static inline HyperField hyper_field(int k)
{
    static const HyperField fields[] = {HYPER_FIELDS(HYPER_INT_FIELD, HYPER_REAL_FIELD)};
    return fields[k];
}

/* One parameter array: the rows that all threads share and, of the n_private most frequent words, this thread's
 * private row and what that row was after the last merge. */
typedef struct {
    float *shared;   /* (n_words, stride) */
    float *private;  /* (n_private, stride) */
    float *base;     /* (n_private, stride) */
    int64_t stride;  /* floats per word */
} Rows;

typedef struct {
    const Hyper *hyper;
    const int32_t *tokens;  /* (n_tokens,) word ids, -1 after each line, then -2 for each further tag of the line */
    int64_t n_tokens;
    int64_t n_words;
    const uint32_t *keep;   /* (n_words,) keep a token if a 32-bit draw is <= keep; NULL keeps all */
    const int32_t *pool;    /* (n_tuples, drawn) negatives */
    int64_t n_tuples;
    const int64_t *path_ends;  /* (n_words + 1,) the path of word w is path_ends[w] .. path_ends[w + 1] - 1 */
    const int32_t *path_nodes; /* the inner nodes from the root to each word; the root is 0 */
    const float *path_labels;  /* 1 where the path turns left, 0 where it turns right */
    Rows inputs;            /* stride = width */
    Rows outputs;           /* stride = bands * out_width; 0 without negative sampling, where they are not used */
    Rows nodes;             /* stride = out_width */
    Rows word_logits;       /* K; stride = word_stride */
    Rows slot_logits; /* s: one row of 2 window slots, then the document's */
    float *documents; /* D: (n_documents, width) */
    float *document_logits; /* (n_documents,) what attention adds to the logit of the document's place */
    const int64_t *tags; /* the row of D of each line end (tokens -1 and -2), in the order of the tokens; -1: none */
    uint64_t *rng; /* (2,) generator state, tuple cursor */
    double *stats; /* (N_STATS,) added to */
    int32_t *lock; /* (1,) held while private rows are merged */
} Task;

/* The values that the loop returns. */
enum { TRAINED = 0, NO_SCRATCH_MEMORY = -1, NO_SUCH_WORD = -2, NO_SUCH_COMPOSITION = -3 };

/* Trains on the tokens of the task. */
typedef int (*TrainChunk)(const Task *task);

int sgns_train_baseline(const Task *task);
#if defined(__x86_64__)
int sgns_train_avx2(const Task *task);
int sgns_train_avx2_amd(const Task *task);
int sgns_train_avx512(const Task *task);
int sgns_train_avx512_amd(const Task *task);
/* setup.py leaves out the loops of one maker where the other's will never run. */
#if defined(ONLY_AMD_LOOPS)
#define sgns_train_avx2 sgns_train_avx2_amd
#define sgns_train_avx512 sgns_train_avx512_amd
#elif defined(NO_AMD_LOOPS)
#define sgns_train_avx2_amd sgns_train_avx2
#define sgns_train_avx512_amd sgns_train_avx512
#endif
#endif

/* The loop for an instruction set, or NULL if the processor cannot run it. AMD's processors have a loop of their own,
 * as they need another way of prefetching (docs/decisions/013-prefetching.md). */
static inline TrainChunk sgns_kernel(enum Isa isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const int amd = __builtin_cpu_is("amd");
    if (isa == ISA_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                   ? (amd ? sgns_train_avx512_amd : sgns_train_avx512)
                   : 0;
    if (isa == ISA_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                   ? (amd ? sgns_train_avx2_amd : sgns_train_avx2)
                   : 0;
#endif
    return isa == ISA_BASELINE ? sgns_train_baseline : 0;
}

#endif
