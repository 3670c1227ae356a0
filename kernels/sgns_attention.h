/* Attention of cbow-attn (Ling et al. 2015, equations 2 and 3): its weights, and how its logits learn. */
#ifndef SGNS_ATTENTION_H
#define SGNS_ATTENTION_H

#include "sgns_documents.h"

/* Copies the present logits s, one after the other, to s->slot_logits[GROUP] and on, with a gap for the target. */
INLINE void copy_slot_logits(State *s)
{
    const size_t n = (size_t)s->p->window;
    float *to = s->slot_logits + GROUP;
    memcpy(to, slot_logits(s), n * sizeof(float));
    memcpy(to + n + 1, slot_logits(s) + n, n * sizeof(float));
}

/* Reads K[w_i, i] into `numbers` [place][target], or adds the numbers to K. A word at slot i of a target is at slot
 * i - 1 of the next target, so its logits for GROUP targets are contiguous, in reverse, except around the target. */
INLINE void exchange_word_logits(const State *s, const Run *run, float *numbers, const int adds)
{
    const Span span = span_of(s, run);
    const int window = s->p->window, columns = s->p->word_slots;
    for (int k = 0; k < span.n_places; k++, numbers += GROUP) {
        const int offset = k - span.middle, last = offset - (GROUP - 1);
        float *const row = s->logit_rows[run->begin + k];
        if (columns && ((last >= -window && offset < 0) || (last > 0 && offset <= window))) {
            float *const logits = row + window + last - (last > 0);
            quad four = reversed(adds ? numbers : logits), before = {0};
            if (adds)
                memcpy(&before, logits, sizeof before);
            four += before;
            memcpy(adds ? logits : numbers, &four, sizeof four);
            continue;
        }
        for (int b = 0; b < run->n; b++) {
            const int from_target = offset - b;
            if (from_target < -window || from_target > window || from_target == 0)
                continue;
            float *logit = row + columns * (window + from_target - (from_target > 0));
            *(adds ? logit : numbers + b) = adds ? *logit + numbers[b] : *logit;
        }
    }
}

/* weights[i] = exp(e_i - max e) for each target, where e_i = K[w_i, i] + s[i]. Before the call, weights[i] holds
 * K[w_i, i]. The same for the tags of the document.
 * Returns the sums Z: the attention weight of place i is a_i = weights[i] / Z. */
INLINE vec attend(const State *s, const Run *run, const Span *span, float *weights, vec *of_tags)
{
    const Hyper *p = s->p;
    const float *const of_slots = s->slot_logits + p->window - span->middle + 1;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec most = low, sum = {0};
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec e = {0};
        if (p->word_stride)
            e = AT(weights, k);
        if (p->use_slots)
            e += slots_of_group(of_slots + k * (LANES / GROUP));
        e = larger(low, choose(e > high, high, e));
        e = choose(in_reach(span, k), e, low);
        most = larger(most, e);
        AT(weights, k) = e;
    }
    vec top = largest_of_group(most);
    for (int t = 0; t < run->n_tags; t++)
        top = larger(top, tag_logit(s, run, t));
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec weight = choose(in_reach(span, k), exp_negative(AT(weights, k) - top), (vec){0});
        AT(weights, k) = weight;
        sum += weight;
    }
    sum = totals_of_group(sum);
    return sum + attend_to_tags(s, run, top, of_tags);
}

/* The same with K and s as they are now, to learn from. With logits clipped to at most 40 their maximum is not needed:
 * exp(e_i - clip) neither overflows nor becomes 0. */
INLINE vec attend_again(const State *s, const Run *run, const Span *span, float *weights, vec *of_tags)
{
    const Hyper *p = s->p;
    if (p->attention_clip > 40.0f)
        return attend(s, run, span, weights, of_tags);
    const float *const of_slots = s->slot_logits + p->window - span->middle + 1;
    const vec high = broadcast(p->attention_clip), low = broadcast(-p->attention_clip);
    vec sum = {0};
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        vec e = {0};
        if (p->word_stride)
            e = AT(weights, k);
        if (p->use_slots)
            e += slots_of_group(of_slots + k * (LANES / GROUP));
        e = larger(low, choose(e > high, high, e));
        e = choose(in_reach(span, k), exp_negative(e - high), (vec){0});
        sum += e;
        AT(weights, k) = e;
    }
    sum = totals_of_group(sum);
    return sum + attend_to_tags(s, run, high, of_tags);
}

/* slopes[i] = w_i . grad for each target, where the rows w_i are those that the steps of the targets before it have
 * moved. */
INLINE void slopes_of_rows(State *s, const Run *run, const Span *span, float *const *grads, const int nv)
{
    const float *const weights = s->weights[run - s->runs];
    float products[GROUP * GROUP], moves[GROUP][LANES] __attribute__((aligned(64))) = {{0}};
    dots_shared(grads, s->rows + run->begin, span->n_places, nv, s->slopes);
    for (int k = GROUP * span->n_places; k % LANES; k++)
        s->slopes[k] = 0.0f;
    dots_shared(grads, grads, GROUP, nv, products);
    for (int d = 1; d < GROUP; d++)
        for (int b = d; b < GROUP; b++)
            for (int k = b; k < LANES; k += GROUP)
                moves[d][k] = run->gains[b - d] * products[GROUP * (b - d) + b];
    for (int k = 0; k < VECTORS(GROUP * span->n_places); k++) {
        const vec here = AT(weights, k);
        vec slopes = AT(s->slopes, k);
        EACH (d, GROUP)
            if (d)
                slopes += from_before(here, d) * AT(moves[d], 0);
        AT(s->slopes, k) = slopes;
    }
    slopes_of_tags(s, run, grads, moves, nv);
}

/* Adds the changes to s. A slot's place moves on by one from each target to the next. */
INLINE void add_to_slots(int window, const Span *span, const float *changes, float *slots)
{
    for (int right = 0; right < 2; right++, slots += window)
        for (int k = 0; k < window; k++) {
            const int place = span->middle + (right ? 1 : -window) + k;
            if (place >= 0 && place + GROUP <= span->n_places) {
                const float *here = changes + GROUP * place;
                slots[k] += (here[0] + here[GROUP + 1]) + (here[2 * GROUP + 2] + here[3 * GROUP + 3]);
            } else
                for (int b = 0; b < GROUP; b++)
                    if (place + b >= 0 && place + b < span->n_places)
                        slots[k] += changes[GROUP * (place + b) + b];
        }
}

/* Moves K and s along -dL/de_i = a_i (w_i . grad - sum_j a_j w_j . grad). The weights a are computed again, after the
 * steps of K and s for the runs before: with the weights that x was made with, logits that many examples share would
 * keep falling long after their weight is zero. */
INLINE void learn_logits(State *s, const Run *run, float *const *grads, const int nv)
{
    const Hyper *p = s->p;
    const Span span = span_of(s, run);
    const int n = VECTORS(GROUP * span.n_places);
    float *const slopes = s->slopes, *weights = s->weights[run - s->runs];
    const int again = run > s->runs; /* for the first run nothing has changed */
    /* long before they are read: a vector that is loaded right after its numbers were stored one by one has to wait */
    if (again && p->word_stride)
        exchange_word_logits(s, run, s->renewed, 0);
    if (again && p->use_slots)
        copy_slot_logits(s);
    slopes_of_rows(s, run, &span, grads, nv);
    vec along = {0}, z = {0};
    if (again)
        z = attend_again(s, run, &span, weights = s->renewed, s->tags_renewed);
    for (int k = 0; k < n; k++) {
        along += AT(weights, k) * AT(slopes, k);
        if (!again)
            z += AT(weights, k);
    }
    if (!again)
        z = totals_of_group(z);
    along = totals_of_group(along);
    const vec *const of_tags = again ? s->tags_renewed : s->tag_weights[run - s->runs];
    for (int t = 0; t < run->n_tags; t++) {
        along += of_tags[t] * s->tag_slopes[t];
        if (!again)
            z += of_tags[t];
    }
    const vec inverse = 1.0f / choose(z > 0.0f, z, broadcast(1.0f)), rate = p->attention_rate * inverse;
    along *= inverse;
    for (int k = 0; k < n; k++)
        AT(slopes, k) = rate * AT(weights, k) * (AT(slopes, k) - along);
    if (p->word_stride)
        exchange_word_logits(s, run, slopes, 1);
    if (p->use_slots)
        add_to_slots(p->window, &span, slopes, slot_logits(s));
    learn_tags(s, run, of_tags, rate, along);
}

#endif
