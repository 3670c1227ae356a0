"""A page in one file with our scripts: it loads nothing, and no other script or style can run; and values as
text for people.

Words may contain markup. So a page has them as JSON, never as markup, and its policy allows only our scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wordvec_ca.files import terminal_text


def scripted_page(template: str, *, scripts: Sequence[str], styles: Sequence[str], **values: Any) -> str:
    """Return a page as HTML."""
    templates = page_templates()

    def source(names: Sequence[str]) -> str:
        return "\n".join(source_of(templates, name) for name in names)

    script, style = '"use strict";\n' + source(scripts), source(styles)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return templates.get_template(template).render(
        policy=Markup(policy), style=Markup(style), script=Markup(script), **values
    )


def page_templates() -> Environment:
    """Return the templates of all pages, by their names within the package."""
    loader = PackageLoader("wordvec_ca", "")
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def source_of(templates: Environment, name: str) -> str:
    """Return the text of a file beside the templates, such as a style sheet."""
    return templates.loader.get_source(templates, name)[0]  # type: ignore[union-attr]


def json_markup(value: Any) -> Markup:
    """Return a value as JSON whose characters cannot begin markup."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def visible(text: str) -> str:
    """Return text with escapes in place of control and similar characters, except line ends."""
    return "\n".join(map(terminal_text, text.split("\n")))


def shown(value: Any) -> str:
    """Return a value of the record for people."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        listed = ", ".join(shown(entry) for entry in value[:20])
        return f"{listed}, ... ({len(value)} in all)" if len(value) > 20 else listed or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {shown(entry)}" for key, entry in list(value.items())[:20]) or "none"
    return str(value)[:2_000]


def finite_numbers(value: Any) -> list[float]:
    """Return the numbers in a list of a record, or an empty list if it is not a list."""
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, int | float) and math.isfinite(entry)]
