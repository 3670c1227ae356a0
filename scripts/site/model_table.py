"""Hook of MkDocs: the table of the models, made from ``wordvec_ca/specs/models.py``."""

from __future__ import annotations

import re
from typing import Any

from wordvec_ca.specs.models import table_of_models

PLACE = re.compile(r"<!-- table of models.*?-->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the table's comment in a page by the table."""
    return PLACE.sub(lambda _: table_of_models(), markdown)
