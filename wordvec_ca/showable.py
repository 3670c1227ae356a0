"""Values as text for people: names of text sources without their secrets, durations, sizes, numbers.

A URL can hold a user and a password (``https://user:password@host``, ``s3://KEY:SECRET@bucket``), the id of a
session (``t.txt;jsessionid=...``) or a signature (``?X-Amz-Signature=...``). People share models, reports and
messages, so these parts are removed before anything is written or shown. Only the record of an unfinished run
keeps the whole name, which `resume` needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar
from urllib.parse import unquote, unquote_plus

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
_NEXT = r"(?=::[A-Za-z][A-Za-z0-9+.-]*(?:::|://)|$)"
_NAME = re.compile(rf"({_SCHEME})(.*?){_NEXT}", re.DOTALL)
_IN_TEXT = re.compile(
    rf"({_SCHEME})([^\s'\"<>`]*?)(?=::[A-Za-z][A-Za-z0-9+.-]*(?:::|://)|[)\].,;:]*(?:[\s'\"<>`]|$))"
)
_ODD_PASSWORD = re.compile(r"[^/@?#:]+:(?!\d+(?:/|$)).*?@(?=[^@/?#]+(?:[/?#]|$))", re.DOTALL)
# URL schemes in which the name before the @ is a container, not a user.
_CONTAINERS = re.compile(r"(?:abfss?|wasbs?|az|adl)://")

_WEB = ("http://", "https://", "ftp://", "ftps://", "webdav://")
# Parameters in the path of a URL with these schemes (RFC 3986, section 3.3); S3 keys may contain a
# semicolon.
_PARAMETERS = re.compile(r"(?:;|%3[Bb])([^/]*)")

# Shortest part of a URL's query that is removed from other text too; shorter parts occur by chance.
_LEAST = 6

T = TypeVar("T")


def showable_name(name: str) -> str:
    """Return a file name, or an argument that contains one, without the user, password, parameters and query
    of URLs.
    """
    return _NAME.sub(_without_secrets, name) if "://" in name else name


def showable(text: str, sources: Iterable[str] = ()) -> str:
    """Return a message without the secrets of the URLs in it."""
    for source in sources:
        shown = showable_name(source)
        if shown != source:
            text = text.replace(source, shown)
            for secret in _secrets(source):
                text = text.replace(secret, "***")
    return _IN_TEXT.sub(_without_secrets, text) if "://" in text else text


def showable_record(record: T, shown: Callable[[str], str] = showable) -> T:
    """Return a record for JSON in which ``shown`` has replaced each string."""
    if isinstance(record, str):
        return shown(record)  # type: ignore[return-value]
    if isinstance(record, Mapping):
        return {name: showable_record(value, shown) for name, value in record.items()}  # type: ignore[return-value]
    if type(record) in (list, tuple):
        return type(record)(showable_record(value, shown) for value in record)  # type: ignore[call-arg,attr-defined]
    return record


def has_secrets(names: Iterable[str]) -> bool:
    """Return whether a name has parts that must not be shown."""
    return any(showable_name(name) != name for name in names)


def parameters_and_query(url: str) -> str:
    """Return the hidden parts of a URL that may distinguish one text from another: parameters and query."""
    path, _, query = url.partition("?")
    return "".join(_PARAMETERS.findall(path)) + query if path.lower().startswith(_WEB) else query


def _without_secrets(url: re.Match[str]) -> str:
    scheme, rest = url[1], url[2]
    path = _after_user(scheme, rest).partition("?")[0]
    if scheme.lower() in _WEB:
        path = _PARAMETERS.sub("", path.partition("#")[0])
    return scheme + path


def _after_user(scheme: str, rest: str) -> str:
    """Return the part of a URL after user and password."""
    host = re.match(r"[^/?#]*", rest)[0]  # type: ignore[index]
    if "@" in host:
        user = host.rpartition("@")[0]
        container = ":" not in user and _CONTAINERS.match(scheme.lower())
        return rest if container else rest[len(user) + 1 :]
    odd = _ODD_PASSWORD.match(rest)  # AWS keys may contain a slash
    return rest[odd.end() :] if odd else rest


def _secrets(source: str) -> list[str]:
    """Return the parts of a source that must not be shown, also in decoded form; the longest first."""
    found = set()
    for url in _NAME.finditer(source):
        scheme, rest = url[1], url[2]
        after = _after_user(scheme, rest)
        user = rest.removesuffix(after).removesuffix("@")
        web = scheme.lower() in _WEB
        path = re.split("[?#]" if web else "[?]", after, maxsplit=1)[0]
        query = after.removeprefix(path).lstrip("?#")
        parameters = _PARAMETERS.findall(path) if web else []
        found |= {user, user.partition(":")[2] or user, query, *parameters}
        parts = re.split("[&;]", "&".join([query, *parameters]))
        values = (part.partition("=")[2] or part for part in parts)
        found |= {value for value in values if len(value) >= _LEAST}
    found |= {decode(part) for part in found for decode in (unquote, unquote_plus)}
    return sorted((part for part in found if len(part) >= 4), key=len, reverse=True)


# Unit of a duration as people type it -> seconds.
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def quantity(text: str, units: str) -> tuple[float, str] | None:
    """Return the number and the unit of a text such as ``1.5h``; None if it is none, zero, or has a unit that
    is not among ``units``, letters or signs.
    """
    found = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)([{units}])", text.strip())
    return (float(found[1]), found[2]) if found and float(found[1]) else None


def duration(seconds: float) -> str:
    """Return a duration as ``12.3 s``, ``45 min`` or ``3 h 5 min``; ``-`` if it is NaN or infinite."""
    if not math.isfinite(seconds):
        return "-"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 120 else f"{minutes} min"


def size(n_bytes: float) -> str:
    """Return a number of bytes in powers of 1000: ``1.5 GB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def counted(number: int, things: str) -> str:
    """Return a number of things: ``1 record``, ``1,204 malformed records``, ``1 record without text``."""
    if number == 1:
        noun, space, rest = things.partition(" without ")
        things = noun.removesuffix("s") + space + rest
    return f"{number:,} {things}"
