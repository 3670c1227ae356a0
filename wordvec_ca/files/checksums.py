"""Checksums of the files of a folder, in a file that ``sha256sum --check`` reads too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.files.atomic import atomic_file
from wordvec_ca.files.npy import map_npy

# Name of the file of checksums. It has a line ``checksum, two spaces, name`` for each file.
CHECKSUMS = "SHA256SUMS"


# Begins the line with the digest of a sample of a large file; ``sha256sum`` ignores lines with ``#``.
SAMPLE = "# rows: "

# Files up to this size are compared whole whenever they are opened: it takes a millisecond.
SMALL_BYTES = 1 << 20

# Of larger arrays this many rows at equal distances are compared, which is as quick for any number of rows:
# rows that were turned around or exchanged for those of another model differ in nearly all of them.
SAMPLED_ROWS = 256

SAMPLED_BLOCKS, BLOCK_BYTES = 64, 4096
"""Of other larger files this many blocks at equal distances are compared."""


def write_checksums(
    folder: Path, names: Iterable[str] | None = None, known: Mapping[str, str] | None = None
) -> None:
    """Write the checksums of all files directly in a folder, or update the checksums of some of them."""
    known = known or {}
    files = [path.name for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS]
    kept = {} if names is None else read_checksums(folder)
    made = {name: known.get(name) or _checksum(folder / name) for name in (files if names is None else names)}
    text = ""
    for name, checksum in sorted({**kept, **made}.items()):
        text += f"{checksum}  {name}\n"
        if (folder / name).is_file() and (folder / name).stat().st_size > SMALL_BYTES:
            text += f"{SAMPLE}{_sample(folder / name)}  {name}\n"
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
    pairs = [line.split("  ", 1) for line in lines if not line.startswith("#")]
    if not pairs or not all(len(pair) == 2 and len(pair[0]) == 64 for pair in pairs):
        raise DataError(f"{str(path)!r} is damaged: each line must be a checksum, two spaces and a name")
    return {name: checksum for checksum, name in pairs}


def check_file(path: Path) -> None:
    """Compare a file with its checksum, if its folder has one for it."""
    expected = read_checksums(path.parent).get(path.name)
    if expected is not None:
        _check_is_there(path)
        _compare(path, _checksum(path), expected)


def check_sample(path: Path) -> None:
    """Compare a file with its checksum if it is small, else its size and a sample of it; if its folder has
    checksums.
    """
    checksums = read_checksums(path.parent)
    if path.name not in checksums:
        return
    _check_is_there(path)
    if path.stat().st_size <= SMALL_BYTES:
        _compare(path, _checksum(path), checksums[path.name])
        return
    lines = (path.parent / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    listed = [line.removeprefix(SAMPLE) for line in lines if line.startswith(SAMPLE)]
    found = [digest for digest, _, name in (line.partition("  ") for line in listed) if name == path.name]
    if found:  # sha256sum, with which a user may make the list, writes none
        _compare(path, _sample(path), found[0])


def check_listed(folder: Path) -> None:
    """Raise a DataError if a folder lacks a file of its list, whether it is read or not: the folder is not
    what was saved.
    """
    for name in read_checksums(folder):
        _check_is_there(folder / name)


def _check_is_there(path: Path) -> None:
    if not path.is_file():
        raise DataError(
            f"{str(path)!r} is missing, but {CHECKSUMS} lists it: take it from a backup; if you removed it "
            f"yourself, remove {CHECKSUMS}"
        )


def _compare(path: Path, found: str, expected: str) -> None:
    if found != expected:
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


def _sample(path: Path) -> str:
    """Return a digest of the size of a file and of rows or blocks of it, the first and the last among them;
    of an array also of its shape and type.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    if path.suffix == ".npy":
        rows = map_npy(path)
        digest.update(repr((rows.shape, rows.dtype.str)).encode())
        for k in range(SAMPLED_ROWS):
            digest.update(rows[(len(rows) - 1) * k // (SAMPLED_ROWS - 1)].tobytes())
        return digest.hexdigest()
    with path.open("rb") as file:
        for k in range(SAMPLED_BLOCKS):
            file.seek(max(0, size - BLOCK_BYTES) * k // (SAMPLED_BLOCKS - 1))
            digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
