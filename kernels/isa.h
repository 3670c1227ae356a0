/* The instruction sets for which loops are compiled, best first. */
#ifndef ISA_H
#define ISA_H

enum Isa { ISA_AVX512, ISA_AVX2, ISA_BASELINE, N_ISAS };

static inline const char *isa_name(enum Isa isa)
{
    static const char *const names[N_ISAS] = {"avx512", "avx2", "baseline"};
    return names[isa];
}

#endif
