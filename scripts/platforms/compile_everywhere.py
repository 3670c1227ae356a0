"""Compile the C sources for Linux, macOS and Windows, on x86-64 and aarch64, with one cross compiler.

    pip install ziglang cython
    python scripts/platforms/compile_everywhere.py
    python scripts/platforms/compile_everywhere.py --targets aarch64-linux-musl --run qemu-aarch64

It compiles and links, with zig's clang, ``probe.c``, a program with the training loop and without Python.
This shows that the sources are valid for a platform, not that they work there. Only with ``--run`` is the
probe run, for Linux targets, and its numbers compared with those of this machine. The exit status is 1 if
anything fails.

The modules that need Python are compiled with the headers of the Python that runs this script; for Windows
``python_windows.h`` replaces its ``pyconfig.h``. Their objects are not linked.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "kernels"
HERE = Path(__file__).parent
SYSTEMS = ("linux-gnu", "linux-musl", "macos", "windows-gnu")
TARGETS = tuple(f"{machine}-{system}" for system in SYSTEMS for machine in ("x86_64", "aarch64"))
SETS = {"x86_64": ("avx512", "avx2", "baseline"), "aarch64": ("baseline",)}
"""Machine -> the instruction sets that a build for it has."""


def flags() -> list[str]:
    """Return FLAGS of setup.py."""
    for node in ast.parse((ROOT / "setup.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLAGS":
            return list(ast.literal_eval(node.value))
    raise SystemExit("setup.py has no FLAGS")


def loops() -> list[Path]:
    """Return the C sources without Python."""
    return sorted([*KERNELS.glob("sgns_*.c"), *KERNELS.glob("ngrams_*.c"), *KERNELS.glob("classifier_*.c")])


def run(command: list[str]) -> str | None:
    """Run a command; return the first error, or None."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = done.stderr.splitlines() or [f"exit status {done.returncode}"]
    return next((line for line in lines if "error" in line), lines[0])


def compile_for(target: str, modules: list[Path], folder: Path) -> dict[str, str | None]:
    """Compile everything for a target; return the first error of each source, or None."""
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-Wall", "-Wno-unused", *flags()]
    compiler += [f"-I{KERNELS}"]
    found: dict[str, str | None] = {}
    objects = []
    for source in loops():
        objects.append(str(folder / f"{target}.{source.stem}.o"))
        found[source.name] = run([*compiler, "-c", str(source), "-o", objects[-1]])
    python = [f"-I{sysconfig.get_paths()['include']}"]
    if "windows" in target:
        python += ["-include", str(HERE / "python_windows.h")]
    for source in modules:
        command = [*compiler, *python, "-c", str(source), "-o", str(folder / f"{target}.o")]
        found[source.name] = run(command)
    if not any(found[Path(name).name.split(".", 1)[1].replace(".o", ".c")] for name in objects):
        link = [*compiler, str(HERE / "probe.c"), *objects, "-lm", "-o", str(folder / f"{target}.probe")]
        found["probe, linked"] = run(link)
    return found


def numbers(command: list[str]) -> list[float] | str:
    """Return the numbers that a probe prints, or the error with which it ends."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2:
        return "not on this processor"
    if done.returncode:
        return f"exit status {done.returncode}"
    return [float(word) for line in done.stdout.splitlines() for word in line.split()[1:]]


def tried(target: str, folder: Path, emulator: list[str], expected: list[float] | None) -> dict[str, str]:
    """Run the probe of a target for each instruction set; return the outcome of each."""
    found = {}
    for isa in SETS[target.split("-")[0]]:
        values = numbers([*emulator, str(folder / f"{target}.probe"), isa])
        if isinstance(values, str):
            found[isa] = values
        elif expected is None:
            found[isa] = f"runs, {values[0]:.6f} .."
        else:
            worst = max(abs(a / b - 1) for a, b in zip(values, expected, strict=True))
            found[isa] = f"{'as here' if worst < 1e-4 else 'DIFFERS'}: {worst:.1e}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), help="as zig names them")
    parser.add_argument("--run", nargs="*", metavar="EMULATOR", help="run the probes: on it, or here")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    options = parser.parse_args()
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit("the compiler is missing: pip install ziglang cython")
    with tempfile.TemporaryDirectory() as name:
        folder, modules = Path(name), []
        for source in sorted(KERNELS.glob("*.pyx")):
            modules.append(folder / f"{source.stem}.c")
            error = run([sys.executable, "-m", "cython", "-3", str(source), "-o", str(modules[-1])])
            if error:
                raise SystemExit(error)
        with ThreadPoolExecutor(options.jobs) as threads:
            results = list(threads.map(lambda target: compile_for(target, modules, folder), options.targets))
        failed = False
        for source in dict.fromkeys(source for result in results for source in result):
            for target, result in zip(options.targets, results, strict=True):
                error = result.get(source, "not linked: a part is missing")
                failed |= error is not None
                print(f"{source:22} {target:20} {error or 'ok'}")
        if options.run is not None:
            here = [sys.executable, "-m", "ziglang", "cc", *flags(), f"-I{KERNELS}", str(HERE / "probe.c")]
            here += [*map(str, loops()), "-lm", "-o", str(folder / "here")]
            error = run(here)
            expected = numbers([str(folder / "here"), "baseline"])
            if error or isinstance(expected, str):
                raise SystemExit(f"the probe does not run here: {error or expected}")
            for target in options.targets:
                for isa, said in tried(target, folder, options.run, expected).items():
                    failed |= said.startswith(("DIFFERS", "exit"))
                    print(f"{'probe, ' + isa:22} {target:20} {said}")
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
