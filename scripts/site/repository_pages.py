"""Hook of MkDocs: the pages outside the documentation's folder, CHANGELOG.md and CONTRIBUTING.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them; their links into docs/ are relative to the root of the repository."""
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name.lower(), content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links to these files, which also work in the repository, into links to their pages."""
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        markdown = markdown.replace(f"../{name})", f"{name.lower()})")
    return markdown
