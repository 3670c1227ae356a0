"""Hook of MkDocs: the copy button of a terminal's block copies its commands, without prompts and output."""

from __future__ import annotations

import html
import re
from typing import Any

BLOCK = re.compile(r'<div class="highlight">(?=(<pre>.*?</pre>))', re.S)
PROMPT = '<span class="gp">'


def on_page_content(content: str, **_: Any) -> str:
    """Give each block of a terminal the attribute with the text that the theme copies."""
    return BLOCK.sub(_with_commands, content)


def _with_commands(block: re.Match[str]) -> str:
    if PROMPT not in block[1]:
        return block[0]
    commands, goes_on = [], False
    for line in block[1].splitlines():
        text = html.unescape(re.sub(r"<[^>]*>", "", line))
        if PROMPT in line or goes_on:
            commands.append(text.removeprefix("$ "))
            goes_on = text.endswith("\\")
    told = html.escape("\n".join(commands)).replace("\n", "&#10;")
    return f'<div class="highlight" data-copy="{told}">'
