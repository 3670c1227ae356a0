"""Hook of MkDocs: a page for each package, with the docstrings of the names that users import."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from imported_names import PLACES, RETURNED, ROOT, exported, imported_names, parsed

ERRORS = ("DataError", "OutputExistsError")


@event_priority(100)  # before mkdocstrings reads its options
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make a tree of links with the packages as they are installed: mkdocstrings reads the sources there."""
    tree = ROOT / "build" / "reference" / "wordvec_ca"
    shutil.rmtree(tree, ignore_errors=True)
    sources = {"wordvec_ca": ROOT / "wordvec_ca", **PLACES}
    for name, place in sources.items():
        folder = tree.parent / Path(*name.split("."))
        for path in place.rglob("*.py*"):
            if path.suffix in (".py", ".pyi"):
                target = folder / path.relative_to(place)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(path)
    public = {name: path for paths in shown().values() for name, path in paths.items()}
    options = config.plugins["mkdocstrings"].config["handlers"]["python"]["options"]
    options["extensions"] = [{str(Path(__file__).with_name("roles.py")): {"public": public}}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, content in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def shown() -> dict[str, dict[str, str]]:
    """Return the packages with a page, and the name and path of everything on it."""
    paths = {
        package: {name: f"wordvec_ca.{package}.{name}" for name in names}
        for package, names in imported_names().items()
    }
    for module, names in RETURNED.items():
        paths[module.split(".")[0]] |= {name: f"wordvec_ca.{module}.{name}" for name in names}
    return paths


def pages() -> dict[str, str]:
    """Return the Markdown of each page by its name."""
    found = {"index": index_page()}
    for package, paths in shown().items():
        lines = [f"# wordvec_ca.{package}", "", docstring_of(package), ""]
        lines += [f"::: {path}\n" for path in paths.values()]
        found[package] = "\n".join(lines)
    return found


def index_page() -> str:
    """Return the page that lists the packages."""
    names = exported("wordvec_ca")
    lines = [
        "# Python", "", ast.get_docstring(parsed("wordvec_ca")) or "", "",
        "What most programs need can be imported from `wordvec_ca` itself: "
        + ", ".join(f"`{name}`" for name in names if not name.startswith("_")) + ". "
        "Everything else is imported from one of the packages, never from a module inside them.",
        "", "| package | what it holds |", "|---|---|",
    ]  # fmt: skip
    for package in shown():
        first = docstring_of(package).split("\n\n")[0].replace("\n", " ")
        lines.append(f"| [`wordvec_ca.{package}`]({package}.md) | {first} |")
    lines += ["", "## Errors", "", *(f"::: wordvec_ca.errors.{name}\n" for name in ERRORS)]
    return "\n".join(lines) + "\n"


def docstring_of(package: str) -> str:
    """Return the docstring of a package, read from its source."""
    return ast.get_docstring(parsed(f"wordvec_ca.{package}")) or ""
