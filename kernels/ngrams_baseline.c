/* The loops over n-gram rows for every processor of this kind: 16-byte vectors. */
#define LANES 4
#define NAME(loop) ngrams_##loop##_baseline
#include "ngrams_rows.h"
