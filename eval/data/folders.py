"""Finds evaluation sets: files of a data folder, by pattern and by part, and the sets inside gensim."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

from wordvec_ca.eval.data.lines import name_of

# ``train``, ``dev`` and ``test`` of a data set, or '' for one file that is not divided.
Parts = dict[str, Path]


def found(folder: Path, *patterns: str) -> list[Path]:
    """Return the files that match a pattern, compressed or not, in the order of their names."""
    paths: set[Path] = set()
    for pattern in patterns:
        for suffix in ("", ".gz", ".bz2", ".xz", ".zst"):
            paths.update(path for path in folder.glob(pattern + suffix) if path.is_file())
    return sorted(paths)


def splits(paths: Sequence[Path]) -> dict[str, Parts]:
    """Group ``NAME.train.tsv``, ``NAME.dev.tsv``, ``NAME.test.tsv`` by NAME; other files are under ''."""
    groups: dict[str, Parts] = {}
    for path in paths:
        name = name_of(path)
        match = re.fullmatch(r"(?:(.+)[.-])?(train|dev|test)", name)
        if match:
            groups.setdefault(match.group(1) or path.parent.name, {})[match.group(2)] = path
        else:
            groups.setdefault(name, {})[""] = path
    return groups


def shipped_with_gensim() -> dict[str, list[Path]]:
    """Return the evaluation sets inside the installed gensim by task; empty without gensim."""
    # gensim itself is not imported.
    try:
        spec = importlib.util.find_spec("gensim")
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder = Path(next(iter(spec.submodule_search_locations))) / "test" / "test_data"
    wanted = {"similarity": ("wordsim353.tsv", "simlex999.txt"), "analogy": ("questions-words.txt",)}
    found = {
        task: [folder / name for name in names if (folder / name).is_file()] for task, names in wanted.items()
    }
    return {task: paths for task, paths in found.items() if paths}
