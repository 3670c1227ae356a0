"""Make a distribution with one of fastText's names that redirects to wordvec_ca.fasttext.

Packages that require ``fasttext``, ``fasttext-wheel`` or the like from pip get it, and their
``import fasttext`` imports that of wordvec_ca::

    python scripts/platforms/fasttext_distribution.py fasttext-wheel /tmp/shim
    pip install --no-build-isolation /tmp/shim
"""

from __future__ import annotations

import argparse
from pathlib import Path

NAMES = ("fasttext", "fasttext-wheel", "fasttext-numpy2", "fasttext-numpy2-wheel", "fasttext-predict")

PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.9.3.post1"
description = "The name {name} for wordvec_ca.fasttext"
dependencies = ["wordvec-ca"]

[tool.setuptools]
packages = ["fasttext"]
"""

MODULE = '''\
"""fastText's module: that of wordvec_ca."""

import sys

import wordvec_ca.fasttext

for name in ("FastText", "util"):
    sys.modules[f"fasttext.{name}"] = getattr(wordvec_ca.fasttext, name)
sys.modules["fasttext"] = wordvec_ca.fasttext
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    package = given.folder / "fasttext"
    package.mkdir(parents=True, exist_ok=True)
    (given.folder / "pyproject.toml").write_text(PROJECT.format(name=given.name), "utf-8")
    (package / "__init__.py").write_text(MODULE, "utf-8")


if __name__ == "__main__":
    main()
