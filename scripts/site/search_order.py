"""Hook of MkDocs: the search shows guides before pages that are generated from the code."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.pages import Page

BOOST = {
    "guides": 12.0,
    "long-runs.md": 12.0,
    "commands": 2.0,
    "evidence": 0.5,
    "decisions": 0.1,
    "reference": 0.01,  # a function's name is a title, and the theme multiplies titles by 1000
}
"""Folder or page -> factor of the scores of its pages; others have 1."""


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Set the factor of a page."""
    folder = page.file.src_uri.partition("/")[0]
    if folder in BOOST:
        page.meta.setdefault("search", {"boost": BOOST[folder]})
    return markdown
