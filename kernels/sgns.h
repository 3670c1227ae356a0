/* What the training loop works on, shared by its door (_sgns.pyx) and by the
 * loop itself (sgns_loop.h), which is compiled once per instruction set.
 *
 * All rows are float32, aligned to 64 bytes and padded with zeros to a multiple
 * of 16 floats; padding stays zero because every update of a padded row is a
 * multiple of another padded row.
 */
#ifndef SGNS_H
#define SGNS_H

#include <stdint.h>

enum { MODEL_CBOW, MODEL_SKIPGRAM, MODEL_SSG, MODEL_CWINDOW, MODEL_CBOW_ATTN };
enum { STAT_EXAMPLES, STAT_LOSS, STAT_WORDS, STAT_CONTEXTS, STAT_CONCENTRATION, STAT_WEIGHED, N_STATS };

/* Mirrors HYPER_DTYPE in kernels/__init__.py, where each field is explained. */
typedef struct {
    int32_t model;
    int32_t width;
    int32_t out_width;
    int32_t bands;
    int32_t window;
    int32_t shrink_windows;
    int32_t drawn;
    int32_t shared_by;
    float alpha_begin;
    float alpha_end;
    int32_t word2vec_update;
    int32_t word_stride;
    int32_t word_slots;
    int32_t use_slots;
    float attention_rate;
    float attention_clip;
    int32_t n_private;
    int32_t merge_every;
    int32_t skip_dots;
} Hyper;

/* One parameter array: the rows that all threads share and, for the n_private
 * most frequent words, this thread's own copy and what it was at the last merge. */
typedef struct {
    float *shared;   /* (n_words, stride) */
    float *own;      /* (n_private, stride) */
    float *base;     /* (n_private, stride) */
    int64_t stride;  /* floats per word */
} Rows;

typedef struct {
    const Hyper *hyper;
    const int32_t *tokens;  /* (n_tokens,) word ids, -1 after each line */
    int64_t n_tokens;
    int64_t n_words;
    const uint32_t *keep;   /* (n_words,) keep a token if a 32-bit draw is <= keep; NULL keeps all */
    const int32_t *pool;    /* (n_tuples, drawn) negatives */
    int64_t n_tuples;
    Rows inputs;            /* stride = width */
    Rows outputs;           /* stride = bands * out_width */
    Rows word_logits;       /* K; stride = word_stride */
    Rows slot_logits;       /* s: one row, (1, 2 window) */
    uint64_t *rng;          /* (2,) generator state, tuple cursor */
    double *stats;          /* (N_STATS,) added to */
    int32_t *lock;          /* (1,) held while merging private rows */
} Task;

/* Trains on the task's tokens; returns 0, -1 if it got no memory, -2 if a token is no
 * word of the vocabulary. */
typedef int (*TrainChunk)(const Task *task);

int sgns_train_baseline(const Task *task);
#if defined(__x86_64__)
int sgns_train_avx2(const Task *task);
int sgns_train_avx2_amd(const Task *task);
int sgns_train_avx512(const Task *task);
int sgns_train_avx512_amd(const Task *task);
#endif

/* The loop for an instruction set, or NULL where the processor cannot run it. */
static inline TrainChunk sgns_kernel(const char *isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const int amd = __builtin_cpu_is("amd");
    if (isa[0] == 'a' && isa[3] == '5')
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                   ? (amd ? sgns_train_avx512_amd : sgns_train_avx512) : 0;
    if (isa[0] == 'a')
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                   ? (amd ? sgns_train_avx2_amd : sgns_train_avx2) : 0;
#else
    if (isa[0] == 'a')
        return 0;
#endif
    return sgns_train_baseline;
}

#endif
