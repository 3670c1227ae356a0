/* The tags of a document: further rows for each of its lines, and further places of the softmax. In the text, the rows
 * of a line's tags are at its line end (-1) and at the marks (-2) behind it. */
#ifndef SGNS_DOCUMENTS_H
#define SGNS_DOCUMENTS_H

#include "sgns_state.h"

/* Finds the end of the line that holds a place, where the rows of the line's tags begin; returns their number. */
INLINE int find_document(const State *s, Reader *r, int64_t place)
{
    if (r->document > place)
        return r->n_tags;
    int64_t at = place;
    while (at < s->n_tokens && s->tokens[at] >= 0)
        at++;
    r->document = at;
    r->n_tags = 0;
    while (at < s->n_tokens && s->rows[at] && s->tokens[at] == (r->n_tags ? -2 : -1)) {
        r->n_tags++;
        at++;
    }
    return r->n_tags;
}

/* Scales the weights of the tags of a run, and adds to the overlaps of its targets, which have the document in common. */
INLINE void scale_tags(State *s, const Run *run, vec scale, vec *overlaps)
{
    vec *const weights = s->tag_weights[run - s->runs];
    for (int t = 0; t < run->n_tags; t++) {
        const vec here = weights[t] *= scale;
        EACH (d, GROUP)
            overlaps[d] += here * from_before(here, d);
    }
}

/* The logit of a tag of a document, the sum of its row's and its place's, clipped as the logits of words are. */
INLINE vec tag_logit(const State *s, const Run *run, int t)
{
    const Hyper *p = s->p;
    const float e = (p->word_stride ? *s->logit_rows[run->document + t] : 0.0f) +
                    (p->use_slots ? slot_logits(s)[2 * p->window] : 0.0f);
    return broadcast(e > p->attention_clip ? p->attention_clip : e < -p->attention_clip ? -p->attention_clip : e);
}

/* weights[t] = exp(e_t - top) of the tags of a document, for each target of a run; returns their sums. */
INLINE vec attend_to_tags(const State *s, const Run *run, vec top, vec *weights)
{
    vec sum = {0};
    for (int t = 0; t < run->n_tags; t++) {
        weights[t] = choose((s->lanes & (GROUP - 1)) < run->n, exp_negative(tag_logit(s, run, t) - top), (vec){0});
        sum += weights[t];
    }
    return sum;
}

/* The slopes of the tags of a run; slopes_of_rows does the same for words. */
INLINE void slopes_of_tags(State *s, const Run *run, float *const *grads, float (*moves)[LANES], const int nv)
{
    float products[GROUP * GROUP] __attribute__((aligned(64)));
    for (int t = 0; t < run->n_tags; t++) {
        const vec here = s->tag_weights[run - s->runs][t];
        vec slopes;
        dots_shared(grads, s->rows + run->document + t, 1, nv, products);
        for (int k = 0; k < LANES; k++)
            slopes[k] = products[k % GROUP];
        EACH (d, GROUP)
            if (d)
                slopes += from_before(here, d) * AT(moves[d], 0);
        s->tag_slopes[t] = slopes;
    }
}

/* The logits of the tags of a document, and of its place, learn. */
INLINE void learn_tags(State *s, const Run *run, const vec *weights, vec rate, vec along)
{
    for (int t = 0; t < run->n_tags; t++) {
        const vec change = rate * weights[t] * (s->tag_slopes[t] - along);
        const float all = (change[0] + change[1]) + (change[2] + change[3]);
        if (s->p->word_stride)
            *s->logit_rows[run->document + t] += all;
        if (s->p->use_slots)
            slot_logits(s)[2 * s->p->window] += all;
    }
}

#endif
