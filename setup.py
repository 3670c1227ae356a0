"""Compiled extensions and their flags; everything else is in pyproject.toml.

The sources need the vector extensions of GCC or clang, on any processor. There is no flag for an instruction
set: sgns_avx2.c and sgns_avx512.c name theirs in a pragma, and are empty for processors without it.

With CAWV_ABI3=1 in the environment, a wheel works with Python 3.11 and all later versions: its modules use
only the stable ABI. Without it, a wheel is for the version of Python that compiles it.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# Not -march=native: the loop is compiled once per instruction set and chosen at run time.
# Not -ffast-math: with -shared it would set flush-to-zero for the whole process. The three -f flags
# allow what the loops need: fused multiplication and addition, and comparisons and functions as vector code.
# -g0 overrides the -g of many Pythons: debug information takes a quarter of the compilation time.
FLAGS = ["-O3", "-g0", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
LINK_FLAGS = []
# make sanitize. Four checks are left out: they take minutes to compile. AddressSanitizer finds null pointers
# and accesses out of bounds itself; nothing checks for misaligned accesses and overflowing pointers.
if os.environ.get("CAWV_SANITIZE") == "1":
    SANITIZERS = "-fsanitize=address,undefined"
    LEFT_OUT = "-fno-sanitize=null,alignment,object-size,pointer-overflow"
    FLAGS += [
        "-O1",
        "-g1",
        "-fno-omit-frame-pointer",
        SANITIZERS,
        LEFT_OUT,
        "-fno-sanitize-recover=undefined",
    ]
    LINK_FLAGS = [SANITIZERS]

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
        depends=[
            "kernels/isa.h",
            *sorted(glob("kernels/sgns*.h")),
            "kernels/sgns_avx2.c",
            "kernels/sgns_avx512.c",
        ],
        libraries=["m"],
        extra_compile_args=FLAGS,
        extra_link_args=LINK_FLAGS,
    ),
    Extension(
        "wordvec_ca.kernels._text",
        ["kernels/_text.pyx"],
        include_dirs=["kernels"],
        depends=["kernels/lexicon.h", "kernels/text.h", "kernels/unicode_tables.h"],
        extra_compile_args=FLAGS,
        extra_link_args=LINK_FLAGS,
    ),
    Extension(
        "wordvec_ca.kernels._ngrams",
        [
            "kernels/_ngrams.pyx",
            "kernels/ngrams_baseline.c",
            "kernels/ngrams_avx2.c",
            "kernels/ngrams_avx512.c",
        ],
        include_dirs=["kernels"],
        depends=["kernels/isa.h", "kernels/ngrams.h", "kernels/ngrams_rows.h", "kernels/sgns_simd.h"],
        extra_compile_args=FLAGS,
        extra_link_args=LINK_FLAGS,
    ),
    Extension(
        "wordvec_ca.kernels._classifier",
        [
            "kernels/_classifier.pyx",
            "kernels/classifier_baseline.c",
            "kernels/classifier_avx2.c",
            "kernels/classifier_avx512.c",
        ],
        include_dirs=["kernels"],
        depends=[
            "kernels/isa.h",
            "kernels/classifier.h",
            "kernels/classifier_loop.h",
            "kernels/lexicon.h",
            "kernels/sgns_sigmoid.h",
            "kernels/sgns_simd.h",
            "kernels/text_line.h",
        ],
        libraries=["m"],
        extra_compile_args=FLAGS,
        extra_link_args=LINK_FLAGS,
    ),
    *(
        Extension(
            f"wordvec_ca.kernels.{name}",
            [f"kernels/{name}.pyx"],
            extra_compile_args=FLAGS,
            extra_link_args=LINK_FLAGS,
        )
        for name in ("_decimals", "_pool", "_replicas")
    ),
]


class BuildExtensions(build_ext):
    """Refuse a compiler that cannot compile the sources, before it fails with a hundred errors."""

    def build_extensions(self) -> None:
        """Compile all extensions.

        Raises
        ------
        CompileError
            The compiler is Microsoft's.
        """
        if self.compiler.compiler_type == "msvc":
            raise CompileError(
                "the sources use vector extensions that Microsoft's compiler does not have: "
                "install MinGW-w64 (GCC or clang) and build with --compiler=mingw32"
            )
        if self.editable_mode:
            _leave_out_loops_of_other_makers(self.extensions)
        self.parallel = os.cpu_count()  # for the extensions; the next line does it for the sources of each
        n_sources = sum(len(extension.sources) for extension in self.extensions)
        self.compiler.compile = _compiled_side_by_side(self.compiler.compile, n_sources)
        super().build_extensions()


def _leave_out_loops_of_other_makers(extensions):
    """Compile one of the two loops that differ in how they prefetch: this machine never runs the other.

    An editable installation is for this machine. If it is moved to one of another maker, it runs the loop
    that is there, which gives the same results a little more slowly.
    """
    try:
        amd = "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return
    others = {"sgns_avx2.c", "sgns_avx512.c"} if amd else {"sgns_avx2_amd.c", "sgns_avx512_amd.c"}
    for extension in extensions:
        extension.sources = [one for one in extension.sources if os.path.basename(one) not in others]
        extension.define_macros += [("ONLY_AMD_LOOPS" if amd else "NO_AMD_LOOPS", None)]


def _compiled_side_by_side(compile_sources, n_sources):
    """Return a compiler's method that compiles the sources of one extension at the same time.

    It says how many are done.
    """
    done = []

    def compile_one(source, args, options):
        names = compile_sources([source], *args, **options)
        done.append(source)
        print(f"compiled {len(done)} of {n_sources}: {os.path.basename(source)}", flush=True)  # noqa: T201
        return names

    def compile_each(sources, *args, **options):
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            found = threads.map(lambda source: compile_one(source, args, options), sources)
            return [name for names in found for name in names]

    return compile_each


OPTIONS = {}
if os.environ.get("CAWV_ABI3") == "1":
    OPTIONS = {"bdist_wheel": {"py_limited_api": "cp311"}}
    for extension in EXTENSIONS:
        extension.py_limited_api = True
        extension.define_macros = [*extension.define_macros, ("Py_LIMITED_API", "0x030B0000")]

setup(ext_modules=EXTENSIONS, cmdclass={"build_ext": BuildExtensions}, options=OPTIONS)
