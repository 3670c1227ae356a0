"""A page in one file with our scripts: it loads nothing, and no other script or style can run.

Words may contain markup. So a page has them as JSON, never as markup, and its policy allows only our scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def scripted_page(template: str, *, scripts: Sequence[str], styles: Sequence[str], **values: Any) -> str:
    """Return a page as HTML."""
    loader = PackageLoader("wordvec_ca", "")
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    def source(names: Sequence[str]) -> str:
        return "\n".join(loader.get_source(templates, name)[0] for name in names)

    script, style = '"use strict";\n' + source(scripts), source(styles)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return templates.get_template(template).render(
        policy=Markup(policy), style=Markup(style), script=Markup(script), **values
    )


def json_markup(value: Any) -> Markup:
    """Return a value as JSON whose characters cannot begin markup."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
