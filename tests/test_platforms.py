"""Properties that builds on other platforms depend on; scripts/platforms/ compiles for all platforms."""

import runpy
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import setuptools

ROOT = Path(__file__).parents[1]


@pytest.fixture
def setup_options(monkeypatch):
    """Return the arguments that setup.py passes to setuptools."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **options: found.update(options))
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    return found


def test_no_flag_is_for_one_processor_or_compiler(setup_options):
    for extension in setup_options["ext_modules"]:
        assert extension.extra_compile_args
        for flag in extension.extra_compile_args:
            assert not flag.startswith(("-m", "-arch", "-ffast-math", "/"))


def test_a_change_of_any_header_of_the_loop_compiles_it_again(setup_options):
    (loop,) = (e for e in setup_options["ext_modules"] if e.name.endswith("_sgns"))
    headers = {f"kernels/{path.name}" for path in (ROOT / "kernels").glob("sgns*.h")}
    assert len(headers) > 5
    assert headers <= set(loop.depends)


def test_microsofts_compiler_is_refused_with_the_way_out(setup_options):
    command = setup_options["cmdclass"]["build_ext"](setuptools.Distribution())
    command.compiler = SimpleNamespace(compiler_type="msvc")
    with pytest.raises(Exception, match="mingw32"):
        command.build_extensions()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", ["sgns_baseline", "sgns_avx2", "sgns_avx512"])
def test_the_loop_compiles_without_a_warning(name, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    source = ROOT / "kernels" / f"{name}.c"
    command = [
        compiler,
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I",
        str(source.parent),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_headers_are_read_one_at_a_time():
    for header in (ROOT / "kernels").glob("sgns*.h"):
        assert len(header.read_text("utf-8").splitlines()) < 400, header
