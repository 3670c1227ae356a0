/* The rows of one line of text, from its bytes. gather() of classifier.h makes the same rows from numbered types; for
 * a single line, numbering the types first gains nothing. */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include "classifier.h"
#include "lexicon.h"

#define LINE_END "</s>"

typedef struct {
    Lines rules;            /* n_words, word_ngrams, buckets, places, skip_unknown */
    Lexicon *entries;       /* words, then labels */
    int32_t min_n, max_n;   /* characters of an n-gram; max_n < 1: there are none */
    const char *label;      /* how labels begin */
    int64_t label_bytes;
    char *marked;           /* room for a word with its marks */
    int64_t room;
} LineReader;

static inline int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == 0; }

static inline int is_line_end(const char *word, int64_t n) { return n == 4 && !memcmp(word, LINE_END, 4); }

/* fastText's hash: FNV-1a with signed bytes. */
static inline uint32_t longer_fnv(uint32_t hash, char c)
{
    return (hash ^ (uint32_t)(int32_t)(signed char)c) * 16777619u;
}

static inline int32_t fnv(const char *word, int64_t n)
{
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < n; i++)
        hash = longer_fnv(hash, word[i]);
    return (int32_t)hash;
}

static inline int within_character(char c) { return (c & 0xC0) == 0x80; }

/* Adds the rows of the n-grams of characters of a word, in fastText's order. */
static void push_ngrams(LineReader *x, const char *word, int64_t n, Bag *bag)
{
    if (n + 2 > x->room) {
        char *moved = realloc(x->marked, (size_t)(2 * n + 64));
        if (!moved) {
            bag->failed = 1;
            return;
        }
        x->marked = moved;
        x->room = 2 * n + 64;
    }
    char *const text = x->marked;
    text[0] = '<';
    memcpy(text + 1, word, (size_t)n);
    text[n + 1] = '>';
    for (int64_t begin = 0; begin < n + 2; begin++) {
        if (within_character(text[begin]))
            continue;
        uint32_t hash = 2166136261u;
        int64_t at = begin;
        for (int length = 1; length <= x->max_n && at < n + 2; length++) {
            do
                hash = longer_fnv(hash, text[at++]);
            while (at < n + 2 && within_character(text[at]));
            if (length >= x->min_n && !(length == 1 && (begin == 0 || at == n + 2)))
                push_bucket(&x->rules, hash % (uint32_t)x->rules.buckets, bag);
        }
    }
}

/* Adds the rows of a word: its own, if `number` is a word's, and those of its n-grams. */
static void push_word(LineReader *x, const char *word, int64_t n, int32_t number, Bag *bag)
{
    if (number >= 0 && number < x->rules.n_words)
        bag_push(bag, number);
    if (x->max_n > 0 && !is_line_end(word, n))
        push_ngrams(x, word, n, bag);
}

static inline int32_t number_of(const LineReader *x, const char *word, int64_t n)
{
    return lexicon_id(x->entries, word, (uint32_t)n, hash_text(word, (size_t)n), 0);
}

/* The next token of a line; at its end, "</s>". */
static int64_t next_token(const char *text, int64_t n, int64_t *at, const char **token)
{
    while (*at < n && is_space(text[*at]))
        ++*at;
    if (*at == n) {
        *token = LINE_END;
        return 4;
    }
    const int64_t begin = *at;
    while (*at < n && !is_space(text[*at]))
        ++*at;
    *token = text + begin;
    return *at - begin;
}

/* Fills the bag with the rows of a line of n bytes without line ends. */
static void gather_text(LineReader *x, const char *text, int64_t n, Bag *bag)
{
    int64_t at = 0, n_hashes = 0, length;
    const char *token;
    bag->n = 0;
    do {
        length = next_token(text, n, &at, &token);
        const int32_t number = number_of(x, token, length);
        if (number >= x->rules.n_words)
            continue;
        if (number < 0 && length >= x->label_bytes && !memcmp(token, x->label, (size_t)x->label_bytes))
            continue;
        push_word(x, token, length, number, bag);
        if (x->rules.word_ngrams < 2)
            continue;
        bag->hashes = with_room(bag->hashes, &bag->hash_room, n_hashes + 1, &bag->failed);
        if (!bag->failed)
            bag->hashes[n_hashes++] = fnv(token, length);
    } while (!is_line_end(token, length) && !bag->failed);
    push_word_ngrams(&x->rules, n_hashes, bag);
}

#endif
