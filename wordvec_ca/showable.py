"""Sources of text as they may be shown, recorded and published: without what gives access to them.

A URL can hold a user and a password (``https://user:password@host``, ``s3://KEY:SECRET@bucket``) or a
signature (``?X-Amz-Signature=...``). People share models, reports and messages, so these parts are removed
before anything is written or shown. Only the record of an unfinished run keeps the whole name, which `resume`
needs.
"""

from __future__ import annotations

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
_CONTAINERS = re.compile(r"(?:abfss?|wasbs?|az|adl)://")
"""Schemes in which a name before the @ is a container, not a user."""

_WEB = ("http://", "https://", "ftp://", "ftps://", "webdav://")
_LEAST = 6
"""Characters of a part of a query that is looked for by itself; shorter ones occur by chance."""

T = TypeVar("T")


def showable_name(name: str) -> str:
    """Return the name of a file, or an argument with one; of URLs without user, password, query, fragment."""
    return _NAME.sub(_without_secrets, name) if "://" in name else name


def showable(text: str, sources: Iterable[str] = ()) -> str:
    """Return a message without the secrets of the URLs in it.

    Parameters
    ----------
    text : str
        Whatever is about to be shown.
    sources : iterable of str
        Names that the message is about: their secrets are looked for also where no URL is around them, as
        other libraries write them.
    """
    for source in sources:
        shown = showable_name(source)
        if shown != source:
            text = text.replace(source, shown)
            for secret in _secrets(source):
                text = text.replace(secret, "***")
    return _IN_TEXT.sub(_without_secrets, text) if "://" in text else text


def showable_record(record: T, shown: Callable[[str], str] = showable) -> T:
    """Return a record for JSON with all its strings as `showable`, or `showable_name`, gives them."""
    if isinstance(record, str):
        return shown(record)  # type: ignore[return-value]
    if isinstance(record, Mapping):
        return {name: showable_record(value, shown) for name, value in record.items()}  # type: ignore[return-value]
    if type(record) in (list, tuple):
        return type(record)(showable_record(value, shown) for value in record)  # type: ignore[call-arg,attr-defined]
    return record


def has_secrets(names: Iterable[str]) -> bool:
    """Return whether a name has parts that are not to be shown."""
    return any(showable_name(name) != name for name in names)


def _without_secrets(url: re.Match[str]) -> str:
    scheme, rest = url[1], url[2]
    host = re.match(r"[^/?#]*", rest)[0]  # type: ignore[index]
    if "@" in host:
        user = host.rpartition("@")[0]
        container = ":" not in user and _CONTAINERS.match(scheme.lower())
        rest = rest if container else rest[len(user) + 1 :]
    else:  # of a password with a slash, such as AWS makes them
        odd = _ODD_PASSWORD.match(rest)
        rest = rest[odd.end() :] if odd else rest
    rest = rest.partition("?")[0]
    return scheme + (rest.partition("#")[0] if scheme.lower() in _WEB else rest)


def _secrets(source: str) -> list[str]:
    """Return the parts of a source that are not to be shown, also decoded; the longest first."""
    found = set()
    for url in _NAME.finditer(source):
        rest = url[2]
        kept = _without_secrets(url).removeprefix(url[1])
        at = rest.find(kept) if kept else len(rest)
        user, query = rest[:at].removesuffix("@"), rest[at + len(kept) :].lstrip("?#")
        password = user.partition(":")[2] or user
        found |= {user, password, query}
        values = (part.partition("=")[2] or part for part in re.split("[&;]", query))
        found |= {value for value in values if len(value) >= _LEAST}
    found |= {decode(part) for part in found for decode in (unquote, unquote_plus)}
    return sorted((part for part in found if len(part) >= 4), key=len, reverse=True)
