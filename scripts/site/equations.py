"""Hook of MkDocs: equations in LaTeX ($x$, $$x$$) become MathML, which browsers show without a script."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

EQUATION = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.S)
DELIMITERS = ("\\(", "\\)", "\\[", "\\]")


def on_page_content(content: str, **_: Any) -> str:
    """Replace the equations of a page that has been rendered."""
    return EQUATION.sub(lambda found: mathml(found[2], block=found[1] == "div"), content)


def mathml(marked: str, *, block: bool) -> str:
    """Return the MathML of an equation between the delimiters that arithmatex puts around it."""
    latex = html.unescape(marked).strip()
    for delimiter in DELIMITERS:
        latex = latex.removeprefix(delimiter).removesuffix(delimiter)
    made: str = convert(latex.strip(), display="block" if block else "inline")
    return f'<div class="equation">{made}</div>' if block else made
