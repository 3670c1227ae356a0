"""Lists the text files at URLs, finds their sizes and changes, and reads them."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from wordvec_ca.errors import DataError
from wordvec_ca.files import file_system, patiently
from wordvec_ca.showable import has_secrets, parameters_and_query, showable, showable_name

_BLOCK = 4 << 20

# Number of seconds for which a request is repeated if the server does not answer.
PATIENCE = float(os.environ.get("CAWV_REMOTE_SECONDS", "120"))


def set_retry_timeout(seconds: float) -> None:
    """Set for how many seconds this process repeats requests, the first included, if a server does not
    answer.
    """
    global PATIENCE, FIRST_PATIENCE
    PATIENCE = FIRST_PATIENCE = seconds


# Number of seconds for which the first request is repeated: fewer, since the server's name may be wrong.
FIRST_PATIENCE = 5.0

_MARKS = (
    "etag",
    "md5hash",
    "contentmd5",
    "crc32c",
    "versionid",
    "lastmodified",
    "mtime",
    "updated",
    "modified",
)
# Attributes of a remote file that differ when its content differs, whatever the query part of its URL.
_OF_CONTENT = _MARKS[:5]

T = TypeVar("T")


def expand_url(url: str) -> list[str]:
    """Return the URLs of all files that a URL, a pattern of URLs or the URL of a directory refers to."""
    system, path = file_system(url)

    def look() -> list[str]:
        system.invalidate_cache()
        if "*" in path or "[" in path:
            return [found for found in sorted(system.glob(path)) if not system.isdir(found)]
        if system.isdir(path):
            below = sorted(system.find(path))
            return [file for file in below if "/." not in file.removeprefix(path)]
        system.info(path)
        return [path]

    found = _patiently(look, url, FIRST_PATIENCE)
    if not found:
        raise DataError(f"there is no file {showable_name(url)!r}; check the URL, and a pattern's * and [")
    if found == [path]:
        return [url]
    return [system.unstrip_protocol(file) for file in found]


@lru_cache(maxsize=4096)
def url_size(url: str) -> int | None:
    """Return the size of a remote file in bytes, or None if the server does not report it."""
    size = _information(url).get("size")
    return None if size is None else int(size)


def url_identity(url: str, patience: float | None = None) -> dict[str, Any]:
    """Return values that change when a remote file changes: its size and the server's identifier of its
    content.

    The identifier is an ETag or a digest; without either, the time of the last change. Requests to a server
    that does not answer are repeated for ``patience`` seconds, by default ``PATIENCE``.
    """
    information = _information(url, patience)
    headers = {name.lower().replace("-", "").replace("_", ""): value for name, value in information.items()}
    mark = next((f"{name} {headers[name]}" for name in _MARKS if headers.get(name) is not None), None)
    identity = {"path": showable_name(url), "size": information.get("size"), "mark": mark}
    query = parameters_and_query(url)
    if query and (mark is None or mark.split()[0] not in _OF_CONTENT):  # two queries may be two texts
        identity["query"] = hashlib.blake2b(query.encode(), digest_size=4).hexdigest()
    return identity


def _information(url: str, patience: float | None = None) -> dict[str, Any]:
    system, path = file_system(url)

    def look() -> dict[str, Any]:
        system.invalidate_cache()
        return dict(system.info(path))

    return _patiently(look, url, patience)


class RemoteFile(io.RawIOBase):
    """A remote file as a stream; when the connection breaks, reading continues from the same position."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.name = url
        self._identity = url_identity(url)
        self._place = 0
        self._stream: Any = None
        self._connect()

    def _connect(self) -> None:
        system, path = file_system(self.name)

        def connect() -> Any:
            return system.open(path, "rb", block_size=_BLOCK, cache_type="readahead")

        self._stream = _patiently(connect, self.name)
        if self._place:
            if self._stream.seekable():
                self._stream.seek(self._place)
            else:
                left = self._place
                while left and (piece := self._stream.read(min(left, _BLOCK))):
                    left -= len(piece)

    def _again(self) -> None:
        """Reconnect, and check that the file is the same."""
        if (now := url_identity(self.name)) != self._identity:
            raise DataError(
                f"{self.name!r} has changed while it was read (it was {self._identity}, and is {now}); "
                "leave it as it is while the run lasts"
            )
        self._stream = None
        self._connect()

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` of the next bytes (all if ``size`` is negative); empty at the end."""

        def read() -> bytes:
            if self._stream is None:
                self._again()
            try:
                data = self._stream.read(size)
                if not data and size and self._place < (self._identity["size"] or 0):
                    raise EOFError(f"it ended after {self._place:,} of {self._identity['size']:,} bytes")
                return data
            except DataError:
                raise
            except Exception:
                self._stream = None
                raise

        data = _patiently(read, self.name)
        self._place += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return the number of bytes read."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the server can send a part of the file."""
        return bool(self._stream is None or self._stream.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position in the file; return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._identity["size"] or 0}[whence]
        self._place = start + offset
        if self._stream is not None:
            self._stream.seek(self._place)
        return self._place

    def tell(self) -> int:
        """Return the position in the file."""
        return self._place

    def close(self) -> None:
        """Close the connection."""
        if self._stream is not None and not self.closed:
            self._stream.close()
        super().close()


def _patiently(action: Callable[[], T], url: str, patience: float | None = None) -> T:
    """Return action(), repeated while the server does not answer. A DataError reports the failure."""
    try:
        return patiently(action, url, PATIENCE if patience is None else patience)
    except DataError:
        raise
    except Exception as error:  # each file system raises errors of its own
        name, why = showable_name(url), showable(f"{type(error).__name__}: {error}", [url])
        if isinstance(error, FileNotFoundError):
            message = f"there is no file {name!r}; check the URL"
        elif isinstance(error, PermissionError) or getattr(error, "status", None) in (401, 403):
            message = (
                f"cannot read {name!r}: permission denied ({why}); give credentials as for other programs "
                "(for S3 AWS_ACCESS_KEY_ID, AWS_PROFILE ...), or the whole URL: its user, "
                "password, parameters and query are recorded nowhere"
            )
        else:
            message = f"cannot read {name!r}: {why}"
        # a traceback would show the cause, whose message contains the whole URL
        raise DataError(message) from (None if has_secrets([url]) else error)
