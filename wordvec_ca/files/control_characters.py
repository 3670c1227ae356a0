r"""Makes untrusted text safe to show on a terminal, in JSON and in HTML.

A word of a model, a line of a text or the name of a file may hold characters that act instead of being
shown: escape sequences that recolour, move or retitle a terminal (C0 and C1 control characters), marks that
turn the direction of the text around ("Trojan Source": Boucher & Anderson 2021), separators that forge a
line, and characters without width that make different words look the same. They are shown as ``\x1b`` or
``\u202e``.

Exceptions are the zero-width joiner and non-joiner, which Persian, the scripts of India and emoji need,
and the signs of Arabic and Syriac that Unicode counts as format characters although they are visible.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

_ACTING = (
    "\x00-\x1f\x7f-\x9f"  # C0, delete, C1
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates: no UTF-8
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_IN_A_LINE = re.compile(f"[{_ACTING}]")
_IN_LINES = re.compile(f"(?![\\n\\t])[{_ACTING}]")


def terminal_text(text: str, *, lines: bool = False) -> str:
    r"""Return text that a terminal displays without acting on it."""
    return (_IN_LINES if lines else _IN_A_LINE).sub(_escaped, text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""Return a value as JSON, with unsafe characters written as ``\u001b``.

    The JSON can be read back to the same value by every reader, and printed to a terminal.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _IN_LINES.sub(lambda match: json.dumps(match[0])[1:-1], text)  # the others are in strings


def html_text(text: str) -> str:
    """Return text for an element or a quoted attribute of HTML, escaped as in ``terminal_text``."""
    return html.escape(terminal_text(text))


def _escaped(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]
