"""Rules for the code: which package may import which, names, documentation, no paths of one machine."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from imported_names import definitions, exported

ROOT = Path(__file__).resolve().parents[2]

DRAWING = {
    "kernels": set(),
    "files": set(),
    "text": {"kernels", "files"},
    "corpus": {"kernels", "files", "text"},
    "tables": {"kernels", "files"},
    "formats": {"kernels", "files", "tables"},
    "vectors": {"files", "tables", "formats"},
    "models": {"kernels", "files", "corpus", "tables", "formats", "vectors"},
    "training": {"kernels", "files", "corpus", "models"},
    "resampling": {"kernels", "files", "corpus", "tables", "vectors", "models", "training"},
    "runs": {"kernels", "files", "text", "corpus", "formats", "vectors", "models", "training", "resampling"},
    "cluster": {"files", "text", "corpus", "formats", "models", "training", "runs"},
    "sentences": {"files", "text", "tables", "formats", "vectors"},
    "documents": {"files", "text", "vectors", "models", "training", "sentences"},
    "report": {"files", "tables", "vectors", "models"},
    "change": {"corpus", "files", "text", "tables", "vectors", "models", "training", "report"},
    "associations": {"files", "tables", "vectors"},
    "nn": {"text", "vectors"},
    "gensim": {"files", "corpus", "tables", "formats", "vectors", "models", "training"},
    "fasttext": {"files", "kernels", "corpus", "formats", "vectors", "models", "training", "runs"},
    "eval": {"files", "vectors", "sentences"},
}
"""Package -> the packages that it may import, from the ground up. The command line may import all."""

GROUND = {"_version", "errors", "machine", "showable", "specs"}
"""Modules that everything may import; they import only each other. Those of ``specs`` count one by one."""

ONLY_HERE = {
    "torch": ("wordvec_ca.nn", *(f"wordvec_ca.eval.tasks.bilstm_{name}" for name in ("tagging", "tagger"))),
    "gensim": ("wordvec_ca.formats.gensim_index",),
    "ray": ("wordvec_ca.cluster",),
}
"""Heavy library -> the only places that may import it."""

COMPILED = {
    f"wordvec_ca.kernels.{name}"
    for name in ("_sgns", "_text", "_decimals", "_ngrams", "_pool", "_replicas", "_classifier")
}

KERNEL_LIBRARIES = {"numpy", "numba", *sys.stdlib_module_names}


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


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules; collecting tests does not wait for them."""
    return {name: ast.parse(path.read_text("utf-8"), str(path)) for name, path in MODULES.items()}


def imports(tree: ast.AST, *, at_import: bool = False, types: bool = False) -> Iterator[tuple[str, int]]:
    """Yield (module, line) of imports: if ``at_import``, only of those that run with the module itself,
    if ``types`` with those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole if whole in MODULES else node.module), node.lineno
        elif not at_import or not _is_later(node, types):
            yield from imports(node, at_import=at_import, types=types)


def _is_later(node: ast.AST, types: bool) -> bool:
    """Return whether the code below a node does not run when its module is imported."""
    if isinstance(node, ast.If):
        return not types and "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


@functools.cache
def all_imports(module: str) -> tuple[tuple[str, int], ...]:
    """Return (module, line) of every import of a module, late ones too."""
    return tuple(imports(trees()[module]))


def part(module: str) -> str:
    """Return the module or package right below ``wordvec_ca`` ('' for ``wordvec_ca`` itself)."""
    return (module.split(".") + [""])[1]


def arrows() -> Iterator[tuple[str, str, str]]:
    """Yield (part, imported part, where) of each import from one part of ``wordvec_ca`` into another."""
    for module in MODULES:
        for imported, line in all_imports(module):
            if imported.startswith("wordvec_ca.") and part(imported) != part(module):
                yield part(module), part(imported), f"{MODULES[module]}:{line} imports {imported}"


def test_the_drawing_holds():
    for importer, imported, where in arrows():
        if importer in ("", "cli", "__main__") or imported in GROUND:
            continue
        assert importer in DRAWING, f"{where}: {importer} is not in the drawing"
        assert imported in DRAWING[importer], f"{where}: the drawing has no such arrow"


def test_every_arrow_of_the_drawing_is_there():
    found = {(importer, imported) for importer, imported, _ in arrows()}
    drawn = {(importer, imported) for importer, those in DRAWING.items() for imported in those}
    assert drawn <= found, f"drawn, but not there: {drawn - found}"


def test_arrows_go_down():
    below: set[str] = set()
    for package, those in DRAWING.items():
        assert those <= below, f"{package} stands below {those - below}"
        below.add(package)


def test_the_ground_imports_the_ground_alone():
    for importer, imported, where in arrows():
        assert importer not in GROUND or imported in GROUND, where


def test_packages_are_entered_by_their_public_names():
    faults = [
        f"{MODULES[module]}:{line} imports {imported}: import it from wordvec_ca.{part(imported)}"
        for module in MODULES
        if module != "wordvec_ca"
        for imported, line in all_imports(module)
        if imported.startswith("wordvec_ca.")
        and imported.count(".") >= 2
        and part(imported) not in (part(module), "specs")
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("package", DRAWING)
def test_faces_say_what_a_package_is_and_what_it_hands_out(package):
    docstring = ast.get_docstring(trees()[f"wordvec_ca.{package}"])
    assert docstring
    assert len(docstring.split()) >= 20
    assert exported(f"wordvec_ca.{package}")


def test_no_private_name_of_another_module_is_used():
    faults = [
        f"{MODULES[module]}:{node.lineno} imports {alias.name} of {node.module}"
        for module, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wordvec_ca")
        for alias in node.names
        if alias.name.startswith("_")
        and f"{node.module}.{alias.name}" not in COMPILED
        and alias.name != "__version__"
    ]
    assert not faults, "\n".join(faults)


def test_kernels_stand_on_numpy_and_numba_alone():
    for module in MODULES:
        if part(module) == "kernels":
            for imported, line in all_imports(module):
                allowed = (
                    imported.startswith("wordvec_ca.kernels") or imported.split(".")[0] in KERNEL_LIBRARIES
                )
                assert allowed, f"{MODULES[module]}:{line} imports {imported}"


def test_heavy_libraries_have_one_place():
    for module, tree in trees().items():
        for imported, line in all_imports(module):
            places = ONLY_HERE.get(imported.split(".")[0], (module,))
            assert any(f"{module}.".startswith(f"{place}.") for place in places), (
                f"{MODULES[module]}:{line}: {imported}"
            )
        for imported, line in imports(tree, at_import=True):
            late = {"gensim", "matplotlib", "ray", "torch"}
            if part(module) == "nn" or module.endswith(".bilstm_tagger"):  # themselves imported late
                late.remove("torch")
            assert imported.split(".")[0] not in late, (
                f"{MODULES[module]}:{line} imports {imported} too early"
            )


LIBRARIES_OF_SCRIPTS = {
    *("numpy", "scipy", "sklearn", "click", "gensim", "torch", "psutil", "matplotlib"),
    *("sacrebleu", "mkdocs", "PIL", "griffe", "latex2mathml", "chromium"),
}


def test_scripts_find_the_modules_beside_them():
    """Studies run rarely: that a module which one of them needs is gone would be noticed late."""
    scripts = {path.stem: path for path in (ROOT / "scripts").rglob("*.py")}
    there = {*scripts, *sys.stdlib_module_names, "wordvec_ca", *LIBRARIES_OF_SCRIPTS}
    for path in scripts.values():
        for imported, line in imports(ast.parse(path.read_text("utf-8"))):
            assert imported.split(".")[0] in there, f"{path.relative_to(ROOT)}:{line}: {imported}"


def test_commands_import_late():
    for module, tree in trees().items():
        if part(module) == "cli":
            light = {"click", "cloup", *sys.stdlib_module_names}
            for imported, line in imports(tree, at_import=True):
                ours = part(imported) in ("cli", *GROUND)
                if module in ("wordvec_ca.cli.neighbour_table",):  # itself imported late
                    continue
                assert ours or imported.split(".")[0] in light, f"{MODULES[module]}:{line} imports {imported}"


def test_no_import_goes_in_circles():
    """Imports for type checkers count too: two modules that name each other are one."""
    graph = {
        module: {
            name
            for name, _ in imports(tree, at_import=True, types=True)
            if name in MODULES and name != module
        }
        for module, tree in trees().items()
        if module not in ("wordvec_ca", "wordvec_ca.kernels")  # their names are imported when first used
    }
    done: set[str] = set()

    def visit(module, path):
        assert module not in path, " -> ".join([*path, module])
        if module not in done:
            for imported in graph.get(module, ()):
                visit(imported, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_models_are_named_in_one_place():
    """Code must not compare names of models, as it would miss a new model; it compares their traits."""
    from wordvec_ca.specs.models import MODELS

    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare | ast.Dict | ast.Match):
                named = {
                    inner.value
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Constant) and inner.value in MODELS
                }
                told = named if module != "wordvec_ca.specs.models" else set()
                assert not told, (
                    f"{MODULES[module]}:{node.lineno} compares with {told}: use a trait of ModelSpec"
                )


def test_library_prints_nothing():
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "breakpoint"), f"{MODULES[module]}:{node.lineno}"


# ---- documentation ----------------------------------------------------------------------------------------


def documented(docstring: str) -> list[str]:
    """Return the names in the section of parameters of a numpydoc docstring."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\S[^\n]*\n-+\n|\Z)", docstring, re.S | re.M)
    heads = [line.split(" : ")[0] for line in (found[1] if found else "").splitlines() if line[:1].strip()]
    return [name.strip().lstrip("\\*") for head in heads for name in head.split(",")]


def test_names_that_users_import_are_followed_to_their_definitions():
    assert definitions() >= {
        ("wordvec_ca.runs.run", "train"),
        ("wordvec_ca.vectors.lookup", "Lookup.get_index"),  # of a base of KeyedVectors
        ("wordvec_ca.gensim.models.keys", "KeyTable.add_vectors"),
        ("wordvec_ca.eval.comparison", "compare"),
        ("wordvec_ca.fasttext.text_model", "TextModel.predict"),
    }


def test_documented_parameters_are_those_of_the_signature():
    """Of names that users import; ruff demands a docstring of everything public."""
    faults = []
    for module, name in definitions():
        if not module.startswith("wordvec_ca.nn") or importlib.util.find_spec("torch"):
            thing = functools.reduce(getattr, name.split("."), importlib.import_module(module))
            written = set(documented(inspect.getdoc(thing) or ""))
            if written and callable(thing):
                known = set(inspect.signature(thing).parameters) - {"self", "cls"}
                faults += [f"{module}.{name}: {written ^ known}"] if written != known else []
    assert not faults, "\n".join(faults)


# ---- the tree ---------------------------------------------------------------------------------------------


def sources() -> Iterator[Path]:
    """Yield the files that make up the project."""
    for folder in ("wordvec_ca", "kernels", "eval", "scripts", "tests", "docs", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            made = path.suffix in {".so", ".pyc", ".c", ".png"} and not path.name.startswith(
                ("sgns_", "ngrams_", "classifier_")
            )
            if path.is_file() and not made and "__pycache__" not in path.parts:
                yield path
    yield from (
        path
        for path in ROOT.iterdir()
        if path.suffix in {".py", ".md", ".toml", ".in"} or path.name == "Makefile"
    )


def test_nothing_names_one_machine():
    private = re.compile(
        r"(?<![\w.~$}/-])/(work|home|root|Users|mnt|opt|venvs)/\w|\.\./shared|(?<!\w)shared/(data|design|papers)"
    )
    for path in sources():
        if path != Path(__file__) and path != ROOT / ".ci" / "run":  # this file names the folder of the data
            found = private.search(path.read_text("utf-8", "replace"))
            assert not found, f"{path}: {found[0]}"


def test_a_checkout_that_is_not_installed_says_what_to_do(tmp_path):
    (tmp_path / "wordvec_ca").symlink_to(ROOT / "wordvec_ca")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import wordvec_ca"
    without_site = [sys.executable, "-S", "-c", code, str(tmp_path)]  # -S hides the installed package
    done = subprocess.run(without_site, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "pip install --editable ." in done.stderr
    assert "start Python in another folder" in done.stderr


def test_sources_are_found():
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
    assert {
        "wordvec_ca.kernels.sgns_reference",
        "wordvec_ca.eval",
        "wordvec_ca.cli.train",
        "wordvec_ca",
    } <= set(MODULES)


def test_commands_and_modules_are_the_same():
    from wordvec_ca.cli import COMMANDS

    made = {
        module.rpartition(".")[2].replace("_", "-")
        for module, tree in trees().items()
        if module.startswith("wordvec_ca.cli.")
        and any(isinstance(node, ast.FunctionDef) and node.name == "command" for node in tree.body)
    }
    assert made == set(COMMANDS)
