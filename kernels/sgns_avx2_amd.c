/* The loop of sgns_avx2.c for AMD's processors, which claim the rows they ask for. */
#define CLAIM_ROWS
#define TRAIN sgns_train_avx2_amd
#include "sgns_avx2.c"
