"""Compiled extensions and their flags; everything else is in pyproject.toml."""

from setuptools import Extension, setup

# Never -march=native: the loop is compiled once per instruction set and chosen at run time.
# Never -ffast-math: with -shared it would set flush-to-zero for the whole process.
FLAGS = ["-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]

EXTENSIONS = [
    Extension(
        "wordvec_ca.kernels._sgns",
        [
            "kernels/_sgns.pyx",
            "kernels/sgns_baseline.c",
            "kernels/sgns_avx2.c",
            "kernels/sgns_avx2_amd.c",
            "kernels/sgns_avx512.c",
            "kernels/sgns_avx512_amd.c",
        ],
        include_dirs=["kernels"],
        depends=["kernels/sgns.h", "kernels/sgns_loop.h", "kernels/sgns_avx2.c", "kernels/sgns_avx512.c"],
        libraries=["m"],
        extra_compile_args=FLAGS,
    ),
    Extension(
        "wordvec_ca.kernels._text",
        ["kernels/_text.pyx"],
        include_dirs=["kernels"],
        depends=["kernels/lexicon.h", "kernels/text.h", "kernels/unicode_tables.h"],
        extra_compile_args=FLAGS,
    ),
    Extension("wordvec_ca.kernels._decimals", ["kernels/_decimals.pyx"], extra_compile_args=FLAGS),
]

setup(ext_modules=EXTENSIONS)
