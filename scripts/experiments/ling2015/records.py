"""Records that several processes write at the same time: JSON lines, a report for each cell, and locks."""

from __future__ import annotations

import argparse
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recipes import Recipe


def report_path(options: argparse.Namespace, recipe: Recipe, seed: int) -> Path:
    """Return where the reports of one recipe and seed are."""
    return Path(options.output / "reports" / f"{recipe.slug}.{seed}.json.gz")


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Lock a cell for this process; yield whether it was free and is not finished."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield not path.exists()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; a last line that was cut off is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Append one JSON line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(record) + "\n")
