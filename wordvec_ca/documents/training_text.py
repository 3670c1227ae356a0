"""How a model of documents read the records of its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def fields_of_training(metadata: Mapping[str, Any], files: Sequence[str]) -> tuple[Any, str | None]:
    """Return the field of the text and that of the tag with which a model read its text, if these files are
    records of the same kind; else None, None.
    """
    config = metadata.get("config") or {}
    corpus = (metadata.get("settings") or {}).get("corpus") or []
    # by the ends of the names: a model of records may also be asked about plain text, which has no fields
    kinds = {tuple(Path(str(name)).suffixes) for name in corpus}
    if not kinds or not all(tuple(Path(name).suffixes) in kinds for name in files):
        return None, None
    return config.get("field"), config.get("tag_field")
