/* From UTF-8 text to the ids of its tokens. docs/tokenising.md defines a token; tests/text/test_text.py does in Python.
 *
 * A block of text is copied once (ASCII capitals become small on the way) and read once. Runs of ASCII are cut
 * in place; a token that holds any other byte is decoded, repaired, lower-cased and written to a scratch
 * area. Tokens are gathered in batches so that the cache misses of the lexicon overlap.
 */
#ifndef CAWV_TEXT_H
#define CAWV_TEXT_H

#include "lexicon.h"
#include "unicode_tables.h"

#define LINE_END (-1) /* among the ids: here a line ends */
#define LONGEST_TOKEN 1000 /* bytes; longer ones are cut */
#define BATCH 64
#define PADDING 8 /* bytes of white space behind the text, so that no loop needs to test for its end */

typedef struct {
    int64_t tokens, lines;
    int64_t cut; /* pieces cut off overlong tokens */
    int64_t repaired; /* invalid UTF-8 sequences that became U+FFFD */
    int64_t first_repaired; /* byte offset of the first of them, or -1 */
} TextStats;

typedef struct {
    const char *text;
    uint32_t length, tag;
} Pending; /* text NULL: a line end */

typedef struct {
    Lexicon *lexicon;
    int lowercase, every_line;
    const uint8_t *begin, *end;
    int32_t *out; /* ids, in order */
    int64_t n;
    Pending batch[BATCH];
    int waiting;
    char scratch[BATCH * (LONGEST_TOKEN + 4)];
    char *spelled; /* the token being written to the scratch area begins here ... */
    uint32_t length; /* ... and has this many bytes so far */
    int failed;
    TextStats stats;
} Reader;

/* ---- tokens out -------------------------------------------------------------------------------------- */

static void flush(Reader *r)
{
    for (int i = 0; i < r->waiting; i++)
        if (r->batch[i].text)
            prefetch_record(r->lexicon, r->batch[i].tag);
    for (int i = 0; i < r->waiting; i++) {
        const Pending *p = &r->batch[i];
        int32_t id = p->text ? lexicon_id(r->lexicon, p->text, p->length, p->tag, 1) : LINE_END;
        if (id == NO_MEMORY)
            r->failed = 1;
        r->out[r->n++] = id;
    }
    r->waiting = 0;
    r->spelled = r->scratch;
}

static inline void put(Reader *r, const char *text, uint32_t length)
{
    uint32_t tag = hash_text(text, length);
    prefetch_slot(r->lexicon, tag);
    r->batch[r->waiting].text = text;
    r->batch[r->waiting].length = length;
    r->batch[r->waiting].tag = tag;
    r->stats.tokens++;
    if (++r->waiting == BATCH)
        flush(r);
}

/* A token that is stored in the text itself: ASCII only. */
static inline void put_slice(Reader *r, const uint8_t *from, const uint8_t *to)
{
    while (to - from > LONGEST_TOKEN) {
        put(r, (const char *)from, LONGEST_TOKEN);
        r->stats.cut++;
        from += LONGEST_TOKEN;
    }
    put(r, (const char *)from, (uint32_t)(to - from));
}

/* The token in the scratch area is complete. */
static inline void put_spelled(Reader *r)
{
    char *text = r->spelled;
    r->spelled += r->length;
    put(r, text, r->length);
    r->length = 0;
}

/* A line end; several in a row count once, unless every line counts. */
static inline void put_line_end(Reader *r)
{
    r->stats.lines++;
    if (r->every_line)
        ;
    else if (r->waiting ? !r->batch[r->waiting - 1].text : r->n && r->out[r->n - 1] == LINE_END)
        return;
    r->batch[r->waiting].text = NULL;
    if (++r->waiting == BATCH)
        flush(r);
}

/* ---- characters in ----------------------------------------------------------------------------------- */

typedef struct {
    uint32_t code;
    uint32_t length;
    int valid;
} Char;

/* One character; an invalid sequence (its longest part that could begin a character, as in the Unicode
 * Standard, 3.9, and in Python's errors="replace") reads as U+FFFD. */
static inline Char char_at(const uint8_t *p)
{
    static const Char BAD1 = {0xFFFD, 1, 0}, BAD2 = {0xFFFD, 2, 0}, BAD3 = {0xFFFD, 3, 0};
    uint32_t c = p[0];
    Char result = {c, 1, 1};
    if (c < 0x80)
        return result;
    if (c < 0xC2 || c > 0xF4)
        return BAD1;
    uint32_t low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80, high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < low || p[1] > high)
        return BAD1;
    result.length = 2;
    result.code = (c & 0x1F) << 6 | (p[1] & 0x3Fu);
    if (c < 0xE0)
        return result;
    if ((p[2] & 0xC0) != 0x80)
        return BAD2;
    result.length = 3;
    result.code = (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    if (c < 0xF0)
        return result;
    if ((p[3] & 0xC0) != 0x80)
        return BAD3;
    result.length = 4;
    result.code = (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    return result;
}

static inline uint32_t encode(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3F));
        to[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3F));
    to[2] = (char)(0x80 | (c >> 6 & 0x3F));
    to[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

/* Append the character at p to the token in the scratch area. */
static inline const uint8_t *spell(Reader *r, const uint8_t *p, Char c)
{
    char bytes[4];
    uint32_t code = r->lowercase ? c.code + (uint32_t)char_record(c.code)->to_lower : c.code;
    uint32_t n = encode(code, bytes);
    if (!c.valid && r->stats.repaired++ == 0)
        r->stats.first_repaired = p - r->begin;
    if (r->length + n > LONGEST_TOKEN) {
        put_spelled(r);
        r->stats.cut++;
    }
    memcpy(r->spelled + r->length, bytes, 4);
    r->length += n;
    return p + c.length;
}

/* ---- tokeniser "whitespace" -------------------------------------------------------------------------- */

static inline int is_ascii_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static const uint8_t *read_between_spaces(Reader *r, const uint8_t *p)
{
    const uint8_t *from = p;
    uint8_t all = 0;
    for (; !is_ascii_space(*p); p++)
        all |= *p;
    if (all < 0x80) {
        put_slice(r, from, p);
    } else {
        while (from < p)
            from = spell(r, from, char_at(from));
        put_spelled(r);
    }
    return p;
}

/* ---- tokeniser "words" ------------------------------------------------------------------------------- */

/* Classes of the first 128 characters and, for all other bytes, OTHER. */
#define OTHER 255
static uint8_t BYTE_CLASS[256];

static void fill_byte_class(void)
{
    for (int c = 0; c < 256; c++)
        BYTE_CLASS[c] = c < 128 ? (uint8_t)char_record((uint32_t)c)->class_ : OTHER;
}

static inline Char visible_char_at(const uint8_t **p)
{
    Char c = char_at(*p);
    for (; c.code == 0xAD; c = char_at(*p))
        *p += c.length; /* soft hyphens are HIDDEN */
    return c;
}

static inline int class_of(Char c) { return char_record(c.code)->class_; }

/* Does a character of class `middle` belong to the word that has `before` on its left and `after` on its right? */
static inline int joins(int before, int middle, int after)
{
    switch (middle) {
    case JOINER: return after == LETTER || after == DIGIT;
    case LINKER: return after == LETTER || after == DIGIT || after == MARK;
    case POINT: return before == DIGIT && after == DIGIT;
    default: return 0;
    }
}

/* One token (or one character of white space) by the full rules. */
static const uint8_t *read_unicode_token(Reader *r, const uint8_t *p)
{
    Char c = visible_char_at(&p);
    int class_ = class_of(c), before;
    if (class_ == SPACE || class_ == LINKER)
        return c.code < 0x80 ? p : p + c.length;
    if (class_ == LETTER || class_ == DIGIT || class_ == MARK) {
        for (;;) {
            p = spell(r, p, c);
            before = class_;
            c = visible_char_at(&p);
            class_ = class_of(c);
            if (class_ == LETTER || class_ == DIGIT || class_ == MARK)
                continue;
            const uint8_t *next = p + c.length;
            if (c.code < 0x80 && class_ == SPACE)
                break;
            Char after = visible_char_at(&next);
            if (!joins(before, class_, class_of(after)))
                break;
            p = spell(r, p, c);
            p = next;
            c = after;
            class_ = class_of(after);
        }
    } else { /* a symbol and the marks on it */
        do {
            p = spell(r, p, c);
            c = visible_char_at(&p);
        } while (class_of(c) == MARK);
    }
    put_spelled(r);
    return p;
}

/* The same for tokens of ASCII only; returns as soon as another character could matter. */
static inline const uint8_t *read_word(Reader *r, const uint8_t *p)
{
    const uint8_t *from = p;
    int class_ = BYTE_CLASS[*p], before;
    if (class_ == SPACE)
        return p + 1;
    if (class_ == LETTER || class_ == DIGIT) {
        for (;;) {
            do {
                before = class_;
                class_ = BYTE_CLASS[*++p];
            } while (class_ == LETTER || class_ == DIGIT);
            if (class_ == SPACE || class_ == SYMBOL)
                break;
            if (class_ == OTHER || BYTE_CLASS[p[1]] == OTHER)
                return read_unicode_token(r, from);
            if (!joins(before, class_, BYTE_CLASS[p[1]]))
                break;
        }
    } else {
        if (class_ == OTHER || BYTE_CLASS[*++p] == OTHER)
            return read_unicode_token(r, from);
    }
    put_slice(r, from, p);
    return p;
}

/* ---- a block ----------------------------------------------------------------------------------------- */

/* Copy n bytes, ASCII capitals made small (a plain loop: compilers turn it into vector code). */
static void copy_text(uint8_t *to, const uint8_t *from, size_t n, int lowercase)
{
    if (!lowercase) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(from[i] + ((uint8_t)(from[i] - 'A') < 26 ? 32 : 0));
}

/* Ids of all tokens of n bytes, LINE_END where lines end (\n, \r\n or \r; several in a row count once, unless
 * every line counts). out has room for n + 1. Returns the number of ids, or NO_MEMORY. */
static int64_t read_text(Lexicon *lexicon, const uint8_t *text, size_t n, int words, int lowercase, int every_line,
                         int32_t *out, TextStats *stats)
{
    Reader *r = malloc(sizeof(Reader));
    uint8_t *copy = malloc(n + PADDING);
    if (!r || !copy) {
        free(r);
        free(copy);
        return NO_MEMORY;
    }
    copy_text(copy, text, n, lowercase);
    memset(copy + n, ' ', PADDING);
    memset(&r->stats, 0, sizeof r->stats);
    r->stats.first_repaired = -1;
    r->lexicon = lexicon;
    r->lowercase = lowercase;
    r->every_line = every_line;
    r->begin = copy;
    r->end = copy + n;
    r->out = out;
    r->n = r->waiting = r->failed = 0;
    r->spelled = r->scratch;
    r->length = 0;
    for (const uint8_t *p = copy; p < r->end && !r->failed;) {
        if (*p == '\n' || *p == '\r') {
            if (*p == '\r' || p == copy || p[-1] != '\r')
                put_line_end(r);
            p++;
        } else if (words) {
            p = read_word(r, p);
        } else if (is_ascii_space(*p)) {
            p++;
        } else {
            p = read_between_spaces(r, p);
        }
    }
    flush(r);
    *stats = r->stats;
    int64_t result = r->failed ? NO_MEMORY : r->n;
    free(copy);
    free(r);
    return result;
}

/* Where to cut text[0:n] so that no line is cut: behind the last line end, else behind the last ASCII white
 * space, else 0. Never between \r and \n (a last \r may have its \n still to come). */
static int64_t cut_point(const uint8_t *text, int64_t n)
{
    for (int64_t i = n; i > 0; i--)
        if (text[i - 1] == '\n' || (text[i - 1] == '\r' && i < n))
            return i;
    for (int64_t i = n; i > 0; i--)
        if (is_ascii_space(text[i - 1]) && text[i - 1] != '\r')
            return i;
    return 0;
}

/* How many bytes of a sample are unlike text: invalid UTF-8 and control characters. */
static int64_t count_strange(const uint8_t *text, int64_t n)
{
    int64_t strange = 0;
    for (int64_t i = 0; i + 4 <= n;) { /* the last bytes may be the first half of a character */
        Char c = char_at(text + i);
        if (!c.valid || (c.code < 32 && !is_ascii_space((uint8_t)c.code)))
            strange += c.length;
        i += c.length;
    }
    return strange;
}

/* ---- provisional ids to final ids -------------------------------------------------------------------- */

typedef struct {
    int64_t head; /* tokens before the first line end (not split: the line may have begun earlier) */
    int64_t closed; /* 1: there was a line end */
    int64_t size; /* ids written, the head and its line end included */
    int64_t tail; /* tokens of the last line, which may continue */
    int64_t kept, lines, split;
} Renumbered;

/* out = final[raw], without ids that are ABSENT or have a negative final id and, unless every line counts, without
 * empty lines; lines are cut after `longest` tokens. out has room for n + n / longest + 2. A block without a line end
 * is all head. */
static void renumber(const int32_t *raw, int64_t n, const int32_t *final, int64_t longest, int every_line, int32_t *out,
                     Renumbered *result)
{
    Renumbered s = {0, 0, 0, 0, 0, 0, 0};
    int64_t i = 0, w = 0, line = 0;
    for (; i < n && raw[i] != LINE_END; i++)
        if (raw[i] >= 0 && final[raw[i]] >= 0)
            out[w++] = final[raw[i]];
    s.head = s.kept = w;
    if (i < n) {
        s.closed = 1;
        out[w++] = LINE_END;
        for (i++; i < n; i++) {
            if (raw[i] >= 0) {
                int32_t id = final[raw[i]];
                if (id < 0)
                    continue;
                if (line == longest) {
                    out[w++] = LINE_END;
                    s.split++;
                    s.lines++;
                    line = 0;
                }
                out[w++] = id;
                line++;
                s.kept++;
            } else if (raw[i] == LINE_END && (line || every_line)) {
                out[w++] = LINE_END;
                s.lines++;
                line = 0;
            }
        }
        s.tail = line;
    }
    s.size = w;
    *result = s;
}

#endif
