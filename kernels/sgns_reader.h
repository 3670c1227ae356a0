/* From text to examples: sub-sampling, windows, and the parts of a chunk that are read side by side. */
#ifndef SGNS_READER_H
#define SGNS_READER_H

#include "sgns_paths.h"

/* splitmix64 (Steele, Lea, Flood 2014), upper 32 bits: uniform on 0 .. 2^32 - 1. */
INLINE uint32_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* The learning rate at the place that reading has reached. */
INLINE float learning_rate(const State *s) { return s->p->alpha_begin + s->slope * (float)s->n_read; }

/* Copies the tokens that sub-sampling keeps, and every line end, to s->kept, and points *tokens there. Without
 * sub-sampling, points *tokens to the text itself. Returns their number, or NO_SUCH_WORD if a token is not in the
 * vocabulary. */
static int64_t subsample(State *s, const int32_t **tokens)
{
    const Task *task = s->task;
    int64_t n = 0, lines = 0;
    int32_t largest = -1;
    for (int64_t i = 0; i < task->n_tokens; i++) {
        lines += task->tokens[i] < 0;
        largest = task->tokens[i] > largest ? task->tokens[i] : largest;
    }
    if (largest >= task->n_words)
        return NO_SUCH_WORD;
    task->stats[STAT_WORDS] += (double)(task->n_tokens - lines);
    *tokens = task->tokens;
    if (!task->keep)
        return task->n_tokens;
    for (int64_t i = 0; i < task->n_tokens; i++) {
        int32_t word = task->tokens[i];
        if (word < 0 || draw(&s->rng) <= task->keep[word])
            s->kept[n++] = word;
    }
    *tokens = s->kept;
    return n;
}

/* Prefetches what the target i will need: its row of O and, as this word then enters the window, the rows of W and K
 * of the word i + window. */
INLINE void prefetch_token(const State *s, int64_t i, int nv, int out_nv)
{
    const Hyper *p = s->p;
    if (i < s->n_tokens && s->tokens[i] >= 0) {
        if (p->drawn)
            prefetch_row(output_row(s, s->tokens[i], 0), out_nv);
        if (p->longest_path)
            prefetch_path(s, s->tokens[i]);
    }
    i += p->window;
    if (i < s->n_tokens && s->tokens[i] >= 0) {
        prefetch_row(input_row(s, s->tokens[i]), nv);
        if (p->word_stride)
            prefetch_row(logit_row(s, s->tokens[i]), p->word_stride / LANES);
    }
}

/* A reader of the part from start to stop. Windows reach over the ends of the part, as far as the line goes. */
INLINE Reader read_from(const State *s, int64_t start, int64_t stop)
{
    int64_t begin = start;
    while (begin > 0 && start - begin < s->p->window && s->tokens[begin - 1] >= 0)
        begin--;
    return (Reader){.at = start - 1, .stop = stop, .begin = begin, .next = 0, .last = -1, .document = -1};
}

/* Goes on to the next target of a part; skips targets without context words and tags. Returns 0 at the part's end. */
INLINE int next_target(State *s, int which, int column, const int nv, const int out_nv)
{
    const Hyper *p = s->p;
    const int32_t *tokens = s->tokens;
    const int64_t window = p->window;
    Reader *r = &s->readers[which];
    Example *one = &r->example;
    int64_t i, left, right;
    int n_tags;
    do {
        i = ++r->at;
        if (i >= r->stop)
            return 0;
        s->n_read++;
        int64_t reach = p->only_documents ? 0 : window;
        if (p->shrink_windows && reach)
            reach = 1 + (int64_t)(((uint64_t)draw(&s->rng) * (uint64_t)window) >> 32);
        prefetch_token(s, i + (neighbours(p) > 1 ? GROUP : prefetch_distance(out_nv)), nv, out_nv);
        left = right = n_tags = 0;
        if (tokens[i] < 0) {
            r->begin = i + 1;
            continue;
        }
        if (r->end <= i)
            r->end = i + 1;
        while (r->end < s->n_tokens && r->end <= i + window && tokens[r->end] >= 0)
            r->end++;
        left = i - r->begin < reach ? i - r->begin : reach;
        right = r->end - 1 - i < reach ? r->end - 1 - i : reach;
        if (p->most_tags)
            n_tags = find_document(s, r, i);
    } while (left + right + n_tags == 0);
    s->target_words[column * s->column_stride + which] = tokens[i];
    s->target_rows[column * s->column_stride + which] = output_row(s, tokens[i], 0);
    s->contexts += left + right;
    if (pairwise(p)) {
        r->next = i - left + (left == 0);
        r->last = i + right - (right == 0);
        r->tag = r->document;
        r->tags_end = r->tag + n_tags;
        s->examples += left + right + n_tags;
    } else {
        one->place = i - left;
        one->n_places = (int)(left + right + 1);
        one->middle = (int)left;
        one->slot = (int)(window - left);
        one->n = (int)(left + right);
        one->document = r->document;
        one->n_tags = n_tags;
        s->examples++;
    }
    return 1;
}

/* Goes on to the next example of a part, for a column of the batch; returns 0 at its end. */
INLINE int next_example(State *s, int which, int column, const int nv, const int out_nv)
{
    Reader *r = &s->readers[which];
    Example *one = &r->example;
    const int new_target = r->next > r->last && r->tag >= r->tags_end;
    if (new_target && !next_target(s, which, column, nv, out_nv))
        return 0;
    if (!pairwise(s->p))
        return 1;
    if (new_target && s->p->longest_path) {
        s->alpha = learning_rate(s);
        step_path_of_target(s, r, out_nv);
    }
    if (r->next <= r->last) {
        one->place = r->next++;
        r->next += r->next == r->at; /* the target is not its own context */
    } else {
        one->place = r->tag++;
    }
    if (!s->p->drawn) { /* the pairs of this target have no other step */
        r->next = r->last + 1;
        r->tag = r->tags_end;
    }
    if (s->p->bands > 1) {
        one->slot = (int)(one->place - r->at + s->p->window - (one->place > r->at));
        s->target_rows[which] = output_row(s, s->target_words[which], one->slot);
    }
    return 1;
}

/* Marks that a reader has no example in a column. */
INLINE void leave_empty(State *s, int which, int column)
{
    s->target_rows[column * s->column_stride + which] = s->zero_row;
    s->target_words[column * s->column_stride + which] = -1;
}

/* Reads the next examples of a part, one for each column, and returns their number, 0 at its end. */
INLINE int next_examples(State *s, int which, const int nv, const int out_nv)
{
    const int most = neighbours(s->p);
    int n = 0;
    for (; n < most && next_example(s, which, n, nv, out_nv); n++)
        if (most > 1)
            add_to_runs(s, which, n);
    for (int column = n; column < most; column++)
        leave_empty(s, which, column);
    return n;
}

/* Drops a reader that is at its end; the last reader takes its number. */
INLINE void drop_reader(State *s, int which)
{
    const int last = --s->n_readers;
    s->readers[which] = s->readers[last];
    s->target_rows[which] = s->target_rows[last]; /* the next pairs may be of the same target */
    s->target_words[which] = s->target_words[last];
    for (int column = 0; column < neighbours(s->p); column++)
        leave_empty(s, last, column);
}

#endif
