/* The loops of the classifier for every processor of this kind: 16-byte vectors. */
#define LANES 4
#define NAME(loop) classifier_##loop##_baseline
#include "classifier_loop.h"
