/* Trains each model for a moment on made-up text and prints its loss and the sum of squares of its parameters. The
 * program does not need Python, so the loop can be linked for, and tried on, a processor without a Python.
 *
 *     probe INSTRUCTION_SET          as in CAWV_ISA; the exit status is 2 if the processor does not have it
 */
#include <stdio.h>
#include <stdlib.h>

#include "sgns.h"

enum { WORDS = 500, TOKENS = 20000, WINDOW = 5, SLOTS = 2 * WINDOW, WIDTH = 64, DRAWN = 5, TUPLES = 1000, PADDED_SLOTS = 16 };

static uint64_t state = 1;

static uint32_t pseudo_random(uint32_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((state >> 33) % below);
}

static float *rows(size_t n, int random) /* aligned to 64 bytes; never freed */
{
    char *memory = calloc(n * sizeof(float) + 64, 1);
    if (!memory)
        exit(1);
    float *found = (float *)(((uintptr_t)memory + 63) / 64 * 64);
    for (size_t k = 0; random && k < n; k++)
        found[k] = ((float)pseudo_random(1 << 16) / (1 << 16) - 0.5f) / 50;
    return found;
}

static double squares(const float *x, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)x[k] * x[k];
    return sum;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; int composition, bands; } models[] = {
        {"cbow", 'm', 1}, {"skipgram", 'p', 1}, {"ssg", 'p', SLOTS}, {"cwindow", 's', 1}, {"cbow-attn", 'a', 1},
    };
    static int32_t tokens[TOKENS], pool[TUPLES * DRAWN];
    const TrainChunk train = argc == 2 ? sgns_kernel(argv[1]) : 0;
    if (!train)
        return 2;
    for (int i = 0; i < TOKENS; i++) /* frequent words first; lines of 25 */
        tokens[i] = i % 26 == 25 ? -1 : (int32_t)(pseudo_random(WORDS) * (uint64_t)pseudo_random(WORDS) / WORDS);
    for (int i = 0; i < TUPLES * DRAWN; i++)
        pool[i] = (int32_t)pseudo_random(WORDS);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        const int composition = models[m].composition, bands = models[m].bands;
        const int side_by_side = composition == 's' ? SLOTS : 1, parts = bands * side_by_side;
        const int attends = composition == 'a';
        const Hyper hyper = {
            .composition = composition, .width = WIDTH, .out_width = side_by_side * WIDTH,
            .bands = bands, .window = WINDOW, .drawn = DRAWN,
            .shared_by = parts == 1 ? 4 : 1, .alpha_begin = 0.1f, .alpha_end = 0.01f,
            .word_stride = attends ? PADDED_SLOTS : 0, .word_slots = attends, .use_slots = attends,
            .attention_rate = 1, .attention_clip = 10, .merge_every = 1 << 30,
        };
        const size_t n_inputs = WORDS * WIDTH, n_outputs = n_inputs * (size_t)parts;
        uint64_t rng[2] = {1, 0};
        double stats[N_STATS] = {0};
        int32_t lock[16] = {0};
        float *inputs = rows(n_inputs, 1), *outputs = rows(n_outputs, 0);
        float *word_logits = rows(WORDS * PADDED_SLOTS, 0), *slot_logits = rows(PADDED_SLOTS, 0);
        const Task task = {
            .hyper = &hyper, .tokens = tokens, .n_tokens = TOKENS, .n_words = WORDS, .pool = pool, .n_tuples = TUPLES,
            .inputs = {.shared = inputs, .stride = WIDTH}, .outputs = {.shared = outputs, .stride = WIDTH * parts},
            .word_logits = {.shared = word_logits, .stride = PADDED_SLOTS},
            .slot_logits = {.shared = slot_logits, .stride = PADDED_SLOTS},
            .rng = rng, .stats = stats, .lock = lock,
        };
        const int status = train(&task);
        if (status)
            return 1;
        printf("%s %.9g %.9g\n", models[m].name, stats[STAT_LOSS] / stats[STAT_EXAMPLES],
               squares(inputs, n_inputs) + squares(outputs, n_outputs) + squares(word_logits, WORDS * PADDED_SLOTS));
    }
    return 0;
}
