"""The provenance of a table of results: program, command, seed, and digests of the input files."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from pathlib import Path
from typing import Any

import click

from wordvec_ca._version import __version__
from wordvec_ca.cli.paths import names_read
from wordvec_ca.showable import showable_name

SUFFIX = ".provenance.json"
"""Suffix of the file that contains the provenance of a table."""


def write_provenance(table: str | os.PathLike[str]) -> None:
    """Write ``TABLE.provenance.json`` for a table that the running command has written."""
    from wordvec_ca.files import atomic_file

    with atomic_file(f"{os.fspath(table)}{SUFFIX}", overwrite=True, follow_links=False) as file:
        file.write(provenance().encode("utf-8", "replace"))


def provenance() -> str:
    """Return the provenance of what the running command writes, as JSON.

    It has ``program``, ``command``, ``time`` (UTC), ``seed``, and ``inputs``: name and SHA-256 of each. The
    digest of a folder is that of its ``SHA256SUMS`` if there is one, else that of the digests of its files.
    """
    from wordvec_ca.files import json_text

    context = click.get_current_context()
    record: dict[str, Any] = {
        "program": f"cawv {__version__}",
        "command": shlex.join(["cawv", *map(showable_name, context.find_root().obj["arguments"])]),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seed": context.params.get("seed"),
        "inputs": [
            {"name": showable_name(name), "sha256": _digest(Path(name))} for name in names_read(context)
        ],
    }
    return json_text(record, indent=2) + "\n"


def _digest(path: Path) -> str | None:
    """Return the SHA-256 of a file or folder; None if it is not on this machine or no longer exists."""
    from wordvec_ca.files import CHECKSUMS

    if path.is_dir():
        sums = path / CHECKSUMS
        if sums.is_file():
            return _digest(sums)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        lines = "".join(f"{_digest(file)}  {file.relative_to(path)}\n" for file in files)
        return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
