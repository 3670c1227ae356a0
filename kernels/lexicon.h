/* A lexicon: the types (distinct strings) of a text, numbered 0, 1, 2 ... as they first occur, with counts.
 *
 * Open addressing with linear probing. A slot holds 32 bits of the hash and the place of a record; records are
 * one after another in one arena, each with its text behind it, so that looking up a known word touches two
 * cache lines: its slot and its record. prefetch_* let a caller with many words to look up fetch both early.
 */
#ifndef CAWV_LEXICON_H
#define CAWV_LEXICON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT (-2)     /* the id of a word that a closed lexicon does not have */
#define NO_MEMORY (-3)  /* also at 32 GiB of arena, the most that Slot.place can address, or 2^31 - 1 types */

typedef struct {
    int64_t count;
    int32_t id;
    uint32_t length;    /* bytes of text, which follows this header */
} Record;

typedef struct {
    uint32_t tag;       /* hash; its low bits are the home slot */
    uint32_t place;     /* offset of the record in the arena / 8, + 1; 0: the slot is free */
} Slot;

typedef struct {
    Slot *slots;
    uint32_t mask;      /* number of slots - 1, a power of two - 1 */
    char *arena;
    size_t used, capacity;
    int32_t size;       /* types */
    int32_t closed;     /* 1: look up only; then several threads may share it */
} Lexicon;

static inline uint64_t load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline uint32_t load4(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* Multiplies, and folds the high bits, which are mixed best, into the low ones. */
static inline uint64_t stir(uint64_t h)
{
    h *= 0x9E3779B97F4A7C15u;
    return h ^ (h >> 32);
}

/* 32 hash bits of n bytes. The last eight (or four) bytes may overlap those before them, so no byte outside is read. */
static inline uint32_t hash_text(const char *text, size_t n)
{
    uint64_t h = n * 0xD6E8FEB86659FD93u;
    if (n > 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            h = stir(h ^ load8(text + i));
        h ^= load8(text + n - 8);
    } else if (n >= 4) {
        h ^= load4(text) | (uint64_t)load4(text + n - 4) << 32;
    } else if (n > 0) {
        const uint8_t *u = (const uint8_t *)text;
        h ^= (uint64_t)u[0] | (uint64_t)u[n >> 1] << 8 | (uint64_t)u[n - 1] << 16;
    }
    return (uint32_t)stir(stir(h));
}

static inline int same_text(const char *a, const char *b, size_t n)
{
    if (n > 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            if (load8(a + i) != load8(b + i))
                return 0;
        return load8(a + n - 8) == load8(b + n - 8);
    }
    if (n >= 4)
        return load4(a) == load4(b) && load4(a + n - 4) == load4(b + n - 4);
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

static inline Record *record_at(const Lexicon *x, uint32_t place)
{
    return (Record *)(x->arena + (size_t)(place - 1) * 8);
}

static inline char *text_of(Record *record) { return (char *)(record + 1); }

static inline size_t record_bytes(uint32_t length) { return (sizeof(Record) + (size_t)length + 7) & ~(size_t)7; }

/* Records in the order of their ids: for (r = first_record(x); r; r = next_record(x, r)). */
static inline Record *first_record(const Lexicon *x) { return x->size ? (Record *)x->arena : NULL; }

static inline Record *next_record(const Lexicon *x, Record *r)
{
    char *next = (char *)r + record_bytes(r->length);
    return next < x->arena + x->used ? (Record *)next : NULL;
}

static int lexicon_open(Lexicon *x)
{
    memset(x, 0, sizeof *x);
    x->mask = (1u << 10) - 1;
    x->capacity = 1u << 15;
    x->slots = calloc((size_t)x->mask + 1, sizeof(Slot));
    x->arena = malloc(x->capacity);
    return x->slots && x->arena ? 0 : NO_MEMORY;
}

static void lexicon_free(Lexicon *x)
{
    free(x->slots);
    free(x->arena);
    memset(x, 0, sizeof *x);
}

/* Doubles the number of slots. The tags alone determine the new slots: no record is read. */
static int lexicon_grow(Lexicon *x)
{
    size_t n = 2 * ((size_t)x->mask + 1);
    if (n > (size_t)1 << 31)
        return NO_MEMORY;
    Slot *slots = calloc(n, sizeof(Slot));
    if (!slots)
        return NO_MEMORY;
    uint32_t mask = (uint32_t)(n - 1);
    for (size_t i = 0; i <= x->mask; i++) {
        if (!x->slots[i].place)
            continue;
        uint32_t at = x->slots[i].tag & mask;
        while (slots[at].place)
            at = (at + 1) & mask;
        slots[at] = x->slots[i];
    }
    free(x->slots);
    x->slots = slots;
    x->mask = mask;
    return 0;
}

static int32_t lexicon_append(Lexicon *x, const char *text, uint32_t length, uint32_t tag, uint32_t slot, int64_t count)
{
    size_t bytes = record_bytes(length);
    if (x->size == INT32_MAX || x->used / 8 + bytes / 8 >= UINT32_MAX)
        return NO_MEMORY;
    if (x->used + bytes > x->capacity) {
        size_t capacity = x->capacity + x->capacity / 2 + bytes;
        char *arena = realloc(x->arena, capacity);
        if (!arena)
            return NO_MEMORY;
        x->arena = arena;
        x->capacity = capacity;
    }
    Record *record = (Record *)(x->arena + x->used);
    record->count = count;
    record->id = x->size;
    record->length = length;
    memcpy(text_of(record), text, length);
    x->slots[slot].tag = tag;
    x->slots[slot].place = (uint32_t)(x->used / 8 + 1);
    x->used += bytes;
    x->size++;
    /* beyond two thirds full, linear probing would pass many slots */
    if ((size_t)x->size * 3 > ((size_t)x->mask + 1) * 2 && lexicon_grow(x))
        return NO_MEMORY;
    return x->size - 1;
}

/* The id of a text. An open lexicon adds a text that it does not have, and adds `times` to the count. */
static inline int32_t lexicon_id(Lexicon *x, const char *text, uint32_t length, uint32_t tag, int64_t times)
{
    uint32_t at = tag & x->mask;
    for (; x->slots[at].place; at = (at + 1) & x->mask) {
        if (x->slots[at].tag != tag)
            continue;
        Record *record = record_at(x, x->slots[at].place);
        if (record->length == length && same_text(text_of(record), text, length)) {
            if (!x->closed)
                record->count += times;
            return record->id;
        }
    }
    if (x->closed)
        return ABSENT;
    return lexicon_append(x, text, length, tag, at, times);
}

static inline void prefetch_slot(const Lexicon *x, uint32_t tag) { __builtin_prefetch(&x->slots[tag & x->mask]); }

static inline void prefetch_record(const Lexicon *x, uint32_t tag)
{
    uint32_t place = x->slots[tag & x->mask].place;
    if (place)
        __builtin_prefetch(record_at(x, place));
}

/* Bytes of memory in use. */
static inline size_t lexicon_memory(const Lexicon *x) { return x->used + ((size_t)x->mask + 1) * sizeof(Slot); }

/* Which of 2^bits parts a type belongs to: by the high bits of its hash, since the low ones are its home slot. */
static inline uint32_t part_of_text(const char *text, uint32_t length, int bits)
{
    return hash_text(text, length) >> (32 - bits);
}

/* Whether there is a whole record at p, with a text: records that come from a file may be damaged. */
static inline int record_is_whole(const char *p, const char *end)
{
    return (size_t)(end - p) >= sizeof(Record) && ((const Record *)p)->length > 0 &&
           record_bytes(((const Record *)p)->length) <= (size_t)(end - p);
}

/* One type in the final order: count descending, then bytes ascending. */
typedef struct {
    int64_t count;
    const char *text;
    uint32_t length;
    int32_t id;
} Ranked;

static int rank_before(const void *left, const void *right)
{
    const Ranked *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    uint32_t n = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, n);
    if (order)
        return order;
    return a->length < b->length ? -1 : a->length > b->length;
}

static Ranked ranked_of(Record *r)
{
    Ranked result = {r->count, text_of(r), r->length, r->id};
    return result;
}

/* A cursor in a list of records in the final order. Lists are merged with a heap of cursors; on top is the cursor whose
 * record comes first. */
typedef struct {
    const char *at, *end;
} Run;

static int run_before(const Run *a, const Run *b)
{
    Ranked x = ranked_of((Record *)a->at), y = ranked_of((Record *)b->at);
    return rank_before(&x, &y) < 0;
}

static void sift_down(Run *heap, int n, int i)
{
    for (;;) {
        int first = i, left = 2 * i + 1, right = left + 1;
        if (left < n && run_before(&heap[left], &heap[first]))
            first = left;
        if (right < n && run_before(&heap[right], &heap[first]))
            first = right;
        if (first == i)
            return;
        Run other = heap[i];
        heap[i] = heap[first];
        heap[first] = other;
        i = first;
    }
}

/* Writes lines "word TAB count", escaped as in wordvec_ca/files/lines.py, as long as the next one fits for certain;
 * returns the number of bytes. */
static size_t merge_runs(Run *heap, int *n, char *out, size_t room)
{
    size_t w = 0;
    while (*n) {
        Record *r = (Record *)heap[0].at;
        if (w + 2 * (size_t)r->length + 24 > room) /* each byte escaped, and the tab, the count, the line end */
            break;
        const char *text = text_of(r);
        for (uint32_t i = 0; i < r->length; i++) {
            char c = text[i], letter = c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\\' ? '\\' : 0;
            if (letter || (i + 2 < r->length && memcmp(text + i, "\xef\xbb\xbf", 3) == 0))
                out[w++] = '\\';
            out[w++] = letter ? letter : c;
        }
        w += (size_t)sprintf(out + w, "\t%lld\n", (long long)r->count);
        heap[0].at += record_bytes(r->length);
        if (heap[0].at >= heap[0].end)
            heap[0] = heap[--*n];
        sift_down(heap, *n, 0);
    }
    return w;
}

/* Fill ranked (room for x->size) with the types of at least min_count and sort them; return how many. */
static int32_t lexicon_rank(const Lexicon *x, int64_t min_count, Ranked *ranked)
{
    int32_t n = 0;
    for (Record *r = first_record(x); r; r = next_record(x, r)) {
        if (r->count < min_count)
            continue;
        ranked[n].count = r->count;
        ranked[n].text = text_of(r);
        ranked[n].length = r->length;
        ranked[n++].id = r->id;
    }
    qsort(ranked, (size_t)n, sizeof(Ranked), rank_before);
    return n;
}

#endif
