"""Hook of MkDocs: a folder in the navigation (``decisions/``) means all pages in it."""

from __future__ import annotations

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files


@event_priority(-100)  # after the hooks that add pages
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace folders in the navigation by their pages, ``index.md`` first."""
    pages = [file.src_uri for file in files.documentation_pages()]
    config.nav = [_filled(entry, pages) for entry in config.nav or []]
    return files


def _filled(entry: Any, pages: list[str]) -> Any:
    if isinstance(entry, str):
        return entry
    ((title, inside),) = entry.items()
    if isinstance(inside, str) and inside.endswith("/"):
        index = f"{inside}index.md"
        rest = [page for page in pages if page.startswith(inside) and page != index]
        return {title: [*([index] if index in pages else []), *rest]}
    if isinstance(inside, list):
        return {title: [_filled(inner, pages) for inner in inside]}
    return entry
