"""Hook of MkDocs: a page for each package, with the docstrings of its public names (its ``__all__``)."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PLACES = {"wordvec_ca.kernels": ROOT / "kernels", "wordvec_ca.eval": ROOT / "eval"}
"""Packages whose folder does not have their name (see docs/decisions/001-layout.md)."""

PACKAGES = (
    "runs",
    "models",
    "training",
    "vectors",
    "formats",
    "tables",
    "sentences",
    "eval",
    "text",
    "corpus",
    "report",
    "associations",
    "documents",
    "change",
    "cluster",
    "resampling",
    "nn",
    "gensim",
    "fasttext",
    "files",
    "kernels",
)

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
    public = {
        name: f"wordvec_ca.{package}.{name}"
        for package in PACKAGES
        for name in public_names(f"wordvec_ca.{package}")[1]
    }
    options = config.plugins["mkdocstrings"].config["handlers"]["python"]["options"]
    options["extensions"] = [{str(Path(__file__).with_name("roles.py")): {"public": public}}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, content in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def pages() -> dict[str, str]:
    """Return the Markdown of each page by its name."""
    found = {"index": index_page()}
    for package in PACKAGES:
        docstring, names = public_names(f"wordvec_ca.{package}")
        lines = [f"# wordvec_ca.{package}", "", docstring, ""]
        lines += [f"::: wordvec_ca.{package}.{name}\n" for name in names]
        found[package] = "\n".join(lines)
    return found


def index_page() -> str:
    """Return the page that lists the packages."""
    root, names = public_names("wordvec_ca")
    lines = [
        "# Python", "", root, "",
        "What most programs need can be imported from `wordvec_ca` itself: "
        + ", ".join(f"`{name}`" for name in names if not name.startswith("_")) + ". "
        "Everything else is imported from one of the packages, never from a module inside them.",
        "", "| package | what it holds |", "|---|---|",
    ]  # fmt: skip
    for package in PACKAGES:
        first = public_names(f"wordvec_ca.{package}")[0].split("\n\n")[0].replace("\n", " ")
        lines.append(f"| [`wordvec_ca.{package}`]({package}.md) | {first} |")
    lines += ["", "## Errors", "", *(f"::: wordvec_ca.errors.{name}\n" for name in ERRORS)]
    return "\n".join(lines) + "\n"


def public_names(package: str) -> tuple[str, list[str]]:
    """Return the docstring of a package and its public names, read from its source."""
    place = PLACES.get(package, ROOT / Path(*package.split(".")))
    tree = ast.parse((place / "__init__.py").read_text(encoding="utf-8"))
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
    return ast.get_docstring(tree) or "", names
