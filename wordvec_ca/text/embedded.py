"""Text without a download: documentation strings of installed packages, and Wikipedia articles from gensim.

Real English prose of some two million words. Documentation is read from the source files without running
them. It serves the demonstration and tests that need real text; nothing is downloaded.
"""

from __future__ import annotations

import ast
import importlib.util
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path


def markup_version() -> str | None:
    """Return the version of the library that removes markup, or None if it is not installed."""
    if find_spec("mwparserfromhell") is None:
        return None
    return version("mwparserfromhell")


# Dependencies of this package whose documentation is read, besides Python's own library.
PACKAGES = ("numpy", "scipy", "sklearn", "numba", "gensim", "click", "rich", "joblib")

# File within gensim: 106 articles of the English Wikipedia, from Anarchism to Anaximander, 450,000 words.
ARTICLES = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"

# Folders with much code and little prose.
LEFT_OUT = frozenset(["site-packages", "test", "tests", "lib2to3", "idlelib", "encodings"])


def docstrings(
    *, max_words: int | None = None, packages: Sequence[str] = ("python", *PACKAGES)
) -> Iterator[str]:
    """Yield the paragraphs of all documentation strings, one line each, always in the same order.

    Doctest examples, tables, underlines and repeated paragraphs are left out.

    Parameters
    ----------
    max_words : int, optional
        Stop after about this many words.
    packages : sequence of str
        Packages whose documentation is read, if they are installed; ``"python"`` is Python's own library.

    Yields
    ------
    str
        One paragraph without line ends.
    """
    seen: set[int] = set()
    n_words = 0
    for path in _source_files(packages):
        for text in _documentation(path):
            for paragraph in text.split("\n\n"):
                lines = [line.strip() for line in paragraph.splitlines()]
                prose = [line for line in lines if _is_prose(line)]
                line = " ".join(prose)
                if line.count(" ") < 4 or hash(line) in seen:
                    continue
                seen.add(hash(line))
                yield line
                n_words += line.count(" ") + 1
                if max_words is not None and n_words >= max_words:
                    return


def articles(*, max_words: int | None = None) -> Iterator[str]:
    """Yield the paragraphs of the Wikipedia articles in gensim's test data; none without gensim.

    Parameters
    ----------
    max_words : int, optional
        Stop after about this many words.

    Yields
    ------
    str
        One paragraph without line ends.
    """
    from wordvec_ca.text.reader import TextFiles

    spec = importlib.util.find_spec("gensim")
    folders = (spec.submodule_search_locations if spec is not None else None) or []
    dumps = [str(path) for folder in folders if (path := Path(folder) / ARTICLES).is_file()]
    if not dumps or markup_version() is None:
        return
    n_words, rest = 0, b""
    with closing(TextFiles(dumps[:1]).pieces()) as pieces:
        for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if line.count(b" ") < 4:
                    continue
                yield line.decode("utf-8")
                n_words += line.count(b" ") + 1
                if max_words is not None and n_words >= max_words:
                    return


def _source_files(packages: Sequence[str]) -> Iterator[Path]:
    folders = []
    for name in packages:
        if name == "python":
            folders.append(Path(sysconfig.get_paths()["stdlib"]))
            continue
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folders.extend(Path(place) for place in spec.submodule_search_locations)
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if not LEFT_OUT.intersection(path.relative_to(folder).parts):
                yield path


def _documentation(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):
        return  # test data of the packages is broken on purpose
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield text


def _is_prose(line: str) -> bool:
    if line.startswith((">>>", "...", "..", "---", "===", "+-", "|", "#", "$")):
        return False
    return sum(c.isalpha() or c.isspace() for c in line) > 0.7 * len(line)
