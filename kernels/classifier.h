/* The rows that make up a line of text in a classifier (Joulin et al. 2016), and the tasks of predicting and learning;
 * shared by _classifier.pyx and the loops (classifier_loop.h), which are compiled once per instruction set. */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"

#define IGNORED (-2)     /* a type that is neither a word nor a known label */
#define NO_ROW (-1)      /* an n-gram that counts, but whose row is all zeros */
#define OUT_OF_MEMORY (-1)

/* A text: its types, what each is made of, and its tokens. */
typedef struct {
    const int32_t *tokens;      /* types of the tokens, line by line */
    const int64_t *ends;        /* where each line ends among them */
    int64_t n_lines;
    int32_t n_types;
    const int64_t *row_ends;    /* (n_types + 1,) where the rows of each type end: its own and those of its n-grams */
    const int32_t *rows;
    const int32_t *labels;      /* the label that a type is, -1 for a word, or IGNORED */
    const int32_t *hashes;      /* of types, for n-grams of words */
    int32_t word_ngrams;        /* the longest n-gram of words */
    int32_t n_words;            /* rows before those of buckets */
    int64_t buckets;
    const int32_t *places;      /* each bucket's row, counted from n_words, -1 for none; NULL: the bucket's number */
    int32_t skip_unknown;       /* 1: an n-gram without a row does not count either, as in pruned models */
} Lines;

/* The rows, labels and hashes of one line. */
typedef struct {
    int32_t *rows, *labels, *hashes;
    int64_t n, room, n_labels, label_room, hash_room;
    int failed;
} Bag;

static inline void bag_free(Bag *bag)
{
    free(bag->rows);
    free(bag->labels);
    free(bag->hashes);
    memset(bag, 0, sizeof *bag);
}

/* Makes room for n numbers. */
static inline int32_t *with_room(int32_t *list, int64_t *room, int64_t n, int *failed)
{
    if (n <= *room)
        return list;
    const int64_t larger = n + n / 2 + 64;
    int32_t *moved = realloc(list, (size_t)larger * sizeof(int32_t));
    if (!moved) {
        *failed = 1;
        return list;
    }
    *room = larger;
    return moved;
}

static inline void bag_push(Bag *bag, int32_t row)
{
    if (bag->n == bag->room)
        bag->rows = with_room(bag->rows, &bag->room, bag->n + 1, &bag->failed);
    if (!bag->failed)
        bag->rows[bag->n++] = row;
}

/* fastText's hash of an n-gram of words that is longer by one word: the hashes of words are taken as signed. */
static inline uint64_t longer_hash(uint64_t hash, int32_t next) { return hash * 116049371u + (uint64_t)(int64_t)next; }

static inline void push_bucket(const Lines *x, uint64_t bucket, Bag *bag)
{
    const int64_t place = x->places ? x->places[bucket] : (int64_t)bucket;
    if (place >= 0)
        bag_push(bag, (int32_t)(x->n_words + place));
    else if (!x->skip_unknown)
        bag_push(bag, NO_ROW);
}

/* Adds the rows of the n-grams of words whose hashes are in the bag. */
static inline void push_word_ngrams(const Lines *x, int64_t n_hashes, Bag *bag)
{
    if (x->word_ngrams < 2 || x->buckets < 1)
        return;
    for (int64_t i = 0; i < n_hashes && !bag->failed; i++) {
        uint64_t hash = (uint64_t)(int64_t)bag->hashes[i];
        for (int64_t j = i + 1; j < n_hashes && j < i + x->word_ngrams && !bag->failed; j++) {
            hash = longer_hash(hash, bag->hashes[j]);
            push_bucket(x, hash % (uint64_t)x->buckets, bag);
        }
    }
}

/* Fills the bag with rows and labels of a line. */
static inline void gather(const Lines *x, int64_t line, Bag *bag)
{
    const int64_t begin = line ? x->ends[line - 1] : 0, end = x->ends[line], n_tokens = end - begin;
    int64_t n_hashes = 0;
    bag->n = bag->n_labels = 0;
    bag->hashes = with_room(bag->hashes, &bag->hash_room, n_tokens, &bag->failed);
    bag->labels = with_room(bag->labels, &bag->label_room, n_tokens, &bag->failed);
    if (bag->failed)
        return;
    for (int64_t i = begin; i < end; i++) {
        const int32_t type = x->tokens[i], label = x->labels[type];
        if (label >= 0) {
            bag->labels[bag->n_labels++] = label;
            continue;
        }
        if (label == IGNORED)
            continue;
        const int64_t first = x->row_ends[type], n = x->row_ends[type + 1] - first;
        if (n) {
            bag->rows = with_room(bag->rows, &bag->room, bag->n + n, &bag->failed);
            if (bag->failed)
                return;
            memcpy(bag->rows + bag->n, x->rows + first, (size_t)n * sizeof(int32_t));
            bag->n += n;
        }
        bag->hashes[n_hashes++] = x->hashes[type];
    }
    push_word_ngrams(x, n_hashes, bag);
}

/* Rows of numbers, or of codes (formats/product_codes.py). */
typedef struct {
    const float *numbers;       /* (n, stride), or NULL */
    int64_t n, stride;
    int32_t dim;
    const uint8_t *codes;       /* (n, n_parts) */
    int32_t n_parts, part;
    const float *centroids;
    const uint8_t *norm_codes;  /* (n,), or NULL */
    const float *norms;
} Matrix;

enum Loss { LOSS_HS = 1, LOSS_NS = 2, LOSS_SOFTMAX = 3, LOSS_OVA = 4 }; /* fastText's numbers */

/* The task of predicting the labels of lines. */
typedef struct {
    const Lines *lines;
    const Matrix *inputs, *outputs;
    int32_t n_labels, loss;
    const int32_t *left, *right;    /* hs: (2 n_labels - 1,) the children of a node; the leaves come first */
    int32_t k;
    float threshold;
    float *scores;                  /* (n_lines, k) */
    int32_t *found;                 /* (n_lines, k) labels */
    int32_t *n_found;               /* (n_lines,) how many, -1 for a line without rows */
} Prediction;

/* The task of learning from consecutive lines. */
typedef struct {
    const Lines *lines;
    int64_t first, last;            /* lines */
    float *inputs, *outputs;        /* rows of `width` floats, a multiple of 16, aligned to 64 bytes */
    int64_t width;
    int32_t n_labels, loss, negative;
    float *own_outputs, *seen_outputs;  /* private copies of outputs, (n_labels, width) each, or NULL */
    int64_t copied_every;           /* examples between two exchanges of the private copy with `outputs` */
    const int64_t *path_ends;       /* hs: the path of label l is path_ends[l] .. path_ends[l + 1] */
    const int32_t *path_nodes;
    const float *path_labels;
    const int32_t *pool;            /* ns: labels to draw from */
    int64_t n_pool;
    float alpha;                    /* at the beginning of training; falls linearly to 0 */
    double tokens_before, tokens_in_all; /* of the whole training: the learning rate follows from them */
    uint64_t seed;
    float *scratch;                 /* (2 width + 4 n_met,), aligned to 64 bytes */
    int64_t n_met;                  /* at least the outputs that an example meets, a multiple of 16 */
    double loss_sum;                /* out */
    int64_t n_examples;             /* out */
} Lesson;

/* A node of the tree of labels to look at, and the logarithm of its probability. */
typedef struct {
    int32_t node;
    float score;
} Branch;

/* Memory for one line: (dim + n_labels) numbers and (n_labels + 2) branches. */
typedef struct {
    float *numbers;
    Branch *branches;
} Room;

typedef int (*Predict)(const Prediction *task);
typedef int (*Learn)(Lesson *task);
typedef int (*PredictBag)(const Prediction *task, const Bag *bag, int64_t line, const Room *room);
typedef void (*Mean)(const Matrix *inputs, const Bag *bag, float *mean);

#define DECLARE(isa)                                                                          \
    int classifier_predict_##isa(const Prediction *);                                         \
    int classifier_learn_##isa(Lesson *);                                                     \
    int classifier_predict_bag_##isa(const Prediction *, const Bag *, int64_t, const Room *); \
    void classifier_mean_##isa(const Matrix *, const Bag *, float *);

DECLARE(baseline)
#if defined(__x86_64__)
DECLARE(avx2)
DECLARE(avx512)
#define CHOOSE(loop, isa) ((isa) == ISA_AVX512 ? loop##_avx512 : (isa) == ISA_AVX2 ? loop##_avx2 : loop##_baseline)
#else
#define CHOOSE(loop, isa) ((void)(isa), loop##_baseline)
#endif

static inline Predict predict_loop(enum Isa isa) { return CHOOSE(classifier_predict, isa); }
static inline Learn learn_loop(enum Isa isa) { return CHOOSE(classifier_learn, isa); }
static inline PredictBag predict_bag_loop(enum Isa isa) { return CHOOSE(classifier_predict_bag, isa); }
static inline Mean mean_loop(enum Isa isa) { return CHOOSE(classifier_mean, isa); }

#endif
