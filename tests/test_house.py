"""The order of the house: who may import whom, names, documentation, nothing of one machine."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FLOORS = [
    {"kernels", "_version", "errors"},
    {
        "atomic_file", "compressed_file", "npy_stream", "escaped_word",
        "config", "vocab", "vector_table", "keyedvectors", "model_directory",
        "formats", "binary_format", "text_format", "projector_format", "safetensors_format",
        "gensim_format", "gensim_index", "pickle_sizes",
    },
    {
        "text", "in_order", "joining", "phrases", "spilled_types", "json_lines", "bzip2_blocks",
        "mediawiki_dump", "wikitext",
        "token_stream", "encoding", "cache", "corpus", "docstrings",
        "progress", "history", "model", "attention", "chunks", "private_rows",
    },
    {
        "trainer", "collapse", "training", "plan", "reembedding", "segmentation", "sentences", "search",
        "checkpoint", "continuation", "divergence", "unfinished_run", "svg_chart", "run_report",
    },
    {"eval", "nn"},
    {"cli", "__main__"},
]  # fmt: skip
"""Modules of ``wordvec_ca``, from the ground up; a package is one entry. Imports go down or stay level."""

ALSO_FORBIDDEN = {
    "eval": {"training", "trainer", "model", "corpus"},  # judges vectors, wherever they come from
    "nn": {"training", "trainer", "model"},
    "kernels": {"errors", "_version"},  # stand on numpy and numba alone
}

ONLY_HERE = {
    "torch": ("wordvec_ca.nn", "wordvec_ca.eval.bilstm_tagging"),
    "gensim": ("wordvec_ca.gensim_index",),
}
"""Heavy libraries and the places that alone may import them."""

KERNEL_LIBRARIES = {"numpy", "numba", *sys.stdlib_module_names}

UNTOLD = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "misc",
    "base",
    "manager",
    "constants",
    "types",
    "core",
}
"""Names that say nothing about what is inside."""


def modules() -> dict[str, Path]:
    """Return all our modules by their installed names."""
    found = {}
    for path in sorted((ROOT / "wordvec_ca").rglob("*.py")):
        found[".".join(path.relative_to(ROOT).with_suffix("").parts)] = path
    for package in ("kernels", "eval"):
        for path in sorted((ROOT / package).rglob("*.py")):
            found[".".join(("wordvec_ca", *path.relative_to(ROOT).with_suffix("").parts))] = path
    return {name.removesuffix(".__init__"): path for name, path in found.items()}


MODULES = modules()
TREES = {name: ast.parse(path.read_text("utf-8"), str(path)) for name, path in MODULES.items()}


def imports(tree: ast.AST, *, at_import: bool = False) -> Iterator[tuple[str, int]]:
    """Yield (module, line) of imports; if ``at_import``, only of those that run with the module itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole if whole in MODULES else node.module), node.lineno
        elif not at_import or not _is_later(node):
            yield from imports(node, at_import=at_import)


def _is_later(node: ast.AST) -> bool:
    """Return whether the code below a node does not run when its module is imported."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def part(module: str) -> str:
    """Return the module or package right below ``wordvec_ca`` ('' for ``wordvec_ca`` itself)."""
    return (module.split(".") + [""])[1]


def floor(name: str) -> int:
    """Return the floor of a part of ``wordvec_ca``."""
    for number, names in enumerate(FLOORS):
        if name in names:
            return number
    raise AssertionError(f"wordvec_ca.{name} stands on no floor: give it one in FLOORS")


@pytest.mark.parametrize("module", [name for name in MODULES if name != "wordvec_ca"])
def test_imports_go_down(module: str) -> None:
    for imported, line in imports(TREES[module]):
        if not imported.startswith("wordvec_ca.") or part(imported) == part(module):
            continue
        where = f"{MODULES[module]}:{line} imports {imported}"
        assert floor(part(imported)) <= floor(part(module)), f"{where}, which is above it"
        assert part(imported) not in ALSO_FORBIDDEN.get(part(module), ()), where


def test_kernels_stand_on_numpy_and_numba_alone() -> None:
    for module, tree in TREES.items():
        if part(module) == "kernels":
            for imported, line in imports(tree):
                allowed = (
                    imported.startswith("wordvec_ca.kernels") or imported.split(".")[0] in KERNEL_LIBRARIES
                )
                assert allowed, f"{MODULES[module]}:{line} imports {imported}"


def test_heavy_libraries_have_one_door() -> None:
    for module, tree in TREES.items():
        for imported, line in imports(tree):
            doors = ONLY_HERE.get(imported.split(".")[0], (module,))
            assert any(f"{module}.".startswith(f"{door}.") for door in doors), (
                f"{MODULES[module]}:{line}: {imported}"
            )
        for imported, line in imports(tree, at_import=True):
            late = {"gensim", "matplotlib", "torch"} - ({"torch"} if part(module) == "nn" else set())
            assert imported.split(".")[0] not in late, (
                f"{MODULES[module]}:{line} imports {imported} too early"
            )


def test_commands_import_late() -> None:
    for module, tree in TREES.items():
        if part(module) == "cli":
            light = {"click", *sys.stdlib_module_names}
            for imported, line in imports(tree, at_import=True):
                ours = imported.startswith("wordvec_ca.cli.") or imported in (
                    "wordvec_ca.cli",
                    "wordvec_ca._version",
                )
                if module in ("wordvec_ca.cli.neighbour_table",):  # itself imported late
                    continue
                assert ours or imported.split(".")[0] in light, f"{MODULES[module]}:{line} imports {imported}"


def test_no_import_goes_in_circles() -> None:
    graph = {
        module: {name for name, _ in imports(tree, at_import=True) if name in MODULES}
        for module, tree in TREES.items()
    }
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path, module])
        if module not in done:
            for imported in graph[module]:
                visit(imported, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_names_say_something() -> None:
    for module, path in MODULES.items():
        assert not set(module.split(".")) & UNTOLD, path


def test_library_prints_nothing() -> None:
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "breakpoint"), f"{MODULES[module]}:{node.lineno}"


# ---- documentation ----------------------------------------------------------------------------------------


Function = ast.FunctionDef | ast.AsyncFunctionDef


def public(tree: ast.Module) -> Iterator[tuple[str, Function | ast.ClassDef, ast.ClassDef | None]]:
    """Yield the name, the node and the class around it of all that has no underscore."""
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node, None
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, Function) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner, node


def parameters(function: Function) -> list[str]:
    """Return the names in a signature, without self and cls, with * and **."""
    a = function.args
    names = [x.arg for x in (*a.posonlyargs, *a.args)]
    names += [f"*{a.vararg.arg}"] if a.vararg else []
    names += [x.arg for x in a.kwonlyargs]
    names += [f"**{a.kwarg.arg}"] if a.kwarg else []
    return names


def documented(docstring: str, section: str = "Parameters") -> list[str] | None:
    """Return the names in a section of a numpydoc docstring, or None if it has none."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=\n\S[^\n]*\n-+\n|\Z)", docstring, re.S | re.M)
    if not found:
        return None
    heads = [line.split(" : ")[0] for line in found[1].splitlines() if line and not line[0].isspace()]
    return [name.strip().replace("\\", "") for head in heads for name in head.split(",")]


def test_docstring_section_is_read_as_numpydoc_does() -> None:
    docstring = "Do.\n\nParameters\n----------\na, b : int\n    Two.\n*rest : str\n\nReturns\n-------\nint\n"
    assert documented(docstring) == ["a", "b", "*rest"]
    assert documented(docstring, "Returns") == ["int"]
    assert documented("Do.") is None


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    faults = []
    if not ast.get_docstring(TREES[module]):
        faults.append("the module has no docstring")
    for name, node, around in public(TREES[module]):
        docstring = ast.get_docstring(node)
        decorators = [ast.unparse(d) for d in node.decorator_list]
        if any("click" in d or d.endswith(".setter") or d == "overload" for d in decorators):
            continue
        if not docstring:
            faults.append(f"{name} (line {node.lineno}) has no docstring")
            continue
        if isinstance(node, ast.ClassDef):
            made = next((f for f in node.body if isinstance(f, Function) and f.name == "__init__"), None)
            if made is None:
                continue
            names = parameters(made)[1:]
        else:
            static = around is None or "staticmethod" in decorators
            names = parameters(node)[0 if static else 1 :]
        written = documented(docstring)
        if written is not None and written != names:
            faults.append(f"{name} (line {node.lineno}): the docstring has {written}, the signature {names}")
        within = (
            part(module) == "kernels" and name != "train_chunk"
        )  # rows of the loop: the door documents them
        if written is None and len(names) > 4 and not within:
            attributes = documented(docstring, "Attributes") or []
            if not set(names) <= set(attributes) and not re.search("(?i)parameters|arguments", docstring):
                faults.append(f"{name} (line {node.lineno}) does not document {', '.join(names)}")
    assert not faults, "\n".join([str(MODULES[module]), *faults])


def test_configuration_documents_every_field() -> None:
    from wordvec_ca.config import TrainConfig

    names = documented(inspect.getdoc(TrainConfig) or "")
    assert names == list(TrainConfig.__dataclass_fields__)


# ---- the tree ---------------------------------------------------------------------------------------------


def sources() -> Iterator[Path]:
    """Yield the files that make up the project."""
    for folder in ("wordvec_ca", "kernels", "eval", "scripts", "tests", "docs", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            made = path.suffix in {".so", ".pyc", ".c", ".png"} and not path.name.startswith("sgns_")
            if path.is_file() and not made and "__pycache__" not in path.parts:
                yield path
    yield from (
        path
        for path in ROOT.iterdir()
        if path.suffix in {".py", ".md", ".toml", ".in"} or path.name == "Makefile"
    )


def test_nothing_names_one_machine() -> None:
    private = re.compile(
        r"(?<![\w.~$}/-])/(work|home|root|Users|mnt|opt|venvs)/\w|\.\./shared|(?<!\w)shared/(data|design|papers)"
    )
    for path in sources():
        if path != Path(__file__) and path != ROOT / ".ci" / "run":  # that one names the folder of the data
            found = private.search(path.read_text("utf-8", "replace"))
            assert not found, f"{path}: {found[0]}"


def test_sources_are_found() -> None:
    names = {path.name for path in sources()}
    assert names >= {
        "setup.py",
        "pyproject.toml",
        "config.py",
        "_sgns.pyx",
        "sgns.h",
        "train.py",
        "test_house.py",
    }
    assert {"wordvec_ca.kernels.sgns_numba", "wordvec_ca.eval", "wordvec_ca.cli.train", "wordvec_ca"} <= set(
        MODULES
    )


def test_commands_and_modules_are_the_same() -> None:
    from wordvec_ca.cli import COMMANDS

    made = {
        module.rpartition(".")[2].replace("_", "-")
        for module, tree in TREES.items()
        if module.startswith("wordvec_ca.cli.")
        and any(isinstance(node, ast.FunctionDef) and node.name == "command" for node in tree.body)
    }
    assert made == set(COMMANDS)
