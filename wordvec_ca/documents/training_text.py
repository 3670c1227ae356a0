"""The text that a model of documents was trained on: its fields, and the text of each document."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.sentences import TextLines


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


def texts_of_training(
    metadata: Mapping[str, Any], tags: Container[str], field: str | None = None
) -> dict[str, str]:
    """Return the texts of some documents, read from the files of the training; none if these are gone.

    With ``field``, return that field of each record instead of its text; an error says why it cannot be read.
    """
    config = metadata.get("config") or {}
    corpus = (metadata.get("settings") or {}).get("corpus") or []
    read = field or config.get("field")
    tag_field = config.get("tag_field")
    try:
        lines = TextLines(
            corpus, field=read, encoding=config.get("encoding"), documents=True, tag_field=tag_field
        )
        texts: dict[str, str] = {}
        for number, line in enumerate(lines):
            for tag in filter(tags.__contains__, lines.tags_of(number)):
                texts.setdefault(tag, line if isinstance(line, str) else " ".join(line))
    except (DataError, OSError):
        if field is not None:
            raise
        return {}
    return texts
