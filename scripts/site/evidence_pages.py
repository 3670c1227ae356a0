"""Hook of MkDocs: a page for each study, made of its record in ``docs/evidence/data/``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
LAST = "813735e"
"""The last commit that has the scripts of studies which nobody repeats."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages; the index has a link to each, the navigation has not."""
    for path in sorted(Path(config.docs_dir, "evidence", "data").glob("*.json")):
        content = as_markdown(json.loads(path.read_text("utf-8")), path.name)
        place = f"evidence/{path.stem}.md"
        files.append(File.generated(config, place, content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the links to records, which work in the repository, lead to the pages made of them."""
    if page.file.src_uri != "evidence/index.md":
        return markdown
    return re.sub(r"\]\(data/([\w-]+)\.json\)", r"](\1.md)", markdown)


def as_markdown(record: dict[str, Any], name: str) -> str:
    """Return the page of a record."""
    parts = [
        f"# {record['title']}",
        f"[What it means](index.md#{name.removesuffix('.json')}) · [record](data/{name})",
    ]
    for section in record["sections"]:
        rows = [[key, f"`{value}`" if key == "command" else value] for key, value in section["head"].items()]
        script = re.search(r"python ((?:scripts|tests)/[\w/.]+)", section["head"].get("command", ""))
        if script and not (ROOT / script[1]).exists():
            rows.append(["script", f"at commit {LAST}"])
        parts += [_table(["", ""], rows)] if rows else []
        parts += [
            part if isinstance(part, str) else _table(part["columns"], part["rows"])
            for part in section["parts"]
        ]
    return "\n\n".join(parts)


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
