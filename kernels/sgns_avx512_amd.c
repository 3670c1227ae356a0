/* The loop of sgns_avx512.c for AMD's processors, where rows are prefetched for writing. */
#define PREFETCH_TO_WRITE
#define TRAIN sgns_train_avx512_amd
#include "sgns_avx512.c"
