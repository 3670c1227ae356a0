"""A plugin for pytest that runs fastText's own tests of its Python module on our module instead.

The tests are in its source distribution (``pip download --no-binary :all: --no-deps fasttext``), which is
unpacked somewhere; nothing of it is copied. In this folder, with the path of
``python/fasttext_module/fasttext/tests`` as TESTS::

    python -m pytest -p redirect -c /dev/null --import-mode=importlib TESTS/test_script.py

Tests on whole data sets, which have to be downloaded, are left out unless fastText's own runner makes them.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

import wordvec_ca.fasttext as ours

sys.modules["fasttext"] = ours
sys.modules["fasttext.FastText"] = ours.FastText
sys.modules["fasttext.util"] = ours.util


def _theirs(name: str, path: Path) -> types.ModuleType:
    """Import a module of fastText's own by its path."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.hookimpl
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the tests that ``test_script.py`` makes."""
    if file_path.name != "test_script.py":
        return None
    folder = file_path.parent
    sys.modules["fasttext.tests"] = types.ModuleType("fasttext.tests")
    _theirs("fasttext.tests.test_configurations", folder / "test_configurations.py")
    return _Script.from_parent(parent, path=file_path)


class _Script(pytest.Module):
    """The module of tests, which are methods only after ``gen_unit_tests`` was called."""

    def _getobj(self) -> types.ModuleType:
        module = _theirs("fasttext_own_tests", self.path)
        module.gen_unit_tests(verbose=0)
        return module
