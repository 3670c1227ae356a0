/* The loops of the classifier for x86-64 processors with AVX-512: 64-byte vectors. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prfchw"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prfchw")
#endif
#define LANES 16
#define NAME(loop) classifier_##loop##_avx512
#include "classifier_loop.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
