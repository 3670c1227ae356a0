"""The distributed files: a source distribution, the wheel that is built from it, and what it installs."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("Cython", reason="building needs Cython")
pytest.importorskip("setuptools", "77", reason="building needs setuptools 77")

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]  # built once, not by each process

EXTENSIONS = sorted(path.stem for path in (ROOT / "kernels").glob("*.pyx"))
GENERATED = [f"{name}.c" for name in EXTENSIONS]

SHIPPED = [".ci", "docs", "eval", "kernels", "scripts", "tests", "wordvec_ca", "setup.py", "pyproject.toml"]
SHIPPED += ["LICENSE", "MANIFEST.in", "Makefile", "mkdocs.yml"]
SHIPPED += ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]

BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


@dataclass(frozen=True)
class Shipped:
    """A source distribution, the wheel built from it, and the compiler's command lines."""

    sdist: Path
    wheel: Path
    log: str

    def sources(self) -> set[str]:
        """Return the names in the source distribution, without its top folder."""
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}

    def installed(self) -> set[str]:
        """Return the names in the wheel."""
        with zipfile.ZipFile(self.wheel) as archive:
            return {name for name in archive.namelist() if not name.endswith("/")}


def build(hook: str, source: Path, out: Path) -> tuple[Path, str]:
    """Run one hook of the build, without network and without looking at this environment's packages."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, hook, str(out)], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return out / done.stdout.splitlines()[-1], done.stdout + done.stderr


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Build both from a copy of the tree that has an old generated file in it."""
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "tree").mkdir()
    junk = shutil.ignore_patterns(".*", "*.so", "__pycache__", *GENERATED)
    for name in SHIPPED:  # not the whole folder: other tests make and remove files there meanwhile
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "tree" / name, ignore=junk)
        else:
            shutil.copy2(ROOT / name, folder / "tree")
    for name in GENERATED:
        (folder / "tree" / "kernels" / name).write_text("#error made on another machine\n")
    sdist, _ = build("build_sdist", folder / "tree", folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    wheel, log = build("build_wheel", next((folder / "unpacked").iterdir()), folder)
    return Shipped(sdist, wheel, log)


def test_source_distribution_has_sources_and_nothing_generated(shipped):
    names = shipped.sources()
    assert {"_sgns", "_text"} <= set(EXTENSIONS)
    for pattern in ("*.pyx", "*.pyi", "*.h", "sgns_*.c", "*.py"):
        for path in (ROOT / "kernels").glob(pattern):
            assert f"kernels/{path.name}" in names
    assert names >= {
        "setup.py",
        "pyproject.toml",
        "LICENSE",
        "Makefile",
        "tests/conftest.py",
        "wordvec_ca/py.typed",
    }
    assert not names & {f"kernels/{name}" for name in GENERATED}
    assert not [name for name in names if name.endswith((".so", ".pyc")) or name.startswith("build/")]


def test_wheel_holds_our_package_and_nothing_else(shipped):
    names = shipped.installed()
    top = {name.partition("/")[0] for name in names}
    assert "wordvec_ca" in top
    assert all(name == "wordvec_ca" or re.fullmatch(r"wordvec_ca-[\d.]+\.dist-info", name) for name in top)
    ours = {name for name in names if name.startswith("wordvec_ca/")}
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "wordvec_ca").rglob("*.py")}
    for package in ("kernels", "eval"):
        modules |= {f"wordvec_ca/{path.relative_to(ROOT)}" for path in (ROOT / package).rglob("*.py")}
    assert {name for name in ours if name.endswith(".py")} == modules, (
        "is a package missing in pyproject.toml?"
    )
    for extension in EXTENSIONS:
        assert [
            name for name in ours if re.fullmatch(rf"wordvec_ca/kernels/{extension}\.[\w-]+\.(so|pyd)", name)
        ]
    kinds = {Path(name).suffix for name in ours}
    assert kinds <= {".py", ".pyi", ".so", ".pyd", ".typed", ".html", ".css", ".js", ""}
    assert {"wordvec_ca/report/page.html", "wordvec_ca/report/style.css"} <= ours
    assert "wordvec_ca/py.typed" in ours


def test_compiler_is_told_nothing_of_this_machine(shipped):
    compiled = [line for line in shipped.log.splitlines() if "sgns_baseline.c" in line and " -c " in line]
    assert compiled, "the log shows no compiler call"
    assert "-O3" in compiled[0]
    for flag in ("-march", "-mtune=native", "-mavx", "-ffast-math", "-Ofast"):
        assert flag not in shipped.log


def test_installed_wheel_trains(shipped, tmp_path):
    with zipfile.ZipFile(shipped.wheel) as archive:
        archive.extractall(tmp_path / "site")
        meta = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "cawv = wordvec_ca.__main__:main" in archive.read(meta).decode()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    (tmp_path / "c.txt").write_text("one two three four\n" * 500)

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    where = run(
        "-c", "import wordvec_ca.kernels._sgns as s, wordvec_ca.eval as e; print(s.__file__, e.__file__)"
    )
    assert all(path.startswith(str(tmp_path / "site")) for path in where.split())
    assert run("-m", "wordvec_ca", "train", "c.txt", "--workers", "1", "-q") == "c.cbow\n"
    assert "two" in run("-m", "wordvec_ca", "nn", "c.cbow", "one")
    isas = re.search(r"\(of (.*?);", run("-m", "wordvec_ca", "info"))
    assert isas
    assert "baseline" in isas[1].split(", ")
