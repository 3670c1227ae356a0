"""Unpacks vectors from zip archives (as GloVe distributes them), named ``archive.zip`` or
``archive.zip:member``.
"""

from __future__ import annotations

import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.specs.formats import FORMATS

# Unpacked size that is always accepted and, for larger members, the largest ratio of unpacked to packed
# size. Text and float32 numbers shrink to between a half and a tenth.
SMALL, MOST_TIMES = 1 << 26, 100


def archive_and_member(path: str | os.PathLike[str]) -> tuple[Path, str] | None:
    """Split a name into archive and member ("" without one); None if it does not name an archive."""
    name = os.fspath(path)
    archive, _, member = name.rpartition(".zip:")
    if archive and not os.path.exists(name) and os.path.isfile(archive + ".zip"):
        return Path(archive + ".zip"), member
    if not os.path.isfile(name):
        return None
    with open(name, "rb") as file:
        begins = file.read(4)
    a_format = any(one.magic and begins.startswith(one.magic) for one in FORMATS)  # itself an archive
    return (Path(name), "") if begins == b"PK\x03\x04" and not a_format else None


@contextmanager
def unpacked(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of the file that a name refers to; a file in an archive is unpacked first."""
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
                _check_size(archive, opened.getinfo(member or files[0]), shutil.disk_usage(folder).free)
                # The end of a name tells the format; no file system has longer names than 255 bytes.
                place = Path(folder) / (os.path.basename(member or files[0])[-60:] or "member")
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


def _check_size(archive: Path, member: zipfile.ZipInfo, free: int) -> None:
    """Raise a DataError if the announced size of a member is too large; zipfile does not read beyond that
    size.
    """
    size = f"{archive}: {member.filename} would take {member.file_size:,} bytes unpacked"
    if member.file_size > max(SMALL, MOST_TIMES * member.compress_size):
        raise DataError(
            f"{size}, from {member.compress_size:,} in the archive: vectors do not shrink {MOST_TIMES} "
            "times, so this is refused; if you trust it, unpack it and give the file"
        )
    if member.file_size > free // 2:
        raise DataError(
            f"{size}, and {free:,} are free in {tempfile.gettempdir()}, of which half may be used: make "
            "room, set TMPDIR to another folder, or unpack it and give the file"
        )
