/* Composes the vectors of words from shared rows and adds what they gained to these rows; compiled once
 * per instruction set. Define before including: LANES, the floats per vector, and NAME(loop), the name of a loop.
 * The readable reference is in ngrams_numpy.py. */
#include "ngrams.h"
#include "sgns_simd.h"

#define PANEL 8          /* vectors of the sum, or gain, that stay in registers while the rows are read */
#define LINES_AHEAD 56   /* cache lines prefetched ahead: rows are scattered over memory, so each is a cache miss */

/* The entry that is prefetched next, some rows ahead of the one in use. */
typedef struct {
    int64_t word, entry, end;
} Ahead;

INLINE void prefetch_next(const Words *w, Ahead *ahead, const int write)
{
    while (ahead->entry == ahead->end) {
        if (++ahead->word >= w->n) {
            ahead->word = w->n;
            return;
        }
        ahead->entry = w->offsets[w->words[ahead->word]];
        ahead->end = w->offsets[w->words[ahead->word] + 1];
    }
    const float *row = w->rows + w->columns[ahead->entry++] * w->width;
    for (int64_t k = 0; k < w->width; k += 16) {
        if (write)
            __builtin_prefetch(row + k, 1, 3);
        else
            __builtin_prefetch(row + k, 0, 3);
    }
}

INLINE Ahead begin_ahead(const Words *w, const int write)
{
    Ahead ahead = {-1, 0, 0};
    const int64_t rows = LINES_AHEAD * 16 / w->width;
    for (int64_t i = 0; i < (rows > 1 ? rows : 1); i++)
        prefetch_next(w, &ahead, write);
    return ahead;
}

/* vectors[word] = before[i] = sum of weight * row, for a panel of `count` vectors of each row */
INLINE void compose_panel(const Words *w, int64_t i, int64_t at, const int count, Ahead *ahead)
{
    const int64_t word = w->words[i];
    vec sum[PANEL];
    for (int k = 0; k < count; k++)
        sum[k] = (vec){0};
    for (int64_t e = w->offsets[word]; e < w->offsets[word + 1]; e++) {
        if (at == 0)
            prefetch_next(w, ahead, 0);
        const vec *row = (const vec *)(w->rows + w->columns[e] * w->width) + at;
        const float weight = w->weights[e];
        EACH (k, count)
            sum[k] += weight * row[k];
    }
    vec *out = (vec *)(w->vectors + word * w->width) + at, *before = (vec *)(w->before + i * w->width) + at;
    EACH (k, count)
        out[k] = before[k] = sum[k];
}

/* row += vectors[word] - before[i] for each of the word's rows */
INLINE void give_back_panel(const Words *w, int64_t i, int64_t at, const int count, Ahead *ahead)
{
    const int64_t word = w->words[i];
    const vec *now = (const vec *)(w->vectors + word * w->width) + at;
    const vec *before = (const vec *)(w->before + i * w->width) + at;
    vec gain[PANEL];
    EACH (k, count)
        gain[k] = now[k] - before[k];
    for (int64_t e = w->offsets[word]; e < w->offsets[word + 1]; e++) {
        if (at == 0)
            prefetch_next(w, ahead, 1);
        vec *row = (vec *)(w->rows + w->columns[e] * w->width) + at;
        EACH (k, count)
            row[k] += gain[k];
    }
}

#define FOR_PANELS(panel)                          \
    do {                                           \
        const int64_t vectors = w->width / LANES;  \
        int64_t at = 0;                            \
        for (; at + PANEL <= vectors; at += PANEL) \
            panel(w, i, at, PANEL, &ahead);        \
        switch (vectors - at) {                    \
        case 7: panel(w, i, at, 7, &ahead); break; \
        case 6: panel(w, i, at, 6, &ahead); break; \
        case 5: panel(w, i, at, 5, &ahead); break; \
        case 4: panel(w, i, at, 4, &ahead); break; \
        case 3: panel(w, i, at, 3, &ahead); break; \
        case 2: panel(w, i, at, 2, &ahead); break; \
        case 1: panel(w, i, at, 1, &ahead); break; \
        }                                          \
    } while (0)

void NAME(compose)(const Words *w)
{
    Ahead ahead = begin_ahead(w, 0);
    for (int64_t i = 0; i < w->n; i++)
        FOR_PANELS(compose_panel);
}

void NAME(give_back)(const Words *w)
{
    Ahead ahead = begin_ahead(w, 1);
    for (int64_t i = 0; i < w->n; i++)
        FOR_PANELS(give_back_panel);
}
