"""The names that users import: they have numpydoc, and pages on the site; other functions have a sentence.

``tests/house`` demands the sections of their docstrings, ``reference_pages`` shows them.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = {"wordvec_ca.kernels": ROOT / "kernels", "wordvec_ca.eval": ROOT / "eval"}
"""Packages whose folder does not have their name (see docs/decisions/001-layout.md)."""

FACES = ("cluster", "eval", "fasttext", "gensim", "gensim.models", "nn", "sentences")
"""Packages all of whose exported names users import, as they do those of ``wordvec_ca`` itself."""

OTHERS = {
    "text": [
        "Documents", "articles", "docstrings", "find_files", "set_retry_timeout", "tokenize",
    ],
    "runs": ["plan", "resume", "train"],
    "models": [
        "Callback", "ContextWeight", "DocumentRows", "EmbeddingModel", "History", "Point", "Progress",
        "TrainConfig", "WindowAttention", "attention_weights",
    ],
    "training": ["TrainingDiverged"],
    "vectors": [
        "Fit", "KeyedVectors", "Neighbour", "Neighbours", "NoAttentionError", "Term",
        "UnknownWordError", "align", "analogies", "detect_format", "read_vectors", "recommend",
        "recommend_each", "write_vectors",
    ],
    "tables": ["VectorTable"],
    "corpus": ["Phrases", "Vocab"],
    "report": ["Explorer", "UnfaithfulMapError", "explore", "render"],
    "associations": [
        "Association", "Axis", "Projection", "Projections", "PublishedTest", "association", "axis",
        "published_test", "read_pairs", "read_words",
    ],
    "documents": ["DocumentVectorizer"],
    "change": [
        "Changes", "Documents", "Example", "WordChange", "changes", "changes_of_models", "changes_page",
    ],
    "resampling": ["ResampledModels"],
}  # fmt: skip
"""Package -> those of its names that users import; the rest of its face is for our other packages."""

RETURNED = {
    "fasttext.text_model": ["TextModel"],
    "sentences.ca_sem": ["Reembedding"],
    "sentences.index": ["Hit"],
}
"""Module -> classes of which users get objects without importing them."""

KERNELS = {("wordvec_ca.kernels.sgns_reference", "train_chunk")}
"""Inner functions with numpydoc all the same: the arrays that both implementations of the loop take."""

Definition = tuple[str, str]
"""A module and the name of a class, function or method in it: ("wordvec_ca.nn.rnn", "CARNN.forward")."""


def imported_names() -> dict[str, list[str]]:
    """Return the packages with a page on the site, and the names on it."""
    faces = {face: exported(f"wordvec_ca.{face}") for face in FACES}
    return {**OTHERS, **faces}


@functools.cache
def definitions() -> set[Definition]:
    """Return where everything is defined that users import or call on it: methods of bases of ours too."""
    found = set(KERNELS)
    for name in exported("wordvec_ca"):
        _follow("wordvec_ca", name, found)
    for package, names in [*imported_names().items(), *RETURNED.items()]:
        for name in names:
            _follow(f"wordvec_ca.{package}", name, found)
    return found


@functools.cache
def parsed(module: str) -> ast.Module:
    """Return the syntax tree of a module or of a package's ``__init__``."""
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


def path_of(module: str) -> Path:
    """Return the file of a module or package."""
    package = ".".join(module.split(".")[:2])
    place = PLACES.get(package, ROOT / Path(*package.split("."))).joinpath(*module.split(".")[2:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def exported(module: str) -> list[str]:
    """Return the ``__all__`` of a module, or, without one, the public names that it defines, or imports as
    the face of a package.
    """
    body = parsed(module).body
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    if path_of(module).name == "__init__.py":
        return [alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
    kinds = (ast.ClassDef, ast.FunctionDef)
    return [node.name for node in body if isinstance(node, kinds) and not node.name.startswith("_")]


def _follow(module: str, name: str, found: set[Definition]) -> None:
    """Add the definition of a name, to which imports lead."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wordvec_ca"):
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    inner = f"{node.module}.{alias.name}"
                    if not path_of(inner).exists():
                        _follow(str(node.module), alias.name, found)
                    elif inner != module:  # a module that a package exports
                        for public in exported(inner):
                            _follow(inner, public, found)
                    return
    for node in parsed(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found.add((module, name))
        elif isinstance(node, ast.ClassDef) and node.name == name and (module, name) not in found:
            found.add((module, name))
            found |= {(module, f"{name}.{f.name}") for f in node.body if isinstance(f, ast.FunctionDef)}
            for base in node.bases:
                _follow(module, ast.unparse(base).partition("[")[0], found)
