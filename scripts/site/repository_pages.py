"""Hook of MkDocs: the pages outside the documentation's folder; README.md is the start page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]

PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""File at the root of the repository -> its page."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them; their links into docs/ are relative to the root of the repository."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"""(\]\(|src="|srcset=")docs/""", r"\1", text)
        files.append(File.generated(config, page, content=text))
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    files.append(File.generated(config, "CITATION.cff", content=citation))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links to these files, which also work in the repository, into links to their pages."""
    for name, target in PAGES.items():
        markdown = markdown.replace(f"({name})", f"({target})").replace(f"../{name}", target)
    return markdown
