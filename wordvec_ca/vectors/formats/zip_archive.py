"""Vectors in a zip archive, as GloVe and wiki-news come: ``archive.zip``, or ``archive.zip:member``."""

from __future__ import annotations

import lzma
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.specs.formats import FORMATS


def archive_and_member(path: str | os.PathLike[str]) -> tuple[Path, str] | None:
    """Return the archive that a name means, and the member or ""; None if it is not in an archive."""
    name = os.fspath(path)
    archive, _, member = name.rpartition(".zip:")
    if archive and not os.path.exists(name) and os.path.isfile(archive + ".zip"):
        return Path(archive + ".zip"), member
    if not os.path.isfile(name):
        return None
    with open(name, "rb") as file:
        begins = file.read(4)
    a_format = any(one.magic and begins.startswith(one.magic) for one in FORMATS)  # that is an archive itself
    return (Path(name), "") if begins == b"PK\x03\x04" and not a_format else None


@contextmanager
def unpacked(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Hold the file that a name means, unpacked if it is in an archive.

    Raises
    ------
    DataError
        The archive has no such member, or several and none was named, or it is damaged or encrypted.
    """
    found = archive_and_member(path)
    if found is None:
        yield Path(path)
        return
    archive, member = found
    with tempfile.TemporaryDirectory(prefix="cawv-", ignore_cleanup_errors=True) as folder:
        try:
            with zipfile.ZipFile(archive) as opened:
                files = [one.filename for one in opened.infolist() if not one.is_dir()]
                files = [name for name in files if not name.startswith("__MACOSX/")]
                if (not member and len(files) != 1) or (member and member not in files):
                    there = f"{len(files)} files" if not member else f"no member {member!r}"
                    shown = ", ".join(files[:8]) + ", ..." * (len(files) > 8)
                    raise DataError(f"{archive} has {there}: name one of {shown} as {archive}:MEMBER")
                place = Path(folder) / (os.path.basename(member or files[0]) or "member")
                with opened.open(member or files[0]) as source, place.open("wb") as target:
                    while block := source.read(1 << 20):
                        target.write(block)
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            EOFError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise DataError(f"{archive}: the zip archive is damaged or encrypted ({error})") from error
        except OSError as error:
            raise DataError(f"cannot unpack {archive}: {error.strerror or error}") from error
        try:
            yield place
        except DataError as error:
            error.args = tuple(
                part.replace(str(place), f"{archive}:{member or files[0]}") if isinstance(part, str) else part
                for part in error.args
            )
            raise
