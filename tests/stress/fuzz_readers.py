"""Gives one damaged or hostile file to a reader, and notices what no reader may do.

A reader may return or raise DataError. Anything else is a fault: another exception, or an act such as
starting a program, opening a socket, writing outside its folder, unpickling by the default rules. A new
reader is a function of a folder with the files under test, its seeds (``fuzz_seeds.py``), and a line in
``READERS`` (``fuzz_targets.py``); folders of files that have found a fault are in ``fuzz_cases/READER``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fuzz_seeds import Files

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.", "socket.", "ctypes.dlopen")
WRITES = ("open", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.symlink")


class ForbiddenAct(BaseException):
    """A reader did something forbidden. It is a BaseException, so that no ``except Exception`` hides it."""


class Watch:
    """Notices forbidden acts through Python's audit events while a reader runs."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.acts: list[str] = []
        sys.addaudithook(self._event)

    @contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        """Watch what happens within the block; raise ``ForbiddenAct`` after it if there was something."""
        self.folder, self.acts = folder, []
        try:
            yield
        finally:
            self.folder = None
            if self.acts:
                raise ForbiddenAct("; ".join(self.acts[:3]))

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        bad = event.startswith(FORBIDDEN) or event == "pickle.find_class"
        if event in WRITES:
            writing = event != "open" or bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            inside = str(arguments[0]).startswith((str(self.folder), "/dev/null"))
            below = event in ("os.remove", "os.rmdir") and arguments[1] >= 0  # within a folder that is open
            bad = writing and not inside and not below
        if bad:
            self.acts.append(f"{event} {arguments!r}"[:300])


def run(read: Callable[[Path], None], files: Files, folder: Path, watch: Watch) -> None:
    """Give the files of one input to a reader; raises what it should not raise."""
    from wordvec_ca.errors import DataError

    written(folder, files)
    with watch.over(folder), suppress(DataError):
        read(folder)


def written(folder: Path, files: Files) -> Path:
    """Write the files of one input into an empty folder; return it."""
    for path in folder.iterdir():
        path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
