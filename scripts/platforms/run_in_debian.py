"""Run the tests or the demo with a wheel in Debian, with another version of Python or another processor.

    apt-get install debootstrap qemu-user-static; pip install uv
    python scripts/platforms/run_in_debian.py /tmp/arm64 dist/*aarch64.whl --machine arm64 -- tests/kernels
    python scripts/platforms/run_in_debian.py /tmp/sid dist/*x86_64.whl --suite sid --python 3.14

The first argument is a folder. If it does not exist, Debian and its Python are unpacked there. The wheel, its
dependencies and pytest are unpacked there each time, from wheels only (together 1 GB). The folder has no
compiler. Arguments after ``--`` go to pytest; without them the demo runs. The programs of arm64 run on qemu,
an emulated processor (``QEMU_CPU``, default neoverse-n1: NEON). The script needs root, for chroot, and for
arm64 the kernel's binfmt_misc, where qemu is registered for such programs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINFMT = Path("/proc/sys/fs/binfmt_misc")
QEMU = Path("/usr/bin/qemu-aarch64-static")
RULE = (
    r":qemu-aarch64:M::\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    f":{QEMU}:F"
)
"""The rule by which the kernel runs programs for ELF machine 183 with qemu. Flag F opens qemu at once,
because the chroot does not contain it."""

INSIDE = """
system=$1; shift
mount --rbind /dev "$system/dev" && mount -t proc proc "$system/proc" && mount -t tmpfs tmpfs "$system/tmp" &&
exec chroot "$system" env -i -C /usr/local/tree "$@"
"""
"""The commands in the chroot; they run in a name space of their own, so that nothing stays mounted."""

WHEELS = {"amd64": "x86_64", "arm64": "aarch64"}
GLIBC = "manylinux_2_36"
"""The platform tag of Debian 12; later versions of Debian can run its programs, too."""
TESTING = ("pytest", "hypothesis", "psutil")


def run(*command: str | Path) -> None:
    """Run a command; end the script if it fails."""
    if status := subprocess.run([str(word) for word in command]).returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {status}")


def emulate() -> None:
    """Register qemu with the kernel for programs for aarch64, if that is not done yet."""
    if not QEMU.exists():
        raise SystemExit("programs for arm64 need qemu: apt-get install qemu-user-static")
    if not (BINFMT / "register").exists():
        run("mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT)
    if not (BINFMT / "qemu-aarch64").exists():
        (BINFMT / "register").write_text(RULE)


def make_system(system: Path, machine: str, suite: str, python: str) -> None:
    """Unpack Debian with a Python; the installation scripts of its packages are not run."""
    if shutil.which("debootstrap") is None:
        raise SystemExit("it takes debootstrap: apt-get install debootstrap")
    run(
        "debootstrap", "--foreign", f"--arch={machine}", "--variant=minbase",
        f"--include=python{python}", suite, system, "http://deb.debian.org/debian",
    )  # fmt: skip
    for package in sorted((system / "var/cache/apt/archives").glob("*.deb")):
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True)
        keep = ["tar", "--extract", "--keep-directory-symlink", "--directory", str(system)]
        subprocess.run(keep, input=files.stdout, check=True)


def install(system: Path, wheel: Path, machine: str, python: str, more: list[str]) -> None:
    """Unpack our wheel, its dependencies and the testing tools in a folder on the Python's path.

    It uses uv, which unlike pip can select dependencies for another version of Python and another processor.
    """
    place = system / "usr/local/site"
    shutil.rmtree(place, ignore_errors=True)
    run(
        sys.executable, "-m", "uv", "pip", "install", "--quiet", "--system-certs", "--target", place,
        "--python-version", python, "--python-platform", f"{WHEELS[machine]}-{GLIBC}",
        "--only-binary", ":all:", wheel, *TESTING, *more,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", type=Path, help="folder of the system")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--machine", choices=WHEELS, default="amd64")
    parser.add_argument("--suite", default="bookworm", help="of Debian")
    parser.add_argument("--python", default="3.11", help="one that the suite has")
    parser.add_argument("--also", nargs="*", default=[], metavar="PACKAGE", help="install these too")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options, arguments = parser.parse_args(words[:end]), words[end + 1 :]
    if options.machine == "arm64":
        emulate()
    if not (options.system / "usr/bin" / f"python{options.python}").exists():
        make_system(options.system, options.machine, options.suite, options.python)
    install(options.system, options.wheel, options.machine, options.python, options.also)
    tree = options.system / "usr/local/tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for name in ("tests", "scripts", "docs", "kernels"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md"):
        shutil.copy2(ROOT / name, tree / name)
    command = ["pytest", "-p", "no:cacheprovider", "--hypothesis-profile=ci", *arguments]
    if not arguments:
        command = ["wordvec_ca", "demo", "--max-words", "20000", "--epochs", "1"]
    environment = [
        "PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8", "PYTHONPATH=/usr/local/site",
        f"QEMU_CPU={os.environ.get('QEMU_CPU', 'neoverse-n1')}",
    ]  # fmt: skip
    inside = [options.system, *environment, f"python{options.python}", "-m", *command]
    run("unshare", "--mount", "sh", "-c", INSIDE, "sh", *inside)


if __name__ == "__main__":
    main()
