/* The loop for x86-64 processors since about 2013: 32-byte vectors. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,prfchw"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,prfchw")
#endif
#define LANES 8
#ifndef TRAIN
#define TRAIN sgns_train_avx2
#endif
#include "sgns_loop.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
