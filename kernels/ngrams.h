/* Vectors of words, composed of the rows of their n-grams; shared by _ngrams.pyx and the loops
 * (ngrams_rows.h), which are compiled once per instruction set. */
#ifndef NGRAMS_H
#define NGRAMS_H

#include <stdint.h>

#include "isa.h"

typedef struct {
    float *rows;             /* (n_rows, width): rows that words share; aligned to 64 bytes, padded with zeros */
    int64_t width;           /* floats per row, a multiple of 16 */
    const int64_t *offsets;  /* (n_words + 1,) where the entries of a word begin */
    const int32_t *columns;  /* rows of a word */
    const float *weights;    /* their weights in its vector */
    const int32_t *words;    /* (n,) the words to process, all different */
    int64_t n;
    float *vectors;          /* (n_words, width): the vectors of words */
    float *before;           /* (n, width): the vectors of these words as they were composed */
} Words;

typedef void (*OverWords)(const Words *words);

void ngrams_compose_baseline(const Words *words);
void ngrams_give_back_baseline(const Words *words);
#if defined(__x86_64__)
void ngrams_compose_avx2(const Words *words);
void ngrams_give_back_avx2(const Words *words);
void ngrams_compose_avx512(const Words *words);
void ngrams_give_back_avx512(const Words *words);
#endif

/* One of the two loops for an instruction set that the processor runs. */
static inline OverWords ngrams_loop(enum Isa isa, int give_back)
{
#if defined(__x86_64__)
    if (isa == ISA_AVX512)
        return give_back ? ngrams_give_back_avx512 : ngrams_compose_avx512;
    if (isa == ISA_AVX2)
        return give_back ? ngrams_give_back_avx2 : ngrams_compose_avx2;
#endif
    return give_back ? ngrams_give_back_baseline : ngrams_compose_baseline;
}

#endif
