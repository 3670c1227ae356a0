"""What a power cut leaves of a folder: everything that was flushed, and any part of the rest.

A process runs with ``file_events.c`` loaded, which records each change of a name and each flush below a
folder. `Disk` replays this record. After the cut

- a file has the bytes of its last flush; each page of 4 KiB written since may be there or not, and its length
  may be the old or the new one;
- a folder has the names of its last flush; each change since (a new file, a removal, a renaming, which is
  done or not done as a whole) may be there or not, in any combination.

That is what POSIX promises. Journalling file systems keep more: also the order of changes of names.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
SOURCE = Path(__file__).with_name("file_events.c")


def compile_recorder(folder: Path) -> Path:
    """Compile the library that records the events; ``LD_PRELOAD`` loads it.

    Raises
    ------
    OSError, subprocess.CalledProcessError
        There is no C compiler, or it reports an error.
    """
    library = folder / "file_events.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@dataclass(eq=False)
class File:
    """A file: what was flushed of it, and what it holds now (None: as flushed)."""

    flushed: bytes = b""
    now: bytes | None = None
    modified: int | None = None

    def after_cut(self, rng: random.Random) -> bytes:
        """Return the bytes that are left of the file."""
        new = self.flushed if self.now is None else self.now
        if new == self.flushed:
            return new
        kind = rng.choice(["old", "new", "torn", "torn"])
        if kind == "old":
            return self.flushed
        if kind == "new":
            return new
        size = rng.choice([len(self.flushed), len(new), rng.randrange(len(new) + 1)])
        longest = max(len(self.flushed), len(new))
        old, new = self.flushed.ljust(longest, b"\0"), new.ljust(longest, b"\0")
        pages = [rng.choice([old, new])[i : i + PAGE] for i in range(0, longest, PAGE)]
        return b"".join(pages)[:size].ljust(size, b"\0")


@dataclass(eq=False)
class Folder:
    """A folder: the names that were flushed, those that it has now, and the changes between."""

    flushed: dict[str, File | Folder] = field(default_factory=dict)
    now: dict[str, File | Folder] = field(default_factory=dict)
    changes: list[tuple[str, str, str, File | Folder | None]] = field(default_factory=list)

    def change(self, kind: str, a: str, b: str = "", node: File | Folder | None = None) -> None:
        """Change a name; see `_apply`."""
        _apply(self.now, kind, a, b, node)
        self.changes.append((kind, a, b, node))

    def flush(self) -> None:
        """Flush the names to the disk."""
        self.flushed, self.changes = dict(self.now), []

    def after_cut(self, rng: random.Random) -> dict[str, File | Folder]:
        """Return which names are left."""
        kept = rng.choice([0.0, 1.0, 0.5, 0.5])
        names = dict(self.flushed)
        for change in self.changes:
            if rng.random() < kept:
                _apply(names, *change)
        return names


def _apply(names: dict[str, File | Folder], kind: str, a: str, b: str, node: File | Folder | None) -> None:
    if kind == "add" and node is not None:
        names[a] = node
    elif kind == "remove" and names.get(a) is node:
        del names[a]
    elif kind == "rename" and node is not None:
        if names.get(a) is node:
            del names[a]
        names[b] = node
    elif kind == "exchange" and a in names and b in names:
        names[a], names[b] = names[b], names[a]


class Disk:
    """A folder as it is on a disk; everything in it at the beginning is flushed.

    Parameters
    ----------
    root : Path
        The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = _read(root)

    def replay(self, log: Path, copies: Path) -> None:
        """Follow what a process did up to its end, from its record and from what is in the folder now."""
        for line in log.read_text("utf-8", "surrogateescape").splitlines():
            kind, a, b = line.split("\t")
            if kind == "sync":
                node = self._at(a)
                if isinstance(node, Folder):
                    node.flush()
                elif node is not None:
                    node.flushed = (copies / b).read_bytes()
                continue
            folder, name = self._parent(a)
            if kind in ("create", "folder"):
                folder.change("add", name, node=File() if kind == "create" else Folder())
            elif kind == "remove":
                folder.change("remove", name, node=folder.now[name])
            else:
                other, new = self._parent(b)
                node = folder.now[name]
                if other is folder:
                    folder.change(kind, name, new, node)
                else:
                    folder.change("remove", name, node=node)
                    other.change("add", new, node=node)
        _look(self.root, self.top)

    def _parent(self, path: str) -> tuple[Folder, str]:
        folder: File | Folder = self.top
        *above, name = Path(path).relative_to(self.root).parts
        for part in above:
            assert isinstance(folder, Folder)
            folder = folder.now[part]
        assert isinstance(folder, Folder)
        return folder, name

    def _at(self, path: str) -> File | Folder | None:
        if Path(path) == self.root:
            return self.top
        folder, name = self._parent(path)
        return folder.now.get(name)

    def cut(self, rng: random.Random) -> None:
        """Reduce the folder to what a power cut leaves, which is then what is on the disk."""
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        _write(self.root, self.top, rng)
        self.top = _read(self.root)


def _read(path: Path) -> Folder:
    folder = Folder()
    for entry in path.iterdir():
        if entry.is_dir():
            folder.now[entry.name] = _read(entry)
        else:
            folder.now[entry.name] = File(entry.read_bytes(), modified=entry.stat().st_mtime_ns)
    folder.flush()
    return folder


def _look(path: Path, folder: Folder) -> None:
    """Read the files' present contents; a name that is not in the record would be a fault of the recorder."""
    assert {entry.name for entry in path.iterdir()} == set(folder.now), path
    for name, node in folder.now.items():
        if isinstance(node, Folder):
            _look(path / name, node)
        else:
            node.now = (path / name).read_bytes()
            node.modified = (path / name).stat().st_mtime_ns


def _write(path: Path, folder: Folder, rng: random.Random) -> None:
    for name, node in folder.after_cut(rng).items():
        if isinstance(node, Folder):
            (path / name).mkdir()
            _write(path / name, node, rng)
        else:
            (path / name).write_bytes(node.after_cut(rng))
            if node.modified is not None:
                os.utime(path / name, ns=(node.modified, node.modified))
