"""Finds the library that removes the markup of wikis, and its version."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec


def markup_version() -> str | None:
    """Return the version of the library that removes markup, or None if it is not installed."""
    if find_spec("mwparserfromhell") is None:
        return None
    return version("mwparserfromhell")
