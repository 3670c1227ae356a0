/* The loops of the classifier for x86-64 processors since about 2013: 32-byte vectors. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,prfchw"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,prfchw")
#endif
#define LANES 8
#define NAME(loop) classifier_##loop##_avx2
#include "classifier_loop.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
