/* The loop for every processor of this kind: 16-byte vectors. */
#define LANES 4
#define TRAIN sgns_train_baseline
#include "sgns_loop.h"
