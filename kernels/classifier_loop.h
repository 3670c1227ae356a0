/* The loops of the classifier: a line's hidden vector is the mean of its rows; its labels are predicted, or
 * learnt (Joulin et al. 2016). Compiled once per instruction set. Define before including: LANES, the floats per
 * vector, and NAME(loop), the name of a loop. */
#include "classifier.h"
#include "sgns_sigmoid.h"

#define ROWS_AHEAD 8     /* rows prefetched ahead: they are scattered over memory, so each is a cache miss */
#define SMALL 1e-5       /* fastText adds it to each probability */

typedef float unaligned_vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
#define ANY(pointer, k) (*(unaligned_vec *)((pointer) + (k)))

/* ---- rows of any length, of numbers or codes ---- */

static void add_row(const Matrix *m, int64_t row, float *x)
{
    if (m->numbers) {
        const float *from = m->numbers + row * m->stride;
        int64_t k = 0;
        for (; k + LANES <= m->dim; k += LANES)
            ANY(x, k) += ANY((float *)from, k);
        for (; k < m->dim; k++)
            x[k] += from[k];
        return;
    }
    const uint8_t *codes = m->codes + row * m->n_parts;
    const float norm = m->norm_codes ? m->norms[m->norm_codes[row]] : 1.0f;
    for (int p = 0; p < m->n_parts; p++) {
        const int begin = p * m->part, n = begin + m->part < m->dim ? m->part : m->dim - begin;
        const float *from = m->centroids + (int64_t)256 * begin + (int64_t)codes[p] * n;
        for (int k = 0; k < n; k++)
            x[begin + k] += norm * from[k];
    }
}

static float dot_row(const Matrix *m, int64_t row, const float *x)
{
    float sum = 0.0f;
    if (m->numbers) {
        const float *from = m->numbers + row * m->stride;
        unaligned_vec sums = {0};
        int64_t k = 0;
        for (; k + LANES <= m->dim; k += LANES)
            sums += ANY((float *)from, k) * ANY((float *)x, k);
        for (int i = 0; i < LANES; i++)
            sum += sums[i];
        for (; k < m->dim; k++)
            sum += from[k] * x[k];
        return sum;
    }
    const uint8_t *codes = m->codes + row * m->n_parts;
    for (int p = 0; p < m->n_parts; p++) {
        const int begin = p * m->part, n = begin + m->part < m->dim ? m->part : m->dim - begin;
        const float *from = m->centroids + (int64_t)256 * begin + (int64_t)codes[p] * n;
        for (int k = 0; k < n; k++)
            sum += from[k] * x[begin + k];
    }
    return m->norm_codes ? sum * m->norms[m->norm_codes[row]] : sum;
}

void NAME(mean)(const Matrix *inputs, const Bag *bag, float *mean)
{
    memset(mean, 0, (size_t)inputs->dim * sizeof(float));
    for (int64_t i = 0; i < bag->n; i++)
        if (bag->rows[i] >= 0 && bag->rows[i] < inputs->n)
            add_row(inputs, bag->rows[i], mean);
    const float weight = bag->n ? 1.0f / (float)bag->n : 0.0f;
    for (int64_t k = 0; k < inputs->dim; k++)
        mean[k] *= weight;
}

/* ---- the k best labels: a heap with the worst on top ---- */

typedef struct {
    float *scores;
    int32_t *labels;
    int n, k;
} Best;

INLINE void place(Best *b, int i, float score, int32_t label)
{
    b->scores[i] = score;
    b->labels[i] = label;
}

/* Moves the free place i up the heap to where a score belongs, and puts the score there. */
INLINE void rise(Best *b, int i, float score, int32_t label)
{
    for (; i && b->scores[(i - 1) / 2] > score; i = (i - 1) / 2)
        place(b, i, b->scores[(i - 1) / 2], b->labels[(i - 1) / 2]);
    place(b, i, score, label);
}

/* Replaces the worst of n scores: the free place moves down to a leaf, and up again. Of equal scores, the same ones are
 * kept as by the heap of the C++ library, so that the labels are fastText's. */
static void replace_worst(Best *b, int n, float score, int32_t label)
{
    int i = 0;
    for (int child = 2; child <= n; child = 2 * i + 2) {
        if (child == n || b->scores[child] > b->scores[child - 1])
            child--;
        place(b, i, b->scores[child], b->labels[child]);
        i = child;
    }
    rise(b, i, score, label);
}

INLINE void offer(Best *b, float score, int32_t label)
{
    if (b->n < b->k)
        rise(b, b->n++, score, label);
    else if (score >= b->scores[0])
        replace_worst(b, b->n, score, label);
}

static void sort_best(Best *b)
{
    for (int n = b->n - 1; n > 0; n--) {
        const float score = b->scores[n];
        const int32_t label = b->labels[n];
        place(b, n, b->scores[0], b->labels[0]);
        replace_worst(b, n, score, label);
    }
}

/* ---- predicting ---- */

/* fastText's sigmoid, which is a table: that of the largest of 512 points between -8 and 8 that is not above x. */
INLINE float tabled_sigmoid(float x)
{
    if (x < -8.0f)
        return 0.0f;
    if (x > 8.0f)
        return 1.0f;
    const float point = (float)(int)((x + 8.0f) * 32.0f) / 32.0f - 8.0f;
    return (float)(1.0 / (1.0 + exp(-(double)point)));
}

INLINE float log_of_probability(float p) { return (float)log((double)p + SMALL); }

/* Finds the best labels in the tree of hs. A label is at most as likely as each node above it, so subtrees that cannot
 * hold one of the best are skipped. */
static void best_leaves(const Prediction *t, const float *hidden, Best *best, Branch *stack)
{
    const float lowest = log_of_probability(t->threshold);
    int64_t n = 0;
    stack[n++] = (Branch){2 * t->n_labels - 2, 0.0f};
    while (n) {
        const Branch at = stack[--n];
        if (at.score < lowest || (best->n == best->k && at.score < best->scores[0]))
            continue;
        if (at.node < t->n_labels) {
            offer(best, at.score, at.node);
            continue;
        }
        const float f = 1.0f / (1.0f + (float)exp(-(double)dot_row(t->outputs, at.node - t->n_labels, hidden)));
        stack[n++] = (Branch){t->right[at.node], at.score + log_of_probability(f)};
        stack[n++] = (Branch){t->left[at.node], at.score + log_of_probability(1.0f - f)};
    }
    for (int i = 0; i < best->n; i++)
        best->scores[i] = expf(best->scores[i]);
}

static void best_labels(const Prediction *t, const float *hidden, Best *best, float *logits)
{
    float highest = -INFINITY, sum = 0.0f;
    for (int32_t l = 0; l < t->n_labels; l++) {
        logits[l] = dot_row(t->outputs, l, hidden);
        highest = logits[l] > highest ? logits[l] : highest;
    }
    for (int32_t l = 0; l < t->n_labels; l++) {
        logits[l] = t->loss == LOSS_SOFTMAX ? expf(logits[l] - highest) : tabled_sigmoid(logits[l]);
        sum += logits[l];
    }
    const float scale = t->loss == LOSS_SOFTMAX ? 1.0f / sum : 1.0f;
    for (int32_t l = 0; l < t->n_labels; l++)
        if (logits[l] * scale >= t->threshold)
            offer(best, (float)((double)(logits[l] * scale) + SMALL), l);
}

/* Writes the labels of a line to its row of scores and labels; returns how many, -1 for a line without rows. */
int NAME(predict_bag)(const Prediction *t, const Bag *bag, int64_t line, const Room *room)
{
    Best best = {t->scores + line * t->k, t->found + line * t->k, 0, t->k};
    if (!bag->n || !t->k)
        return bag->n ? 0 : -1;
    NAME(mean)(t->inputs, bag, room->numbers);
    if (t->loss == LOSS_HS)
        best_leaves(t, room->numbers, &best, room->branches);
    else
        best_labels(t, room->numbers, &best, room->numbers + t->inputs->dim);
    sort_best(&best);
    return best.n;
}

int NAME(predict)(const Prediction *t)
{
    const Room room = {
        malloc(((size_t)t->inputs->dim + (size_t)t->n_labels + 1) * sizeof(float)),
        malloc(((size_t)t->n_labels + 2) * sizeof(Branch)),
    };
    Bag bag = {.failed = !room.numbers || !room.branches};
    for (int64_t line = 0; line < t->lines->n_lines && !bag.failed; line++) {
        gather(t->lines, line, &bag);
        if (!bag.failed)
            t->n_found[line] = NAME(predict_bag)(t, &bag, line, &room);
    }
    const int failed = bag.failed;
    bag_free(&bag);
    free(room.numbers);
    free(room.branches);
    return failed ? OUT_OF_MEMORY : 0;
}

/* ---- learning: rows are aligned, and padded with zeros ---- */

typedef struct {
    Lesson *t;
    int64_t vectors;                /* of a row */
    float *hidden, *gradient;
    float *logits, *labels, *mask;  /* one for each row of outputs that an example uses */
    int32_t *met;
    uint64_t random;
    Product product;                /* of the losses of sigmoids */
} Learner;

INLINE uint64_t draw(Learner *s)
{
    uint64_t z = s->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

INLINE void prefetch_row(const Lesson *t, const Bag *bag, const Bag *next, int64_t i)
{
    if (i >= bag->n) {
        i -= bag->n;
        bag = next;
        if (i >= bag->n)
            return;
    }
    const float *row = t->inputs + bag->rows[i] * t->width;
    for (int64_t k = 0; k < t->width; k += 16)
        __builtin_prefetch(row + k, 1, 3);
}

INLINE float *outputs_of(const Lesson *t) { return t->own_outputs ? t->own_outputs : t->outputs; }

INLINE float dot_with_hidden(const Learner *s, const float *row)
{
    vec sum = {0};
    for (int64_t k = 0; k < s->vectors; k++)
        sum += AT(row, k) * AT(s->hidden, k);
    return total(sum);
}

/* Moves a row of outputs by c times the hidden vector, and the gradient by c times the row as it was before. */
INLINE void learn_output(const Learner *s, float *row, float c)
{
    for (int64_t k = 0; k < s->vectors; k++) {
        const vec before = AT(row, k);
        AT(s->gradient, k) += c * before;
        AT(row, k) = before + c * AT(s->hidden, k);
    }
}

static float learn_softmax(Learner *s, int32_t target, float alpha)
{
    float *const outputs = outputs_of(s->t), highest = -INFINITY, sum = 0.0f;
    const int32_t n = s->t->n_labels;
    for (int32_t l = 0; l < n; l++) {
        s->logits[l] = dot_with_hidden(s, outputs + l * s->t->width);
        highest = s->logits[l] > highest ? s->logits[l] : highest;
    }
    for (int k = 0; k < VECTORS(n); k++)
        AT(s->logits, k) = exp_negative(AT(s->logits, k) - highest) * AT(s->mask, k);
    for (int32_t l = 0; l < n; l++)
        sum += s->logits[l];
    const float scale = 1.0f / sum, p = s->logits[target] * scale;
    for (int32_t l = 0; l < n; l++)
        learn_output(s, outputs + l * s->t->width, alpha * ((l == target) - s->logits[l] * scale));
    return -logf(p + 1e-30f);
}

/* Learns `n` sigmoids: of the rows in s->met, or of all if it is NULL. */
static float learn_sigmoids(Learner *s, const int32_t *met, int32_t n, float alpha)
{
    float *const outputs = outputs_of(s->t);
    for (int32_t i = 0; i < n; i++)
        s->logits[i] = dot_with_hidden(s, outputs + (met ? met[i] : i) * s->t->width);
    for (int32_t i = n; i < VECTORS(n) * LANES; i++)
        s->mask[i] = s->logits[i] = 0.0f;
    for (int32_t i = met ? 0 : n; i < n; i++)
        s->mask[i] = 1.0f;
    const float loss = coefficients(s->logits, s->labels, s->mask, alpha, n, &s->product);
    for (int32_t i = 0; i < n; i++)
        learn_output(s, outputs + (met ? met[i] : i) * s->t->width, s->logits[i]);
    return loss;
}

static float learn_all_labels(Learner *s, const Bag *bag, float alpha)
{
    for (int64_t i = 0; i < bag->n_labels; i++)
        s->labels[bag->labels[i]] = 1.0f;
    const float loss = learn_sigmoids(s, NULL, s->t->n_labels, alpha);
    for (int64_t i = 0; i < bag->n_labels; i++)
        s->labels[bag->labels[i]] = 0.0f;
    return loss;
}

static float learn_path(Learner *s, int32_t target, float alpha)
{
    const int64_t begin = s->t->path_ends[target], n = s->t->path_ends[target + 1] - begin;
    memcpy(s->labels, s->t->path_labels + begin, (size_t)n * sizeof(float));
    return learn_sigmoids(s, s->t->path_nodes + begin, (int32_t)n, alpha);
}

static float learn_negatives(Learner *s, int32_t target, float alpha)
{
    int32_t n = 1;
    s->met[0] = target;
    s->labels[0] = 1.0f;
    while (n < 1 + s->t->negative && s->t->n_labels > 1) {
        const int32_t label = s->t->pool[draw(s) % (uint64_t)s->t->n_pool];
        if (label == target)
            continue;
        s->labels[n] = 0.0f;
        s->met[n++] = label;
    }
    return learn_sigmoids(s, s->met, n, alpha);
}

#define FREQUENT 4096 /* first rows, those of the most frequent words, whose repetitions in a line are counted */

/* A line to learn from: its rows, and how often it has each. */
typedef struct {
    Bag bag;
    int32_t *times;
    int64_t times_room;
    float n_rows;                   /* with repetitions */
    int32_t places[FREQUENT]; /* index of a frequent row in the bag; the bag is asked, so nothing has to be cleared */
} Example;

/* Fills an example with a line. Missing rows (-1, an n-gram that quantising has pruned) are dropped, because learn_line
 * writes to all rows. A frequent row is read and written once for a line, since other threads write it too. */
static void read_example(const Lines *lines, int64_t line, Example *example)
{
    Bag *bag = &example->bag;
    gather(lines, line, bag);
    example->times = with_room(example->times, &example->times_room, bag->n, &bag->failed);
    if (bag->failed)
        return;
    int64_t n = 0, n_rows = 0;
    for (int64_t i = 0; i < bag->n; i++) {
        const int32_t row = bag->rows[i];
        if (row < 0)
            continue;
        n_rows++;
        if (row < FREQUENT) {
            const int32_t place = example->places[row];
            if (place < n && bag->rows[place] == row) {
                example->times[place]++;
                continue;
            }
            example->places[row] = (int32_t)n;
        }
        example->times[n] = 1;
        bag->rows[n++] = row;
    }
    bag->n = n;
    example->n_rows = (float)n_rows;
}

static float learn_line(Learner *s, const Example *example, const Bag *next, float alpha)
{
    const Lesson *t = s->t;
    const Bag *bag = &example->bag;
    memset(s->hidden, 0, (size_t)t->width * sizeof(float));
    memset(s->gradient, 0, (size_t)t->width * sizeof(float));
    for (int64_t i = 0; i < bag->n; i++) {
        prefetch_row(t, bag, next, i + ROWS_AHEAD);
        const float *row = t->inputs + bag->rows[i] * t->width;
        for (int64_t k = 0; k < s->vectors; k++)
            AT(s->hidden, k) += (float)example->times[i] * AT(row, k);
    }
    const float weight = 1.0f / example->n_rows;
    for (int64_t k = 0; k < s->vectors; k++)
        AT(s->hidden, k) *= weight;
    const int32_t target = bag->labels[bag->n_labels > 1 ? draw(s) % (uint64_t)bag->n_labels : 0];
    float loss = 0.0f;
    switch (t->loss) {
    case LOSS_SOFTMAX: loss = learn_softmax(s, target, alpha); break;
    case LOSS_OVA: loss = learn_all_labels(s, bag, alpha); break;
    case LOSS_HS: loss = learn_path(s, target, alpha); break;
    case LOSS_NS: loss = learn_negatives(s, target, alpha); break;
    }
    for (int64_t k = 0; k < s->vectors; k++)
        AT(s->gradient, k) *= weight;
    for (int64_t i = 0; i < bag->n; i++) {
        float *row = t->inputs + bag->rows[i] * t->width;
        for (int64_t k = 0; k < s->vectors; k++)
            AT(row, k) += (float)example->times[i] * AT(s->gradient, k);
    }
    return loss;
}

/* Adds what this thread's private copy has learnt to the outputs, and takes over what other threads have added. */
static void exchange(const Lesson *t)
{
    const int64_t vectors = t->n_labels * t->width / LANES;
    for (int64_t k = 0; k < vectors; k++) {
        const vec now = AT(t->outputs, k) + (AT(t->own_outputs, k) - AT(t->seen_outputs, k));
        AT(t->outputs, k) = AT(t->own_outputs, k) = AT(t->seen_outputs, k) = now;
    }
}

static int learn_lines(Learner *s)
{
    Lesson *t = s->t;
    Example *examples = calloc(2, sizeof(Example));
    if (!examples)
        return OUT_OF_MEMORY;
    const int64_t begin = t->first ? t->lines->ends[t->first - 1] : 0;
    if (t->first < t->last)
        read_example(t->lines, t->first, &examples[0]);
    for (int64_t line = t->first; line < t->last && !examples[0].bag.failed && !examples[1].bag.failed; line++) {
        const Example *example = &examples[(line - t->first) & 1];
        Example *next = &examples[(line - t->first + 1) & 1];
        next->bag.n = 0;
        if (line + 1 < t->last)
            read_example(t->lines, line + 1, next);
        if (!example->bag.n || !example->bag.n_labels)
            continue;
        const double reached = t->tokens_before + (double)((line ? t->lines->ends[line - 1] : 0) - begin);
        t->loss_sum += learn_line(s, example, &next->bag, t->alpha * (float)(1.0 - reached / t->tokens_in_all));
        t->n_examples++;
        if (t->own_outputs && t->n_examples % t->copied_every == 0)
            exchange(t);
    }
    const int failed = examples[0].bag.failed || examples[1].bag.failed;
    for (int i = 0; i < 2; i++) {
        free(examples[i].times);
        bag_free(&examples[i].bag);
    }
    free(examples);
    return failed ? OUT_OF_MEMORY : 0;
}

int NAME(learn)(Lesson *t)
{
    float *const numbers = t->scratch;
    memset(numbers, 0, (size_t)(2 * t->width + 4 * t->n_met) * sizeof(float));
    Learner s = {t, t->width / LANES, numbers, numbers + t->width, numbers + 2 * t->width};
    s.labels = s.logits + t->n_met;
    s.mask = s.labels + t->n_met;
    s.met = (int32_t *)(s.mask + t->n_met);
    s.random = t->seed;
    s.product = (Product){broadcast(1.0f), {0}};
    for (int32_t l = 0; l < t->n_met && l < t->n_labels; l++)
        s.mask[l] = 1.0f;
    t->loss_sum = 0.0;
    t->n_examples = 0;
    if (t->own_outputs) {
        memcpy(t->own_outputs, t->outputs, (size_t)(t->n_labels * t->width) * sizeof(float));
        memcpy(t->seen_outputs, t->own_outputs, (size_t)(t->n_labels * t->width) * sizeof(float));
    }
    const int state = learn_lines(&s);
    if (t->own_outputs)
        exchange(t);
    t->loss_sum += log_of(&s.product);
    return state;
}
