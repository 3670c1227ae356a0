"""Hook of MkDocs: a folder in the navigation (``decisions/``) means all pages in it.

If its ``index.md`` has headings with links to its pages, as in the measurements, the headings become
sections.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files


@event_priority(-100)  # after the hooks that add pages
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace folders in the navigation by their pages, ``index.md`` first."""
    pages = [file.src_uri for file in files.documentation_pages()]
    config.nav = [_filled(entry, pages, Path(config.docs_dir)) for entry in config.nav or []]
    return files


def _filled(entry: Any, pages: list[str], docs: Path) -> Any:
    if isinstance(entry, str):
        return entry
    ((title, inside),) = entry.items()
    if isinstance(inside, str) and inside.endswith("/"):
        index = f"{inside}index.md"
        rest = [page for page in pages if page.startswith(inside) and page != index]
        sections = _sections(docs / index, inside, rest)
        in_sections = {page for _, found in sections for page in found}
        first = [index] if index in pages else []
        alone = [page for page in rest if page not in in_sections]
        return {title: [*first, *({heading: found} for heading, found in sections), *alone]}
    if isinstance(inside, list):
        return {title: [_filled(inner, pages, docs) for inner in inside]}
    return entry


def _sections(index: Path, folder: str, pages: list[str]) -> list[tuple[str, list[str]]]:
    """Return the headings of an index with the pages that are linked below each."""
    if not index.exists():  # the pages of this folder are made from the code
        return []
    _, *parts = re.split(r"^## (.+)$", index.read_text(encoding="utf-8"), flags=re.M)
    sections = []
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        links = dict.fromkeys(folder + name for name in re.findall(r"\(([\w-]+\.md)\)", text))
        if found := [page for page in links if page in pages]:
            sections.append((heading, found))
    return sections
