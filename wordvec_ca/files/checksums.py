"""Checksums of the files of a folder, in a file that ``sha256sum --check`` reads too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.files.atomic import atomic_file

CHECKSUMS = "SHA256SUMS"
"""Name of the file of checksums. It has a line ``checksum, two spaces, name`` for each file."""


def write_checksums(
    folder: Path, names: Iterable[str] | None = None, known: Mapping[str, str] | None = None
) -> None:
    """Write the checksums of all files directly in a folder, or update the checksums of some of them."""
    known = known or {}
    files = [path.name for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS]
    kept = {} if names is None else read_checksums(folder)
    made = {name: known.get(name) or _checksum(folder / name) for name in (files if names is None else names)}
    text = "".join(f"{checksum}  {name}\n" for name, checksum in sorted({**kept, **made}.items()))
    with atomic_file(folder / CHECKSUMS, follow_links=False) as file:
        file.write(text.encode())


def read_checksums(folder: Path) -> dict[str, str]:
    """Return name -> SHA-256 in hexadecimal digits; empty if the folder has no file of checksums."""
    path = folder / CHECKSUMS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}") from error
    pairs = [line.split("  ", 1) for line in lines]
    if not all(len(pair) == 2 and len(pair[0]) == 64 for pair in pairs):
        raise DataError(f"{str(path)!r} is damaged: each line must be a checksum, two spaces and a name")
    return {name: checksum for checksum, name in pairs}


def check_file(path: Path) -> None:
    """Compare a file with its checksum, if its folder has one for it."""
    expected = read_checksums(path.parent).get(path.name)
    if expected is not None and path.is_file() and _checksum(path) != expected:
        raise DataError(
            f"{str(path)!r} is not as it was saved: its checksum differs from that in {CHECKSUMS}. Take it "
            f"from a backup; if you changed it yourself, remove {CHECKSUMS}"
        )


def changed_files(folder: Path) -> dict[str, str]:
    """Return name -> ``changed`` or ``missing`` for each file that does not match its checksum."""
    found = {}
    for name, expected in read_checksums(folder).items():
        if not (folder / name).is_file():
            found[name] = "missing"
        elif _checksum(folder / name) != expected:
            found[name] = "changed"
    return found


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
